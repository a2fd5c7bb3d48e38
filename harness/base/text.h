/* Growing strings, escaping for terminals, number and word helpers. */
#ifndef LINEFILL_BASE_TEXT_H
#define LINEFILL_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/error.h"

/* A growing, always NUL-terminated string. Starts as { 0 }; text_free releases it. Out of memory
 * ends the process. */
struct text {
	char *data; /* NULL while empty */
	size_t length;
	size_t capacity;
};

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t count);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The string so far, "" when empty; valid until the next call. */
const char *text_string(const struct text *text);
/* Hands the string to the caller, who frees it; text is empty again. */
char *text_take(struct text *text);
void text_free(struct text *text);
#define AUTO_TEXT __attribute__((cleanup(text_free))) struct text

/* Copies with truncation; always terminated when size > 0. */
void text_copy(char *to, size_t size, const char *from);
/* Length in bytes of the well-formed UTF-8 sequence at the string's start that is safe to show, or
 * 0. */
size_t text_utf8_length(const char *string);
/* Control bytes, DEL and invalid UTF-8 become \xNN, so that a name cannot drive a terminal. */
void text_escape_terminal(char *to, size_t size, const char *from);
/* The same as a new string, as long as it takes, but at most most bytes: cut between characters.
 * The caller frees. */
char *text_shown(const char *from, size_t most);
/* White space cut from both ends, in place; returns the start. */
char *text_trim(char *string);

/* Range-checked, whole-string parsers; they return false and leave *value alone when the string
 * does not fit. */
bool text_to_u64(const char *string, uint64_t *value);
/* As programs write it: with a sign and an exponent, if they like; never hexadecimal. */
bool text_to_double(const char *string, double *value);
/* What users write is one grammar everywhere: decimal digits, where a part is possible with a point
 * among them; no sign, no exponent, no 0x; then the unit, with or without a blank before it. */
bool text_to_number(const char *string, double *value);
/* "64KiB", "1.5 GiB", "10MB", "4096B", "4096": binary for KiB MiB GiB TiB (and K M G T alone),
 * decimal for kB MB GB TB. Bytes are whole. */
bool text_to_bytes(const char *string, uint64_t *value);
/* "90", "90s", "1.5 s", "250ms", "5m", "5min", "2h". */
bool text_to_seconds(const char *string, double *value);
/* "1000000", "2.5Gbit/s", "100 Mbit/s", "10G": decimal. */
bool text_to_bits_per_s(const char *string, double *value);
/* "4.0 KiB", "1.2 GiB" ...; returns to. */
const char *text_from_bytes(char *to, size_t size, uint64_t bytes);

/* The candidate nearest to word by edit distance, or NULL when none is near enough to be a slip.
 * next(context, i) returns the i-th candidate, NULL past the end. */
const char *text_nearest(const char *word, const char *(*next)(const void *context, size_t i),
			 const void *context);
/* The same over an array of strings that ends with NULL. */
const char *text_nearest_in(const char *word, const char *const *words);

/* A command template split once into words: blanks separate, "..." and '...' group, no other rule;
 * no shell is involved. Returns a NULL-terminated array in one allocation (free() it), or NULL with
 * an error for an open quote. */
char **text_split_words(const char *line, struct error *err) MUST_CHECK;

#endif
