#include "harness/control/run_row.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/protocol/message.h"

/* ---- before the run ---- */

static void describe_secrecy(const struct study_case *item, struct result *row)
{
	const struct transport *transport = item->transport;
	if (transport->plain || option_is_plain(transport->options, item->options)) {
		text_copy(row->cipher, sizeof(row->cipher), "none");
		text_copy(row->mac, sizeof(row->mac), "none");
	}
}

void run_row_describe(const struct run *run, size_t pair, struct result *row)
{
	const struct study *study = run->study;
	const struct study_case *item = run->item;
	result_init(row);
	text_copy(row->study_id, sizeof(row->study_id), run->study_id);
	/* By the case's number: names can be longer than there is room. */
	snprintf(row->run_id, sizeof(row->run_id), "%s-r%d-c%zu", run->study_id, run->round,
		 (size_t)(item - study->cases) + 1);
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
	pair_memory_text(&run->pairs[pair], NULL, row->memory, sizeof(row->memory));
	if (item->transport) {
		row->ceiling = (item->transport->caps & CAP_CEILING) != 0;
		describe_secrecy(item, row);
	}
}

void run_row_error(struct result *row, const struct error *err)
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

/* ---- after the run ---- */

struct end_cpu {
	double user_s, system_s, total_s, host_pct;
	/* All CPUs of the host; the agent's own is linefill's, and no noise. */
	double host_total_s, host_work_s, host_steal_s, agent_s;
};

static struct end_cpu end_cpu(const json_t *reply)
{
	struct end_cpu cpu = { .user_s = message_real_or(reply, "user_s", NAN),
			       .system_s = message_real_or(reply, "system_s", NAN),
			       .host_pct = message_real_or(reply, "host_pct", NAN),
			       .host_total_s = message_real_or(reply, "host_total_s", NAN),
			       .host_work_s = message_real_or(reply, "host_work_s", NAN),
			       .host_steal_s = message_real_or(reply, "host_steal_s", NAN),
			       .agent_s = message_real_or(reply, "agent_s", NAN) };
	cpu.total_s = cpu.user_s + cpu.system_s;
	return cpu;
}

static double share_pct(double part_s, double total_s)
{
	if (isnan(part_s) || !(total_s > 0))
		return NAN;
	return fmin(fmax(100 * part_s / total_s, 0), 100);
}

/* Both ends run on one kernel (see cpu_scope), so what either end used is nobody else's there. The
 * host's time is sampled by tick and the copy's is exact, and counted until its processes are gone:
 * a difference of little is nothing. */
static double other_pct(const struct end_cpu *here, const struct end_cpu *there)
{
	double own_s = here->total_s + here->agent_s + there->total_s + there->agent_s;
	return share_pct(here->host_work_s - own_s, here->host_total_s);
}

/* Of both ends; unknown where one of them is. */
static int64_t sum_known(const json_t *source, const json_t *sink, const char *key)
{
	int64_t a = message_whole_or(source, key, RESULT_UNKNOWN_COUNT);
	int64_t b = message_whole_or(sink, key, RESULT_UNKNOWN_COUNT);
	return a == RESULT_UNKNOWN_COUNT || b == RESULT_UNKNOWN_COUNT ? RESULT_UNKNOWN_COUNT
								      : a + b;
}

static void fill_cpu(const json_t *source, const json_t *sink, struct result *row)
{
	struct end_cpu a = end_cpu(source);
	struct end_cpu b = end_cpu(sink);
	row->cpu_source_s = a.total_s;
	row->cpu_source_user_s = a.user_s;
	row->cpu_source_system_s = a.system_s;
	row->cpu_source_host_pct = a.host_pct;
	row->cpu_source_other_pct = other_pct(&a, &b);
	row->cpu_source_steal_pct = share_pct(a.host_steal_s, a.host_total_s);
	row->cpu_sink_other_pct = other_pct(&b, &a);
	row->cpu_sink_steal_pct = share_pct(b.host_steal_s, b.host_total_s);
	row->cpu_sink_s = b.total_s;
	row->cpu_sink_user_s = b.user_s;
	row->cpu_sink_system_s = b.system_s;
	row->cpu_sink_host_pct = b.host_pct;
	row->csw_voluntary = sum_known(source, sink, "voluntary");
	row->csw_involuntary = sum_known(source, sink, "involuntary");
}

