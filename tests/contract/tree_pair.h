/* A tree, the folder for its copy, and the list of what should arrive: for tests of transports. All
 * end the program when they fail, but for tree_pair_compare. */
#ifndef LINEFILL_TESTS_CONTRACT_TREE_PAIR_H
#define LINEFILL_TESTS_CONTRACT_TREE_PAIR_H

#include "harness/api/manifest.h"
#include "tests/contract/pair.h"

struct tree_pair {
	char *base; /* a folder of the test's own: the trees lie in it, and whatever else */
	char *source, *sink;
	int source_fd, sink_fd;
	struct manifest files; /* of the source, as it was at the last tree_pair_scan */
};

/* Empty folders; source_name is the source's. */
void tree_pair_make(struct tree_pair *trees, const char *source_name);
/* Another folder in base, empty; the caller frees the path. */
char *tree_pair_folder(const struct tree_pair *trees, const char *name);
void tree_pair_scan(struct tree_pair *trees);
/* Removes all that is in base. */
void tree_pair_drop(struct tree_pair *trees);

/* The trees' part of it: what is left is the caller's. */
struct pair_spec tree_pair_spec(const struct tree_pair *trees, const char *transport,
				const char *options);
/* Is the sink what the list says, and are holes holes? */
int tree_pair_compare(const struct tree_pair *trees, enum preserve preserve,
		      struct error *err) MUST_CHECK;

#endif
