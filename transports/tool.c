#include "transports/tool/tool.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "transports/tool/tool_file.h"
#include "transports/tool/tool_run.h"
#include "transports/tool/tool_session.h"

static void set_ops(struct tool *tool)
{
	const struct tool_file *file = tool->file;
	struct transport *transport = &tool->transport;
	*transport = (struct transport){
		.name = file->name,
		.summary = file->summary,
		.driver = file->driver,
		.needs = (const char *const *)file->needs,
		.caps = file->caps,
		.plain = file->plain,
		.plain_twins = (const char *const *)file->plain_twins,
		.options = file->option_count ? file->defs : NULL,
		.options_size = file->options_size,
		.probe = tool_run_probe,
		.check = tool_run_check,
		.command = tool_command,
		.prepare = tool_run_prepare,
		.cleanup = tool_run_cleanup,
	};
	bool pushes = file->driver == XFER_SOURCE;
	int (*other)(struct xfer *, struct error *) = NULL;
	if (file->serve) {
		transport->listen = tool_run_listen;
		transport->connect = tool_run_connect;
		other = file->serve_until_exit ? tool_run_await : NULL;
	}
	transport->send = pushes ? tool_run_drive : other;
	transport->receive = pushes ? other : tool_run_drive;
}

static int compile(const char *path, const char *key, const char *pattern, int flags,
		   regex_t *compiled, struct error *err)
{
	int code = regcomp(compiled, pattern, REG_EXTENDED | flags);
	if (code != 0) {
		char text[128];
		regerror(code, compiled, text, sizeof(text));
		return error_set(err, ERROR_CONFIG, 0, "%s: %s = %s: %s", path, key, pattern, text);
	}
	if (compiled->re_nsub >= 1)
		return 0;
	regfree(compiled);
	return error_set(err, ERROR_CONFIG, 0, "%s: %s = %s: it has no (group)", path, key,
			 pattern);
}

static int compile_patterns(struct tool *tool, const char *path, struct error *err)
{
	const struct tool_file *file = tool->file;
	if (file->version) {
		if (compile(path, "version", file->version, REG_NEWLINE, &tool->version, err) < 0)
			return -1;
		tool->has_version = true;
	}
	/* Reports in JSON have a figure and its name on different lines. */
	if (file->counted) {
		if (compile(path, "counted", file->counted, 0, &tool->counted, err) < 0)
			return -1;
		tool->has_counted = true;
	}
	return 0;
}

int tool_parse(const char *path, const char *text, size_t count, struct transport **transport,
	       struct error *err)
{
	struct tool *tool = calloc(1, sizeof(*tool));
	if (!tool)
		abort();
	if (tool_file_parse(path, text, count, &tool->file, err) < 0 ||
	    compile_patterns(tool, path, err) < 0) {
		tool_free(&tool->transport);
		return -1;
	}
	set_ops(tool);
	*transport = &tool->transport;
	return 0;
}

int tool_load(const char *path, struct transport **transport, struct error *err)
{
	AUTO_FREE char *text = NULL;
	size_t count = 0;
	if (file_read_all(path, TOOL_FILE_BYTES_MAX, &text, &count, err) < 0)
		return -1;
	return tool_parse(path, text, count, transport, err);
}

void tool_free(struct transport *transport)
{
	if (!transport)
		return;
	struct tool *tool = (struct tool *)transport;
	if (tool->has_version)
		regfree(&tool->version);
	if (tool->has_counted)
		regfree(&tool->counted);
	tool_file_free(tool->file);
	free(tool);
}

bool tool_is(const struct transport *transport)
{
	return transport->probe == tool_run_probe;
}

static int is_tool_file(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);
	return entry->d_name[0] != '.' && length > 4 &&
	       strcmp(entry->d_name + length - 4, ".ini") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	/* By name: what comes before ".ini". */
	size_t a_length = strlen((*a)->d_name) - 4;
	size_t b_length = strlen((*b)->d_name) - 4;
	size_t shorter = a_length < b_length ? a_length : b_length;
	int order = memcmp((*a)->d_name, (*b)->d_name, shorter);
	return order ? order : (a_length > b_length) - (a_length < b_length);
}

int tool_load_folder(const char *folder, const struct tool_visitor *visitor, struct error *err)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, is_tool_file, by_bytes);
	if (count < 0)
		return errno == ENOENT ? 0 : error_system(err, "read folder %s", folder);
	for (int i = 0; i < count; i++) {
		AUTO_FREE char *path = path_join(folder, entries[i]->d_name);
		free(entries[i]);
		struct transport *transport = NULL;
		struct error own = { 0 };
		if (tool_load(path, &transport, &own) == 0)
			visitor->found(transport, visitor->context);
		else
			visitor->failed(path, &own, visitor->context);
	}
	free(entries);
	return 0;
}

const struct tool_file *tool_description(const struct transport *transport)
{
	return tool_is(transport) ? ((const struct tool *)transport)->file : NULL;
}
