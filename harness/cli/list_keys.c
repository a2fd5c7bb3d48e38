#include "harness/cli/list_keys.h"

#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/protocol/message.h"
#include "harness/study/study.h"

static const struct {
	const char *name, *shown;
	const struct option_def *keys;
	const char *beside; /* other keys that such a section has, or NULL */
} sections[] = {
	{ "study", "study", study_settings_options, NULL },
	{ "ssh", "ssh", study_ssh_options, NULL },
	{ "dataset", "dataset", study_place_options,
	  "and the recipe's options: `linefill list datasets NAME`" },
	{ "hosts", "hosts", study_hosts_options, NULL },
	{ "case", "case NAME", study_case_options,
	  "and the transport's options: `linefill list transports NAME`" },
};

static void add_section(size_t i, struct text *out)
{
	text_addf(out, "[%s]\n", sections[i].shown);
	option_help(sections[i].keys, 2, out);
	if (sections[i].beside)
		text_addf(out, "  %s\n", sections[i].beside);
}

int list_keys(const char *section, struct text *out, struct error *err)
{
	const char *names[ARRAY_SIZE(sections) + 1] = { NULL };
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		names[i] = sections[i].name;
		if (section && strcmp(section, sections[i].name) == 0) {
			add_section(i, out);
			return 0;
		}
		if (!section) {
			text_add(out, i ? "\n" : "");
			add_section(i, out);
		}
	}
	if (!section)
		return 0;
	const char *near = text_nearest_in(section, names);
	return error_set(err, ERROR_CONFIG, 0, "unknown section '%s'%s%s%s", section,
			 near ? ": did you mean '" : ": `linefill list keys` shows them",
			 near ? near : "", near ? "'?" : "");
}

json_t *list_keys_json(void)
{
	json_t *list = message_list();
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		for (const struct option_def *def = sections[i].keys; def->name; def++) {
			AUTO_TEXT name = { 0 };
			text_addf(&name, "%s.%s", sections[i].shown, def->name);
			message_append(list, json_pack("{s:s,s:s,s:s?,s:s}", "name",
						       text_string(&name), "default", def->fallback,
						       "unit", def->unit, "summary", def->help));
		}
	return list;
}
