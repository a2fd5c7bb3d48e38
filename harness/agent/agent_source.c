/* An agent's looks at its source: the dataset, and the shares of it that workers read. */
#include <string.h>

#include "harness/agent/agent_state.h"
#include "harness/agent/job.h"

static int look_at(const struct source_tree *tree, const struct agent_look *look,
		   const struct io_limit *limit, struct error *err)
{
	return look->take ? source_take(tree, limit, err) : source_look(tree, limit, err);
}

static int look_at_each(const struct agent_look *look, const struct io_limit *limit,
			struct error *err)
{
	const struct agent *agent = look->agent;
	struct source_tree tree = {
		.wanted = &agent->whole,
		.root = agent->dataset_root,
		.marks = agent->marks.marks,
		.preserve = look->preserve,
	};
	if (look->whole && look_at(&tree, look, limit, err) < 0)
		return -1;
	tree.marks = agent->share_marks.marks;
	for (size_t i = 0; look->shares && agent->shares && i < agent->instances; i++) {
		tree.wanted = &agent->shares[i];
		tree.root = agent->roots[i];
		if (look_at(&tree, look, limit, err) < 0)
			return -1;
		tree.marks += tree.wanted->count;
	}
	return 0;
}

int agent_look(const struct agent_look *look, struct agent_source_change *change,
	       const struct io_limit *limit, struct error *err)
{
	struct error problem = { 0 };
	if (look_at_each(look, limit, &problem) == 0)
		return 0;
	if (problem.kind == ERROR_INTEGRITY || problem.kind == ERROR_SYSTEM) {
		text_copy(change->what, sizeof(change->what), problem.message);
		return 0;
	}
	if (err)
		*err = problem;
	return -1;
}

static int look_in_job(const void *argument, void *result, const struct io_limit *limit,
		       struct error *err)
{
	return agent_look(argument, result, limit, err);
}

/* A job that was stopped leaves marks of files that it has not read. */
static void forget_marks(const struct agent *agent)
{
	source_marks_forget(&agent->marks);
	source_marks_forget(&agent->share_marks);
}

int agent_look_apart(const struct agent_look *look, struct agent_source_change *change,
		     const struct io_limit *limit, struct error *err)
{
	const struct job job = { .name = "a look at the source",
				 .function = look_in_job,
				 .argument = look,
				 .result_size = sizeof(*change) };
	int outcome = job_run(&job, change, limit, err);
	if (outcome < 0)
		forget_marks(look->agent);
	return outcome;
}

void agent_tell_change(const struct agent_source_change *change, json_t *reply)
{
	if (change->what[0])
		message_put_text(reply, "changed", change->what);
}

int agent_source(struct agent *agent, const struct agent_request *request, struct message *reply,
		 struct error *err)
{
	struct agent_source_change change = { 0 };
	const struct agent_look look = {
		.agent = agent,
		.whole = true,
		.shares = true,
		.preserve = agent_preserve(request->json),
	};
	if (!agent->dataset_root || !agent->marks.marks)
		return error_set(err, ERROR_PEER, 0, "there is no dataset at this end");
	if (message_flag(request->json, "contents"))
		forget_marks(agent);
	if (agent_look_apart(&look, &change, &request->limit, err) < 0)
		return -1;
	agent_tell_change(&change, reply->json);
	return 0;
}
