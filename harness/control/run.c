#include "harness/control/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/random.h"
#include "harness/control/run_row.h"
#include "harness/protocol/link.h"
#include "harness/protocol/option_object.h"

#define PREPARE_S 120.0
/* Beyond a run's own timeout: for both halves to agree on its end and to stop their workers. */
#define END_S 60.0

static enum xfer_side other(enum xfer_side side)
{
	return side == XFER_SOURCE ? XFER_SINK : XFER_SOURCE;
}

static bool moves_memory(const struct run *run)
{
	return transport_moves_memory(run->item->transport, run->item->options);
}

/* ---- getting ready ---- */

/* When the sink's agent lets go of the memory that it holds (see agent_run.c). An option "pretouch"
 * makes the copy's pages in prepare. */
static const char *release_of(const struct study_case *item)
{
	const struct option_def *def = option_find(item->transport->options, "pretouch");
	if (transport_moves_memory(item->transport, item->options))
		return "never";
	if (def && def->type == OPTION_FLAG &&
	    *(const bool *)((const char *)item->options + def->offset))
		return "before-prepare";
	return "at-go";
}

/* What both halves of one pair are told; the driving one also learns where the other waits. */
static json_t *half_request(const struct run *run, const struct pair *pair, enum xfer_side side,
			    json_t *tokens, const char *link_token)
{
	const struct study *study = run->study;
	const struct study_case *item = run->item;
	json_t *request = message_object();
	message_put_text(request, "transport", item->transport_name);
	message_put(request, "options", option_object(item->transport->options, item->options));
	message_put_text(request, "preserve", preserve_names[study->settings.preserve]);
	message_put_real(request, "timeout_s", study->settings.timeout_s);
	message_put_flag(request, "flush", study->settings.durability == DURABILITY_FLUSH);
	message_put_flag(request, "open_listener", run->open_listener);
	message_put_text(request, "bind_host", pair_host(pair, side));
	message_put_text(request, "peer_host", pair_host(pair, other(side)));
	message_put_text(request, "token", link_token);
	message_put_text(request, "release_memory", release_of(item));
	message_put(request, "tokens", json_incref(tokens));
	message_put(request, "source_roots", json_incref(pair->sides[XFER_SOURCE].roots));
	message_put(request, "sink_roots", json_incref(pair->sides[XFER_SINK].roots));
	return request;
}

static json_t *make_tokens(uint64_t count)
{
	json_t *tokens = message_list();
	for (uint64_t i = 0; i < count; i++) {
		char token[2 * XFER_TOKEN_BYTES + 1];
		random_secret_hex(token, XFER_TOKEN_BYTES);
		message_append_text(tokens, token);
	}
	return tokens;
}

static int prepare_halves(const struct run *run, struct pair *pair, const struct cancel *cancel,
			  struct error *err)
{
	enum xfer_side driver = run->item->transport->driver;
	struct peer *driving = &pair->sides[driver].peer;
	struct peer *listening = &pair->sides[other(driver)].peer;
	char link_token[2 * XFER_TOKEN_BYTES + 1];
	random_secret_hex(link_token, XFER_TOKEN_BYTES);
	json_t *tokens = make_tokens(run->item->instances);
	json_t *listen = half_request(run, pair, other(driver), tokens, link_token);
	json_t *drive = half_request(run, pair, driver, tokens, link_token);
	json_decref(tokens);
	if (peer_ask(listening, REQUEST_PREPARE, listen, PREPARE_S, cancel, err) < 0) {
		json_decref(drive);
		return error_wrap(err, "%s", listening->name);
	}
	const json_t *ready = listening->reply.json;
	message_put(drive, "endpoints", json_incref(json_object_get(ready, "endpoints")));
	message_put(drive, "link", json_incref(json_object_get(ready, "link")));
	if (peer_ask(driving, REQUEST_PREPARE, drive, PREPARE_S, cancel, err) < 0)
		return error_wrap(err, "%s", driving->name);
	const char *command = message_text_or(driving->reply.json, "command", "");
	if (run->command && run->command->length == 0)
		text_add(run->command, command);
	return 0;
}

