/* Transports that are made from tool files at run time, with no C of their own: scp, rsync and so
 * on. What such a file says is in tool_file.h. Tool files are code: whoever can write one can run
 * commands as the user.
 *
 * A worker first makes a folder of its own in its scratch: the tool's home, with the files that the
 * tool file has lines for, and a link to the known_hosts of the private server.
 *
 * At the driving end the tool's command is run by send or receive, in process groups of its own,
 * with a clean environment (LC_ALL, PATH, USER, LOGNAME, the private folder as HOME and TMPDIR,
 * WORKSPACE mark, and what the file adds). The other end is a service's, or the file's own server:
 * then listen publishes its port, and if the file says serve_until = exit, receive or send there
 * waits for its end. With serve_until = driver there is nothing to wait for: receive or send is
 * NULL, and the worker calls cleanup when the driving end is done. All ops belong in a worker
 * process: every descendant that a tool leaves behind is ended. */
#ifndef LINEFILL_TRANSPORTS_TOOL_TOOL_H
#define LINEFILL_TRANSPORTS_TOOL_TOOL_H

#include "harness/api/transport.h"
#include "harness/base/error.h"
#include "harness/base/text.h"

/* The caller frees *transport with tool_free. An error is CONFIG and names file and line. */
int tool_load(const char *path, struct transport **transport, struct error *err) MUST_CHECK;
/* The same from memory; path is for messages and the name. */
int tool_parse(const char *path, const char *text, size_t count, struct transport **transport,
	       struct error *err) MUST_CHECK;
void tool_free(struct transport *transport);

/* Gets what is found in a folder. found takes over the transport. */
struct tool_visitor {
	void (*found)(struct transport *transport, void *context);
	void (*failed)(const char *path, const struct error *err, void *context);
	void *context;
};
/* Loads every *.ini of the folder, in byte order of names; one bad file does not hide the others. A
 * folder that is not there has none. */
int tool_load_folder(const char *folder, const struct tool_visitor *visitor,
		     struct error *err) MUST_CHECK;

/* The command that this driving end runs, as one line for people: words with unusual bytes are
 * quoted and " | " stands between two connected commands. xfer->private may be NULL: before prepare
 * the port of a server that the tool starts is not known and shows as 0. */
int tool_command(const struct xfer *xfer, struct text *out, struct error *err) MUST_CHECK;
/* True for transports made here. */
bool tool_is(const struct transport *transport);
struct tool_file;
/* What the file of such a transport says; NULL for others. */
const struct tool_file *tool_description(const struct transport *transport);

#endif
