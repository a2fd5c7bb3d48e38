/* An agent's requests about shares: the parts of the dataset that workers take, and where the
 * copies go. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/agent/agent_state.h"
#include "harness/agent/job.h"
#include "harness/agent/share.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"

/* Hard links change the times of what they name: the source is looked at before, and taken as it
 * is after. */
static int stage_shares(const void *argument, void *result, const struct io_limit *limit,
			struct error *err)
{
	const struct agent *agent = argument;
	struct agent_source_change *change = result;
	const struct agent_look before = { .agent = agent, .whole = true };
	const struct agent_look after = {
		.agent = agent, .whole = true, .shares = true, .take = true
	};
	if (agent_look(&before, change, limit, err) < 0)
		return -1;
	for (size_t i = 0; !change->what[0] && i < agent->instances; i++) {
		if (folder_make_all(agent->roots[i], err) < 0 ||
		    share_stage(&agent->shares[i], agent->dataset_root, agent->roots[i], limit,
				err) < 0)
			return -1;
	}
	return change->what[0] ? 0 : agent_look(&after, change, limit, err);
}

static char *numbered(const char *folder, const char *name, size_t number)
{
	AUTO_TEXT path = { 0 };
	text_addf(&path, "%s/%s/%zu", folder, name, number);
	return text_take(&path);
}

/* Where each share lies, or its copy will. */
static void name_roots(struct agent *agent)
{
	AUTO_TEXT cut = { 0 };
	text_addf(&cut, "share-of-%zu", agent->instances);
	for (size_t i = 0; i < agent->instances; i++) {
		if (agent->side == XFER_SINK)
			agent->roots[i] = numbered(agent->workspace.data, "copy", i);
		else if (agent->instances == 1)
			agent->roots[i] = strdup(agent->dataset_root);
		else
			agent->roots[i] = numbered(agent->workspace.data, text_string(&cut), i);
	}
}

static int cut_shares(struct agent *agent, size_t instances, struct error *err)
{
	agent_forget_shares(agent);
	agent->roots = calloc(instances, sizeof(*agent->roots));
	if (!agent->roots)
		abort();
	agent->instances = instances;
	name_roots(agent);
	if (agent->side == XFER_SINK)
		agent->copies = path_join(agent->workspace.data, "copy");
	if (instances == 1)
		return 0;
	agent->shares = calloc(instances, sizeof(*agent->shares));
	if (!agent->shares)
		abort();
	return share_cut(&agent->whole, instances, agent->shares, err);
}

/* Half-made shares must not be taken for whole ones. */
static int remove_shares(const struct agent *agent, struct error *err)
{
	for (size_t i = 0; i < agent->instances; i++)
		if (folder_remove(agent->roots[i], err) < 0)
			return -1;
	return 0;
}

static int stage_apart(const struct agent *agent, struct agent_source_change *change,
		       const struct io_limit *limit, struct error *err)
{
	const struct job job = { .name = "staging shares",
				 .function = stage_shares,
				 .argument = agent,
				 .result_size = sizeof(*change) };
	int outcome = job_run(&job, change, limit, err);
	if (outcome == 0 && !change->what[0])
		return 0;
	return remove_shares(agent, outcome == 0 ? err : NULL) < 0 ? -1 : outcome;
}

/* The folders of the cut exist already if a case before had as many instances. */
static int stage_if_new(struct agent *agent, struct agent_source_change *change,
			const struct io_limit *limit, struct error *err)
{
	struct stat status;
	size_t entries = 0;
	const struct agent_look look = { .agent = agent, .shares = true, .take = true };
	if (agent->side != XFER_SOURCE || agent->instances == 1 || agent->share_marks.marks)
		return 0;
	for (size_t i = 0; i < agent->instances; i++)
		entries += agent->shares[i].count;
	if (source_marks_make(&agent->share_marks, entries, err) < 0)
		return -1;
	int outcome = stat(agent->roots[0], &status) == 0
			      ? agent_look_apart(&look, change, limit, err)
			      : stage_apart(agent, change, limit, err);
	if (outcome < 0 || change->what[0])
		source_marks_drop(&agent->share_marks);
	return outcome;
}

int agent_shares(struct agent *agent, const struct agent_request *request, struct message *reply,
		 struct error *err)
{
	struct agent_source_change change = { 0 };
	size_t instances = (size_t)message_whole(request->json, "instances");
	if (instances != agent->instances && cut_shares(agent, instances, err) < 0) {
		agent_forget_shares(agent);
		return -1;
	}
	if (stage_if_new(agent, &change, &request->limit, err) < 0)
		return -1;
	agent_tell_change(&change, reply->json);
	json_t *roots = message_list();
	for (size_t i = 0; i < agent->instances; i++)
		message_append_text(roots, agent->roots[i]);
	message_put(reply->json, "roots", roots);
	return 0;
}
