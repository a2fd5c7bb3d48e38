/* Is the memory of each end really there, and is touched memory held for copies? */
#include <math.h>

#include "harness/base/cleanup.h"
#include "harness/base/log.h"
#include "harness/control/pair.h"

/* Copies of so much take longer than the probe's wait for memory that is not in use. */
#define THOROUGH_BYTES (UINT64_C(256) << 20)
#define PROBE_S        60.0
/* A finding from this ratio on, as agents see it (see memory_probe.h). */
#define FINDING_RATIO 1.5

static void set_rate(json_t *facts, const char *key, double bytes_per_s)
{
	if (isfinite(bytes_per_s))
		message_put_whole(facts, key, (int64_t)bytes_per_s);
}

static void add_finding(double first, double second, json_t *facts)
{
	if (!(second / first > FINDING_RATIO))
		return;
	AUTO_TEXT finding = { 0 };
	text_addf(&finding,
		  "memory that was not in use is slow to touch: %.2f GB/s, against %.2f GB/s for "
		  "memory that was in use a moment ago, %.1f times as much. The hypervisor takes "
		  "free pages back, and copies into RAM would measure that",
		  first / 1e9, second / 1e9, second / first);
	message_put_text(facts, "memory_finding", text_string(&finding));
}

static void learn(struct pair_side *side)
{
	const json_t *reply = side->peer.reply.json;
	double first = message_real_or(reply, "first_bytes_per_s", (double)NAN);
	double second = message_real_or(reply, "second_bytes_per_s", (double)NAN);
	const char *balloon = message_text(reply, "balloon");
	bool reporting = message_flag(reply, "reporting");
	json_t *facts = message_object();
	set_rate(facts, "memory_first_touch_bytes_per_s", first);
	set_rate(facts, "memory_second_touch_bytes_per_s", second);
	AUTO_TEXT shown = { 0 };
	text_addf(&shown, "%s%s", balloon, reporting ? ", the host takes free pages back" : "");
	message_put_text(facts, "memory_balloon", text_string(&shown));
	add_finding(first, second, facts);
	json_decref(side->memory);
	side->memory = facts;
	side->memory_needed = message_flag(reply, "needs_reserve");
}

int pair_probe_memory(struct pair *pair, const struct cancel *cancel, struct error *err)
{
	struct error reason = { 0 };
	for (int i = 0; i < 2; i++) {
		struct pair_side *side = &pair->sides[i];
		json_t *question = message_object();
		message_put_flag(question, "thorough",
				 pair->dataset.totals.bytes >= THOROUGH_BYTES);
		if (peer_ask(&side->peer, REQUEST_MEMORY_PROBE, question, PROBE_S, cancel,
			     &reason) == 0)
			learn(side);
		else if (cancel_requested(cancel) || !side->peer.alive)
			return error_set(err, reason.kind, reason.code, "%s", reason.message);
		else
			log_line(LOG_WARNING, "%s: %s", side->peer.name, reason.message);
	}
	return 0;
}

bool pair_holds_memory(const struct pair *pair)
{
	const struct pair_side *sink = &pair->sides[XFER_SINK];
	return pair->study->settings.memory == MEMORY_BACKED && sink->ram && sink->memory_needed;
}

int pair_hold_memory(struct pair *pair, const struct cancel *cancel, struct error *err)
{
	if (!pair_holds_memory(pair) || pair->memory_held)
		return 0;
	if (peer_ask(&pair->sides[XFER_SINK].peer, REQUEST_MEMORY_RESERVE, NULL, pair_pass_s(pair),
		     cancel, err) < 0)
		return -1;
	pair->memory_held = true;
	return 0;
}

/* "2.0GiB": in a field that others may split at blanks. */
static void add_bytes(uint64_t bytes, struct text *out)
{
	char shown[32];
	for (const char *s = text_from_bytes(shown, sizeof(shown), bytes); *s; s++)
		if (*s != ' ')
			text_add_bytes(out, s, 1);
}

void pair_memory_text(const struct pair *pair, const json_t *sink_reply, char *to, size_t size)
{
	const struct pair_side *sink = &pair->sides[XFER_SINK];
	AUTO_TEXT shown = { 0 };
	uint64_t wanted = (uint64_t)message_whole_or(sink_reply, "memory_wanted_bytes", 0);
	uint64_t held = (uint64_t)message_whole_or(sink_reply, "memory_held_bytes", 0);
	if (!sink->data)
		text_add(&shown, "");
	else if (!sink->ram)
		text_add(&shown, "disk");
	else if (pair->study->settings.memory == MEMORY_AS_IS)
		text_add(&shown, "as-is");
	else if (!sink->memory)
		text_add(&shown, "");
	else if (!sink->memory_needed)
		text_add(&shown, "none needed");
	else if (wanted > 0)
		text_add(&shown, "backed");
	if (held < wanted) {
		text_add(&shown, ":");
		add_bytes(held, &shown);
		text_add(&shown, " of ");
		add_bytes(wanted, &shown);
	}
	text_copy(to, size, text_string(&shown));
}
