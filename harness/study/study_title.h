/* What a study is called that has no name of its own. Between study.c and study_title.c only. */
#ifndef LINEFILL_STUDY_STUDY_TITLE_H
#define LINEFILL_STUDY_STUDY_TITLE_H

#include "harness/study/study.h"

/* For the results folder: the file's name without .ini, else the transports, "tcp-scp-rsync-ssh";
 * the caller frees. */
char *study_make_name(const struct study *study, const char *file);
/* The heading: [study] title, else the file's name, else "tcp, scp and rsync-ssh", or the label of
 * the only case; the caller frees. */
char *study_make_title(const struct study *study, const char *file);

#endif
