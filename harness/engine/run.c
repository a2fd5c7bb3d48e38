#include "harness/engine/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/random.h"
#include "harness/engine/half.h"

#define WORK_S    (6 * 3600.0)
#define PREPARE_S 120.0
/* Beyond a run's own timeout: for both halves to agree on its end and to stop their workers. */
#define END_S 60.0

static enum xfer_side other(enum xfer_side side)
{
	return side == XFER_SOURCE ? XFER_SINK : XFER_SOURCE;
}

/* ---- the row before the run ---- */

static bool is_memory(const struct study_case *item)
{
	const struct transport *transport = item->transport;
	return transport->memory ? transport->memory(item->options)
				 : (transport->caps & CAP_MEMORY) != 0;
}

static void describe_secrecy(const struct study_case *item, struct result *row)
{
	const struct transport *transport = item->transport;
	if (transport->plain || option_is_plain(transport->options, item->options)) {
		text_copy(row->cipher, sizeof(row->cipher), "none");
		text_copy(row->mac, sizeof(row->mac), "none");
	}
}

void run_describe(const struct run *run, size_t pair, struct result *row)
{
	const struct study *study = run->study;
	const struct study_case *item = run->item;
	result_init(row);
	text_copy(row->study_id, sizeof(row->study_id), run->study_id);
	snprintf(row->run_id, sizeof(row->run_id), "%s-r%d-%.24s", run->study_id, run->round,
		 item->name);
	row->round = run->round;
	row->pair = (int64_t)pair + 1;
	row->pairs = (int64_t)run->pairs_count;
	row->instances = (int64_t)item->instances;
	text_copy(row->case_name, sizeof(row->case_name), item->name);
	text_copy(row->label, sizeof(row->label), item->label);
	text_copy(row->factors, sizeof(row->factors), item->factors);
	text_copy(row->transport, sizeof(row->transport), item->transport_name);
	text_copy(row->transport_version, sizeof(row->transport_version), run->version);
	text_copy(row->options, sizeof(row->options), item->options_text);
	text_copy(row->dataset, sizeof(row->dataset), study->dataset_text);
	text_copy(row->preserve, sizeof(row->preserve), preserve_names[study->settings.preserve]);
	text_copy(row->durability, sizeof(row->durability),
		  durability_names[study->settings.durability]);
	text_copy(row->cache, sizeof(row->cache), cache_state_names[study->settings.cache]);
	/* One kernel serves both ends: the total is exact, who was charged is not always. */
	text_copy(row->cpu_scope, sizeof(row->cpu_scope), "rusage,shared-kernel");
	if (item->transport)
		describe_secrecy(item, row);
}

void run_set_error(struct result *row, const struct error *err)
{
	static const enum result_status of_kind[ERROR_KINDS] = {
		[ERROR_NONE] = STATUS_FAILED,
		[ERROR_CONFIG] = STATUS_FAILED,
		[ERROR_SYSTEM] = STATUS_FAILED,
		[ERROR_PEER] = STATUS_FAILED,
		[ERROR_TOOL] = STATUS_FAILED,
		[ERROR_TIMEOUT] = STATUS_TIMEOUT,
		[ERROR_CANCELLED] = STATUS_CANCELLED,
		[ERROR_INTEGRITY] = STATUS_INTEGRITY,
		[ERROR_UNSUPPORTED] = STATUS_UNSUPPORTED,
		[ERROR_UNAVAILABLE] = STATUS_UNAVAILABLE,
	};
	row->status = of_kind[err->kind];
	text_copy(row->error, sizeof(row->error), err->message);
}

/* ---- getting ready ---- */

/* What both halves of one pair are told; the driving one also learns where the other waits. */
static json_t *half_request(const struct run *run, const struct pair *pair, enum xfer_side side,
			    const json_t *tokens, const char *link_token)
{
	const struct study *study = run->study;
	json_t *request = json_object();
	json_object_set_new(request, "transport", json_string(run->item->transport_name));
	json_object_set_new(request, "options", json_string(run->item->options_text));
	json_object_set_new(request, "preserve", json_integer(study->settings.preserve));
	json_object_set_new(request, "timeout_s", json_real(study->settings.timeout_s));
	json_object_set_new(request, "flush",
			    json_boolean(study->settings.durability == DURABILITY_FLUSH));
	json_object_set_new(request, "bind_host", json_string(pair_host(pair, side)));
	json_object_set_new(request, "peer_host", json_string(pair_host(pair, other(side))));
	json_object_set_new(request, "token", json_string(link_token));
	json_object_set(request, "tokens", (json_t *)tokens);
	json_object_set(request, "source_roots", pair->sides[XFER_SOURCE].roots);
	json_object_set(request, "sink_roots", pair->sides[XFER_SINK].roots);
	return request;
}

