#include <stdio.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "results/copied.h"
#include "results/html.h"
#include "results/report_parts.h"
#include "results/study_json.h"

/* A value as text, whatever its type: study.json may say "3" or 3. */
static void value_text(const json_t *value, struct text *out)
{
	if (json_is_string(value))
		text_add(out, json_string_value(value));
	else if (json_is_integer(value))
		text_addf(out, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		text_addf(out, "%.15g", json_real_value(value));
	else if (json_is_boolean(value))
		text_add(out, json_is_true(value) ? "yes" : "no");
}

static void row(struct text *out, const char *name, const char *value)
{
	if (!*value)
		return;
	text_add(out, "<tr>");
	html_element(out, "th scope=\"row\"", name);
	html_element(out, "td class=\"v\"", value);
	text_add(out, "</tr>\n");
}

static void row_of(struct text *out, const char *name, const json_t *object, const char *key)
{
	AUTO_TEXT value = { 0 };
	value_text(json_object_get(object, key), &value);
	row(out, name, text_string(&value));
}

static void bytes_text(const json_t *object, const char *key, struct text *out)
{
	char text[64];
	json_int_t bytes = json_integer_value(json_object_get(object, key));
	if (bytes > 0)
		text_addf(out, "%s (%lld bytes)",
			  text_from_bytes(text, sizeof(text), (uint64_t)bytes), (long long)bytes);
}

void report_heading(const struct report *report, struct text *out)
{
	const json_t *study = report->study;
	const char *title = study_json_string(study, "title");
	html_element(out, "h1", *title ? title : "Copy study");
	text_add(out, "\n<p class=\"meta\">");
	const char *source = study_json_string(
		json_object_get(json_object_get(study, "hosts"), "source"), "hostname");
	const char *sink = study_json_string(
		json_object_get(json_object_get(study, "hosts"), "sink"), "hostname");
	html_add(out, study_json_string(study, "created_utc"));
	if (*source && report->same_host)
		html_addf(out, " \xc2\xb7 both ends on %s", source);
	else if (*source && *sink)
		html_addf(out, " \xc2\xb7 %s to %s", source, sink);
	if (*study_json_string(study, "linefill_version"))
		html_addf(out, " \xc2\xb7 linefill %s",
			  study_json_string(study, "linefill_version"));
	if (*study_json_string(study, "study_id"))
		html_addf(out, " \xc2\xb7 study %s", study_json_string(study, "study_id"));
	text_add(out, "</p>\n");
	AUTO_TEXT copied = { 0 };
	copied_text(report->data, &copied);
	if (copied.length) {
		html_elementf(out, "p class=\"meta\"", "Copied: %s", text_string(&copied));
		text_add(out, "\n");
	}
}

/* One fact of both hosts; one column when both ends are one machine and agree. */
static void host_row(const struct report *report, const char *name, struct text ends[2],
		     struct text *out)
{
	if (!ends[0].length && !ends[1].length)
		return;
	text_add(out, "<tr>");
	html_element(out, "th scope=\"row\"", name);
	if (report->same_host && strcmp(text_string(&ends[0]), text_string(&ends[1])) == 0) {
		html_element(out, "td class=\"v\" colspan=\"2\"", text_string(&ends[0]));
	} else {
		html_element(out, "td class=\"v\"", text_string(&ends[0]));
		html_element(out, "td class=\"v\"", text_string(&ends[1]));
	}
	text_add(out, "</tr>\n");
}

static const char *const end_names[] = { "source", "sink" };

static bool ends_with(const char *string, const char *end)
{
	size_t length = strlen(string);
	return length >= strlen(end) && strcmp(string + length - strlen(end), end) == 0;
}

static void fact_text(const json_t *host, const char *key, struct text *out)
{
	const json_t *value = json_object_get(host, key);
	if (ends_with(key, "_bytes_per_s") && json_is_number(value))
		text_addf(out, "%.2f GB/s", json_number_value(value) / 1e9);
	else if (ends_with(key, "_bytes"))
		bytes_text(host, key, out);
	else
		value_text(value, out);
}

static void host_rows(const struct report *report, struct text *out)
{
	static const struct {
		const char *key, *name;
	} facts[] = {
		{ "hostname", "Host" },
		{ "os", "System" },
		{ "kernel", "Kernel" },
		{ "cpu_model", "CPU" },
		{ "cpus", "CPUs" },
		{ "memory_bytes", "Memory" },
		{ "location", "Data folder" },
		{ "file_system", "File system" },
		{ "memory_first_touch_bytes_per_s", "First touch of memory not in use" },
		{ "memory_second_touch_bytes_per_s", "Touch of memory in use a moment ago" },
		{ "memory_balloon", "Memory balloon" },
	};
	const json_t *hosts = json_object_get(report->study, "hosts");
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		struct text ends[2] = { 0 };
		for (size_t end = 0; end < 2; end++)
			fact_text(json_object_get(hosts, end_names[end]), facts[i].key, &ends[end]);
		host_row(report, facts[i].name, ends, out);
		text_free(&ends[0]);
		text_free(&ends[1]);
	}
}

