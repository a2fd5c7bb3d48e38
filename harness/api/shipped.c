#include "harness/api/shipped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/text.h"

char *shipped_folder(const char *name, struct error *err)
{
	AUTO_FREE char *program = child_own_program(err);
	if (!program)
		return NULL;
	*strrchr(program, '/') = '\0';
	AUTO_TEXT built = { 0 };
	AUTO_TEXT installed = { 0 };
	text_addf(&built, "%s/share/linefill/%s", program, name);
	text_addf(&installed, "%s/../share/linefill/%s", program, name);
	char *found = realpath(text_string(&built), NULL);
	if (!found)
		found = realpath(text_string(&installed), NULL);
	if (!found)
		error_set(err, ERROR_UNAVAILABLE, errno,
			  "linefill's own %s are not there: neither in %s nor in %s", name,
			  text_string(&installed), text_string(&built));
	return found;
}
