#include "harness/base/said.h"

#include <errno.h>
#include <string.h>

#include "harness/base/cleanup.h"

#define SAID_BYTES 200

static void add_escaped(const char *bytes, size_t length, struct text *to)
{
	AUTO_TEXT copy = { 0 };
	char shown[4 * SAID_BYTES + 1];
	text_add_bytes(&copy, bytes, length);
	text_escape_terminal(shown, sizeof(shown), text_string(&copy));
	text_add(to, shown);
}

/* Adds one line of output, escaped. A long one loses its middle: who speaks stands at its start,
 * and what is wrong at its end. */
static void add_line(const char *separator, const char *line, size_t length, struct text *to)
{
	text_add(to, separator);
	if (length <= SAID_BYTES) {
		add_escaped(line, length, to);
		return;
	}
	add_escaped(line, SAID_BYTES / 2, to);
	text_add(to, "[...]");
	add_escaped(line + length - SAID_BYTES / 2, SAID_BYTES / 2, to);
}

/* What the system says when a copy fails for a reason that lies outside of the tool; tools run in
 * the C locale. */
static bool has_reason(const char *line, size_t length)
{
	static const int reasons[] = { ENOSPC, EDQUOT, EACCES, EPERM, EROFS, EIO, EFBIG, EMFILE };
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		const char *text = strerrordesc_np(reasons[i]);
		if (memmem(line, length, text, strlen(text)))
			return true;
	}
	return false;
}

/* The last line of so many bytes that has one; NULL: none. */
static const char *find_reason(const char *text, size_t size, size_t *length)
{
	const char *found = NULL;
	for (size_t at = 0; at < size; at++) {
		size_t n = strcspn(text + at, "\r\n");
		if (has_reason(text + at, n)) {
			found = text + at;
			*length = n;
		}
		at += n;
	}
	return found;
}

void said_add(const char *output, bool cut, struct text *to)
{
	static const char blanks[] = "\r\n\t ";
	const char *first = output + strspn(output, blanks);
	size_t end = strlen(first);
	while (end && strchr(blanks, first[end - 1]))
		end--;
	size_t last = end;
	while (last && !strchr("\r\n", first[last - 1]))
		last--;
	if (end == 0)
		return;
	size_t length = strcspn(first, "\r\n");
	const char *head = last > 0 && !cut ? first : NULL;
	if (!has_reason(first + last, end - last) && !(head && has_reason(head, length))) {
		size_t skipped = cut ? length : 0;
		const char *reason =
			find_reason(first + skipped, last > skipped ? last - skipped : 0, &length);
		head = reason ? reason : head;
	}
	if (head)
		add_line(": ", head, length, to);
	add_line(head ? " ... " : ": ", first + last, end - last, to);
}

void said_mask(char *text, const char *secret)
{
	static const char mask[] = "[secret]";
	size_t length = secret ? strlen(secret) : 0;
	if (length < strlen(mask))
		return;
	for (char *found = text; (found = strstr(found, secret));) {
		memcpy(found, mask, strlen(mask));
		found += strlen(mask);
		memmove(found, found + length - strlen(mask),
			strlen(found + length - strlen(mask)) + 1);
	}
}
