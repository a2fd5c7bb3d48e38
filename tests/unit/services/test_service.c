#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "harness/services/service.h"
#include "tests/unit/processes.h"
#include "tests/unit/tree_folder.h"

static struct service_keeper keeper;

/* A server of one shell script a connection. */
static void start_with(const char *script, const char *opening)
{
	const char *argv[] = { "sh", "-c", script, "sh", tree_folder, NULL };
	const struct service_spec spec = {
		.name = "test",
		.host = "127.0.0.1",
		.argv = argv,
		.log_file = "log",
		.opening = opening,
	};
	struct error err = { 0 };
	keeper = SERVICE_NONE;
	if (service_start(&keeper, &spec, NULL, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(keeper.port > 0);
}

static void start(const char *script)
{
	start_with(script, NULL);
}

static int stop(void **state)
{
	service_stop(&keeper);
	return processes_none() && tree_folder_drop(state) == 0 ? 0 : -1;
}

static void rest_a_moment(void)
{
	int64_t pause_ns = CLOCK_PAUSE_MAX_NS;
	clock_rest(&pause_ns);
}

static int dial(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(keeper.port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(io_set_nonblocking(fd, NULL), 0);
	return fd;
}

/* All that the session says, until it hangs up. */
static void hear_all(int fd, char *text, size_t size)
{
	size_t length = 0;
	ssize_t n;
	while ((n = io_read_some(fd, text + length, size - 1 - length, within(60), NULL)) > 0)
		length += (size_t)n;
	assert_int_equal(n, 0);
	text[length] = '\0';
}

static void assert_cpu(const struct usage *before, double least_s, double most_s)
{
	struct usage now;
	assert_int_equal(service_drain(&keeper, &now, within(60), NULL), 0);
	struct usage used = usage_since(now, *before);
	double cpu_s = used.user_s + used.system_s;
	if (cpu_s < least_s || cpu_s > most_s)
		fail_msg("%.3f s of CPU, not %.3f to %.3f", cpu_s, least_s, most_s);
}

/* Burns what the shell itself says that it burnt, and tells it. */
#define BURN "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; "

static double told_cpu_s(const char *times)
{
	double user_m = 0, user_s = 0, system_m = 0, system_s = 0;
	assert_int_equal(sscanf(times, "%lfm%lfs %lfm%lfs", &user_m, &user_s, &system_m, &system_s),
			 4);
	return 60 * (user_m + system_m) + user_s + system_s;
}

static void test_sessions(void **state)
{
	(void)state;
	char text[64];
	start("read -r line; echo \"<$line>\"; echo problem >&2");
	for (int i = 0; i < 3; i++) {
		AUTO_FD fd = dial();
		assert_int_equal(write(fd, "hello\n", 6), 6);
		hear_all(fd, text, sizeof(text));
		assert_string_equal(text, "<hello>\n");
	}
	struct usage usage;
	assert_int_equal(service_drain(&keeper, &usage, within(60), NULL), 0);
	AUTO_FREE char *log = NULL;
	assert_int_equal(file_read_all("log", 1000, &log, NULL, NULL), 0);
	assert_string_equal(log, "problem\nproblem\nproblem\n");
}

static void test_a_burst_of_connections(void **state)
{
	(void)state;
	int fds[60];
	char text[64];
	start("read -r line; echo \"$line$line\"");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = dial();
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		assert_true(dprintf(fds[i], "%zu\n", i) > 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		char wanted[16];
		snprintf(wanted, sizeof(wanted), "%zu%zu\n", i, i);
		hear_all(fds[i], text, sizeof(text));
		assert_string_equal(text, wanted);
		close(fds[i]);
	}
}

/* No server is started for strangers who say nothing, or not what clients say first; clients are
 * served while these stand around, and what they said is there for the server to read. */
static void test_strangers(void **state)
{
	(void)state;
	int fds[200];
	char text[64], byte;
	start_with("echo session >&2; read -r line; echo \"<$line>\"", "SSH-");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		static const char *const says[] = { "", "GET / HTTP/1.1\r\n", "SS", "X" };
		const char *words = says[i % ARRAY_SIZE(says)];
		fds[i] = dial();
		assert_int_equal(send(fds[i], words, strlen(words), MSG_NOSIGNAL), strlen(words));
		if (i % 8 == 2)
			shutdown(fds[i], SHUT_WR);
	}
	for (int i = 0; i < 3; i++) {
		/* In two parts, and more than is looked at. */
		AUTO_FD client = dial();
		assert_int_equal(write(client, "SS", 2), 2);
		rest_a_moment();
		assert_int_equal(write(client, "H-2.0-me\n", 9), 9);
		hear_all(client, text, sizeof(text));
		assert_string_equal(text, "<SSH-2.0-me>\n");
	}
	struct usage usage;
	assert_int_equal(service_drain(&keeper, &usage, within(60), NULL), 0);
	AUTO_FREE char *log = NULL;
	assert_int_equal(file_read_all("log", 1000, &log, NULL, NULL), 0);
	assert_string_equal(log, "session\nsession\nsession\n");
	/* The oldest had to make room; the liars were seen through at once. */
	assert_true(io_read_some(fds[0], &byte, 1, within(60), NULL) <= 0);
	assert_true(io_read_some(fds[197], &byte, 1, within(60), NULL) <= 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

static void test_usage_of_sessions(void **state)
{
	(void)state;
	static const char *const scripts[] = {
		BURN "times",
		/* In a child that is waited for. */
		"sh -c '" BURN "times'",
	};
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		struct usage before;
		char text[64];
		start(scripts[i]);
		assert_int_equal(service_drain(&keeper, &before, within(60), NULL), 0);
		AUTO_FD fd = dial();
		hear_all(fd, text, sizeof(text));
		double told_s = told_cpu_s(text);
		assert_cpu(&before, told_s - 0.03, told_s + 0.15);
		service_stop(&keeper);
	}
}

/* The session is over, but what it started burns on in a session of its own: it is waited for, and
 * counts. */
static void test_usage_of_orphans(void **state)
{
	(void)state;
	struct usage before;
	start("setsid sh -c '" BURN "times >\"$0/orphan\"' \"$1\" </dev/null >/dev/null 2>&1 & "
	      "echo bye");
	assert_int_equal(service_drain(&keeper, &before, within(60), NULL), 0);
	AUTO_FD fd = dial();
	char text[64];
	hear_all(fd, text, sizeof(text));
	assert_string_equal(text, "bye\n");
	struct usage now;
	assert_int_equal(service_drain(&keeper, &now, within(60), NULL), 0);
	AUTO_FREE char *times = NULL;
	assert_int_equal(file_read_all("orphan", 1000, &times, NULL, NULL), 0);
	double told_s = told_cpu_s(times);
	struct usage used = usage_since(now, before);
	assert_true(used.user_s + used.system_s > told_s - 0.03);
	assert_true(used.user_s + used.system_s < told_s + 0.15);
}

/* Until the session is over. */
static void test_drain_waits(void **state)
{
	(void)state;
	struct usage usage;
	struct error err = { 0 };
	start("echo here; read -r line");
	AUTO_FD fd = dial();
	char here[5];
	assert_int_equal(io_read_full(fd, here, sizeof(here), within(60), NULL), 0);
	assert_int_equal(service_drain(&keeper, &usage, within(0.1), &err), -1);
	assert_int_equal(err.kind, ERROR_TIMEOUT);
	assert_int_equal(write(fd, "\n", 1), 1);
	assert_int_equal(service_drain(&keeper, &usage, within(60), &err), 0);
}

/* An answer that came after its deadline is not taken for that to the next question. */
static void test_late_answers_are_dropped(void **state)
{
	(void)state;
	struct usage usage, before;
	char text[64];
	start("read -r line; [ \"$line\" != burn ] || { " BURN "}; times");
	AUTO_FD first = dial();
	assert_int_equal(service_drain(&keeper, &before, within(0.1), NULL), -1);
	assert_int_equal(write(first, "\n", 1), 1);
	hear_all(first, text, sizeof(text));
	struct pollfd polled = { .fd = keeper.fd, .events = POLLIN };
	assert_int_equal(poll(&polled, 1, 60000), 1);
	AUTO_FD second = dial();
	assert_int_equal(write(second, "burn\n", 5), 5);
	hear_all(second, text, sizeof(text));
	assert_int_equal(service_drain(&keeper, &usage, within(60), NULL), 0);
	assert_true(usage.user_s + usage.system_s > told_cpu_s(text) - 0.03);
}

/* One that never ends is killed, deaf as it is, and its children in their sessions, too. */
static void test_drain_ends_what_hangs(void **state)
{
	(void)state;
	struct usage usage;
	char text[64];
	start("trap '' TERM HUP; sleep 1000 & setsid sleep 1000 & echo $! $$; wait; sleep 1000");
	AUTO_FD fd = dial();
	int inner = 0, outer = 0;
	ssize_t n = io_read_some(fd, text, sizeof(text) - 1, within(60), NULL);
	assert_true(n > 0);
	text[n] = '\0';
	assert_int_equal(sscanf(text, "%d %d", &inner, &outer), 2);
	assert_int_equal(service_drain(&keeper, &usage, within(60), NULL), 0);
	assert_true(processes_gone(inner));
	assert_true(processes_gone(outer));
	/* It serves on. */
	AUTO_FD next = dial();
	assert_true(io_read_some(next, text, sizeof(text), within(60), NULL) > 0);
}

static void test_stop_ends_sessions(void **state)
{
	(void)state;
	char text[64];
	pid_t pid = 0;
	start("trap '' TERM; echo $$; while :; do sleep 1000; done");
	AUTO_FD fd = dial();
	ssize_t n = io_read_some(fd, text, sizeof(text) - 1, within(60), NULL);
	assert_true(n > 0);
	text[n] = '\0';
	pid = (pid_t)atoi(text);
	assert_int_equal(kill(pid, 0), 0);
	uint16_t port = keeper.port;
	service_stop(&keeper);
	assert_true(processes_gone(pid));
	assert_true(processes_none());
	assert_int_equal(keeper.fd, -1);
	keeper.port = port;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	AUTO_FD refused = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(refused, (struct sockaddr *)&address, sizeof(address)), -1);
	keeper = SERVICE_NONE;
	service_stop(&keeper); /* again: nothing happens */
}

static void test_keeper_is_killed(void **state)
{
	(void)state;
	struct usage usage;
	struct error err = { 0 };
	char text[64];
	start("echo $$; sleep 1000");
	AUTO_FD fd = dial();
	ssize_t n = io_read_some(fd, text, sizeof(text) - 1, within(60), NULL);
	assert_true(n > 0);
	text[n] = '\0';
	assert_int_equal(service_check(&keeper, &err), 0);
	kill(keeper.child.pid, SIGTERM);
	struct pollfd polled = { .fd = keeper.child.fd, .events = POLLIN };
	assert_int_equal(poll(&polled, 1, 60000), 1);
	assert_int_equal(service_check(&keeper, &err), -1);
	assert_int_equal(service_drain(&keeper, &usage, within(60), &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_string_equal(err.message,
			    "the keeper of the private server died: killed by SIGTERM");
	service_stop(&keeper);
	/* Its session died with it; what that left is the agent's to end. */
	assert_true(processes_gone(atoi(text)));
	child_end_strays(NULL, 0);
}

static void test_missing_program(void **state)
{
	(void)state;
	const char *argv[] = { "/no/such/server", NULL };
	const struct service_spec spec = {
		.name = "test", .host = "127.0.0.1", .argv = argv, .log_file = "log"
	};
	struct usage usage;
	char text[64];
	keeper = SERVICE_NONE;
	assert_int_equal(service_start(&keeper, &spec, NULL, NULL), 0);
	AUTO_FD fd = dial();
	hear_all(fd, text, sizeof(text));
	assert_string_equal(text, "");
	assert_int_equal(service_drain(&keeper, &usage, within(60), NULL), 0);
}

static void test_bad_address(void **state)
{
	(void)state;
	const char *argv[] = { "true", NULL };
	const struct service_spec spec = {
		.name = "test", .host = "192.0.2.1", .argv = argv, .log_file = "log"
	};
	struct error err = { 0 };
	keeper = SERVICE_NONE;
	assert_int_equal(service_start(&keeper, &spec, NULL, &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
	assert_int_equal(strncmp(err.message, "test: ", 6), 0);
	assert_int_equal(keeper.fd, -1);
}

static void test_closed_descriptors(void **state)
{
	(void)state;
	int ends[2];
	char nothing;
	const char *argv[] = { "true", NULL };
	const struct service_spec spec = {
		.name = "test", .host = "127.0.0.1", .argv = argv, .log_file = "log"
	};
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	const int fds[] = { ends[1], -1 };
	keeper = SERVICE_NONE;
	assert_int_equal(service_start(&keeper, &spec, fds, NULL), 0);
	struct usage usage;
	assert_int_equal(service_drain(&keeper, &usage, within(60), NULL), 0);
	close(ends[1]);
	/* The keeper does not hold the other end open. */
	assert_int_equal(io_read_some(ends[0], &nothing, 1, within(60), NULL), 0);
	close(ends[0]);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, tree_folder_make, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_sessions),
		IN_FOLDER(test_a_burst_of_connections),
		IN_FOLDER(test_strangers),
		IN_FOLDER(test_usage_of_sessions),
		IN_FOLDER(test_usage_of_orphans),
		IN_FOLDER(test_drain_waits),
		IN_FOLDER(test_late_answers_are_dropped),
		IN_FOLDER(test_drain_ends_what_hangs),
		IN_FOLDER(test_stop_ends_sessions),
		IN_FOLDER(test_keeper_is_killed),
		IN_FOLDER(test_missing_program),
		IN_FOLDER(test_bad_address),
		IN_FOLDER(test_closed_descriptors),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, processes_adopt, processes_check);
}
