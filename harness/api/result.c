#include "harness/api/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"

const char *const result_status_names[] = {
	[STATUS_OK] = "ok",
	[STATUS_FAILED] = "failed",
	[STATUS_TIMEOUT] = "timeout",
	[STATUS_INTEGRITY] = "integrity",
	[STATUS_INVALID] = "invalid",
	[STATUS_CANCELLED] = "cancelled",
	[STATUS_UNSUPPORTED] = "unsupported",
	[STATUS_UNAVAILABLE] = "unavailable",
	[STATUS_COUNT] = NULL,
};

const char *const result_verified_names[] = {
	[VERIFIED_NO] = "no",
	[VERIFIED_COUNT] = "count",
	[VERIFIED_YES] = "yes",
	NULL,
};

const char *const result_ceiling_names[] = { "no", "yes", NULL };

#define PLACE(member)           offsetof(struct result, member), sizeof(((struct result *)0)->member)
#define TEXT_AT(member)         RESULT_TEXT, PLACE(member), NULL
#define COUNT_AT(member)        RESULT_COUNT, PLACE(member), NULL
#define REAL_AT(member)         RESULT_REAL, PLACE(member), NULL
#define WORD_AT(member, words_) RESULT_WORD, PLACE(member), words_

const struct result_field result_fields[] = {
	{ "schema", "", COUNT_AT(schema), "version of this table; 1" },
	{ "study_id", "", TEXT_AT(study_id), "the study; alike in all its rows" },
	{ "run_id", "", TEXT_AT(run_id), "this run; unique in the study" },
	{ "round", "", COUNT_AT(round), "block of runs, from 1: each round has every case once" },
	{ "case", "", TEXT_AT(case_name), "name of the case in the study file" },
	{ "label", "", TEXT_AT(label), "how charts and tables call the case" },
	{ "pair", "", COUNT_AT(pair), "which pair of hosts, from 1" },
	{ "pairs", "", COUNT_AT(pairs), "pairs of hosts that copied at once" },
	{ "instances", "", COUNT_AT(instances),
	  "workers a side that copied at once, each with its share" },
	{ "factors", "", TEXT_AT(factors), "settings of the experiment, as name=level;name=level" },
	{ "transport", "", TEXT_AT(transport), "what copied" },
	{ "transport_version", "", TEXT_AT(transport_version),
	  "version of the tool or library; source > sink where they differ" },
	{ "options", "", TEXT_AT(options), "its options that differ from the defaults" },
	{ "dataset", "", TEXT_AT(dataset), "recipe and options of what was copied" },
	{ "files", "", COUNT_AT(files), "files in the dataset" },
	{ "payload_bytes", "bytes", COUNT_AT(payload_bytes),
	  "apparent size of all files, counted at the sink" },
	{ "streams", "", COUNT_AT(streams),
	  "connections that carried payload, all instances together" },
	{ "cipher", "", TEXT_AT(cipher), "cipher in use; none when the data was not encrypted" },
	{ "mac", "", TEXT_AT(mac), "message authentication in use" },
	{ "preserve", "", TEXT_AT(preserve), "what had to be alike: content, mode or all" },
	{ "durability", "", TEXT_AT(durability),
	  "none, or flush: the sink's file system was flushed" },
	{ "cache", "", TEXT_AT(cache),
	  "warm: the source was in memory before the run; cold: it was not" },
	{ "memory", "", TEXT_AT(memory),
	  "of a copy in RAM: backed: touched memory was held for it and let go just before the run, "
	  "all of it or what is named; as-is; none needed: the host takes no memory back; disk" },
	{ "start_utc", "", TEXT_AT(start_utc), "when the run started, UTC, ISO 8601" },
	{ "setup_s", "s", REAL_AT(setup_s), "go to the first payload byte at the sink" },
	{ "transfer_s", "s", REAL_AT(transfer_s), "total_s less setup_s" },
	{ "total_s", "s", REAL_AT(total_s),
	  "go to the later of the driver's end and the sink's completion" },
	{ "goodput_bps", "bit/s", REAL_AT(goodput_bps),
	  "payload bits / total_s; only of runs that are ok; `report` computes it again" },
	{ "cpu_source_s", "s", REAL_AT(cpu_source_s),
	  "CPU time of the copy's processes at the source" },
	{ "cpu_source_user_s", "s", REAL_AT(cpu_source_user_s),
	  "of it, in user mode; the total is exact, the kernel samples the split at its tick" },
	{ "cpu_source_system_s", "s", REAL_AT(cpu_source_system_s),
	  "of it, in the kernel; sampled at the tick, too" },
	{ "cpu_sink_s", "s", REAL_AT(cpu_sink_s), "CPU time of the copy's processes at the sink" },
	{ "cpu_sink_user_s", "s", REAL_AT(cpu_sink_user_s),
	  "of it, in user mode; the total is exact, the kernel samples the split at its tick" },
	{ "cpu_sink_system_s", "s", REAL_AT(cpu_sink_system_s),
	  "of it, in the kernel; sampled at the tick, too" },
	{ "cpu_source_host_pct", "%", REAL_AT(cpu_source_host_pct),
	  "busy share of all CPUs of the source's host, total_s; counted in ticks of 10 ms, coarse on "
	  "runs of less than a second" },
	{ "cpu_sink_host_pct", "%", REAL_AT(cpu_sink_host_pct),
	  "busy share of all CPUs of the sink's host, total_s; counted in ticks of 10 ms, coarse on "
	  "runs of less than a second" },
	{ "cpu_source_other_pct", "%", REAL_AT(cpu_source_other_pct),
	  "share of all CPUs of the source's host that others used, total_s: processes and kernel "
	  "threads that are neither the copy's nor linefill's agents; interrupts are not counted; "
	  "empty below 0.25 s, or 0.5 CPU seconds of all CPUs together, where ticks of 10 ms tell "
	  "nothing" },
	{ "cpu_sink_other_pct", "%", REAL_AT(cpu_sink_other_pct), "the same at the sink" },
	{ "cpu_source_steal_pct", "%", REAL_AT(cpu_source_steal_pct),
	  "share of all CPUs of the source's host that its hypervisor kept back, total_s; empty as "
	  "above" },
	{ "cpu_sink_steal_pct", "%", REAL_AT(cpu_sink_steal_pct), "the same at the sink" },
	{ "cpu_scope", "", TEXT_AT(cpu_scope),
	  "how CPU time was counted, and whether it is exact" },
	{ "sd_source_us_per_kib", "us/KiB", REAL_AT(sd_source_us_per_kib),
	  "service demand: CPU time per KiB at the source" },
	{ "sd_sink_us_per_kib", "us/KiB", REAL_AT(sd_sink_us_per_kib),
	  "service demand: CPU time per KiB at the sink" },
	{ "csw_voluntary", "", COUNT_AT(csw_voluntary), "voluntary context switches, both ends" },
	{ "csw_involuntary", "", COUNT_AT(csw_involuntary),
	  "involuntary context switches, both ends" },
	{ "ceiling", "", WORD_AT(ceiling, result_ceiling_names),
	  "yes: it sends nothing over a line: a bound for the others, never ranked" },
	{ "verified", "", WORD_AT(verified, result_verified_names),
	  "yes: contents compared; count: bytes counted at the sink; no" },
	{ "status", "", WORD_AT(status, result_status_names),
	  "how the run ended; only ok has rates" },
	{ "error", "", TEXT_AT(error), "what went wrong" },
	{ "io_calls_source", "", COUNT_AT(source_counts.io_calls),
	  "system calls that moved data over the line, at the source; tcp, multi and multi-reverse "
	  "count theirs" },
	{ "maxrss_source_bytes", "bytes", COUNT_AT(source_counts.maxrss_bytes),
	  "peak resident memory of the largest process at the source" },
	{ "minor_faults_source", "", COUNT_AT(source_counts.minor_faults),
	  "page faults without I/O, at the source" },
	{ "major_faults_source", "", COUNT_AT(source_counts.major_faults),
	  "page faults with I/O, at the source" },
	{ "csw_voluntary_source", "", COUNT_AT(source_counts.csw_voluntary),
	  "voluntary context switches at the source" },
	{ "csw_involuntary_source", "", COUNT_AT(source_counts.csw_involuntary),
	  "involuntary context switches at the source" },
	{ "io_calls_sink", "", COUNT_AT(sink_counts.io_calls),
	  "system calls that moved data over the line, at the sink; tcp, multi and multi-reverse "
	  "count theirs" },
	{ "maxrss_sink_bytes", "bytes", COUNT_AT(sink_counts.maxrss_bytes),
	  "peak resident memory of the largest process at the sink" },
	{ "minor_faults_sink", "", COUNT_AT(sink_counts.minor_faults),
	  "page faults without I/O, at the sink" },
	{ "major_faults_sink", "", COUNT_AT(sink_counts.major_faults),
	  "page faults with I/O, at the sink" },
	{ "csw_voluntary_sink", "", COUNT_AT(sink_counts.csw_voluntary),
	  "voluntary context switches at the sink" },
	{ "csw_involuntary_sink", "", COUNT_AT(sink_counts.csw_involuntary),
	  "involuntary context switches at the sink" },
	{ "data_source_bytes", "bytes", COUNT_AT(data_source_bytes),
	  "of the payload, what is not in holes at the source" },
	{ "data_sink_bytes", "bytes", COUNT_AT(data_sink_bytes),
	  "of the copy, what is not in holes and not a second name of a file" },
	{ "line_bytes", "bytes", COUNT_AT(line_bytes),
	  "of the payload, what was sent, before compression; transports of our own count it" },
};
const size_t result_fields_count = ARRAY_SIZE(result_fields);

