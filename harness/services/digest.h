/* What a program's file is: its digest, so that two that say the same version can be told apart. */
#ifndef LINEFILL_SERVICES_DIGEST_H
#define LINEFILL_SERVICES_DIGEST_H

#include "harness/api/transport.h"

#define DIGEST_SIZE 65

/* SHA-256 of the file's bytes, as hexadecimal digits; "" when it cannot be read. */
void digest_file(const char *path, char digest[DIGEST_SIZE]);
/* Fills in file and sha256. */
void digest_program(struct probe_program *program);

#endif
