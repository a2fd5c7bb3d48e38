#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/agent/memory_host.h"
#include "harness/agent/memory_probe.h"
#include "harness/agent/memory_reserve.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"

#define MIB (UINT64_C(1) << 20)

/* A host's proc and sys as files: what kernels of other machines say. */
static char root[64];

static int setup(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/test_memory.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	struct error err = { 0 };
	(void)state;
	return folder_remove(root, &err);
}

static void put(const char *path, const char *content)
{
	struct error err = { 0 };
	AUTO_TEXT whole = { 0 };
	text_addf(&whole, "%s%s", root, path);
	AUTO_FREE char *folder = strdup(whole.data);
	*strrchr(folder, '/') = '\0';
	assert_int_equal(folder_make_all(folder, &err), 0);
	assert_int_equal(file_write_all(whole.data, content, strlen(content), 0600, &err), 0);
}

static void put_memory(unsigned total_mib, unsigned available_mib)
{
	char text[128];
	snprintf(text, sizeof(text), "MemTotal: %u kB\nMemFree: 1 kB\nMemAvailable: %u kB\n",
		 total_mib << 10, available_mib << 10);
	put("/proc/meminfo", text);
}

static uint64_t available_mib(void)
{
	struct memory_room room;
	struct error err = { 0 };
	assert_int_equal(memory_room(root, &room, &err), 0);
	return room.available_bytes / MIB;
}

static void test_room_without_groups(void **state)
{
	(void)state;
	struct memory_room room;
	struct error err = { 0 };
	assert_int_equal(memory_room(root, &room, &err), -1);
	put_memory(8192, 6000);
	assert_int_equal(available_mib(), 6000);
	assert_int_equal(memory_room(root, &room, &err), 0);
	assert_int_equal(memory_spare_bytes(&room), (6000 - 512) * MIB);
	put_memory(1024, 300); /* a sixteenth would be too little */
	assert_int_equal(memory_room(root, &room, &err), 0);
	assert_int_equal(memory_spare_bytes(&room), (300 - 256) * MIB);
	put_memory(1024, 200);
	assert_int_equal(memory_room(root, &room, &err), 0);
	assert_int_equal(memory_spare_bytes(&room), 0);
	/* This very host's. */
	assert_int_equal(memory_room("", &room, &err), 0);
	assert_true(room.total_bytes > room.available_bytes && room.available_bytes > 0);
}

/* The least of the group and all above it; files that are only cached do not count as used. */
static void test_room_in_groups(void **state)
{
	(void)state;
	put_memory(8192, 6000);
	put("/proc/self/cgroup", "0::/outer/inner\n");
	put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
	put("/sys/fs/cgroup/outer/inner/memory.high", "max\n");
	put("/sys/fs/cgroup/outer/inner/memory.current", "1048576\n");
	assert_int_equal(available_mib(), 6000);
	put("/sys/fs/cgroup/outer/memory.max", "1073741824\n");
	put("/sys/fs/cgroup/outer/memory.current", "314572800\n");
	assert_int_equal(available_mib(), 1024 - 300);
	put("/sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file 104857600\nfile 7\n");
	assert_int_equal(available_mib(), 1024 - 200);
	put("/sys/fs/cgroup/outer/inner/memory.high", "105906176\n");
	assert_int_equal(available_mib(), 100);
	put("/sys/fs/cgroup/outer/inner/memory.current", "205906176\n");
	assert_int_equal(available_mib(), 0);
	/* Version 1, beside version 2 without limits. */
	put("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/job\n0::/\n");
	put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "4096\n");
	assert_int_equal(available_mib(), 6000);
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "52428800\n");
	put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "10485760\n");
	assert_int_equal(available_mib(), 40);
	/* The margin is that of what we may have: 256 MiB, not the host's 512. */
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
	struct memory_room room;
	struct error err = { 0 };
	assert_int_equal(memory_room(root, &room, &err), 0);
	assert_int_equal(memory_spare_bytes(&room), (1024 - 10 - 256) * MIB);
}

