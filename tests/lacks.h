/* What this system lacks for a test. */
#ifndef LINEFILL_TESTS_LACKS_H
#define LINEFILL_TESTS_LACKS_H

#include <stdio.h>
#include <stdlib.h>

/* Says so; the caller passes over what needs it. Where LINEFILL_TESTS_STRICT is set nothing may be
 * missing, and the test program fails. */
static inline void test_lacks(const char *what, const char *why)
{
	fprintf(stderr, "passed over: %s: %s\n", what, why);
	if (getenv("LINEFILL_TESTS_STRICT"))
		exit(EXIT_FAILURE);
}

#endif
