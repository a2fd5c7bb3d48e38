/* The same work on several threads at once. */
#ifndef LINEFILL_BASE_PARALLEL_H
#define LINEFILL_BASE_PARALLEL_H

/* CPUs that this process may run on, at least 1. */
unsigned parallel_cpus(void);
/* Calls work(context) on that many threads, the caller's among them, and returns when all are done.
 * 0 threads means one per CPU. Where fewer threads can be made, fewer run: work must share out what
 * there is to do through context. */
void parallel_run(unsigned threads, void (*work)(void *context), void *context);

#endif
