#include "harness/agent/memory_host.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/text.h"

#define FILE_MAX ((size_t)1 << 20)
/* The virtio specification: 5.5 "Traditional Memory Balloon Device" and its feature bit
 * VIRTIO_BALLOON_F_REPORTING. The file shows bit 0 first. */
#define VIRTIO_FOLDER            "/sys/bus/virtio/devices"
#define VIRTIO_BALLOON_ID        "0x0005"
#define VIRTIO_BALLOON_REPORTING 5
/* Hyper-V's dynamic memory, HV_DM_GUID in Linux's include/linux/hyperv.h. */
#define VMBUS_FOLDER         "/sys/bus/vmbus/devices"
#define VMBUS_DYNAMIC_MEMORY "{525074dc-8985-46e2-8057-a307dc18a502}"

static char *read_file(const char *root, const char *path)
{
	AUTO_TEXT whole = { 0 };
	char *text = NULL;
	text_addf(&whole, "%s%s", root, path);
	if (file_read_all(text_string(&whole), FILE_MAX, &text, NULL, NULL) < 0)
		return NULL;
	return text;
}

/* The number after a key that begins a line; false when there is none. */
static bool number_of(const char *text, const char *key, uint64_t *value)
{
	size_t length = strlen(key);
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) != 0)
			continue;
		char word[32];
		const char *start = line + length + strspn(line + length, " \t:");
		text_copy(word, sizeof(word), start);
		word[strcspn(word, " \n")] = '\0';
		return text_to_u64(word, value);
	}
	return false;
}

/* A file that holds one number; "max" and what cannot be read are false. */
static bool number_in(const char *root, const char *folder, const char *name, uint64_t *value)
{
	AUTO_TEXT path = { 0 };
	text_addf(&path, "%s/%s", folder, name);
	AUTO_FREE char *text = read_file(root, text_string(&path));
	return text && text_to_u64(text_trim(text), value);
}

static void lower(struct memory_room *room, uint64_t limit, uint64_t used)
{
	uint64_t left = limit > used ? limit - used : 0;
	if (left < room->available_bytes)
		room->available_bytes = left;
	if (limit < room->total_bytes)
		room->total_bytes = limit;
}

/* One control group. What it uses includes files that are only cached: those not read lately go
 * first. */
static void heed_group(const char *root, const char *folder, struct memory_room *room)
{
	static const struct {
		const char *limit, *used, *cached;
	} names[] = { { "memory.max", "memory.current", "inactive_file" },
		      { "memory.high", "memory.current", "inactive_file" },
		      { "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file" } };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t limit = 0, used = 0, cached = 0;
		AUTO_TEXT path = { 0 };
		if (!number_in(root, folder, names[i].limit, &limit) ||
		    !number_in(root, folder, names[i].used, &used))
			continue;
		text_addf(&path, "%s/memory.stat", folder);
		AUTO_FREE char *stat = read_file(root, text_string(&path));
		if (stat && number_of(stat, names[i].cached, &cached))
			used -= cached < used ? cached : used;
		lower(room, limit, used);
	}
}

/* The group and all above it. */
static void heed_groups(const char *root, const char *mount, const char *group,
			struct memory_room *room)
{
	AUTO_TEXT folder = { 0 };
	text_addf(&folder, "%s%s", mount, strcmp(group, "/") == 0 ? "" : group);
	size_t least = strlen(mount);
	for (;;) {
		heed_group(root, folder.data, room);
		char *slash = strrchr(folder.data, '/');
		if (strlen(folder.data) <= least || !slash)
			return;
		*slash = '\0';
	}
}

/* cgroups(7): lines "ID:CONTROLLERS:PATH"; version 2 has no controllers there. */
static void heed_control_groups(const char *root, struct memory_room *room)
{
	AUTO_FREE char *text = read_file(root, "/proc/self/cgroup");
	for (char *save = NULL, *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = '\0';
		controllers++;
		if (strcmp(controllers, "memory") == 0)
			heed_groups(root, "/sys/fs/cgroup/memory", group, room);
		if (*controllers)
			continue;
		heed_groups(root, "/sys/fs/cgroup", group, room);
		heed_groups(root, "/sys/fs/cgroup/unified", group, room);
	}
}

int memory_room(const char *root, struct memory_room *room, struct error *err)
{
	uint64_t total_kib = 0, available_kib = 0;
	AUTO_FREE char *text = read_file(root, "/proc/meminfo");
	if (!text || !number_of(text, "MemTotal", &total_kib) ||
	    !number_of(text, "MemAvailable", &available_kib))
		return error_set(err, ERROR_SYSTEM, 0,
				 "/proc/meminfo does not tell MemTotal and MemAvailable");
	*room = (struct memory_room){ total_kib << 10, available_kib << 10 };
	heed_control_groups(root, room);
	return 0;
}

uint64_t memory_stalls(const char *root)
{
	uint64_t stalls = 0;
	AUTO_FREE char *text = read_file(root, "/proc/vmstat");
	if (!text || !number_of(text, "compact_stall", &stalls))
		return 0;
	return stalls;
}

uint64_t memory_spare_bytes(const struct memory_room *room)
{
	uint64_t margin = room->total_bytes / MEMORY_MARGIN_PART;
	if (margin < MEMORY_MARGIN_LEAST_BYTES)
		margin = MEMORY_MARGIN_LEAST_BYTES;
	return room->available_bytes > margin ? room->available_bytes - margin : 0;
}

static char *device_file(const char *root, const char *folder, const char *device, const char *name)
{
	AUTO_TEXT path = { 0 };
	text_addf(&path, "%s/%s/%s", folder, device, name);
	char *text = read_file(root, text_string(&path));
	return text;
}

static bool device_is(const char *root, const char *folder, const char *device, const char *name,
		      const char *content)
{
	AUTO_FREE char *text = device_file(root, folder, device, name);
	return text && strcmp(text_trim(text), content) == 0;
}

static void look_at_virtio(const char *root, const char *device, struct memory_balloon *balloon)
{
	if (!device_is(root, VIRTIO_FOLDER, device, "device", VIRTIO_BALLOON_ID))
		return;
	AUTO_FREE char *features = device_file(root, VIRTIO_FOLDER, device, "features");
	text_copy(balloon->kind, sizeof(balloon->kind), "virtio");
	balloon->reporting |= features && strlen(features) > VIRTIO_BALLOON_REPORTING &&
			      features[VIRTIO_BALLOON_REPORTING] == '1';
}

/* Whether its host takes reported pages is not told: the probe shows it. */
static void look_at_vmbus(const char *root, const char *device, struct memory_balloon *balloon)
{
	if (device_is(root, VMBUS_FOLDER, device, "class_id", VMBUS_DYNAMIC_MEMORY))
		text_copy(balloon->kind, sizeof(balloon->kind), "hyper-v");
}

void memory_balloon_find(const char *root, struct memory_balloon *balloon)
{
	static const struct {
		const char *folder;
		void (*look)(const char *root, const char *device, struct memory_balloon *balloon);
	} buses[] = { { VIRTIO_FOLDER, look_at_virtio }, { VMBUS_FOLDER, look_at_vmbus } };
	*balloon = (struct memory_balloon){ .kind = "none" };
	for (size_t i = 0; i < ARRAY_SIZE(buses); i++) {
		AUTO_TEXT path = { 0 };
		text_addf(&path, "%s%s", root, buses[i].folder);
		AUTO_DIR listing = opendir(text_string(&path));
		for (struct dirent *item; listing && (item = readdir(listing));)
			if (item->d_name[0] != '.')
				buses[i].look(root, item->d_name, balloon);
	}
}
