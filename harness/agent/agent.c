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
#include "transports/catalog.h"

/* A request without a deadline of its own. */
#define REQUEST_DEFAULT_S 60
/* A controller that does not take an answer for this long is as good as gone. */
#define REPLY_S 60

static int agent_hello(struct agent *agent, const struct agent_request *request,
		       struct message *reply, struct error *err)
{
	agent->side = strcmp(message_text(request->json, "side", "source"), "sink") == 0
			      ? XFER_SINK
			      : XFER_SOURCE;
	const json_t *folders = json_object_get(request->json, "tools");
	size_t i;
	const json_t *folder;
	json_array_foreach(folders, i, folder) catalog_add_folder(json_string_value(folder));
	return hostfacts_collect(reply->json, err);
}

/* Looks up each transport and asks it whether it works here. */
static int agent_probe(struct agent *agent, const struct agent_request *request,
		       struct message *reply, struct error *err)
{
	(void)agent;
	size_t i;
	const json_t *name;
	json_t *probes = json_object();
	json_object_set_new(reply->json, "probes", probes);
	json_array_foreach(json_object_get(request->json, "transports"), i, name)
	{
		struct probe probe = { 0 };
		struct error reason = { 0 };
		const struct transport *transport =
			catalog_transport(json_string_value(name), &reason);
		if (!transport || transport->probe(transport, &probe, &reason) < 0)
			json_object_set_new(probes, json_string_value(name),
					    message_from_error(&reason));
		else
			json_object_set_new(probes, json_string_value(name),
					    json_pack("{s:s,s:s}", "version", probe.version, "path",
						      probe.path));
	}
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

static const struct {
	const char *name;
	agent_handler *handler;
} handlers[] = {
	{ "hello", agent_hello },
	{ "workspace", agent_workspace },
	{ "probe", agent_probe },
	{ "dataset", agent_dataset },
	{ "manifest-read", agent_manifest_read },
	{ "manifest-write", agent_manifest_write },
	{ "shares", agent_shares },
	{ "cache", agent_cache },
	{ "ssh-key", agent_ssh_key },
	{ "ssh-server", agent_ssh_server },
	{ "ssh-client", agent_ssh_client },
	{ "prepare", agent_prepare },
	{ "run", agent_run },
	{ "end-run", agent_end_run },
	{ "verify", agent_verify },
	{ "clean", agent_clean },
	{ "bye", agent_bye },
};

static int dispatch(struct agent *agent, const struct message *message, struct message *reply,
		    struct error *err)
{
	const char *what = message_text(message->json, "do", "");
	struct agent_request request = {
		.json = message->json,
		.bytes = message->bytes,
		.bytes_count = message->bytes_count,
		.limit = { .deadline_ns = clock_deadline_ns(
				   message_real(message->json, "deadline_s", REQUEST_DEFAULT_S)),
			   .cancel = &agent->cancel },
	};
	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++)
		if (strcmp(handlers[i].name, what) == 0)
			return handlers[i].handler(agent, &request, reply, err);
	return error_set(err, ERROR_PEER, 0, "unknown request '%s'", what);
}

static int answer(struct agent *agent, const struct message *message, struct error *err)
{
	AUTO_MESSAGE reply = { .json = json_object() };
	struct error problem = { 0 };
	if (dispatch(agent, message, &reply, &problem) < 0) {
		log_line(LOG_WARNING, "%s: %s", message_text(message->json, "do", "?"),
			 problem.message);
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
		int got = message_receive(agent->input, &message, &patient, err);
		if (got <= 0)
			return got;
		/* A cancel that came too late to stop anything has nothing to say. */
		if (strcmp(message_text(message.json, "do", ""), "cancel") == 0)
			continue;
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
	child_end_strays(NULL, 0);
	manifest_free(&agent->whole);
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
			       .server = { .keeper = SERVICE_NONE } };
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
