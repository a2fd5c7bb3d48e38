#include "results/results_folder.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/log.h"
#include "results/study_json.h"

struct placed_row {
	size_t place, number; /* of its case in the study; of the row in runs.csv */
	struct result row;
};

static int by_place(const void *left, const void *right)
{
	const struct placed_row *a = left;
	const struct placed_row *b = right;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static size_t place_of(const json_t *cases, const char *name)
{
	size_t count = json_array_size(cases);
	for (size_t i = 0; i < count; i++)
		if (strcmp(study_json_string(json_array_get(cases, i), "name"), name) == 0)
			return i;
	return count;
}

/* Cases are shown in the order that the study names them: runs.csv has that of the first round,
 * which was shuffled. */
static void order_rows(struct results *results, const json_t *study)
{
	const json_t *cases = json_object_get(study, "cases");
	AUTO_FREE struct placed_row *placed = calloc(results->count + 1, sizeof(*placed));
	if (!placed)
		abort();
	for (size_t i = 0; i < results->count; i++) {
		placed[i] =
			(struct placed_row){ .place = place_of(cases, results->rows[i].case_name),
					     .number = i,
					     .row = results->rows[i] };
	}
	qsort(placed, results->count, sizeof(*placed), by_place);
	for (size_t i = 0; i < results->count; i++)
		results->rows[i] = placed[i].row;
}

static const char *baseline_of(const json_t *study)
{
	const char *baseline = study_json_string(study, "baseline");
	return *baseline ? baseline : NULL;
}

/* Facts of one study beside the rows of another would be a lie. */
static int check_same_study(const struct results_folder *data, const char *folder,
			    struct error *err)
{
	const char *recorded = study_json_string(data->study, "study_id");
	const char *of_rows = data->rows.count ? data->rows.rows[0].study_id : "";
	if (!*recorded || !*of_rows || strcmp(recorded, of_rows) == 0)
		return 0;
	return error_set(err, ERROR_CONFIG, 0,
			 "%s: runs.csv is of the study %s, study.json of the study %s", folder,
			 of_rows, recorded);
}

static int read_files(struct results_folder *data, const char *folder, struct error *err)
{
	AUTO_FREE char *runs = path_join(folder, "runs.csv");
	if (csv_read_results(runs, &data->rows, err) < 0) {
		if (err)
			err->kind = ERROR_CONFIG;
		return -1;
	}
	if (study_json_read(folder, &data->study, err) < 0)
		return -1;
	return check_same_study(data, folder, err);
}

int results_folder_read(struct results_folder *data, const char *folder, bool all_pairs,
			struct error *err)
{
	*data = (struct results_folder){ 0 };
	if (read_files(data, folder, err) < 0) {
		results_free(&data->rows);
		json_decref(data->study);
		return -1;
	}
	if (json_object_size(data->study) == 0)
		log_line(LOG_WARNING,
			 "%s has no study.json: the report has no facts about the hosts", folder);
	order_rows(&data->rows, data->study);
	summary_make(&data->rows, &data->summary);
	summary_expect(&data->summary, &data->rows, data->study);
	summary_choose_pairs(&data->summary, baseline_of(data->study), all_pairs);
	return 0;
}

void results_folder_free(struct results_folder *data)
{
	summary_free(&data->summary);
	results_free(&data->rows);
	json_decref(data->study);
	*data = (struct results_folder){ 0 };
}