static void test_stalls(void **state)
{
	(void)state;
	assert_int_equal(memory_stalls(root), 0);
	put("/proc/vmstat", "nr_free_pages 7\ncompact_fail 3\ncompact_stall 12\nthp 1\n");
	assert_int_equal(memory_stalls(root), 12);
}

static void assert_balloon(const char *kind, bool reporting)
{
	struct memory_balloon balloon;
	memory_balloon_find(root, &balloon);
	assert_string_equal(balloon.kind, kind);
	assert_int_equal(balloon.reporting, reporting);
}

static void test_balloons(void **state)
{
	(void)state;
	assert_balloon("none", false);
	put("/sys/bus/virtio/devices/virtio0/device", "0x0001\n");
	put("/sys/bus/virtio/devices/virtio0/features", "1111111111111111\n");
	assert_balloon("none", false);
	put("/sys/bus/virtio/devices/virtio1/device", "0x0005\n");
	put("/sys/bus/virtio/devices/virtio1/features", "1111101111111111\n");
	assert_balloon("virtio", false);
	put("/sys/bus/virtio/devices/virtio1/features", "0000010000000000\n");
	assert_balloon("virtio", true);
	put("/sys/bus/virtio/devices/virtio1/features", "00000\n");
	assert_balloon("virtio", false);
}

static void test_hyperv(void **state)
{
	(void)state;
	put("/sys/bus/vmbus/devices/a/class_id", "{f8615163-df3e-46c5-913f-f2d2f965ed0e}\n");
	assert_balloon("none", false);
	put("/sys/bus/vmbus/devices/b/class_id", "{525074dc-8985-46e2-8057-a307dc18a502}\n");
	assert_balloon("hyper-v", false);
}

static void test_probe(void **state)
{
	(void)state;
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(60) };
	struct memory_probe_order order = { .root = "", .windows = 2 };
	struct memory_probe probe;
	struct error err = { 0 };
	assert_int_equal(memory_probe_job(&order, &probe, &limit, &err), 0);
	assert_true(probe.first_bps > 0 && probe.second_bps > 0);
	/* A host that has nothing to spare is not measured, and nothing is said. */
	put_memory(1024, 300);
	order.root = root;
	assert_int_equal(memory_probe_job(&order, &probe, &limit, &err), 0);
	assert_true(isnan(probe.first_bps) && isnan(memory_probe_ratio(&probe)));
	assert_false(memory_probe_needs_reserve(&probe));
	put("/sys/bus/virtio/devices/virtio0/device", "0x0005\n");
	put("/sys/bus/virtio/devices/virtio0/features", "0000010000000000\n");
	assert_int_equal(memory_probe_job(&order, &probe, &limit, &err), 0);
	assert_true(memory_probe_needs_reserve(&probe)); /* the host says so */
	const struct io_limit over = { .deadline_ns = clock_now_ns() - 1 };
	order.root = "";
	assert_int_equal(memory_probe_job(&order, &probe, &over, &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
}

static void test_needs(void **state)
{
	(void)state;
	struct memory_probe probe = { .first_bps = 1e9, .second_bps = 1.4e9 };
	assert_false(memory_probe_needs_reserve(&probe));
	probe.second_bps = 1.6e9;
	assert_true(memory_probe_needs_reserve(&probe));
}

/* ---- the reserve ---- */

static uint64_t resident_mib(pid_t pid)
{
	char path[64];
	AUTO_FREE char *text = NULL;
	struct error err = { 0 };
	unsigned long long kib = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	assert_int_equal(file_read_all(path, 1 << 16, &text, NULL, &err), 0);
	assert_int_equal(sscanf(strstr(text, "VmRSS:"), "VmRSS: %llu", &kib), 1);
	return kib >> 10;
}

static void assert_offered(pid_t pid)
{
	char path[64];
	AUTO_FREE char *text = NULL;
	struct error err = { 0 };
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
	assert_int_equal(file_read_all(path, 64, &text, NULL, &err), 0);
	assert_string_equal(text, "1000\n");
}

static void test_take_and_release(void **state)
{
	(void)state;
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(60) };
	struct memory_reserve reserve = MEMORY_RESERVE_NONE;
	struct error err = { 0 };
	assert_int_equal(memory_reserve_take(&reserve, "", 40 * MIB, &limit, &err), 0);
	assert_true(memory_reserve_is_held(&reserve));
	assert_int_equal(reserve.held_bytes, 40 * MIB);
	pid_t pid = reserve.holder.pid;
	assert_true(resident_mib(pid) >= 40);
	assert_offered(pid);
	/* Once more: it stays. Another amount: it does not. */
	assert_int_equal(memory_reserve_take(&reserve, "", 40 * MIB, &limit, &err), 0);
	assert_int_equal(reserve.holder.pid, pid);
	assert_int_equal(memory_reserve_take(&reserve, "", 24 * MIB, &limit, &err), 0);
	assert_int_not_equal(reserve.holder.pid, pid);
	pid = reserve.holder.pid;
	memory_reserve_release(&reserve);
	assert_int_equal(kill(pid, 0), -1);
	assert_false(memory_reserve_is_held(&reserve));
	assert_int_equal(reserve.held_bytes, 24 * MIB);
	memory_reserve_release(&reserve); /* nothing to do */
	assert_int_equal(reserve.held_bytes, 24 * MIB);
}

