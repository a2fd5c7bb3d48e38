#include "harness/control/pair.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/protocol/option_object.h"
#include "harness/study/hindrance.h"

#define SHORT_S 60.0
#define PROBE_S 120.0
/* See pair_work_s. */
#define PASS_S           60.0
#define SLOW_BYTES_PER_S 20e6
#define SLOW_FILES_PER_S 100.0
/* A dataset is read where it comes from, written, summed up, and settled, which is twice. */
#define DATASET_PASSES 5

const char *pair_host(const struct pair *pair, enum xfer_side side)
{
	(void)pair;
	(void)side;
	return "127.0.0.1";
}

double pair_work_s(uint64_t files, uint64_t bytes, unsigned times)
{
	return times *
	       (PASS_S + (double)bytes / SLOW_BYTES_PER_S + (double)files / SLOW_FILES_PER_S);
}

double pair_pass_s(const struct pair *pair)
{
	/* Folders and links are visited as files are. */
	return pair_work_s(pair->dataset.totals.count, pair->dataset.totals.bytes, 1);
}

void pair_init(struct pair *pair, const struct study *study, const char *const *tool_folders,
	       const char *log_folder)
{
	*pair = (struct pair){ .study = study, .tool_folders = tool_folders };
	pair->log_folder = strdup(log_folder);
	pair->notes = message_list();
	pair->servers = message_object();
	pair->sides[XFER_SOURCE].peer = PEER_NONE;
	pair->sides[XFER_SINK].peer = PEER_NONE;
}

static void forget_side(struct pair_side *side)
{
	json_decref(side->facts);
	json_decref(side->roots);
	free(side->data);
	side->facts = side->roots = NULL;
	side->data = NULL;
	side->ready = false;
}

void pair_close(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		peer_close(&pair->sides[i].peer);
		forget_side(&pair->sides[i]);
		json_decref(pair->sides[i].memory);
		pair->sides[i].memory = NULL;
	}
	free(pair->log_folder);
	pair->log_folder = NULL;
	json_decref(pair->notes);
	json_decref(pair->servers);
	pair->notes = pair->servers = NULL;
}

/* ---- an agent with its folders ---- */

void pair_check(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		struct pair_side *side = &pair->sides[i];
		peer_check(&side->peer);
		if (side->peer.alive || !side->peer.death[0] || side->mourned)
			continue;
		message_append_text(pair->notes, side->peer.death);
		side->mourned = true;
	}
}

static void note_launch(struct pair *pair, struct pair_side *side)
{
	char now[CLOCK_UTC_SIZE];
	AUTO_TEXT text = { 0 };
	clock_utc_text(now);
	text_addf(&text, "%s: the %s agent was started again, with %s", now, side->peer.name,
		  side->peer.side == XFER_SOURCE ? "a new dataset" : "new folders");
	if (side->launched)
		message_append_text(pair->notes, text_string(&text));
	side->launched = true;
	side->mourned = false;
}

static int say_hello(struct pair *pair, struct pair_side *side, const struct cancel *cancel,
		     struct error *err)
{
	json_t *folders = message_list();
	json_t *request = message_object();
	for (size_t i = 0; pair->tool_folders && pair->tool_folders[i]; i++)
		message_append_text(folders, pair->tool_folders[i]);
	request_introduce(request);
	message_put_text(request, "side", side->peer.name);
	message_put(request, "tools", folders);
	if (peer_ask(&side->peer, REQUEST_HELLO, request, SHORT_S, cancel, err) < 0)
		return -1;
	side->facts = json_incref(json_object_get(side->peer.reply.json, "facts"));
	return 0;
}

static int make_folders(const struct study *study, struct pair_side *side,
			const struct cancel *cancel, struct error *err)
{
	const char *location = study->place.location;
	if (side->peer.side == XFER_SINK && study->place.target[0])
		location = study->place.target;
	json_t *request = message_object();
	message_put_text(request, "location", location);
	message_put_text(request, "preserve", preserve_names[study->settings.preserve]);
	if (peer_ask(&side->peer, REQUEST_WORKSPACE, request, SHORT_S, cancel, err) < 0)
		return -1;
	side->data = strdup(message_text(side->peer.reply.json, "data"));
	side->ram = message_flag(side->peer.reply.json, "ram");
	return 0;
}

