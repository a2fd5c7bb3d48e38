#include "harness/control/conduct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/log.h"
#include "harness/base/random.h"
#include "harness/control/pair.h"
#include "harness/control/record.h"
#include "harness/control/run_row.h"
#include "harness/study/hindrance.h"
#include "harness/study/plan.h"
#include "results/csv.h"

/* One study while it is conducted. */
struct conduct {
	const struct conduct_order *order;
	const struct study *study;
	struct conduct_outcome *outcome;
	char study_id[64], created_utc[CLOCK_UTC_SIZE];
	struct pair pair;
	json_t *probes[2];
	struct text *commands;    /* one a case */
	struct error *hindrances; /* one a case: kind NONE when it can run */
	bool *told;               /* one a case: the row that says so is written */
	struct csv_writer csv;
	size_t notes_told; /* of the pair's */
	uint64_t rounds;
	double first_round_s; /* where the rounds follow from it; else NAN */
	bool any_ok;
};

static void say_phase(const struct conduct *conduct, const char *what)
{
	const struct conduct_watch *watch = conduct->order->watch;
	if (watch && watch->phase)
		watch->phase(what, watch->context);
}

static int write_record(const struct conduct *conduct, struct error *err)
{
	const struct record record = {
		.study = conduct->study,
		.study_id = conduct->study_id,
		.created_utc = conduct->created_utc,
		.arguments = conduct->order->arguments,
		.pair = &conduct->pair,
		.probes = conduct->probes,
		.commands = conduct->commands,
		.rounds = conduct->rounds,
		.first_round_s = conduct->first_round_s,
	};
	return record_write(&record, conduct->order->folder, err);
}

/* What no row tells: to the watch, and to the record. */
static int tell_notes(struct conduct *conduct, struct error *err)
{
	const struct conduct_watch *watch = conduct->order->watch;
	const json_t *notes = conduct->pair.notes;
	pair_check(&conduct->pair);
	if (conduct->notes_told == json_array_size(notes))
		return 0;
	while (conduct->notes_told < json_array_size(notes)) {
		const json_t *note = json_array_get(notes, conduct->notes_told++);
		if (watch && watch->note)
			watch->note(json_string_value(note), watch->context);
	}
	return write_record(conduct, err);
}

static int put_row(struct conduct *conduct, const struct result *row, struct error *err)
{
	const struct conduct_watch *watch = conduct->order->watch;
	if (row->status != STATUS_OK && row->status != STATUS_UNSUPPORTED &&
	    row->status != STATUS_UNAVAILABLE)
		conduct->outcome->all_fine = false;
	if (row->status == STATUS_OK)
		conduct->any_ok = true;
	if (row->status == STATUS_CANCELLED)
		conduct->outcome->cancelled = true;
	if (csv_row(&conduct->csv, row, err) < 0)
		return -1;
	if (watch && watch->run_ended)
		watch->run_ended(row, watch->context);
	return 0;
}

/* ---- which cases can run at all ---- */

static int check_probe(const struct conduct *conduct, const struct study_case *item,
		       struct error *err)
{
	static const char *const sides[] = { "source", "sink" };
	for (int i = 0; i < 2; i++) {
		const json_t *probe = json_object_get(conduct->probes[i], item->transport_name);
		const json_t *error = json_object_get(probe, "error");
		if (!probe)
			return error_set(err, ERROR_PEER, 0, "%s: nothing was said of %s", sides[i],
					 item->transport_name);
		if (error && message_take_error(error, err) < 0)
			return error_wrap(err, "%s", sides[i]);
	}
	return 0;
}

/* What this case's SSH server, if it has one, would be held to. */
static void effective_cipher(const struct conduct *conduct, const struct study_case *item,
			     struct text *cipher)
{
	const struct option_def *def = option_find(item->transport->options, "cipher");
	if (def)
		option_value_text(def, item->options, cipher);
	if (!cipher->length)
		text_add(cipher, conduct->study->ssh.cipher);
}

static int check_safety(const struct conduct *conduct, const struct study_case *item,
			struct error *err)
{
	enum xfer_side listening = item->transport->driver == XFER_SOURCE ? XFER_SINK : XFER_SOURCE;
	AUTO_TEXT cipher = { 0 };
	effective_cipher(conduct, item, &cipher);
	const struct safety_case facts = {
		.transport = item->transport,
		.options = item->options,
		.cipher = text_string(&cipher),
		.listening_host = pair_host(&conduct->pair, listening),
		.users_own = conduct->pair.dataset.users_own,
	};
	return safety_check(&facts, &conduct->order->leave, err);
}

static int check_case(const struct conduct *conduct, const struct study_case *item,
		      struct error *err)
{
	if (!item->transport) {
		*err = item->missing;
		return -1;
	}
	if (check_probe(conduct, item, err) < 0 || check_safety(conduct, item, err) < 0)
		return -1;
	return hindrance_find(conduct->study, item, &conduct->pair.dataset.totals, err);
}

