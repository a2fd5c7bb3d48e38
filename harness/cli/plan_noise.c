#include "harness/cli/plan_noise.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "results/csv.h"
#include "results/summary.h"

static int read_noise(const char *folder, double *ratio, struct error *err)
{
	AUTO_RESULTS rows = { 0 };
	AUTO_SUMMARY summary = { 0 };
	AUTO_FREE char *runs = path_join(folder, "runs.csv");
	if (csv_read_results(runs, &rows, err) < 0) {
		if (err)
			err->kind = ERROR_CONFIG;
		return -1;
	}
	summary_make(&rows, &summary);
	*ratio = contest_noise(&summary.contest);
	if (*ratio > 0)
		return 0;
	return error_set(err, ERROR_CONFIG, 0,
			 "%s: no two cases have 2 rounds in common that tell the noise", runs);
}

/* "NAME-20260131T120000Z", perhaps with "-2" behind: its time, or NULL. */
static const char *time_of(const char *entry, const char *study_name)
{
	static const char pattern[] = "ddddddddTddddddZ";
	size_t length = strlen(study_name);
	if (strncmp(entry, study_name, length) != 0 || entry[length] != '-')
		return NULL;
	const char *time = entry + length + 1;
	for (size_t i = 0; pattern[i]; i++)
		if (pattern[i] == 'd' ? !isdigit((unsigned char)time[i]) : time[i] != pattern[i])
			return NULL;
	return time;
}

/* The newest that is older than before (NULL: the newest of all). */
static char *newest(const char *study_name, const char *before)
{
	char *best = NULL;
	DIR *folder = opendir(RESULTS_FOLDER);
	if (!folder)
		return NULL;
	for (const struct dirent *entry; (entry = readdir(folder));) {
		const char *time = time_of(entry->d_name, study_name);
		if (!time || (before && strcmp(entry->d_name, before) >= 0) ||
		    (best && strcmp(entry->d_name, best) <= 0))
			continue;
		free(best);
		best = strdup(entry->d_name);
		if (!best)
			abort();
	}
	closedir(folder);
	return best;
}

int plan_noise_find(struct plan_noise *noise, const char *study_name, const char *folder,
		    struct error *err)
{
	*noise = (struct plan_noise){ .ratio = PLAN_NOISE_GUESS };
	if (folder) {
		if (read_noise(folder, &noise->ratio, err) < 0)
			return error_wrap(err, "--noise-from");
		noise->folder = strdup(folder);
		return 0;
	}
	AUTO_FREE char *name = newest(study_name, NULL);
	while (name) {
		double ratio = 0;
		struct error ignored = { 0 };
		char *path = path_join(RESULTS_FOLDER, name);
		if (read_noise(path, &ratio, &ignored) == 0) {
			noise->ratio = ratio;
			noise->folder = path;
			return 0;
		}
		free(path);
		char *older = newest(study_name, name);
		free(name);
		name = older;
	}
	return 0;
}

void plan_noise_free(struct plan_noise *noise)
{
	free(noise->folder);
	*noise = (struct plan_noise){ 0 };
}
