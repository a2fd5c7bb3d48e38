#include <math.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "results/html.h"
#include "results/report_parts.h"
#include "results/study_json.h"
#include "results/verdict.h"

#define NUMBER "td class=\"n\""

/* How near a plain case is to an encrypted one. */
enum kinship {
	KIN_NONE,
	KIN_OTHER, /* another tool */
	KIN_TWIN,  /* what the tool itself names as its like without encryption */
	KIN_SAME,  /* the same tool, told to use no cipher */
};

struct twin {
	const struct summary_case *plain;
	enum kinship kinship;
	size_t differences; /* options that both have, and not alike */
};

static bool is_plain(const struct summary_case *one)
{
	return strcmp(one->row->cipher, "none") == 0;
}

static bool is_encrypted(const struct summary_case *one)
{
	return *one->row->cipher && !is_plain(one);
}

static int64_t streams_of(const struct summary_case *one)
{
	return one->row->streams > 0 ? one->row->streams : one->row->instances;
}

static const json_t *record_of(const struct report *report, const struct summary_case *one)
{
	return study_json_case(report->study, one->row->case_name);
}

static bool names_twin(const json_t *record, const char *transport)
{
	const json_t *twins = json_object_get(record, "plain_twins");
	for (size_t i = 0; i < json_array_size(twins); i++) {
		const char *name = json_string_value(json_array_get(twins, i));
		if (name && strcmp(name, transport) == 0)
			return true;
	}
	return false;
}

/* These are what is compared, or follow from it. */
static bool is_of_secrecy(const char *option)
{
	static const char *const names[] = { "cipher", "mac", "tls", "ktls" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(option, names[i]) == 0)
			return true;
	return false;
}

/* Options that both have and that are not alike: "server=sshd against proftpd", joined by commas.
 */
static size_t list_differences(const struct report *report, const struct summary_case *one,
			       const struct summary_case *plain, struct text *out)
{
	json_t *mine = json_object_get(record_of(report, one), "option_values");
	const json_t *theirs = json_object_get(record_of(report, plain), "option_values");
	size_t count = 0;
	const char *key = NULL;
	json_t *value = NULL;
	json_object_foreach(mine, key, value)
	{
		const char *a = json_string_value(value);
		const char *b = json_string_value(json_object_get(theirs, key));
		if (!a || !b || strcmp(a, b) == 0 || is_of_secrecy(key))
			continue;
		text_addf(out, "%s%s=%s against %s", count ? ", " : "", key, a, b);
		count++;
	}
	return count;
}

static struct twin compare_kin(const struct report *report, const struct summary_case *one,
			       const struct summary_case *plain)
{
	struct twin twin = { .plain = plain, .kinship = KIN_OTHER };
	AUTO_TEXT differences = { 0 };
	if (strcmp(plain->row->transport, one->row->transport) == 0)
		twin.kinship = KIN_SAME;
	else if (names_twin(record_of(report, one), plain->row->transport))
		twin.kinship = KIN_TWIN;
	if (twin.kinship > KIN_OTHER)
		twin.differences = list_differences(report, one, plain, &differences);
	return twin;
}

/* What an encrypted case is held against: the plain case that is nearest to it, with as many
 * streams; of other tools the fastest. */
static struct twin find_twin(const struct report *report, const struct summary_case *one)
{
	struct twin best = { .kinship = KIN_NONE };
	for (size_t rank = 1; rank <= report->summary->ranked_size; rank++) {
		const struct summary_case *plain = summary_ranked(report->summary, rank);
		if (!is_plain(plain) || streams_of(plain) != streams_of(one) ||
		    plain->row->instances != one->row->instances)
			continue;
		struct twin twin = compare_kin(report, one, plain);
		if (twin.kinship > best.kinship ||
		    (twin.kinship == best.kinship && twin.differences < best.differences))
			best = twin;
	}
	return best;
}

static double cpu_per_gib(const struct summary_case *one)
{
	return one->median.cpu_source_s_per_gib + one->median.cpu_sink_s_per_gib;
}

static void kinship_cell(const struct report *report, const struct summary_case *one,
			 const struct twin *twin, struct text *out)
{
	static const char *const words[] = {
		[KIN_OTHER] = "another tool",
		[KIN_TWIN] = "its twin without encryption",
		[KIN_SAME] = "the same tool without encryption",
	};
	AUTO_TEXT differences = { 0 };
	if (twin->kinship > KIN_OTHER)
		list_differences(report, one, twin->plain, &differences);
	html_elementf(out, "td", "%s%s%s", words[twin->kinship], differences.length ? "; but " : "",
		      text_string(&differences));
}

static void encryption_row(const struct report *report, const struct summary_case *one,
			   const struct twin *twin, struct text *out)
{
	char ratio[VERDICT_RATIO_SIZE];
	struct comparison pair = summary_pair(report->summary, one, twin->plain);
	double more = cpu_per_gib(one) - cpu_per_gib(twin->plain);
	double share = pair.rounds ? pair.ratio
				   : one->median.goodput_bps / twin->plain->median.goodput_bps;
	text_add(out, "<tr>");
	html_element(out, "th scope=\"row\"", summary_label(one));
	html_element(out, "td", one->row->cipher);
	html_element(out, "td", summary_label(twin->plain));
	kinship_cell(report, one, twin, out);
	html_element(out, NUMBER, verdict_ratio_text(share, ratio));
	if (isfinite(more))
		html_elementf(out, NUMBER, "%+.2f", more);
	else
		html_element(out, NUMBER, "\xe2\x80\x93");
	text_add(out, "</tr>\n");
}

void report_encryption(const struct report *report, struct text *out)
{
	static const char *const heads[] = { "Encrypted",
					     "Cipher",
					     "Held against",
					     "Which is",
					     ">Share of its rate",
					     ">More CPU s/GiB, both ends",
					     NULL };
	AUTO_TEXT rows = { 0 };
	for (size_t rank = 1; rank <= report->summary->ranked_size; rank++) {
		const struct summary_case *one = summary_ranked(report->summary, rank);
		if (!is_encrypted(one))
			continue;
		struct twin twin = find_twin(report, one);
		if (twin.kinship != KIN_NONE)
			encryption_row(report, one, &twin, &rows);
	}
	if (rows.length == 0)
		return;
	text_add(out, "<h2>What encryption costs</h2>\n<p>Observed, each against a case with as "
		      "many streams and no encryption: the same tool&#39;s own, or its twin, where "
		      "the study has one. Only that shows what the cipher alone costs; against "
		      "another tool the difference also holds all else that the two do "
		      "differently.</p>\n");
	html_table_begin(out, heads);
	text_add(out, text_string(&rows));
	html_table_end(out);
}
