#include "harness/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"

#define DIGITS "0123456789"

static void text_reserve(struct text *text, size_t more)
{
	size_t need = text->length + more + 1;
	if (need <= text->capacity)
		return;
	size_t capacity = text->capacity ? text->capacity : 64;
	while (capacity < need)
		capacity *= 2;
	char *data = realloc(text->data, capacity);
	if (!data)
		abort();
	text->data = data;
	text->capacity = capacity;
}

void text_add_bytes(struct text *text, const void *bytes, size_t count)
{
	text_reserve(text, count);
	if (count)
		memcpy(text->data + text->length, bytes, count);
	text->length += count;
	text->data[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
	text_add_bytes(text, string, strlen(string));
}

void text_addf(struct text *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0)
		return;
	text_reserve(text, (size_t)length);
	va_start(args, format);
	vsnprintf(text->data + text->length, (size_t)length + 1, format, args);
	va_end(args);
	text->length += (size_t)length;
}

const char *text_string(const struct text *text)
{
	return text->data ? text->data : "";
}

char *text_take(struct text *text)
{
	if (!text->data)
		text_add(text, "");
	char *data = text->data;
	*text = (struct text){ 0 };
	return data;
}

void text_free(struct text *text)
{
	free(text->data);
	*text = (struct text){ 0 };
}

void text_copy(char *to, size_t size, const char *from)
{
	if (size == 0)
		return;
	size_t length = strnlen(from, size - 1);
	memmove(to, from, length);
	to[length] = '\0';
}

