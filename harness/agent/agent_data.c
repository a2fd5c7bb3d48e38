/* An agent's requests about data: folders, the dataset, its manifest, caches, verification. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "datasets/registry.h"
#include "harness/agent/agent_state.h"
#include "harness/agent/cache.h"
#include "harness/agent/job.h"
#include "harness/agent/location.h"
#include "harness/agent/verify.h"
#include "harness/api/dataset.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/protocol/option_object.h"

#define MANIFEST_PIECE_BYTES (4u << 20)

int agent_workspace(struct agent *agent, const struct agent_request *request, struct message *reply,
		    struct error *err)
{
	const char *location = message_text(request->json, "location");
	enum preserve preserve = agent_preserve(request->json);
	uint64_t free_bytes = 0;
	if (!agent->workspace.data &&
	    workspace_add_data(&agent->workspace, location, preserve, err) < 0)
		return -1;
	int ram = cache_is_ram(agent->workspace.data, err);
	if (ram < 0 || folder_free_bytes(agent->workspace.data, &free_bytes, err) < 0)
		return -1;
	message_put_text(reply->json, "data", agent->workspace.data);
	message_put_text(reply->json, "scratch", agent->workspace.scratch);
	message_put_flag(reply->json, "ram", ram);
	message_put_whole(reply->json, "free_bytes", (int64_t)free_bytes);
	return 0;
}

/* ---- the dataset, at the source ---- */

struct make_order {
	const struct dataset *dataset;
	const void *options;
	uint64_t seed;
	const char *root, *manifest_path;
	const char *read_root; /* where the runs will read it: root, or the user's own folder */
};

static int make_dataset(const void *argument, void *result, const struct io_limit *limit,
			struct error *err)
{
	const struct make_order *order = argument;
	struct manifest manifest = { 0 };
	struct dataset_job job = {
		.options = order->options,
		.seed = order->seed,
		.root = order->root,
		.manifest = &manifest,
		.cancel = limit->cancel,
		.deadline_ns = limit->deadline_ns,
	};
	(void)result;
	int outcome = order->dataset->make(&job, err);
	if (outcome == 0)
		outcome = manifest_save(&manifest, order->manifest_path, err);
	if (outcome == 0)
		outcome = cache_settle(order->read_root, &manifest, limit, err);
	manifest_free(&manifest);
	return outcome;
}

static json_t *describe_manifest(const struct manifest *manifest, off_t file_bytes)
{
	char digest[MANIFEST_DIGEST_SIZE];
	json_t *object = message_object();
	manifest_digest_text(manifest, digest);
	message_put_whole(object, "files", (int64_t)manifest->files);
	message_put_whole(object, "folders", (int64_t)manifest->folders);
	message_put_whole(object, "links", (int64_t)manifest->links);
	message_put_whole(object, "bytes", (int64_t)manifest->bytes);
	message_put_whole(object, "entries", (int64_t)manifest->count);
	message_put_whole(object, "hole_bytes", (int64_t)manifest->hole_bytes);
	message_put_flag(object, "empty_folders", manifest->empty_folders);
	message_put_flag(object, "odd_names", manifest->odd_names);
	message_put_text(object, "digest", digest);
	message_put_whole(object, "manifest_bytes", file_bytes);
	return object;
}

static int load_manifest(struct agent *agent, const char *path, json_t *reply, struct error *err)
{
	struct stat status;
	manifest_free(&agent->whole);
	if (manifest_load(&agent->whole, path, err) < 0)
		return -1;
	if (stat(path, &status) < 0)
		return error_system(err, "stat %s", path);
	message_put(reply, "manifest", describe_manifest(&agent->whole, status.st_size));
	return 0;
}

static int parse_dataset_options(const struct dataset *dataset, const json_t *request,
				 void **options, struct error *err)
{
	*options = calloc(1, dataset->options_size + 1);
	if (!*options)
		abort();
	if (option_defaults(dataset->options, *options, err) < 0)
		return -1;
	return option_object_read(message_member(request, "options"), dataset->options, *options,
				  err);
}

