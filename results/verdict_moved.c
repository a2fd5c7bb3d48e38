/* What is said where not all of the payload travelled. */
#include "harness/base/cleanup.h"
#include "results/verdict.h"

/* "tcp 3.0 MiB of 1.0 GiB, rsync-ssh 3.0 MiB of 1.0 GiB stored": where it is not known what was
 * sent. */
static size_t add_movers(const struct summary *summary, struct text *out)
{
	size_t movers = 0;
	for (size_t i = 0; i < summary->count; i++) {
		const struct summary_case *one = &summary->cases[i];
		char label[4 * sizeof(one->row->label)], moved[32], payload[32];
		if (!one->moved_less)
			continue;
		const struct result *row = summary_least_moved(one);
		text_escape_terminal(label, sizeof(label), summary_label(one));
		text_addf(out, "%s%s %s of %s%s", movers++ ? ", " : "", label,
			  text_from_bytes(moved, sizeof(moved), (uint64_t)summary_moved_bytes(row)),
			  text_from_bytes(payload, sizeof(payload), (uint64_t)row->payload_bytes),
			  row->line_bytes == RESULT_UNKNOWN_COUNT ? " stored" : "");
	}
	return movers;
}

static const struct result *with_holes(const struct summary *summary)
{
	for (size_t i = 0; i < summary->count; i++) {
		const struct summary_case *one = &summary->cases[i];
		if (one->kind == CASE_RANKED &&
		    summary_is_less(one->counted[0]->data_source_bytes, one->counted[0]))
			return one->counted[0];
	}
	return NULL;
}

static void add_sentence(const struct summary *summary, struct text *out)
{
	char holes[32], payload[32];
	AUTO_TEXT movers = { 0 };
	size_t count = add_movers(summary, &movers);
	const struct result *row = with_holes(summary);
	bool apart = false;
	for (size_t i = 0; i < summary->count; i++)
		apart = apart || summary->cases[i].kind == CASE_PART;
	if (count)
		text_addf(
			out,
			"less than the payload was sent (%s): the rest are holes or hard links; %s",
			text_string(&movers),
			apart ? "these rates are not ranked with those of whole payloads"
			      : "the rates count them, too");
	else if (row)
		text_addf(out,
			  "of the payload, %s of %s are holes at the source, which all sent as "
			  "zeros",
			  text_from_bytes(holes, sizeof(holes),
					  (uint64_t)(row->payload_bytes - row->data_source_bytes)),
			  text_from_bytes(payload, sizeof(payload), (uint64_t)row->payload_bytes));
}

void verdict_moved(const struct summary *summary, struct text *out)
{
	size_t start = out->length;
	add_sentence(summary, out);
	text_add(out, out->length > start ? "\n" : "");
}
