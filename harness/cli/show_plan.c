#include "harness/cli/show_plan.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/cli.h"
#include "harness/cli/plan_noise.h"
#include "harness/study/hindrance.h"
#include "harness/study/plan.h"
#include "results/compare.h"
#include "results/power.h"

static void print_cases(const struct study *study)
{
	const struct manifest look = hindrance_estimate(study);
	for (size_t i = 0; i < study->cases_count; i++) {
		const struct study_case *item = &study->cases[i];
		cli_print(stdout, "  %-28s %s%s%s, %llu instance%s", item->label,
			  item->transport_name, item->options_text[0] ? ":" : "",
			  item->options_text, (unsigned long long)item->instances,
			  item->instances == 1 ? "" : "s");
		/* What --case and --set call it. */
		if (strcmp(study_case_title(item), item->label) != 0)
			cli_print(stdout, "  [%s]", item->section);
		struct error why = { 0 };
		bool hindered = hindrance_find(study, item, &look, &why) < 0;
		cli_print(stdout, "%s%s%s%s\n", hindered ? " -- " : "",
			  hindered ? error_kind_name(why.kind) : "", hindered ? ": " : "",
			  hindered ? why.message : "");
	}
}

static void print_order(const struct study *study, const struct plan *plan)
{
	int round = 0;
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->runs[i].round != round) {
			round = plan->runs[i].round;
			cli_print(stdout, "%s  round %d: ", round > 1 ? "\n" : "", round);
		} else {
			cli_print(stdout, "; "); /* labels have commas */
		}
		cli_print(stdout, "%s", study->cases[plan->runs[i].item].label);
	}
	cli_print(stdout, "\n");
}

/* Cases that copy, as far as can be said now. */
static size_t count_rivals(const struct study *study)
{
	size_t rivals = 0;
	for (size_t i = 0; i < study->cases_count; i++) {
		const struct study_case *item = &study->cases[i];
		rivals +=
			item->transport && !transport_moves_memory(item->transport, item->options);
	}
	return rivals;
}

static void print_tellable(size_t rounds, double noise, size_t family)
{
	if (rounds < COMPARE_ROUNDS_MIN)
		cli_print(stdout,
			  "%zu round%s: no difference is named below %d, results are shown as "
			  "observed\n",
			  rounds, rounds == 1 ? "" : "s", COMPARE_ROUNDS_MIN);
	else
		cli_print(stdout, "%zu rounds can tell a factor of %.2f, in four studies of five\n",
			  rounds, power_tellable_ratio(rounds, noise, family));
}

static void print_power(const struct study *study, const struct plan_noise *noise, bool all_pairs)
{
	size_t rivals = count_rivals(study);
	if (rivals < 2) {
		cli_print(stdout, "Nothing is compared: it takes two cases that copy\n");
		return;
	}
	/* The fastest could be any: all pairs count. */
	bool baseline = study->baseline && !all_pairs;
	size_t family = baseline ? rivals - 1 : rivals * (rivals - 1) / 2;
	cli_print(
		stdout,
		"Differences: %zu pair%s%s%s; the ratio of two runs of a round scatters by %.1f %% (%s%s)\n",
		family, family == 1 ? "" : "s", baseline ? ", each with " : "",
		baseline ? study->baseline : "", 100 * noise->ratio,
		noise->folder ? "seen in " : "a guess: there are no earlier results of this study",
		noise->folder ? noise->folder : "");
	print_tellable((size_t)study->settings.rounds, noise->ratio, family);
	if (!study->rounds_set)
		print_tellable(PLAN_ROUNDS_SHORT, noise->ratio, family);
}

static void print_sum(const struct study *study, const struct plan *plan, uint64_t bytes)
{
	char total[32];
	cli_print(stdout,
		  "In all: %zu runs, %s to copy, roughly %.0f s (at %.1f Gbit/s; a guess before "
		  "anything is measured)\n",
		  plan->count, text_from_bytes(total, sizeof(total), bytes * plan->count),
		  plan_estimate_s(plan, bytes), PLAN_COPY_BPS / 1e9);
	if (!study->rounds_set)
		cli_print(stdout,
			  "Rounds are not set: %d instead of %llu where the first takes less than "
			  "%.0f s\n",
			  PLAN_ROUNDS_SHORT, (unsigned long long)study->settings.rounds,
			  PLAN_SHORT_ROUND_S);
}

static void print_plan(const struct study *study, const struct dataset_estimate *estimate)
{
	struct plan plan;
	char bytes[32];
	plan_build(&plan, study);
	cli_print(stdout, "Dataset: %s: %llu files, %s (%llu bytes)\n", study->dataset_text,
		  (unsigned long long)estimate->files,
		  text_from_bytes(bytes, sizeof(bytes), estimate->bytes),
		  (unsigned long long)estimate->bytes);
	cli_print(stdout, "Cases:\n");
	print_cases(study);
	cli_print(stdout, "Order (seed %llu):\n", (unsigned long long)study->settings.seed);
	print_order(study, &plan);
	print_sum(study, &plan, estimate->bytes);
	plan_free(&plan);
}

int show_plan(const struct study *study, const char *noise_from, bool all_pairs, struct error *err)
{
	struct dataset_estimate estimate = { 0 };
	struct plan_noise noise;
	if (study->dataset->plan(study->dataset_options, &estimate, err) < 0 ||
	    plan_noise_find(&noise, study->name, noise_from, err) < 0)
		return -1;
	print_plan(study, &estimate);
	print_power(study, &noise, all_pairs);
	plan_noise_free(&noise);
	return 0;
}
