/* A default access control list, as setfacl makes it: files made in the folder get no mode but what
 * it gives. */
#ifndef LINEFILL_TESTS_UNIT_DEFAULT_ACL_H
#define LINEFILL_TESTS_UNIT_DEFAULT_ACL_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/xattr.h>

/* The form is the kernel's, see linux/posix_acl_xattr.h: owner rwx, group r-x, others nothing.
 * False where the file system has none. */
static inline bool default_acl_set(const char *folder)
{
	struct {
		uint32_t version;
		struct {
			uint16_t tag, may;
			uint32_t id;
		} entries[3];
	} acl = { .version = htole32(2),
		  .entries = { { htole16(0x01), htole16(7), UINT32_MAX },
			       { htole16(0x04), htole16(5), UINT32_MAX },
			       { htole16(0x20), htole16(0), UINT32_MAX } } };
	return setxattr(folder, "system.posix_acl_default", &acl, sizeof(acl), 0) == 0;
}

#endif
