#include "harness/agent/memory_reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/agent/memory_host.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/log.h"

#define PAGE_BYTES UINT64_C(4096)
/* A file on tmpfs: inode, entry, and what its name or link needs, from the slabs. */
#define ENTRY_BYTES UINT64_C(2048)
/* The tree that finds a file's pages: a node of 576 bytes for 64 pages. */
#define INDEX_PART 448
/* For socket buffers, pipes, and the processes of tools. */
#define SLACK_BYTES (UINT64_C(64) << 20)
/* Between two looks at what is spare, and at whether to go on. */
#define STEP_BYTES ((size_t)64 << 20)
/* To let go of all memory of a large host takes seconds. */
#define RELEASE_S 40

uint64_t memory_reserve_need(const struct manifest *files)
{
	uint64_t bytes = SLACK_BYTES;
	for (size_t i = 0; i < files->count; i++) {
		const struct manifest_entry *entry = &files->entries[i];
		bytes += ENTRY_BYTES;
		if (entry->type == MANIFEST_FILE)
			bytes += (entry->size_bytes - entry->hole_bytes + PAGE_BYTES - 1) /
				 PAGE_BYTES * PAGE_BYTES;
	}
	return bytes + bytes / INDEX_PART;
}

bool memory_reserve_is_held(const struct memory_reserve *reserve)
{
	return reserve->fd >= 0;
}

/* ---- the holder ---- */

/* So that the kernel takes this process when it must take one. Not being allowed to is no harm. */
static void offer_to_the_kernel(void)
{
	static const char most[] = "1000";
	if (file_write_all("/proc/self/oom_score_adj", most, sizeof(most) - 1, 0777, NULL) < 0)
		log_line(LOG_INFO, "the holder of memory keeps its place in the kernel's choice");
}

static int touch(volatile char *at, size_t bytes)
{
	if (madvise((void *)at, bytes, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	/* Before Linux 5.14. */
	for (size_t i = 0; i < bytes; i += PAGE_BYTES)
		at[i] = 1;
	return 0;
}

static bool is_dismissed(int fd)
{
	struct pollfd polled = { .fd = fd };
	return poll(&polled, 1, 0) != 0;
}

/* Others take memory meanwhile: what is spare is asked anew before each step. */
static uint64_t hold(const char *root, uint64_t wanted, int fd)
{
	char *memory = mmap(NULL, wanted, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return 0;
	/* Small pages, as the copy will take them: huge ones stay apart on the kernel's lists when
	 * they are freed, and the copy gets others. */
	if (madvise(memory, wanted, MADV_NOHUGEPAGE) < 0)
		errno = 0;
	uint64_t held = 0;
	while (held < wanted && !is_dismissed(fd)) {
		struct memory_room room;
		size_t step = wanted - held < STEP_BYTES ? (size_t)(wanted - held) : STEP_BYTES;
		if (memory_room(root, &room, NULL) < 0 || memory_spare_bytes(&room) < step ||
		    touch(memory + held, step) < 0)
			break;
		held += step;
	}
	return held;
}

_Noreturn static void holder_main(const char *root, uint64_t wanted, int fd)
{
	char word;
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, "linefill-memory");
	/* The agent's descriptors are none of its business, and must not outlive the agent. */
	int own = dup2(fd, 0);
	int nothing = open("/dev/null", O_WRONLY);
	if (nothing < 0 || dup2(nothing, 1) < 0)
		_exit(1);
	close_range(3, ~0U, 0);
	offer_to_the_kernel();
	uint64_t held = hold(root, wanted, own);
	const struct io_limit never = { .deadline_ns = CLOCK_NEVER };
	if (io_write_full(own, &held, sizeof(held), &never, NULL) == 0)
		while (read(own, &word, 1) < 0 && errno == EINTR)
			;
	_exit(0);
}

/* ---- the agent ---- */

static int start_holder(struct memory_reserve *reserve, const char *root, uint64_t wanted,
			struct error *err)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_system(err, "socketpair");
	reserve->fd = ends[0];
	AUTO_FD theirs = ends[1];
	int side = child_fork(&reserve->holder, err);
	if (side == 0)
		holder_main(root, wanted, theirs);
	return side < 0 || io_set_nonblocking(reserve->fd, err) < 0 ? -1 : 0;
}

static void forget(struct memory_reserve *reserve)
{
	child_end(&reserve->holder);
	if (reserve->fd >= 0)
		close(reserve->fd);
	*reserve = MEMORY_RESERVE_NONE;
}

static bool has_ended(const struct memory_reserve *reserve)
{
	struct pollfd polled = { .fd = reserve->holder.fd, .events = POLLIN };
	return poll(&polled, 1, 0) > 0;
}

int memory_reserve_take(struct memory_reserve *reserve, const char *root, uint64_t wanted,
			const struct io_limit *limit, struct error *err)
{
	struct memory_room room;
	if (memory_reserve_is_held(reserve) && reserve->wanted_bytes == wanted &&
	    !has_ended(reserve))
		return 0;
	forget(reserve);
	if (memory_room(root, &room, err) < 0)
		return -1;
	uint64_t spare = memory_spare_bytes(&room);
	reserve->wanted_bytes = wanted;
	if (spare == 0 || wanted == 0)
		return 0;
	if (start_holder(reserve, root, spare < wanted ? spare : wanted, err) < 0 ||
	    io_read_full(reserve->fd, &reserve->held_bytes, sizeof(reserve->held_bytes), limit,
			 err) < 0) {
		forget(reserve);
		return error_wrap(err, "holding memory for the copy");
	}
	return 0;
}

void memory_reserve_release(struct memory_reserve *reserve)
{
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(RELEASE_S) };
	struct error err = { 0 };
	int status = 0;
	if (!memory_reserve_is_held(reserve))
		return;
	/* Workers that were forked meanwhile have the descriptor, too: closing ours ends nothing.
	 */
	shutdown(reserve->fd, SHUT_RDWR);
	close(take_fd(&reserve->fd));
	if (child_wait(&reserve->holder, &limit, &status, &err) < 0) {
		log_line(LOG_WARNING, "letting go of memory: %s", err.message);
		child_end(&reserve->holder);
	}
	/* Ended by itself it is exit status 0. */
	if (status == 0)
		return;
	char text[64];
	log_line(LOG_WARNING, "the holder of memory was gone: %s",
		 child_status_text(status, text, sizeof(text)));
	reserve->held_bytes = 0;
}
