#include "results/noise.h"

#include <string.h>

struct noise {
	size_t runs;     /* that were disturbed */
	double most_pct; /* NOISE_PCT or less: none was */
	bool at_source, at_sink;
};

static void look(struct noise *noise, double source_pct, double sink_pct)
{
	bool at_source = source_pct > NOISE_PCT; /* an unknown one is not */
	bool at_sink = sink_pct > NOISE_PCT;
	if (at_source && source_pct > noise->most_pct)
		noise->most_pct = source_pct;
	if (at_sink && sink_pct > noise->most_pct)
		noise->most_pct = sink_pct;
	noise->runs += at_source || at_sink;
	noise->at_source = noise->at_source || at_source;
	noise->at_sink = noise->at_sink || at_sink;
}

/* On one host both ends see the same. */
static const char *place(const struct noise *noise, const struct result *row)
{
	if (strstr(row->cpu_scope, "shared-kernel"))
		return "";
	if (noise->at_source && noise->at_sink)
		return " at both ends";
	return noise->at_source ? " at the source" : " at the sink";
}

static void add_line(const struct summary_case *one, const struct noise *noise, const char *who,
		     struct text *out)
{
	char label[4 * sizeof(one->row->label)];
	if (noise->runs == 0)
		return;
	text_escape_terminal(label, sizeof(label), summary_label(one));
	text_addf(
		out,
		"in %zu of %zu runs of %s %s up to %.0f %% of the CPUs%s: its rates may be too low\n",
		noise->runs, one->counted_size, label, who, noise->most_pct,
		place(noise, one->row));
}

void noise_lines(const struct summary *summary, struct text *out)
{
	for (size_t i = 0; i < summary->count; i++) {
		const struct summary_case *one = &summary->cases[i];
		struct noise others = { 0 };
		struct noise steal = { 0 };
		for (size_t run = 0; run < one->counted_size; run++) {
			const struct result *row = one->counted[run];
			look(&others, row->cpu_source_other_pct, row->cpu_sink_other_pct);
			look(&steal, row->cpu_source_steal_pct, row->cpu_sink_steal_pct);
		}
		add_line(one, &others, "other processes used", out);
		add_line(one, &steal, "the hypervisor kept back", out);
	}
}
