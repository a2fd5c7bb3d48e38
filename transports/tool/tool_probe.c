#include "transports/tool/tool_probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/api/program.h"
#include "harness/api/session.h"
#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/said.h"
#include "harness/base/text.h"
#include "transports/tool/tool_expand.h"
#include "transports/tool/tool_process.h"

#define PROBE_BYTES (64u << 10)

/* Where programs of this end are searched, in words for messages: what is not there is not found,
 * whoever else has it. */
struct place {
	const char *path; /* as PATH */
	const char *of;   /* "" for our own */
};

/* A program whose name is known only in a run is not looked for. */
static int need_program(const char *name, const struct place *place, struct probe *probe,
			struct error *err)
{
	if (strchr(name, '{'))
		return 0;
	AUTO_FREE char *found = NULL;
	if (strchr(name, '/'))
		found = child_find_program(name, NULL);
	else
		found = child_find_in(place->path, name);
	if (found) {
		program_add(probe, name, found, NULL, place->path);
		return 0;
	}
	AUTO_FREE char *elsewhere = child_find_program(name, NULL);
	if (!elsewhere || !place->of[0])
		return error_set(err, ERROR_UNAVAILABLE, ENOENT, "%s: not found%s", name,
				 place->of);
	return error_set(err, ERROR_UNAVAILABLE, ENOENT,
			 "%s: not found%s, whose PATH is %s; %s is on your own PATH only", name,
			 place->of, place->path, elsewhere);
}

static int need_command(char **command, const struct place *place, struct probe *probe,
			struct error *err)
{
	return command ? need_program(command[0], place, probe, err) : 0;
}

static bool is_among(char **names, const char *name)
{
	for (; names && *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* Servers among them are not started by a session. */
static int need_all(const struct tool_file *file, char **names, const struct place *place,
		    struct probe *probe, struct error *err)
{
	for (; names && *names; names++)
		if (!is_among(file->needs, *names) && need_program(*names, place, probe, err) < 0)
			return -1;
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

static int run_probe(const struct tool_file *file, const struct place *place,
		     const struct probe *probe, struct text *output, struct error *err)
{
	const struct io_limit limit = program_limit(probe);
	AUTO_TEXT path = { 0 };
	AUTO_WORDS words = { 0 };
	AUTO_FREE char *program = strchr(file->probe[0], '/')
					  ? child_find_program(file->probe[0], NULL)
					  : child_find_in(place->path, file->probe[0]);
	text_addf(&path, "PATH=%s", place->path);
	const char *const environment[] = { "LC_ALL=C", text_string(&path), NO_HOME, NULL };
	if (!program)
		return error_set(err, ERROR_UNAVAILABLE, ENOENT, "%s: not found%s", file->probe[0],
				 place->of);
	for (char **word = file->probe; *word; word++)
		if (tool_words_add(&words, word == file->probe ? program : *word, err) < 0)
			return -1;
	const struct child_spec spec = { .argv = (const char *const *)words.items,
					 .env = environment,
					 .input = -1 };
	struct error own = { 0 };
	int status = 0;
	if (child_capture(&spec, &limit, PROBE_BYTES, output, &status, &own) < 0)
		return own.kind == ERROR_TIMEOUT
			       ? error_set(err, ERROR_UNAVAILABLE, 0,
					   "probe: %s: it did not end within its limit of %d s",
					   file->probe[0], PROGRAM_LIMIT_S)
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

/* The tool's version at this end. The probe's program need not be one of those that run here: the
 * tool itself need not, at the listening end. */
static int find_version(const struct tool_file *file, const regex_t *pattern,
			const struct place *place, struct probe *probe, struct error *err)
{
	AUTO_TEXT output = { 0 };
	if (!file->probe)
		return 0;
	if (run_probe(file, place, probe, &output, err) < 0)
		return -1;
	return pattern ? take_version(pattern, text_string(&output), probe, err) : 0;
}

/* What its own file asks is the version of the program that it names. */
static void give_version(const struct tool_file *file, struct probe *probe)
{
	for (size_t i = 0; file->probe && i < probe->program_count; i++)
		if (strcmp(probe->programs[i].name, child_program_name(file->probe[0])) == 0 &&
		    probe->version[0])
			text_copy(probe->programs[i].version, sizeof(probe->programs[i].version),
				  probe->version);
}

static int probe_driver(const struct tool_file *file, const regex_t *pattern, struct probe *probe,
			struct error *err)
{
	AUTO_FREE char *path = child_search_path();
	const struct place here = { .path = path, .of = "" };
	if (need_command(file->run, &here, probe, err) < 0 ||
	    need_command(file->into, &here, probe, err) < 0 ||
	    need_all(file, file->programs, &here, probe, err) < 0)
		return -1;
	if (probe->program_count > 0)
		text_copy(probe->path, sizeof(probe->path), probe->programs[0].path);
	return find_version(file, pattern, &here, probe, err);
}

static bool runs_here(const struct tool_file *file)
{
	char **const commands[] = { file->serve, file->serve_into };
	if (!file->probe)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i] && strcmp(commands[i][0], file->probe[0]) == 0)
			return true;
	return is_among(file->far_programs, file->probe[0]);
}

/* A session of the private server runs what this end needs, with the PATH of a session. */
static int probe_session(const struct tool_file *file, const regex_t *pattern, struct probe *probe,
			 struct error *err)
{
	const struct io_limit limit = program_limit(probe);
	AUTO_TEXT path = { 0 };
	struct place there = { .of = " in a session of the private SSH server" };
	bool any = false;
	for (char **name = file->far_programs; name && *name; name++)
		any = any || !is_among(file->needs, *name);
	if (any && session_find_path(&limit, &path, err) < 0)
		return -1;
	there.path = text_string(&path);
	if (need_all(file, file->far_programs, &there, probe, err) < 0 ||
	    (any && runs_here(file) && find_version(file, pattern, &there, probe, err) < 0))
		return -1;
	for (char **name = file->needs; *name; name++)
		program_add_service(probe, *name);
	return 0;
}

static int probe_listener(const struct tool_file *file, const regex_t *pattern, struct probe *probe,
			  struct error *err)
{
	AUTO_FREE char *path = child_search_path();
	const struct place here = { .path = path, .of = "" };
	if (file->needs && file->needs[0])
		return probe_session(file, pattern, probe, err);
	if (need_command(file->serve, &here, probe, err) < 0 ||
	    need_command(file->serve_into, &here, probe, err) < 0 ||
	    need_all(file, file->far_programs, &here, probe, err) < 0)
		return -1;
	if (runs_here(file))
		return find_version(file, pattern, &here, probe, err);
	AUTO_TEXT server = { 0 };
	if (probe->program_count > 0 && probe->programs[0].version[0])
		text_addf(&server, "%s %s", probe->programs[0].name, probe->programs[0].version);
	text_copy(probe->version, sizeof(probe->version), text_string(&server));
	return 0;
}

int tool_probe(const struct tool_file *file, const regex_t *pattern, struct probe *probe,
	       struct error *err)
{
	probe->version[0] = probe->path[0] = '\0';
	probe->program_count = 0;
	int result = probe->side == file->driver ? probe_driver(file, pattern, probe, err)
						 : probe_listener(file, pattern, probe, err);
	give_version(file, probe);
	return result;
}