static int ready_cache(const struct run *run, struct pair *pair, struct result *row,
		       const struct cancel *cancel, struct error *err)
{
	struct peer *source = &pair->sides[XFER_SOURCE].peer;
	json_t *request = message_object();
	message_put_text(request, "mode", cache_state_names[run->study->settings.cache]);
	message_put_flag(request, "look", !moves_memory(run));
	message_put_text(request, "preserve", preserve_names[run->study->settings.preserve]);
	if (peer_ask(source, REQUEST_CACHE, request, pair_pass_s(pair), cancel, err) < 0)
		return -1;
	if (!moves_memory(run) && pair_hear_change(pair, err) < 0)
		return -1;
	double resident = message_real_or(source->reply.json, "resident_pct", NAN);
	if (!isnan(resident))
		snprintf(row->cache, sizeof(row->cache), "cold:%.1f%%", resident);
	return 0;
}

/* An option of that name, where the case's transport has one and it says something. */
static const char *case_option(const struct study_case *item, const char *name, struct text *value)
{
	const struct option_def *def = option_find(item->transport->options, name);
	if (def)
		option_value_text(def, item->options, value);
	return value->length ? value->data : NULL;
}

/* The options server, cipher and mac of a transport that needs an SSH server are the server's too;
 * where they say nothing, the study's settings hold. */
static void find_terms(const struct run *run, struct pair_ssh_terms *terms)
{
	const struct study_case *item = run->item;
	AUTO_TEXT server = { 0 };
	AUTO_TEXT cipher = { 0 };
	AUTO_TEXT mac = { 0 };
	const char *chosen = case_option(item, "server", &server);
	*terms = (struct pair_ssh_terms){ .driver = item->transport->driver };
	text_copy(terms->service, sizeof(terms->service),
		  chosen ? chosen : item->transport->needs[0]);
	chosen = case_option(item, "cipher", &cipher);
	text_copy(terms->cipher, sizeof(terms->cipher), chosen ? chosen : run->study->ssh.cipher);
	chosen = case_option(item, "mac", &mac);
	text_copy(terms->mac, sizeof(terms->mac), chosen ? chosen : run->study->ssh.mac);
	if (strcmp(terms->cipher, "tool-default") == 0)
		terms->cipher[0] = '\0';
	if (strcmp(terms->mac, "tool-default") == 0)
		terms->mac[0] = '\0';
}

/* The probe knew which server runs by default; an option may choose another. */
static void name_server(const struct run *run, const struct pair *pair,
			const struct pair_ssh_terms *terms, struct result *row)
{
	char *arrow = strstr(row->transport_version, " > ");
	if (!arrow || strcmp(terms->service, run->item->transport->needs[0]) == 0)
		return;
	char driver[sizeof(row->transport_version)];
	bool pushes = run->item->transport->driver == XFER_SOURCE;
	text_copy(driver, sizeof(driver), pushes ? row->transport_version : arrow + 3);
	if (pushes)
		driver[arrow - row->transport_version] = '\0';
	AUTO_TEXT both = { 0 };
	text_addf(&both, "%s > %s", pushes ? driver : pair->ssh_server_version,
		  pushes ? pair->ssh_server_version : driver);
	text_copy(row->transport_version, sizeof(row->transport_version), text_string(&both));
}

static int ready_ssh(const struct run *run, struct pair *pair, struct result *row,
		     const struct cancel *cancel, struct error *err)
{
	struct pair_ssh_terms terms;
	if (!run->item->transport->needs || !run->item->transport->needs[0])
		return 0;
	find_terms(run, &terms);
	if (pair_ssh(pair, &terms, cancel, err) < 0)
		return -1;
	name_server(run, pair, &terms, row);
	/* Some only log in over it, and send their data past it. */
	if (run->item->transport->plain)
		return 0;
	text_copy(row->cipher, sizeof(row->cipher), pair->ssh_cipher);
	text_copy(row->mac, sizeof(row->mac), pair->ssh_mac);
	return 0;
}

