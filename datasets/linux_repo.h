/* Part of a Linux package repository, as the published study copied it. */
#ifndef LINEFILL_DATASETS_LINUX_REPO_H
#define LINEFILL_DATASETS_LINUX_REPO_H

#include <stdint.h>

#include "harness/base/error.h"

/* Size in bytes at the quantile 0 < p < 1 of the 63,440 packages of Debian 12 main for amd64. */
double linux_repo_quantile(double p);
/* The files sizes, ascending, before the seed shuffles them. 0 < files <= bytes. */
int linux_repo_sizes(uint64_t files, uint64_t bytes, uint64_t *sizes, struct error *err) MUST_CHECK;

#endif
