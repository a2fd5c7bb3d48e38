/* scp, rsync and tar over a real private sshd: each carries all that its caps say, at every
 * preserve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "tests/unit/transports/private_sshd.h"
#include "tests/unit/transports/tool_worker.h"
#include "transports/tool/tool.h"

static struct private_sshd sshd;
static char *base;    /* private folder of this program */
static char *scratch; /* the workers' */

static const struct {
	const char *path;
	mode_t mode;         /* folders have S_IFDIR */
	const char *content; /* a link's target when the mode is S_IFLNK */
} entries[] = {
	{ "plain", 0644, "x" },
	{ "empty", 0600, "" },
	{ "executable", 0755, "#!/bin/sh\n" },
	{ "read-only", 0444, "r" },
	{ "write-all", 0666, "w" },
	{ ".hidden", 0640, "dot" },
	{ "..two", 0644, "dots" },
	{ "-dash", 0644, "d" },
	{ "--delete", 0644, "d" },
	{ "two words", 0644, "b" },
	{ " leading and trailing ", 0644, "b" },
	{ "tab\there", 0644, "t" },
	{ "quote's", 0644, "q" },
	{ "double\"quote", 0644, "q" },
	{ "back\\slash", 0644, "s" },
	{ "back\\nslash-n", 0644, "s" },
	{ "octal\\012\\#012", 0644, "o" },
	{ "new\nline", 0644, "n" },
	{ "return\r", 0644, "r" },
	{ "trailing-newline\n", 0644, "n" },
	{ "latin1-\xe9\xff", 0644, "l" },
	{ "utf8-\xc3\xa9", 0644, "u" },
	{ "escape\x1b[31m", 0644, "e" },
	{ "control\x01\x7f", 0644, "c" },
	{ "a:b", 0644, "c" },
	{ "host:file", 0644, "c" },
	{ "star*?[a-z]{1,2}", 0644, "g" },
	{ "$HOME`id`$(id)", 0644, "s" },
	{ "semi;amp&pipe|", 0644, "s" },
	{ "~root", 0644, "t" },
	{ "#hash%percent!", 0644, "h" },
	{ "folder", S_IFDIR | 0755, NULL },
	{ "folder/.dot", S_IFDIR | 0755, NULL },
	{ "folder/.dot/file", 0644, "1" },
	{ "folder/new\nline folder", S_IFDIR | 0750, NULL },
	{ "folder/new\nline folder/-f\xfe", 0644, "2" },
	{ "private", S_IFDIR | 0700, NULL },
	{ "private/file", 0600, "p" },
	{ "locked", S_IFDIR | 0555, NULL },
	{ "locked/file", 0444, "k" },
	{ "empty-folder", S_IFDIR | 0755, NULL },
	{ "empty-folder/empty too", S_IFDIR | 0711, NULL },
	{ "link", S_IFLNK, "plain" },
	{ "dangling", S_IFLNK, "no/such\nfile" },
	{ "to-folder", S_IFLNK, "folder" },
	{ "absolute", S_IFLNK, "/etc/passwd" },
	{ "up", S_IFLNK, "../../.." },
	{ "-link\xff", S_IFLNK, "-\xff target" },
};

static void make_file(const char *path, const char *content, size_t size)
{
	assert_int_equal(file_write_all(path, content, size, 0600, NULL), 0);
}

static void make_entry(const char *root, size_t i)
{
	AUTO_FREE char *path = path_join(root, entries[i].path);
	mode_t type = entries[i].mode & S_IFMT;
	if (type == S_IFLNK)
		assert_int_equal(symlink(entries[i].content, path), 0);
	else if (type == S_IFDIR)
		assert_int_equal(mkdir(path, 0700), 0);
	else
		make_file(path, entries[i].content, strlen(entries[i].content));
}

static void set_mode(const char *root, size_t i)
{
	AUTO_FREE char *path = path_join(root, entries[i].path);
	if ((entries[i].mode & S_IFMT) == S_IFLNK)
		return;
	const struct timespec times[2] = { { .tv_sec = 1000000000 + (time_t)i },
					   { .tv_sec = 1000000000 + (time_t)i } };
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(chmod(path, entries[i].mode & 07777), 0);
}

static void make_deep(const char *root)
{
	AUTO_TEXT path = { 0 };
	text_add(&path, root);
	for (int depth = 0; depth < 60; depth++) {
		text_addf(&path, "/level-%d", depth);
		assert_int_equal(mkdir(text_string(&path), 0755), 0);
	}
	text_add(&path, "/leaf");
	make_file(text_string(&path), "deep", 4);
}

