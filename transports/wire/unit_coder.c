#include "transports/wire/unit_coder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

/* Raw deflate (RFC 1951): its own checksum would be one too many. */
#define WINDOW_BITS  (-15)
#define MEMORY_LEVEL 8
/* Trials left out after contents that did not shrink, doubled each time up to this. */
#define SKIP_MAX 16u

struct unit_coder {
	struct unit_coder_options options;
	XXH3_state_t *sum, *whole;
	z_stream deflated, inflated;
	unsigned char *room;
	unsigned skip, skip_next;
	uint32_t faults;
	uint64_t *faulty;
};

static void start_zlib(struct unit_coder *coder, enum xfer_side side)
{
	int code = side == XFER_SOURCE
			   ? deflateInit2(&coder->deflated, coder->options.compress, Z_DEFLATED,
					  WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY)
			   : inflateInit2(&coder->inflated, WINDOW_BITS);
	if (code != Z_OK)
		abort();
}

struct unit_coder *unit_coder_new(const struct unit_coder_options *options, enum xfer_side side)
{
	struct unit_coder *coder = calloc(1, sizeof(*coder));
	if (!coder)
		abort();
	coder->options = *options;
	coder->skip_next = 1;
	coder->faulty = calloc(WIRE_FAULTS_MAX, sizeof(coder->faulty[0]));
	coder->sum = options->checksum ? XXH3_createState() : NULL;
	if (!coder->faulty || (options->checksum && !coder->sum))
		abort();
	if (options->compress)
		start_zlib(coder, side);
	if (!options->compress && !options->resume)
		return coder;
	coder->room = malloc(options->block);
	coder->whole = XXH3_createState();
	if (!coder->room || !coder->whole)
		abort();
	memset(coder->room, 0, options->block);
	return coder;
}

void unit_coder_free(struct unit_coder *coder)
{
	if (!coder)
		return;
	/* Both only say that they were not begun where they were not. */
	deflateEnd(&coder->deflated);
	inflateEnd(&coder->inflated);
	XXH3_freeState(coder->sum);
	XXH3_freeState(coder->whole);
	free(coder->room);
	free(coder->faulty);
	free(coder);
}

bool unit_coder_checks(const struct unit_coder *coder)
{
	return coder && coder->options.checksum;
}

bool unit_coder_resumes(const struct unit_coder *coder)
{
	return coder && coder->options.resume;
}

unsigned char *unit_coder_room(struct unit_coder *coder)
{
	return coder->room;
}

void unit_coder_contents(struct unit_coder *coder, const void *bytes, size_t count)
{
	if (unit_coder_checks(coder))
		XXH3_64bits_update(coder->sum, bytes, count);
}

void unit_coder_record(struct unit_coder *coder, const struct wire_record *record)
{
	unsigned char bytes[WIRE_RECORD_BYTES];
	if (!unit_coder_checks(coder))
		return;
	wire_record_encode(bytes, record);
	unit_coder_contents(coder, bytes, sizeof(bytes));
}

void unit_coder_begin(struct unit_coder *coder, const struct wire_record *record, const char *path)
{
	if (!unit_coder_checks(coder))
		return;
	XXH3_64bits_reset(coder->sum);
	unit_coder_record(coder, record);
	unit_coder_contents(coder, path, record->text_bytes);
}

uint64_t unit_coder_sum(const struct unit_coder *coder)
{
	return XXH3_64bits_digest(coder->sum);
}

/* Into the room; 0 when it does not save enough. */
static size_t try_to_shrink(struct unit_coder *coder, unsigned char *bytes, size_t count)
{
	z_stream *stream = &coder->deflated;
	size_t most = count - count / 16;
	if (deflateReset(stream) != Z_OK)
		return 0;
	stream->next_in = bytes;
	stream->avail_in = (uInt)count;
	stream->next_out = coder->room;
	stream->avail_out = (uInt)most;
	if (deflate(stream, Z_FINISH) != Z_STREAM_END)
		return 0;
	return most - stream->avail_out;
}

