#include "harness/agent/location.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/log.h"

#ifndef FS_CASEFOLD_FL
#define FS_CASEFOLD_FL 0x40000000
#endif

/* Of what folders hand down, what would make copies other than they should be, or slower than the
 * study's durability says. */
static const unsigned unwanted[] = { FS_CASEFOLD_FL, FS_SYNC_FL, FS_DIRSYNC_FL };
static const char *const inherited[] = { "system.posix_acl_default", "system.posix_acl_access" };

#define TRIAL "linefill-Trial"
/* Odd, so that a clock of two seconds is found out. */
#define TRIAL_TIME_S 1600000001
/* The least of common limits is 2^32 - 1 bytes (FAT). */
#define LARGE_BYTES (UINT64_C(1) << 31)

static unsigned attributes_of(int fd)
{
	unsigned attributes = 0;
	return ioctl(fd, FS_IOC_GETFLAGS, &attributes) < 0 ? 0 : attributes;
}

int location_check(const char *location, struct error *err)
{
	struct statvfs mounted;
	AUTO_FD fd = open(location, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Who may not read a folder may still make others in it. */
	if (fd >= 0 && (attributes_of(fd) & FS_APPEND_FL))
		return error_set(err, ERROR_CONFIG, 0,
				 "location %s: what is made in it cannot be removed (chattr +a): "
				 "choose another folder",
				 location);
	if (statvfs(location, &mounted) < 0)
		return error_system(err, "statvfs %s", location);
	if (mounted.f_flag & ST_SYNCHRONOUS)
		return error_set(
			err, ERROR_CONFIG, 0,
			"location %s is mounted with 'sync': every write would wait for "
			"the disk, whatever [study] durability says: choose another folder",
			location);
	return 0;
}

void location_settle(const char *folder)
{
	AUTO_FD fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return; /* nor can anything else be made in it */
	for (size_t i = 0; i < ARRAY_SIZE(inherited); i++)
		fremovexattr(fd, inherited[i]);
	for (size_t i = 0; i < ARRAY_SIZE(unwanted); i++) {
		unsigned attributes = attributes_of(fd);
		unsigned rest = attributes & ~unwanted[i];
		if (rest != attributes)
			ioctl(fd, FS_IOC_SETFLAGS, &rest);
	}
	/* chmod takes away set-group-ID, too. */
	if (fchown(fd, (uid_t)-1, getegid()) < 0 || fchmod(fd, 0700) < 0)
		log_line(LOG_INFO, "%s keeps its group or mode", folder);
}

/* ---- what becomes of a file ---- */

struct trial {
	const char *location;
	int folder_fd;
	enum preserve preserve;
};

static int try_case(const struct trial *trial, struct error *err)
{
	if (faccessat(trial->folder_fd, "LINEFILL-tRIAL", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return error_set(err, ERROR_CONFIG, 0,
			 "location %s: names that differ only in upper and lower case are one file "
			 "there: choose another folder",
			 trial->location);
}

static int try_owner(const struct trial *trial, const struct stat *status, struct error *err)
{
	if (status->st_uid == geteuid())
		return 0;
	return error_set(
		err, ERROR_CONFIG, 0,
		"location %s: what user %u makes there belongs to user %u (a mount option, "
		"or an NFS server that trusts nobody): choose another folder",
		trial->location, (unsigned)geteuid(), (unsigned)status->st_uid);
}

static int wrong_mode(const struct trial *trial, mode_t wanted, mode_t got, struct error *err)
{
	return error_set(err, ERROR_CONFIG, 0,
			 "location %s: a file's mode becomes %04o there instead of %04o (a mount "
			 "option, or inherited access rules): set [study] preserve = content, or "
			 "choose another folder",
			 trial->location, (unsigned)got, (unsigned)wanted);
}

static int try_modes(const struct trial *trial, int fd, mode_t made, struct error *err)
{
	static const mode_t modes[] = { 0644, 0755, 0400, 0666 };
	struct stat status;
	if (trial->preserve < PRESERVE_MODE)
		return 0;
	mode_t mask = umask(0);
	umask(mask);
	if ((made & 0777) != (0666 & ~mask))
		return wrong_mode(trial, 0666 & ~mask, made & 0777, err);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		/* Some refuse what they cannot keep, others forget it. */
		if (fchmod(fd, modes[i]) < 0 && errno != EPERM)
			return error_system(err, "chmod in location %s", trial->location);
		if (fstat(fd, &status) < 0)
			return error_system(err, "stat in location %s", trial->location);
		if ((status.st_mode & 0777) != modes[i])
			return wrong_mode(trial, modes[i], status.st_mode & 0777, err);
	}
	return 0;
}

static int try_time(const struct trial *trial, int fd, struct error *err)
{
	static const struct timespec times[2] = { { .tv_sec = TRIAL_TIME_S },
						  { .tv_sec = TRIAL_TIME_S } };
	struct stat status;
	if (trial->preserve < PRESERVE_ALL)
		return 0;
	if (futimens(fd, times) == 0 && fstat(fd, &status) == 0 &&
	    status.st_mtim.tv_sec == TRIAL_TIME_S)
		return 0;
	return error_set(err, ERROR_CONFIG, 0,
			 "location %s: a file's time does not stay what it is set to: set [study] "
			 "preserve = mode, or choose another folder",
			 trial->location);
}

static int try_file(const struct trial *trial, struct error *err)
{
	struct stat status;
	AUTO_FD fd = openat(trial->folder_fd, TRIAL, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 || fstat(fd, &status) < 0)
		return error_system(err, "make a file in location %s", trial->location);
	if (try_owner(trial, &status, err) < 0 || try_case(trial, err) < 0 ||
	    try_modes(trial, fd, status.st_mode, err) < 0)
		return -1;
	return try_time(trial, fd, err);
}

static int end_trial(const struct trial *trial, int outcome, struct error *err)
{
	if (unlinkat(trial->folder_fd, TRIAL, 0) < 0 && errno != ENOENT && outcome == 0)
		return error_system(err, "remove a file in location %s", trial->location);
	return outcome;
}

static int open_folder(const char *folder, struct error *err)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? error_system(err, "open %s", folder) : fd;
}

int location_try(const char *folder, const char *location, enum preserve preserve,
		 struct error *err)
{
	AUTO_FD fd = open_folder(folder, err);
	if (fd < 0)
		return -1;
	const struct trial trial = { .location = location, .folder_fd = fd, .preserve = preserve };
	return end_trial(&trial, try_file(&trial, err), err);
}

/* ---- what a dataset needs ---- */

static int try_link(const struct trial *trial, uint64_t links, struct error *err)
{
	if (links == 0 || symlinkat("target", trial->folder_fd, TRIAL) == 0)
		return end_trial(trial, 0, err);
	return error_set(err, ERROR_CONFIG, errno,
			 "location %s cannot hold symbolic links (%s), and the dataset has %llu: "
			 "choose another folder, or links=skip",
			 trial->location, strerror(errno), (unsigned long long)links);
}

/* A name of every byte that a name may have tells for all others. */
static bool takes_any_name(const struct trial *trial)
{
	char name[256];
	size_t length = 0;
	for (unsigned byte = 1; byte < 256; byte++)
		if (byte != '/')
			name[length++] = (char)byte;
	name[length] = '\0';
	int fd = openat(trial->folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	close(fd);
	return unlinkat(trial->folder_fd, name, 0) == 0;
}

static int try_name(const struct trial *trial, const char *path, struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	int fd = openat(trial->folder_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set(
			err, ERROR_CONFIG, errno,
			"location %s cannot hold a file with the name of '%s' (%s): choose "
			"another folder",
			trial->location, manifest_shown(shown, path), strerror(errno));
	close(fd);
	return unlinkat(trial->folder_fd, name, 0) < 0
		       ? error_system(err, "remove a file in location %s", trial->location)
		       : 0;
}

static int try_names(const struct trial *trial, const struct manifest *files, struct error *err)
{
	if (!files->odd_names || takes_any_name(trial))
		return 0;
	for (size_t i = 0; i < files->count; i++)
		if (try_name(trial, files->entries[i].path, err) < 0)
			return -1;
	return 0;
}

static int try_size(const struct trial *trial, const struct manifest *files, struct error *err)
{
	char shown[MANIFEST_SHOWN_SIZE];
	const struct manifest_entry *largest = NULL;
	for (size_t i = 0; i < files->count; i++)
		if (!largest || files->entries[i].size_bytes > largest->size_bytes)
			largest = &files->entries[i];
	if (!largest || largest->size_bytes < LARGE_BYTES)
		return 0;
	AUTO_FD fd = openat(trial->folder_fd, TRIAL, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_system(err, "make a file in location %s", trial->location);
	/* Whether there is room is another question. */
	if (ftruncate(fd, (off_t)largest->size_bytes) == 0 || errno != EFBIG)
		return end_trial(trial, 0, err);
	error_set(
		err, ERROR_CONFIG, EFBIG,
		"location %s cannot hold a file of %llu bytes such as '%s': choose another folder",
		trial->location, (unsigned long long)largest->size_bytes,
		manifest_shown(shown, largest->path));
	return end_trial(trial, -1, err);
}

int location_fits(const char *folder, const char *location, const struct manifest *files,
		  struct error *err)
{
	AUTO_FD fd = open_folder(folder, err);
	if (fd < 0)
		return -1;
	const struct trial trial = { .location = location, .folder_fd = fd };
	if (try_link(&trial, files->links, err) < 0 || try_names(&trial, files, err) < 0)
		return -1;
	return try_size(&trial, files, err);
}
