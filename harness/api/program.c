#include "harness/api/program.h"

#include <string.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/io.h"

#define SAID_BYTES 4096

/* Those that say their version when asked so; it follows the mark. */
static const struct {
	const char *name, *flag, *mark;
} known[] = {
	{ "ssh", "-V", "OpenSSH_" },          { "sshd", "-V", "OpenSSH_" },
	{ "hpnssh", "-V", "OpenSSH_" },       { "hpnsshd", "-V", "OpenSSH_" },
	{ "nginx", "-v", "nginx/" },          { "proftpd", "-v", "ProFTPD Version " },
	{ "rsync", "--version", "version " }, { "tar", "--version", ") " },
	{ "cat", "--version", ") " },         { "md5sum", "--version", ") " },
	{ "socat", "-V", "socat version " },
};

struct io_limit program_limit(const struct probe *probe)
{
	return (struct io_limit){ .deadline_ns = probe->deadline_ns
							 ? probe->deadline_ns
							 : clock_deadline_ns(PROGRAM_LIMIT_S) };
}

/* Some exit with a failure when they are asked. "" when it does not say. */
static void ask_version(const struct probe *probe, struct probe_program *program,
			const char *path_variable)
{
	const struct io_limit limit = program_limit(probe);
	AUTO_TEXT path = { 0 };
	text_addf(&path, "PATH=%s", path_variable);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		const char *const env[] = { text_string(&path), "HOME=/dev/null", "LC_ALL=C",
					    NULL };
		const char *const argv[] = { program->path, known[i].flag, NULL };
		const struct child_spec spec = { .argv = argv, .env = env, .input = -1 };
		AUTO_TEXT output = { 0 };
		int status = 0;
		if (strcmp(known[i].name, program->name) != 0 ||
		    child_capture(&spec, &limit, SAID_BYTES, &output, &status, NULL) < 0)
			continue;
		const char *said = strstr(text_string(&output), known[i].mark);
		if (!said)
			continue;
		said += strlen(known[i].mark);
		AUTO_TEXT word = { 0 };
		text_add_bytes(&word, said, strcspn(said, " ,\r\n"));
		text_escape_terminal(program->version, sizeof(program->version),
				     text_string(&word));
	}
}

void program_add(struct probe *probe, const char *name, const char *path, const char *version,
		 const char *path_variable)
{
	for (size_t i = 0; i < probe->program_count; i++)
		if (strcmp(probe->programs[i].path, path) == 0)
			return;
	/* A path that is cut would be another program's. */
	if (probe->program_count == PROBE_PROGRAMS_MAX ||
	    strlen(path) >= sizeof(probe->programs[0].path))
		return;
	struct probe_program *program = &probe->programs[probe->program_count++];
	*program = (struct probe_program){ 0 };
	text_copy(program->name, sizeof(program->name), child_program_name(name));
	text_copy(program->path, sizeof(program->path), path);
	if (version)
		text_copy(program->version, sizeof(program->version), version);
	else
		ask_version(probe, program, path_variable);
}

void program_add_service(struct probe *probe, const char *name)
{
	AUTO_FREE char *path = child_find_program(name, NULL);
	AUTO_FREE char *search = child_search_path();
	size_t before = probe->program_count;
	if (!path)
		return;
	program_add(probe, name, path, NULL, search);
	if (probe->version[0] || probe->program_count == before)
		return;
	AUTO_TEXT version = { 0 };
	text_addf(&version, "%s%s%s", name, probe->programs[before].version[0] ? " " : "",
		  probe->programs[before].version);
	text_copy(probe->version, sizeof(probe->version), text_string(&version));
}
