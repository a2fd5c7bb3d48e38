/* What a chosen folder brings along is taken away, or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/fs.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include "harness/agent/location.h"
#include "tests/unit/default_acl.h"
#include "tests/unit/tree_folder.h"

static bool is_empty(const char *folder)
{
	bool empty = false;
	return folder_is_empty(folder, &empty, NULL) == 0 && empty;
}

static mode_t mode_made_in(const char *folder)
{
	struct stat status;
	AUTO_FREE char *path = path_join(folder, "made");
	mode_t mask = umask(0);
	AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	umask(mask);
	return fd >= 0 && fstat(fd, &status) == 0 && unlink(path) == 0 ? status.st_mode & 07777 : 0;
}

static void check_refused(enum preserve preserve, const char *says)
{
	struct error err = { 0 };
	assert_int_equal(location_try("ours", "/chosen", preserve, &err), -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
	if (!strstr(err.message, says) || !strstr(err.message, "location /chosen"))
		fail_msg("%s", err.message);
	assert_int_equal(unlink("ours/linefill-Trial"), -1);
}

static void test_ordinary(void **state)
{
	struct error err = { 0 };
	(void)state;
	assert_int_equal(location_check(tree_folder, &err), 0);
	assert_int_equal(mkdir("ours", 0755), 0);
	location_settle("ours");
	for (enum preserve preserve = PRESERVE_CONTENT; preserve <= PRESERVE_ALL; preserve++)
		if (location_try("ours", "/chosen", preserve, &err) < 0)
			fail_msg("%s", err.message);
	assert_true(is_empty("ours"));
	assert_int_equal(location_try("none", "/chosen", PRESERVE_ALL, &err), -1);
	assert_int_equal(err.kind, ERROR_SYSTEM);
}

static void test_default_acl(void **state)
{
	struct error err = { 0 };
	(void)state;
	assert_int_equal(mkdir("chosen", 0755), 0);
	if (!default_acl_set("chosen")) {
		print_message("skipped: no access control lists on this file system\n");
		skip();
	}
	assert_int_equal(mkdir("chosen/ours", 0700), 0);
	assert_int_equal(mode_made_in("chosen/ours"), 0640);
	assert_int_equal(rename("chosen/ours", "ours"), 0);
	check_refused(PRESERVE_MODE, "a file's mode becomes 0640 there instead of 0644");
	assert_int_equal(location_try("ours", "/chosen", PRESERVE_CONTENT, &err), 0);
	location_settle("ours");
	assert_int_equal(mode_made_in("ours"), 0644);
	assert_int_equal(location_try("ours", "/chosen", PRESERVE_MODE, &err), 0);
	/* Nor does it go on from there. */
	assert_int_equal(mkdir("ours/in", 0755), 0);
	assert_int_equal(mode_made_in("ours/in"), 0644);
}

/* A group can be given away to one that is not ours by root alone. */
static void test_set_group_id(void **state)
{
	struct stat status;
	(void)state;
	assert_int_equal(mkdir("chosen", 0755), 0);
	if (geteuid() == 0)
		assert_int_equal(chown("chosen", (uid_t)-1, 4242), 0);
	assert_int_equal(chmod("chosen", 02777), 0);
	assert_int_equal(mkdir("chosen/ours", 0700), 0);
	assert_int_equal(stat("chosen/ours", &status), 0);
	assert_true(status.st_mode & S_ISGID);
	location_settle("chosen/ours");
	assert_int_equal(stat("chosen/ours", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	assert_int_equal(status.st_gid, getegid());
	assert_int_equal(mkdir("chosen/ours/in", 0755), 0);
	assert_int_equal(stat("chosen/ours/in", &status), 0);
	assert_false(status.st_mode & S_ISGID);
	assert_int_equal(status.st_gid, getegid());
}

static bool set_attribute(const char *folder, unsigned attribute)
{
	unsigned now = 0;
	AUTO_FD fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &now) < 0)
		return false;
	now |= attribute;
	return ioctl(fd, FS_IOC_SETFLAGS, &now) == 0;
}

static unsigned attributes(const char *folder)
{
	unsigned now = 0;
	AUTO_FD fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && ioctl(fd, FS_IOC_GETFLAGS, &now) == 0 ? now : 0;
}

static void test_synchronous_folder(void **state)
{
	(void)state;
	assert_int_equal(mkdir("chosen", 0755), 0);
	if (!set_attribute("chosen", FS_SYNC_FL | FS_DIRSYNC_FL)) {
		print_message("skipped: folders have no attributes on this file system\n");
		skip();
	}
	assert_int_equal(mkdir("chosen/ours", 0700), 0);
	assert_true(attributes("chosen/ours") & FS_SYNC_FL);
	location_settle("chosen/ours");
	assert_false(attributes("chosen/ours") & (FS_SYNC_FL | FS_DIRSYNC_FL));
}

