#include "harness/base/inifile.h"

#include <ctype.h>
#include <ini.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"

/* The library cuts section names at 49 bytes without a word: this keeps clear of that. */
#define SECTION_MAX 48
/* Far more than anyone writes by hand. */
#define ENTRIES_MAX 20000
#define BLANKS      " \t\r\n\v\f"

/* One pass over the file. The library tells neither line numbers nor continuation lines nor cuts
 * nor sections without keys: they are seen where it fetches its lines. */
struct reader {
	struct inifile *file;
	const char *next, *end;
	unsigned line;
	bool continues; /* the line just fetched is indented */
	bool open;      /* a value came before in this section, which such a line continues */
	bool failed;
	struct error *err;
};

/* Keeps the first error only; returns what tells the library "bad line". */
static int fail(struct reader *reader, const char *message)
{
	if (!reader->failed)
		error_set(reader->err, ERROR_CONFIG, 0, "%s:%u: %s", reader->file->path,
			  reader->line, message);
	reader->failed = true;
	return 0;
}

static void *grow(void *array, size_t count, size_t size)
{
	/* Powers of two: called for every new element. */
	if (count & (count - 1))
		return array;
	void *grown = realloc(array, (count ? count * 2 : 1) * size);
	if (!grown)
		abort();
	return grown;
}

static char *copy(const char *string)
{
	char *copied = strdup(string);
	if (!copied)
		abort();
	return copied;
}

static size_t section_of(struct reader *reader, const char *name)
{
	struct inifile *file = reader->file;
	for (size_t i = 0; i < file->sections_count; i++)
		if (strcmp(file->sections[i].name, name) == 0)
			return i;
	file->sections = grow(file->sections, file->sections_count, sizeof(*file->sections));
	file->sections[file->sections_count] =
		(struct inifile_section){ .name = copy(name), .line = reader->line };
	return file->sections_count++;
}

static void begin_section(struct reader *reader, const char *name)
{
	size_t known = reader->file->sections_count;
	size_t index = section_of(reader, name);
	reader->open = false;
	if (index == known)
		return;
	AUTO_TEXT message = { 0 };
	text_addf(&message, "there is a section [%s] already, in line %u", name,
		  reader->file->sections[index].line);
	fail(reader, text_string(&message));
}

/* Nothing, blanks or a remark. */
static bool says_nothing(const char *string)
{
	const char *text = string + strspn(string, BLANKS);
	return !*text || ((*text == ';' || *text == '#') && text > string);
}

/* A section that has no keys is a section all the same. What stands behind its bracket the library
 * leaves out without a word. */
static void see_section(struct reader *reader, const char *line)
{
	char name[SECTION_MAX + 2];
	line += strspn(line, BLANKS);
	const char *close = line[0] == '[' ? strchr(line, ']') : NULL;
	if (!close)
		return;
	size_t length = (size_t)(close - line - 1);
	if (length > SECTION_MAX) {
		fail(reader, "a section's name is longer than 48 bytes");
		return;
	}
	memcpy(name, line + 1, length);
	name[length] = '\0';
	if (!says_nothing(close + 1)) {
		const char *behind = close + 1 + strspn(close + 1, BLANKS);
		AUTO_TEXT message = { 0 };
		text_addf(&message, "text behind [%s]: put '%.*s' into a line of its own", name,
			  (int)strcspn(behind, "\r\n"), behind);
		fail(reader, text_string(&message));
	}
	begin_section(reader, name);
}

/* Programs take them for line ends, or for nothing: this one does not guess. */
static bool has_stray_return(const char *line, size_t length)
{
	const char *mark = memchr(line, '\r', length);
	return mark && mark + 1 < line + length && mark[1] != '\n';
}

static char *fetch_line(char *to, int size, void *stream)
{
	struct reader *reader = stream;
	if (reader->failed || reader->next == reader->end)
		return NULL;
	reader->line++;
	const char *start = reader->next;
	size_t left = (size_t)(reader->end - start);
	const char *newline = memchr(start, '\n', left);
	size_t length = newline ? (size_t)(newline - start) + 1 : left;
	reader->next = start + length;
	if (has_stray_return(start, length)) {
		fail(reader, "a carriage return inside a line: lines end with a line feed, which "
			     "may have one before it");
		return NULL;
	}
	if (length + 1 > (size_t)size) {
		AUTO_TEXT message = { 0 };
		text_addf(&message,
			  "the line is longer than %d bytes: continue it in an indented one",
			  size - 2);
		fail(reader, text_string(&message));
		return NULL;
	}
	if (memchr(start, '\0', length)) {
		fail(reader, "the line has a zero byte");
		return NULL;
	}
	memcpy(to, start, length);
	to[length] = '\0';
	reader->continues = isspace((unsigned char)to[0]) && to[strspn(to, BLANKS)];
	if (!(reader->continues && reader->open))
		see_section(reader, to);
	return reader->failed ? NULL : to;
}

