/* One worker at one end of one run: all that a transport module sees. */
#ifndef LINEFILL_API_XFER_H
#define LINEFILL_API_XFER_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/api/manifest.h"
#include "harness/base/cancel.h"
#include "harness/base/io.h"

struct transport;

enum xfer_side { XFER_SOURCE, XFER_SINK };

/* What a peer must show before it is believed: 16 secret bytes, new for every run, the same at both
 * ends. */
#define XFER_TOKEN_BYTES 16
struct token {
	unsigned char bytes[XFER_TOKEN_BYTES];
};

/* Where a listener waits. host is a literal IPv4 or IPv6 address. */
struct endpoint {
	char host[INET6_ADDRSTRLEN];
	uint16_t port; /* 0: this transport publishes none */
};

/* A server that the engine keeps running at the listening end ("sshd"); the strings belong to the
 * engine. */
struct service {
	const char *name;
	const char *host;
	uint16_t port;
	const char *user;
	const char *key_file; /* client's private key, ed25519 */
	const char *public_key_file;
	const char *known_hosts; /* file that names this server and no other */
	const char *ssh_config;  /* for ssh -F: names this server as its own host, with keys, cipher
				    and MAC */
	const char *cipher, *mac; /* what both ends are held to; "" for the tools' own default */
	const char *program;      /* our own binary at the server's end, absolute */
	const char *scratch;      /* the server's end's private folder for this run, absolute */
};

/* Shared between the processes of one end through a mapped file: written by whoever moves data,
 * read by the agent. */
struct xfer_progress {
	_Atomic uint64_t bytes; /* payload moved at this end so far */
	_Atomic uint64_t
		unsent_bytes; /* SINK: of them, what is right without having been sent: holes */
	_Atomic uint64_t files;
	_Atomic int64_t first_byte_ns; /* SINK: CLOCK_MONOTONIC when the first payload byte arrived;
					  0 if not seen */
};
/* Stamps first_byte_ns, the first time it is called: for a sink that counts whole blocks. Any
 * thread. */
void xfer_progress_mark(struct xfer_progress *progress);
/* Counts payload; at a sink the first call also stamps first_byte_ns. Any thread. */
void xfer_progress_add(struct xfer_progress *progress, uint64_t bytes);
/* The same for payload that was not sent. */
void xfer_progress_add_unsent(struct xfer_progress *progress, uint64_t bytes);

/* What a module may find out and report for the row. Empty means unknown. */
struct xfer_report {
	char cipher[64], mac[64];
	uint32_t streams;       /* connections used by this worker; 0 is unknown */
	uint64_t io_calls;      /* system calls that moved data over the line; 0 is unknown */
	uint64_t counted_bytes; /* memory transports at the sink: bytes counted instead of a tree */
};

struct xfer {
	const struct transport *transport;
	enum xfer_side side;
	const void *options;          /* parsed from transport->options, read-only */
	const struct manifest *files; /* this worker's share */
	const char *root; /* SOURCE: the share's folder. SINK: an existing empty folder for the
			     copy. Absolute. */
	const char *source_root; /* root of the source and of the sink, as each end's host names
				    them: for tools */
	const char *sink_root;
	const char *scratch;   /* a private folder for the worker's own files, this end's host */
	const char *bind_host; /* the address of this run at this end: what listeners bind to */
	const char *peer_host; /* the other end's */
	bool open_listener;    /* the user allows listeners on other addresses than bind_host */
	const struct service *service; /* the server it asked for; NULL when it needs none */
	const struct token *token;
	enum preserve preserve;
	int64_t deadline_ns;
	struct xfer_progress *progress;
	struct xfer_report *report;
	const struct cancel *cancel;
	void *private; /* the module's own, from prepare to cleanup */
};

/* The xfer's deadline and cancel in the form that harness/base/io.h takes. */
struct io_limit xfer_limit(const struct xfer *xfer);

#endif