static const void *field_at(const struct result_field *field, const struct result *result)
{
	return (const char *)result + field->offset;
}

void result_init(struct result *result)
{
	memset(result, 0, sizeof(*result));
	for (size_t i = 0; i < result_fields_count; i++) {
		void *to = (char *)result + result_fields[i].offset;
		if (result_fields[i].type == RESULT_COUNT)
			*(int64_t *)to = RESULT_UNKNOWN_COUNT;
		else if (result_fields[i].type == RESULT_REAL)
			*(double *)to = (double)NAN;
	}
	result->schema = RESULT_SCHEMA;
	result->verified = VERIFIED_NO;
	result->status = STATUS_FAILED;
}

static size_t words_count(const char *const *words)
{
	size_t count = 0;
	while (words[count])
		count++;
	return count;
}

/* Nine digits keep nanoseconds in a run of seconds and hide rounding noise; large numbers stay free
 * of exponents. */
static void add_real(double real, struct text *out)
{
	if (isfinite(real))
		text_addf(out, fabs(real) >= 1e6 ? "%.0f" : "%.9g", real);
}

/* Never longer than the field, so that it can be read again. */
static void add_text(const struct result_field *field, const char *value, struct text *out)
{
	AUTO_FREE char *whole = strndup(value, field->size);
	if (!whole)
		abort();
	AUTO_FREE char *shown = text_shown(whole, field->size - 1);
	text_add(out, shown);
}

