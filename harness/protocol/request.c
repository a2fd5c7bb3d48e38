#include "harness/protocol/request.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "harness/api/manifest.h"
#include "harness/protocol/check.h"
#include "harness/protocol/message.h"

/* Another number for every change of what travels. */
#define PROTOCOL_NUMBER 4

/* ---- what is carried ---- */

#define NEEDS(key, kind)                           \
	{                                          \
		.name = key, .type = MEMBER_##kind \
	}
#define MAY(key, kind)                                               \
	{                                                            \
		.name = key, .type = MEMBER_##kind, .optional = true \
	}
#define END       \
	{         \
		0 \
	}

static const struct member a_text = { .type = MEMBER_TEXT };

#define TEXTS(key)                                                \
	{                                                         \
		.name = key, .type = MEMBER_LIST, .each = &a_text \
	}
#define OPTIONS(key)                                                \
	{                                                           \
		.name = key, .type = MEMBER_OBJECT, .each = &a_text \
	}
#define OBJECT(key, content)                                           \
	{                                                              \
		.name = key, .type = MEMBER_OBJECT, .members = content \
	}
#define MAY_OBJECT(key, content)                                                         \
	{                                                                                \
		.name = key, .type = MEMBER_OBJECT, .optional = true, .members = content \
	}
#define WORD(key, known)                                         \
	{                                                        \
		.name = key, .type = MEMBER_TEXT, .words = known \
	}

static const char *const sides[] = { "source", "sink", NULL };
static const char *const cache_modes[] = { "warm", "cold", NULL };
static const char *const releases[] = { "never", "before-prepare", "at-go", NULL };

static const struct member nothing[] = { END };

/* Of every question. */
static const struct member common[] = { NEEDS("do", TEXT), NEEDS("deadline_s", REAL), END };

static const struct member error_members[] = {
	NEEDS("kind", TEXT),
	{ .name = "code", .type = MEMBER_WHOLE, .min = INT32_MIN, .max = INT32_MAX },
	NEEDS("message", TEXT),
	END,
};

static const struct member error_answer[] = { OBJECT("error", error_members), END };

static const struct member hello_question[] = {
	NEEDS("protocol", WHOLE), NEEDS("version", TEXT), WORD("side", sides), TEXTS("tools"), END,
};

static const struct member host_facts[] = {
	NEEDS("hostname", TEXT),
	NEEDS("kernel", TEXT),
	NEEDS("os", TEXT),
	NEEDS("cpu_model", TEXT),
	NEEDS("cpus", WHOLE),
	NEEDS("memory_bytes", WHOLE),
	NEEDS("linefill_version", TEXT),
	NEEDS("user_id", WHOLE),
	NEEDS("linefill_path", TEXT),
	NEEDS("linefill_sha256", TEXT),
	END,
};

static const struct member hello_answer[] = {
	NEEDS("protocol", WHOLE),
	NEEDS("version", TEXT),
	OBJECT("facts", host_facts),
	END,
};

static const struct member workspace_question[] = {
	NEEDS("location", TEXT),
	WORD("preserve", preserve_names),
	END,
};

static const struct member workspace_answer[] = {
	NEEDS("data", TEXT),
	NEEDS("scratch", TEXT),
	NEEDS("ram", FLAG),
	NEEDS("free_bytes", WHOLE),
	END,
};

static const struct member probe_question[] = { TEXTS("transports"), END };

static const struct member program_members[] = {
	NEEDS("name", TEXT),    NEEDS("path", TEXT),   NEEDS("file", TEXT),
	NEEDS("version", TEXT), NEEDS("sha256", TEXT), END,
};

static const struct member a_program = { .type = MEMBER_OBJECT, .members = program_members };

/* What was found, or why it is not usable. */
static const struct member probe_members[] = {
	{ .name = "programs", .type = MEMBER_LIST, .each = &a_program, .optional = true },
	MAY("version", TEXT),
	MAY("path", TEXT),
	MAY_OBJECT("error", error_members),
	END,
};

static const struct member a_probe = { .type = MEMBER_OBJECT, .members = probe_members };