static int launch(struct pair *pair, struct pair_side *side, const struct cancel *cancel,
		  struct error *err)
{
	enum xfer_side which = side == &pair->sides[XFER_SINK] ? XFER_SINK : XFER_SOURCE;
	AUTO_FREE char *log = path_join(pair->log_folder,
					which == XFER_SINK ? "agent-sink.log" : "agent-source.log");
	forget_side(side);
	pair->instances = 0;
	pair->ssh_ready = false;
	pair->memory_held = false;
	peer_close(&side->peer);
	if (peer_launch(&side->peer, which, log, err) < 0 || say_hello(pair, side, cancel, err) < 0)
		return -1;
	note_launch(pair, side);
	return make_folders(pair->study, side, cancel, err);
}

/* ---- the data ---- */

int pair_hear_change(struct pair *pair, struct error *err)
{
	struct pair_dataset *dataset = &pair->dataset;
	const char *changed =
		message_text_or(pair->sides[XFER_SOURCE].peer.reply.json, "changed", "");
	if (changed[0] && !dataset->changed[0])
		text_copy(dataset->changed, sizeof(dataset->changed), changed);
	return dataset->changed[0] ? error_set(err, ERROR_SYSTEM, 0, "%s", dataset->changed) : 0;
}

int pair_look_again(struct pair *pair, bool contents, const struct cancel *cancel,
		    struct error *err)
{
	json_t *request = message_object();
	message_put_flag(request, "contents", contents);
	message_put_text(request, "preserve", preserve_names[pair->study->settings.preserve]);
	if (peer_ask(&pair->sides[XFER_SOURCE].peer, REQUEST_SOURCE, request, pair_pass_s(pair),
		     cancel, err) < 0)
		return -1;
	return pair_hear_change(pair, err);
}

static json_t *dataset_request(const struct study *study)
{
	AUTO_TEXT seed = { 0 };
	json_t *request = message_object();
	text_addf(&seed, "%llu", (unsigned long long)study->settings.seed);
	message_put_text(request, "recipe", study->dataset->name);
	message_put(request, "options",
		    option_object(study->dataset->options, study->dataset_options));
	message_put_text(request, "seed", text_string(&seed));
	return request;
}

static void take_manifest(const json_t *object, struct pair_dataset *dataset)
{
	const char *digest = message_text(object, "digest");
	dataset->totals = (struct manifest){
		.count = (size_t)message_whole(object, "entries"),
		.files = (uint64_t)message_whole(object, "files"),
		.folders = (uint64_t)message_whole(object, "folders"),
		.links = (uint64_t)message_whole(object, "links"),
		.bytes = (uint64_t)message_whole(object, "bytes"),
		.hole_bytes = (uint64_t)message_whole(object, "hole_bytes"),
		.empty_folders = message_flag(object, "empty_folders"),
		.odd_names = message_flag(object, "odd_names"),
	};
	/* Made or read a second time, since its agent had to be started again. */
	if (dataset->digest[0] && strcmp(dataset->digest, digest) != 0)
		text_copy(
			dataset->changed, sizeof(dataset->changed),
			"the source changed: its agent was started again, and found another tree");
	text_copy(dataset->digest, sizeof(dataset->digest), digest);
	dataset->manifest_bytes = (uint64_t)message_whole(object, "manifest_bytes");
}

