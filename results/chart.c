#include "results/chart.h"

#include <string.h>
#include <sys/wait.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "results/chart_script.h"

#define GNUPLOT_SECONDS 60

static int write_text(const char *folder, const char *name, const struct text *content,
		      struct error *err)
{
	AUTO_FREE char *path = path_join(folder, name);
	return file_write_all(path, text_string(content), content->length, 0666, err);
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
	return run_gnuplot(charts, CHART_THROUGHPUT_CPU ".gp", err);
}