static int get_ready(const struct run *run, struct pair *pair, struct result *row,
		     const struct cancel *cancel, struct error *err)
{
	if (pair_ready(pair, cancel, err) < 0 ||
	    pair_shares(pair, run->item->instances, cancel, err) < 0)
		return -1;
	row->files = (int64_t)pair->dataset.totals.files;
	if (ready_ssh(run, pair, row, cancel, err) < 0)
		return -1;
	if (pair_hold_memory(pair, cancel, err) < 0 || ready_cache(run, pair, row, cancel, err) < 0)
		return -1;
	return prepare_halves(run, pair, cancel, err);
}

/* ---- the run itself ---- */

static int run_halves(const struct run *run, struct pair *pair, const struct cancel *cancel,
		      struct error *err)
{
	enum xfer_side driver = run->item->transport->driver;
	/* The listening half first: it must be listening when it is told to arm. */
	struct peer *peers[] = { &pair->sides[other(driver)].peer, &pair->sides[driver].peer };
	const struct peer_question question = { .what = REQUEST_RUN,
						.seconds = run->study->settings.timeout_s + END_S };
	return peer_ask_all(peers, ARRAY_SIZE(peers), &question, cancel, err);
}

/* How little a failure explains: one that says that its peer went away less than any other, and one
 * that knows of no more than that the other half gave up least of all. */
static int echo_of(const json_t *failure)
{
	if (strcmp(message_text(failure, "kind"), "peer") != 0)
		return 0;
	return message_whole(failure, "code") == LINK_GAVE_UP ? 2 : 1;
}

/* Which half's failure explains the other's? The one that came first where both say as much. */
static const json_t *telling_failure(const json_t *a, const json_t *b)
{
	const json_t *a_failure = json_object_get(a, "failure");
	const json_t *b_failure = json_object_get(b, "failure");
	if (!a_failure || !b_failure)
		return a_failure ? a_failure : b_failure;
	int a_echo = echo_of(a_failure);
	int b_echo = echo_of(b_failure);
	if (a_echo != b_echo)
		return a_echo > b_echo ? b_failure : a_failure;
	return message_whole(a, "failure_ns") <= message_whole(b, "failure_ns") ? a_failure
										: b_failure;
}

static int check_failure(const struct pair *pair, struct error *err)
{
	const json_t *failure = telling_failure(pair->sides[XFER_SOURCE].peer.reply.json,
						pair->sides[XFER_SINK].peer.reply.json);
	return failure ? message_take_error(failure, err) : 0;
}

/* ---- the whole ---- */

static int prove(const struct run *run, struct pair *pair, struct result *row,
		 const struct cancel *cancel, struct error *err)
{
	struct peer *sink = &pair->sides[XFER_SINK].peer;
	if (moves_memory(run)) {
		row->verified = VERIFIED_COUNT;
		return 0;
	}
	json_t *request = message_object();
	message_put_text(request, "preserve", preserve_names[run->study->settings.preserve]);
	if (peer_ask(sink, REQUEST_VERIFY, request, pair_pass_s(pair), cancel, err) < 0)
		return -1;
	row->payload_bytes = message_whole(sink->reply.json, "bytes");
	row->data_sink_bytes = message_whole(sink->reply.json, "data_bytes");
	row->data_source_bytes =
		(int64_t)(pair->dataset.totals.bytes - pair->dataset.totals.hole_bytes);
	row->verified = VERIFIED_YES;
	return 0;
}

static int run_pair(const struct run *run, struct pair *pair, struct result *row,
		    const struct cancel *cancel, struct error *err)
{
	if (pair->dataset.changed[0] && !moves_memory(run))
		return error_set(err, ERROR_SYSTEM, 0, "%s", pair->dataset.changed);
	if (get_ready(run, pair, row, cancel, err) < 0 || run_halves(run, pair, cancel, err) < 0)
		return -1;
	run_row_measured(run, pair, row);
	if (check_failure(pair, err) < 0)
		return -1;
	return prove(run, pair, row, cancel, err);
}