static const struct member probe_answer[] = {
	{ .name = "probes", .type = MEMBER_OBJECT, .each = &a_probe },
	END,
};

/* The seed is a text of digits: JSON's whole numbers end before it does. */
static const struct member dataset_question[] = {
	NEEDS("recipe", TEXT),
	OPTIONS("options"),
	NEEDS("seed", TEXT),
	END,
};

static const struct member manifest_members[] = {
	NEEDS("entries", WHOLE),
	NEEDS("files", WHOLE),
	NEEDS("folders", WHOLE),
	NEEDS("links", WHOLE),
	NEEDS("bytes", WHOLE),
	NEEDS("empty_folders", FLAG),
	NEEDS("odd_names", FLAG),
	NEEDS("digest", TEXT),
	NEEDS("manifest_bytes", WHOLE),
	NEEDS("hole_bytes", WHOLE),
	END,
};

/* Here and below, changed: the source is no longer what the manifest says, and in which way. */
static const struct member dataset_answer[] = {
	NEEDS("in_place", FLAG),
	NEEDS("users_own", FLAG),
	OBJECT("manifest", manifest_members),
	MAY("changed", TEXT),
	END,
};

/* The piece itself is the message's bytes. */
static const struct member manifest_read_question[] = { NEEDS("offset", WHOLE), END };

static const struct member manifest_write_question[] = {
	NEEDS("offset", WHOLE),
	NEEDS("last", FLAG),
	END,
};

/* To the last piece. */
static const struct member manifest_write_answer[] = {
	MAY_OBJECT("manifest", manifest_members),
	END,
};

static const struct member shares_question[] = {
	{ .name = "instances", .type = MEMBER_WHOLE, .min = 1, .max = REQUEST_INSTANCES_MAX },
	END,
};

static const struct member shares_answer[] = { TEXTS("roots"), MAY("changed", TEXT), END };

/* look: the source must be what it was. */
static const struct member cache_question[] = {
	WORD("mode", cache_modes),
	NEEDS("look", FLAG),
	WORD("preserve", preserve_names),
	END,
};

/* resident_pct: of a cold one. */
static const struct member cache_answer[] = {
	MAY("resident_pct", REAL),
	MAY("changed", TEXT),
	END,
};

/* contents: read all of it, also what looks untouched. */
static const struct member source_question[] = {
	NEEDS("contents", FLAG),
	WORD("preserve", preserve_names),
	END,
};

static const struct member source_answer[] = { MAY("changed", TEXT), END };

static const struct member memory_probe_question[] = { NEEDS("thorough", FLAG), END };

/* Rates that could not be measured are left out. */
static const struct member memory_probe_answer[] = {
	NEEDS("balloon", TEXT),          NEEDS("reporting", FLAG),
	NEEDS("needs_reserve", FLAG),    MAY("first_bytes_per_s", REAL),
	MAY("second_bytes_per_s", REAL), END,
};

static const struct member ssh_key_answer[] = { NEEDS("public_key", TEXT), END };

static const struct member ssh_server_question[] = {
	NEEDS("public_key", TEXT), NEEDS("service", TEXT), NEEDS("host", TEXT),
	NEEDS("cipher", TEXT),     NEEDS("mac", TEXT),     END,
};

static const struct member ssh_server_members[] = {
	{ .name = "port", .type = MEMBER_WHOLE, .min = 1, .max = UINT16_MAX },
	NEEDS("user", TEXT),
	NEEDS("host_key", TEXT),
	NEEDS("version", TEXT),
	NEEDS("program", TEXT),
	NEEDS("scratch", TEXT),
	END,
};

static const struct member ssh_server_answer[] = {
	OBJECT("server", ssh_server_members),
	OBJECT("binary", program_members),
	END,
};

static const struct member ssh_client_question[] = {
	NEEDS("service", TEXT),
	NEEDS("host", TEXT),
	NEEDS("cipher", TEXT),
	NEEDS("mac", TEXT),
	OBJECT("server", ssh_server_members),
	END,
};

/* What was negotiated. */
static const struct member ssh_client_answer[] = {
	NEEDS("cipher", TEXT),
	NEEDS("mac", TEXT),
	END,
};

