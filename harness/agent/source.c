#include "harness/agent/source.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/api/manifest_walk.h"
#include "harness/base/cleanup.h"

int source_marks_make(struct source_marks *marks, size_t count, struct error *err)
{
	source_marks_drop(marks);
	void *mapped = mmap(NULL, (count + 1) * sizeof(*marks->marks), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED)
		return error_system(err, "mmap");
	*marks = (struct source_marks){ .marks = mapped, .count = count };
	return 0;
}

void source_marks_drop(struct source_marks *marks)
{
	if (marks->marks)
		munmap(marks->marks, (marks->count + 1) * sizeof(*marks->marks));
	*marks = (struct source_marks){ 0 };
}

void source_marks_forget(const struct source_marks *marks)
{
	if (marks->marks)
		memset(marks->marks, 0, marks->count * sizeof(*marks->marks));
}

static int hold_against(const struct source_tree *tree, bool take, const struct io_limit *limit,
			struct error *err)
{
	const struct manifest_scan_options options = { .cancel = limit->cancel,
						       .deadline_ns = limit->deadline_ns };
	const struct manifest_check check = {
		.wanted = tree->wanted,
		.preserve = tree->preserve,
		.options = &options,
		.source = true,
		.marks = tree->marks,
		.take_marks = take,
	};
	struct manifest_found found;
	AUTO_FD root_fd = open(tree->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return manifest_cannot("open folder", tree->root, err);
	return manifest_verify(&check, root_fd, &found, err);
}

static int look(const struct source_tree *tree, bool take, const struct io_limit *limit,
		struct error *err)
{
	struct error problem = { 0 };
	if (hold_against(tree, take, limit, &problem) == 0)
		return 0;
	memset(tree->marks, 0, tree->wanted->count * sizeof(*tree->marks));
	if (problem.kind == ERROR_SYSTEM)
		error_wrap(&problem, "the source cannot be read");
	/* A socket where a file was, for one. */
	if (problem.kind == ERROR_CONFIG) {
		error_wrap(&problem, "the source changed");
		problem.kind = ERROR_INTEGRITY;
	}
	if (err)
		*err = problem;
	return -1;
}

int source_take(const struct source_tree *tree, const struct io_limit *limit, struct error *err)
{
	return look(tree, true, limit, err);
}

int source_look(const struct source_tree *tree, const struct io_limit *limit, struct error *err)
{
	return look(tree, false, limit, err);
}