static void version_row(const struct report *report, const char *tool, struct text *out)
{
	const json_t *versions = json_object_get(report->study, "versions");
	struct text ends[2] = { 0 };
	for (size_t end = 0; end < 2; end++)
		value_text(json_object_get(json_object_get(versions, end_names[end]), tool),
			   &ends[end]);
	AUTO_TEXT name = { 0 };
	text_addf(&name, "Version of %s", tool);
	host_row(report, text_string(&name), ends, out);
	text_free(&ends[0]);
	text_free(&ends[1]);
}

static void version_rows(const struct report *report, struct text *out)
{
	const json_t *versions = json_object_get(report->study, "versions");
	json_t *source = json_object_get(versions, "source");
	json_t *sink = json_object_get(versions, "sink");
	const char *tool = NULL;
	json_t *value = NULL;
	json_object_foreach(source, tool, value)
	{
		version_row(report, tool, out);
	}
	json_object_foreach(sink, tool, value)
	{
		if (!json_object_get(source, tool))
			version_row(report, tool, out);
	}
}

/* What the agents found, in their words; once where both ends are one machine. */
static void host_findings(const struct report *report, struct text *out)
{
	const json_t *hosts = json_object_get(report->study, "hosts");
	const char *memory =
		study_json_string(json_object_get(report->study, "configuration"), "study.memory");
	for (size_t end = 0; end < 2; end++) {
		const char *finding =
			study_json_string(json_object_get(hosts, end_names[end]), "memory_finding");
		if (!*finding)
			continue;
		text_addf(out, "<p class=\"warn\">At the %s: ", end_names[end]);
		html_add(out, finding);
		text_addf(out, ". %s</p>\n",
			  strcmp(memory, "as-is") == 0
				  ? "In this study nothing was done about it (memory = as-is)."
				  : "For copies in RAM touched memory was held between runs, and "
				    "let go just before each.");
		if (report->same_host)
			return;
	}
}

void report_hosts(const struct report *report, struct text *out)
{
	static const char *const heads[] = { "", "Source", "Sink", NULL };
	AUTO_TEXT rows = { 0 };
	host_rows(report, &rows);
	version_rows(report, &rows);
	if (rows.length == 0)
		return;
	text_add(out, "<h2>The hosts</h2>\n");
	if (report->same_host) {
		const json_t *source =
			json_object_get(json_object_get(report->study, "hosts"), "source");
		text_add(out, "<p>Both ends shared this machine");
		json_int_t cpus = json_integer_value(json_object_get(source, "cpus"));
		if (cpus > 0)
			text_addf(out, "&#39;s %lld CPUs", (long long)cpus);
		text_add(out, "; the split of CPU time between the ends is approximate.</p>\n");
	}
	html_table_begin(out, heads);
	text_add(out, text_string(&rows));
	html_table_end(out);
	host_findings(report, out);
}

static void rounds_row(const struct report *report, struct text *out)
{
	AUTO_TEXT rounds = { 0 };
	value_text(json_object_get(report->study, "rounds"), &rounds);
	const char *why = study_json_string(report->study, "rounds_why");
	if (rounds.length && *why)
		text_addf(&rounds, " (%s)", why);
	row(out, "Rounds", text_string(&rounds));
}

