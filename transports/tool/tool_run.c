#include "transports/tool/tool_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/log.h"
#include "harness/base/net.h"
#include "transports/tool/tool.h"
#include "transports/tool/tool_count.h"
#include "transports/tool/tool_probe.h"
#include "transports/tool/tool_process.h"
#include "transports/tool/tool_session.h"
#include "transports/wire/server_process.h"

#define LISTEN_TRIES 5

/* A program is nowhere: what brings it? */
static int say_packages(const struct tool_file *file, struct error *err)
{
	AUTO_TEXT packages = { 0 };
	if (!err || err->kind != ERROR_UNAVAILABLE || err->code != ENOENT || !file->packages)
		return -1;
	for (char **name = file->packages; *name; name++)
		text_addf(&packages, " %s", *name);
	const struct error said = *err;
	if (strcmp(text_string(&packages), " none") == 0)
		return error_set(err, said.kind, said.code, "%s (Debian has no package of it)",
				 said.message);
	return error_set(err, said.kind, said.code, "%s (on Debian: apt-get install%s)",
			 said.message, text_string(&packages));
}

int tool_run_probe(const struct transport *transport, struct probe *probe, struct error *err)
{
	const struct tool *tool = tool_session_tool(transport);
	if (tool_probe(tool->file, tool->has_version ? &tool->version : NULL, probe, err) == 0)
		return 0;
	return say_packages(tool->file, err);
}

int tool_run_check(const struct transport *transport, const void *options, enum preserve preserve,
		   struct error *err)
{
	(void)options;
	const struct tool_file *file = tool_session_tool(transport)->file;
	if (preserve == PRESERVE_CONTENT || file->preserve[preserve] || file->caps & CAP_MEMORY)
		return 0;
	return error_set(err, ERROR_UNSUPPORTED, 0, "%s cannot do preserve = %s", transport->name,
			 preserve_names[preserve]);
}

/* ---- getting ready ---- */

/* Any of the comma-separated names will do: the two ends agree on one. */
static bool has_common(const char *names, char **known)
{
	AUTO_FREE char *copy = strdup(names);
	if (!copy)
		abort();
	for (char *save = NULL, *name = strtok_r(copy, ", ", &save); name;
	     name = strtok_r(NULL, ", ", &save))
		for (char **one = known; *one; one++)
			if (strcmp(*one, name) == 0)
				return true;
	return false;
}

static int check_can(const struct xfer *xfer, const char *what, const char *names, char **known,
		     struct error *err)
{
	AUTO_TEXT list = { 0 };
	if (!known || !names || !*names || has_common(names, known))
		return 0;
	for (char **one = known; *one; one++)
		text_addf(&list, "%s%s", one == known ? "" : ", ", *one);
	return error_set(err, ERROR_UNSUPPORTED, 0, "%s cannot do the %s %s (it has %s)",
			 xfer->transport->name, what, names, text_string(&list));
}

/* Ciphers that authenticate have no MAC. */
static bool needs_mac(const char *cipher)
{
	return !cipher || (!strstr(cipher, "gcm") && !strstr(cipher, "poly1305"));
}

static int check_service(const struct xfer *xfer, struct error *err)
{
	const struct tool_file *file = tool_session_tool(xfer->transport)->file;
	const struct service *service = xfer->service;
	if (!file->needs || !file->needs[0])
		return 0;
	if (!service)
		return error_set(err, ERROR_UNAVAILABLE, 0,
				 "%s needs the service %s, which does not run",
				 xfer->transport->name, file->needs[0]);
	if (check_can(xfer, "cipher", service->cipher, file->ciphers, err) < 0)
		return -1;
	return needs_mac(service->cipher) ? check_can(xfer, "MAC", service->mac, file->macs, err)
					  : 0;
}

/* Programs that look for known hosts at home find the private server's there, and no other. */
static int link_known_hosts(const struct xfer *xfer, const struct tool_session *session,
			    struct error *err)
{
	if (!xfer->service || !xfer->service->known_hosts || !*xfer->service->known_hosts)
		return 0;
	AUTO_FREE char *folder = path_join(session->folder, ".ssh");
	AUTO_FREE char *link = path_join(folder, "known_hosts");
	if (mkdir(folder, 0700) < 0 || symlink(xfer->service->known_hosts, link) < 0)
		return error_system(err, "make %s", link);
	return 0;
}

/* Several workers may have one scratch folder. */
static int make_folder(const struct xfer *xfer, struct tool_session *session, struct error *err)
{
	AUTO_FREE char *name = path_join(xfer->scratch, "tool-XXXXXX");
	if (!mkdtemp(name))
		return error_system(err, "make folder %s", name);
	session->folder = strdup(name);
	session->log = path_join(session->folder, "server.log");
	session->server.log = session->log;
	session->server.secret = session->secret;
	return link_known_hosts(xfer, session, err);
}

