/* The standard descriptors of a process of ours: 0, 1 and 2 are always taken, so that no file that
 * is opened later lies where somebody prints. */
#ifndef LINEFILL_BASE_STANDARD_H
#define LINEFILL_BASE_STANDARD_H

/* The first thing a program does. What was closed becomes /dev/null: as standard output one that
 * cannot be written to, so that a result that nobody gets is noticed. A write to a pipe that nobody
 * reads, or past the limit of a file's size, becomes an error (EPIPE, EFBIG) instead of a death. */
void standard_start(void);
/* In a process that was forked and has no business with these descriptors (ends with -1): closes
 * them. Where one of 0 to 2 is among them, /dev/null takes its place. */
void standard_leave(const int *fds);

#endif
