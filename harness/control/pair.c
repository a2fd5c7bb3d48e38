#include "harness/control/pair.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"

#define SHORT_S 60.0
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
	}
	free(pair->log_folder);
	pair->log_folder = NULL;
}

/* ---- an agent with its folders ---- */

static int say_hello(struct pair *pair, struct pair_side *side, const struct cancel *cancel,
		     struct error *err)
{
	json_t *folders = json_array();
	for (size_t i = 0; pair->tool_folders && pair->tool_folders[i]; i++)
		json_array_append_new(folders, json_string(pair->tool_folders[i]));
	json_t *request = json_pack("{s:s,s:o}", "side", side->peer.name, "tools", folders);
	if (peer_ask(&side->peer, "hello", request, SHORT_S, cancel, err) < 0)
		return -1;
	side->facts = json_incref(side->peer.reply.json);
	return 0;
}

static int make_folders(const struct study *study, struct pair_side *side,
			const struct cancel *cancel, struct error *err)
{
	const char *location = study->place.location;
	if (side->peer.side == XFER_SINK && study->place.target[0])
		location = study->place.target;
	json_t *request = json_pack("{s:s}", "location", location);
	if (peer_ask(&side->peer, "workspace", request, SHORT_S, cancel, err) < 0)
		return -1;
	side->data = strdup(message_text(side->peer.reply.json, "data", ""));
	side->ram = json_is_true(json_object_get(side->peer.reply.json, "ram"));
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
	peer_close(&side->peer);
	if (peer_launch(&side->peer, which, log, err) < 0 || say_hello(pair, side, cancel, err) < 0)
		return -1;
	return make_folders(pair->study, side, cancel, err);
}

/* ---- the data ---- */

static int make_dataset(struct pair *pair, const struct cancel *cancel, struct error *err)
{
	const struct study *study = pair->study;
	struct pair_side *source = &pair->sides[XFER_SOURCE];
	AUTO_TEXT options = { 0 };
	option_format(study->dataset->options, study->dataset_options, false, &options);
	json_t *request =
		json_pack("{s:s,s:s,s:I}", "recipe", study->dataset->name, "options",
			  text_string(&options), "seed", (json_int_t)study->settings.seed);
	if (!request)
		return error_set(err, ERROR_CONFIG, 0, "the dataset's options are not UTF-8");
	const double limit_s = pair_work_s(study->dataset_estimate.files,
					   study->dataset_estimate.bytes, DATASET_PASSES);
	if (peer_ask(&source->peer, "dataset", request, limit_s, cancel, err) < 0)
		return error_wrap(err, "dataset");
	const json_t *reply = source->peer.reply.json;
	struct manifest *totals = &pair->dataset.totals;
	*totals = (struct manifest){
		.count = (size_t)message_whole(reply, "entries", 0),
		.files = (uint64_t)message_whole(reply, "files", 0),
		.folders = (uint64_t)message_whole(reply, "folders", 0),
		.links = (uint64_t)message_whole(reply, "links", 0),
		.bytes = (uint64_t)message_whole(reply, "bytes", 0),
		.empty_folders = json_is_true(json_object_get(reply, "empty_folders")),
		.odd_names = json_is_true(json_object_get(reply, "odd_names")),
	};
	text_copy(pair->dataset.digest, sizeof(pair->dataset.digest),
		  message_text(reply, "digest", ""));
	pair->dataset.in_place = json_is_true(json_object_get(reply, "in_place"));
	pair->dataset.users_own = json_is_true(json_object_get(reply, "users_own"));
	pair->dataset.manifest_bytes = (uint64_t)message_whole(reply, "manifest_bytes", 0);
	source->ready = true;
	return 0;
}

static int carry_manifest(struct pair *pair, const struct cancel *cancel, struct error *err)
{
	struct pair_side *source = &pair->sides[XFER_SOURCE];
	struct pair_side *sink = &pair->sides[XFER_SINK];
	struct peer *peers[] = { &sink->peer };
	uint64_t offset = 0;
	do {
		const struct io_limit limit = peer_limit(SHORT_S, cancel);
		json_t *request = json_pack("{s:I}", "offset", (json_int_t)offset);
		if (peer_ask(&source->peer, "manifest-read", request, SHORT_S, cancel, err) < 0)
			return -1;
		struct message *piece = &source->peer.reply;
		bool last = offset + piece->bytes_count >= pair->dataset.manifest_bytes;
		if (piece->bytes_count == 0 && !last)
			return error_set(err, ERROR_PEER, 0, "the manifest is shorter than it was");
		request = json_pack("{s:I,s:b,s:f}", "offset", (json_int_t)offset, "last", last,
				    "deadline_s", SHORT_S);
		if (peer_start_bytes(&sink->peer, "manifest-write", request, piece->bytes,
				     piece->bytes_count, err) < 0 ||
		    peer_wait(peers, 1, &limit, err) < 0)
			return -1;
		offset += piece->bytes_count;
	} while (offset < pair->dataset.manifest_bytes);
	if (strcmp(message_text(sink->peer.reply.json, "digest", ""), pair->dataset.digest) != 0)
		return error_set(err, ERROR_PEER, 0, "the manifest changed on its way to the sink");
	sink->ready = true;
	return 0;
}

