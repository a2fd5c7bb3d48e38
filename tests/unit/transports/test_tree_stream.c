/* What the reader makes of streams that no honest writer sends. Honest ones are the contract test's
 * business. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "tests/contract/trees.h"
#include "transports/wire/tree_reader.h"

static char *base, *root;

static int setup(void **state)
{
	(void)state;
	base = tree_temporary();
	root = path_join(base, "root");
	assert_int_equal(mkdir(root, 0700), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(folder_remove(base, NULL), 0);
	free(root);
	free(base);
	return 0;
}

/* One record of a hostile stream, with the bytes that follow it. */
struct step {
	enum wire_type type;
	const char *text; /* as text_bytes; NULL for none */
	uint64_t size, extra;
	uint32_t flags;
	size_t text_bytes;  /* 0: strlen(text) */
	const char *follow; /* raw bytes behind the text */
	size_t follow_bytes;
};

static size_t put(unsigned char *to, const struct step *step)
{
	size_t text = step->text_bytes ? step->text_bytes : step->text ? strlen(step->text) : 0;
	const struct wire_record record = { .type = step->type,
					    .flags = step->flags,
					    .mode = 0755,
					    .text_bytes = (uint32_t)text,
					    .size = step->size,
					    .extra = step->extra };
	wire_record_encode(to, &record);
	if (text)
		memcpy(to + WIRE_RECORD_BYTES, step->text, text);
	if (step->follow_bytes)
		memcpy(to + WIRE_RECORD_BYTES + text, step->follow, step->follow_bytes);
	return WIRE_RECORD_BYTES + text + step->follow_bytes;
}

/* Sends bytes to a reader, closes, and runs it to the end. */
static int read_bytes(const unsigned char *bytes, size_t count, struct split_files *splits,
		      struct error *err)
{
	int fds[2];
	struct xfer_progress progress = { 0 };
	struct tree_reader reader;
	const struct xfer xfer = { .root = root, .progress = &progress };
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(10) };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(write(fds[0], bytes, count), count);
	close(fds[0]);
	assert_int_equal(io_set_nonblocking(fds[1], err), 0);
	const struct channel channel = channel_on_socket(fds[1], &limit);
	assert_int_equal(tree_reader_init(&reader, 4096, err), 0);
	assert_int_equal(tree_reader_start(&reader, &xfer, &channel, err), 0);
	reader.splits = splits;
	int result = tree_reader_run(&reader, WIRE_END, err);
	tree_reader_free(&reader);
	close(fds[1]);
	return result;
}

static int read_steps(const struct step *steps, struct split_files *splits, struct error *err)
{
	unsigned char bytes[8192];
	size_t count = 0;
	for (; steps->type; steps++)
		count += put(bytes + count, steps);
	return read_bytes(bytes, count, splits, err);
}

#define FOLDER(path)                                \
	{                                           \
		.type = WIRE_FOLDER, .text = (path) \
	}
#define SIZED(path, bytes)                                         \
	{                                                          \
		.type = WIRE_FILE, .text = (path), .size = (bytes) \
	}
#define LINK(path, target)                                                                         \
	{                                                                                          \
		.type = WIRE_LINK, .text = (path), .size = sizeof(target) - 1, .follow = (target), \
		.follow_bytes = sizeof(target) - 1                                                 \
	}
#define DATA(string)                                                               \
	{                                                                          \
		.type = WIRE_DATA, .size = sizeof(string) - 1, .follow = (string), \
		.follow_bytes = sizeof(string) - 1                                 \
	}
#define END(bytes, records)                                           \
	{                                                             \
		.type = WIRE_END, .size = (bytes), .extra = (records) \
	}

static void test_good(void **state)
{
	const struct step steps[] = { FOLDER("a"),        SIZED("a/f", 6), DATA("abc"), DATA("def"),
				      LINK("l", "../.."), SIZED("e", 0),   END(6, 2),   { 0 } };
	struct error err = { 0 };
	char content[8] = "";
	(void)state;
	if (read_steps(steps, NULL, &err) < 0)
		fail_msg("%s", err.message);
	AUTO_FREE char *path = path_join(root, "a/f");
	AUTO_FD fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, content, sizeof(content)), 6);
	assert_string_equal(content, "abcdef");
}

