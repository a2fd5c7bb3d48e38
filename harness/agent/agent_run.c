/* An agent's requests about one run: get its half ready, run it, forget it. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/agent/agent_state.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/log.h"
#include "transports/catalog.h"

static int parse_token(const char *hex, struct token *token, struct error *err)
{
	if (!hex || strlen(hex) != sizeof(token->bytes) * 2)
		return error_set(err, ERROR_PEER, 0, "a token has the wrong length");
	for (size_t i = 0; i < sizeof(token->bytes); i++)
		if (sscanf(hex + 2 * i, "%2hhx", &token->bytes[i]) != 1)
			return error_set(err, ERROR_PEER, 0, "a token is not hexadecimal");
	return 0;
}

static int parse_endpoint(const json_t *object, struct endpoint *endpoint)
{
	text_copy(endpoint->host, sizeof(endpoint->host), message_text(object, "host", ""));
	endpoint->port = (uint16_t)message_whole(object, "port", 0);
	return 0;
}

static char *copy_or_null(const char *string)
{
	return string ? strdup(string) : NULL;
}

/* Workers of one half must not find each other's files. */
static char *worker_folder(const char *run_folder, size_t i, struct error *err)
{
	AUTO_TEXT path = { 0 };
	text_addf(&path, "%s/%zu", run_folder, i);
	if (mkdir(text_string(&path), 0700) < 0) {
		error_system(err, "make folder %s", text_string(&path));
		return NULL;
	}
	return text_take(&path);
}

static int fill_share(const struct agent *agent, const json_t *request, size_t i,
		      struct half_share *share, struct error *err)
{
	const json_t *tokens = json_object_get(request, "tokens");
	const json_t *endpoints = json_object_get(request, "endpoints");
	const json_t *sources = json_object_get(request, "source_roots");
	const json_t *sinks = json_object_get(request, "sink_roots");
	share->files = agent_share(agent, i);
	share->root = strdup(agent->roots[i]);
	share->source_root = copy_or_null(json_string_value(json_array_get(sources, i)));
	share->sink_root = copy_or_null(json_string_value(json_array_get(sinks, i)));
	if (!share->root || !share->source_root || !share->sink_root)
		return error_set(err, ERROR_PEER, 0, "a run without folders");
	parse_endpoint(json_array_get(endpoints, i), &share->endpoint);
	return parse_token(json_string_value(json_array_get(tokens, i)), &share->token, err);
}

static int parse_options(const struct transport *transport, const char *string, void **options,
			 struct error *err)
{
	*options = calloc(1, transport->options_size + 1);
	if (!*options)
		abort();
	if (option_defaults(transport->options, *options, err) < 0)
		return -1;
	return option_set_all(transport->options, *options, string, err);
}

static char *run_folder(struct agent *agent, struct error *err)
{
	AUTO_TEXT path = { 0 };
	text_addf(&path, "%s/run-%u", agent->workspace.scratch, ++agent->runs);
	if (mkdir(text_string(&path), 0700) < 0) {
		error_system(err, "make folder %s", text_string(&path));
		return NULL;
	}
	return text_take(&path);
}

static bool needs_server(const struct transport *transport)
{
	return transport->needs && transport->needs[0];
}

/* What must be known of the run, from the request; the caller frees it through half_close. */
static int fill_plan(struct agent *agent, const json_t *request, struct half_plan *plan,
		     struct error *err)
{
	const struct transport *transport =
		catalog_transport(message_text(request, "transport", ""), err);
	if (!transport)
		return -1;
	plan->transport = transport;
	plan->side = agent->side;
	plan->preserve = (enum preserve)message_whole(request, "preserve", PRESERVE_MODE);
	plan->timeout_s = message_real(request, "timeout_s", 600);
	plan->flush = json_is_true(json_object_get(request, "flush"));
	plan->open_listener = json_is_true(json_object_get(request, "open_listener"));
	plan->bind_host = strdup(message_text(request, "bind_host", "127.0.0.1"));
	plan->peer_host = strdup(message_text(request, "peer_host", "127.0.0.1"));
	parse_endpoint(json_object_get(request, "link"), &plan->link);
	if (parse_options(transport, message_text(request, "options", ""), &plan->options, err) <
		    0 ||
	    parse_token(message_text(request, "token", ""), &plan->token, err) < 0)
		return -1;
	plan->scratch = run_folder(agent, err);
	if (!plan->scratch)
		return -1;
	plan->shares = calloc(agent->instances, sizeof(*plan->shares));
	if (!plan->shares)
		abort();
	plan->instances = agent->instances;
	for (size_t i = 0; i < agent->instances; i++) {
		plan->shares[i].scratch = worker_folder(plan->scratch, i, err);
		if (!plan->shares[i].scratch ||
		    fill_share(agent, request, i, &plan->shares[i], err) < 0)
			return -1;
	}
	return 0;
}

/* A worker at the server's own end sees the server from there. */
static const struct service *own_service(struct agent *agent)
{
	static struct service service;
	service = (struct service){
		.name = agent->server.kind ? agent->server.kind->name : "",
		.host = "",
		.user = agent->server.user,
		.cipher = "",
		.mac = "",
		.scratch = agent->workspace.scratch,
	};
	return &service;
}

static void connect_service(struct agent *agent, struct half_plan *plan)
{
	bool driver = plan->transport->driver == plan->side;
	if (!needs_server(plan->transport))
		return;
	plan->service = driver ? &agent->client.service : own_service(agent);
	if (!driver && agent->server_running)
		plan->keeper = &agent->server.keeper;
}