/* Workers are forked while it is held. */
static void test_release_beside_workers(void **state)
{
	(void)state;
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(60) };
	struct memory_reserve reserve = MEMORY_RESERVE_NONE;
	struct error err = { 0 };
	assert_int_equal(memory_reserve_take(&reserve, "", 8 * MIB, &limit, &err), 0);
	pid_t worker = fork();
	if (worker == 0) {
		pause();
		_exit(0);
	}
	pid_t pid = reserve.holder.pid;
	memory_reserve_release(&reserve);
	assert_int_equal(reserve.held_bytes, 8 * MIB); /* it ended by itself */
	assert_int_equal(kill(pid, 0), -1);
	kill(worker, SIGKILL);
	assert_int_equal(waitpid(worker, NULL, 0), worker);
}

/* No more than is spare, and nothing where nothing is. */
static void test_little_memory(void **state)
{
	(void)state;
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(60) };
	struct memory_reserve reserve = MEMORY_RESERVE_NONE;
	struct error err = { 0 };
	put_memory(1024, 256 + 100);
	assert_int_equal(memory_reserve_take(&reserve, root, 500 * MIB, &limit, &err), 0);
	assert_int_equal(reserve.wanted_bytes, 500 * MIB);
	assert_int_equal(reserve.held_bytes, 100 * MIB);
	put_memory(1024, 200);
	memory_reserve_release(&reserve);
	assert_int_equal(memory_reserve_take(&reserve, root, 500 * MIB, &limit, &err), 0);
	assert_int_equal(reserve.wanted_bytes, 500 * MIB);
	assert_int_equal(reserve.held_bytes, 0);
	assert_false(memory_reserve_is_held(&reserve));
}

/* As by the kernel when memory is short: what was promised was not held. */
static void test_killed_holder(void **state)
{
	(void)state;
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(60) };
	struct memory_reserve reserve = MEMORY_RESERVE_NONE;
	struct error err = { 0 };
	assert_int_equal(memory_reserve_take(&reserve, "", 8 * MIB, &limit, &err), 0);
	kill(reserve.holder.pid, SIGKILL);
	memory_reserve_release(&reserve);
	assert_int_equal(reserve.held_bytes, 0);
	assert_int_equal(reserve.wanted_bytes, 8 * MIB);
	/* One that died is taken anew. */
	assert_int_equal(memory_reserve_take(&reserve, "", 8 * MIB, &limit, &err), 0);
	pid_t pid = reserve.holder.pid;
	kill(pid, SIGKILL);
	struct pollfd polled = { .fd = reserve.holder.fd, .events = POLLIN };
	assert_int_equal(poll(&polled, 1, 60000), 1);
	assert_int_equal(memory_reserve_take(&reserve, "", 8 * MIB, &limit, &err), 0);
	assert_int_not_equal(reserve.holder.pid, pid);
	memory_reserve_release(&reserve);
	assert_int_equal(reserve.held_bytes, 8 * MIB);
}