static const struct {
	const char *name, *says;
	struct step steps[6];
} hostile[] = {
	{ "dot-dot", "may leave", { FOLDER("..") } },
	{ "dot-dot inside", "may leave", { FOLDER("a"), SIZED("a/../../planted", 0) } },
	{ "absolute", "may leave", { SIZED("/tmp/planted", 0) } },
	{ "NUL", "may leave", { { .type = WIRE_FILE, .text = "a\0b", .text_bytes = 3 } } },
	{ "through a link", "open folder l", { LINK("l", ".."), SIZED("l/planted", 0) } },
	{ "over a link", "exists already", { LINK("l", "../planted"), SIZED("l", 0) } },
	{ "folder twice", "exists already", { FOLDER("a"), FOLDER("a") } },
	{ "file twice", "exists already", { SIZED("a", 0), SIZED("a", 0) } },
	{ "no parent", "open folder a", { SIZED("a/b", 0) } },
	{ "data without a file", "out of order", { DATA("x") } },
	{ "ready", "out of order", { { .type = WIRE_READY } } },
	{ "part",
	  "a part of a file",
	  { { .type = WIRE_FILE, .text = "f", .size = 9, .flags = 1 } } },
	{ "record inside a file", "out of order", { SIZED("f", 5), DATA("abc"), FOLDER("a") } },
	{ "end inside a file", "out of order", { SIZED("f", 5), DATA("abc"), END(5, 1) } },
	{ "too much data", "more than it announced", { SIZED("f", 2), DATA("abc") } },
	{ "too much hole",
	  "more than it announced",
	  { SIZED("f", 2), { .type = WIRE_HOLE, .size = UINT64_MAX } } },
	{ "no data in data", "more than it announced", { SIZED("f", 2), { .type = WIRE_DATA } } },
	{ "size beyond off_t", "out of range", { SIZED("f", UINT64_C(1) << 63) } },
	{ "huge data, then nothing",
	  "before the end",
	  { SIZED("f", UINT64_C(1) << 62), { .type = WIRE_DATA, .size = UINT64_C(1) << 62 } } },
	{ "empty target", "target of 0", { { .type = WIRE_LINK, .text = "l" } } },
	{ "long target", "target of 4096", { { .type = WIRE_LINK, .text = "l", .size = 4096 } } },
	{ "target with NUL", "with a NUL", { LINK("l", "a\0b") } },
	{ "mode of nothing", "open folder", { { .type = WIRE_MODE, .text = "none" } } },
	{ "mode of a link",
	  "open folder",
	  { LINK("l", ".."), { .type = WIRE_MODE, .text = "l" } } },
	{ "wrong totals", "came", { SIZED("f", 3), DATA("abc"), END(4, 1) } },
	{ "wrong records", "came", { SIZED("f", 3), DATA("abc"), END(3, 2) } },
	{ "no end", "before the end", { SIZED("f", 3), DATA("abc") } },
	{ "abort", "source: disk on fire", { { .type = WIRE_ABORT, .text = "disk on fire" } } },
};

static void test_hostile(void **state)
{
	(void)state;
	AUTO_FREE char *planted = path_join(base, "planted");
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		struct error err = { 0 };
		assert_int_equal(folder_clear(root, &err), 0);
		if (read_steps(hostile[i].steps, NULL, &err) == 0)
			fail_msg("%s: was taken", hostile[i].name);
		if (!strstr(err.message, hostile[i].says))
			fail_msg("%s: %s", hostile[i].name, err.message);
		assert_int_equal(access(planted, F_OK), -1);
		assert_int_equal(access("/tmp/planted", F_OK), -1);
	}
}

/* A good stream cut off anywhere is an error, and so is one with a byte changed in a record's
 * head. */
