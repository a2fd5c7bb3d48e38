/* Writing the copy: everything is made new, beneath one root, no symbolic link on the way is
 * followed and nothing that exists is opened but a split file of our own. Paths come from the peer
 * and must have passed wire_path_is_safe. Errors are SYSTEM and name the path; one that exists
 * already is PEER. One thread an object; several objects may work under the same root. */
#ifndef LINEFILL_TRANSPORTS_WIRE_TREE_SINK_H
#define LINEFILL_TRANSPORTS_WIRE_TREE_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/api/manifest.h"
#include "transports/wire/beneath.h"
#include "transports/wire/direct_io.h"
#include "transports/wire/pretouch.h"

struct tree_sink {
	struct beneath beneath;
	enum preserve preserve;
	bool reuse; /* resume: folders, links and files of an earlier copy may be there */
	struct pretouch *pretouch; /* files that are made already, or NULL */
	struct direct_io *direct;  /* files bypass the page cache; or NULL */
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
/* Resume: a split file that may be there, now of that size, to read and write. One that is no file
 * or has other names is not touched (PEER). */
int tree_sink_reuse(struct tree_sink *sink, const char *path, uint64_t size, int *fd,
		    struct error *err) MUST_CHECK;
/* Resume: the file of that path and size, to read; *fd is -1 when there is none. */
int tree_sink_existing(struct tree_sink *sink, const char *path, uint64_t size, int *fd,
		       struct error *err) MUST_CHECK;
/* A file that is not good: it is gone. None there is no error. */
int tree_sink_remove(struct tree_sink *sink, const char *path, struct error *err) MUST_CHECK;
/* Mode and time as preserve asks, when all is written. */
int tree_sink_file_done(struct tree_sink *sink, int fd, uint32_t mode, int64_t mtime_s,
			struct error *err) MUST_CHECK;
int tree_sink_folder_mode(struct tree_sink *sink, const char *path, uint32_t mode,
			  struct error *err) MUST_CHECK;

#endif