void report_dataset(const struct report *report, struct text *out)
{
	const json_t *dataset = json_object_get(report->study, "dataset");
	AUTO_TEXT bytes = { 0 };
	bytes_text(dataset, "bytes", &bytes);
	text_add(out, "<h2>Dataset, seed and rounds</h2>\n");
	html_table_begin(out, NULL);
	row_of(out, "Recipe", dataset, "recipe");
	row_of(out, "Files", dataset, "files");
	row_of(out, "Folders", dataset, "folders");
	row_of(out, "Symbolic links", dataset, "links");
	row(out, "Bytes", text_string(&bytes));
	row_of(out, "Digest of the manifest", dataset, "digest");
	row_of(out, "Seed of the study", report->study, "seed");
	rounds_row(report, out);
	html_table_end(out);
}

static bool is_plain_word(const char *word)
{
	return *word && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					  "0123456789._/@%+=,:{}-")] == '\0';
}

/* An argv as one could type it: words with other than harmless letters stand in single quotes. */
static void argv_text(json_t *argv, struct text *out)
{
	size_t i = 0;
	json_t *value = NULL;
	json_array_foreach(argv, i, value)
	{
		const char *word = json_string_value(value);
		if (!word)
			continue;
		text_add(out, out->length ? " " : "");
		if (is_plain_word(word)) {
			text_add(out, word);
			continue;
		}
		text_add(out, "'");
		for (const char *s = word; *s; s++)
			text_add_bytes(out, *s == '\'' ? "'\\''" : s, *s == '\'' ? 4 : 1);
		text_add(out, "'");
	}
}

/* What is one text is a command line already. */
static void command_text(json_t *command, struct text *out)
{
	const char *line = json_string_value(json_array_get(command, 0));
	if (json_array_size(command) == 1 && line)
		text_add(out, line);
	else
		argv_text(command, out);
}

static void case_command(const json_t *one, struct text *out)
{
	AUTO_TEXT command = { 0 };
	const char *label = study_json_string(one, "label");
	command_text(json_object_get(one, "command"), &command);
	text_add(out, "<tr>");
	html_element(out, "th scope=\"row\"", *label ? label : study_json_string(one, "name"));
	text_add(out, "<td>");
	html_add(out, study_json_string(one, "transport"));
	if (*study_json_string(one, "options"))
		html_addf(out, ", %s", study_json_string(one, "options"));
	json_int_t instances = json_integer_value(json_object_get(one, "instances"));
	if (instances > 1)
		text_addf(out, ", %lld instances a side, each with its share",
			  (long long)instances);
	if (*study_json_string(one, "plan"))
		html_addf(out, ". %s", study_json_string(one, "plan"));
	text_add(out, "</td><td class=\"v\">");
	if (command.length)
		html_element(out, "code", text_string(&command));
	text_add(out, "</td></tr>\n");
}

void report_commands(const struct report *report, struct text *out)
{
	static const char *const heads[] = { "Case", "Transport", "Command, of the last run",
					     NULL };
	json_t *cases = json_object_get(report->study, "cases");
	AUTO_TEXT command = { 0 };
	argv_text(json_object_get(report->study, "command_line"), &command);
	text_add(out, "<h2>Exact commands</h2>\n");
	if (command.length) {
		text_add(out, "<p>The study was run with</p>\n");
		html_element(out, "pre", text_string(&command));
		text_add(out, "\n");
	}
	if (json_array_size(cases) == 0)
		return;
	html_table_begin(out, heads);
	size_t i = 0;
	json_t *one = NULL;
	json_array_foreach(cases, i, one)
	{
		case_command(one, out);
	}
	html_table_end(out);
}

void report_configuration(const struct report *report, struct text *out)
{
	json_t *configuration = json_object_get(report->study, "configuration");
	const char *key = NULL;
	json_t *value = NULL;
	if (json_object_size(configuration) == 0)
		return;
	text_add(out, "<h2>Full configuration</h2>\n<ul class=\"keys\">\n");
	json_object_foreach(configuration, key, value)
	{
		AUTO_TEXT text = { 0 };
		value_text(value, &text);
		text_add(out, "<li><code>");
		html_addf(out, "%s = %s", key, text_string(&text));
		text_add(out, "</code></li>\n");
	}
	text_add(out, "</ul>\n");
}
