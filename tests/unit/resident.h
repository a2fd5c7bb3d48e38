/* How much memory a test took, and whether that says anything: under a sanitizer it does not. */
#ifndef LINEFILL_TESTS_UNIT_RESIDENT_H
#define LINEFILL_TESTS_UNIT_RESIDENT_H

#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif
#ifndef UNDER_SANITIZER
#define UNDER_SANITIZER 0
#endif

/* The most that was resident so far; -1 where that is not known. */
static inline long resident_peak_kib(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : -1;
}

#endif
