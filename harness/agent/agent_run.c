/* An agent's requests about one run: get its half ready, run it, forget it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/agent/agent_state.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/log.h"
#include "harness/protocol/option_object.h"
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

static void read_endpoint(const json_t *object, struct endpoint *endpoint)
{
	text_copy(endpoint->host, sizeof(endpoint->host), message_text(object, "host"));
	endpoint->port = (uint16_t)message_whole(object, "port");
}

static json_t *endpoint_object(const char *host, uint16_t port)
{
	json_t *object = message_object();
	message_put_text(object, "host", host);
	message_put_whole(object, "port", port);
	return object;
}

static char *copy(const char *string)
{
	char *copied = strdup(string);
	if (!copied)
		abort();
	return copied;
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

/* One of each for every worker, and at the driving end what the listening one published. */
static int check_lists(const struct agent *agent, const struct half_plan *plan,
		       const json_t *request, struct error *err)
{
	static const char *const lists[] = { "tokens", "source_roots", "sink_roots", "endpoints" };
	bool drives = plan->transport->driver == plan->side;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		bool wanted = drives || strcmp(lists[i], "endpoints") != 0;
		const json_t *list = json_object_get(request, lists[i]);
		if (wanted && json_array_size(list) != agent->instances)
			return error_set(err, ERROR_PEER, 0,
					 "the request 'prepare': '%s' has %zu items for %zu "
					 "workers",
					 lists[i], json_array_size(list), agent->instances);
	}
	if (drives && !json_object_get(request, "link"))
		return error_set(err, ERROR_PEER, 0, "the request 'prepare': 'link' is missing");
	return 0;
}

static const char *text_at(const json_t *request, const char *key, size_t i)
{
	return json_string_value(json_array_get(message_member(request, key), i));
}

static int fill_share(const struct agent *agent, const json_t *request, size_t i,
		      struct half_share *share, struct error *err)
{
	const json_t *endpoint = json_array_get(json_object_get(request, "endpoints"), i);
	share->files = agent_share(agent, i);
	share->root = copy(agent->roots[i]);
	share->source_root = copy(text_at(request, "source_roots", i));
	share->sink_root = copy(text_at(request, "sink_roots", i));
	if (endpoint)
		read_endpoint(endpoint, &share->endpoint);
	return parse_token(text_at(request, "tokens", i), &share->token, err);
}

