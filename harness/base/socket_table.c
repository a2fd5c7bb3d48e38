#include "harness/base/socket_table.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"

#define DEPTH_MAX   8
#define WORD_DIGITS 8

#define TABLE_BYTES_MAX (64u << 20)
#define ANSWER_BYTES    32768

/* What is found so far. */
struct finding {
	struct socket_listener *found;
	size_t count, room;
};

/* One word, or four, of the address as it lies in memory. */
static bool parse_address(const char *digits, struct in6_addr *address)
{
	uint32_t words[4] = { 0, 0, htonl(0xFFFF), 0 };
	size_t length = strlen(digits);
	if (length != WORD_DIGITS && length != 4 * WORD_DIGITS)
		return false;
	for (size_t i = 4 - length / WORD_DIGITS; i < 4; i++, digits += WORD_DIGITS)
		if (sscanf(digits, "%8" SCNx32, &words[i]) != 1)
			return false;
	memcpy(address, words, sizeof(words));
	return true;
}

bool socket_table_next(const char **cursor, uint16_t port, struct socket_listener *found)
{
	for (const char *line = strchr(*cursor, '\n'); line; line = strchr(line + 1, '\n')) {
		char address[4 * WORD_DIGITS + 1];
		unsigned local = 0;
		unsigned state = 0;
		*cursor = line + 1;
		/* number: local-address:port remote-address:port state queues timer retransmits
		 * user timeout inode ... */
		if (sscanf(line + 1,
			   "%*u: %32[0-9A-Fa-f]:%4x %*[0-9A-Fa-f]:%*4x %2x %*s %*s %*s %*u %*u %lu",
			   address, &local, &state, &found->inode) == 4 &&
		    (port == 0 || local == port) && state == TCP_LISTEN &&
		    parse_address(address, &found->address)) {
			found->port = (uint16_t)local;
			return true;
		}
	}
	return false;
}

static void add_found(struct finding *finding, const struct socket_listener *listener)
{
	if (finding->count < finding->room)
		finding->found[finding->count++] = *listener;
}

size_t socket_table_read(uint16_t port, struct socket_listener *found, size_t room)
{
	static const char *const tables[] = { "/proc/self/net/tcp", "/proc/self/net/tcp6" };
	struct finding finding = { .found = found, .room = room };
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		AUTO_FREE char *table = NULL;
		struct socket_listener listener;
		if (file_read_all(tables[i], TABLE_BYTES_MAX, &table, NULL, NULL) < 0)
			continue;
		for (const char *cursor = table; socket_table_next(&cursor, port, &listener);)
			add_found(&finding, &listener);
	}
	return finding.count;
}

/* ---- over netlink, sock_diag(7) ---- */

static int ask_for(int fd, uint8_t family, uint16_t port)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} ask = { .head = { .nlmsg_len = sizeof(ask),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		  .body = { .sdiag_family = family,
			    .sdiag_protocol = IPPROTO_TCP,
			    .idiag_states = 1u << TCP_LISTEN,
			    .id = { .idiag_sport = htons(port) } } };
	return send(fd, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask) ? 0 : -1;
}

static void take_socket(const struct inet_diag_msg *message, uint16_t port, struct finding *finding)
{
	struct socket_listener listener = { .inode = message->idiag_inode };
	uint32_t words[4] = { 0, 0, htonl(0xFFFF), message->id.idiag_src[0] };
	listener.port = ntohs(message->id.idiag_sport);
	if ((port && listener.port != port) || message->idiag_state != TCP_LISTEN)
		return;
	bool v4 = message->idiag_family == AF_INET;
	memcpy(&listener.address, v4 ? words : message->id.idiag_src, sizeof(words));
	add_found(finding, &listener);
}

/* The messages of one datagram: 1 when the answer is complete, 0 when more will come. */
static int take_messages(const char *bytes, size_t count, uint16_t port, struct finding *finding)
{
	while (count >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr head;
		memcpy(&head, bytes, sizeof(head));
		if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > count)
			return -1;
		if (head.nlmsg_type == NLMSG_DONE)
			return 1;
		struct inet_diag_msg message;
		if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
		    head.nlmsg_len < NLMSG_HDRLEN + sizeof(message))
			return -1; /* an error, such as no module for this */
		memcpy(&message, bytes + NLMSG_HDRLEN, sizeof(message));
		take_socket(&message, port, finding);
		size_t step = NLMSG_ALIGN(head.nlmsg_len);
		bytes += step < count ? step : count;
		count -= step < count ? step : count;
	}
	return 0;
}

/* The kernel has answered by the time that it was asked: nothing is waited for. */
static int hear_all(int fd, uint16_t port, struct finding *finding)
{
	char answer[ANSWER_BYTES];
	int done = 0;
	while (done == 0) {
		ssize_t n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
		done = n <= 0 ? -1 : take_messages(answer, (size_t)n, port, finding);
	}
	return done < 0 ? -1 : 0;
}

int socket_table_ask(uint16_t port, struct socket_listener *found, size_t room)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	struct finding finding = { .found = found, .room = room };
	AUTO_FD fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (fd < 0 || ask_for(fd, families[i], port) < 0 ||
		    hear_all(fd, port, &finding) < 0)
			return -1;
	return (int)finding.count;
}

size_t socket_table_find(uint16_t port, struct socket_listener *found, size_t room)
{
	int count = socket_table_ask(port, found, room);
	return count >= 0 ? (size_t)count : socket_table_read(port, found, room);
}

bool socket_table_may_listen(const struct socket_listener *listener, const char *only)
{
	const struct in6_addr *address = &listener->address;
	char mapped[INET6_ADDRSTRLEN + 8];
	struct in6_addr wanted;
	snprintf(mapped, sizeof(mapped), "%s%.45s", strchr(only, ':') ? "" : "::ffff:", only);
	if (inet_pton(AF_INET6, mapped, &wanted) == 1 && IN6_ARE_ADDR_EQUAL(address, &wanted))
		return true;
	return IN6_IS_ADDR_LOOPBACK(address) ||
	       (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == IN_LOOPBACKNET);
}

static bool process_has_socket(pid_t pid, unsigned long inode)
{
	char folder[64], wanted[64];
	snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)pid);
	int length = snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	AUTO_DIR dir = opendir(folder);
	struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		char target[64];
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target));
		if (n == length && memcmp(target, wanted, (size_t)length) == 0)
			return true;
	}
	return false;
}

static bool tree_has_socket(pid_t pid, unsigned long inode, int depth);

static bool children_have_socket(pid_t pid, const char *task, unsigned long inode, int depth)
{
	char path[96];
	int child = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, task);
	AUTO_FILE file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1)
		if (tree_has_socket(child, inode, depth + 1))
			return true;
	return false;
}

/* Does this process, or what it started, hold the socket? */
static bool tree_has_socket(pid_t pid, unsigned long inode, int depth)
{
	char folder[64];
	if (depth > DEPTH_MAX)
		return false;
	if (process_has_socket(pid, inode))
		return true;
	snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pid);
	AUTO_DIR dir = opendir(folder);
	struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    children_have_socket(pid, entry->d_name, inode, depth))
			return true;
	return false;
}

bool socket_table_is_ours(const struct socket_listener *listener)
{
	return tree_has_socket(getpid(), listener->inode, 0);
}
