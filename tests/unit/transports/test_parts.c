/* How files are handed to streams: every byte once, the largest first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "transports/wire/part_queue.h"

#define MIB (UINT64_C(1) << 20)

static void add_files(struct manifest *manifest, const uint64_t *sizes, size_t count)
{
	struct error err = { 0 };
	for (size_t i = 0; i < count; i++) {
		char path[32];
		snprintf(path, sizeof(path), "f%05zu", i);
		const struct manifest_entry entry = { .path = path,
						      .size_bytes = sizes[i],
						      .type = MANIFEST_FILE };
		assert_int_equal(manifest_add(manifest, &entry, &err), 0);
	}
	assert_int_equal(manifest_finish(manifest, &err), 0);
}

/* Takes all batches and checks that they make up the files, in falling size. */
static size_t take_all(const struct manifest *manifest, uint64_t block)
{
	struct part_queue *queue = part_queue_new(manifest, block);
	struct part_batch batch;
	uint64_t bytes = 0;
	uint64_t expected_offset = 0;
	size_t files = 0;
	size_t batches = 0;
	while (part_queue_take(queue, &batch)) {
		const struct manifest_entry *entry = part_queue_entry(queue, batch.first);
		batches++;
		assert_true(batch.count > 0);
		assert_int_equal(batch.first, files);
		if (batch.count == 1) {
			assert_int_equal(batch.offset, expected_offset);
			assert_true(batch.length <= block);
			bytes += batch.length;
			expected_offset += batch.length;
			if (expected_offset < entry->size_bytes)
				continue;
			expected_offset = 0;
		}
		uint64_t together = 0;
		for (size_t i = 0; i < batch.count; i++)
			together += part_queue_entry(queue, batch.first + i)->size_bytes;
		if (batch.count > 1) {
			assert_true(together <= block);
			bytes += together;
		}
		files += batch.count;
	}
	assert_int_equal(files, manifest->files);
	assert_int_equal(bytes, manifest->bytes);
	part_queue_free(queue);
	return batches;
}

static void test_cases(void **state)
{
	static const struct {
		uint64_t block;
		size_t count, batches;
		uint64_t sizes[6];
	} cases[] = {
		{ MIB, 0, 0, { 0 } },
		{ MIB, 1, 1, { 0 } },
		{ MIB, 1, 1, { 1 } },
		{ MIB, 1, 1, { MIB } },
		{ MIB, 1, 2, { MIB + 1 } },
		{ MIB, 1, 10, { 10 * MIB } },
		{ 4 * MIB, 6, 10, { 3, 9 * MIB, 2 * MIB, 0, 17 * MIB, 4 * MIB } },
		{ MIB, 5, 3, { MIB / 2, MIB / 2, MIB / 2, MIB / 2, 1 } },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct manifest manifest = { 0 };
		add_files(&manifest, cases[i].sizes, cases[i].count);
		size_t batches = take_all(&manifest, cases[i].block);
		if (batches != cases[i].batches)
			fail_msg("case %zu: %zu batches", i, batches);
		manifest_free(&manifest);
	}
}

static void test_largest_first(void **state)
{
	static const uint64_t sizes[] = { 5, 20 * MIB, 3 * MIB, 70 * MIB, 100 };
	struct manifest manifest = { 0 };
	struct part_batch batch;
	(void)state;
	add_files(&manifest, sizes, ARRAY_SIZE(sizes));
	struct part_queue *queue = part_queue_new(&manifest, MIB);
	uint64_t last = UINT64_MAX;
	while (part_queue_take(queue, &batch)) {
		uint64_t size = part_queue_entry(queue, batch.first)->size_bytes;
		assert_true(size <= last);
		last = size;
	}
	part_queue_free(queue);
	manifest_free(&manifest);
}

/* What was put back comes again, with its count of tries, before anything else. */
static void test_put_back(void **state)
{
	static const uint64_t sizes[] = { 3 * MIB, 100, 200 };
	struct manifest manifest = { 0 };
	struct part_batch first, small, again;
	(void)state;
	add_files(&manifest, sizes, ARRAY_SIZE(sizes));
	struct part_queue *queue = part_queue_new(&manifest, MIB);
	assert_true(part_queue_take(queue, &first));
	assert_int_equal(first.tries, 0);
	first.tries++;
	part_queue_put_back(queue, &first);
	assert_true(part_queue_take(queue, &again));
	assert_memory_equal(&again, &first, sizeof(first));
	assert_int_equal(part_queue_bytes(queue, &first), MIB);
	for (int i = 0; i < 3; i++)
		assert_true(part_queue_take(queue, &small));
	assert_int_equal(small.count, 2);
	assert_int_equal(part_queue_bytes(queue, &small), 300);
	assert_false(part_queue_take(queue, &again));
	part_queue_put_back(queue, &small);
	assert_true(part_queue_take(queue, &again));
	assert_false(part_queue_take(queue, &again));
	part_queue_free(queue);
	manifest_free(&manifest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_largest_first),
		cmocka_unit_test(test_put_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
