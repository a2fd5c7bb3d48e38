#include "harness/base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#include "harness/base/cleanup.h"

struct task {
	void (*work)(void *context);
	void *context;
};

unsigned parallel_cpus(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
		return (unsigned)CPU_COUNT(&set);
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (unsigned)online : 1;
}

static void *run(void *argument)
{
	const struct task *task = argument;
	task->work(task->context);
	return NULL;
}

void parallel_run(unsigned threads, void (*work)(void *context), void *context)
{
	struct task task = { .work = work, .context = context };
	if (threads == 0)
		threads = parallel_cpus();
	unsigned started = 0;
	AUTO_FREE pthread_t *ids = threads > 1 ? calloc(threads - 1, sizeof(*ids)) : NULL;
	while (ids && started < threads - 1 && pthread_create(&ids[started], NULL, run, &task) == 0)
		started++;
	work(context);
	for (unsigned i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
}
