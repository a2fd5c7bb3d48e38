#include "harness/agent/hostfacts.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"
#include "harness/protocol/message.h"
#include "harness/services/digest.h"

/* The value of the first line that starts with key, up to the separator, quotes and blanks cut. */
static void first_value(const char *path, const char *key, char separator, char *value, size_t size)
{
	AUTO_FREE char *text = NULL;
	text_copy(value, size, "unknown");
	if (file_read_all(path, 4 << 20, &text, NULL, NULL) < 0)
		return;
	const char *line = strstr(text, key);
	const char *start = line ? strchr(line, separator) : NULL;
	if (!start)
		return;
	char piece[256];
	text_copy(piece, sizeof(piece), start + 1);
	piece[strcspn(piece, "\n")] = '\0';
	char *trimmed = text_trim(piece);
	size_t length = strlen(trimmed);
	if (length >= 2 && trimmed[0] == '"' && trimmed[length - 1] == '"') {
		trimmed[length - 1] = '\0';
		trimmed++;
	}
	text_escape_terminal(value, size, trimmed);
}

int hostfacts_collect(json_t *facts, struct error *err)
{
	struct utsname name;
	struct sysinfo info;
	char cpu[256], os[256], kernel[512];
	if (uname(&name) < 0 || sysinfo(&info) < 0)
		return error_system(err, "uname");
	snprintf(kernel, sizeof(kernel), "%s %s %s", name.sysname, name.release, name.machine);
	first_value("/proc/cpuinfo", "model name", ':', cpu, sizeof(cpu));
	first_value("/etc/os-release", "PRETTY_NAME", '=', os, sizeof(os));
	message_put_text(facts, "hostname", name.nodename);
	message_put_text(facts, "kernel", kernel);
	message_put_text(facts, "os", os);
	message_put_text(facts, "cpu_model", cpu);
	message_put_whole(facts, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
	message_put_whole(facts, "memory_bytes",
			  (int64_t)((uint64_t)info.totalram * info.mem_unit));
	message_put_text(facts, "linefill_version", LINEFILL_VERSION);
	message_put_whole(facts, "user_id", geteuid());
	AUTO_FREE char *program = child_own_program(err);
	if (!program)
		return -1;
	char digest[DIGEST_SIZE];
	digest_file("/proc/self/exe", digest);
	message_put_text(facts, "linefill_path", program);
	message_put_text(facts, "linefill_sha256", digest);
	return 0;
}