/* The copies' folders: new and empty for every run. */
static int make_copy_folders(const struct agent *agent, struct error *err)
{
	if (agent->side != XFER_SINK)
		return 0;
	struct stat status;
	if (stat(agent->copies, &status) == 0)
		return error_set(err, ERROR_CONFIG, 0, "the target %s is not empty", agent->copies);
	for (size_t i = 0; i < agent->instances; i++)
		if (folder_make_all(agent->roots[i], err) < 0)
			return -1;
	/* What earlier runs left to be written must not slow this one. */
	AUTO_FD fd = open(agent->copies, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || syncfs(fd) < 0)
		return error_system(err, "sync %s", agent->copies);
	return 0;
}

static void describe_ready(const struct agent *agent, uint16_t link_port, json_t *reply)
{
	json_t *endpoints = json_array();
	for (size_t i = 0; i < agent->half.plan.instances; i++) {
		const struct endpoint *endpoint = &agent->half.workers[i].endpoint;
		json_array_append_new(endpoints, json_pack("{s:s,s:i}", "host", endpoint->host,
							   "port", endpoint->port));
	}
	json_object_set_new(reply, "endpoints", endpoints);
	AUTO_TEXT command = { 0 };
	if (agent->half.plan.transport->driver == agent->side)
		half_command(&agent->half, &command);
	if (command.length)
		json_object_set_new(reply, "command", json_string(command.data));
	json_object_set_new(
		reply, "link",
		json_pack("{s:s,s:i}", "host", agent->half.plan.bind_host, "port", link_port));
}

int agent_prepare(struct agent *agent, const struct agent_request *request, struct message *reply,
		  struct error *err)
{
	struct half_plan plan = { 0 };
	uint16_t link_port = 0;
	int fds[AGENT_FDS];
	if (agent->instances == 0)
		return error_set(err, ERROR_PEER, 0, "a run before its shares");
	agent_forget_run(agent);
	plan.keep_pid = agent->server_running ? agent->server.keeper.child.pid : -1;
	if (fill_plan(agent, request->json, &plan, err) < 0) {
		half_plan_free(&plan); /* its folder goes with the workspace */
		return -1;
	}
	agent->half_active = true;
	connect_service(agent, &plan);
	agent_own_fds(agent, fds);
	plan.close_fds = fds;
	if (make_copy_folders(agent, err) < 0 ||
	    half_prepare(&agent->half, &plan, &link_port, &request->limit, err) < 0) {
		agent_forget_run(agent);
		return -1;
	}
	agent->half.plan.close_fds = NULL;
	describe_ready(agent, link_port, reply->json);
	return 0;
}

static void set_real(json_t *object, const char *key, double value)
{
	if (!isnan(value))
		json_object_set_new(object, key, json_real(value));
}

static void describe_result(const struct half_result *result, json_t *reply)
{
	json_object_set_new(reply, "start_utc", json_string(result->start_utc));
	set_real(reply, "total_s", result->total_s);
	set_real(reply, "setup_s", result->setup_s);
	set_real(reply, "host_pct", result->host_pct);
	if (result->usage_known) {
		set_real(reply, "user_s", result->usage.user_s);
		set_real(reply, "system_s", result->usage.system_s);
		json_object_set_new(reply, "voluntary", json_integer(result->usage.voluntary));
		json_object_set_new(reply, "involuntary", json_integer(result->usage.involuntary));
		json_object_set_new(reply, "minor_faults",
				    json_integer(result->usage.minor_faults));
		json_object_set_new(reply, "major_faults",
				    json_integer(result->usage.major_faults));
		json_object_set_new(reply, "maxrss_bytes",
				    json_integer(result->usage.maxrss_bytes));
	}
	json_object_set_new(reply, "counted_bytes",
			    json_integer((json_int_t)result->counted_bytes));
	if (result->io_calls > 0)
		json_object_set_new(reply, "io_calls", json_integer((json_int_t)result->io_calls));
	json_object_set_new(reply, "streams", json_integer(result->streams));
	json_object_set_new(reply, "cipher", json_string(result->cipher));
	json_object_set_new(reply, "mac", json_string(result->mac));
	if (result->error.kind == ERROR_NONE)
		return;
	json_t *failure = message_from_error(&result->error);
	json_object_set(reply, "failure", json_object_get(failure, "error"));
	json_object_set_new(reply, "failure_ns", json_integer(result->error_ns));
	json_decref(failure);
}

/* The server's own words are often the only explanation: they go to the agent's log. */
static void log_server_tail(const struct agent *agent)
{
	AUTO_TEXT tail = { 0 };
	if (!agent->server_running)
		return;
	ssh_server_log_tail(&agent->server, &tail);
	for (char *save = NULL, *line = strtok_r(tail.data, "\r\n", &save); line;
	     line = strtok_r(NULL, "\r\n", &save))
		log_line(LOG_WARNING, "server: %s", line);
}

int agent_run(struct agent *agent, const struct agent_request *request, struct message *reply,
	      struct error *err)
{
	struct half_result result;
	if (!agent->half_active)
		return error_set(err, ERROR_PEER, 0, "a run that was not prepared");
	half_run(&agent->half, request->limit.cancel, &result);
	describe_result(&result, reply->json);
	if (result.error.kind != ERROR_NONE) {
		log_line(LOG_WARNING, "run: %s", result.error.message);
		log_server_tail(agent);
	}
	return 0;
}

int agent_end_run(struct agent *agent, const struct agent_request *request, struct message *reply,
		  struct error *err)
{
	(void)request;
	(void)reply;
	(void)err;
	agent_forget_run(agent);
	return 0;
}