/* Those of one end that classic ttcp shows. */
static void fill_counts(const json_t *reply, struct result_counts *counts)
{
	counts->io_calls = message_whole_or(reply, "io_calls", RESULT_UNKNOWN_COUNT);
	counts->maxrss_bytes = message_whole_or(reply, "maxrss_bytes", RESULT_UNKNOWN_COUNT);
	counts->minor_faults = message_whole_or(reply, "minor_faults", RESULT_UNKNOWN_COUNT);
	counts->major_faults = message_whole_or(reply, "major_faults", RESULT_UNKNOWN_COUNT);
	counts->csw_voluntary = message_whole_or(reply, "voluntary", RESULT_UNKNOWN_COUNT);
	counts->csw_involuntary = message_whole_or(reply, "involuntary", RESULT_UNKNOWN_COUNT);
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

/* The sink knows what arrived; where a service does that end, the source what it sent. */
static void fill_line(const json_t *source, const json_t *sink, struct result *row)
{
	const json_t *counts = message_whole(sink, "progress_bytes") > 0 ? sink : source;
	int64_t moved = message_whole(counts, "progress_bytes");
	int64_t unsent = message_whole(counts, "unsent_bytes");
	if (moved > 0 && unsent <= moved)
		row->line_bytes = moved - unsent;
}

static void fill_streams(const struct study_case *item, const json_t *driver, struct result *row)
{
	int64_t reported = message_whole(driver, "streams");
	row->streams = reported > 0 ? reported : (int64_t)(planned_streams(item) * item->instances);
	const char *cipher = message_text(driver, "cipher");
	const char *mac = message_text(driver, "mac");
	if (cipher[0])
		text_copy(row->cipher, sizeof(row->cipher), cipher);
	if (mac[0])
		text_copy(row->mac, sizeof(row->mac), mac);
}

/* What follows from the numbers once the payload is known. */
void run_row_derive(struct result *row)
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

/* An end that moved data itself and did not move the payload, no more and no less. */
static int check_moved(const struct pair *pair, const struct result *row, struct error *err)
{
	for (int i = 0; i < 2; i++) {
		int64_t moved = pair->moved_bytes[i];
		if (moved != 0 && moved != row->payload_bytes)
			return error_set(err, ERROR_SYSTEM, 0,
					 "the %s moved %lld bytes, and %lld were %s at the sink",
					 i == XFER_SOURCE ? "source" : "sink", (long long)moved,
					 (long long)row->payload_bytes,
					 row->verified == VERIFIED_YES ? "verified" : "counted");
	}
	return 0;
}

int run_row_implausible(const struct pair *pair, const struct result *row, struct error *err)
{
	const double pcts[] = { row->cpu_source_host_pct, row->cpu_sink_host_pct };
	for (size_t i = 0; i < ARRAY_SIZE(pcts); i++)
		if (pcts[i] < 0 || pcts[i] > 100)
			return error_set(err, ERROR_SYSTEM, 0,
					 "a host's CPU was %.1f %% busy, which cannot be", pcts[i]);
	if (row->total_s <= 0)
		return error_set(err, ERROR_SYSTEM, 0, "the run took no time, which cannot be");
	return check_moved(pair, row, err);
}

void run_row_measured(const struct run *run, struct pair *pair, struct result *row)
{
	enum xfer_side driver = run->item->transport->driver;
	const json_t *source = pair->sides[XFER_SOURCE].peer.reply.json;
	const json_t *sink = pair->sides[XFER_SINK].peer.reply.json;
	const json_t *drive = driver == XFER_SOURCE ? source : sink;
	text_copy(row->start_utc, sizeof(row->start_utc), message_text(drive, "start_utc"));
	pair_memory_text(pair, sink, row->memory, sizeof(row->memory));
	row->total_s = message_real_or(drive, "total_s", NAN);
	row->setup_s = message_real_or(sink, "setup_s", NAN);
	row->payload_bytes = message_whole(sink, "counted_bytes");
	pair->moved_bytes[XFER_SOURCE] = message_whole(source, "progress_bytes");
	pair->moved_bytes[XFER_SINK] = message_whole(sink, "progress_bytes");
	fill_cpu(source, sink, row);
	fill_counts(source, &row->source_counts);
	fill_counts(sink, &row->sink_counts);
	fill_line(source, sink, row);
	fill_streams(run->item, drive, row);
}

void run_row_fail(const struct run *run, size_t pair, const struct error *err,
		  enum result_status status, struct result *row)
{
	int64_t files = row->files;
	char cache[sizeof(row->cache)], start[sizeof(row->start_utc)];
	text_copy(cache, sizeof(cache), row->cache);
	text_copy(start, sizeof(start), row->start_utc);
	run_row_describe(run, pair, row);
	run_row_error(row, err);
	if (status != STATUS_FAILED)
		row->status = status;
	row->files = files;
	text_copy(row->cache, sizeof(row->cache), cache);
	text_copy(row->start_utc, sizeof(row->start_utc), start);
}
