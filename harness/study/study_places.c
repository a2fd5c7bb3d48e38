#include "harness/study/study_places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/overlap.h"

#define RAM_FOLDER       "/dev/shm"
#define TEMPORARY_FOLDER "/tmp"
#define BYTES_TEXT       32

static bool is_ram(const char *location)
{
	return strcmp(location, "ram") == 0;
}

static const char *folder_of(const char *location)
{
	return is_ram(location) ? RAM_FOLDER : location;
}

static const char *target_of(const struct study *study)
{
	return study->place.target[0] ? study->place.target : study->place.location;
}

/* The user's own tree, or NULL. */
static const char *own_tree(const struct study *study)
{
	return study->dataset->reads ? study->dataset->reads(study->dataset_options) : NULL;
}

/* ---- folders in one another ---- */

struct folder {
	const char *what, *path; /* "[dataset] target = /data", "/data" */
	const char *advice;
	bool may_be_above;
};

static int check_apart(const struct folder *folder, const char *tree, struct error *err)
{
	static const char *const how[] = {
		[OVERLAP_SAME] = "is", [OVERLAP_INSIDE] = "lies in", [OVERLAP_ABOVE] = "is above"
	};
	enum overlap overlap = OVERLAP_NONE;
	if (overlap_find(folder->path, tree, &overlap, err) < 0)
		return -1;
	if (overlap == OVERLAP_NONE || (overlap == OVERLAP_ABOVE && folder->may_be_above))
		return 0;
	return error_set(err, ERROR_CONFIG, 0, "%s %s the dataset's own folder %s: %s",
			 folder->what, how[overlap], tree, folder->advice);
}

static int check_overlaps(const struct study *study, const char *tree, const char *out,
			  struct error *err)
{
	static const char elsewhere[] = "name another one";
	const char *tmpdir = getenv("TMPDIR");
	const char *scratch = tmpdir && *tmpdir == '/' ? tmpdir : TEMPORARY_FOLDER;
	bool in_place =
		study->dataset->in_place && study->dataset->in_place(study->dataset_options);
	AUTO_TEXT location = { 0 };
	AUTO_TEXT target = { 0 };
	AUTO_TEXT temporary = { 0 };
	AUTO_TEXT results = { 0 };
	text_addf(&temporary, "the folder for temporary files, %s,", scratch);
	text_addf(&location, "[dataset] location = %s", study->place.location);
	text_addf(&target, "[dataset] %s = %s", study->place.target[0] ? "target" : "location",
		  target_of(study));
	text_addf(&results, "the folder for results, %s,", out ? out : "");
	const struct folder folders[] = {
		/* Everything in RAM lies in one folder; what is made there has a name of its own.
		 */
		{ target.data, folder_of(target_of(study)), elsewhere,
		  !in_place || is_ram(target_of(study)) },
		{ location.data, folder_of(study->place.location), elsewhere, true },
		{ temporary.data, scratch, "set TMPDIR to another one", true },
		{ results.data, out, "name another one with --out", true },
	};
	size_t count = ARRAY_SIZE(folders) - (out ? 0 : 1);
	for (size_t i = 0; i < count; i++)
		if (check_apart(&folders[i], tree, err) < 0)
			return -1;
	return 0;
}

/* ---- room ---- */

/* Does any case leave a copy? */
static bool copies_files(const struct study *study)
{
	for (size_t i = 0; i < study->cases_count; i++) {
		const struct study_case *item = &study->cases[i];
		if (item->transport && !transport_moves_memory(item->transport, item->options))
			return true;
	}
	return false;
}

struct need {
	const char *location;
	uint64_t bytes;
	const char *what;
};

static int check_room(const struct need *need, const struct study *study, struct error *err)
{
	char wanted[BYTES_TEXT], there[BYTES_TEXT];
	uint64_t free_bytes = 0;
	const char *folder = folder_of(need->location);
	if (folder_room_bytes(folder, &free_bytes, err) < 0)
		return -1;
	if (need->bytes <= free_bytes)
		return 0;
	text_from_bytes(wanted, sizeof(wanted), need->bytes);
	text_from_bytes(there, sizeof(there), free_bytes);
	return error_set(err, ERROR_CONFIG, 0, "%s %s of %s%s, %s are free: %s%s", need->what,
			 wanted, is_ram(need->location) ? "RAM" : "room in ",
			 is_ram(need->location) ? "" : folder, there,
			 !study->dataset_estimate.made_bytes ? ""
			 : own_tree(study)                   ? "use=place or "
							     : "a smaller dataset or ",
			 is_ram(need->location) ? "location=FOLDER" : "another location or target");
}

static bool on_one_file_system(const char *a, const char *b)
{
	struct stat first, second;
	return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev;
}

static int check_rooms(const struct study *study, struct error *err)
{
	const struct dataset_estimate *estimate = &study->dataset_estimate;
	const char *location = study->place.location;
	const char *target = target_of(study);
	uint64_t copy = copies_files(study) ? estimate->copy_bytes : 0;
	if (estimate->made_bytes && copy &&
	    on_one_file_system(folder_of(location), folder_of(target))) {
		const struct need both = { location, estimate->made_bytes + copy,
					   "this dataset and a copy of it need" };
		return check_room(&both, study, err);
	}
	const struct need made = { location, estimate->made_bytes, "this dataset needs" };
	const struct need copied = { target, copy, "a copy of this dataset needs" };
	return check_room(&made, study, err) < 0 ? -1 : check_room(&copied, study, err);
}

static int check_hard_links(const struct study *study, const char *tree, struct error *err)
{
	const char *location = study->place.location;
	if (!study->dataset_estimate.hard_links || on_one_file_system(tree, folder_of(location)))
		return 0;
	return error_set(err, ERROR_CONFIG, 0,
			 "without its symbolic links the tree is used through hard links, which "
			 "need the file system of %s, and [dataset] location = %s is on another "
			 "one: name a folder on that file system, or take use=copy",
			 tree, location);
}

/* Another folder in its place would be a surprise. */
static int check_temporary(struct error *err)
{
	const char *tmpdir = getenv("TMPDIR");
	if (!tmpdir || !*tmpdir || (*tmpdir == '/' && path_is_plain(tmpdir)))
		return 0;
	return error_set(err, ERROR_CONFIG, 0,
			 "TMPDIR=%s: an absolute path of letters, digits and ._/@%%+=,- is needed, "
			 "since tools pass it on: set or unset it",
			 tmpdir);
}

int study_check_places(const struct study *study, const char *out, struct error *err)
{
	const char *tree = own_tree(study);
	if (check_temporary(err) < 0)
		return -1;
	if (tree &&
	    (check_overlaps(study, tree, out, err) < 0 || check_hard_links(study, tree, err) < 0))
		return -1;
	return check_rooms(study, err);
}
