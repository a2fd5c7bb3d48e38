/* Two agents, source and sink, made ready for a study: folders, data, shares, the private SSH
 * server. Everything here can be asked for again: it is done when it is missing, such as after an
 * agent died. */
#ifndef LINEFILL_CONTROL_PAIR_H
#define LINEFILL_CONTROL_PAIR_H

#include <jansson.h>

#include "harness/control/peer.h"
#include "harness/study/study.h"

/* What the source told about the dataset. Strings in manifest are not set: it serves to ask what a
 * transport can carry. */
struct pair_dataset {
	struct manifest totals;
	char digest[MANIFEST_DIGEST_SIZE];
	bool in_place, users_own;
	uint64_t manifest_bytes;
	/* What became of it since: then no copy of it can be right any more. "" as long as nothing
	 * did. */
	char changed[sizeof(((struct error *)0)->message)];
};

/* Which private SSH server a case needs. Another one is started only when these change. */
struct pair_ssh_terms {
	enum xfer_side driver;                                /* the client's end */
	char service[32];                                     /* see ssh_kind.h */
	char cipher[OPTION_TEXT_SIZE], mac[OPTION_TEXT_SIZE]; /* "" is the tools' default */
};

struct pair_side {
	struct peer peer;
	bool ready;    /* folders are made, and the data is known */
	bool launched; /* once at least */
	bool mourned;  /* its death is among the notes */
	json_t *facts; /* of the host: the reply to hello */
	json_t *roots; /* of the shares */
	char *data;    /* its data folder */
	bool ram;
	json_t *memory;     /* facts of the host for the record; NULL: not probed */
	bool memory_needed; /* its memory must be held between runs, or copies measure it */
};

struct pair {
	const struct study *study;
	const char *const *tool_folders; /* for the agents' catalogs; ends with NULL, or NULL */
	char *log_folder;                /* agents' diagnostics go here */
	struct pair_side sides[2];       /* by enum xfer_side */
	struct pair_dataset dataset;
	uint64_t instances; /* of the shares; 0: none are cut */
	bool ssh_ready;
	struct pair_ssh_terms ssh_terms;  /* of the server that runs, if ssh_ready */
	char ssh_cipher[64], ssh_mac[64]; /* negotiated in the preflight */
	char ssh_server_version[128];
	json_t *servers;  /* all that ran: {"source": {"sshd": PROGRAM, ...}, "sink": ...} */
	json_t *notes;    /* what no row tells: agents that died and were started again, in words */
	bool memory_held; /* the sink holds what the next copy needs */
	int64_t moved_bytes[2]; /* in the last run, as each side counted them; 0: it did not */
};

void pair_init(struct pair *pair, const struct study *study, const char *const *tool_folders,
	       const char *log_folder);
void pair_close(struct pair *pair);

/* How long an agent may work on so many files and bytes, in s: each time it goes through them a
 * minute, and what an old disk needs: 20 MB/s, a third of USB 2.0's 480 Mbit/s, and 100 files/s,
 * about a seek each (8.5 ms, and half a turn at 7200 a minute is 4.2 ms). An agent that needs
 * longer hangs. */
double pair_work_s(uint64_t files, uint64_t bytes, unsigned times);
/* The same for what the dataset turned out to be, once through. */
double pair_pass_s(const struct pair *pair);
/* Looks whether an agent has died, and notes it. */
void pair_check(struct pair *pair);
/* Both agents run and know the data. One that died is started again, which is noted. */
int pair_ready(struct pair *pair, const struct cancel *cancel, struct error *err) MUST_CHECK;
/* The answers of both ends to "does this transport work here": {"name": {"version", "path"} or
 * {"error"}}. */
int pair_probe(struct pair *pair, const struct cancel *cancel, json_t *probes[2],
	       struct error *err) MUST_CHECK;
/* Looks at the memory of both ends: once a study, before its first run. What cannot be found out
 * stays unknown. */
int pair_probe_memory(struct pair *pair, const struct cancel *cancel, struct error *err) MUST_CHECK;
/* Is memory held for copies: does the study ask for it, and does the sink need it? */
bool pair_holds_memory(const struct pair *pair);
/* It is held, if it is to be. */
int pair_hold_memory(struct pair *pair, const struct cancel *cancel, struct error *err) MUST_CHECK;
/* What a row says of the memory under its copy (see the field table); sink_reply: to "run", or
 * NULL. */
void pair_memory_text(const struct pair *pair, const json_t *sink_reply, char *to, size_t size);
int pair_shares(struct pair *pair, uint64_t instances, const struct cancel *cancel,
		struct error *err) MUST_CHECK;
/* Looks whether the source still is what the manifest says: dataset.changed. contents: reads all
 * files again, also those that look untouched. */
int pair_look_again(struct pair *pair, bool contents, const struct cancel *cancel,
		    struct error *err) MUST_CHECK;
/* -1, with dataset.changed, if the source's last reply says so. */
int pair_hear_change(struct pair *pair, struct error *err) MUST_CHECK;
int pair_ssh(struct pair *pair, const struct pair_ssh_terms *terms, const struct cancel *cancel,
	     struct error *err) MUST_CHECK;

/* The literal address of a side's host. */
const char *pair_host(const struct pair *pair, enum xfer_side side);

#endif
