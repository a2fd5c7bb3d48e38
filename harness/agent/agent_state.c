#include "harness/agent/agent_state.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/log.h"

const struct manifest *agent_share(const struct agent *agent, size_t i)
{
	return agent->shares ? &agent->shares[i] : &agent->whole;
}

void agent_forget_shares(struct agent *agent)
{
	for (size_t i = 0; i < agent->instances; i++) {
		if (agent->shares)
			manifest_free(&agent->shares[i]);
		free(agent->roots[i]);
	}
	free(agent->shares);
	free(agent->roots);
	free(agent->copies);
	source_marks_drop(&agent->share_marks);
	agent->shares = NULL;
	agent->roots = NULL;
	agent->copies = NULL;
	agent->instances = 0;
}

void agent_forget_run(struct agent *agent)
{
	struct error err = { 0 };
	if (!agent->half_active)
		return;
	AUTO_FREE char *scratch =
		agent->half.plan.scratch ? strdup(agent->half.plan.scratch) : NULL;
	half_close(&agent->half);
	agent->half_active = false;
	if (scratch && folder_remove(scratch, &err) < 0)
		log_line(LOG_WARNING, "%s", err.message);
}

void agent_own_fds(const struct agent *agent, int fds[AGENT_FDS])
{
	size_t count = 0;
	fds[count++] = agent->input;
	if (agent->output != agent->input)
		fds[count++] = agent->output;
	if (agent->workspace.lock_fd >= 0)
		fds[count++] = agent->workspace.lock_fd;
	if (agent->workspace.journal_fd >= 0)
		fds[count++] = agent->workspace.journal_fd;
	if (agent->server_running)
		fds[count++] = agent->server.keeper.fd;
	fds[count] = -1;
}

json_t *agent_describe_program(const struct probe_program *program)
{
	json_t *told = message_object();
	message_put_text(told, "name", program->name);
	message_put_text(told, "path", program->path);
	message_put_text(told, "file", program->file);
	message_put_text(told, "version", program->version);
	message_put_text(told, "sha256", program->sha256);
	return told;
}
