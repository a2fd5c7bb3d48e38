/* Small trees, each with something that copies get wrong. */
#ifndef LINEFILL_TESTS_CONTRACT_TREES_H
#define LINEFILL_TESTS_CONTRACT_TREES_H

#include <stddef.h>
#include <sys/types.h>

struct tree_case {
	const char *name;
	void (*make)(int root); /* in the empty folder root */
};
extern const struct tree_case tree_cases[]; /* ends with a NULL name */

/* Files and folders of many modes. */
void tree_modes(int root);

/* Helpers for other tests; all end the program when they fail. */
void tree_folder(int root, const char *path, mode_t mode);
void tree_link(int root, const char *path, const char *target);
/* size bytes that nothing compresses, the same for the same path. */
void tree_file(int root, const char *path, size_t size);
/* An empty folder of that name under TMPDIR or /tmp; the caller frees the path. */
char *tree_temporary(void);
int tree_open(const char *path);

#endif