static void test_folder_to_append_to(void **state)
{
	struct error err = { 0 };
	(void)state;
	assert_int_equal(mkdir("chosen", 0755), 0);
	if (!set_attribute("chosen", FS_APPEND_FL)) {
		print_message("skipped: no folder can be made append-only here\n");
		skip();
	}
	int outcome = location_check("chosen", &err);
	unsigned none = 0;
	AUTO_FD fd = open("chosen", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(ioctl(fd, FS_IOC_SETFLAGS, &none), 0);
	assert_int_equal(outcome, -1);
	assert_int_equal(err.kind, ERROR_CONFIG);
	assert_non_null(strstr(err.message, "cannot be removed (chattr +a)"));
}

/* In a child with mounts of its own. */
static void check_synchronous_mount(void)
{
	struct error err = { 0 };
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "chosen", "tmpfs", MS_SYNCHRONOUS, NULL) < 0)
		_exit(77);
	bool refused = location_check("chosen", &err) < 0 && err.kind == ERROR_CONFIG &&
		       strstr(err.message, "mounted with 'sync'");
	_exit(refused ? 0 : 1);
}

static void test_synchronous_mount(void **state)
{
	int status = -1;
	(void)state;
	assert_int_equal(mkdir("chosen", 0755), 0);
	pid_t pid = fork();
	if (pid == 0)
		check_synchronous_mount();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("skipped: nothing can be mounted here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A file of that name stands for a file system that finds the trial by it. */
static void test_names_without_case(void **state)
{
	(void)state;
	assert_int_equal(mkdir("ours", 0700), 0);
	assert_true(tree_put("ours/LINEFILL-tRIAL", ""));
	check_refused(PRESERVE_CONTENT, "upper and lower case are one file");
}

static void test_another_owner(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can make files that are another's\n");
		skip();
	}
	assert_int_equal(mkdir("ours", 0777), 0);
	assert_int_equal(chmod("ours", 0777), 0);
	/* The file system's user is not the effective one: as with a server that maps users. */
	pid_t pid = fork();
	if (pid == 0) {
		struct error err = { 0 };
		setfsuid(4242);
		bool refused = location_try("ours", "/chosen", PRESERVE_CONTENT, &err) < 0 &&
			       err.kind == ERROR_CONFIG &&
			       strstr(err.message, "belongs to user 4242");
		_exit(refused ? 0 : 1);
	}
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(is_empty("ours"));
}

/* What an ordinary file system takes; and how large its files may be is its own business. */
static void test_what_the_dataset_needs(void **state)
{
	static const struct manifest_entry entries[] = {
		{ .path = "a: \"\xff\n?", .type = MANIFEST_FILE, .size_bytes = 5 },
		{ .path = "large", .type = MANIFEST_FILE, .size_bytes = INT64_MAX / 2 },
		{ .path = "link", .type = MANIFEST_LINK, .target = "a" },
	};
	struct manifest files = { 0 };
	struct error err = { 0 };
	(void)state;
	assert_int_equal(mkdir("ours", 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		assert_int_equal(manifest_add(&files, &entries[i], NULL), 0);
	assert_int_equal(manifest_finish(&files, NULL), 0);
	AUTO_FD fd = open("probe", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	bool takes_large = ftruncate(fd, INT64_MAX / 2) == 0;
	assert_true(takes_large || errno == EFBIG);
	assert_int_equal(location_fits("ours", "/chosen", &files, &err), takes_large ? 0 : -1);
	if (!takes_large) {
		assert_int_equal(err.kind, ERROR_CONFIG);
		assert_non_null(strstr(err.message, "bytes such as 'large'"));
	}
	assert_true(is_empty("ours"));
	files.entries[1].size_bytes = 5;
	assert_int_equal(location_fits("ours", "/chosen", &files, &err), 0);
	assert_true(is_empty("ours"));
	manifest_free(&files);
}

/* A folder that takes nothing stands for one that takes no links, or not these names. */
static bool says_what_it_cannot_hold(void)
{
	struct manifest files = { .links = 3 };
	struct manifest_entry odd = { .path = "d/a b", .type = MANIFEST_FILE };
	struct manifest names = { .entries = &odd, .count = 1, .odd_names = true };
	struct error err = { 0 };
	return location_fits("ours", "/chosen", &files, &err) < 0 && err.kind == ERROR_CONFIG &&
	       strstr(err.message, "cannot hold symbolic links") && strstr(err.message, "has 3") &&
	       location_fits("ours", "/chosen", &names, &err) < 0 && err.kind == ERROR_CONFIG &&
	       strstr(err.message, "the name of 'd/a b'");
}

static void test_what_it_cannot_hold(void **state)
{
	(void)state;
	assert_int_equal(mkdir("ours", 0755), 0);
	assert_int_equal(chmod("ours", 0555), 0);
	assert_true(tree_as_nobody(says_what_it_cannot_hold));
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, tree_folder_make, tree_folder_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(test_ordinary),
		IN_A_FOLDER(test_default_acl),
		IN_A_FOLDER(test_set_group_id),
		IN_A_FOLDER(test_synchronous_folder),
		IN_A_FOLDER(test_folder_to_append_to),
		IN_A_FOLDER(test_synchronous_mount),
		IN_A_FOLDER(test_names_without_case),
		IN_A_FOLDER(test_another_owner),
		IN_A_FOLDER(test_what_the_dataset_needs),
		IN_A_FOLDER(test_what_it_cannot_hold),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
