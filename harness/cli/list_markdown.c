#include "harness/cli/list_markdown.h"

#include <stdlib.h>
#include <string.h>

#include "harness/api/transport.h"
#include "harness/base/cleanup.h"
#include "transports/registry.h"
#include "transports/tool/tool.h"
#include "transports/tool/tool_file.h"

#define PROGRAMS_MAX 16

/* Without its folder, and each once. */
struct programs {
	const char *names[PROGRAMS_MAX];
	size_t count;
};

static void add_program(struct programs *programs, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;
	for (size_t i = 0; i < programs->count; i++)
		if (strcmp(programs->names[i], name) == 0)
			return;
	if (programs->count < PROGRAMS_MAX)
		programs->names[programs->count++] = name;
}

static void add_first(struct programs *programs, char **command)
{
	if (command)
		add_program(programs, command[0]);
}

static void add_all(struct programs *programs, char **names)
{
	for (; names && *names; names++)
		add_program(programs, *names);
}

static void write_programs(const struct programs *programs, struct text *out)
{
	for (size_t i = 0; i < programs->count; i++)
		text_addf(out, "%s%s", i ? ", " : "", programs->names[i]);
}

static void write_binaries(const struct tool_file *file, struct text *out)
{
	struct programs driver = { .count = 0 };
	struct programs other = { .count = 0 };
	bool pushes = file->driver == XFER_SOURCE;
	add_first(&driver, file->run);
	add_first(&driver, file->into);
	add_all(&driver, file->programs);
	add_first(&other, file->serve);
	add_first(&other, file->serve_into);
	add_all(&other, file->needs);
	add_all(&other, file->far_programs);
	text_add(out, "source: ");
	write_programs(pushes ? &driver : &other, out);
	text_add(out, "; sink: ");
	write_programs(pushes ? &other : &driver, out);
}

static const char *encrypted(const struct transport *transport, const struct tool_file *file)
{
	AUTO_FREE void *values = calloc(1, transport->options_size + 1);
	if (!values)
		abort();
	if (file->plain || !file->needs || !file->needs[0])
		return "no";
	if (option_defaults(transport->options, values, NULL) == 0 &&
	    option_is_plain(transport->options, values))
		return "only the login";
	return "yes";
}

static void write_streams(const struct transport *transport, struct text *out)
{
	const struct option_def *def = option_find(transport->options, "streams");
	if (def && def->max > 0)
		text_addf(out, "%.0f to %.0f", def->min, def->max);
	else
		text_add(out, "1");
}

static const char *many_files(uint32_t caps)
{
	if (caps & CAP_MEMORY)
		return "memory only";
	return caps & CAP_SINGLE_FILE ? "one file" : "yes";
}

static void write_row(const struct transport *transport, const struct tool_file *file,
		      struct text *out)
{
	static const char *const verifies[] = { [TOOL_VERIFIES_NO] = "no",
						[TOOL_VERIFIES_YES] = "yes",
						[TOOL_VERIFIES_OPTION] = "if asked" };
	text_addf(out, "| `%s` | %s | %s | ", transport->name,
		  file->tested ? file->tested : "not yet", encrypted(transport, file));
	write_streams(transport, out);
	text_addf(out, " | %s | %s | %s | ", many_files(file->caps),
		  file->caps & CAP_RESUME ? "yes" : "no", verifies[file->verifies]);
	write_binaries(file, out);
	text_add(out, " |\n");
}

void list_markdown(struct text *out)
{
	text_add(out,
		 "| tool | version tested | encrypted | streams | many files | resume | verifies "
		 "itself | binaries |\n|---|---|---|---|---|---|---|---|\n");
	for (const struct transport *const *all = transport_all(); *all; all++) {
		const struct tool_file *file = tool_description(*all);
		if (file)
			write_row(*all, file, out);
	}
}
