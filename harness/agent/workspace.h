/* An agent's private folders: one for keys, configuration and logs, one for data. Both are 0700 and
 * have a random name. A lock is held on the first while the agent lives; what must be undone is
 * written to its journal before it is done, so that the next agent to start can sweep up after one
 * that was killed: its processes (they carry LINEFILL_RUN=ID in their environment), its data, its
 * folder. */
#ifndef LINEFILL_AGENT_WORKSPACE_H
#define LINEFILL_AGENT_WORKSPACE_H

#include "harness/api/manifest.h"
#include "harness/base/error.h"

struct workspace {
	char *id;       /* also the value of RUN_MARK_ENV in the agent and its children */
	char *scratch;  /* small private files */
	char *data;     /* the dataset or the copies; NULL until workspace_add_data */
	char *location; /* the folder that data is in; with data */
	int lock_fd, journal_fd;
};

#define WORKSPACE_NONE ((struct workspace){ .lock_fd = -1, .journal_fd = -1 })

/* id must be a plain word: it becomes part of names. */
int workspace_open(struct workspace *workspace, const char *id, struct error *err) MUST_CHECK;
/* Makes the data folder in location: "ram" or an existing folder. CONFIG where copies in it could
 * not be what they are (see location.h). */
int workspace_add_data(struct workspace *workspace, const char *location, enum preserve preserve,
		       struct error *err) MUST_CHECK;
/* Makes sure of a folder that is not ours alone (see harness/base/shared_folder.h) until the
 * workspace is closed or swept up. */
int workspace_hold_folder(struct workspace *workspace, const char *path,
			  struct error *err) MUST_CHECK;
/* Undoes everything that the journal names, then removes the folders. Problems are logged. */
void workspace_close(struct workspace *workspace);
/* Does the same for the workspaces of this user whose agent is gone. */
void workspace_sweep(void);

/* The folder that "ram" stands for, or the location itself. */
const char *workspace_location(const char *location);

#endif