static struct inifile_entry *find_entry(const struct inifile *file, size_t section, const char *key)
{
	for (size_t i = 0; i < file->entries_count; i++)
		if (file->entries[i].section == section && strcmp(file->entries[i].key, key) == 0)
			return &file->entries[i];
	return NULL;
}

static void extend(char **value, const char *separator, const char *more)
{
	AUTO_TEXT text = { 0 };
	text_addf(&text, "%s%s%s", *value, (*value)[0] ? separator : "", more);
	free(*value);
	*value = text_take(&text);
}

/* In lines that continue a value the library leaves remarks, depending on its version. */
static void cut_remark(char *line)
{
	for (char *mark = strchr(line, ';'); mark; mark = strchr(mark + 1, ';')) {
		if (mark > line && !isspace((unsigned char)mark[-1]))
			continue;
		*mark = '\0';
		text_trim(line);
		return;
	}
}

static int on_value(void *user, const char *section, const char *key, const char *value)
{
	struct reader *reader = user;
	struct inifile *file = reader->file;
	if (reader->failed)
		return 0;
	size_t index = section_of(reader, section);
	struct inifile_entry *entry = find_entry(file, index, key);
	AUTO_TEXT text = { 0 };
	bool continues = reader->continues && reader->open;
	reader->open = true;
	if (!*key)
		return fail(reader, "a value without a key");
	if (entry && !continues) {
		text_addf(&text, "'%s' is already set in line %u", key, entry->line);
		return fail(reader, text_string(&text));
	}
	if (entry) {
		char *more = copy(value);
		cut_remark(more);
		extend(&entry->value, " ", more);
		extend(&entry->lines, "\n", more);
		free(more);
		return 1;
	}
	if (file->entries_count == ENTRIES_MAX)
		return fail(reader, "the file has too many keys");
	file->entries = grow(file->entries, file->entries_count, sizeof(*file->entries));
	file->entries[file->entries_count++] = (struct inifile_entry){ .key = copy(key),
								       .value = copy(value),
								       .lines = copy(value),
								       .section = index,
								       .line = reader->line };
	return 1;
}

int inifile_parse(struct inifile *file, const char *path, const char *text, size_t count,
		  struct error *err)
{
	static const char mark[] = "\xef\xbb\xbf"; /* some editors put it before the first line */
	size_t skipped =
		count >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
	*file = (struct inifile){ .path = copy(path) };
	struct reader reader = {
		.file = file, .next = text + skipped, .end = text + count, .err = err
	};
	int bad_line = ini_parse_stream(fetch_line, &reader, on_value, &reader);
	if (!reader.failed && bad_line == 0)
		return 0;
	if (!reader.failed && bad_line > 0)
		error_set(err, ERROR_CONFIG, 0, "%s:%d: neither a section nor key = value", path,
			  bad_line);
	if (!reader.failed && bad_line < 0)
		error_set(err, ERROR_SYSTEM, 0, "%s: out of memory", path);
	inifile_free(file);
	return -1;
}

void inifile_free(struct inifile *file)
{
	for (size_t i = 0; i < file->sections_count; i++)
		free(file->sections[i].name);
	for (size_t i = 0; i < file->entries_count; i++) {
		free(file->entries[i].key);
		free(file->entries[i].value);
		free(file->entries[i].lines);
	}
	free(file->sections);
	free(file->entries);
	free(file->path);
	*file = (struct inifile){ 0 };
}

int inifile_error_at(const struct inifile *file, unsigned line, struct error *err)
{
	return error_wrap(err, "%s:%u", file->path, line);
}

int inifile_unknown(const struct inifile *file, unsigned line, const char *what, const char *word,
		    const char *const *known, struct error *err)
{
	AUTO_TEXT message = { 0 };
	const char *near = text_nearest_in(word, known);
	text_addf(&message, "unknown %s '%s'", what, word);
	if (near)
		text_addf(&message, ": did you mean '%s'?", near);
	for (size_t i = 0; !near && known[i]; i++)
		text_addf(&message, "%s%s", i ? ", " : ": known are ", known[i]);
	error_set(err, ERROR_CONFIG, 0, "%s", text_string(&message));
	return inifile_error_at(file, line, err);
}
