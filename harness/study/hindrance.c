#include "harness/study/hindrance.h"

struct manifest hindrance_estimate(const struct study *study)
{
	const struct dataset_estimate *estimate = &study->dataset_estimate;
	return (struct manifest){
		.files = estimate->files,
		.links = estimate->links,
		.count = (size_t)(estimate->entries ? estimate->entries : estimate->files),
		.bytes = estimate->bytes,
		.empty_folders = estimate->empty_folders,
		.odd_names = estimate->odd_names,
	};
}

/* A worker without a file would be idle: the figure would not be that of so many. */
static int check_files(const struct study_case *item, uint64_t files, struct error *err)
{
	if (files == 0 && !(item->transport->caps & CAP_EMPTY_TREE))
		return error_set(err, ERROR_UNSUPPORTED, 0,
				 "%s cannot carry an empty tree, and this dataset has no file",
				 item->transport->name);
	if (item->instances == 1 || item->instances <= files)
		return 0;
	if (files == 0)
		return error_set(err, ERROR_UNSUPPORTED, 0,
				 "%llu instances share out the files, and this dataset has none",
				 (unsigned long long)item->instances);
	return error_set(err, ERROR_UNSUPPORTED, 0,
			 "%llu instances, but only %llu file%s: some would have nothing to copy",
			 (unsigned long long)item->instances, (unsigned long long)files,
			 files == 1 ? "" : "s");
}

int hindrance_share(const struct study *study, uint64_t instances, struct error *err)
{
	if (instances == 1 || !study->dataset->in_place ||
	    !study->dataset->in_place(study->dataset_options))
		return 0;
	return error_set(
		err, ERROR_UNSUPPORTED, 0,
		"several instances need shares of hard links, which a tree used in "
		"place cannot have: set use = copy, or use = hard-links with a location on "
		"its file system");
}

int hindrance_find(const struct study *study, const struct study_case *item,
		   const struct manifest *totals, struct error *err)
{
	const struct transport *transport = item->transport;
	if (!transport) {
		*err = item->missing;
		return -1;
	}
	if (transport->check && transport->check(transport, item->options,
						 (enum preserve)study->settings.preserve, err) < 0)
		return -1;
	if (transport_moves_memory(transport, item->options))
		return 0;
	if (transport_can_carry(transport, totals, err) < 0 ||
	    check_files(item, totals->files, err) < 0)
		return -1;
	return hindrance_share(study, item->instances, err);
}