static int make_dataset(struct pair *pair, const struct cancel *cancel, struct error *err)
{
	const struct study *study = pair->study;
	struct pair_side *source = &pair->sides[XFER_SOURCE];
	const double limit_s = pair_work_s(study->dataset_estimate.files,
					   study->dataset_estimate.bytes, DATASET_PASSES);
	if (peer_ask(&source->peer, REQUEST_DATASET, dataset_request(study), limit_s, cancel, err) <
	    0)
		return error_wrap(err, "dataset");
	const json_t *reply = source->peer.reply.json;
	take_manifest(message_member(reply, "manifest"), &pair->dataset);
	pair->dataset.in_place = message_flag(reply, "in_place");
	pair->dataset.users_own = message_flag(reply, "users_own");
	source->ready = true;
	return pair_hear_change(pair, err);
}

static json_t *at_offset(uint64_t offset)
{
	json_t *request = message_object();
	message_put_whole(request, "offset", (int64_t)offset);
	return request;
}

static int carry_manifest(struct pair *pair, const struct cancel *cancel, struct error *err)
{
	struct peer *source = &pair->sides[XFER_SOURCE].peer;
	struct peer *sink = &pair->sides[XFER_SINK].peer;
	uint64_t offset = 0;
	do {
		if (peer_ask(source, REQUEST_MANIFEST_READ, at_offset(offset), SHORT_S, cancel,
			     err) < 0)
			return -1;
		struct message *piece = &source->reply;
		bool last = offset + piece->bytes_count >= pair->dataset.manifest_bytes;
		if (piece->bytes_count == 0 && !last)
			return error_set(err, ERROR_PEER, 0, "the manifest is shorter than it was");
		const struct peer_question question = { .what = REQUEST_MANIFEST_WRITE,
							.members = at_offset(offset),
							.seconds = SHORT_S,
							.bytes = piece->bytes,
							.bytes_count = piece->bytes_count };
		message_put_flag(question.members, "last", last);
		if (peer_call(sink, &question, cancel, err) < 0)
			return -1;
		offset += piece->bytes_count;
	} while (offset < pair->dataset.manifest_bytes);
	const json_t *manifest = json_object_get(sink->reply.json, "manifest");
	if (!manifest || strcmp(message_text(manifest, "digest"), pair->dataset.digest) != 0)
		return error_set(err, ERROR_PEER, 0, "the manifest changed on its way to the sink");
	pair->sides[XFER_SINK].ready = true;
	return 0;
}

int pair_ready(struct pair *pair, const struct cancel *cancel, struct error *err)
{
	struct pair_side *source = &pair->sides[XFER_SOURCE];
	struct pair_side *sink = &pair->sides[XFER_SINK];
	pair_check(pair);
	if (!source->peer.alive) {
		sink->ready = false;
		if (launch(pair, source, cancel, err) < 0)
			return -1;
	}
	if (!sink->peer.alive && launch(pair, sink, cancel, err) < 0)
		return -1;
	if (!source->ready && make_dataset(pair, cancel, err) < 0)
		return -1;
	return sink->ready ? 0 : carry_manifest(pair, cancel, err);
}

/* ---- what runs need ---- */

/* The same request to both ends at once. Takes over members. */
static int call_both(struct pair *pair, const struct peer_question *question,
		     const struct cancel *cancel, struct error *err)
{
	struct peer *peers[] = { &pair->sides[XFER_SOURCE].peer, &pair->sides[XFER_SINK].peer };
	return peer_ask_all(peers, ARRAY_SIZE(peers), question, cancel, err);
}

int pair_probe(struct pair *pair, const struct cancel *cancel, json_t *probes[2], struct error *err)
{
	json_t *names = message_object(); /* as a set */
	json_t *list = message_list();
	for (size_t i = 0; i < pair->study->cases_count; i++) {
		const char *name = pair->study->cases[i].transport_name;
		if (json_object_get(names, name))
			continue;
		message_put_flag(names, name, true);
		message_append_text(list, name);
	}
	json_decref(names);
	const struct peer_question question = { .what = REQUEST_PROBE,
						.members = message_object(),
						.seconds = PROBE_S };
	message_put(question.members, "transports", list);
	int outcome = call_both(pair, &question, cancel, err);
	for (int i = 0; outcome == 0 && i < 2; i++)
		probes[i] = json_incref(json_object_get(pair->sides[i].peer.reply.json, "probes"));
	return outcome;
}

