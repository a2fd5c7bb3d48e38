#include "transports/tool.h"

#include <dirent.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/log.h"
#include "transports/tool_expand.h"
#include "transports/tool_file.h"
#include "transports/tool_probe.h"
#include "transports/tool_process.h"
#include "transports/tool_server.h"

#define LISTEN_TRIES 5

/* The transport comes first: a pointer to it is one to the whole. */
struct tool {
	struct transport transport;
	struct tool_file *file;
	regex_t pattern;
	bool has_pattern;
};

/* xfer->private, from prepare to cleanup. */
struct session {
	struct tool_server server;
	char *log;
	struct endpoint peer; /* what connect was told; port 0 before */
};

static const struct tool *tool_of(const struct transport *transport)
{
	return (const struct tool *)transport;
}

static struct tool_view view_of(const struct xfer *xfer)
{
	const struct session *session = xfer->private;
	struct tool_view view = { .file = tool_of(xfer->transport)->file,
				  .xfer = xfer,
				  .host = xfer->peer_host };
	if (xfer->service) {
		view.host = xfer->service->host;
		view.port = xfer->service->port;
	} else if (session && session->peer.port) {
		view.host = session->peer.host;
		view.port = session->peer.port;
	}
	return view;
}

static int op_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	const struct tool *tool = tool_of(transport);
	return tool_probe(tool->file, tool->has_pattern ? &tool->pattern : NULL, probe, err);
}

static int op_check(const struct transport *transport, const void *options, enum preserve preserve,
		    struct error *err)
{
	(void)options;
	const struct tool_file *file = tool_of(transport)->file;
	if (preserve == PRESERVE_CONTENT || file->preserve[preserve])
		return 0;
	return error_set(err, ERROR_UNSUPPORTED, 0, "%s cannot do preserve = %s", transport->name,
			 preserve_names[preserve]);
}

/* Runs one command of the file, or two connected ones. */
static int run_commands(const struct xfer *xfer, char **run, char **into, struct error *err)
{
	const struct tool_view view = view_of(xfer);
	AUTO_WORDS run_words = { 0 };
	AUTO_WORDS into_words = { 0 };
	AUTO_WORDS environment = { 0 };
	if (tool_expand(&view, run, &run_words, err) < 0 ||
	    tool_expand(&view, into, &into_words, err) < 0 ||
	    tool_expand_environment(&view, &environment, err) < 0)
		return -1;
	if (tool_words_find_program(&run_words, err) < 0 ||
	    (into && tool_words_find_program(&into_words, err) < 0))
		return -1;
	const struct tool_command command = { .run = (const char *const *)run_words.items,
					      .into = (const char *const *)into_words.items,
					      .env = (const char *const *)environment.items };
	const struct io_limit limit = xfer_limit(xfer);
	return tool_process_run(&command, &limit, err);
}

static int check_service(const struct xfer *xfer, struct error *err)
{
	char **needs = tool_of(xfer->transport)->file->needs;
	if (!needs || !needs[0] || xfer->service)
		return 0;
	return error_set(err, ERROR_UNAVAILABLE, 0, "%s needs the service %s, which does not run",
			 xfer->transport->name, needs[0]);
}

static int op_prepare(struct xfer *xfer, struct error *err)
{
	struct session *session = calloc(1, sizeof(*session));
	if (!session)
		abort();
	session->server.child = CHILD_NONE;
	xfer->private = session;
	if (child_adopt_orphans(err) < 0)
		return -1;
	const struct tool_file *file = tool_of(xfer->transport)->file;
	if (xfer->side != file->driver)
		return 0;
	if (check_service(xfer, err) < 0)
		return -1;
	if (file->prepare && run_commands(xfer, file->prepare, NULL, err) < 0)
		return error_wrap(err, "prepare");
	return 0;
}

static int serve_once(struct xfer *xfer, uint16_t port, struct error *err)
{
	struct session *session = xfer->private;
	const struct tool_view view = { .file = tool_of(xfer->transport)->file,
					.xfer = xfer,
					.host = xfer->bind_host,
					.port = port };
	AUTO_WORDS words = { 0 };
	AUTO_WORDS environment = { 0 };
	if (tool_expand(&view, view.file->serve, &words, err) < 0 ||
	    tool_words_find_program(&words, err) < 0 ||
	    tool_expand_environment(&view, &environment, err) < 0)
		return -1;
	const struct child_spec spec = { .argv = (const char *const *)words.items,
					 .env = (const char *const *)environment.items,
					 .input = -1 };
	const struct io_limit limit = xfer_limit(xfer);
	return tool_server_start(&session->server, &spec, port, &limit, err);
}

/* A port that was free may be taken before the server gets it: then it ends, and another is tried.
 */
static int op_listen(struct xfer *xfer, struct endpoint *endpoint, struct error *err)
{
	struct session *session = xfer->private;
	session->log = path_join(xfer->scratch, "server.log");
	session->server.log = session->log;
	struct error own = { 0 };
	for (int try = 0; try < LISTEN_TRIES; try++) {
		uint16_t port = 0;
		if (tool_server_free_port(xfer->bind_host, &port, err) < 0)
			return -1;
		if (serve_once(xfer, port, &own) == 0) {
			text_copy(endpoint->host, sizeof(endpoint->host), xfer->bind_host);
			endpoint->port = port;
			return 0;
		}
		if (own.kind != ERROR_TOOL)
			break;
	}
	if (err)
		*err = own;
	return error_wrap(err, "serve");
}