/* What is plain before anything is made, so that nothing is made in vain; returns how many. */
static size_t find_early(struct conduct *conduct)
{
	const struct manifest look = hindrance_estimate(conduct->study);
	size_t hindered = 0;
	for (size_t i = 0; i < conduct->study->cases_count; i++) {
		struct error *why = &conduct->hindrances[i];
		if (hindrance_find(conduct->study, &conduct->study->cases[i], &look, why) < 0)
			hindered++;
		else
			*why = (struct error){ 0 };
	}
	return hindered;
}

static void check_cases(struct conduct *conduct)
{
	for (size_t i = 0; i < conduct->study->cases_count; i++)
		if (conduct->hindrances[i].kind == ERROR_NONE &&
		    check_case(conduct, &conduct->study->cases[i], &conduct->hindrances[i]) == 0)
			conduct->hindrances[i] = (struct error){ 0 };
}

/* ---- rows ---- */

static void version_text(const struct conduct *conduct, const char *name, char *to, size_t size)
{
	const char *source =
		message_text_or(json_object_get(conduct->probes[XFER_SOURCE], name), "version", "");
	const char *sink =
		message_text_or(json_object_get(conduct->probes[XFER_SINK], name), "version", "");
	if (strcmp(source, sink) == 0 || !sink[0])
		text_copy(to, size, source);
	else if (!source[0])
		text_copy(to, size, sink);
	else
		snprintf(to, size, "%s > %s", source, sink);
}

/* What a run finds out to be impossible is so in later rounds, too: one row says it. */
static void keep_from_rest(struct conduct *conduct, size_t item, const struct result *row)
{
	bool missing = row->status == STATUS_UNAVAILABLE;
	if (missing || row->status == STATUS_UNSUPPORTED)
		error_set(&conduct->hindrances[item],
			  missing ? ERROR_UNAVAILABLE : ERROR_UNSUPPORTED, 0, "%s", row->error);
}

static int do_run(struct conduct *conduct, const struct plan_run *planned, bool last,
		  const struct error *hindrance, struct error *err)
{
	char version[128];
	struct result row;
	const struct study_case *item = &conduct->study->cases[planned->item];
	version_text(conduct, item->transport_name, version, sizeof(version));
	const struct run run = {
		.study = conduct->study,
		.item = item,
		.pairs = &conduct->pair,
		.pairs_count = 1,
		.study_id = conduct->study_id,
		.version = version,
		.round = planned->round,
		.last = last,
		.open_listener = conduct->order->leave.open_listener,
		.command = &conduct->commands[planned->item],
	};
	if (hindrance) {
		run_row_describe(&run, 0, &row);
		run_row_error(&row, hindrance);
	} else {
		run_case(&run, &row, conduct->order->cancel);
		keep_from_rest(conduct, planned->item, &row);
	}
	return put_row(conduct, &row, err) < 0 ? -1 : tell_notes(conduct, err);
}

/* One row a case, in the first round, for what cannot run at all; once. */
static int write_hindered(struct conduct *conduct, struct error *err)
{
	for (size_t i = 0; i < conduct->study->cases_count; i++) {
		const struct plan_run planned = { .item = i, .round = 1 };
		if (conduct->hindrances[i].kind == ERROR_NONE || conduct->told[i])
			continue;
		conduct->told[i] = true;
		if (do_run(conduct, &planned, false, &conduct->hindrances[i], err) < 0)
			return -1;
	}
	return 0;
}

/* After the first round: where the user set no rounds, short ones are made more often. Of what only
 * fails there need not be more. */
static int settle_rounds(struct conduct *conduct, struct plan *plan, double first_round_s,
			 struct error *err)
{
	const struct conduct_watch *watch = conduct->order->watch;
	uint64_t rounds = plan_rounds_after(conduct->study, first_round_s);
	if (!conduct->any_ok || conduct->study->rounds_set)
		return 0;
	conduct->first_round_s = first_round_s;
	if (rounds > conduct->rounds) {
		conduct->rounds = rounds;
		plan_extend(plan, conduct->study, rounds);
		if (watch && watch->more_rounds)
			watch->more_rounds(rounds, first_round_s, watch->context);
	}
	/* A study that is killed has the rounds that it was to have. */
	return write_record(conduct, err);
}

