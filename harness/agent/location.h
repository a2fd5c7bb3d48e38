/* What a folder that the user chose brings along into all that is made in it: access control lists,
 * a group, attributes of its file system. Workspaces take away what they may of it, since it would
 * be blamed on tools, and refuse the folder with the reason where they may not. */
#ifndef LINEFILL_AGENT_LOCATION_H
#define LINEFILL_AGENT_LOCATION_H

#include "harness/api/manifest.h"
#include "harness/base/error.h"

/* Before anything is made in it. CONFIG where what is made could not be removed, or where it is
 * mounted so that durability would not be what the row says. */
int location_check(const char *location, struct error *err) MUST_CHECK;

/* folder is ours, new and empty, in location, the name for messages. From now on what is made in it
 * does not inherit access control lists, a group, set-group-ID, synchronous writing or names
 * without case; mode 0700. What cannot be taken away is for location_try. */
void location_settle(const char *folder);
/* Makes a few files in folder and removes them. CONFIG where they are not what was asked for:
 * another owner; names that differ in case are one; with this preserve, modes or times that do not
 * stay. */
int location_try(const char *folder, const char *location, enum preserve preserve,
		 struct error *err) MUST_CHECK;
/* The same for what a dataset needs: symbolic links, names, sizes. */
int location_fits(const char *folder, const char *location, const struct manifest *files,
		  struct error *err) MUST_CHECK;

#endif
