#include "harness/base/socket_table.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"

#define DEPTH_MAX    8
#define LISTEN_STATE 0x0A /* TCP_LISTEN, include/net/tcp_states.h */
#define WORD_DIGITS  8

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
		    local == port && state == LISTEN_STATE &&
		    parse_address(address, &found->address))
			return true;
	}
	return false;
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
