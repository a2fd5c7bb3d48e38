#include "transports/ssh/ssh_push.h"

#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "transports/ssh/ssh_sftp.h"

/* As much as the server of ssh-none takes in one packet, see ssh_kind.c. */
#define BLOCK_BYTES (252u << 10)
/* What a folder needs of its owner while we write in it. */
#define OWNER_MODE 0700u

int ssh_push_init(struct ssh_push *push, struct error *err)
{
	return scp_stream_init(&push->scp, BLOCK_BYTES, err);
}

void ssh_push_free(struct ssh_push *push)
{
	scp_stream_free(&push->scp);
}

static bool is_for_sftp(const struct manifest_entry *entry)
{
	return entry->type == MANIFEST_LINK || !scp_stream_can_name(entry->path);
}

static bool has_late_mode(const struct manifest_entry *entry, enum preserve preserve)
{
	return entry->type == MANIFEST_FOLDER && wire_mode_is_late(preserve, entry->mode);
}

/* ---- by scp ---- */

/* The server takes the words apart itself, and no shell sees them; still nothing is left to how it
 * does that. */
static int check_root(const char *root, struct error *err)
{
	for (const char *c = root; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || strchr("'\"`\\*?[]{}~$;&|<>()", *c))
			return error_set(err, ERROR_UNSUPPORTED, 0,
					 "scp cannot be told a target of such a name: %s", root);
	return 0;
}

static int start_scp(struct ssh_push *push, struct ssh_session *session, const struct xfer *xfer,
		     struct error *err)
{
	AUTO_TEXT command = { 0 };
	if (check_root(xfer->sink_root, err) < 0)
		return -1;
	text_addf(&command, "scp -r %s-t %s", xfer->preserve > PRESERVE_CONTENT ? "-p " : "",
		  xfer->sink_root);
	if (ssh_session_exec(session, text_string(&command), &push->channel, err) < 0)
		return -1;
	return scp_stream_start(&push->scp, xfer, &push->channel, err);
}

static int send_by_scp(struct ssh_push *push, struct ssh_session *session, const struct xfer *xfer,
		       struct error *err)
{
	if (start_scp(push, session, xfer, err) < 0)
		return -1;
	for (size_t i = 0; i < xfer->files->count; i++) {
		const struct manifest_entry *entry = &xfer->files->entries[i];
		if (!is_for_sftp(entry) && scp_stream_entry(&push->scp, entry, err) < 0)
			return -1;
	}
	if (scp_stream_end(&push->scp, err) < 0)
		return -1;
	return ssh_session_end_channel(session, err);
}

/* ---- by SFTP ---- */

static int send_contents(struct ssh_push *push, struct ssh_sftp *sftp,
			 const struct manifest_entry *entry, struct error *err)
{
	struct source_file file;
	if (tree_source_open_file(&push->scp.source, entry, 0, entry->size_bytes, &file, err) < 0)
		return -1;
	file.data_end = file.end; /* holes travel as zeros */
	int result = 0;
	while (result == 0 && file.at < file.end) {
		struct source_extent extent;
		result = tree_source_read(&file, push->scp.buffer, push->scp.block, &extent, err);
		if (result == 0)
			result = ssh_sftp_write(sftp, push->scp.buffer, extent.data_bytes, err);
		if (result == 0)
			xfer_progress_add(push->scp.xfer->progress, extent.data_bytes);
	}
	tree_source_close_file(&file);
	return result;
}

static int send_file(struct ssh_push *push, struct ssh_sftp *sftp, const char *path,
		     const struct manifest_entry *entry, struct error *err)
{
	const struct xfer *xfer = push->scp.xfer;
	uint32_t mode = xfer->preserve > PRESERVE_CONTENT ? entry->mode & 0777u : 0644u;
	if (ssh_sftp_create(sftp, path, err) < 0 || send_contents(push, sftp, entry, err) < 0 ||
	    ssh_sftp_finish(sftp, mode, xfer->preserve == PRESERVE_ALL ? &entry->mtime_s : NULL,
			    err) < 0)
		return -1;
	atomic_fetch_add_explicit(&xfer->progress->files, 1, memory_order_relaxed);
	return 0;
}

static int send_entry(struct ssh_push *push, struct ssh_sftp *sftp,
		      const struct manifest_entry *entry, struct error *err)
{
	const struct xfer *xfer = push->scp.xfer;
	AUTO_FREE char *path = path_join(xfer->sink_root, entry->path);
	if (entry->type == MANIFEST_LINK)
		return ssh_sftp_link(sftp, path, entry->target, err);
	if (entry->type == MANIFEST_FILE)
		return send_file(push, sftp, path, entry, err);
	uint32_t mode = xfer->preserve > PRESERVE_CONTENT ? entry->mode & 0777u : 0755u;
	return ssh_sftp_folder(sftp, path, mode | OWNER_MODE, err);
}

/* Innermost first: an outer one may shut us out. */
static int set_late_modes(const struct xfer *xfer, struct ssh_sftp *sftp, struct error *err)
{
	for (size_t i = xfer->files->count; i-- > 0;) {
		const struct manifest_entry *entry = &xfer->files->entries[i];
		if (!has_late_mode(entry, xfer->preserve))
			continue;
		AUTO_FREE char *path = path_join(xfer->sink_root, entry->path);
		if (ssh_sftp_mode(sftp, path, entry->mode & 0777u, err) < 0)
			return -1;
	}
	return 0;
}

static bool needs_sftp(const struct xfer *xfer)
{
	for (size_t i = 0; i < xfer->files->count; i++)
		if (is_for_sftp(&xfer->files->entries[i]) ||
		    has_late_mode(&xfer->files->entries[i], xfer->preserve))
			return true;
	return false;
}

static int send_by_sftp(struct ssh_push *push, struct ssh_session *session, const struct xfer *xfer,
			struct error *err)
{
	if (xfer->files->links > 0 && !ssh_session_is_own_library())
		return error_set(err, ERROR_UNSUPPORTED, 0,
				 "this libssh2 misreads the answers about symbolic links: "
				 "scripts/build-libssh2 makes one that does not");
	struct ssh_sftp *sftp = ssh_sftp_open(session, err);
	int result = sftp ? 0 : -1;
	if (result == 0 && xfer->files->links > 0)
		result = ssh_sftp_learn_links(sftp, xfer->sink_root, err);
	for (size_t i = 0; result == 0 && i < xfer->files->count; i++) {
		const struct manifest_entry *entry = &xfer->files->entries[i];
		if (is_for_sftp(entry))
			result = send_entry(push, sftp, entry, err);
	}
	if (result == 0)
		result = set_late_modes(xfer, sftp, err);
	ssh_sftp_close(sftp);
	return result;
}

int ssh_push_tree(struct ssh_push *push, struct ssh_session *session, const struct xfer *xfer,
		  struct error *err)
{
	if (send_by_scp(push, session, xfer, err) < 0)
		return -1;
	return needs_sftp(xfer) ? send_by_sftp(push, session, xfer, err) : 0;
}
