#include "results/copied.h"

#include <string.h>

#include "harness/base/cleanup.h"
#include "results/study_json.h"

/* Different values of a column that are named; beyond that they are counted. */
#define VALUES_NAMED 3

static void add_shown(const char *string, struct text *out)
{
	AUTO_FREE char *shown = text_shown(string, SIZE_MAX);
	text_add(out, shown);
}

static const char *value_at(const struct result *row, size_t offset)
{
	return (const char *)row + offset;
}

/* Among rows that count, is it the first with that value? */
static bool is_new(const struct results *rows, size_t i, size_t offset)
{
	const char *value = value_at(&rows->rows[i], offset);
	if (!*value || !summary_row_counts(&rows->rows[i]))
		return false;
	for (size_t j = 0; j < i; j++)
		if (summary_row_counts(&rows->rows[j]) &&
		    strcmp(value_at(&rows->rows[j], offset), value) == 0)
			return false;
	return true;
}

/* "; cipher none, aes128-ctr". */
static void add_values(const struct results *rows, const char *name, size_t offset,
		       struct text *out)
{
	size_t found = 0;
	for (size_t i = 0; i < rows->count; i++) {
		if (!is_new(rows, i, offset) || ++found > VALUES_NAMED)
			continue;
		text_addf(out, found == 1 ? "; %s " : ", ", name);
		add_shown(value_at(&rows->rows[i], offset), out);
	}
	if (found > VALUES_NAMED)
		text_addf(out, " and %zu more", found - VALUES_NAMED);
}

static const struct result *first_counted(const struct results *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (summary_row_counts(&rows->rows[i]))
			return &rows->rows[i];
	return NULL;
}

/* As the record has it, else as the first row that counts. */
static int64_t known(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(object, key);
	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static void add_dataset(const struct results_folder *data, struct text *out)
{
	const json_t *dataset = json_object_get(data->study, "dataset");
	const struct result *row = first_counted(&data->rows);
	int64_t files = known(dataset, "files", row ? row->files : -1);
	int64_t bytes = known(dataset, "bytes", row ? row->payload_bytes : -1);
	const char *recipe = study_json_string(dataset, "recipe");
	char text[64];
	if (!*recipe && row)
		recipe = row->dataset;
	if (files >= 0)
		text_addf(out, "%lld file%s", (long long)files, files == 1 ? "" : "s");
	if (bytes >= 0)
		text_addf(out, "%s%s", out->length ? ", " : "",
			  text_from_bytes(text, sizeof(text), (uint64_t)bytes));
	if (!*recipe)
		return;
	text_add(out, out->length ? " (" : "(");
	add_shown(recipe, out);
	text_add(out, ")");
}

static void add_place(const json_t *host, struct text *out)
{
	const char *kind = study_json_string(host, "file_system");
	add_shown(kind, out);
	/* Which RAM is all the same. */
	if (strcmp(kind, "RAM") == 0)
		return;
	text_add(out, " (");
	add_shown(study_json_string(host, "location"), out);
	text_add(out, ")");
}

static void add_places(const json_t *study, struct text *out)
{
	const json_t *hosts = json_object_get(study, "hosts");
	const json_t *source = json_object_get(hosts, "source");
	const json_t *sink = json_object_get(hosts, "sink");
	bool same = json_is_true(json_object_get(study, "same_host"));
	if (!*study_json_string(source, "file_system") || !*study_json_string(sink, "file_system"))
		return;
	text_add(out, out->length ? ", " : "");
	add_place(source, out);
	if (!same) {
		text_add(out, " of ");
		add_shown(study_json_string(source, "hostname"), out);
	}
	text_add(out, " to ");
	add_place(sink, out);
	text_add(out, same ? " on " : " of ");
	add_shown(study_json_string(sink, "hostname"), out);
}

void copied_text(const struct results_folder *data, struct text *out)
{
	if (!first_counted(&data->rows))
		return;
	AUTO_TEXT line = { 0 };
	add_dataset(data, &line);
	add_places(data->study, &line);
	add_values(&data->rows, "cipher", offsetof(struct result, cipher), &line);
	add_values(&data->rows, "memory", offsetof(struct result, memory), &line);
	if (data->summary.rounds)
		text_addf(&line, "; %zu round%s", data->summary.rounds,
			  data->summary.rounds == 1 ? "" : "s");
	text_add(out, text_string(&line));
}
