#include "harness/study/studies.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"

const char *studies_folder(void)
{
	return LINEFILL_STUDIES_FOLDER;
}

char *studies_find(const char *name)
{
	AUTO_TEXT file = { 0 };
	text_addf(&file, "%s.ini", name);
	AUTO_FREE char *shipped = path_join(studies_folder(), text_string(&file));
	if (access(name, F_OK) < 0 && !strchr(name, '/') && access(shipped, F_OK) == 0)
		return TAKE_POINTER(shipped);
	return strdup(name);
}
