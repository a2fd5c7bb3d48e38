#include "harness/agent/memory_probe.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "harness/base/clock.h"

/* One measurement. */
#define WINDOW_BYTES ((size_t)64 << 20)
/* A window is touched in steps, so that a stop is heard. */
#define STEP_BYTES ((size_t)4 << 20)

/* Time of this thread alone: others on the host do not count. Faults of the hypervisor's do, as
 * they are charged to whoever touches. */
static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / (double)NS_PER_S;
}

static int check(const struct io_limit *limit, struct error *err)
{
	if (cancel_requested(limit->cancel))
		return error_set(err, ERROR_CANCELLED, 0, "stopped on request");
	if (clock_now_ns() > limit->deadline_ns)
		return error_set(err, ERROR_TIMEOUT, 0, "time is up");
	return 0;
}

static int touch(volatile char *window, double *bps, const struct io_limit *limit,
		 struct error *err)
{
	double begin_s = cpu_s();
	for (size_t step = 0; step < WINDOW_BYTES; step += STEP_BYTES) {
		if (check(limit, err) < 0)
			return -1;
		for (size_t i = 0; i < STEP_BYTES; i += 4096)
			window[step + i] = 1;
	}
	double took_s = cpu_s() - begin_s;
	*bps = took_s > 0 ? (double)WINDOW_BYTES / took_s : (double)NAN;
	return 0;
}

struct speed {
	double first_bps, second_bps;
};

/* The slowest window may be an accident: the one next to it is what is told. */
struct search {
	const struct memory_probe_order *order;
	char *at, *end; /* the next window, and where there are none */
	bool pieces;    /* there are no huge pages to be had */
	struct speed slowest, second;
};

static bool is_slower(const struct speed *a, const struct speed *b)
{
	return !(b->first_bps <= a->first_bps);
}

static bool is_slow(const struct speed *speed)
{
	return speed->second_bps / speed->first_bps > MEMORY_PROBE_RATIO;
}

/* First touch, then freed and touched at once. */
static int measure(struct search *search, const struct io_limit *limit, struct error *err)
{
	struct speed speed;
	const uint64_t stalls = memory_stalls(search->order->root);
	if (touch(search->at, &speed.first_bps, limit, err) < 0)
		return -1;
	if (madvise(search->at, WINDOW_BYTES, MADV_DONTNEED) < 0)
		return error_system(err, "madvise");
	if (touch(search->at, &speed.second_bps, limit, err) < 0)
		return -1;
	search->at += WINDOW_BYTES;
	/* That was the kernel at work on huge pages, and says nothing of the memory. */
	if (!search->pieces && memory_stalls(search->order->root) != stalls) {
		search->pieces = true;
		if (madvise(search->at, (size_t)(search->end - search->at), MADV_NOHUGEPAGE) < 0)
			errno = 0;
		return 0;
	}
	if (is_slower(&speed, &search->slowest)) {
		search->second = search->slowest;
		search->slowest = speed;
	} else if (is_slower(&speed, &search->second)) {
		search->second = speed;
	}
	return 0;
}

static int measure_some(struct search *search, const struct io_limit *limit, struct error *err)
{
	unsigned windows = search->order->windows;
	for (unsigned i = 0; i < windows && !is_slow(&search->second); i++) {
		struct memory_room room;
		if (memory_room(search->order->root, &room, err) < 0)
			return -1;
		if (memory_spare_bytes(&room) < WINDOW_BYTES)
			return 0;
		bool huge = !search->pieces;
		if (measure(search, limit, err) < 0)
			return -1;
		windows += huge && search->pieces; /* one that does not count */
	}
	return 0;
}

static int rest_until(int64_t until_ns, const struct io_limit *limit, struct error *err)
{
	struct io_limit rest = { .deadline_ns = until_ns, .cancel = limit->cancel };
	struct error woken = { 0 };
	if (until_ns > limit->deadline_ns)
		rest.deadline_ns = limit->deadline_ns;
	if (io_wait(-1, POLLIN, &rest, &woken) < 0 && woken.kind != ERROR_TIMEOUT) {
		*err = woken;
		return -1;
	}
	return 0;
}

static int look(struct search *search, bool balloon, const struct io_limit *limit,
		struct error *err)
{
	const struct memory_probe_order *order = search->order;
	if (measure_some(search, limit, err) < 0)
		return -1;
	if (is_slow(&search->second) || order->wait_until_ns == 0 || !balloon)
		return 0;
	/* What is held meanwhile is not what will be found. */
	if (rest_until(order->wait_until_ns, limit, err) < 0)
		return -1;
	return measure_some(search, limit, err);
}

int memory_probe_job(const void *argument, void *result, const struct io_limit *limit,
		     struct error *err)
{
	const struct memory_probe_order *order = argument;
	struct memory_probe *probe = result;
	const struct speed unknown = { (double)NAN, (double)NAN };
	/* Two looks, and a window that does not count. */
	const size_t bytes = (2 * MEMORY_PROBE_WINDOWS_MAX + 1) * WINDOW_BYTES;
	*probe = (struct memory_probe){ .first_bps = (double)NAN, .second_bps = (double)NAN };
	memory_balloon_find(order->root, &probe->balloon);
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED && errno == ENOMEM)
		return 0;
	if (memory == MAP_FAILED)
		return error_system(err, "mmap");
	/* Balloons take blocks of this size, and what is in smaller pieces stays: so huge pages
	 * find the memory that is gone. Where the kernel has none, the pieces go first. */
	if (madvise(memory, bytes, MADV_HUGEPAGE) < 0)
		errno = 0;
	struct search search = { .order = order,
				 .at = memory,
				 .end = memory + bytes,
				 .slowest = unknown,
				 .second = unknown };
	int outcome = look(&search, strcmp(probe->balloon.kind, "none") != 0, limit, err);
	munmap(memory, bytes);
	probe->first_bps = search.second.first_bps;
	probe->second_bps = search.second.second_bps;
	return outcome;
}

double memory_probe_ratio(const struct memory_probe *probe)
{
	return probe->second_bps / probe->first_bps;
}

bool memory_probe_needs_reserve(const struct memory_probe *probe)
{
	return probe->balloon.reporting || memory_probe_ratio(probe) > MEMORY_PROBE_RATIO;
}
