#include "harness/study/study_ciphers.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "transports/catalog.h"

#define ASK_S       10.0
#define ANSWER_MAX  65536
#define LIST_MARKS  "-^"    /* OpenSSH: the list changes the default one; so does a + */
#define SEPARATORS  ",+ \t" /* of lists and, the blanks, of lists in a sweep */
#define PLACEHOLDER "*?"

/* Of RFC 4253, 4344, 4345 and 6668, and those that OpenSSH and libssh2 added. */
static const char *const ciphers[] = { "aes128-ctr",
				       "aes192-ctr",
				       "aes256-ctr",
				       "aes128-gcm@openssh.com",
				       "aes256-gcm@openssh.com",
				       "chacha20-poly1305@openssh.com",
				       "aes128-cbc",
				       "aes192-cbc",
				       "aes256-cbc",
				       "rijndael-cbc@lysator.liu.se",
				       "3des-cbc",
				       "blowfish-cbc",
				       "cast128-cbc",
				       "arcfour",
				       "arcfour128",
				       "arcfour256",
				       "none",
				       "tool-default",
				       NULL };
static const char *const macs[] = { "hmac-sha2-256",
				    "hmac-sha2-512",
				    "hmac-sha2-256-etm@openssh.com",
				    "hmac-sha2-512-etm@openssh.com",
				    "umac-64@openssh.com",
				    "umac-128@openssh.com",
				    "umac-64-etm@openssh.com",
				    "umac-128-etm@openssh.com",
				    "hmac-sha1",
				    "hmac-sha1-96",
				    "hmac-sha1-etm@openssh.com",
				    "hmac-sha1-96-etm@openssh.com",
				    "hmac-md5",
				    "hmac-md5-96",
				    "hmac-md5-etm@openssh.com",
				    "hmac-md5-96-etm@openssh.com",
				    "hmac-ripemd160",
				    "hmac-ripemd160@openssh.com",
				    "none",
				    "tool-default",
				    NULL };

static const struct kind {
	const char *key, *shown;
	const char *const *known;
} kinds[] = {
	{ "cipher", "cipher", ciphers },
	{ "mac", "MAC", macs },
};

static bool is_among(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

/* A name may be newer than the lists above. Without OpenSSH there is nobody to ask: let it pass. */
static bool openssh_has(const struct kind *kind, const char *name)
{
	const char *argv[] = { "ssh", "-Q", kind->key, NULL };
	const struct child_spec spec = { .argv = argv, .input = -1 };
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(ASK_S) };
	AUTO_TEXT answer = { 0 };
	int status = 0;
	if (child_capture(&spec, &limit, ANSWER_MAX, &answer, &status, NULL) < 0 || status != 0)
		return true;
	AUTO_FREE char *lines = text_take(&answer);
	for (char *save = NULL, *line = lines ? strtok_r(lines, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		if (strcmp(line, name) == 0)
			return true;
	return false;
}

static int check_list(const struct kind *kind, const struct study_setting *setting,
		      struct error *err)
{
	AUTO_FREE char *list = strdup(setting->value);
	if (!list)
		abort();
	for (char *save = NULL, *name = strtok_r(list, SEPARATORS, &save); name;
	     name = strtok_r(NULL, SEPARATORS, &save)) {
		name += strspn(name, LIST_MARKS);
		if (!*name || strpbrk(name, PLACEHOLDER) || is_among(name, kind->known) ||
		    openssh_has(kind, name))
			continue;
		const char *near = text_nearest_in(name, kind->known);
		if (near)
			error_set(err, ERROR_CONFIG, 0, "unknown %s '%s': did you mean '%s'?",
				  kind->shown, name, near);
		else
			error_set(err, ERROR_CONFIG, 0, "unknown %s '%s': `ssh -Q %s` shows them",
				  kind->shown, name, kind->key);
		return error_wrap(err, "%s", setting->where);
	}
	return 0;
}

/* Is this key such a list? In a case: when its transport has an SSH server, and takes names. */
static bool is_list(const struct study_input *input, const struct study_setting *setting)
{
	if (strcmp(setting->section, "ssh") == 0)
		return true;
	const struct study_setting *chosen = study_input_find(input, setting->section, "transport");
	const struct transport *transport = chosen ? catalog_transport(chosen->value, NULL) : NULL;
	if (!transport || !transport->needs)
		return false;
	const struct option_def *def = option_find(transport->options, setting->key);
	return def && (def->type == OPTION_LIST || def->type == OPTION_TEXT);
}

/* The known name that is this one with "@..." behind it, or NULL. */
static const char *whole_name(const char *const *known, const char *name, size_t length)
{
	for (; *known; known++)
		if (strncmp(*known, name, length) == 0 && (*known)[length] == '@')
			return *known;
	return NULL;
}

static char *lengthen(const struct kind *kind, const char *list)
{
	AUTO_TEXT whole = { 0 };
	while (*list) {
		size_t between = strspn(list, SEPARATORS LIST_MARKS);
		text_add_bytes(&whole, list, between);
		list += between;
		size_t length = strcspn(list, SEPARATORS);
		AUTO_FREE char *name = strndup(list, length);
		if (!name)
			abort();
		const char *known =
			is_among(name, kind->known) ? NULL : whole_name(kind->known, name, length);
		text_add(&whole, known ? known : name);
		list += length;
	}
	char *taken = text_take(&whole);
	return taken ? taken : calloc(1, 1);
}

void study_lengthen_ciphers(struct study_input *input)
{
	for (size_t i = 0; i < input->count; i++) {
		struct study_setting *setting = &input->settings[i];
		for (size_t j = 0; j < ARRAY_SIZE(kinds); j++) {
			if (strcmp(setting->key, kinds[j].key) != 0 || !is_list(input, setting))
				continue;
			char *whole = lengthen(&kinds[j], setting->value);
			if (!whole)
				abort();
			free(setting->value);
			setting->value = whole;
		}
	}
}

int study_check_ciphers(const struct study_input *input, struct error *err)
{
	for (size_t i = 0; i < input->count; i++) {
		const struct study_setting *setting = &input->settings[i];
		for (size_t j = 0; j < ARRAY_SIZE(kinds); j++)
			if (strcmp(setting->key, kinds[j].key) == 0 && is_list(input, setting) &&
			    check_list(&kinds[j], setting, err) < 0)
				return -1;
	}
	return 0;
}