int pair_ready(struct pair *pair, const struct cancel *cancel, struct error *err)
{
	struct pair_side *source = &pair->sides[XFER_SOURCE];
	struct pair_side *sink = &pair->sides[XFER_SINK];
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

/* The same request to both ends at once. */
static int call_both(struct pair *pair, const char *what, const json_t *request, double seconds,
		     const struct cancel *cancel, struct error *err)
{
	struct peer *peers[] = { &pair->sides[XFER_SOURCE].peer, &pair->sides[XFER_SINK].peer };
	const struct io_limit limit = peer_limit(seconds, cancel);
	for (size_t i = 0; i < ARRAY_SIZE(peers); i++) {
		json_t *copied = json_deep_copy(request);
		json_object_set_new(copied, "deadline_s", json_real(seconds));
		if (peer_start(peers[i], what, copied, err) < 0) {
			/* Leave no request out. */
			struct error ignored;
			if (i > 0 && peer_wait(peers, i, &limit, &ignored) < 0)
				return -1;
			return -1;
		}
	}
	return peer_wait(peers, ARRAY_SIZE(peers), &limit, err);
}

int pair_probe(struct pair *pair, const struct cancel *cancel, json_t *probes[2], struct error *err)
{
	json_t *names = json_object(); /* as a set */
	json_t *list = json_array();
	for (size_t i = 0; i < pair->study->cases_count; i++) {
		const char *name = pair->study->cases[i].transport_name;
		if (json_object_get(names, name))
			continue;
		json_object_set_new(names, name, json_true());
		json_array_append_new(list, json_string(name));
	}
	json_decref(names);
	json_t *request = json_pack("{s:o}", "transports", list);
	int outcome = call_both(pair, "probe", request, 120, cancel, err);
	json_decref(request);
	for (int i = 0; outcome == 0 && i < 2; i++)
		probes[i] = json_incref(json_object_get(pair->sides[i].peer.reply.json, "probes"));
	return outcome;
}

int pair_can_share(const struct pair *pair, uint64_t instances, struct error *err)
{
	if (instances > 1 && pair->dataset.in_place)
		return error_set(
			err, ERROR_UNSUPPORTED, 0,
			"several instances need shares of hard links, which a tree used in "
			"place cannot have: set use = copy");
	return 0;
}

int pair_shares(struct pair *pair, uint64_t instances, const struct cancel *cancel,
		struct error *err)
{
	if (pair->instances == instances)
		return 0;
	if (pair_can_share(pair, instances, err) < 0)
		return -1;
	json_t *request = json_pack("{s:I}", "instances", (json_int_t)instances);
	pair->instances = 0;
	int outcome = call_both(pair, "shares", request, pair_pass_s(pair), cancel, err);
	json_decref(request);
	if (outcome < 0)
		return error_wrap(err, "shares");
	for (int i = 0; i < 2; i++) {
		struct pair_side *side = &pair->sides[i];
		json_decref(side->roots);
		side->roots = json_incref(json_object_get(side->peer.reply.json, "roots"));
	}
	pair->instances = instances;
	return 0;
}

static int start_server(struct pair *pair, struct peer *client, struct peer *server,
			const struct cancel *cancel, struct error *err)
{
	const struct pair_ssh_terms *terms = &pair->ssh_terms;
	if (peer_ask(client, "ssh-key", NULL, SHORT_S, cancel, err) < 0)
		return -1;
	json_t *request = json_pack("{s:s,s:s,s:s,s:s,s:s}", "public_key",
				    message_text(client->reply.json, "public_key", ""), "service",
				    terms->service, "host", pair_host(pair, server->side), "cipher",
				    terms->cipher, "mac", terms->mac);
	if (peer_ask(server, "ssh-server", request, SHORT_S, cancel, err) < 0)
		return -1;
	text_copy(pair->ssh_server_version, sizeof(pair->ssh_server_version),
		  message_text(server->reply.json, "version", ""));
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
	json_t *request = json_deep_copy(server->reply.json);
	json_object_set_new(request, "service", json_string(terms->service));
	json_object_set_new(request, "host", json_string(pair_host(pair, listener)));
	json_object_set_new(request, "cipher", json_string(terms->cipher));
	json_object_set_new(request, "mac", json_string(terms->mac));
	if (peer_ask(client, "ssh-client", request, SHORT_S, cancel, err) < 0)
		return error_wrap(err, "private %s", terms->service);
	text_copy(pair->ssh_cipher, sizeof(pair->ssh_cipher),
		  message_text(client->reply.json, "cipher", ""));
	text_copy(pair->ssh_mac, sizeof(pair->ssh_mac),
		  message_text(client->reply.json, "mac", ""));
	pair->ssh_ready = true;
	return 0;
}
