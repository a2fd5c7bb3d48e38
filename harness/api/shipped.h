/* What comes with the program beside its binary: tool files and studies. Found from where the
 * binary lies, so that a checkout or an installation can be moved. */
#ifndef LINEFILL_API_SHIPPED_H
#define LINEFILL_API_SHIPPED_H

#include "harness/base/error.h"

/* The folder "tools" or "studies": PREFIX/share/linefill/NAME for PREFIX/bin/linefill; in a build
 * folder, share/linefill/NAME beside the program, which is a link into the source tree. Absolute,
 * without links; the caller frees. NULL: UNAVAILABLE, naming both places. */
char *shipped_folder(const char *name, struct error *err) MUST_CHECK;

#endif
