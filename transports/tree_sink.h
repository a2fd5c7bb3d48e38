/* Writing the copy: everything is made new, beneath one root, no symbolic link on the way is
 * followed and nothing that exists is opened but a split file of our own. Paths come from the peer
 * and must have passed wire_path_is_safe. Errors are SYSTEM and name the path; one that exists
 * already is PEER. One thread an object; several objects may work under the same root. */
#ifndef LINEFILL_TRANSPORTS_TREE_SINK_H
#define LINEFILL_TRANSPORTS_TREE_SINK_H

#include <stdint.h>

#include "harness/api/manifest.h"
#include "transports/beneath.h"

struct tree_sink {
	struct beneath beneath;
	enum preserve preserve;
};

int tree_sink_open(struct tree_sink *sink, const char *root, enum preserve preserve,
		   struct error *err) MUST_CHECK;
void tree_sink_close(struct tree_sink *sink);

/* Its owner can write in it for now; where mode forbids that (wire_mode_is_late), tree_sink_mode
 * sets it when all is in. */
int tree_sink_folder(struct tree_sink *sink, const char *path, uint32_t mode,
		     struct error *err) MUST_CHECK;
int tree_sink_link(struct tree_sink *sink, const char *path, const char *target,
		   struct error *err) MUST_CHECK;
/* The caller closes *fd. */
int tree_sink_file(struct tree_sink *sink, const char *path, int *fd, struct error *err) MUST_CHECK;
/* A split file that another thread has made. */
int tree_sink_reopen(struct tree_sink *sink, const char *path, int *fd,
		     struct error *err) MUST_CHECK;
/* Mode and time as preserve asks, when all is written. */
int tree_sink_file_done(struct tree_sink *sink, int fd, uint32_t mode, int64_t mtime_s,
			struct error *err) MUST_CHECK;
int tree_sink_folder_mode(struct tree_sink *sink, const char *path, uint32_t mode,
			  struct error *err) MUST_CHECK;

#endif
