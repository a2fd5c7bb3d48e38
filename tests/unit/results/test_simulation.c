/* What the rule of compare.h promises, tried on made-up studies: how often it names a difference
 * where there is none, and how often one that is there. The seed is fixed: a run is like any other.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/base/cleanup.h"
#include "harness/base/random.h"
#include "results/contest.h"
#include "results/power.h"

#define CASES_MAX  12
#define ROUNDS_MAX 12
#define STUDIES    2000
#define FALSE_MOST 0.07

/* One run's noise, in logarithms. share: which of the cases it is (0 to 1); time: how much of the
 * study is over (0 to 1). */
struct place {
	double share, time;
};
typedef double noise(struct random *random, const struct place *place);

static double gauss(struct random *random)
{
	return sqrt(-2 * log(random_unit(random))) * cos(2 * M_PI * random_unit(random));
}

/* The ratio of two runs of a round scatters by 10 %. */
static double normal(struct random *random, const struct place *place)
{
	(void)place;
	return 0.1 * M_SQRT1_2 * gauss(random);
}

static double normal_3(struct random *random, const struct place *place)
{
	(void)place;
	return 0.03 * M_SQRT1_2 * gauss(random);
}

/* Each run does. */
static double normal_of_runs(struct random *random, const struct place *place)
{
	(void)place;
	return 0.1 * gauss(random);
}

/* The host slows down to half while the study runs, within rounds too. */
static double drifting(struct random *random, const struct place *place)
{
	return 0.05 * gauss(random) - log(2) * place->time;
}

static double two_humps(struct random *random, const struct place *place)
{
	(void)place;
	return (random_unit(random) < 0.5 ? log(1.3) : 0) + 0.02 * gauss(random);
}

static double some_slow(struct random *random, const struct place *place)
{
	(void)place;
	return (random_unit(random) < 0.2 ? log(0.6) : 0) + 0.05 * gauss(random);
}

/* Student's t with 2 degrees of freedom. */
static double heavy_tails(struct random *random, const struct place *place)
{
	(void)place;
	return 0.05 * gauss(random) / sqrt(-log(random_unit(random)));
}

static double skewed(struct random *random, const struct place *place)
{
	(void)place;
	return 0.1 * log(random_unit(random));
}

static double unequal(struct random *random, const struct place *place)
{
	return 0.01 * pow(30, place->share) * gauss(random);
}

static const struct {
	const char *name;
	noise *make;
} noises[] = {
	{ "normal", normal },           { "drifting", drifting },
	{ "two humps", two_humps },     { "one in five slow", some_slow },
	{ "heavy tails", heavy_tails }, { "skewed", skewed },
	{ "unequal", unequal },
};

struct setting {
	noise *make;
	size_t cases, rounds;
	double faster; /* log of what the first case is faster by than each other */
	enum contest_choice choice;
};

struct study {
	struct contestant contestants[CASES_MAX];
	int64_t rounds[CASES_MAX][ROUNDS_MAX];
	double rates[CASES_MAX][ROUNDS_MAX];
};

/* As a study runs: blocks, each case once a round, in an order of its own. */
static void make_study(struct study *study, const struct setting *setting, struct random *random)
{
	size_t order[CASES_MAX];
	size_t runs = 0;
	for (size_t i = 0; i < setting->cases; i++) {
		order[i] = i;
		study->contestants[i] = (struct contestant){ .rounds = study->rounds[i],
							     .rates = study->rates[i],
							     .count = setting->rounds,
							     .ranked = true };
	}
	for (size_t round = 0; round < setting->rounds; round++) {
		random_shuffle(random, order, setting->cases);
		for (size_t i = 0; i < setting->cases; i++) {
			const struct place place = {
				(double)order[i] / (double)(setting->cases - 1),
				(double)runs++ / (double)(setting->cases * setting->rounds)
			};
			study->rounds[order[i]][round] = (int64_t)round + 1;
			study->rates[order[i]][round] =
				1e9 * exp((order[i] == 0 ? setting->faster : 0) +
					  setting->make(random, &place));
		}
	}
}

/* Is any of the pairs that are shown named? */
static bool names_any(const struct contest *contest)
{
	for (size_t i = 0; i < contest->count; i++)
		for (size_t j = i + 1; j < contest->count; j++) {
			struct comparison pair = contest_pair(contest, i, j);
			bool shown = contest->choice == CONTEST_ALL || i == contest->reference ||
				     j == contest->reference;
			if (shown && compare_verdict(&pair) == COMPARE_DIFFERS)
				return true;
		}
	return false;
}