/* A copy is only what it should be if the source still is, and a tool is not to blame for a source
 * that changed, or that cannot be read. A copy that is wrong leaves doubt of each file, and one
 * that failed of those on a disk. Returns the run's own outcome, or -1 with what became of the
 * source. */
static int recheck_source(const struct run *run, struct pair *pair, int outcome,
			  const struct cancel *cancel, struct error *err)
{
	struct error problem = { 0 };
	const struct pair_side *source = &pair->sides[XFER_SOURCE];
	enum error_kind kind = outcome < 0 ? err->kind : ERROR_NONE;
	bool failed = kind == ERROR_TOOL || kind == ERROR_SYSTEM || kind == ERROR_PEER;
	if (moves_memory(run) || !source->peer.alive || !source->ready ||
	    pair->dataset.changed[0] || cancel_requested(cancel) || kind == ERROR_UNSUPPORTED ||
	    kind == ERROR_UNAVAILABLE)
		return outcome;
	bool contents = kind == ERROR_INTEGRITY || (failed && !source->ram);
	if (pair_look_again(pair, contents, cancel, &problem) == 0)
		return outcome;
	if (outcome == 0 || pair->dataset.changed[0])
		*err = problem;
	return -1;
}

static json_t *clean_question(const struct run *run, const struct pair *pair,
			      const struct peer *peer)
{
	json_t *question = message_object();
	message_put_flag(question, "reserve",
			 peer->side == XFER_SINK && pair->memory_held && !run->last);
	return question;
}

/* Both halves forget the run, and its copies go; the sink takes back what memory they had. An agent
 * that cannot is no longer trusted. */
static void clean_pair(const struct run *run, struct pair *pair)
{
	const double clean_s = 600 + pair_pass_s(pair);
	for (int i = 0; i < 2; i++) {
		struct peer *peer = &pair->sides[i].peer;
		struct error err = { 0 };
		if (!peer->alive)
			continue;
		if (peer_ask(peer, REQUEST_END_RUN, NULL, 60, NULL, &err) < 0 ||
		    peer_ask(peer, REQUEST_CLEAN, clean_question(run, pair, peer), clean_s, NULL,
			     &err) < 0)
			if (peer->alive)
				peer_kill(peer, err.message);
	}
}

void run_case(const struct run *run, struct result *rows, const struct cancel *cancel)
{
	for (size_t i = 0; i < run->pairs_count; i++) {
		struct error err = { 0 };
		struct result *row = &rows[i];
		run_row_describe(run, i, row);
		struct pair *pair = &run->pairs[i];
		int outcome = run_pair(run, pair, row, cancel, &err);
		outcome = recheck_source(run, pair, outcome, cancel, &err);
		bool changed = outcome < 0 && pair->dataset.changed[0] && !moves_memory(run);
		/* Whatever broke when the user said stop: stopping is the reason. */
		if (outcome < 0 && cancel_requested(cancel))
			error_set(&err, ERROR_CANCELLED, 0, "stopped on request");
		else if (outcome < 0 && err.kind == ERROR_CANCELLED)
			err.kind = ERROR_SYSTEM; /* it was not the user who stopped it */
		/* A server that may be the reason is not kept for the next run. */
		if (outcome < 0)
			run->pairs[i].ssh_ready = false;
		if (outcome < 0) {
			run_row_fail(run, i, &err,
				     changed && err.kind != ERROR_CANCELLED ? STATUS_INVALID
									    : STATUS_FAILED,
				     row);
		} else if (run_row_implausible(pair, row, &err) < 0) {
			run_row_fail(run, i, &err, STATUS_INVALID, row);
		} else {
			row->status = STATUS_OK;
			run_row_derive(row);
		}
		clean_pair(run, &run->pairs[i]);
	}
}