static void test_stopped(void **state)
{
	(void)state;
	const struct io_limit over = { .deadline_ns = clock_now_ns() - 1 };
	struct memory_reserve reserve = MEMORY_RESERVE_NONE;
	struct error err = { 0 };
	assert_int_equal(memory_reserve_take(&reserve, "", 512 * MIB, &over, &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_false(memory_reserve_is_held(&reserve));
	assert_int_equal(reserve.holder.pid, -1);
}

/* Its holder reads the end of the agent from its socket, and from the kernel. */
static void test_ends_with_agent(void **state)
{
	(void)state;
	int told[2];
	assert_int_equal(pipe(told), 0);
	pid_t agent = fork();
	if (agent == 0) {
		const struct io_limit limit = { .deadline_ns = clock_deadline_ns(60) };
		struct memory_reserve reserve = MEMORY_RESERVE_NONE;
		if (memory_reserve_take(&reserve, "", 8 * MIB, &limit, NULL) < 0 ||
		    write(told[1], &reserve.holder.pid, sizeof(pid_t)) < 0)
			_exit(1);
		raise(SIGKILL);
	}
	pid_t holder = 0;
	struct error err = { 0 };
	assert_int_equal(read(told[0], &holder, sizeof(holder)), sizeof(holder));
	assert_int_equal(waitpid(agent, NULL, 0), agent);
	for (int64_t end_ns = clock_deadline_ns(30); clock_now_ns() < end_ns; usleep(1000)) {
		char path[64];
		AUTO_FREE char *text = NULL;
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)holder);
		if (file_read_all(path, 4096, &text, NULL, &err) < 0 || strstr(text, ") Z "))
			break;
	}
	char status[64];
	AUTO_FREE char *text = NULL;
	snprintf(status, sizeof(status), "/proc/%d/stat", (int)holder);
	if (file_read_all(status, 4096, &text, NULL, &err) == 0)
		assert_non_null(strstr(text, ") Z "));
	close(told[0]);
	close(told[1]);
}

static void test_need(void **state)
{
	(void)state;
	struct manifest_entry entries[] = {
		{ .path = "a", .type = MANIFEST_FILE, .size_bytes = 1 },
		{ .path = "b", .type = MANIFEST_FILE, .size_bytes = 64 * MIB, .hole_bytes = 0 },
		{ .path = "c", .type = MANIFEST_FOLDER },
	};
	struct manifest files = { .entries = entries, .count = 0 };
	uint64_t none = memory_reserve_need(&files);
	files.count = 1;
	uint64_t page = memory_reserve_need(&files);
	assert_true(page >= none + 4096 && page < none + 16384);
	files.count = 3;
	uint64_t all = memory_reserve_need(&files);
	assert_true(all >= page + 64 * MIB && all < page + 65 * MIB);
	entries[1].hole_bytes = 64 * MIB;
	assert_true(memory_reserve_need(&files) < page + MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_room_without_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room_in_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stalls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_balloons, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hyperv, setup, teardown),
		cmocka_unit_test_setup_teardown(test_probe, setup, teardown),
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_take_and_release),
		cmocka_unit_test(test_release_beside_workers),
		cmocka_unit_test_setup_teardown(test_little_memory, setup, teardown),
		cmocka_unit_test(test_killed_holder),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_ends_with_agent),
		cmocka_unit_test(test_need),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