/* How the files look now that they are known. */
static int mark_source(struct agent *agent, json_t *reply, const struct io_limit *limit,
		       struct error *err)
{
	struct agent_source_change change = { 0 };
	const struct agent_look look = { .agent = agent, .whole = true, .take = true };
	if (source_marks_make(&agent->marks, agent->whole.count, err) < 0 ||
	    agent_look_apart(&look, &change, limit, err) < 0)
		return -1;
	agent_tell_change(&change, reply);
	return 0;
}

int agent_dataset(struct agent *agent, const struct agent_request *request, struct message *reply,
		  struct error *err)
{
	const char *recipe = message_text(request->json, "recipe");
	uint64_t seed = 0;
	const struct dataset *dataset = dataset_find(recipe);
	if (!dataset)
		return error_set(err, ERROR_CONFIG, 0, "unknown dataset '%s'", recipe);
	AUTO_FREE void *options = NULL;
	if (!text_to_u64(message_text(request->json, "seed"), &seed))
		return error_set(err, ERROR_PEER, 0, "the dataset's seed is no whole number");
	if (parse_dataset_options(dataset, request->json, &options, err) < 0)
		return -1;
	AUTO_FREE char *manifest_path = path_join(agent->workspace.scratch, "dataset.manifest");
	AUTO_FREE char *root = path_join(agent->workspace.data, "dataset");
	const char *in_place = dataset->in_place ? dataset->in_place(options) : NULL;
	if (folder_remove(root, err) < 0)
		return -1;
	if (mkdir(root, 0700) < 0)
		return error_system(err, "make folder %s", root);
	const struct make_order order = {
		.dataset = dataset,
		.options = options,
		.seed = seed,
		.root = root,
		.manifest_path = manifest_path,
		.read_root = in_place ? in_place : root,
	};
	const struct job job = { .name = recipe, .function = make_dataset, .argument = &order };
	char nothing;
	if (job_run(&job, &nothing, &request->limit, err) < 0)
		return -1;
	agent_forget_shares(agent);
	free(agent->dataset_root);
	agent->dataset_root = in_place ? strdup(in_place) : TAKE_POINTER(root);
	message_put_flag(reply->json, "in_place", in_place != NULL);
	message_put_flag(reply->json, "users_own", dataset->users_own);
	if (load_manifest(agent, manifest_path, reply->json, err) < 0)
		return -1;
	return mark_source(agent, reply->json, &request->limit, err);
}

/* ---- the manifest's way to the sink, in pieces ---- */

int agent_manifest_read(struct agent *agent, const struct agent_request *request,
			struct message *reply, struct error *err)
{
	AUTO_FREE char *path = path_join(agent->workspace.scratch, "dataset.manifest");
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_system(err, "open %s", path);
	reply->bytes = malloc(MANIFEST_PIECE_BYTES);
	if (!reply->bytes)
		abort();
	ssize_t n = pread(fd, reply->bytes, MANIFEST_PIECE_BYTES,
			  (off_t)message_whole(request->json, "offset"));
	if (n < 0)
		return error_system(err, "read %s", path);
	reply->bytes_count = (size_t)n;
	return 0;
}

int agent_manifest_write(struct agent *agent, const struct agent_request *request,
			 struct message *reply, struct error *err)
{
	AUTO_FREE char *path = path_join(agent->workspace.scratch, "dataset.manifest");
	off_t offset = (off_t)message_whole(request->json, "offset");
	AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || (offset == 0 && ftruncate(fd, 0) < 0) || lseek(fd, offset, SEEK_SET) < 0)
		return error_system(err, "open %s", path);
	if (io_write_full(fd, request->bytes, request->bytes_count, &request->limit, err) < 0)
		return -1;
	if (!message_flag(request->json, "last"))
		return 0;
	agent_forget_shares(agent);
	if (load_manifest(agent, path, reply->json, err) < 0)
		return -1;
	return location_fits(agent->workspace.data, agent->workspace.location, &agent->whole, err);
}

/* ---- before a run: the page cache ---- */

struct cache_order {
	const struct agent *agent;
	enum preserve preserve;
	bool drop;
	bool look; /* the run copies the dataset, which must be what it was */
};

struct cache_result {
	double resident_pct;
	struct agent_source_change change;
};

