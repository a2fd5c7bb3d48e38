#include "harness/study/study_title.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"

/* Beyond that a heading says how many more there are, and a folder's name ends. */
#define TITLE_NAMES 5
#define NAME_BYTES  48

static char *copy(const char *string)
{
	char *copied = strdup(string);
	if (!copied)
		abort();
	return copied;
}

static char *name_of_file(const char *file)
{
	const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	char *name = copy(base);
	char *dot = strrchr(name, '.');
	if (dot && dot > name && strcmp(dot, ".ini") == 0)
		*dot = '\0';
	return name;
}

/* Is it the first case with that transport? */
static bool is_new(const struct study *study, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(study->cases[j].transport_name, study->cases[i].transport_name) == 0)
			return false;
	return true;
}

static size_t count_transports(const struct study *study)
{
	size_t count = 0;
	for (size_t i = 0; i < study->cases_count; i++)
		count += is_new(study, i);
	return count;
}

char *study_make_name(const struct study *study, const char *file)
{
	AUTO_TEXT name = { 0 };
	if (file)
		return name_of_file(file);
	for (size_t i = 0; i < study->cases_count; i++) {
		const char *transport = study->cases[i].transport_name;
		if (!is_new(study, i))
			continue;
		if (name.length && name.length + 1 + strlen(transport) > NAME_BYTES) {
			text_add(&name, "-etc");
			break;
		}
		text_addf(&name, "%s%s", name.length ? "-" : "", transport);
	}
	return name.length ? text_take(&name) : copy("study");
}

/* "tcp, scp and rsync-ssh", "tcp, multi, ssh, scp and 3 more". */
static char *list_transports(const struct study *study)
{
	AUTO_TEXT list = { 0 };
	size_t count = count_transports(study);
	size_t shown = count > TITLE_NAMES ? TITLE_NAMES - 1 : count;
	size_t named = 0;
	for (size_t i = 0; i < study->cases_count && named < shown; i++) {
		if (!is_new(study, i))
			continue;
		bool last = ++named == count;
		text_addf(&list, "%s%s",
			  named == 1 ? ""
			  : last     ? " and "
				     : ", ",
			  study->cases[i].transport_name);
	}
	if (count > shown)
		text_addf(&list, " and %zu more", count - shown);
	if (count == 1)
		text_addf(&list, ", %zu cases", study->cases_count);
	return text_take(&list);
}

char *study_make_title(const struct study *study, const char *file)
{
	if (study->settings.title[0])
		return copy(study->settings.title);
	if (file)
		return name_of_file(file);
	return study->cases_count == 1 ? copy(study->cases[0].label) : list_transports(study);
}
