#include "tests/contract/trees.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/random.h"

#define MIB (1u << 20)
/* scp gives up at 64. */
#define DEPTH 50u

static void must(int outcome, const char *what)
{
	if (outcome >= 0)
		return;
	perror(what);
	exit(1);
}

char *tree_temporary(void)
{
	char *path = NULL;
	const char *base = getenv("TMPDIR");
	if (asprintf(&path, "%s/linefill-test-XXXXXX", base ? base : "/tmp") < 0 || !mkdtemp(path))
		must(-1, "mkdtemp");
	return path;
}

int tree_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd, path);
	return fd;
}

void tree_folder(int root, const char *path, mode_t mode)
{
	must(mkdirat(root, path, 0700), path);
	must(fchmodat(root, path, mode, 0), path);
}

void tree_link(int root, const char *path, const char *target)
{
	must(symlinkat(target, root, path), path);
}

static void fill(int fd, const char *path, off_t offset, size_t size)
{
	static uint64_t block[8192];
	struct random random;
	random_seed(&random, random_mix(strlen(path), (uint64_t)path[0] ^ size));
	for (size_t done = 0; done < size;) {
		for (size_t i = 0; i < ARRAY_SIZE(block); i++)
			block[i] = random_next(&random);
		size_t now = size - done < sizeof(block) ? size - done : sizeof(block);
		must((int)pwrite(fd, block, now, offset + (off_t)done), path);
		done += now;
	}
}

static int create(int root, const char *path)
{
	int fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	must(fd, path);
	return fd;
}

void tree_file(int root, const char *path, size_t size)
{
	AUTO_FD fd = create(root, path);
	fill(fd, path, 0, size);
}

static void make_empty(int root)
{
	(void)root;
}

static void make_empty_files(int root)
{
	tree_file(root, "a", 0);
	tree_file(root, "b", 0);
	tree_folder(root, "folder", 0755);
	tree_file(root, "folder/c", 0);
}

static void make_one_byte(int root)
{
	tree_file(root, "byte", 1);
}

static void make_many_small(int root)
{
	char path[64];
	for (unsigned i = 0; i < 2000; i++) {
		if (i % 100 == 0) {
			snprintf(path, sizeof(path), "folder-%02u", i / 100);
			tree_folder(root, path, 0755);
		}
		snprintf(path, sizeof(path), "folder-%02u/file-%04u", i / 100, i);
		tree_file(root, path, i * 7 % 9001);
	}
}

static void make_large(int root)
{
	tree_file(root, "large", 33 * MIB + 4097);
	tree_file(root, "exact", 8 * MIB);
	tree_file(root, "small", 12345);
}

/* Holes at the start, in the middle and at the end, and nothing but a hole. */
static void make_sparse(int root)
{
	static const struct {
		const char *path;
		off_t size, data;
	} files[] = {
		{ "start", 9 * MIB + 100, 9 * MIB - 8192 },
		{ "middle", 12 * MIB, 6 * MIB },
		{ "end", 20 * MIB + 1, 0 },
		{ "all", 5 * MIB + 77, -1 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		AUTO_FD fd = create(root, files[i].path);
		must(ftruncate(fd, files[i].size), files[i].path);
		if (files[i].data < 0)
			continue;
		fill(fd, files[i].path, files[i].data, 8192);
		if (files[i].data > 0)
			continue;
		fill(fd, files[i].path, 10 * MIB, 4096);
	}
}

static void make_folders(int root)
{
	char path[1200] = "";
	size_t length = 0;
	for (unsigned i = 0; i < DEPTH; i++) {
		length += (size_t)snprintf(path + length, sizeof(path) - length, "%slevel-%02u",
					   i ? "/" : "", i);
		tree_folder(root, path, 0755);
		if (i % 10 != 9)
			continue;
		snprintf(path + length, sizeof(path) - length, "/file");
		tree_file(root, path, 100 + i);
		path[length] = '\0';
	}
	tree_folder(root, "empty", 0755);
	tree_folder(root, "empty/nested", 0755);
	tree_folder(root, "empty-2", 0755);
	/* Byte order puts "empty-2" between "empty" and what is in it. */
	tree_file(root, "empty-2.txt", 3);
}

static void make_links(int root)
{
	tree_folder(root, "folder", 0755);
	tree_file(root, "folder/file", 1000);
	tree_link(root, "to-file", "folder/file");
	tree_link(root, "to-folder", "folder");
	tree_link(root, "folder/up", "../folder");
	tree_link(root, "dangling", "nothing/here");
	tree_link(root, "absolute", "/etc/passwd");
	tree_link(root, "out", "../../..");
	tree_link(root, "odd", "two words\n\xff");
}

static void make_names(int root)
{
	static const char *const names[] = {
		"two words",      " leading",      "trailing ", "quote's", "double\"quote",
		"back\\slash",    "new\nline",     "tab\tname", "-dash",   "--help",
		"latin-\xe9\xff", "utf8-\xc3\xa9", "*",         "$HOME",   "`id`",
		";exit",          "a:b",           "#hash",     "~",       "...",
		".hidden",        "esc\x1b[31m",
	};
	char longest[256];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		tree_file(root, names[i], 10 + i);
	memset(longest, 'n', 255);
	longest[255] = '\0';
	tree_file(root, longest, 77);
	tree_folder(root, "odd folder\n\xfe", 0755);
	tree_file(root, "odd folder\n\xfe/-x y", 5);
	tree_folder(root, "odd folder\n\xfe/empty", 0755);
}

void tree_modes(int root)
{
	static const mode_t modes[] = { 0400, 0600, 0640, 0644, 0666, 0755, 0777, 0444 };
	char path[32];
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		snprintf(path, sizeof(path), "file-%04o", modes[i]);
		tree_file(root, path, 100 * i);
		must(fchmodat(root, path, modes[i], 0), path);
	}
	tree_folder(root, "open", 0777);
	tree_folder(root, "closed", 0755);
	tree_file(root, "closed/file", 10);
	tree_folder(root, "closed/inner", 0755);
	tree_file(root, "closed/inner/file", 10);
	must(fchmodat(root, "closed/inner", 0500, 0), "closed/inner");
	must(fchmodat(root, "closed", 0555, 0), "closed");
}

const struct tree_case tree_cases[] = {
	{ "empty tree", make_empty },
	{ "empty files", make_empty_files },
	{ "one byte", make_one_byte },
	{ "many small files", make_many_small },
	{ "large files", make_large },
	{ "sparse files", make_sparse },
	{ "deep and empty folders", make_folders },
	{ "symbolic links", make_links },
	{ "odd names", make_names },
	{ NULL, NULL },
};
