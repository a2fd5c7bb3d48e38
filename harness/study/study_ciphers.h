/* Names of SSH ciphers and MACs in a study: a slip is told where it was made, not by a login that
 * fails later. Between study.c and its parts only. */
#ifndef LINEFILL_STUDY_STUDY_CIPHERS_H
#define LINEFILL_STUDY_STUDY_CIPHERS_H

#include "harness/base/error.h"
#include "harness/study/study_input.h"

/* "aes256-gcm" to "aes256-gcm@openssh.com": a known name may be given without its end. */
void study_lengthen_ciphers(struct study_input *input);
/* CONFIG, with the place and the nearest name, for a name in [ssh], or among the options of an SSH
 * transport, that neither SSH's standards nor this machine's OpenSSH has. That a name is known does
 * not say that each tool has it. */
int study_check_ciphers(const struct study_input *input, struct error *err) MUST_CHECK;

#endif
