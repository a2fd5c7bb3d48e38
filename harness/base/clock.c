#include "harness/base/clock.h"

#include <limits.h>
#include <time.h>

int64_t clock_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t clock_deadline_ns(double seconds)
{
	if (seconds >= 1e9)
		return CLOCK_NEVER;
	return clock_now_ns() + (int64_t)(seconds * (double)NS_PER_S);
}

int clock_poll_ms(int64_t deadline_ns)
{
	if (deadline_ns == CLOCK_NEVER)
		return -1;
	int64_t left = deadline_ns - clock_now_ns();
	if (left <= 0)
		return 0;
	left = (left + NS_PER_MS - 1) / NS_PER_MS;
	return left > INT_MAX ? INT_MAX : (int)left;
}

int64_t clock_next_pause_ns(int64_t *pause_ns)
{
	int64_t next = *pause_ns > 0 ? 2 * *pause_ns : NS_PER_MS;
	*pause_ns = next < CLOCK_PAUSE_MAX_NS ? next : CLOCK_PAUSE_MAX_NS;
	return *pause_ns;
}

void clock_rest(int64_t *pause_ns)
{
	const struct timespec pause = { .tv_nsec = clock_next_pause_ns(pause_ns) };
	nanosleep(&pause, NULL);
}

static struct tm utc_now(void)
{
	time_t now = time(NULL);
	struct tm utc;
	gmtime_r(&now, &utc);
	return utc;
}

void clock_utc_text(char text[CLOCK_UTC_SIZE])
{
	struct tm utc = utc_now();
	strftime(text, CLOCK_UTC_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

void clock_utc_compact(char text[CLOCK_UTC_SIZE])
{
	struct tm utc = utc_now();
	strftime(text, CLOCK_UTC_SIZE, "%Y%m%dT%H%M%SZ", &utc);
}