/* The first case is named fastest, and told apart from the second. */
static bool names_first(const struct contest *contest)
{
	struct comparison pair = contest_pair(contest, 0, 1);
	return contest->order[0] == 0 && compare_verdict(&pair) == COMPARE_DIFFERS &&
	       pair.ratio > 1;
}

static double share_of(const struct setting *setting, bool (*names)(const struct contest *))
{
	struct study study;
	struct random random;
	size_t named = 0;
	random_seed(&random, 4711);
	for (size_t i = 0; i < STUDIES; i++) {
		struct contest contest;
		make_study(&study, setting, &random);
		contest_make(&contest, study.contestants, setting->cases);
		/* Whichever is the baseline was said before. */
		contest_settle(&contest, setting->choice, setting->cases / 2);
		named += names(&contest);
		contest_free(&contest);
	}
	return (double)named / STUDIES;
}

static void test_false_names(void **state)
{
	(void)state;
	static const size_t cases[] = { 2, 6, 12 };
	static const enum contest_choice choices[] = { CONTEST_ALL, CONTEST_BASELINE };
	double worst = 0;
	for (size_t n = 0; n < ARRAY_SIZE(noises); n++)
		for (size_t c = 0; c < ARRAY_SIZE(cases); c++)
			for (size_t rounds = 4; rounds <= ROUNDS_MAX; rounds++)
				for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
					struct setting setting = { noises[n].make, cases[c], rounds,
								   0, choices[i] };
					double share = share_of(&setting, names_any);
					worst = fmax(worst, share);
					if (rounds % 4 == 0)
						printf("%-16s %2zu cases, %2zu rounds, %s: %.1f %%\n",
						       noises[n].name, cases[c], rounds,
						       choices[i] == CONTEST_ALL ? "all pairs"
										 : "baseline",
						       100 * share);
					if (share >= FALSE_MOST)
						fail_msg("%s, %zu cases, %zu rounds: %.1f %% of "
							 "null studies name a difference",
							 noises[n].name, cases[c], rounds,
							 100 * share);
				}
	printf("worst: %.1f %%\n", 100 * worst);
}

static void test_power(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		noise *make;
		size_t rounds;
		double ratio, least;
	} powers[] = {
		{ "10 % of the ratio", normal, 4, 2, 0.90 },
		{ "10 % of the ratio", normal, 5, 2, 0.99 },
		{ "10 % of the ratio", normal, 8, 1.2, 0.55 },
		{ "10 % of the ratio", normal, 10, 1.2, 0.75 },
		{ "10 % of the ratio", normal, 12, 1.2, 0.90 },
		{ "3 % of the ratio", normal_3, 4, 1.2, 0.80 },
		{ "3 % of the ratio", normal_3, 10, 1.05, 0.75 },
		{ "10 % of each run", normal_of_runs, 4, 2, 0.55 },
		{ "10 % of each run", normal_of_runs, 5, 2, 0.95 },
		{ "10 % of each run", normal_of_runs, 12, 1.2, 0.60 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(powers); i++) {
		struct setting setting = { powers[i].make, 6, powers[i].rounds,
					   log(powers[i].ratio), CONTEST_WINNER };
		double share = share_of(&setting, names_first);
		printf("x%.2f in %zu rounds, noise %s: named in %.1f %%\n", powers[i].ratio,
		       powers[i].rounds, powers[i].name, 100 * share);
		if (share < powers[i].least)
			fail_msg("x%.2f in %zu rounds is named in %.1f %% of studies only",
				 powers[i].ratio, powers[i].rounds, 100 * share);
	}
}

/* What --plan says can be told is told in about four studies of five. */
static void test_tellable_ratio(void **state)
{
	(void)state;
	static const size_t cases[] = { 2, 3, 6, 12 };
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++)
		for (size_t rounds = 4; rounds <= ROUNDS_MAX; rounds += 2) {
			double ratio =
				power_tellable_ratio(rounds, 0.1, cases[c] * (cases[c] - 1) / 2);
			struct setting setting = { normal, cases[c], rounds, log(ratio),
						   CONTEST_WINNER };
			double share = share_of(&setting, names_first);
			printf("%zu cases, %zu rounds: x%.2f is named in %.1f %%\n", cases[c],
			       rounds, ratio, 100 * share);
			if (!(share > 0.75 && share < 0.85))
				fail_msg("%zu cases, %zu rounds: x%.2f is named in %.1f %%",
					 cases[c], rounds, ratio, 100 * share);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_false_names),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_tellable_ratio),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