static int treat_cache(const void *argument, void *result, const struct io_limit *limit,
		       struct error *err)
{
	const struct cache_order *order = argument;
	const struct agent *agent = order->agent;
	struct cache_result *treated = result;
	struct error problem = { 0 };
	const struct agent_look look = {
		.agent = agent, .whole = true, .shares = true, .preserve = order->preserve
	};
	if (order->look && agent_look(&look, &treated->change, limit, err) < 0)
		return -1;
	if (treated->change.what[0])
		return 0;
	int outcome = order->drop ? cache_drop(agent->dataset_root, &agent->whole,
					       &treated->resident_pct, limit, &problem)
				  : cache_warm(agent->dataset_root, &agent->whole, limit, &problem);
	if (outcome == 0)
		return 0;
	*err = problem;
	if (problem.kind != ERROR_SYSTEM)
		return -1;
	error_wrap(err, "the source cannot be read");
	text_copy(treated->change.what, sizeof(treated->change.what), err->message);
	return 0;
}

int agent_cache(struct agent *agent, const struct agent_request *request, struct message *reply,
		struct error *err)
{
	struct cache_result result = { 0 };
	const struct cache_order order = {
		.agent = agent,
		.preserve = agent_preserve(request->json),
		.drop = strcmp(message_text(request->json, "mode"), "cold") == 0,
		.look = message_flag(request->json, "look"),
	};
	if (!agent->dataset_root)
		return error_set(err, ERROR_PEER, 0, "there is no dataset at this end");
	const struct job job = { .name = "page cache",
				 .function = treat_cache,
				 .argument = &order,
				 .result_size = sizeof(result) };
	if (job_run(&job, &result, &request->limit, err) < 0)
		return -1;
	agent_tell_change(&result.change, reply->json);
	if (order.drop)
		message_put_real(reply->json, "resident_pct", result.resident_pct);
	return 0;
}

/* ---- after a run ---- */

struct proof_order {
	const struct agent *agent;
	enum preserve preserve;
};

static int verify_shares(const void *argument, void *result, const struct io_limit *limit,
			 struct error *err)
{
	const struct proof_order *order = argument;
	const struct agent *agent = order->agent;
	struct manifest_found *total = result;
	for (size_t i = 0; i < agent->instances; i++) {
		struct manifest_found found;
		const struct verify_order verify = {
			.wanted = agent_share(agent, i),
			.preserve = order->preserve,
			.root = agent->roots[i],
			.under = agent->workspace.data,
		};
		if (verify_copy(&verify, &found, limit, err) < 0)
			return -1;
		total->bytes += found.bytes;
		total->data_bytes += found.data_bytes;
	}
	return 0;
}

int agent_verify(struct agent *agent, const struct agent_request *request, struct message *reply,
		 struct error *err)
{
	struct manifest_found found = { 0 };
	const struct proof_order order = {
		.agent = agent,
		.preserve = agent_preserve(request->json),
	};
	if (agent->side != XFER_SINK || agent->instances == 0)
		return error_set(err, ERROR_PEER, 0, "there is no copy at this end");
	const struct job job = { .name = "verify",
				 .function = verify_shares,
				 .argument = &order,
				 .result_size = sizeof(found) };
	if (job_run(&job, &found, &request->limit, err) < 0)
		return -1;
	message_put_whole(reply->json, "bytes", (int64_t)found.bytes);
	message_put_whole(reply->json, "data_bytes", (int64_t)found.data_bytes);
	return 0;
}

static int remove_copies(const void *argument, void *result, const struct io_limit *limit,
			 struct error *err)
{
	struct stat status;
	(void)result;
	(void)limit;
	/* A tool may have put anything in its place. */
	if (lstat(argument, &status) == 0 && !S_ISDIR(status.st_mode))
		return unlink(argument) < 0 ? error_system(err, "remove the copies") : 0;
	return folder_remove(argument, err);
}

int agent_clean(struct agent *agent, const struct agent_request *request, struct message *reply,
		struct error *err)
{
	(void)reply;
	const struct job job = { .name = "cleaning",
				 .function = remove_copies,
				 .argument = agent->copies };
	char nothing;
	if (agent->copies && job_run(&job, &nothing, &request->limit, err) < 0)
		return -1;
	/* At once, before anything else takes what the copy had. */
	if (!message_flag(request->json, "reserve"))
		return 0;
	return agent_take_reserve(agent, &request->limit, err);
}