static int write_text(const struct tool_view *view, const struct tool_text *text, struct error *err)
{
	AUTO_FREE char *path = path_join(view->scratch, text->name);
	AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	AUTO_FILE out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		return error_system(err, "create %s", path);
	take_fd(&fd);
	if (tool_expand_text(view, text, out, err) < 0)
		return error_wrap(err, "file %s", text->name);
	return fflush(out) == 0 ? 0 : error_system(err, "write %s", path);
}

/* All files, or only those that have to know the port. */
static int write_texts(const struct tool_view *view, bool only_port, struct error *err)
{
	for (size_t i = 0; i < view->file->text_count; i++) {
		const struct tool_text *text = &view->file->texts[i];
		if ((!only_port || text->needs_port) && write_text(view, text, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- commands ---- */

static int open_input(const struct tool_view *view, int *fd, struct error *err)
{
	AUTO_WORDS words = { 0 };
	*fd = -1;
	if (!view->file->input)
		return 0;
	if (tool_expand(view, view->file->input, &words, err) < 0)
		return -1;
	if (words.count != 1)
		return error_set(err, ERROR_CONFIG, 0, "'input' is no path");
	*fd = open(words.items[0], O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? error_system(err, "open %s", words.items[0]) : 0;
}

/* Runs one command of the file, or two connected ones. said, where not NULL, gets the last that
 * they printed. */
static int run_commands(const struct xfer *xfer, char **run, char **into, struct text *said,
			struct error *err)
{
	const struct tool_view view = tool_session_view(xfer);
	const struct tool_session *session = xfer->private;
	AUTO_FD input = -1;
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
	if (run == view.file->run && open_input(&view, &input, err) < 0)
		return -1;
	const struct tool_command command = { .run = (const char *const *)run_words.items,
					      .into = (const char *const *)into_words.items,
					      .env = (const char *const *)environment.items,
					      .input = input,
					      .secret = session->secret,
					      .said = said };
	const struct io_limit limit = xfer_limit(xfer);
	return tool_process_run(&command, &limit, err);
}

static int prepare_driver(struct xfer *xfer, struct error *err)
{
	const struct tool_file *file = tool_session_tool(xfer->transport)->file;
	const struct tool_view view = tool_session_view(xfer);
	if (check_service(xfer, err) < 0 || write_texts(&view, false, err) < 0)
		return -1;
	if (file->prepare && run_commands(xfer, file->prepare, NULL, NULL, err) < 0)
		return error_wrap(err, "prepare");
	return 0;
}

int tool_run_prepare(struct xfer *xfer, struct error *err)
{
	struct tool_session *session = calloc(1, sizeof(*session));
	if (!session)
		abort();
	session->server.child = session->server.second = CHILD_NONE;
	xfer->private = session;
	for (size_t i = 0; xfer->token && i < XFER_TOKEN_BYTES; i++)
		snprintf(session->secret + 2 * i, 3, "%02x", xfer->token->bytes[i]);
	if (child_adopt_orphans(err) < 0 || make_folder(xfer, session, err) < 0)
		return -1;
	return xfer->side == tool_session_tool(xfer->transport)->file->driver
		       ? prepare_driver(xfer, err)
		       : 0;
}

/* ---- the listening end ---- */

static int serve_once(struct xfer *xfer, uint16_t port, struct error *err)
{
	struct tool_session *session = xfer->private;
	struct tool_view view = tool_session_view(xfer);
	view.host = xfer->bind_host;
	view.port = port;
	AUTO_WORDS words = { 0 };
	AUTO_WORDS into = { 0 };
	AUTO_WORDS environment = { 0 };
	if (write_texts(&view, false, err) < 0 ||
	    tool_expand(&view, view.file->serve, &words, err) < 0 ||
	    tool_expand(&view, view.file->serve_into, &into, err) < 0 ||
	    tool_words_find_program(&words, err) < 0 ||
	    (into.count && tool_words_find_program(&into, err) < 0) ||
	    tool_expand_environment(&view, &environment, err) < 0)
		return -1;
	const struct child_spec spec = { .argv = (const char *const *)words.items,
					 .env = (const char *const *)environment.items,
					 .input = -1 };
	const struct io_limit limit = xfer_limit(xfer);
	session->server.into = (const char *const *)into.items;
	session->server.only = xfer->open_listener ? NULL : xfer->bind_host;
	int result = server_process_start(&session->server, &spec, port, &limit, err);
	/* Kept for messages: the words are gone by then. */
	session->server.into =
		view.file->serve_into ? (const char *const *)view.file->serve_into : NULL;
	return result;
}

/* A port that was free may be taken before the server gets it: then it ends, and another is tried.
 */
int tool_run_listen(struct xfer *xfer, struct endpoint *endpoint, struct error *err)
{
	const struct tool_file *file = tool_session_tool(xfer->transport)->file;
	struct error own = { 0 };
	for (int try = 0; try < LISTEN_TRIES; try++) {
		uint16_t port = 0;
		if (net_free_ports(xfer->bind_host, file->ports, &port, err) < 0)
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
	return error_wrap(err, own.kind == ERROR_UNSUPPORTED ? "%s, serve" : "serve",
			  xfer->transport->name);
}

int tool_run_await(struct xfer *xfer, struct error *err)
{
	const struct tool *tool = tool_session_tool(xfer->transport);
	struct tool_session *session = xfer->private;
	const struct io_limit limit = xfer_limit(xfer);
	int result = server_process_wait(&session->server, child_program_name(tool->file->serve[0]),
					 &limit, err);
	child_end_strays(NULL, 0);
	if (result == 0 && tool->has_counted && xfer->side == XFER_SINK)
		result = tool_count_log(tool, xfer, session->log, err);
	session->failed = result < 0;
	return result;
}

/* ---- the driving end ---- */

int tool_run_connect(struct xfer *xfer, const struct endpoint *endpoint, struct error *err)
{
	struct tool_session *session = xfer->private;
	session->peer = *endpoint;
	const struct tool_view view = tool_session_view(xfer);
	return write_texts(&view, true, err);
}

static bool mentions(char **words, const char *placeholder)
{
	for (; words && *words; words++)
		if (strstr(*words, placeholder))
			return true;
	return false;
}

static bool uses_config(const struct tool_file *file)
{
	for (size_t i = 0; i < file->text_count; i++)
		if (file->texts[i].text && strstr(file->texts[i].text, "{ssh_config}"))
			return true;
	return mentions(file->run, "{ssh_config}") || mentions(file->into, "{ssh_config}");
}

/* A program that brings its own SSH was not seen to agree with the server: what is known is what
 * both were held to, if that left no choice. */
static void report_agreed(const struct xfer *xfer)
{
	const struct tool_file *file = tool_session_tool(xfer->transport)->file;
	const struct service *service = xfer->service;
	if (!xfer->report || !service || file->plain || uses_config(file))
		return;
	bool one_cipher = service->cipher && *service->cipher && !strchr(service->cipher, ',');
	bool one_mac = service->mac && *service->mac && !strchr(service->mac, ',');
	text_copy(xfer->report->cipher, sizeof(xfer->report->cipher),
		  one_cipher ? service->cipher : "tool-default");
	text_copy(xfer->report->mac, sizeof(xfer->report->mac),
		  !needs_mac(one_cipher ? service->cipher : NULL) ? "implicit"
		  : one_mac                                       ? service->mac
								  : "tool-default");
}

int tool_run_drive(struct xfer *xfer, struct error *err)
{
	const struct tool *tool = tool_session_tool(xfer->transport);
	bool counts = tool->has_counted && xfer->side == XFER_SINK;
	AUTO_TEXT shown = { 0 };
	AUTO_TEXT said = { 0 };
	if (tool->has_counted && (!xfer->files || xfer->files->bytes == 0))
		return error_set(err, ERROR_UNSUPPORTED, 0, "%s has nothing to send: no bytes",
				 xfer->transport->name);
	if (tool_command(xfer, &shown, err) < 0)
		return -1;
	log_line(LOG_DEBUG, "%s: %s", xfer->transport->name, text_string(&shown));
	if (run_commands(xfer, tool->file->run, tool->file->into, counts ? &said : NULL, err) < 0)
		return -1;
	report_agreed(xfer);
	return counts ? tool_count(tool, xfer, text_string(&said), err) : 0;
}

/* ---- the end ---- */

/* The server's own words may be the only explanation of a failed run. */
static void keep_log(const struct xfer *xfer, const struct tool_session *session)
{
	AUTO_TEXT said = { 0 };
	if (!session->log || (!session->failed && !cancel_requested(xfer->cancel)))
		return;
	server_process_add_said(&session->server, &said);
	if (said.length)
		log_line(LOG_WARNING, "%s, server%s", xfer->transport->name, said.data);
}

void tool_run_cleanup(struct xfer *xfer)
{
	struct tool_session *session = xfer->private;
	if (!session)
		return;
	server_process_end(&session->server);
	child_end_strays(NULL, 0);
	keep_log(xfer, session);
	if (session->folder && folder_remove(session->folder, NULL) < 0)
		log_line(LOG_WARNING, "%s stays", session->folder);
	free(session->folder);
	free(session->log);
	free(session);
	xfer->private = NULL;
}
