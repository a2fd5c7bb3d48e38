/* A folder that several programs need while they run, that not all systems have, and that the last
 * of them removes: each holds it by a subfolder of its own. One that was there without any holder
 * belongs to somebody else and is left alone. */
#ifndef LINEFILL_BASE_SHARED_FOLDER_H
#define LINEFILL_BASE_SHARED_FOLDER_H

#include "harness/base/error.h"

#define SHARED_FOLDER_PREFIX "linefill-"

/* Makes path (0755) if it is missing; name must differ from every other holder's. The holder is the
 * folder path/linefill-NAME: whoever keeps a journal writes down that one and then path, to be
 * removed in that order while they are empty. */
int shared_folder_hold(const char *path, const char *name, struct error *err) MUST_CHECK;
/* Safe without a hold. */
void shared_folder_release(const char *path, const char *name);

#endif