static int do_runs(struct conduct *conduct, struct plan *plan, struct error *err)
{
	int64_t start_ns = clock_now_ns();
	bool settled = false;
	const struct conduct_watch *watch = conduct->order->watch;
	const struct error stopped = { .kind = ERROR_CANCELLED,
				       .message = "stopped before it began" };
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_run *planned = &plan->runs[i];
		bool stop = cancel_requested(conduct->order->cancel);
		if (planned->round == 2 && !settled && !stop) {
			double first_round_s =
				(double)(clock_now_ns() - start_ns) / (double)NS_PER_S;
			if (settle_rounds(conduct, plan, first_round_s, err) < 0)
				return -1;
			planned = &plan->runs[i]; /* the plan may have moved */
			settled = true;
		}
		if (conduct->hindrances[planned->item].kind != ERROR_NONE)
			continue;
		if (!stop && watch && watch->run_started)
			watch->run_started(&conduct->study->cases[planned->item], planned->round, i,
					   plan->count, watch->context);
		if (do_run(conduct, planned, i + 1 == plan->count, stop ? &stopped : NULL, err) < 0)
			return -1;
	}
	return 0;
}

/* What keeps every run from starting (no agent, no dataset) is the reason in every row. */
static int write_all_failed(struct conduct *conduct, const struct plan *plan,
			    const struct error *reason, struct error *err)
{
	log_line(LOG_INFO, "%s", reason->message);
	for (size_t i = 0; i < plan->count; i++)
		if (!conduct->told[plan->runs[i].item] &&
		    do_run(conduct, &plan->runs[i], false, reason, err) < 0)
			return -1;
	return 0;
}

/* ---- the whole ---- */

static int set_up(struct conduct *conduct, struct error *err)
{
	say_phase(conduct, "starting agents and making the dataset");
	if (pair_ready(&conduct->pair, conduct->order->cancel, err) < 0)
		return -1;
	say_phase(conduct, "looking for tools");
	if (pair_probe(&conduct->pair, conduct->order->cancel, conduct->probes, err) < 0)
		return -1;
	say_phase(conduct, "looking at memory");
	return pair_probe_memory(&conduct->pair, conduct->order->cancel, err);
}

static int conduct_rows(struct conduct *conduct, struct plan *plan, struct error *err)
{
	struct error reason = { 0 };
	/* A study that is killed has a record of what was planned, and, once they are known, of the
	 * hosts. */
	if (write_record(conduct, err) < 0)
		return -1;
	size_t hindered = find_early(conduct);
	if (write_hindered(conduct, err) < 0)
		return -1;
	if (hindered == conduct->study->cases_count)
		return 0;
	if (set_up(conduct, &reason) < 0) {
		if (cancel_requested(conduct->order->cancel))
			error_set(&reason, ERROR_CANCELLED, 0, "stopped on request");
		else if (reason.kind == ERROR_CANCELLED)
			reason.kind = ERROR_SYSTEM; /* it was not the user who stopped it */
		return write_all_failed(conduct, plan, &reason, err);
	}
	check_cases(conduct);
	if (write_record(conduct, err) < 0 || write_hindered(conduct, err) < 0)
		return -1;
	return do_runs(conduct, plan, err);
}

static void name_study(struct conduct *conduct)
{
	char now[CLOCK_UTC_SIZE], unique[9];
	clock_utc_text(conduct->created_utc);
	clock_utc_compact(now);
	random_secret_hex(unique, 4);
	snprintf(conduct->study_id, sizeof(conduct->study_id), "%.20s-%.20s-%s",
		 conduct->study->name, now, unique);
}

static void conduct_free(struct conduct *conduct)
{
	for (size_t i = 0; i < conduct->study->cases_count; i++)
		text_free(&conduct->commands[i]);
	free(conduct->commands);
	free(conduct->hindrances);
	free(conduct->told);
	json_decref(conduct->probes[0]);
	json_decref(conduct->probes[1]);
	csv_close(&conduct->csv);
}

int conduct_study(const struct conduct_order *order, struct conduct_outcome *outcome,
		  struct error *err)
{
	struct conduct conduct = { .order = order,
				   .study = order->study,
				   .outcome = outcome,
				   .csv = CSV_WRITER_NONE,
				   .rounds = order->study->settings.rounds,
				   .first_round_s = (double)NAN };
	struct plan plan;
	*outcome = (struct conduct_outcome){ .all_fine = true };
	name_study(&conduct);
	conduct.commands = calloc(order->study->cases_count + 1, sizeof(*conduct.commands));
	conduct.hindrances = calloc(order->study->cases_count + 1, sizeof(*conduct.hindrances));
	conduct.told = calloc(order->study->cases_count + 1, sizeof(*conduct.told));
	if (!conduct.commands || !conduct.hindrances || !conduct.told)
		abort();
	plan_build(&plan, order->study);
	pair_init(&conduct.pair, order->study, order->tool_folders, order->folder);
	AUTO_FREE char *csv_path = path_join(order->folder, "runs.csv");
	int result = csv_open(&conduct.csv, csv_path, err);
	if (result == 0)
		result = conduct_rows(&conduct, &plan, err);
	if (result == 0)
		result = tell_notes(&conduct, err);
	if (result == 0)
		result = write_record(&conduct, err);
	say_phase(&conduct, "cleaning up");
	pair_close(&conduct.pair);
	plan_free(&plan);
	conduct_free(&conduct);
	return result;
}
