#include "harness/services/digest.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/text.h"

#define BLOCK_BYTES (256u << 10)

/* Returns the digest's length, 0 on failure. */
static unsigned sum_up(int fd, EVP_MD_CTX *context, unsigned char *sum)
{
	AUTO_FREE unsigned char *block = malloc(BLOCK_BYTES);
	unsigned length = 0;
	ssize_t n = -1;
	if (!block || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1)
		return 0;
	while ((n = read(fd, block, BLOCK_BYTES)) > 0)
		if (EVP_DigestUpdate(context, block, (size_t)n) != 1)
			return 0;
	return n == 0 && EVP_DigestFinal_ex(context, sum, &length) == 1 ? length : 0;
}

void digest_file(const char *path, char digest[DIGEST_SIZE])
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	digest[0] = '\0';
	if (fd >= 0 && context && 2 * sum_up(fd, context, sum) == DIGEST_SIZE - 1)
		for (size_t i = 0; i < DIGEST_SIZE / 2; i++)
			snprintf(digest + 2 * i, 3, "%02x", sum[i]);
	EVP_MD_CTX_free(context);
}

void digest_program(struct probe_program *program)
{
	AUTO_FREE char *real = realpath(program->path, NULL);
	program->file[0] = '\0';
	if (real && strcmp(real, program->path) != 0 && strlen(real) < sizeof(program->file))
		text_copy(program->file, sizeof(program->file), real);
	digest_file(program->path, program->sha256);
}
