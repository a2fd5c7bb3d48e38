/* INI files (study and tool files) as data: sections, keys, values, and the line of each, for
 * errors that name it. Lines whose first byte is blank continue the value before.
 * A section stands alone in its line, and once in a file. Nothing that is written is left out but
 * remarks: lines that start with ; or #, also after blanks; and what follows a ; that has a blank
 * before it, also within quotes. Another # belongs to the value. */
#ifndef LINEFILL_BASE_INIFILE_H
#define LINEFILL_BASE_INIFILE_H

#include <stddef.h>

#include "harness/base/error.h"

struct inifile_entry {
	char *key, *value;
	char *lines;    /* the value with its line breaks kept; continuation lines are joined by
			   blanks in value */
	size_t section; /* index into sections */
	unsigned line;  /* counts from 1 */
};

struct inifile_section {
	char *name;
	unsigned line;
};

/* Starts as { 0 }; inifile_free releases it. */
struct inifile {
	char *path;                       /* for messages */
	struct inifile_section *sections; /* in order of appearance, each name once */
	size_t sections_count;
	struct inifile_entry *entries; /* in order of appearance; a key is once in its section */
	size_t entries_count;
};

/* Reads from memory; path is for messages. Errors are CONFIG and start with "path:line: ". */
int inifile_parse(struct inifile *file, const char *path, const char *text, size_t count,
		  struct error *err) MUST_CHECK;
void inifile_free(struct inifile *file);
/* "path:line: " before what err says. Always -1. */
int inifile_error_at(const struct inifile *file, unsigned line, struct error *err);
/* A CONFIG error for a word that is not among the known ones, with the nearest. Always -1. */
int inifile_unknown(const struct inifile *file, unsigned line, const char *what, const char *word,
		    const char *const *known, struct error *err);

#endif
