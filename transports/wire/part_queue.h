/* Source: hands the files of a tree to whichever stream is free, largest first: a large file block
 * by block, small ones several at a time. Any thread may take. */
#ifndef LINEFILL_TRANSPORTS_WIRE_PART_QUEUE_H
#define LINEFILL_TRANSPORTS_WIRE_PART_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/api/manifest.h"

/* More files than this in one batch would leave other streams idle at the end. */
#define PART_BATCH_MAX 256

struct part_queue;

/* What one stream does next: either whole files queue order [first, first + count), or one part of
 * a file (count 1). */
struct part_batch {
	size_t first, count;
	uint64_t offset, length; /* of the one file, when count is 1 */
	unsigned tries;          /* how often this was sent before */
};

/* block: bytes a batch should have. files must outlive the queue. */
struct part_queue *part_queue_new(const struct manifest *files, uint64_t block);
void part_queue_free(struct part_queue *queue);
/* False when nothing is left. */
bool part_queue_take(struct part_queue *queue, struct part_batch *batch);
/* What was taken and did not arrive: the next to take it is the next that is free. tries is the
 * caller's to count. */
void part_queue_put_back(struct part_queue *queue, const struct part_batch *batch);
/* Bytes of a batch. */
uint64_t part_queue_bytes(const struct part_queue *queue, const struct part_batch *batch);
/* The file at that place of the queue's order. */
const struct manifest_entry *part_queue_entry(const struct part_queue *queue, size_t place);

#endif
