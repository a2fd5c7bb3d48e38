/* What multi may add to the files and parts on its streams ("units"): a checksum of each, and
 * contents deflated where that pays. Both ends; one thread an object. */
#ifndef LINEFILL_TRANSPORTS_WIRE_UNIT_CODER_H
#define LINEFILL_TRANSPORTS_WIRE_UNIT_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transports/wire/split_files.h"
#include "transports/wire/wire.h"

struct unit_coder_options {
	bool checksum; /* XXH3-64 (https://xxhash.com) after each unit */
	bool resume;   /* the sink is asked what it has */
	int compress;  /* zlib level; 0 is none */
	size_t block;  /* bytes of contents that one record carries at most */
	uint64_t unit; /* bytes of a unit at most: what one SAME may make the sink read */
};

struct unit_coder;

/* Touches its memory: a block if it compresses or resumes, and what zlib takes. */
struct unit_coder *unit_coder_new(const struct unit_coder_options *options, enum xfer_side side);
/* Safe on NULL. */
void unit_coder_free(struct unit_coder *coder);

bool unit_coder_checks(const struct unit_coder *coder);
bool unit_coder_resumes(const struct unit_coder *coder);
/* Room for a block, free between two calls; NULL without compress and resume. */
unsigned char *unit_coder_room(struct unit_coder *coder);

/* A FILE record and its path begin a unit. PART and HOLE records belong to its sum, too. */
void unit_coder_begin(struct unit_coder *coder, const struct wire_record *record, const char *path);
void unit_coder_record(struct unit_coder *coder, const struct wire_record *record);
/* Contents as they are in the file. */
void unit_coder_contents(struct unit_coder *coder, const void *bytes, size_t count);
/* The sum of the unit so far. */
uint64_t unit_coder_sum(const struct unit_coder *coder);

/* Source: deflates the contents in place if that saves at least a sixteenth; makes *record DATA or
 * PACKED and returns the bytes that follow it. Contents that did not shrink spare the next ones the
 * trial. */
size_t unit_coder_pack(struct unit_coder *coder, unsigned char *bytes, size_t count,
		       struct wire_record *record);
/* Sink: is this PACKED record allowed? Nothing that exceeds a block is. */
int unit_coder_check_packed(const struct unit_coder *coder, const struct wire_record *record,
			    struct error *err) MUST_CHECK;
/* Sink: inflates the record's bytes into the room, never more than it announced. False when they
 * are not what was announced. */
bool unit_coder_unpack(struct unit_coder *coder, const unsigned char *bytes,
		       const struct wire_record *record);

/* The XXH3-128 of a part of a file as a SAME record, holes read as zeros; needs the room. The file
 * being too short is an error (SYSTEM). */
int unit_coder_describe(struct unit_coder *coder, int fd, const struct split_part *part,
			struct wire_record *same, struct error *err) MUST_CHECK;
/* Sink: is the part in the file what the record says? */
int unit_coder_compare(struct unit_coder *coder, int fd, const struct split_part *part,
		       const struct wire_record *wanted, bool *same, struct error *err) MUST_CHECK;
/* Sink: the numbers of the units that must come again. */
int unit_coder_fault(struct unit_coder *coder, uint64_t number, struct error *err) MUST_CHECK;
/* They stay ours. */
void unit_coder_faults(struct unit_coder *coder, struct wire_state *state);
/* Those below a number are known to the source. */
void unit_coder_forget(struct unit_coder *coder, uint64_t number);

#endif