static const struct member endpoint_members[] = {
	NEEDS("host", TEXT),
	{ .name = "port", .type = MEMBER_WHOLE, .max = UINT16_MAX },
	END,
};

static const struct member an_endpoint = { .type = MEMBER_OBJECT, .members = endpoint_members };

/* The driving half is told where the listening one waits. */
static const struct member prepare_question[] = {
	NEEDS("transport", TEXT),
	OPTIONS("options"),
	WORD("preserve", preserve_names),
	NEEDS("timeout_s", REAL),
	NEEDS("flush", FLAG),
	NEEDS("open_listener", FLAG),
	NEEDS("bind_host", TEXT),
	NEEDS("peer_host", TEXT),
	NEEDS("token", TEXT),
	WORD("release_memory", releases),
	TEXTS("tokens"),
	TEXTS("source_roots"),
	TEXTS("sink_roots"),
	{ .name = "endpoints", .type = MEMBER_LIST, .optional = true, .each = &an_endpoint },
	MAY_OBJECT("link", endpoint_members),
	END,
};

static const struct member prepare_answer[] = {
	{ .name = "endpoints", .type = MEMBER_LIST, .each = &an_endpoint },
	OBJECT("link", endpoint_members),
	MAY("command", TEXT),
	END,
};

/* What is unknown is left out. */
static const struct member run_answer[] = {
	NEEDS("start_utc", TEXT),
	MAY("total_s", REAL),
	MAY("setup_s", REAL),
	MAY("host_pct", REAL),
	MAY("host_total_s", REAL), /* CPU seconds of all CPUs of the host ... */
	MAY("host_work_s", REAL),  /* ... used by processes and kernel threads ... */
	MAY("host_steal_s", REAL), /* ... and kept back by a hypervisor */
	MAY("agent_s", REAL),      /* CPU seconds of the agent itself */
	MAY("user_s", REAL),
	MAY("system_s", REAL),
	MAY("voluntary", WHOLE),
	MAY("involuntary", WHOLE),
	MAY("minor_faults", WHOLE),
	MAY("major_faults", WHOLE),
	MAY("maxrss_bytes", WHOLE),
	NEEDS("counted_bytes", WHOLE),
	NEEDS("progress_bytes", WHOLE),
	NEEDS("unsent_bytes", WHOLE),
	MAY("io_calls", WHOLE),
	NEEDS("streams", WHOLE),
	NEEDS("cipher", TEXT),
	NEEDS("mac", TEXT),
	MAY("memory_wanted_bytes", WHOLE),
	MAY("memory_held_bytes", WHOLE),
	MAY_OBJECT("failure", error_members),
	{ .name = "failure_ns", .type = MEMBER_WHOLE, .optional = true, .min = INT64_MIN },
	END,
};

static const struct member verify_question[] = { WORD("preserve", preserve_names), END };

/* data_bytes: of them, what is not in holes. */
static const struct member verify_answer[] = {
	NEEDS("bytes", WHOLE),
	NEEDS("data_bytes", WHOLE),
	END,
};

static const struct member clean_question[] = { NEEDS("reserve", FLAG), END };

/* ---- the table ---- */