static void test_cut_anywhere(void **state)
{
	const struct step steps[] = { FOLDER("a"),    SIZED("a/f", 3), DATA("abc"),
				      LINK("l", "t"), END(3, 1),       { 0 } };
	unsigned char bytes[512];
	size_t count = 0;
	(void)state;
	for (const struct step *step = steps; step->type; step++)
		count += put(bytes + count, step);
	for (size_t cut = 0; cut < count; cut++) {
		struct error err = { 0 };
		assert_int_equal(folder_clear(root, &err), 0);
		assert_int_equal(read_bytes(bytes, cut, NULL, &err), -1);
		assert_int_equal(err.kind, ERROR_PEER);
	}
}

#define PART_OF(path, bytes, length, offset)                                              \
	{ .type = WIRE_FILE, .text = (path), .size = (bytes), .flags = WIRE_FLAG_SPLIT }, \
	{                                                                                 \
		.type = WIRE_PART, .size = (length), .extra = (offset)                    \
	}

static void test_parts(void **state)
{
	static const struct {
		const char *says; /* NULL: fine */
		struct step steps[8];
	} cases[] = {
		{ NULL,
		  { PART_OF("f", 6, 3, 3), DATA("def"), PART_OF("f", 6, 3, 0), DATA("abc"),
		    END(6, 2) } },
		{ "disagree", { PART_OF("f", 6, 3, 3), DATA("def"), PART_OF("f", 7, 3, 0) } },
		{ "overlap",
		  { PART_OF("f", 6, 5, 0), DATA("abcde"), PART_OF("f", 6, 5, 1), DATA("abcde"),
		    END(10, 2) } },
		{ "exists", { PART_OF("f", 3, 3, 0), DATA("abc"), PART_OF("f", 3, 3, 0) } },
		{ "outside", { PART_OF("f", 6, 3, 4) } },
		{ "outside", { PART_OF("f", 6, 7, 0) } },
		{ "outside", { PART_OF("f", 6, 3, UINT64_MAX) } },
		{ "outside", { PART_OF("f", 6, 0, 0) } },
		{ "may leave", { PART_OF("../f", 6, 3, 0) } },
		{ "out of order",
		  { { .type = WIRE_FILE, .text = "f", .size = 6, .flags = 1 }, DATA("abc") } },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { 0 };
		struct split_files *splits = split_files_new();
		assert_int_equal(folder_clear(root, &err), 0);
		int result = read_steps(cases[i].steps, splits, &err);
		if ((result == 0) != !cases[i].says ||
		    (cases[i].says && !strstr(err.message, cases[i].says)))
			fail_msg("case %zu: %s", i, err.message);
		split_files_free(splits);
	}
}

static void test_incomplete_part(void **state)
{
	const struct step steps[] = { PART_OF("f", 6, 3, 3), DATA("def"), END(3, 1), { 0 } };
	struct error err = { 0 };
	struct split_files *splits = split_files_new();
	(void)state;
	assert_int_equal(read_steps(steps, splits, &err), 0);
	assert_int_equal(split_files_all_complete(splits, &err), -1);
	assert_string_equal(err.message, "f is incomplete: 3 bytes never came");
	split_files_free(splits);
}

/* ---- contents that are spliced ---- */

#define LARGE_BYTES ((size_t)600 << 10) /* more than a pipe holds and than SPLICE_LEAST_BYTES */

/* One file in two pieces; the second ends in half when the stream is cut. */
static size_t put_large(unsigned char *to)
{
	const struct step head[] = { SIZED("f", 2 * LARGE_BYTES),
				     { .type = WIRE_DATA, .size = LARGE_BYTES },
				     END(2 * LARGE_BYTES, 1) };
	size_t count = put(to, &head[0]);
	for (size_t piece = 0; piece < 2; piece++) {
		count += put(to + count, &head[1]);
		for (size_t i = 0; i < LARGE_BYTES; i++)
			to[count++] = (unsigned char)(i * 7 + piece + i / 251);
	}
	return count + put(to + count, &head[2]);
}

