#include "tests/unit/transports/tool_folders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "transports/tool/tool.h"

#define READ_MAX (1u << 20)

static void must(bool fine, const struct error *err)
{
	if (fine)
		return;
	fprintf(stderr, "%s\n", err->message);
	exit(1);
}

static char *make_folder(const char *base, const char *name)
{
	char *path = path_join(base, name);
	struct error err = { 0 };
	if (mkdir(path, 0700) < 0)
		error_system(&err, "make %s", path);
	must(err.kind == ERROR_NONE, &err);
	return path;
}

void tool_folders_make(struct tool_folders *folders)
{
	char name[] = "/tmp/linefill-test-XXXXXX";
	struct error err = { 0 };
	if (!mkdtemp(name))
		error_system(&err, "make %s", name);
	must(err.kind == ERROR_NONE, &err);
	folders->base = strdup(name);
	folders->scratch = make_folder(name, "scratch");
	folders->from = make_folder(name, "from");
	folders->to = make_folder(name, "to");
}

int tool_folders_drop(struct tool_folders *folders)
{
	int result = folder_remove(folders->base, NULL);
	free(folders->base);
	free(folders->scratch);
	free(folders->from);
	free(folders->to);
	return result;
}

char *tool_folders_read(const struct tool_folders *folders, const char *name)
{
	AUTO_FREE char *path = path_join(folders->to, name);
	char *text = NULL;
	struct error err = { 0 };
	must(file_read_all(path, READ_MAX, &text, NULL, &err) == 0, &err);
	return text;
}

struct transport *tool_of(const char *text)
{
	struct transport *transport = NULL;
	struct error err = { 0 };
	must(tool_parse("test.ini", text, strlen(text), &transport, &err) == 0, &err);
	return transport;
}

void *tool_options_of(const struct transport *transport, const char *options)
{
	void *values = calloc(1, transport->options_size + 1);
	struct error err = { 0 };
	if (!values)
		abort();
	must(option_defaults(transport->options, values, &err) == 0 &&
		     option_set_all(transport->options, values, options, &err) == 0,
	     &err);
	return values;
}

struct xfer tool_xfer(const struct tool_folders *folders, const struct transport *transport)
{
	return (struct xfer){
		.transport = transport,
		.side = transport->driver,
		.source_root = folders->from,
		.sink_root = folders->to,
		.scratch = folders->scratch,
		.bind_host = "127.0.0.1",
		.peer_host = "127.0.0.1",
		.deadline_ns = clock_deadline_ns(30),
	};
}

struct tool_outcome tool_drive(const struct xfer *given, const char *options)
{
	struct xfer xfer = *given;
	AUTO_FREE void *values = tool_options_of(xfer.transport, options);
	xfer.options = values;
	return tool_worker_drive(&xfer, NULL);
}
