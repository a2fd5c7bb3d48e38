#include "results/chart.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "results/chart_script.h"

#define GNUPLOT_SECONDS 60
#define PICTURE_MAX     ((size_t)64 << 20)

/* What gnuplot draws, and what stands in the last bytes of a whole one. */
static const struct {
	const char *name, *end;
	size_t end_size;
} pictures[] = {
	{ CHART_THROUGHPUT_CPU ".svg", "</svg>", 6 },
	{ CHART_THROUGHPUT_CPU ".png", "IEND", 4 },
};
#define PICTURE_TAIL 16

static int write_text(const char *folder, const char *name, const struct text *content,
		      struct error *err)
{
	AUTO_FREE char *path = path_join(folder, name);
	return file_replace(path, text_string(content), content->length, 0666, err);
}

/* --default-settings: a user's own ~/.gnuplot must not change the picture. */
static int run_gnuplot(const char *folder, const char *script, struct error *err)
{
	const char *const argv[] = { "gnuplot", "--default-settings", script, NULL };
	const struct child_spec spec = { .argv = argv, .folder = folder, .input = -1 };
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(GNUPLOT_SECONDS) };
	AUTO_TEXT output = { 0 };
	int status = 0;
	if (child_capture(&spec, &limit, 4096, &output, &status, err) < 0) {
		if (err && err->kind == ERROR_UNAVAILABLE)
			error_set(err, ERROR_UNAVAILABLE, 0,
				  "gnuplot is not installed (package gnuplot-nox brings it)");
		return -1;
	}
	if (status == 0)
		return 0;
	char ended[64];
	return error_set(err, ERROR_TOOL, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
			 "gnuplot: %s: %.300s", child_status_text(status, ended, sizeof(ended)),
			 text_string(&output));
}

static void remove_pictures(const char *folder)
{
	for (size_t i = 0; i < ARRAY_SIZE(pictures); i++) {
		AUTO_FREE char *path = path_join(folder, pictures[i].name);
		unlink(path);
	}
}

/* gnuplot does not look whether its bytes arrive: on a full disk it ends with status 0. */
static int check_pictures(const char *folder, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(pictures); i++) {
		size_t count = 0;
		AUTO_FREE char *bytes = NULL;
		AUTO_FREE char *path = path_join(folder, pictures[i].name);
		if (file_read_all(path, PICTURE_MAX, &bytes, &count, err) < 0)
			return -1;
		size_t tail = count < PICTURE_TAIL ? count : PICTURE_TAIL;
		if (!memmem(bytes + count - tail, tail, pictures[i].end, pictures[i].end_size))
			return error_set(err, ERROR_SYSTEM, 0,
					 "%s: gnuplot wrote only %zu bytes of it: is the disk "
					 "full?",
					 path, count);
	}
	return 0;
}

int chart_throughput_cpu(const char *folder, const struct summary *summary,
			 const struct chart *chart, struct error *err)
{
	AUTO_FREE char *charts = path_join(folder, CHART_FOLDER);
	AUTO_TEXT data = { 0 };
	AUTO_TEXT script = { 0 };
	struct chart_layout layout = chart_layout(summary);
	chart_data(summary, &layout, &data);
	chart_script(summary, chart, &layout, &script);
	if (folder_make_all(charts, err) < 0 ||
	    write_text(charts, CHART_THROUGHPUT_CPU ".csv", &data, err) < 0 ||
	    write_text(charts, CHART_THROUGHPUT_CPU ".gp", &script, err) < 0)
		return error_wrap(err, "chart");
	remove_pictures(charts); /* none of other data stays beside these */
	if (run_gnuplot(charts, CHART_THROUGHPUT_CPU ".gp", err) == 0 &&
	    check_pictures(charts, err) == 0)
		return 0;
	remove_pictures(charts);
	return -1;
}