static json_t *make_tokens(uint64_t count)
{
	json_t *tokens = json_array();
	for (uint64_t i = 0; i < count; i++) {
		char token[2 * XFER_TOKEN_BYTES + 1];
		random_secret_hex(token, XFER_TOKEN_BYTES);
		json_array_append_new(tokens, json_string(token));
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
	if (peer_ask(listening, "prepare", listen, PREPARE_S, cancel, err) < 0) {
		json_decref(drive);
		return error_wrap(err, "%s", listening->name);
	}
	json_object_set(drive, "endpoints", json_object_get(listening->reply.json, "endpoints"));
	json_object_set(drive, "link", json_object_get(listening->reply.json, "link"));
	if (peer_ask(driving, "prepare", drive, PREPARE_S, cancel, err) < 0)
		return error_wrap(err, "%s", driving->name);
	const char *command = message_text(driving->reply.json, "command", "");
	if (run->command && run->command->length == 0)
		text_add(run->command, command);
	return 0;
}

static int ready_cache(const struct run *run, struct pair *pair, struct result *row,
		       const struct cancel *cancel, struct error *err)
{
	struct peer *source = &pair->sides[XFER_SOURCE].peer;
	const char *mode = cache_state_names[run->study->settings.cache];
	if (peer_ask(source, "cache", json_pack("{s:s}", "mode", mode), WORK_S, cancel, err) < 0)
		return -1;
	double resident = message_real(source->reply.json, "resident_pct", NAN);
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

static int ready_ssh(const struct run *run, struct pair *pair, struct result *row,
		     const struct cancel *cancel, struct error *err)
{
	struct pair_ssh_terms terms;
	if (!run->item->transport->needs || !run->item->transport->needs[0])
		return 0;
	find_terms(run, &terms);
	if (pair_ssh(pair, &terms, cancel, err) < 0)
		return -1;
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
	if (ready_cache(run, pair, row, cancel, err) < 0)
		return -1;
	return prepare_halves(run, pair, cancel, err);
}

/* ---- the run itself ---- */

static int run_halves(const struct run *run, struct pair *pair, const struct cancel *cancel,
		      struct error *err)
{
	enum xfer_side driver = run->item->transport->driver;
	double seconds = run->study->settings.timeout_s + END_S;
	const struct io_limit limit = peer_limit(seconds, cancel);
	/* The listening half first: it must be listening when it is told to arm. */
	struct peer *peers[] = { &pair->sides[other(driver)].peer, &pair->sides[driver].peer };
	for (size_t i = 0; i < ARRAY_SIZE(peers); i++) {
		json_t *request = json_pack("{s:f}", "deadline_s", seconds);
		if (peer_start(peers[i], "run", request, err) < 0)
			break;
	}
	struct error outcome = { 0 };
	if (peer_wait(peers, ARRAY_SIZE(peers), &limit, &outcome) < 0) {
		*err = outcome;
		return -1;
	}
	return peers[1]->reply.json ? 0 : -1;
}

/* Which half's failure explains the other's? Not one that only says that its peer went away; else
 * the one that came first. */
static const json_t *telling_failure(const json_t *a, const json_t *b)
{
	const json_t *a_failure = json_object_get(a, "failure");
	const json_t *b_failure = json_object_get(b, "failure");
	if (!a_failure || !b_failure)
		return a_failure ? a_failure : b_failure;
	bool a_echo = strcmp(message_text(a_failure, "kind", ""), "peer") == 0;
	bool b_echo = strcmp(message_text(b_failure, "kind", ""), "peer") == 0;
	if (a_echo != b_echo)
		return a_echo ? b_failure : a_failure;
	return message_whole(a, "failure_ns", 0) <= message_whole(b, "failure_ns", 0) ? a_failure
										      : b_failure;
}

static int check_failure(const struct pair *pair, struct error *err)
{
	const json_t *failure = telling_failure(pair->sides[XFER_SOURCE].peer.reply.json,
						pair->sides[XFER_SINK].peer.reply.json);
	if (!failure)
		return 0;
	return error_set(err, error_kind_from_name(message_text(failure, "kind", "")),
			 (int)message_whole(failure, "code", 0), "%s",
			 message_text(failure, "message", "no reason was given"));
}

/* ---- the row after the run ---- */

struct end_cpu {
	double user_s, system_s, total_s, host_pct;
};

static struct end_cpu end_cpu(const json_t *reply)
{
	struct end_cpu cpu = { .user_s = message_real(reply, "user_s", NAN),
			       .system_s = message_real(reply, "system_s", NAN),
			       .host_pct = message_real(reply, "host_pct", NAN) };
	cpu.total_s = cpu.user_s + cpu.system_s;
	return cpu;
}

static void fill_cpu(const json_t *source, const json_t *sink, struct result *row)
{
	struct end_cpu a = end_cpu(source);
	struct end_cpu b = end_cpu(sink);
	row->cpu_source_s = a.total_s;
	row->cpu_source_user_s = a.user_s;
	row->cpu_source_system_s = a.system_s;
	row->cpu_source_host_pct = a.host_pct;
	row->cpu_sink_s = b.total_s;
	row->cpu_sink_user_s = b.user_s;
	row->cpu_sink_system_s = b.system_s;
	row->cpu_sink_host_pct = b.host_pct;
	row->csw_voluntary =
		message_whole(source, "voluntary", 0) + message_whole(sink, "voluntary", 0);
	row->csw_involuntary =
		message_whole(source, "involuntary", 0) + message_whole(sink, "involuntary", 0);
}

/* Those of one end that classic ttcp shows. */
static void fill_counts(const json_t *reply, struct result_counts *counts)
{
	counts->io_calls = message_whole(reply, "io_calls", RESULT_UNKNOWN_COUNT);
	counts->maxrss_bytes = message_whole(reply, "maxrss_bytes", RESULT_UNKNOWN_COUNT);
	counts->minor_faults = message_whole(reply, "minor_faults", RESULT_UNKNOWN_COUNT);
	counts->major_faults = message_whole(reply, "major_faults", RESULT_UNKNOWN_COUNT);
	counts->csw_voluntary = message_whole(reply, "voluntary", RESULT_UNKNOWN_COUNT);
	counts->csw_involuntary = message_whole(reply, "involuntary", RESULT_UNKNOWN_COUNT);
}

static uint64_t planned_streams(const struct study_case *item)
{
	const struct transport *transport = item->transport;
	const struct option_def *def = option_find(transport->options, "streams");
	if (transport->streams)
		return transport->streams(item->options);
	if (def && def->type == OPTION_COUNT)
		return *(const uint64_t *)((const char *)item->options + def->offset);
	return 1;
}

static void fill_streams(const struct study_case *item, const json_t *driver, struct result *row)
{
	int64_t reported = message_whole(driver, "streams", 0);
	row->streams = reported > 0 ? reported : (int64_t)(planned_streams(item) * item->instances);
	const char *cipher = message_text(driver, "cipher", "");
	const char *mac = message_text(driver, "mac", "");
	if (cipher[0])
		text_copy(row->cipher, sizeof(row->cipher), cipher);
	if (mac[0])
		text_copy(row->mac, sizeof(row->mac), mac);
}

/* What follows from the numbers once the payload is known. */
static void derive(struct result *row)
{
	if (row->payload_bytes <= 0)
		return;
	double kib = (double)row->payload_bytes / 1024;
	row->goodput_bps = (double)row->payload_bytes * 8 / row->total_s;
	row->sd_source_us_per_kib = row->cpu_source_s * 1e6 / kib;
	row->sd_sink_us_per_kib = row->cpu_sink_s * 1e6 / kib;
	if (!isnan(row->setup_s))
		row->transfer_s = row->total_s - row->setup_s;
}

static int implausible(const struct result *row, struct error *err)
{
	const double pcts[] = { row->cpu_source_host_pct, row->cpu_sink_host_pct };
	for (size_t i = 0; i < ARRAY_SIZE(pcts); i++)
		if (pcts[i] < 0 || pcts[i] > 100)
			return error_set(err, ERROR_SYSTEM, 0,
					 "a host's CPU was %.1f %% busy, which cannot be", pcts[i]);
	if (row->total_s <= 0)
		return error_set(err, ERROR_SYSTEM, 0, "the run took no time, which cannot be");
	return 0;
}

static void fill_measured(const struct run *run, const struct pair *pair, struct result *row)
{
	enum xfer_side driver = run->item->transport->driver;
	const json_t *source = pair->sides[XFER_SOURCE].peer.reply.json;
	const json_t *sink = pair->sides[XFER_SINK].peer.reply.json;
	const json_t *drive = driver == XFER_SOURCE ? source : sink;
	text_copy(row->start_utc, sizeof(row->start_utc), message_text(drive, "start_utc", ""));
	row->total_s = message_real(drive, "total_s", NAN);
	row->setup_s = message_real(sink, "setup_s", NAN);
	row->payload_bytes = (int64_t)message_whole(sink, "counted_bytes", 0);
	fill_cpu(source, sink, row);
	fill_counts(source, &row->source_counts);
	fill_counts(sink, &row->sink_counts);
	fill_streams(run->item, drive, row);
}

static int prove(const struct run *run, struct pair *pair, struct result *row,
		 const struct cancel *cancel, struct error *err)
{
	struct peer *sink = &pair->sides[XFER_SINK].peer;
	if (is_memory(run->item)) {
		row->verified = VERIFIED_COUNT;
		return 0;
	}
	json_t *request = json_pack("{s:i}", "preserve", run->study->settings.preserve);
	if (peer_ask(sink, "verify", request, WORK_S, cancel, err) < 0)
		return -1;
	row->payload_bytes = (int64_t)message_whole(sink->reply.json, "bytes", 0);
	row->verified = VERIFIED_YES;
	return 0;
}

/* A row that is not ok has no rates, and says nothing of what was measured on the way. */
static void forget_measured(const struct run *run, size_t pair, const struct error *err,
			    enum result_status status, struct result *row)
{
	int64_t files = row->files;
	char cache[sizeof(row->cache)], start[sizeof(row->start_utc)];
	text_copy(cache, sizeof(cache), row->cache);
	text_copy(start, sizeof(start), row->start_utc);
	run_describe(run, pair, row);
	run_set_error(row, err);
	if (status != STATUS_FAILED)
		row->status = status;
	row->files = files;
	text_copy(row->cache, sizeof(row->cache), cache);
	text_copy(row->start_utc, sizeof(row->start_utc), start);
}

static int run_pair(const struct run *run, struct pair *pair, struct result *row,
		    const struct cancel *cancel, struct error *err)
{
	if (get_ready(run, pair, row, cancel, err) < 0 || run_halves(run, pair, cancel, err) < 0)
		return -1;
	fill_measured(run, pair, row);
	if (check_failure(pair, err) < 0)
		return -1;
	return prove(run, pair, row, cancel, err);
}

/* Both halves forget the run, and its copies go. An agent that cannot is no longer trusted. */
static void clean_pair(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		struct peer *peer = &pair->sides[i].peer;
		struct error err = { 0 };
		if (!peer->alive)
			continue;
		if (peer_ask(peer, "end-run", NULL, 60, NULL, &err) < 0 ||
		    peer_ask(peer, "clean", NULL, 600, NULL, &err) < 0)
			if (peer->alive)
				peer_kill(peer);
	}
}

void run_case(const struct run *run, struct result *rows, const struct cancel *cancel)
{
	for (size_t i = 0; i < run->pairs_count; i++) {
		struct error err = { 0 };
		struct result *row = &rows[i];
		run_describe(run, i, row);
		int outcome = run_pair(run, &run->pairs[i], row, cancel, &err);
		/* Whatever broke when the user said stop: stopping is the reason. */
		if (outcome < 0 && cancel_requested(cancel))
			error_set(&err, ERROR_CANCELLED, 0, "stopped on request");
		/* A server that may be the reason is not kept for the next run. */
		if (outcome < 0)
			run->pairs[i].ssh_ready = false;
		if (outcome < 0) {
			forget_measured(run, i, &err, STATUS_FAILED, row);
		} else if (implausible(row, &err) < 0) {
			forget_measured(run, i, &err, STATUS_INVALID, row);
		} else {
			row->status = STATUS_OK;
			derive(row);
		}
		clean_pair(&run->pairs[i]);
	}
}