void result_field_text(const struct result_field *field, const struct result *result,
		       struct text *out)
{
	const void *value = field_at(field, result);
	int64_t count = 0;
	switch (field->type) {
	case RESULT_TEXT:
		add_text(field, value, out);
		break;
	case RESULT_COUNT:
		count = *(const int64_t *)value;
		if (count >= 0)
			text_addf(out, "%lld", (long long)count);
		break;
	case RESULT_REAL:
		add_real(*(const double *)value, out);
		break;
	case RESULT_WORD:
		count = *(const int64_t *)value;
		if (count >= 0 && (size_t)count < words_count(field->words))
			text_add(out, field->words[count]);
		break;
	}
}

static int parse_text(const struct result_field *field, char *to, const char *value,
		      struct error *err)
{
	if (strlen(value) >= field->size)
		return error_set(err, ERROR_CONFIG, 0, "%s is longer than %zu bytes", field->name,
				 field->size - 1);
	text_escape_terminal(to, field->size, value);
	return 0;
}

static int parse_count(const struct result_field *field, int64_t *to, const char *value,
		       struct error *err)
{
	uint64_t count = 0;
	if (*value && (!text_to_u64(value, &count) || count > INT64_MAX))
		return error_set(err, ERROR_CONFIG, 0, "%s = %.40s: a whole number is expected",
				 field->name, value);
	*to = *value ? (int64_t)count : RESULT_UNKNOWN_COUNT;
	return 0;
}

/* What no machine reaches, by unit: such a number was not measured. */
static double most_of(const char *unit)
{
	static const struct {
		const char *unit;
		double most;
	} units[] = { { "%", 100 }, { "s", 1e9 }, { "bit/s", 1e15 } };
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(unit, units[i].unit) == 0)
			return units[i].most;
	return 1e18;
}

static int parse_real(const struct result_field *field, double *to, const char *value,
		      struct error *err)
{
	double real = (double)NAN;
	if (*value && !text_to_double(value, &real))
		return error_set(err, ERROR_CONFIG, 0, "%s = %.40s: a number is expected",
				 field->name, value);
	if (real < 0 || real > most_of(field->unit))
		return error_set(err, ERROR_CONFIG, 0,
				 "%s = %.40s cannot be: 0 to %g %s is expected", field->name, value,
				 most_of(field->unit), field->unit);
	*to = real;
	return 0;
}

static int parse_word(const struct result_field *field, int64_t *to, const char *value,
		      struct error *err)
{
	for (size_t i = 0; field->words[i]; i++) {
		if (strcmp(field->words[i], value) != 0)
			continue;
		*to = (int64_t)i;
		return 0;
	}
	const char *near = text_nearest_in(value, field->words);
	return error_set(err, ERROR_CONFIG, 0, "%s = %.40s is unknown%s%s%s", field->name, value,
			 near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int result_field_parse(const struct result_field *field, struct result *result, const char *value,
		       struct error *err)
{
	void *to = (char *)result + field->offset;
	switch (field->type) {
	case RESULT_TEXT:
		return parse_text(field, to, value, err);
	case RESULT_COUNT:
		return parse_count(field, to, value, err);
	case RESULT_REAL:
		return parse_real(field, to, value, err);
	case RESULT_WORD:
		return parse_word(field, to, value, err);
	}
	return error_set(err, ERROR_CONFIG, 0, "%s has no known type", field->name);
}

const struct result_field *result_field_find(const char *name)
{
	for (size_t i = 0; i < result_fields_count; i++)
		if (strcmp(result_fields[i].name, name) == 0)
			return &result_fields[i];
	return NULL;
}
