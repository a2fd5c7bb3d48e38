/* Any bytes as a study file: they are refused with an error or make a study whose cases are
 * complete. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "harness/study/study.h"
#include "transports/catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static int loaded;
	struct study study;
	struct error err = { 0 };
	if (!loaded++)
		catalog_add_folder(TOOLS_FOLDER);
	/* That recipe looks at the disk: whatever folder comes up would be walked through. */
	if (memmem(bytes, count, "directory", strlen("directory")))
		return 0;
	if (study_parse(&study, "fuzz.ini", (const char *)bytes, count, &err) < 0) {
		if (err.kind != ERROR_CONFIG || !err.message[0])
			__builtin_trap();
		return 0;
	}
	if (!study.dataset || !study.dataset_text || study.settings.rounds == 0)
		__builtin_trap();
	for (size_t i = 0; i < study.cases_count; i++) {
		const struct study_case *item = &study.cases[i];
		if (!item->name || !item->label || !item->options_text || !item->factors ||
		    item->instances == 0 || (!item->transport && !item->missing.kind))
			__builtin_trap();
	}
	study_free(&study);
	return 0;
}
