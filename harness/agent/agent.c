#include "harness/agent/agent.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/agent/agent_state.h"
#include "harness/agent/hostfacts.h"
#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/log.h"
#include "harness/services/probing.h"
#include "transports/catalog.h"

/* A controller that does not take an answer for this long is as good as gone. */
#define REPLY_S 60

static int agent_hello(struct agent *agent, const struct agent_request *request,
		       struct message *reply, struct error *err)
{
	size_t i;
	const json_t *folder;
	agent->side =
		strcmp(message_text(request->json, "side"), "sink") == 0 ? XFER_SINK : XFER_SOURCE;
	json_array_foreach(message_member(request->json, "tools"), i, folder)
		catalog_add_folder(json_string_value(folder));
	agent->greeted = true;
	json_t *facts = message_object();
	request_introduce(reply->json);
	message_put(reply->json, "facts", facts);
	return hostfacts_collect(facts, err);
}

static json_t *describe_probe(const struct probing *asked)
{
	if (asked->error.kind != ERROR_NONE)
		return message_from_error(&asked->error);
	json_t *found = message_object();
	message_put_text(found, "version", asked->probe.version);
	message_put_text(found, "path", asked->probe.path);
	json_t *programs = message_list();
	for (size_t i = 0; i < asked->probe.program_count; i++)
		message_append(programs, agent_describe_program(&asked->probe.programs[i]));
	message_put(found, "programs", programs);
	return found;
}

/* Looks up each transport and asks it whether it works here. */
static int agent_probe(struct agent *agent, const struct agent_request *request,
		       struct message *reply, struct error *err)
{
	size_t i, count = 0;
	const json_t *name;
	const json_t *names = message_member(request->json, "transports");
	json_t *probes = message_object();
	message_put(reply->json, "probes", probes);
	AUTO_FREE struct probing *asked = calloc(json_array_size(names) + 1, sizeof(*asked));
	if (!asked)
		abort();
	json_array_foreach(names, i, name)
	{
		struct probing unknown = { .probe.side = agent->side };
		unknown.transport = catalog_transport(json_string_value(name), &unknown.error);
		if (unknown.transport)
			asked[count++] = unknown;
		else
			message_put(probes, json_string_value(name), describe_probe(&unknown));
	}
	pid_t keep = agent->server_running ? agent->server.keeper.child.pid : -1;
	if (probing_run(asked, count, keep, request->limit.cancel, err) < 0)
		return -1;
	for (i = 0; i < count; i++)
		message_put(probes, asked[i].transport->name, describe_probe(&asked[i]));
	i = json_array_size(names);
	return i == json_object_size(probes) ? 0
					     : error_set(err, ERROR_PEER, 0, "a transport twice");
}

static int agent_bye(struct agent *agent, const struct agent_request *request,
		     struct message *reply, struct error *err)
{
	(void)request;
	(void)reply;
	(void)err;
	agent->leaving = true;
	return 0;
}

/* Cancel is no request of its own. */
static agent_handler *const handlers[REQUESTS] = {
	[REQUEST_HELLO] = agent_hello,
	[REQUEST_WORKSPACE] = agent_workspace,
	[REQUEST_PROBE] = agent_probe,
	[REQUEST_DATASET] = agent_dataset,
	[REQUEST_MANIFEST_READ] = agent_manifest_read,
	[REQUEST_MANIFEST_WRITE] = agent_manifest_write,
	[REQUEST_SHARES] = agent_shares,
	[REQUEST_CACHE] = agent_cache,
	[REQUEST_SOURCE] = agent_source,
	[REQUEST_MEMORY_PROBE] = agent_memory_probe,
	[REQUEST_MEMORY_RESERVE] = agent_memory_reserve,
	[REQUEST_SSH_KEY] = agent_ssh_key,
	[REQUEST_SSH_SERVER] = agent_ssh_server,
	[REQUEST_SSH_CLIENT] = agent_ssh_client,
	[REQUEST_PREPARE] = agent_prepare,
	[REQUEST_RUN] = agent_run,
	[REQUEST_END_RUN] = agent_end_run,
	[REQUEST_VERIFY] = agent_verify,
	[REQUEST_CLEAN] = agent_clean,
	[REQUEST_BYE] = agent_bye,
};

static int dispatch(struct agent *agent, enum request what, const struct message *message,
		    struct message *reply, struct error *err)
{
	const struct agent_request request = {
		.json = message->json,
		.bytes = message->bytes,
		.bytes_count = message->bytes_count,
		.limit = { .deadline_ns =
				   clock_deadline_ns(message_real(message->json, "deadline_s")),
			   .cancel = &agent->cancel },
	};
	if (!agent->greeted && what != REQUEST_HELLO)
		return error_set(err, ERROR_PEER, 0, "the request '%s' came before 'hello'",
				 request_name(what));
	if (handlers[what](agent, &request, reply, err) < 0) {
		log_line(LOG_WARNING, "%s: %s", request_name(what), err->message);
		return -1;
	}
	return 0;
}

static int answer(struct agent *agent, const struct message *message, struct error *err)
{
	AUTO_MESSAGE reply = { .json = message_object() };
	struct error problem = { 0 };
	enum request what = REQUESTS;
	int outcome = request_check_question(message->json, &what, &problem);
	/* A cancel that came too late to stop anything has nothing to say. */
	if (outcome == 0 && what == REQUEST_CANCEL)
		return 0;
	if (outcome < 0 || dispatch(agent, what, message, &reply, &problem) < 0) {
		message_free(&reply);
		reply.json = message_from_error(&problem);
	}
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(REPLY_S) };
	return message_send(agent->output, &reply, &limit, err);
}

static int serve(struct agent *agent, struct error *err)
{
	const struct io_limit patient = { .deadline_ns = CLOCK_NEVER };
	while (!agent->leaving) {
		AUTO_MESSAGE message = { 0 };
		if (agent->half_active)
			half_keep_door(&agent->half, agent->input);
		int got = message_receive(agent->input, &message, &patient, err);
		if (got <= 0)
			return got;
		if (answer(agent, &message, err) < 0)
			return -1;
	}
	return 0;
}

static void agent_close(struct agent *agent)
{
	agent_forget_run(agent);
	agent_forget_shares(agent);
	if (agent->server_running)
		ssh_server_stop(&agent->server);
	ssh_client_free(&agent->client);
	memory_reserve_release(&agent->reserve);
	child_end_strays(NULL, 0);
	manifest_free(&agent->whole);
	source_marks_drop(&agent->marks);
	free(agent->dataset_root);
	workspace_close(&agent->workspace);
}

/* A tool that asks for a password must not find the user's terminal to ask at. */
static void leave_terminal(void)
{
	AUTO_FD terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal >= 0 && ioctl(terminal, TIOCNOTTY) < 0)
		log_line(LOG_WARNING, "the agent keeps its terminal");
}

int agent_serve(int input, int output, const char *id, struct error *err)
{
	struct agent agent = { .input = input,
			       .output = output,
			       .cancel = { .fd = input },
			       .started_ns = clock_now_ns(),
			       .server = { .keeper = SERVICE_NONE },
			       .reserve = MEMORY_RESERVE_NONE };
	signal(SIGPIPE, SIG_IGN);
	leave_terminal();
	if (child_adopt_orphans(err) < 0)
		return -1;
	workspace_sweep();
	if (workspace_open(&agent.workspace, id, err) < 0)
		return -1;
	int outcome = serve(&agent, err);
	agent_close(&agent);
	return outcome;
}