static const struct {
	const char *name, *doing;
	const struct member *question, *answer;
} requests[REQUESTS] = {
	[REQUEST_HELLO] = { "hello", "starting", hello_question, hello_answer },
	[REQUEST_WORKSPACE] = { "workspace", "making its folders", workspace_question,
				workspace_answer },
	[REQUEST_PROBE] = { "probe", "looking for tools", probe_question, probe_answer },
	[REQUEST_DATASET] = { "dataset", "making the dataset", dataset_question, dataset_answer },
	[REQUEST_MANIFEST_READ] = { "manifest-read", "reading the list of files",
				    manifest_read_question, nothing },
	[REQUEST_MANIFEST_WRITE] = { "manifest-write", "writing the list of files",
				     manifest_write_question, manifest_write_answer },
	[REQUEST_SHARES] = { "shares", "cutting the dataset into shares", shares_question,
			     shares_answer },
	[REQUEST_CACHE] = { "cache", "getting the page cache ready", cache_question, cache_answer },
	[REQUEST_SOURCE] = { "source", "looking at the source again", source_question,
			     source_answer },
	[REQUEST_MEMORY_PROBE] = { "memory-probe", "looking at its memory", memory_probe_question,
				   memory_probe_answer },
	[REQUEST_MEMORY_RESERVE] = { "memory-reserve", "taking memory for the copy", nothing,
				     nothing },
	[REQUEST_SSH_KEY] = { "ssh-key", "making an SSH key", nothing, ssh_key_answer },
	[REQUEST_SSH_SERVER] = { "ssh-server", "starting the private SSH server",
				 ssh_server_question, ssh_server_answer },
	[REQUEST_SSH_CLIENT] = { "ssh-client", "trying the private SSH server", ssh_client_question,
				 ssh_client_answer },
	[REQUEST_PREPARE] = { "prepare", "preparing a run", prepare_question, prepare_answer },
	[REQUEST_RUN] = { "run", "running", nothing, run_answer },
	[REQUEST_END_RUN] = { "end-run", "ending a run", nothing, nothing },
	[REQUEST_VERIFY] = { "verify", "verifying the copy", verify_question, verify_answer },
	[REQUEST_CLEAN] = { "clean", "removing the copy", clean_question, nothing },
	[REQUEST_BYE] = { "bye", "leaving", nothing, nothing },
	[REQUEST_CANCEL] = { "cancel", "stopping", nothing, nothing },
};

const char *request_name(enum request request)
{
	return requests[request].name;
}

const char *request_doing(enum request request)
{
	return requests[request].doing;
}

/* ---- both ends are the same program ---- */

void request_introduce(json_t *hello)
{
	message_put_whole(hello, "protocol", PROTOCOL_NUMBER);
	message_put_text(hello, "version", LINEFILL_VERSION);
}

/* Before anything else is looked at: another program's hello may look otherwise. */
static int check_program(const json_t *hello, struct error *err)
{
	const json_t *protocol = json_object_get(hello, "protocol");
	const char *version = json_string_value(json_object_get(hello, "version"));
	if (!json_is_integer(protocol) || !version ||
	    (json_integer_value(protocol) == PROTOCOL_NUMBER &&
	     strcmp(version, LINEFILL_VERSION) == 0))
		return 0;
	return error_set(err, ERROR_PEER, 0,
			 "the other end is linefill %s (protocol %lld), this one is linefill %s "
			 "(protocol %d): install the same one at both ends",
			 version, (long long)json_integer_value(protocol), LINEFILL_VERSION,
			 PROTOCOL_NUMBER);
}

/* ---- the checks ---- */

void request_finish(json_t *question, enum request request, double deadline_s)
{
	message_put_text(question, "do", requests[request].name);
	message_put_real(question, "deadline_s", deadline_s);
}

int request_check_question(const json_t *question, enum request *request, struct error *err)
{
	const char *name = json_string_value(json_object_get(question, "do"));
	int i = 0;
	while (name && i < REQUESTS && strcmp(requests[i].name, name) != 0)
		i++;
	if (!name)
		return error_set(err, ERROR_PEER, 0, "a request lacks 'do'");
	if (i == REQUESTS)
		return error_set(err, ERROR_PEER, 0, "unknown request '%s'", name);
	*request = (enum request)i;
	if (i == REQUEST_HELLO && check_program(question, err) < 0)
		return -1;
	const struct member *const tables[] = { common, requests[i].question, NULL };
	return check_members(question, tables, err) < 0
		       ? error_wrap(err, "the request '%s'", requests[i].name)
		       : 0;
}

int request_check_answer(enum request request, const json_t *answer, struct error *err)
{
	bool failed = json_object_get(answer, "error") != NULL;
	if (!failed && request == REQUEST_HELLO && check_program(answer, err) < 0)
		return -1;
	const struct member *const tables[] = { failed ? error_answer : requests[request].answer,
						NULL };
	return check_members(answer, tables, err) < 0
		       ? error_wrap(err, "the answer to '%s'", requests[request].name)
		       : 0;
}
