#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/study/plan.h"

static struct study study_of(struct study_case *cases, size_t count, uint64_t rounds, uint64_t seed)
{
	return (struct study){ .cases = cases,
			       .cases_count = count,
			       .settings = { .rounds = rounds, .seed = seed } };
}

/* Every case exactly once in each round, rounds in order: a block design. */
static void test_blocks(void **state)
{
	(void)state;
	static const struct {
		size_t cases;
		uint64_t rounds;
	} sizes[] = { { 1, 1 }, { 1, 5 }, { 7, 3 }, { 64, 20 }, { 1000, 2 } };
	static struct study_case cases[1000];
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct study study = study_of(cases, sizes[i].cases, sizes[i].rounds, 1);
		struct plan plan;
		plan_build(&plan, &study);
		assert_int_equal(plan.count, sizes[i].cases * sizes[i].rounds);
		for (size_t round = 0; round < sizes[i].rounds; round++) {
			bool seen[1000] = { false };
			for (size_t j = 0; j < sizes[i].cases; j++) {
				const struct plan_run *run = &plan.runs[round * sizes[i].cases + j];
				assert_int_equal(run->round, round + 1);
				assert_true(run->item < sizes[i].cases);
				assert_false(seen[run->item]);
				seen[run->item] = true;
			}
		}
		plan_free(&plan);
		assert_null(plan.runs);
	}
}

static bool same_order(const struct plan *plan, size_t first, const struct plan *other,
		       size_t second, size_t cases)
{
	for (size_t i = 0; i < cases; i++)
		if (plan->runs[first * cases + i].item != other->runs[second * cases + i].item)
			return false;
	return true;
}

static void test_order(void **state)
{
	(void)state;
	struct study_case cases[8] = { 0 };
	struct study study = study_of(cases, ARRAY_SIZE(cases), 6, 5);
	struct study longer = study_of(cases, ARRAY_SIZE(cases), 12, 5);
	struct study reseeded = study_of(cases, ARRAY_SIZE(cases), 6, 6);
	struct plan plan, again, extended, other;
	plan_build(&plan, &study);
	plan_build(&again, &study);
	plan_build(&extended, &longer);
	plan_build(&other, &reseeded);
	for (size_t round = 0; round < 6; round++) {
		assert_true(same_order(&plan, round, &again, round, 8));
		/* More rounds do not change the ones before. */
		assert_true(same_order(&plan, round, &extended, round, 8));
		/* 8! orders: that two are alike by chance is not to be seen with these seeds. */
		assert_false(same_order(&plan, round, &other, round, 8));
		for (size_t before = 0; before < round; before++)
			assert_false(same_order(&plan, round, &plan, before, 8));
	}
	plan_free(&plan);
	plan_free(&again);
	plan_free(&extended);
	plan_free(&other);
}

/* No case is favoured: each comes first about as often as any other. */
static void test_first_place(void **state)
{
	(void)state;
	struct study_case cases[4] = { 0 };
	struct study study = study_of(cases, ARRAY_SIZE(cases), 1000, 1);
	size_t first[4] = { 0 };
	struct plan plan;
	plan_build(&plan, &study);
	for (size_t round = 0; round < 1000; round++)
		first[plan.runs[round * 4].item]++;
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) /* 250, within 5 standard deviations */
		assert_in_range(first[i], 180, 320);
	plan_free(&plan);
}

static void test_nothing_to_do(void **state)
{
	(void)state;
	struct study study = study_of(NULL, 0, 3, 1);
	struct plan plan;
	plan_build(&plan, &study);
	assert_int_equal(plan.count, 0);
	assert_true(plan_estimate_s(&plan, 1 << 30) == 0);
	plan_free(&plan);
}

static void test_estimate(void **state)
{
	(void)state;
	const struct plan plan = { .count = 10 };
	double gigabyte_s = 8e9 / PLAN_COPY_BPS + 8e9 / PLAN_VERIFY_BPS + PLAN_RUN_S;
	double estimate = plan_estimate_s(&plan, UINT64_C(1000000000));
	assert_true(estimate > 9.99 * gigabyte_s && estimate < 10.01 * gigabyte_s);
	assert_true(plan_estimate_s(&plan, 0) == 10 * PLAN_RUN_S);
}

/* Short rounds are made more often, where the user did not say how many. */
static void test_rounds_after(void **state)
{
	(void)state;
	static const struct {
		bool set;
		uint64_t rounds;
		double first_s;
		uint64_t after;
	} cases[] = {
		{ false, 5, 0.1, 10 },  { false, 5, 9.99, 10 }, { false, 5, 10, 5 },
		{ false, 5, 3600, 5 },  { true, 5, 0.1, 5 },    { true, 1, 0.1, 1 },
		{ false, 12, 0.1, 12 },
	};
	struct study_case one[1] = { 0 };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct study study = study_of(one, 1, cases[i].rounds, 1);
		study.rounds_set = cases[i].set;
		assert_int_equal(plan_rounds_after(&study, cases[i].first_s), cases[i].after);
	}
}

/* The rounds that come later are those that a longer plan would have had. */
static void test_extend(void **state)
{
	(void)state;
	struct study_case cases[7] = { 0 };
	struct study study = study_of(cases, 7, 5, 3);
	struct study longer = study_of(cases, 7, 10, 3);
	struct plan plan;
	struct plan whole;
	plan_build(&plan, &study);
	plan_build(&whole, &longer);
	assert_int_equal(plan.count, 35);
	plan_extend(&plan, &study, 10);
	assert_int_equal(plan.count, whole.count);
	for (size_t i = 0; i < plan.count; i++) {
		assert_int_equal(plan.runs[i].item, whole.runs[i].item);
		assert_int_equal(plan.runs[i].round, whole.runs[i].round);
	}
	plan_extend(&plan, &study, 4);
	assert_int_equal(plan.count, whole.count);
	plan_free(&plan);
	plan_free(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),      cmocka_unit_test(test_order),
		cmocka_unit_test(test_first_place), cmocka_unit_test(test_nothing_to_do),
		cmocka_unit_test(test_estimate),    cmocka_unit_test(test_rounds_after),
		cmocka_unit_test(test_extend),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