static void make_long_and_large(const char *root)
{
	char name[256];
	memset(name, 'n', 255);
	name[255] = '\0';
	AUTO_FREE char *long_path = path_join(root, name);
	make_file(long_path, "long", 4);
	size_t size = 3 * 1024 * 1024 + 1;
	AUTO_FREE char *bytes = malloc(size);
	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(i * 2654435761u >> 13);
	AUTO_FREE char *large_path = path_join(root, "large");
	make_file(large_path, bytes, size);
}

static void make_tree(const char *root, bool links)
{
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		if (links || (entries[i].mode & S_IFMT) != S_IFLNK)
			make_entry(root, i);
	make_deep(root);
	make_long_and_large(root);
	for (size_t i = ARRAY_SIZE(entries); i-- > 0;)
		if (links || (entries[i].mode & S_IFMT) != S_IFLNK)
			set_mode(root, i);
}

static struct transport *load(const char *name)
{
	AUTO_TEXT path = { 0 };
	struct transport *transport = NULL;
	struct error err = { 0 };
	text_addf(&path, "%s/%s.ini", TOOLS_FOLDER, name);
	if (tool_load(text_string(&path), &transport, &err) < 0)
		fail_msg("%s", err.message);
	return transport;
}

static void scan(const char *root, struct manifest *manifest)
{
	const struct manifest_scan_options options = { .threads = 1, .deadline_ns = CLOCK_NEVER };
	struct error err = { 0 };
	if (manifest_scan(manifest, root, &options, &err) < 0)
		fail_msg("%s", err.message);
}