static int read_options(const struct transport *transport, const json_t *object, void **options,
			struct error *err)
{
	*options = calloc(1, transport->options_size + 1);
	if (!*options)
		abort();
	if (option_defaults(transport->options, *options, err) < 0)
		return -1;
	return option_object_read(object, transport->options, *options, err);
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

enum preserve agent_preserve(const json_t *request)
{
	const char *word = message_text(request, "preserve");
	int preserve = 0;
	while (preserve_names[preserve] && strcmp(preserve_names[preserve], word) != 0)
		preserve++;
	return (enum preserve)preserve;
}

/* What must be known of the run, from the request; the caller frees it through half_close. */
static int fill_plan(struct agent *agent, const json_t *request, struct half_plan *plan,
		     struct error *err)
{
	const struct transport *transport =
		catalog_transport(message_text(request, "transport"), err);
	if (!transport)
		return -1;
	plan->transport = transport;
	plan->side = agent->side;
	plan->preserve = agent_preserve(request);
	plan->timeout_s = message_real(request, "timeout_s");
	plan->flush = message_flag(request, "flush");
	plan->open_listener = message_flag(request, "open_listener");
	plan->bind_host = copy(message_text(request, "bind_host"));
	plan->peer_host = copy(message_text(request, "peer_host"));
	if (check_lists(agent, plan, request, err) < 0 ||
	    read_options(transport, message_member(request, "options"), &plan->options, err) < 0 ||
	    parse_token(message_text(request, "token"), &plan->token, err) < 0)
		return -1;
	if (json_object_get(request, "link"))
		read_endpoint(message_member(request, "link"), &plan->link);
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
	agent->own_service = (struct service){
		.name = agent->server.kind ? agent->server.kind->name : "",
		.host = "",
		.user = agent->server.user,
		.cipher = "",
		.mac = "",
		.scratch = agent->workspace.scratch,
	};
	return &agent->own_service;
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

/* The source's own mode, as most tools leave it and the others make it; but the tool must get in.
 */
static int set_root_mode(const struct agent *agent, size_t i, struct error *err)
{
	uint32_t mode = agent->whole.root_mode;
	if (mode && chmod(agent->roots[i], (mode & 0777) | 0700) < 0)
		return error_system(err, "chmod %s", agent->roots[i]);
	return 0;
}

/* When the memory that is held for the copy is let go: just before go; before prepare, by a
 * transport whose prepare makes the copy's pages; or not at all, where there is no copy. */
static void plan_memory(struct agent *agent, const json_t *request, struct half_plan *plan)
{
	const char *release = message_text(request, "release_memory");
	if (strcmp(release, "before-prepare") == 0)
		memory_reserve_release(&agent->reserve);
	else if (strcmp(release, "at-go") == 0)
		plan->reserve = &agent->reserve;
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
		if (folder_make_all(agent->roots[i], err) < 0 || set_root_mode(agent, i, err) < 0)
			return -1;
	/* What earlier runs left to be written must not slow this one. */
	AUTO_FD fd = open(agent->copies, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || syncfs(fd) < 0)
		return error_system(err, "sync %s", agent->copies);
	return 0;
}

static void describe_ready(const struct agent *agent, uint16_t link_port, json_t *reply)
{
	json_t *endpoints = message_list();
	for (size_t i = 0; i < agent->half.plan.instances; i++) {
		const struct endpoint *endpoint = &agent->half.workers[i].endpoint;
		message_append(endpoints, endpoint_object(endpoint->host, endpoint->port));
	}
	message_put(reply, "endpoints", endpoints);
	AUTO_TEXT command = { 0 };
	if (agent->half.plan.transport->driver == agent->side)
		half_command(&agent->half, &command);
	if (command.length)
		message_put_text(reply, "command", command.data);
	message_put(reply, "link", endpoint_object(agent->half.plan.bind_host, link_port));
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
	plan.keep_pids[0] = agent->server_running ? agent->server.keeper.child.pid : -1;
	plan.keep_pids[1] = agent->reserve.holder.pid;
	if (fill_plan(agent, request->json, &plan, err) < 0) {
		half_plan_free(&plan); /* its folder goes with the workspace */
		return -1;
	}
	agent->half_active = true;
	connect_service(agent, &plan);
	plan_memory(agent, request->json, &plan);
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

static void describe_result(const struct half_result *result, json_t *reply)
{
	message_put_text(reply, "start_utc", result->start_utc);
	message_put_real(reply, "total_s", result->total_s);
	message_put_real(reply, "setup_s", result->setup_s);
	message_put_real(reply, "host_pct", result->host_pct);
	message_put_real(reply, "host_total_s", result->host.total_s);
	message_put_real(reply, "host_work_s", result->host.work_s);
	message_put_real(reply, "host_steal_s", result->host.steal_s);
	message_put_real(reply, "agent_s", result->host.own_s);
	if (result->usage_known) {
		message_put_real(reply, "user_s", result->usage.user_s);
		message_put_real(reply, "system_s", result->usage.system_s);
		message_put_whole(reply, "voluntary", result->usage.voluntary);
		message_put_whole(reply, "involuntary", result->usage.involuntary);
		message_put_whole(reply, "minor_faults", result->usage.minor_faults);
		message_put_whole(reply, "major_faults", result->usage.major_faults);
		message_put_whole(reply, "maxrss_bytes", result->usage.maxrss_bytes);
	}
	message_put_whole(reply, "counted_bytes", (int64_t)result->counted_bytes);
	message_put_whole(reply, "progress_bytes", (int64_t)result->progress_bytes);
	message_put_whole(reply, "unsent_bytes", (int64_t)result->unsent_bytes);
	if (result->io_calls > 0)
		message_put_whole(reply, "io_calls", (int64_t)result->io_calls);
	message_put_whole(reply, "streams", result->streams);
	message_put_text(reply, "cipher", result->cipher);
	message_put_text(reply, "mac", result->mac);
	if (result->error.kind == ERROR_NONE)
		return;
	json_t *failure = message_from_error(&result->error);
	message_put(reply, "failure", json_incref(json_object_get(failure, "error")));
	message_put_whole(reply, "failure_ns", result->error_ns);
	json_decref(failure);
}

/* What was held for the copy, and what should have been. */
static void describe_memory(const struct memory_reserve *reserve, json_t *reply)
{
	if (reserve->wanted_bytes == 0)
		return;
	message_put_whole(reply, "memory_wanted_bytes", (int64_t)reserve->wanted_bytes);
	message_put_whole(reply, "memory_held_bytes", (int64_t)reserve->held_bytes);
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
	describe_memory(&agent->reserve, reply->json);
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
