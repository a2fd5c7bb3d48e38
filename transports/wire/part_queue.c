#include "transports/wire/part_queue.h"

#include <pthread.h>
#include <stdlib.h>

struct part_queue {
	pthread_mutex_t mutex;
	const struct manifest_entry **order;
	size_t count, next;
	uint64_t offset; /* in the file at next */
	uint64_t block;
	struct part_batch *again; /* what was put back */
	size_t again_count, again_room;
};

/* Small files of like size stay in the order of their paths: neighbours share a folder. */
static int size_class(uint64_t size)
{
	return size ? 64 - __builtin_clzll(size) : 0;
}

static int compare(const void *a, const void *b, void *block)
{
	const struct manifest_entry *left = *(const struct manifest_entry *const *)a;
	const struct manifest_entry *right = *(const struct manifest_entry *const *)b;
	const uint64_t large = *(const uint64_t *)block;
	uint64_t left_size = left->size_bytes;
	uint64_t right_size = right->size_bytes;
	if (left_size <= large && right_size <= large) {
		left_size = (uint64_t)size_class(left_size);
		right_size = (uint64_t)size_class(right_size);
	}
	if (left_size != right_size)
		return left_size > right_size ? -1 : 1;
	return (left > right) - (left < right); /* both lie in the manifest's one array */
}

struct part_queue *part_queue_new(const struct manifest *files, uint64_t block)
{
	struct part_queue *queue = calloc(1, sizeof(*queue));
	if (!queue)
		abort();
	queue->block = block;
	queue->order = calloc(files->count + 1, sizeof(queue->order[0]));
	if (!queue->order)
		abort();
	for (size_t i = 0; i < files->count; i++)
		if (files->entries[i].type == MANIFEST_FILE)
			queue->order[queue->count++] = &files->entries[i];
	qsort_r(queue->order, queue->count, sizeof(queue->order[0]), compare, &queue->block);
	pthread_mutex_init(&queue->mutex, NULL);
	return queue;
}

void part_queue_free(struct part_queue *queue)
{
	if (!queue)
		return;
	pthread_mutex_destroy(&queue->mutex);
	free(queue->order);
	free(queue->again);
	free(queue);
}

static void take_part(struct part_queue *queue, struct part_batch *batch)
{
	uint64_t left = queue->order[queue->next]->size_bytes - queue->offset;
	*batch = (struct part_batch){ .first = queue->next, .count = 1, .offset = queue->offset };
	batch->length = left < queue->block ? left : queue->block;
	queue->offset += batch->length;
	if (batch->length == left) {
		queue->next++;
		queue->offset = 0;
	}
}

static void take_files(struct part_queue *queue, struct part_batch *batch)
{
	uint64_t bytes = 0;
	*batch = (struct part_batch){ .first = queue->next };
	batch->length = queue->order[queue->next]->size_bytes;
	while (queue->next < queue->count && batch->count < PART_BATCH_MAX) {
		bytes += queue->order[queue->next]->size_bytes;
		if (batch->count > 0 && bytes > queue->block)
			break;
		batch->count++;
		queue->next++;
	}
}

bool part_queue_take(struct part_queue *queue, struct part_batch *batch)
{
	pthread_mutex_lock(&queue->mutex);
	bool any = queue->again_count > 0 || queue->next < queue->count;
	if (queue->again_count > 0)
		*batch = queue->again[--queue->again_count];
	else if (any && queue->order[queue->next]->size_bytes > queue->block)
		take_part(queue, batch);
	else if (any)
		take_files(queue, batch);
	pthread_mutex_unlock(&queue->mutex);
	return any;
}

const struct manifest_entry *part_queue_entry(const struct part_queue *queue, size_t place)
{
	return queue->order[place];
}

void part_queue_put_back(struct part_queue *queue, const struct part_batch *batch)
{
	pthread_mutex_lock(&queue->mutex);
	if (queue->again_count == queue->again_room) {
		queue->again_room = 2 * queue->again_room + 16;
		queue->again = reallocarray(queue->again, queue->again_room, sizeof(*batch));
		if (!queue->again)
			abort();
	}
	queue->again[queue->again_count++] = *batch;
	pthread_mutex_unlock(&queue->mutex);
}

uint64_t part_queue_bytes(const struct part_queue *queue, const struct part_batch *batch)
{
	uint64_t bytes = 0;
	if (batch->count == 1)
		return batch->length;
	for (size_t i = 0; i < batch->count; i++)
		bytes += queue->order[batch->first + i]->size_bytes;
	return bytes;
}
