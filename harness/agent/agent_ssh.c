/* An agent's requests about the private OpenSSH server: its key, the server, the client's side. */
#include <stdlib.h>

#include "harness/agent/agent_state.h"
#include "harness/base/cleanup.h"
#include "harness/services/digest.h"

int agent_ssh_key(struct agent *agent, const struct agent_request *request, struct message *reply,
		  struct error *err)
{
	AUTO_FREE char *key = NULL;
	if (ssh_client_key(agent->workspace.scratch, &key, &request->limit, err) < 0)
		return -1;
	message_put_text(reply->json, "public_key", key);
	return 0;
}

static const struct ssh_kind *find_kind(const json_t *request, struct error *err)
{
	const char *name = message_text(request, "service");
	const struct ssh_kind *kind = ssh_kind_find(name);
	if (!kind)
		error_set(err, ERROR_CONFIG, 0, "there is no server named '%s'", name);
	return kind;
}

int agent_ssh_server(struct agent *agent, const struct agent_request *request,
		     struct message *reply, struct error *err)
{
	int fds[AGENT_FDS];
	const struct ssh_kind *kind = find_kind(request->json, err);
	if (!kind)
		return -1;
	if (agent->server_running)
		ssh_server_stop(&agent->server);
	agent->server_running = false;
	agent_own_fds(agent, fds);
	AUTO_FREE char *program = child_own_program(err);
	if (!program)
		return -1;
	const struct ssh_server_spec spec = {
		.kind = kind,
		.host = message_text(request->json, "host"),
		.authorized_key = message_text(request->json, "public_key"),
		.cipher = message_text(request->json, "cipher"),
		.mac = message_text(request->json, "mac"),
		.scratch = agent->workspace.scratch,
		.id = agent->workspace.id,
		.linefill = program,
		.close_fds = fds,
	};
	agent->server_running = true;
	const char *folder = ssh_server_needs_folder(kind);
	if ((folder && workspace_hold_folder(&agent->workspace, folder, err) < 0) ||
	    ssh_server_start(&agent->server, &spec, &request->limit, err) < 0) {
		ssh_server_stop(&agent->server);
		agent->server_running = false;
		return -1;
	}
	json_t *server = message_object();
	message_put_whole(server, "port", agent->server.keeper.port);
	message_put_text(server, "user", agent->server.user);
	message_put_text(server, "host_key", agent->server.host_key);
	message_put_text(server, "version", agent->server.version);
	message_put_text(server, "program", program);
	message_put_text(server, "scratch", agent->workspace.scratch);
	message_put(reply->json, "server", server);
	struct probe_program binary = { 0 };
	text_copy(binary.name, sizeof(binary.name), kind->name);
	text_copy(binary.path, sizeof(binary.path), agent->server.program);
	text_copy(binary.version, sizeof(binary.version), agent->server.version);
	digest_program(&binary);
	message_put(reply->json, "binary", agent_describe_program(&binary));
	return 0;
}

int agent_ssh_client(struct agent *agent, const struct agent_request *request,
		     struct message *reply, struct error *err)
{
	const struct ssh_kind *kind = find_kind(request->json, err);
	if (!kind)
		return -1;
	const json_t *server = message_member(request->json, "server");
	const struct ssh_server_facts facts = {
		.kind = kind,
		.host = message_text(request->json, "host"),
		.port = (uint16_t)message_whole(server, "port"),
		.user = message_text(server, "user"),
		.host_key = message_text(server, "host_key"),
		.cipher = message_text(request->json, "cipher"),
		.mac = message_text(request->json, "mac"),
		.program = message_text(server, "program"),
		.scratch = message_text(server, "scratch"),
	};
	if (ssh_client_setup(&agent->client, agent->workspace.scratch, &facts, err) < 0 ||
	    ssh_client_preflight(&agent->client, &request->limit, err) < 0)
		return -1;
	message_put_text(reply->json, "cipher", agent->client.negotiated_cipher);
	message_put_text(reply->json, "mac", agent->client.negotiated_mac);
	return 0;
}
