/* What a tree holds, entry by entry: what a dataset promises, what a worker carries, what
 * verification compares with. */
#ifndef LINEFILL_API_MANIFEST_H
#define LINEFILL_API_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/cancel.h"
#include "harness/base/error.h"

/* Longest path and longest name between two '/' that an entry may have, in bytes: what Linux lets a
 * program open. */
#define MANIFEST_PATH_MAX 4095
#define MANIFEST_NAME_MAX 255

enum manifest_type { MANIFEST_FILE, MANIFEST_FOLDER, MANIFEST_LINK };

/* XXH3-128 (https://xxhash.com) of the contents, holes read as zeros. */
struct manifest_digest {
	uint64_t low, high;
};

struct manifest_entry {
	const char *path; /* relative to the root, raw bytes without NUL, no "." or "..", no leading
			     or trailing '/' */
	const char *target;            /* LINK: where it points, raw bytes; else NULL */
	uint64_t size_bytes;           /* FILE: apparent size; else 0 */
	uint64_t hole_bytes;           /* FILE: of them, in holes */
	int64_t mtime_s;               /* FILE: modification time, seconds since 1970 */
	struct manifest_digest digest; /* FILE */
	uint32_t mode;                 /* permission bits (07777); 0777 for a LINK */
	enum manifest_type type : 16;
	bool linked : 1; /* FILE: it has other names (hard links), here or elsewhere */
};

/* Entries are in byte order of their paths, so that a folder precedes what is in it. The root
 * itself is no entry. */
struct manifest {
	struct manifest_entry *entries;
	size_t count;
	uint64_t files, folders, links;
	uint64_t bytes; /* sum of size_bytes */
	uint64_t hole_bytes;
	uint32_t root_mode; /* st_mode of the root folder; 0: unknown, and then not compared */
	bool empty_folders; /* there is a folder with nothing in it */
	bool odd_names; /* a path has bytes other than printable ASCII without quotes, backslash,
			   blanks, leading '-' */
	struct manifest_arena *arena; /* private: where the strings live */
};

/* An empty manifest is all zero. manifest_free may be called on one. */
void manifest_free(struct manifest *manifest);
/* Copies the entry and its strings; what its type has no use for is dropped. Paths that are too
 * long, absolute, or have an empty, "." or ".." component are refused (CONFIG). O(1) amortised, and
 * sorted input costs no sort later. Call manifest_finish when all are in. */
int manifest_add(struct manifest *manifest, const struct manifest_entry *entry,
		 struct error *err) MUST_CHECK;
/* The same, but the strings stay the caller's and must outlive the manifest. */
int manifest_add_borrowed(struct manifest *manifest, const struct manifest_entry *entry,
			  struct error *err) MUST_CHECK;
/* Sorts, and computes totals and flags. A path that appears twice, or lies under a file or a link,
 * is an error (CONFIG). Parents need not be listed. More may be added afterwards, and finished
 * again.
 */
int manifest_finish(struct manifest *manifest, struct error *err) MUST_CHECK;

/* Versioned binary form; little-endian, the same on every machine. A file made by someone else may
 * hold anything: loading checks every length. */
int manifest_save(const struct manifest *manifest, const char *path, struct error *err) MUST_CHECK;
int manifest_load(struct manifest *manifest, const char *path, struct error *err) MUST_CHECK;
/* The same from memory (fuzzed). bytes may be freed afterwards. */
int manifest_parse(struct manifest *manifest, const void *bytes, size_t count,
		   struct error *err) MUST_CHECK;
/* XXH3-128 over paths, types, sizes, modes, targets and digests (not times and holes) as 32 hex
 * digits. */
#define MANIFEST_DIGEST_SIZE 33
void manifest_digest_text(const struct manifest *manifest, char text[MANIFEST_DIGEST_SIZE]);

/* A path as a message shows it: escaped for terminals, cut where it is too long. Returns text. */
#define MANIFEST_SHOWN_SIZE 200
const char *manifest_shown(char text[MANIFEST_SHOWN_SIZE], const char *path);

/* How a scan works, and what stops it. */
struct manifest_scan_options {
	unsigned threads; /* 0: one per CPU */
	bool skip_links;  /* leave symbolic links out */
	bool one_mount;   /* what is mounted in the tree is an error (EXDEV) */
	const struct cancel *cancel;
	int64_t deadline_ns; /* CLOCK_NEVER or 0: none */
};

/* Walks the tree under root without following links (root itself may be one) and hashes every file,
 * on several threads. Sockets, fifos and devices (CONFIG), and what cannot be read, vanishes or
 * changes size meanwhile (SYSTEM), are errors that name it. manifest must be empty; the result does
 * not depend on the threads. */
int manifest_scan(struct manifest *manifest, const char *root,
		  const struct manifest_scan_options *options, struct error *err) MUST_CHECK;
/* The same without opening files: digests and hole_bytes stay 0. One thread. */
int manifest_list(struct manifest *manifest, const char *root,
		  const struct manifest_scan_options *options, struct error *err) MUST_CHECK;
/* Opens what path names under root_fd for reading, following no link on the way; -1 with errno. */
int manifest_open(int root_fd, const char *path, int flags);

/* The entry of the path that is the first length bytes of path, or NULL. manifest_finish must have
 * been called. */
const struct manifest_entry *manifest_find(const struct manifest *manifest, const char *path,
					   size_t length);

/* What must be alike besides names, types, sizes, link targets and contents. Order matters: each
 * includes the one before. */
enum preserve {
	PRESERVE_CONTENT,
	PRESERVE_MODE, /* + permission bits (0777) of files and folders */
	PRESERVE_ALL,  /* + modification times of files, in whole seconds */
};
/* "content", "mode", "all"; NULL past the end. Also the choices of the study's preserve key. */
extern const char *const preserve_names[];

/* Compares what is (copy) with what should be. 0 when alike; else -1, kind INTEGRITY, with the
 * first difference and the number of all differences in the message. */
int manifest_compare(const struct manifest *wanted, const struct manifest *copy,
		     enum preserve preserve, struct error *err) MUST_CHECK;
/* A tree that is there, held against a manifest. */
struct manifest_check {
	const struct manifest *wanted;
	enum preserve preserve;
	const struct manifest_scan_options *options;
	/* It is a copy that was made just now, so its files must be its own: hard links, and blocks
	 * shared with another file where the file system tells, are INTEGRITY: "not a copy". Hard
	 * links among its files are right where those of the original are linked, too. */
	bool fresh;
	/* It is the original, looked at again: the message says that the source changed. */
	bool source;
	/* One a wanted entry, or NULL: what each file looked like to fstat when its contents were
	 * known (0: unknown). Contents are read only where that is another now, and the new mark is
	 * kept; after an error the marks mean nothing. With take_marks nothing is read, and all are
	 * new. */
	uint64_t *marks;
	bool take_marks;
};

struct manifest_found {
	uint64_t bytes;      /* sizes of all files */
	uint64_t data_bytes; /* of those that were read: not in holes, and not of a second name */
};

/* Compares what lies under root_fd, read as manifest_scan does. No second manifest is made: takes a
 * few bytes an entry, and the paths of folders that should not be there. What makes manifest_scan
 * fail is an error of its kind, not INTEGRITY. */
int manifest_verify(const struct manifest_check *check, int root_fd, struct manifest_found *found,
		    struct error *err) MUST_CHECK;

#endif
