/* The wire format that tcp, multi and ssh share. All numbers are little-endian.
 *
 *   hello    magic (8 bytes), token (16), stream (u32), streams (u32): by the end that connects
 *   records  24 bytes: type (u8), flags (u8), text_bytes (u16), mode (u32), size (u64),
 *            extra (u64); then text_bytes bytes of text, then what the type says
 *   answer   24 bytes: ok (u8), kind (u8), text_bytes (u16), zero (u32), bytes (u64), files (u64);
 *            then the text of an error: by the sink, after END or as soon as it fails
 *   state    24 bytes: 2 (u8), zero (u8), zero (u16), bad (u32), done (u64), zero (u64); then bad
 *            numbers (u64): by the sink of multi, after ROUND and on a connection that replaces one
 *
 * A file is FILE, PART if its flag says so, and DATA and HOLE records until its (part's) size is
 * reached; a folder precedes what is in it. DATA only promises bytes that the source has already
 * read, so ABORT fits between any two records. Every record but END and ABORT is followed by
 * another one. */
#ifndef LINEFILL_TRANSPORTS_WIRE_WIRE_H
#define LINEFILL_TRANSPORTS_WIRE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/api/xfer.h"
#include "transports/wire/channel.h"

#define WIRE_HELLO_BYTES  32
#define WIRE_RECORD_BYTES 24
#define WIRE_PATH_MAX     4095 /* bytes of a path or of a link's target, as PATH_MAX less its NUL */
#define WIRE_ERROR_MAX    480  /* bytes of an error's text */

enum wire_type {
	WIRE_FOLDER = 1, /* text: path; mode */
	WIRE_LINK,       /* text: path; size: bytes of the target, which follow */
	WIRE_FILE,       /* text: path; mode; size; extra: mtime in s */
	WIRE_PART,       /* the part of a split file that follows; size: length, extra: offset */
	WIRE_DATA,       /* size: bytes, which follow */
	WIRE_HOLE,       /* size: bytes */
	WIRE_READY,      /* all folders and links were sent: other streams may write */
	WIRE_MODE,       /* text: path of a folder; mode: final, after all that is in it */
	WIRE_END,        /* size: bytes of files sent on this stream, extra: FILE records */
	WIRE_ABORT,      /* text: why the source gives up; mode: enum error_kind */
	WIRE_ROUND,      /* size: records so far on this stream; the sink answers with its state */
	WIRE_PACKED,     /* as DATA, deflated; size: bytes of contents, extra: bytes that follow */
	WIRE_CHECK,      /* ends a file or part; size: XXH3-64 of its records and contents */
	WIRE_SAME, /* instead of contents: size and extra are low and high of their XXH3-128 */
	WIRE_TYPES
};

#define WIRE_FLAG_SPLIT 1u /* FILE: a PART follows */
#define WIRE_FLAG_SAME  2u /* FILE: SAME follows: does the sink have this already? */

struct wire_record {
	enum wire_type type;
	uint32_t flags, mode;
	uint32_t text_bytes;
	uint64_t size, extra;
};

/* With streams in a hello: this connection takes the place of one that broke. */
#define WIRE_HELLO_AGAIN 0x80000000u

void wire_hello_encode(unsigned char bytes[WIRE_HELLO_BYTES], const struct token *token,
		       uint32_t stream, uint32_t streams);
/* False for another format, another number of streams or another token; compares the token in
 * constant time. */
bool wire_hello_check(const unsigned char bytes[WIRE_HELLO_BYTES], const struct token *token,
		      uint32_t streams, uint32_t *stream);
/* Of one that was checked. */
bool wire_hello_is_again(const unsigned char bytes[WIRE_HELLO_BYTES]);

void wire_record_encode(unsigned char bytes[WIRE_RECORD_BYTES], const struct wire_record *record);
/* Checks the type and that the text is as long as the type allows. */
int wire_record_decode(const unsigned char bytes[WIRE_RECORD_BYTES], struct wire_record *record,
		       struct error *err) MUST_CHECK;

/* A path that stays beneath its root: relative, no empty, "." or ".." part, no NUL, at most
 * WIRE_PATH_MAX bytes. */
bool wire_path_is_safe(const char *path, size_t length);

/* Must this folder's mode wait until all is in it (WIRE_MODE)? It must when its owner could not
 * write there otherwise. The same rule at both ends. */
bool wire_mode_is_late(enum preserve preserve, uint32_t mode);

/* What the sink says when all is written: what it has. */
int wire_answer_send(const struct channel *channel, uint64_t bytes, uint64_t files,
		     struct error *err) MUST_CHECK;
/* The source reads it: an error of the sink becomes ours ("sink: ..."), counts that differ from
 * what was sent are an INTEGRITY error. */
int wire_answer_read(const struct channel *channel, uint64_t bytes, uint64_t files,
		     struct error *err) MUST_CHECK;
/* Source, after a failure of kind PEER while sending: if the sink has said why it stopped, its
 * words become *err, and true. */
bool wire_answer_explain(const struct channel *channel, struct error *err);
/* Sink, after a failure: tells the source why, best effort. */
void wire_answer_failure(const struct channel *channel, const struct error *failure);

/* Files and parts that may be on their way on one stream before the sink says which are good. */
#define WIRE_ROUND_MAX 8192u
/* Bad ones that a state names at most: until the next ROUND the sink cannot know that the source
 * has read of those before. */
#define WIRE_FAULTS_MAX (2 * WIRE_ROUND_MAX)

/* How far the sink got with one stream. */
struct wire_state {
	uint64_t done;   /* FOLDER, LINK and FILE records that were taken to their end */
	uint32_t faults; /* of those, FILE records that were not good and must come again */
	uint64_t
		*faulty; /* their numbers, rising, from 0; room for WIRE_FAULTS_MAX, the caller's */
};
int wire_state_send(const struct channel *channel, const struct wire_state *state,
		    struct error *err) MUST_CHECK;
/* Anything may come: numbers that do not rise or lie beyond done are an error (PEER). A failure
 * that the sink tells instead becomes ours, with *told set. */
int wire_state_read(const struct channel *channel, struct wire_state *state, bool *told,
		    struct error *err) MUST_CHECK;
/* Errors that travel keep their kind only if a peer may claim it; else PEER. */
enum error_kind wire_error_kind(uint32_t kind);

#endif
