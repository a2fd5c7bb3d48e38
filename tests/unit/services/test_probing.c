/* Transports are asked side by side; one that hangs, dies or leaves something behind hurts nobody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/base/cleanup.h"
#include "harness/services/probing.h"
#include "tests/unit/processes.h"

static atomic_int *met; /* shared with the probes' processes */

static int good_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)err;
	snprintf(probe->version, sizeof(probe->version), "%s at the %s", transport->name,
		 probe->side == XFER_SOURCE ? "source" : "sink");
	return probe->deadline_ns > clock_now_ns() ? 0 : -1;
}

static int missing_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)probe;
	return error_set(err, ERROR_UNAVAILABLE, 0, "%s: not found", transport->name);
}

static int dying_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)transport;
	(void)probe;
	(void)err;
	raise(SIGKILL);
	return 0;
}

/* Deaf, with children that are so, too. */
static int hanging_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)transport;
	(void)probe;
	(void)err;
	signal(SIGTERM, SIG_IGN);
	if (fork() == 0)
		setpgid(0, 0);
	while (pause() < 0)
		;
	return 0;
}

static int leaving_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)transport;
	(void)probe;
	(void)err;
	if (fork() == 0)
		for (;;)
			pause();
	return 0;
}

/* Ends only when as many are asked at once as may be. */
static int meeting_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	(void)transport;
	(void)probe;
	(void)err;
	atomic_fetch_add(met, 1);
	while (atomic_load(met) < PROBING_AT_ONCE)
		usleep(1000);
	return 0;
}

static const struct transport good = { .name = "good", .probe = good_probe },
			      missing = { .name = "missing", .probe = missing_probe },
			      dying = { .name = "dying", .probe = dying_probe },
			      hanging = { .name = "hanging", .probe = hanging_probe },
			      leaving = { .name = "leaving", .probe = leaving_probe },
			      meeting = { .name = "meeting", .probe = meeting_probe };

static void test_answers(void **state)
{
	(void)state;
	struct error err = { 0 };
	struct probing asked[20] = {
		{ .transport = &good },    { .transport = &missing }, { .transport = &dying },
		{ .transport = &hanging }, { .transport = &leaving },
	};
	for (size_t i = 5; i < ARRAY_SIZE(asked); i++)
		asked[i] = (struct probing){ .transport = &good, .probe.side = XFER_SINK };
	assert_int_equal(probing_run(asked, ARRAY_SIZE(asked), -1, NULL, &err), 0);
	assert_int_equal(asked[0].error.kind, ERROR_NONE);
	assert_string_equal(asked[0].probe.version, "good at the source");
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(asked[i].error.kind, ERROR_UNAVAILABLE);
	assert_string_equal(asked[1].error.message, "missing: not found");
	assert_non_null(strstr(asked[2].error.message, "its probe died: "));
	assert_string_equal(asked[3].error.message, "its probe gave no answer within 5 s");
	assert_int_equal(asked[4].error.kind, ERROR_NONE);
	for (size_t i = 5; i < ARRAY_SIZE(asked); i++) {
		assert_int_equal(asked[i].error.kind, ERROR_NONE);
		assert_string_equal(asked[i].probe.version, "good at the sink");
	}
}

static void test_side_by_side(void **state)
{
	(void)state;
	struct error err = { 0 };
	struct probing asked[PROBING_AT_ONCE];
	atomic_store(met, 0);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		asked[i] = (struct probing){ .transport = &meeting };
	assert_int_equal(probing_run(asked, ARRAY_SIZE(asked), -1, NULL, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		assert_int_equal(asked[i].error.kind, ERROR_NONE);
}

static void test_cancel(void **state)
{
	(void)state;
	struct error err = { 0 };
	struct cancel cancel;
	struct probing asked[] = { { .transport = &hanging }, { .transport = &hanging } };
	assert_int_equal(cancel_open(&cancel, NULL), 0);
	cancel_request(&cancel);
	assert_int_equal(probing_run(asked, ARRAY_SIZE(asked), -1, &cancel, &err), -1);
	assert_int_equal(err.kind, ERROR_CANCELLED);
	cancel_close(&cancel);
}

/* What this process has for other reasons stays. */
static void test_keep(void **state)
{
	(void)state;
	struct error err = { 0 };
	struct probing asked[] = { { .transport = &leaving } };
	struct child kept = CHILD_NONE;
	int side = child_fork(&kept, &err);
	if (side == 0)
		for (;;)
			pause();
	assert_int_equal(side, 1);
	assert_int_equal(probing_run(asked, 1, kept.pid, NULL, &err), 0);
	assert_int_equal(kill(kept.pid, 0), 0);
	assert_false(processes_none());
	child_end(&kept);
}

#define CLEAN(test) cmocka_unit_test_setup_teardown(test, processes_adopt, processes_check)

int main(void)
{
	const struct CMUnitTest tests[] = { CLEAN(test_answers), CLEAN(test_side_by_side),
					    CLEAN(test_cancel), CLEAN(test_keep) };
	met = mmap(NULL, sizeof(*met), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return met == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
