/* Any bytes as a tool file: they are refused with an error or make a tool that can be freed. */
#include <stddef.h>
#include <stdint.h>

#include "transports/tool/tool_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct tool_file *file = NULL;
	if (count > TOOL_FILE_BYTES_MAX)
		return 0;
	struct error err = { 0 };
	if (tool_file_parse("tools/fuzz.ini", (const char *)bytes, count, &file, &err) < 0)
		return 0;
	if (!file->name[0] || !file->run || !file->run[0])
		__builtin_trap();
	tool_file_free(file);
	return 0;
}
