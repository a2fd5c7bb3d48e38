#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/api/manifest_compare.h"
#include "harness/base/text.h"

const char *const preserve_names[] = {
	[PRESERVE_CONTENT] = "content",
	[PRESERVE_MODE] = "mode",
	[PRESERVE_ALL] = "all",
	NULL,
};

static const char *const type_names[] = {
	[MANIFEST_FILE] = "file",
	[MANIFEST_FOLDER] = "folder",
	[MANIFEST_LINK] = "symbolic link",
};

/* Room for two link targets, so that the whole still fits a struct error. */
#define TARGET_SIZE 80
_Static_assert(MANIFEST_WHAT_SIZE >= 2 * TARGET_SIZE + 64, "two targets and the words fit");

/* A first difference is described in full; later ones are only counted (what is then NULL). */
__attribute__((format(printf, 2, 3))) static bool differs(char *what, const char *format, ...)
{
	va_list args;
	if (!what)
		return true;
	va_start(args, format);
	vsnprintf(what, MANIFEST_WHAT_SIZE, format, args);
	va_end(args);
	return true;
}

static bool attributes_differ(const struct manifest_entry *wanted,
			      const struct manifest_entry *copy, enum preserve preserve, char *what)
{
	if (preserve >= PRESERVE_MODE && wanted->type != MANIFEST_LINK &&
	    (wanted->mode & 0777) != (copy->mode & 0777))
		return differs(what, "has mode %04o instead of %04o", copy->mode & 0777,
			       wanted->mode & 0777);
	if (preserve >= PRESERVE_ALL && wanted->type == MANIFEST_FILE &&
	    wanted->mtime_s != copy->mtime_s)
		return differs(what,
			       "was modified at %" PRId64 " s instead of %" PRId64 " s since 1970",
			       copy->mtime_s, wanted->mtime_s);
	return false;
}

static bool target_differs(const char *wanted, const char *copy, char *what)
{
	char wanted_shown[TARGET_SIZE];
	char copy_shown[TARGET_SIZE];
	if (strcmp(wanted, copy) == 0)
		return false;
	text_escape_terminal(wanted_shown, sizeof(wanted_shown), wanted);
	text_escape_terminal(copy_shown, sizeof(copy_shown), copy);
	return differs(what, "points to '%s' instead of '%s'", copy_shown, wanted_shown);
}

bool manifest_entries_differ(const struct manifest_entry *wanted, const struct manifest_entry *copy,
			     enum preserve preserve, char *what)
{
	if (wanted->type != copy->type)
		return differs(what, "is a %s instead of a %s", type_names[copy->type],
			       type_names[wanted->type]);
	if (wanted->size_bytes != copy->size_bytes)
		return differs(what, "has %" PRIu64 " bytes instead of %" PRIu64, copy->size_bytes,
			       wanted->size_bytes);
	if (wanted->digest.low != copy->digest.low || wanted->digest.high != copy->digest.high)
		return differs(what, "has other contents");
	if (wanted->type == MANIFEST_LINK && target_differs(wanted->target, copy->target, what))
		return true;
	return attributes_differ(wanted, copy, preserve, what);
}

/* Which of two sorted lists is behind: < 0 the wanted one, > 0 the copy, 0 both are at one path. */
static int order(const struct manifest_entry *wanted, const struct manifest_entry *copy)
{
	if (!wanted)
		return 1;
	if (!copy)
		return -1;
	return strcmp(wanted->path, copy->path);
}

int manifest_report(const char *path, const char *what, uint64_t differences, bool source,
		    struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	if (differences == 0)
		return 0;
	manifest_shown(shown, path);
	if (source && differences > 1)
		return error_set(err, ERROR_INTEGRITY, 0,
				 "the source changed: '%s' %s, and %" PRIu64 " more", shown, what,
				 differences - 1);
	if (source)
		return error_set(err, ERROR_INTEGRITY, 0, "the source changed: '%s' %s", shown,
				 what);
	if (differences == 1)
		return error_set(err, ERROR_INTEGRITY, 0, "the copy differs in one place: '%s' %s",
				 shown, what);
	return error_set(err, ERROR_INTEGRITY, 0,
			 "the copy differs in %" PRIu64 " places, first: '%s' %s", differences,
			 shown, what);
}

int manifest_compare(const struct manifest *wanted, const struct manifest *copy,
		     enum preserve preserve, struct error *err)
{
	char what[MANIFEST_WHAT_SIZE] = "";
	const char *first = NULL;
	uint64_t differences = 0;
	for (size_t i = 0, j = 0; i < wanted->count || j < copy->count;) {
		const struct manifest_entry *w = i < wanted->count ? &wanted->entries[i] : NULL;
		const struct manifest_entry *c = j < copy->count ? &copy->entries[j] : NULL;
		char *describe = first ? NULL : what;
		int sign = order(w, c);
		bool other = sign < 0   ? differs(describe, MANIFEST_MISSING)
			     : sign > 0 ? differs(describe, MANIFEST_UNEXPECTED)
					: manifest_entries_differ(w, c, preserve, describe);
		if (other && !first)
			first = sign > 0 ? c->path : w->path;
		differences += other;
		i += sign <= 0;
		j += sign >= 0;
	}
	return manifest_report(first, what, differences, false, err);
}
