#include "results/ttcp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"

#define KB 1024.0

/* One end of a run. */
struct end {
	const char *name;
	double user_s, system_s;
	const struct result_counts *counts;
};

static void add_real(struct text *out, int decimals, double value)
{
	if (isnan(value))
		text_add(out, "-");
	else
		text_addf(out, "%.*f", decimals, value);
}

static void add_count(struct text *out, int64_t count)
{
	if (count < 0)
		text_add(out, "-");
	else
		text_addf(out, "%lld", (long long)count);
}

static double known(int64_t count)
{
	return count < 0 ? (double)NAN : (double)count;
}

static void add_rate(const struct result *result, const struct end *end, struct text *out)
{
	add_count(out, result->payload_bytes);
	text_add(out, " bytes in ");
	add_real(out, 3, result->total_s);
	text_add(out, " real seconds = ");
	add_real(out, 3, known(result->payload_bytes) / KB / result->total_s);
	text_addf(out, " KB/sec +++\nttcp-%s: ", end->name);
}

static void add_calls(const struct result *result, const struct end *end, struct text *out)
{
	double calls = known(end->counts->io_calls);
	add_count(out, end->counts->io_calls);
	text_add(out, " I/O calls, msec/call = ");
	add_real(out, 3, result->total_s * 1000 / calls);
	text_add(out, ", calls/sec = ");
	add_real(out, 2, calls / result->total_s);
	text_addf(out, "\nttcp-%s: ", end->name);
}

static void add_use(const struct result *result, const struct end *end, struct text *out)
{
	const struct result_counts *counts = end->counts;
	add_real(out, 3, end->user_s);
	text_add(out, "user ");
	add_real(out, 3, end->system_s);
	text_add(out, "sys ");
	add_real(out, 3, result->total_s);
	text_add(out, "real ");
	add_real(out, 0, 100 * (end->user_s + end->system_s) / result->total_s);
	text_add(out, "% ");
	add_real(out, 0, known(counts->maxrss_bytes) / KB);
	text_add(out, "maxrss ");
	add_count(out, counts->major_faults);
	text_add(out, "+");
	add_count(out, counts->minor_faults);
	text_add(out, "pf ");
	add_count(out, counts->csw_voluntary);
	text_add(out, "+");
	add_count(out, counts->csw_involuntary);
	text_add(out, "csw\n");
}

static void add_end(const struct result *result, const struct end *end, struct text *out)
{
	text_addf(out, "ttcp-%s: ", end->name);
	add_rate(result, end, out);
	add_calls(result, end, out);
	add_use(result, end, out);
}

void ttcp_lines(const struct result *result, struct text *out)
{
	const struct end transmitter = { "t", result->cpu_source_user_s,
					 result->cpu_source_system_s, &result->source_counts };
	const struct end receiver = { "r", result->cpu_sink_user_s, result->cpu_sink_system_s,
				      &result->sink_counts };
	add_end(result, &transmitter, out);
	add_end(result, &receiver, out);
}

static int compare_time(const void *a, const void *b)
{
	const struct result *const *left = a;
	const struct result *const *right = b;
	return ((*left)->total_s > (*right)->total_s) - ((*left)->total_s < (*right)->total_s);
}

/* Same case, ok, not after row i: the case is reported where its first ok row is. */
static size_t gather(const struct results *results, size_t first, const struct result **found)
{
	size_t count = 0;
	const char *name = results->rows[first].case_name;
	for (size_t i = 0; i < results->count; i++) {
		const struct result *row = &results->rows[i];
		if (row->status != STATUS_OK || strcmp(row->case_name, name) != 0)
			continue;
		if (i < first)
			return 0;
		found[count++] = row;
	}
	return count;
}

void ttcp_report(const struct results *results, struct text *out)
{
	AUTO_FREE const struct result **found = calloc(results->count + 1, sizeof(*found));
	if (!found)
		abort();
	for (size_t i = 0; i < results->count; i++) {
		char shown[sizeof(results->rows[i].label) * 4];
		size_t count = results->rows[i].status == STATUS_OK ? gather(results, i, found) : 0;
		if (count == 0)
			continue;
		qsort(found, count, sizeof(*found), compare_time);
		const struct result *median = found[(count - 1) / 2];
		text_escape_terminal(shown, sizeof(shown), median->label);
		text_addf(out, "\n%s, round %lld:\n", shown, (long long)median->round);
		ttcp_lines(median, out);
	}
}