static char *new_folder(const char *name)
{
	char *path = path_join(base, name);
	assert_int_equal(folder_remove(path, NULL), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	return path;
}

static struct xfer xfer_for(const struct transport *transport, const char *from, const char *to)
{
	return (struct xfer){ .transport = transport,
			      .side = transport->driver,
			      .root = from,
			      .source_root = from,
			      .sink_root = to,
			      .scratch = scratch,
			      .bind_host = "127.0.0.1",
			      .peer_host = "127.0.0.1",
			      .service = &sshd.service,
			      .preserve = PRESERVE_MODE,
			      .deadline_ns = clock_deadline_ns(60) };
}

static struct tool_outcome drive(const struct transport *transport, struct xfer *xfer,
				 const char *options)
{
	AUTO_FREE void *values = calloc(1, transport->options_size + 1);
	struct error err = { 0 };
	assert_int_equal(option_defaults(transport->options, values, &err), 0);
	assert_int_equal(option_set_all(transport->options, values, options, &err), 0);
	xfer->options = values;
	return tool_worker_drive(xfer, NULL);
}

static void copy_and_compare(const char *name, const char *from, enum preserve preserve,
			     const char *options)
{
	AUTO_FREE char *to = new_folder("sink");
	struct transport *transport = load(name);
	struct xfer xfer = xfer_for(transport, from, to);
	xfer.preserve = preserve;
	struct tool_outcome outcome = drive(transport, &xfer, options);
	if (outcome.result < 0)
		fail_msg("%s, preserve %s: %s", name, preserve_names[preserve],
			 outcome.err.message);
	struct manifest wanted = { 0 };
	struct manifest copy = { 0 };
	struct error err = { 0 };
	scan(from, &wanted);
	scan(to, &copy);
	if (manifest_compare(&wanted, &copy, preserve, &err) < 0)
		fail_msg("%s, preserve %s: %s", name, preserve_names[preserve], err.message);
	/* OpenSSH's own clients were asked before the run: there is nothing to add. */
	assert_string_equal(outcome.report.cipher, "");
	manifest_free(&wanted);
	manifest_free(&copy);
	tool_free(transport);
}

static void test_hostile_tree(void **state)
{
	const char *name = *state;
	struct transport *transport = load(name);
	bool links = (transport->caps & CAP_SYMLINKS) != 0;
	tool_free(transport);
	AUTO_FREE char *from = new_folder("source");
	make_tree(from, links);
	for (int preserve = PRESERVE_CONTENT; preserve <= PRESERVE_ALL; preserve++)
		copy_and_compare(name, from, (enum preserve)preserve, "");
	copy_and_compare(name, from, PRESERVE_MODE, "compress=yes");
}

static void test_empty_tree(void **state)
{
	AUTO_FREE char *from = new_folder("source");
	copy_and_compare(*state, from, PRESERVE_ALL, "");
}

static void test_umask_does_not_count(void **state)
{
	AUTO_FREE char *from = new_folder("source");
	AUTO_FREE char *path = path_join(from, "open");
	make_file(path, "o", 1);
	assert_int_equal(chmod(path, 0777), 0);
	mode_t before = umask(077);
	copy_and_compare(*state, from, PRESERVE_MODE, "");
	umask(before);
}

static void test_missing_source(void **state)
{
	AUTO_FREE char *to = new_folder("sink");
	AUTO_FREE char *from = path_join(base, "no-such-folder");
	struct transport *transport = load(*state);
	struct xfer xfer = xfer_for(transport, from, to);
	struct tool_outcome outcome = drive(transport, &xfer, "");
	assert_int_equal(outcome.result, -1);
	assert_int_equal(outcome.err.kind, ERROR_TOOL);
	if (!strstr(outcome.err.message, "No such file"))
		fail_msg("%s", outcome.err.message);
	tool_free(transport);
}

static void test_dead_server(void **state)
{
	AUTO_FREE char *from = new_folder("source");
	AUTO_FREE char *to = new_folder("sink");
	make_tree(from, false);
	struct private_sshd dead = { .child = CHILD_NONE };
	AUTO_FREE char *folder = new_folder("dead");
	struct error err = { 0 };
	assert_int_equal(private_sshd_start(&dead, folder, &err), 0);
	child_end(&dead.child);
	struct transport *transport = load(*state);
	struct xfer xfer = xfer_for(transport, from, to);
	xfer.service = &dead.service;
	struct tool_outcome outcome = drive(transport, &xfer, "");
	assert_int_equal(outcome.result, -1);
	assert_int_equal(outcome.err.kind, ERROR_TOOL);
	/* tar dies of the closed pipe: ssh is to blame. */
	assert_null(strstr(outcome.err.message, "tar:"));
	tool_free(transport);
	private_sshd_stop(&dead);
}

static void test_shell_folder_refused(void **state)
{
	AUTO_FREE char *from = new_folder("source");
	AUTO_FREE char *to = new_folder("sink;id");
	struct transport *transport = load(*state);
	struct xfer xfer = xfer_for(transport, from, to);
	struct tool_outcome outcome = drive(transport, &xfer, "");
	assert_int_equal(outcome.result, -1);
	assert_int_equal(outcome.err.kind, ERROR_UNSUPPORTED);
	tool_free(transport);
}

static void test_odd_source_folder(void **state)
{
	AUTO_FREE char *from = new_folder("-a b:c'd\"e\nf\xff");
	AUTO_FREE char *path = path_join(from, "file");
	make_file(path, "f", 1);
	copy_and_compare(*state, from, PRESERVE_ALL, "");
}

static void test_probe(void **state)
{
	struct transport *transport = load(*state);
	struct probe probe = { 0 };
	struct error err = { 0 };
	if (transport->probe(transport, &probe, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(probe.path[0] == '/');
	assert_true(probe.version[0] >= '0' && probe.version[0] <= '9');
	tool_free(transport);
}

static int set_up(void **state)
{
	(void)state;
	char template[] = "/tmp/linefill-test-XXXXXX";
	struct error err = { 0 };
	if (!mkdtemp(template))
		return -1;
	base = strdup(template);
	scratch = path_join(base, "scratch");
	AUTO_FREE char *folder = path_join(base, "sshd");
	if (mkdir(scratch, 0700) < 0 || mkdir(folder, 0700) < 0)
		return -1;
	if (private_sshd_start(&sshd, folder, &err) == 0)
		return 0;
	print_error("%s\n", err.message);
	return -1;
}

static int tear_down(void **state)
{
	(void)state;
	private_sshd_stop(&sshd);
	struct error err = { 0 };
	if (folder_remove(base, &err) < 0)
		print_error("%s\n", err.message);
	free(base);
	free(scratch);
	return 0;
}

int main(void)
{
	static char scp[] = "scp";
	static char rsync[] = "rsync-ssh";
	static char tar[] = "tar-ssh";
#define EACH_TOOL(function)                                              \
	{ #function " scp", function, NULL, NULL, scp },                 \
		{ #function " rsync-ssh", function, NULL, NULL, rsync }, \
	{                                                                \
#function " tar-ssh", function, NULL, NULL, tar          \
	}
	const struct CMUnitTest tests[] = {
		EACH_TOOL(test_probe),
		EACH_TOOL(test_hostile_tree),
		EACH_TOOL(test_empty_tree),
		EACH_TOOL(test_umask_does_not_count),
		EACH_TOOL(test_missing_source),
		EACH_TOOL(test_dead_server),
		EACH_TOOL(test_shell_folder_refused),
		EACH_TOOL(test_odd_source_folder),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
