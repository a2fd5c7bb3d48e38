/* What a study copied, in one line: files, bytes, where, cipher, memory. */
#ifndef LINEFILL_RESULTS_COPIED_H
#define LINEFILL_RESULTS_COPIED_H

#include "harness/base/text.h"
#include "results/results_folder.h"

/* "168 files, 256.0 MiB (linux-repo:bytes=256MiB), RAM to RAM on vm; cipher none, aes128-ctr;
 * memory backed; 10 rounds": plain text, escaped. What is not known is left out. */
void copied_text(const struct results_folder *data, struct text *out);

#endif
