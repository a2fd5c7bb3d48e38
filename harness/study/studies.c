#include "harness/study/studies.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/api/shipped.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"

char *studies_folder(struct error *err)
{
	return shipped_folder("studies", err);
}

char *studies_find(const char *name)
{
	AUTO_TEXT file = { 0 };
	text_addf(&file, "%s.ini", name);
	AUTO_FREE char *folder = access(name, F_OK) < 0 ? studies_folder(NULL) : NULL;
	AUTO_FREE char *shipped = folder ? path_join(folder, text_string(&file)) : NULL;
	if (shipped && !strchr(name, '/') && access(shipped, F_OK) == 0)
		return TAKE_POINTER(shipped);
	return strdup(name);
}