static int read_large(int fd, struct splice_sink *splice, struct error *err)
{
	struct xfer_progress progress = { 0 };
	struct tree_reader reader;
	const struct xfer xfer = { .root = root, .progress = &progress };
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(10) };
	assert_int_equal(io_set_nonblocking(fd, err), 0);
	const struct channel channel = channel_on_pipes(fd, -1, &limit);
	assert_int_equal(tree_reader_init(&reader, 4096, err), 0);
	assert_int_equal(tree_reader_start(&reader, &xfer, &channel, err), 0);
	reader.splice = splice;
	int result = tree_reader_run(&reader, WIRE_END, err);
	if (result == 0)
		assert_int_equal(atomic_load(&progress.bytes), 2 * LARGE_BYTES);
	tree_reader_free(&reader);
	return result;
}

static void assert_large(const unsigned char *stream)
{
	AUTO_FREE char *path = path_join(root, "f");
	AUTO_FREE char *bytes = NULL;
	size_t count = 0;
	struct error err = { 0 };
	assert_int_equal(file_read_all(path, 4 * LARGE_BYTES, &bytes, &count, &err), 0);
	assert_int_equal(count, 2 * LARGE_BYTES);
	const unsigned char *first = stream + 2 * WIRE_RECORD_BYTES + 1;
	assert_memory_equal(bytes, first, LARGE_BYTES);
	assert_memory_equal(bytes + LARGE_BYTES, first + LARGE_BYTES + WIRE_RECORD_BYTES,
			    LARGE_BYTES);
}

struct feed {
	int fd;
	const unsigned char *bytes;
	size_t count;
};

static void *feed_pipe(void *argument)
{
	struct feed *feed = argument;
	for (size_t done = 0; done < feed->count;) {
		ssize_t n = write(feed->fd, feed->bytes + done, feed->count - done);
		if (n < 0)
			break;
		done += (size_t)n;
	}
	close(feed->fd);
	return NULL;
}

static int read_fed(const unsigned char *bytes, size_t count, struct splice_sink *splice,
		    struct error *err)
{
	pthread_t thread;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	struct feed feed = { .fd = ends[1], .bytes = bytes, .count = count };
	assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &feed), 0);
	int result = read_large(ends[0], splice, err);
	pthread_join(thread, NULL);
	close(ends[0]);
	return result;
}

static void test_from_a_pipe(void **state)
{
	AUTO_FREE unsigned char *bytes = malloc(3 * LARGE_BYTES);
	size_t count = put_large(bytes);
	struct splice_sink splice = SPLICE_SINK_DIRECT;
	struct error err = { 0 };
	(void)state;
	if (read_fed(bytes, count, &splice, &err) < 0)
		fail_msg("%s", err.message);
	assert_large(bytes);
	/* But for what came along with the records. */
	assert_in_range(splice.moved, 2 * (LARGE_BYTES - (16u << 10)), 2 * LARGE_BYTES);
}

static void test_from_a_pipe_that_ends(void **state)
{
	AUTO_FREE unsigned char *bytes = malloc(3 * LARGE_BYTES);
	size_t count = put_large(bytes);
	struct splice_sink splice = SPLICE_SINK_DIRECT;
	struct error err = { 0 };
	(void)state;
	assert_int_equal(read_fed(bytes, count - LARGE_BYTES / 2, &splice, &err), -1);
	assert_int_equal(err.kind, ERROR_PEER);
}

/* splice(2) refuses this with EINVAL, as it does where a file system takes none. */
static void test_from_no_pipe(void **state)
{
	AUTO_FREE unsigned char *bytes = malloc(3 * LARGE_BYTES);
	size_t count = put_large(bytes);
	struct splice_sink splice = SPLICE_SINK_DIRECT;
	struct error err = { 0 };
	(void)state;
	AUTO_FREE char *path = path_join(base, "stream");
	assert_int_equal(file_write_all(path, bytes, count, 0600, &err), 0);
	AUTO_FD fd = open(path, O_RDONLY);
	if (read_large(fd, &splice, &err) < 0)
		fail_msg("%s", err.message);
	assert_large(bytes);
	assert_int_equal(splice.moved, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_good, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_anywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_incomplete_part, setup, teardown),
		cmocka_unit_test_setup_teardown(test_from_a_pipe, setup, teardown),
		cmocka_unit_test_setup_teardown(test_from_a_pipe_that_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_from_no_pipe, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
