/* An agent's requests about memory: how fast it is, and what is held of it between runs. */
#include "harness/agent/agent_state.h"
#include "harness/agent/job.h"
#include "harness/agent/memory_probe.h"
#include "harness/base/clock.h"

/* As many windows of memory for the copies that are small: they find fault with little. */
#define WINDOWS_BRIEF 2

int agent_memory_probe(struct agent *agent, const struct agent_request *request,
		       struct message *reply, struct error *err)
{
	bool thorough = message_flag(request->json, "thorough");
	struct memory_probe probe;
	const struct memory_probe_order order = {
		.root = "",
		.windows = thorough ? MEMORY_PROBE_WINDOWS_MAX : WINDOWS_BRIEF,
		/* From the start on: what was prepared meanwhile was no waste of time. */
		.wait_until_ns = thorough ? agent->started_ns + (int64_t)(MEMORY_PROBE_IDLE_S *
									  (double)NS_PER_S)
					  : 0,
	};
	const struct job job = { .name = "probing memory",
				 .function = memory_probe_job,
				 .argument = &order,
				 .result_size = sizeof(probe) };
	if (job_run(&job, &probe, &request->limit, err) < 0)
		return -1;
	message_put_text(reply->json, "balloon", probe.balloon.kind);
	message_put_flag(reply->json, "reporting", probe.balloon.reporting);
	message_put_flag(reply->json, "needs_reserve", memory_probe_needs_reserve(&probe));
	message_put_real(reply->json, "first_bytes_per_s", probe.first_bps);
	message_put_real(reply->json, "second_bytes_per_s", probe.second_bps);
	return 0;
}

int agent_take_reserve(struct agent *agent, const struct io_limit *limit, struct error *err)
{
	return memory_reserve_take(&agent->reserve, "", memory_reserve_need(&agent->whole), limit,
				   err);
}

int agent_memory_reserve(struct agent *agent, const struct agent_request *request,
			 struct message *reply, struct error *err)
{
	(void)reply;
	return agent_take_reserve(agent, &request->limit, err);
}
