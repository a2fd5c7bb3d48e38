#include "transports/ssh/ssh_receive.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "transports/wire/tree_reader.h"
#include "transports/wire/wire.h"

/* Small enough to stay in a core's cache between read and write. */
#define BLOCK_BYTES (256u << 10)
/* Lets sshd decrypt ahead while the receiver writes; with 64 KiB they take turns. */
#define PIPE_BYTES (1 << 20)
#define ID_BYTES   8
/* How often the worker copies the receiver's counters. */
#define LOOK_S 0.1

/* Written and read by one binary on one host. */
struct receive_spec {
	char magic[8];
	int64_t deadline_ns;
	struct token token;
	enum preserve preserve;
	char root[PATH_MAX];
};

static const char spec_magic[8] = "LFRECV1";

void ssh_receive_id(const struct token *token, char id[SSH_RECEIVE_ID_SIZE])
{
	for (size_t i = 0; i < ID_BYTES; i++)
		snprintf(id + 2 * i, 3, "%02x", token->bytes[i]);
}

static char *file_path(const char *folder, const char *id, const char *suffix)
{
	char *path = NULL;
	if (asprintf(&path, "%s/receive-%s%s", folder, id, suffix) < 0)
		abort();
	return path;
}

static struct xfer_progress *map_progress(const char *path, int flags, struct error *err)
{
	AUTO_FD fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	struct stat status;
	if (fd < 0 || (flags && ftruncate(fd, sizeof(struct xfer_progress)) < 0) ||
	    fstat(fd, &status) < 0) {
		error_system(err, "open %s", path);
		return NULL;
	}
	if ((size_t)status.st_size < sizeof(struct xfer_progress)) {
		error_set(err, ERROR_SYSTEM, 0, "%s is too short", path);
		return NULL;
	}
	void *map =
		mmap(NULL, sizeof(struct xfer_progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		error_system(err, "map %s", path);
		return NULL;
	}
	return map;
}

/* ---- the receiver ---- */

static int read_spec(const char *path, struct receive_spec *spec, struct error *err)
{
	AUTO_FREE char *bytes = NULL;
	size_t count = 0;
	if (file_read_all(path, sizeof(*spec), &bytes, &count, err) < 0)
		return -1;
	if (count != sizeof(*spec) || memcmp(bytes, spec_magic, sizeof(spec_magic)) != 0)
		return error_set(err, ERROR_SYSTEM, 0, "%s was not made by this program", path);
	memcpy(spec, bytes, sizeof(*spec));
	spec->root[sizeof(spec->root) - 1] = '\0';
	return 0;
}

static int check_hello(const struct channel *channel, const struct token *token, struct error *err)
{
	unsigned char hello[WIRE_HELLO_BYTES];
	uint32_t stream;
	if (channel_read_full(channel, hello, sizeof(hello), err) < 0)
		return -1;
	if (!wire_hello_check(hello, token, 1, &stream))
		return error_set(err, ERROR_PEER, 0, "the source shows another run's token");
	return 0;
}

int ssh_receive_stream(const struct xfer *xfer, const struct channel *channel, struct error *err)
{
	struct tree_reader reader = { 0 };
	struct splice_sink splice = SPLICE_SINK_DIRECT;
	int result = check_hello(channel, xfer->token, err);
	if (result == 0)
		result = tree_reader_init(&reader, BLOCK_BYTES, err);
	if (result == 0)
		result = tree_reader_start(&reader, xfer, channel, err);
	reader.splice = &splice;
	if (result == 0)
		result = tree_reader_run(&reader, WIRE_END, err);
	if (result == 0)
		result = wire_answer_send(channel, reader.bytes, reader.complete, err);
	else
		wire_answer_failure(channel, err);
	tree_reader_free(&reader);
	return result;
}

static int receive_by_spec(const char *scratch, const char *id, struct error *err)
{
	AUTO_FREE char *spec_path = file_path(scratch, id, "");
	AUTO_FREE char *progress_path = file_path(scratch, id, ".progress");
	struct receive_spec spec;
	if (read_spec(spec_path, &spec, err) < 0 || io_set_nonblocking(STDIN_FILENO, err) < 0 ||
	    io_set_nonblocking(STDOUT_FILENO, err) < 0)
		return -1;
	struct xfer_progress *progress = map_progress(progress_path, 0, err);
	if (!progress)
		return -1;
	/* Best effort: the user's total may be limited, and it need not be a pipe. */
	(void)fcntl(STDIN_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
	const struct io_limit limit = { .deadline_ns = spec.deadline_ns };
	const struct channel channel = channel_on_pipes(STDIN_FILENO, STDOUT_FILENO, &limit);
	const struct xfer xfer = { .root = spec.root,
				   .token = &spec.token,
				   .preserve = spec.preserve,
				   .progress = progress };
	int result = ssh_receive_stream(&xfer, &channel, err);
	munmap(progress, sizeof(*progress));
	return result;
}

int ssh_receive(const char *scratch, const char *id, struct error *err)
{
	if (strlen(id) != SSH_RECEIVE_ID_SIZE - 1 || strspn(id, "0123456789abcdef") != strlen(id))
		return error_set(err, ERROR_CONFIG, 0, "receive: that is no ID of a transfer");
	AUTO_FREE char *path = file_path(scratch, id, ".status");
	/* Without a worker that listens there is nothing to receive for. */
	AUTO_FD status = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (status < 0)
		return error_system(err, "open %s", path);
	struct error outcome = { 0 };
	int result = receive_by_spec(scratch, id, &outcome);
	if (result < 0)
		*err = outcome;
	/* Small enough to be written whole, pipe(7). */
	if (write(status, &outcome, sizeof(outcome)) < 0 && result == 0)
		return error_system(err, "write %s", path);
	return result;
}

/* ---- the worker ---- */

static int write_spec(const struct ssh_receiver *receiver, const struct xfer *xfer,
		      struct error *err)
{
	AUTO_FREE char *path = file_path(receiver->folder, receiver->id, "");
	AUTO_FREE struct receive_spec *spec = calloc(1, sizeof(*spec));
	if (!spec)
		abort();
	memcpy(spec->magic, spec_magic, sizeof(spec_magic));
	spec->deadline_ns = xfer->deadline_ns;
	spec->token = *xfer->token;
	spec->preserve = xfer->preserve;
	text_copy(spec->root, sizeof(spec->root), xfer->root);
	if (strcmp(spec->root, xfer->root) != 0)
		return error_set(err, ERROR_CONFIG, 0, "the path of the copy is too long");
	return file_write_all(path, spec, sizeof(*spec), 0600, err);
}

int ssh_receiver_open(struct ssh_receiver *receiver, const struct xfer *xfer, struct error *err)
{
	*receiver = (struct ssh_receiver){ .status = -1 };
	receiver->folder = strdup(xfer->service->scratch);
	if (!receiver->folder)
		abort();
	ssh_receive_id(xfer->token, receiver->id);
	AUTO_FREE char *progress = file_path(receiver->folder, receiver->id, ".progress");
	AUTO_FREE char *status = file_path(receiver->folder, receiver->id, ".status");
	if (write_spec(receiver, xfer, err) < 0)
		return -1;
	receiver->progress = map_progress(progress, O_CREAT | O_EXCL, err);
	if (!receiver->progress)
		return -1;
	if (mkfifo(status, 0600) < 0)
		return error_system(err, "make FIFO %s", status);
	receiver->status = open(status, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (receiver->status < 0)
		return error_system(err, "open %s", status);
	return 0;
}

static void copy_progress(const struct xfer_progress *from, struct xfer_progress *to)
{
	atomic_store(&to->bytes, atomic_load(&from->bytes));
	atomic_store(&to->unsent_bytes, atomic_load(&from->unsent_bytes));
	atomic_store(&to->files, atomic_load(&from->files));
	atomic_store(&to->first_byte_ns, atomic_load(&from->first_byte_ns));
}

/* Until there is something on the FIFO; the counters are copied meanwhile. */
static int wait_status(const struct ssh_receiver *receiver, const struct xfer *xfer,
		       struct error *err)
{
	for (;;) {
		struct io_limit look = { .deadline_ns = clock_deadline_ns(LOOK_S),
					 .cancel = xfer->cancel };
		struct error waited = { 0 };
		copy_progress(receiver->progress, xfer->progress);
		if (io_wait(receiver->status, POLLIN, &look, &waited) == 0)
			return 0;
		if (waited.kind != ERROR_TIMEOUT || clock_now_ns() >= xfer->deadline_ns) {
			*err = waited;
			return -1;
		}
	}
}

int ssh_receiver_wait(struct ssh_receiver *receiver, const struct xfer *xfer, struct error *err)
{
	struct error outcome = { 0 };
	if (wait_status(receiver, xfer, err) < 0)
		return -1;
	ssize_t n = read(receiver->status, &outcome, sizeof(outcome));
	copy_progress(receiver->progress, xfer->progress);
	if (n != (ssize_t)sizeof(outcome))
		return error_set(err, ERROR_PEER, 0, "the receiver ended without a word");
	outcome.message[sizeof(outcome.message) - 1] = '\0';
	if (outcome.kind == ERROR_NONE)
		return 0;
	*err = outcome;
	return -1;
}

void ssh_receiver_close(struct ssh_receiver *receiver)
{
	static const char *const suffixes[] = { "", ".progress", ".status" };
	if (!receiver->folder)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		AUTO_FREE char *path = file_path(receiver->folder, receiver->id, suffixes[i]);
		unlink(path);
	}
	if (receiver->progress)
		munmap(receiver->progress, sizeof(*receiver->progress));
	if (receiver->status >= 0)
		close(receiver->status);
	free(receiver->folder);
	*receiver = (struct ssh_receiver){ .status = -1 };
}