size_t text_utf8_length(const char *string)
{
	const unsigned char *s = (const unsigned char *)string;
	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
	if (length == 0 || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if (length == 2 && s[0] == 0xc2 && s[1] < 0xa0) /* C1 controls */
		return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return length;
}

void text_escape_terminal(char *to, size_t size, const char *from)
{
	size_t used = 0;
	if (size == 0)
		return;
	for (const char *s = from; *s;) {
		char piece[8];
		size_t length = text_utf8_length(s);
		size_t taken = length ? length : 1;
		if (length)
			memcpy(piece, s, length);
		else
			length = (size_t)snprintf(piece, sizeof(piece), "\\x%02x",
						  (unsigned char)*s);
		if (used + length >= size)
			break;
		memcpy(to + used, piece, length);
		used += length;
		s += taken;
	}
	to[used] = '\0';
}

char *text_shown(const char *from, size_t most)
{
	size_t size = 4 * strlen(from) + 1; /* every byte may become \xNN */
	size = most < size - 1 ? most + 1 : size;
	char *shown = malloc(size);
	if (!shown)
		abort();
	text_escape_terminal(shown, size, from);
	return shown;
}

char *text_trim(char *string)
{
	while (isspace((unsigned char)*string))
		string++;
	size_t length = strlen(string);
	while (length && isspace((unsigned char)string[length - 1]))
		string[--length] = '\0';
	return string;
}

bool text_to_u64(const char *string, uint64_t *value)
{
	if (!isdigit((unsigned char)string[0]))
		return false;
	char *end = NULL;
	errno = 0;
	unsigned long long number = strtoull(string, &end, 10);
	if (errno || *end)
		return false;
	*value = number;
	return true;
}

bool text_to_double(const char *string, double *value)
{
	if (!isdigit((unsigned char)string[0]) && string[0] != '-' && string[0] != '.')
		return false;
	char *end = NULL;
	errno = 0;
	double number = strtod(string, &end);
	if (errno || end == string || *end || !isfinite(number) || strpbrk(string, "xX"))
		return false;
	*value = number;
	return true;
}

struct unit {
	const char *suffix;
	double factor;
};

/* "12", "1.5", ".5": how many bytes of the string, 0 for none. */
static size_t number_length(const char *string)
{
	size_t whole = strspn(string, DIGITS);
	size_t part = string[whole] == '.' ? strspn(string + whole + 1, DIGITS) : 0;
	return whole + (part ? part + 1 : 0);
}

/* units ends with a NULL suffix. *unit is the one that was found; no unit is one, too. */
static bool number_with_unit(const char *string, const struct unit *units, double *number,
			     const struct unit **unit)
{
	char digits[64];
	size_t length = number_length(string);
	if (length == 0 || length >= sizeof(digits))
		return false;
	memcpy(digits, string, length);
	digits[length] = '\0';
	*number = strtod(digits, NULL);
	const char *suffix = string + length + strspn(string + length, " ");
	if (!*suffix && string[length])
		return false;
	for (*unit = units; (*unit)->suffix; ++*unit)
		if (strcmp(suffix, (*unit)->suffix) == 0)
			return true;
	return false;
}

bool text_to_number(const char *string, double *value)
{
	static const struct unit none[] = { { "", 1 }, { NULL, 0 } };
	const struct unit *unit = NULL;
	double number = 0;
	if (!number_with_unit(string, none, &number, &unit))
		return false;
	*value = number;
	return true;
}

bool text_to_bytes(const char *string, uint64_t *value)
{
	static const struct unit units[] = {
		{ "", 1 },         { "B", 1 },        { "K", 0x1p10 },   { "M", 0x1p20 },
		{ "G", 0x1p30 },   { "T", 0x1p40 },   { "KiB", 0x1p10 }, { "MiB", 0x1p20 },
		{ "GiB", 0x1p30 }, { "TiB", 0x1p40 }, { "kB", 1e3 },     { "KB", 1e3 },
		{ "MB", 1e6 },     { "GB", 1e9 },     { "TB", 1e12 },    { NULL, 0 },
	};
	const struct unit *unit = NULL;
	double number = 0;
	if (text_to_u64(string, value))
		return true;
	if (!number_with_unit(string, units, &number, &unit))
		return false;
	double bytes = number * unit->factor;
	if (!(bytes < 0x1p63) || (unit->factor == 1 && bytes != floor(bytes)))
		return false;
	*value = (uint64_t)(bytes + 0.5);
	return true;
}

bool text_to_seconds(const char *string, double *value)
{
	static const struct unit units[] = {
		{ "", 1 },     { "s", 1 },    { "ms", 1e-3 }, { "m", 60 },
		{ "min", 60 }, { "h", 3600 }, { NULL, 0 },
	};
	const struct unit *unit = NULL;
	double number = 0;
	if (!number_with_unit(string, units, &number, &unit))
		return false;
	*value = unit->factor < 1 ? number / 1000 : number * unit->factor;
	return true;
}

bool text_to_bits_per_s(const char *string, double *value)
{
	static const struct unit units[] = {
		{ "", 1 },         { "bit/s", 1 },    { "k", 1e3 },      { "M", 1e6 }, { "G", 1e9 },
		{ "kbit/s", 1e3 }, { "Mbit/s", 1e6 }, { "Gbit/s", 1e9 }, { NULL, 0 },
	};
	const struct unit *unit = NULL;
	double number = 0;
	if (!number_with_unit(string, units, &number, &unit))
		return false;
	*value = number * unit->factor;
	return true;
}

const char *text_from_bytes(char *to, size_t size, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double number = (double)bytes;
	size_t unit = 0;
	while (number >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		number /= 1024;
		unit++;
	}
	snprintf(to, size, unit == 0 ? "%.0f %s" : "%.1f %s", number, units[unit]);
	return to;
}

#define NEAREST_MAX 48

/* Levenshtein distance; words longer than NEAREST_MAX are never near. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[NEAREST_MAX + 1];
	size_t a_length = strlen(a);
	size_t b_length = strlen(b);
	if (a_length > NEAREST_MAX || b_length > NEAREST_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t cost = diagonal + (a[i - 1] != b[j - 1]);
			diagonal = row[j];
			if (row[j] + 1 < cost)
				cost = row[j] + 1;
			if (row[j - 1] + 1 < cost)
				cost = row[j - 1] + 1;
			row[j] = cost;
		}
	}
	return row[b_length];
}

const char *text_nearest(const char *word, const char *(*next)(const void *context, size_t i),
			 const void *context)
{
	const char *best = NULL;
	size_t best_distance = strlen(word) / 2 + 1;
	for (size_t i = 0;; i++) {
		const char *candidate = next(context, i);
		if (!candidate)
			return best;
		size_t distance = edit_distance(word, candidate);
		if (distance < best_distance || (distance == best_distance && !best)) {
			best = candidate;
			best_distance = distance;
		}
	}
}

static const char *word_at(const void *context, size_t i)
{
	return ((const char *const *)context)[i];
}

const char *text_nearest_in(const char *word, const char *const *words)
{
	return text_nearest(word, word_at, words);
}

/* One pass of the word splitter: counts words, and writes them when words is not NULL. Returns -1
 * on an open quote. */
static ssize_t split_pass(const char *line, char **words, char *bytes)
{
	ssize_t count = 0;
	const char *s = line;
	for (;;) {
		while (isspace((unsigned char)*s))
			s++;
		if (!*s)
			return count;
		if (words)
			words[count] = bytes;
		count++;
		char quote = 0;
		for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
			if (quote && *s == quote)
				quote = 0;
			else if (!quote && (*s == '"' || *s == '\''))
				quote = *s;
			else if (words)
				*bytes++ = *s;
		}
		if (quote)
			return -1;
		if (words)
			*bytes++ = '\0';
	}
}

char **text_split_words(const char *line, struct error *err)
{
	ssize_t count = split_pass(line, NULL, NULL);
	if (count < 0) {
		error_set(err, ERROR_CONFIG, 0, "open quote in: %s", line);
		return NULL;
	}
	size_t pointers = ((size_t)count + 1) * sizeof(char *);
	char **words = calloc(1, pointers + strlen(line) + 2);
	if (!words)
		abort();
	split_pass(line, words, (char *)words + pointers);
	return words;
}