static int op_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	(void)err;
	struct session *session = xfer->private;
	session->peer = *endpoint;
	return 0;
}

static bool uses_service_cipher(const struct tool *tool)
{
	return tool->file->needs && tool->file->needs[0] && !tool->file->plain;
}

static int op_drive(struct xfer *xfer, struct error *err)
{
	const struct tool *tool = tool_of(xfer->transport);
	AUTO_TEXT shown = { 0 };
	if (tool_command(xfer, &shown, err) < 0)
		return -1;
	log_line(LOG_DEBUG, "%s: %s", xfer->transport->name, text_string(&shown));
	if (run_commands(xfer, tool->file->run, tool->file->into, err) < 0)
		return -1;
	if (xfer->report && xfer->service && uses_service_cipher(tool)) {
		const struct service *service = xfer->service;
		text_copy(xfer->report->cipher, sizeof(xfer->report->cipher),
			  service->cipher ? service->cipher : "");
		text_copy(xfer->report->mac, sizeof(xfer->report->mac),
			  service->mac ? service->mac : "");
	}
	return 0;
}

static int op_await_server(struct xfer *xfer, struct error *err)
{
	struct session *session = xfer->private;
	const struct io_limit limit = xfer_limit(xfer);
	int result = tool_server_wait(&session->server, "server", &limit, err);
	child_end_strays(NULL, 0);
	return result;
}

static void op_cleanup(struct xfer *xfer)
{
	struct session *session = xfer->private;
	if (!session)
		return;
	child_end(&session->server.child);
	child_end_strays(NULL, 0);
	free(session->log);
	free(session);
	xfer->private = NULL;
}

/* What every shell takes as it stands. */
static bool needs_no_quotes(const char *word)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/@%+=,:-";
	return *word && word[strspn(word, plain)] == '\0';
}

static void add_quoted(const char *word, struct text *out)
{
	if (needs_no_quotes(word)) {
		text_add(out, word);
		return;
	}
	text_add(out, "'");
	for (; *word; word++) {
		if (*word == '\'')
			text_add(out, "'\\''");
		else
			text_add_bytes(out, word, 1);
	}
	text_add(out, "'");
}

static int add_command(const struct tool_view *view, char **command, struct text *out,
		       struct error *err)
{
	AUTO_WORDS words = { 0 };
	if (tool_expand(view, command, &words, err) < 0)
		return -1;
	for (size_t i = 0; i < words.count; i++) {
		if (i)
			text_add(out, " ");
		add_quoted(words.items[i], out);
	}
	return 0;
}

int tool_command(const struct xfer *xfer, struct text *out, struct error *err)
{
	const struct tool_view view = view_of(xfer);
	if (add_command(&view, view.file->run, out, err) < 0)
		return -1;
	if (!view.file->into)
		return 0;
	text_add(out, " | ");
	return add_command(&view, view.file->into, out, err);
}

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
		.options = file->option_count ? file->defs : NULL,
		.options_size = file->options_size,
		.probe = op_probe,
		.check = op_check,
		.prepare = op_prepare,
		.cleanup = op_cleanup,
	};
	bool pushes = file->driver == XFER_SOURCE;
	int (*other)(struct xfer *, struct error *) = NULL;
	if (file->serve) {
		transport->listen = op_listen;
		transport->connect = op_connect;
		other = file->serve_until_exit ? op_await_server : NULL;
	}
	transport->send = pushes ? op_drive : other;
	transport->receive = pushes ? other : op_drive;
}

static int compile_pattern(struct tool *tool, const char *path, struct error *err)
{
	if (!tool->file->version)
		return 0;
	int code = regcomp(&tool->pattern, tool->file->version, REG_EXTENDED | REG_NEWLINE);
	if (code != 0) {
		char text[128];
		regerror(code, &tool->pattern, text, sizeof(text));
		return error_set(err, ERROR_CONFIG, 0, "%s: version = %s: %s", path,
				 tool->file->version, text);
	}
	tool->has_pattern = true;
	if (tool->pattern.re_nsub < 1)
		return error_set(err, ERROR_CONFIG, 0, "%s: version = %s: it has no (group)", path,
				 tool->file->version);
	return 0;
}

int tool_parse(const char *path, const char *text, size_t count, struct transport **transport,
	       struct error *err)
{
	struct tool *tool = calloc(1, sizeof(*tool));
	if (!tool)
		abort();
	if (tool_file_parse(path, text, count, &tool->file, err) < 0 ||
	    compile_pattern(tool, path, err) < 0) {
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
	if (tool->has_pattern)
		regfree(&tool->pattern);
	tool_file_free(tool->file);
	free(tool);
}

bool tool_is(const struct transport *transport)
{
	return transport->probe == op_probe;
}

static int is_tool_file(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);
	return entry->d_name[0] != '.' && length > 4 &&
	       strcmp(entry->d_name + length - 4, ".ini") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
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

const char *tool_shipped_folder(void)
{
	return LINEFILL_TOOLS_FOLDER;
}
