/* Time: CLOCK_MONOTONIC in nanoseconds for everything measured, UTC text for people. */
#ifndef LINEFILL_BASE_CLOCK_H
#define LINEFILL_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

/* A deadline that never comes. */
#define CLOCK_NEVER INT64_MAX

int64_t clock_now_ns(void);
/* now + seconds, saturating at CLOCK_NEVER. */
int64_t clock_deadline_ns(double seconds);
/* Milliseconds until the deadline, rounded up, for poll(2): 0 when it passed, -1 for CLOCK_NEVER.
 */
int clock_poll_ms(int64_t deadline_ns);

/* Between two looks at what tells no events: 1 ms when *pause_ns is 0, then twice as long each
 * time, up to CLOCK_PAUSE_MAX_NS. Returns the pause to make now. See also io_rest. */
#define CLOCK_PAUSE_MAX_NS (20 * NS_PER_MS)
int64_t clock_next_pause_ns(int64_t *pause_ns);
/* The same, and makes it. */
void clock_rest(int64_t *pause_ns);

#define CLOCK_UTC_SIZE 32
/* "2026-01-31T12:34:56Z" (ISO 8601). */
void clock_utc_text(char text[CLOCK_UTC_SIZE]);
/* "20260131T123456Z": fit for a file name. */
void clock_utc_compact(char text[CLOCK_UTC_SIZE]);

#endif
