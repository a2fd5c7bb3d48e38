/* The contract a transport module is written against: one C file in transports/, plus one line in
 * its CMakeLists.txt.
 *
 * Order of calls, each in a worker process of its own, one worker an instance and side:
 *   listening end: prepare, listen, then receive (sink) or send (source), finish, cleanup
 *   driving end:   prepare, GO, connect, then send (source) or receive (sink), finish, cleanup
 * Everything after GO is timed. prepare opens no connection to the peer, opens no dataset file and
 * touches no destination page. Every call observes xfer->deadline_ns and xfer->cancel. */
#ifndef LINEFILL_API_TRANSPORT_H
#define LINEFILL_API_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/api/xfer.h"
#include "harness/base/error.h"
#include "harness/base/option.h"
#include "harness/base/text.h"

/* What a transport is and can carry. What a dataset needs and a transport lacks makes the case
 * "unsupported". */
enum transport_cap {
	CAP_TWO_ENDED = 1 << 0,  /* our own code at both ends */
	CAP_TOOL = 1 << 1,       /* an external program */
	CAP_MEMORY = 1 << 2,     /* moves no files: bytes are counted at the sink, never ranked */
	CAP_STREAMS = 1 << 3,    /* several connections */
	CAP_SPLIT_FILE = 1 << 4, /* one file over several connections */
	CAP_SYMLINKS = 1 << 5,
	CAP_EMPTY_FOLDERS = 1 << 6,
	CAP_HOLES = 1 << 7,    /* holes stay holes */
	CAP_ANY_NAME = 1 << 8, /* names of any bytes but '/' and NUL */
	CAP_RESUME = 1 << 9,
	CAP_OPEN_LISTENER = 1 << 10, /* listens without authentication */
	CAP_EMPTY_TREE = 1 << 11,    /* a tree with nothing in it */
	CAP_SINGLE_FILE = 1 << 12,   /* a tree of exactly one file, and no other */
	CAP_ANY_ADDRESS = 1 << 13,   /* listens on all addresses, whatever it is told */
	CAP_CEILING = 1 << 14, /* sends nothing over a line: a bound for others, never ranked */
};
/* "two-ended", "tool" ...; NULL for an unknown bit. */
const char *transport_cap_name(enum transport_cap cap);
/* 0 for an unknown name. */
enum transport_cap transport_cap_from_name(const char *name);

/* A program that runs at an end. */
struct probe_program {
	char name[64], path[512];
	char version[128]; /* "": it was not asked */
	char file[512];    /* what the path leads to, links followed; "" where that is the path */
	char sha256[65];   /* of the file, a script's own where it is one; "" where unreadable */
};
#define PROBE_PROGRAMS_MAX 8

/* A question to a transport at one end's host, and what it finds there: in the environment in which
 * it will run there. */
struct probe {
	enum xfer_side side;
	int64_t deadline_ns; /* programs that are asked have until then; 0: a few seconds */
	char version[128];   /* of the program or library that moves the data at this end */
	char path[256];      /* the program, if one is run */
	/* All of them but linefill itself, see program_add; file and sha256 are filled in later. */
	struct probe_program programs[PROBE_PROGRAMS_MAX];
	size_t program_count;
};

/* Options of these names mean the same in every transport, and the engine heeds them: "server",
 * "cipher" and "mac" choose the private SSH server of a transport that needs one, and what it is
 * held to (empty: the study's [ssh]); "streams" is the number of connections of a worker. */

/* Always const. Calls that are not marked optional must be set. */
struct transport {
	const char *name, *summary;
	enum xfer_side
		driver; /* the end that acts: source pushes, sink pulls; the other one listens */
	const char *const
		*needs; /* services that run at the listening end, ends with NULL; NULL for none */
	uint32_t caps;  /* of enum transport_cap */
	bool plain; /* data always travels unencrypted, whatever the options (see option_def.plain)
		     */
	/* Transports that are this one without encryption, the nearest first; ends with NULL; NULL
	 * for none. Reports hold this one against them: what encryption costs. */
	const char *const *plain_twins;
	const struct option_def *options; /* ends with a NULL name; NULL for none */
	size_t options_size;
	/* Is it usable here, and which version? UNAVAILABLE with the reason if not. Both ends'
	 * hosts. */
	int (*probe)(const struct transport *transport, struct probe *probe, struct error *err);
	/* Can it do what these options and this preserve ask? CONFIG, naming them, where options
	 * contradict each other, which ends the study before it begins; UNSUPPORTED with the reason
	 * where it is this transport, or what is installed, that cannot. Pure: called when the
	 * study is read, and again where it runs. Optional. */
	int (*check)(const struct transport *transport, const void *options, enum preserve preserve,
		     struct error *err);
	/* Does it, with these options, move memory only (verified "count")? Optional: caps decide
	 * when NULL. Ask by transport_moves_memory. */
	bool (*memory)(const void *options);
	/* The connections a worker will use with these options, known before the run; 1 when NULL.
	 */
	uint32_t (*streams)(const void *options);
	/* The command that this driving end will run, as one line for people, added to out. Called
	 * before prepare or after it. Optional: no program is run. */
	int (*command)(const struct xfer *xfer, struct text *out, struct error *err);
	int (*prepare)(struct xfer *xfer, struct error *err);
	/* Listening end: be ready and publish where. Optional: nothing to publish. */
	int (*listen)(struct xfer *xfer, struct endpoint *endpoint, struct error *err);
	/* Driving end. Optional: a program does it all in send or receive. */
	int (*connect)(struct xfer *xfer, const struct endpoint *endpoint, struct error *err);
	int (*send)(struct xfer *xfer,
		    struct error *err); /* source; NULL where a service does this end */
	int (*receive)(struct xfer *xfer,
		       struct error *err); /* sink; NULL where a service does this end */
	/* Drain and be acknowledged; timed. Optional. */
	int (*finish)(struct xfer *xfer, struct error *err);
	/* Exactly once after prepare was entered, whatever happened. */
	void (*cleanup)(struct xfer *xfer);
};

/* Has this module all that it must have? name is what it was built in as; NULL where it is known by
 * its own. CONFIG, saying what is missing. */
int transport_check_contract(const struct transport *transport, const char *name,
			     struct error *err) MUST_CHECK;
/* No files are copied with these options: bytes are counted at the sink (verified "count"). */
bool transport_moves_memory(const struct transport *transport, const void *options);
/* UNSUPPORTED, with the reason, when this tree needs what the caps lack (symbolic links, empty
 * folders, odd names). */
int transport_can_carry(const struct transport *transport, const struct manifest *files,
			struct error *err) MUST_CHECK;

#endif