size_t unit_coder_pack(struct unit_coder *coder, unsigned char *bytes, size_t count,
		       struct wire_record *record)
{
	*record = (struct wire_record){ .type = WIRE_DATA, .size = count };
	if (!coder || !coder->options.compress || count > coder->options.block)
		return count;
	if (coder->skip > 0) {
		coder->skip--;
		return count;
	}
	size_t packed = try_to_shrink(coder, bytes, count);
	if (packed == 0) {
		coder->skip = coder->skip_next;
		if (coder->skip_next < SKIP_MAX)
			coder->skip_next *= 2;
		return count;
	}
	coder->skip_next = 1;
	memcpy(bytes, coder->room, packed);
	record->type = WIRE_PACKED;
	record->extra = packed;
	return packed;
}

int unit_coder_check_packed(const struct unit_coder *coder, const struct wire_record *record,
			    struct error *err)
{
	if (!coder || !coder->options.compress)
		return error_set(err, ERROR_PEER, 0, "the peer sent packed contents unasked");
	if (record->size > coder->options.block || record->extra == 0 ||
	    record->extra >= record->size)
		return error_set(err, ERROR_PEER, 0, "the peer sent packed contents out of range");
	return 0;
}

bool unit_coder_unpack(struct unit_coder *coder, const unsigned char *bytes,
		       const struct wire_record *record)
{
	z_stream *stream = &coder->inflated;
	if (inflateReset(stream) != Z_OK)
		return false;
	stream->next_in = (unsigned char *)bytes;
	stream->avail_in = (uInt)record->extra;
	stream->next_out = coder->room;
	stream->avail_out = (uInt)record->size;
	return inflate(stream, Z_FINISH) == Z_STREAM_END && stream->avail_in == 0 &&
	       stream->avail_out == 0;
}

int unit_coder_describe(struct unit_coder *coder, int fd, const struct split_part *part,
			struct wire_record *same, struct error *err)
{
	XXH3_state_t *sum = coder->whole;
	XXH3_128bits_reset(sum);
	for (uint64_t done = 0; done < part->length;) {
		uint64_t left = part->length - done;
		size_t most = left < coder->options.block ? (size_t)left : coder->options.block;
		ssize_t n = pread(fd, coder->room, most, (off_t)(part->offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_system(err, "read %s", part->path);
		if (n == 0)
			return error_set(err, ERROR_SYSTEM, 0, "%s has shrunk", part->path);
		XXH3_128bits_update(sum, coder->room, (size_t)n);
		done += (uint64_t)n;
	}
	XXH128_hash_t hash = XXH3_128bits_digest(sum);
	*same = (struct wire_record){ .type = WIRE_SAME, .size = hash.low64, .extra = hash.high64 };
	return 0;
}

int unit_coder_compare(struct unit_coder *coder, int fd, const struct split_part *part,
		       const struct wire_record *wanted, bool *same, struct error *err)
{
	struct wire_record found;
	if (part->length > coder->options.unit)
		return error_set(err, ERROR_PEER, 0, "the peer asked for %llu bytes at once",
				 (unsigned long long)part->length);
	if (unit_coder_describe(coder, fd, part, &found, err) < 0)
		return -1;
	*same = found.size == wanted->size && found.extra == wanted->extra;
	return 0;
}

int unit_coder_fault(struct unit_coder *coder, uint64_t number, struct error *err)
{
	if (coder->faults == WIRE_FAULTS_MAX)
		return error_set(err, ERROR_PEER, 0, "too many parts of files are bad");
	coder->faulty[coder->faults++] = number;
	return 0;
}

void unit_coder_faults(struct unit_coder *coder, struct wire_state *state)
{
	state->faults = coder->faults;
	state->faulty = coder->faulty;
}

void unit_coder_forget(struct unit_coder *coder, uint64_t number)
{
	uint32_t known = 0;
	while (known < coder->faults && coder->faulty[known] < number)
		known++;
	coder->faults -= known;
	memmove(coder->faulty, coder->faulty + known, coder->faults * sizeof(coder->faulty[0]));
}