int pair_shares(struct pair *pair, uint64_t instances, const struct cancel *cancel,
		struct error *err)
{
	if (pair->instances == instances)
		return 0;
	if (hindrance_share(pair->study, instances, err) < 0)
		return -1;
	const struct peer_question question = { .what = REQUEST_SHARES,
						.members = message_object(),
						.seconds = pair_pass_s(pair) };
	message_put_whole(question.members, "instances", (int64_t)instances);
	pair->instances = 0;
	if (call_both(pair, &question, cancel, err) < 0)
		return error_wrap(err, "shares");
	if (pair_hear_change(pair, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		struct pair_side *side = &pair->sides[i];
		json_decref(side->roots);
		side->roots = json_incref(json_object_get(side->peer.reply.json, "roots"));
	}
	pair->instances = instances;
	return 0;
}

/* What both the server and its client are told. */
static json_t *terms_request(const struct pair *pair, const struct peer *server)
{
	const struct pair_ssh_terms *terms = &pair->ssh_terms;
	json_t *request = message_object();
	message_put_text(request, "service", terms->service);
	message_put_text(request, "host", pair_host(pair, server->side));
	message_put_text(request, "cipher", terms->cipher);
	message_put_text(request, "mac", terms->mac);
	return request;
}

static int start_server(struct pair *pair, struct peer *client, struct peer *server,
			const struct cancel *cancel, struct error *err)
{
	if (peer_ask(client, REQUEST_SSH_KEY, NULL, SHORT_S, cancel, err) < 0)
		return -1;
	json_t *request = terms_request(pair, server);
	message_put_text(request, "public_key", message_text(client->reply.json, "public_key"));
	if (peer_ask(server, REQUEST_SSH_SERVER, request, SHORT_S, cancel, err) < 0)
		return -1;
	const json_t *facts = message_member(server->reply.json, "server");
	text_copy(pair->ssh_server_version, sizeof(pair->ssh_server_version),
		  message_text(facts, "version"));
	json_t *known = json_object_get(pair->servers, server->name);
	if (!known) {
		known = message_object();
		message_put(pair->servers, server->name, known);
	}
	json_t *binary = json_deep_copy(message_member(server->reply.json, "binary"));
	message_put(known, pair->ssh_terms.service, binary);
	return 0;
}

static bool same_terms(const struct pair_ssh_terms *a, const struct pair_ssh_terms *b)
{
	return a->driver == b->driver && strcmp(a->service, b->service) == 0 &&
	       strcmp(a->cipher, b->cipher) == 0 && strcmp(a->mac, b->mac) == 0;
}

int pair_ssh(struct pair *pair, const struct pair_ssh_terms *terms, const struct cancel *cancel,
	     struct error *err)
{
	enum xfer_side listener = terms->driver == XFER_SOURCE ? XFER_SINK : XFER_SOURCE;
	struct peer *client = &pair->sides[terms->driver].peer;
	struct peer *server = &pair->sides[listener].peer;
	if (pair->ssh_ready && same_terms(&pair->ssh_terms, terms))
		return 0;
	pair->ssh_ready = false;
	pair->ssh_terms = *terms;
	if (start_server(pair, client, server, cancel, err) < 0)
		return error_wrap(err, "private %s", terms->service);
	json_t *request = terms_request(pair, server);
	message_put(request, "server", json_incref(json_object_get(server->reply.json, "server")));
	if (peer_ask(client, REQUEST_SSH_CLIENT, request, SHORT_S, cancel, err) < 0)
		return error_wrap(err, "private %s", terms->service);
	text_copy(pair->ssh_cipher, sizeof(pair->ssh_cipher),
		  message_text(client->reply.json, "cipher"));
	text_copy(pair->ssh_mac, sizeof(pair->ssh_mac), message_text(client->reply.json, "mac"));
	pair->ssh_ready = true;
	return 0;
}
