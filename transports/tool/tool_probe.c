#include "transports/tool/tool_probe.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/io.h"
#include "harness/base/said.h"
#include "harness/base/text.h"
#include "transports/tool/tool_expand.h"
#include "transports/tool/tool_process.h"

#define PROBE_SECONDS 5 /* where nobody says how long */
#define PROBE_BYTES   (64u << 10)

/* found may be NULL. A program whose name is known only in a run is not looked for. */
static int need_program(char **command, struct probe *found, struct error *err)
{
	if (!command || strchr(command[0], '{'))
		return 0;
	AUTO_FREE char *path = child_find_program(command[0], err);
	if (!path)
		return -1;
	if (found)
		text_copy(found->path, sizeof(found->path), path);
	return 0;
}

static int need_all(char **names, struct error *err)
{
	for (; names && *names; names++) {
		char *command[] = { *names, NULL };
		if (need_program(command, NULL, err) < 0)
			return -1;
	}
	return 0;
}

static int take_version(const regex_t *pattern, const char *output, struct probe *probe,
			struct error *err)
{
	regmatch_t match[2];
	if (regexec(pattern, output, 2, match, 0) == 0 && match[1].rm_so >= 0) {
		AUTO_TEXT version = { 0 };
		text_add_bytes(&version, output + match[1].rm_so,
			       (size_t)(match[1].rm_eo - match[1].rm_so));
		text_escape_terminal(probe->version, sizeof(probe->version), text_string(&version));
		return 0;
	}
	AUTO_TEXT said = { 0 };
	said_add(output, false, &said);
	return error_set(err, ERROR_UNAVAILABLE, 0,
			 "the version pattern does not match what the probe printed%s",
			 text_string(&said));
}

/* Some programs make their folders at home also when they are only asked for their version. Nobody
 * can make one in here, root included, and it need not be removed. */
#define NO_HOME "HOME=/dev/null"

static int run_probe(const struct tool_file *file, const struct probe *probe, struct text *output,
		     struct error *err)
{
	const struct io_limit limit = { .deadline_ns = probe->deadline_ns
							       ? probe->deadline_ns
							       : clock_deadline_ns(PROBE_SECONDS) };
	AUTO_WORDS environment = { 0 };
	AUTO_WORDS words = { 0 };
	for (char **word = file->probe; *word; word++)
		if (tool_words_add(&words, *word, err) < 0)
			return -1;
	if (tool_probe_environment(&environment, err) < 0 ||
	    tool_words_add(&environment, NO_HOME, err) < 0 ||
	    tool_words_find_program(&words, err) < 0)
		return -1;
	const struct child_spec spec = { .argv = (const char *const *)words.items,
					 .env = (const char *const *)environment.items,
					 .input = -1 };
	struct error own = { 0 };
	int status = 0;
	if (child_capture(&spec, &limit, PROBE_BYTES, output, &status, &own) < 0)
		return own.kind == ERROR_TIMEOUT
			       ? error_set(err, ERROR_UNAVAILABLE, 0,
					   "probe: %s: it did not end within its limit of %d s",
					   file->probe[0], PROBE_SECONDS)
			       : error_set(err, ERROR_UNAVAILABLE, own.code, "probe: %s",
					   own.message);
	if (status == 0)
		return 0;
	char text[64];
	AUTO_TEXT said = { 0 };
	said_add(text_string(output), false, &said);
	return error_set(err, ERROR_UNAVAILABLE, 0, "probe %s: %s%s", file->probe[0],
			 child_status_text(status, text, sizeof(text)), text_string(&said));
}

int tool_probe(const struct tool_file *file, const regex_t *pattern, struct probe *probe,
	       struct error *err)
{
	probe->version[0] = probe->path[0] = '\0';
	if (need_program(file->run, probe, err) < 0 || need_program(file->into, NULL, err) < 0 ||
	    need_program(file->serve, NULL, err) < 0)
		return -1;
	if (need_all(file->programs, err) < 0 || need_all(file->far_programs, err) < 0 ||
	    need_program(file->serve_into, NULL, err) < 0)
		return -1;
	if (!file->probe)
		return 0;
	AUTO_TEXT output = { 0 };
	if (run_probe(file, probe, &output, err) < 0)
		return -1;
	return pattern ? take_version(pattern, text_string(&output), probe, err) : 0;
}
