#include "harness/services/ssh_server.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/log.h"
#include "harness/base/said.h"

#define KEY_FILE_MAX 16384
#define LOG_TAIL     4096
/* RFC 4253, 4.2. Either end may speak first; every client that is known does. */
#define SSH_OPENING "SSH-"
/* sshd started by root insists on this folder, which is gone after a boot without the system's
 * sshd. */
#define PRIVSEP_FOLDER "/run/sshd"

/* ssh, ssh-keygen and sshd all refuse a user without a name. */
static const char *user_name(struct error *err)
{
	const struct passwd *user = getpwuid(geteuid());
	if (user)
		return user->pw_name;
	error_set(err, ERROR_UNAVAILABLE, 0,
		  "user %u has no entry in the user database (passwd), which ssh needs",
		  (unsigned)geteuid());
	return NULL;
}

static int keygen_failed(int status, const char *output, struct error *err)
{
	AUTO_TEXT said = { 0 };
	said_add(output, false, &said);
	return error_set(err, ERROR_TOOL, status, "ssh-keygen failed%s", text_string(&said));
}

int ssh_make_key(const char *path, const struct io_limit *limit, struct error *err)
{
	const char *argv[] = { "ssh-keygen", "-q",       "-t", "ed25519", "-N", "",
			       "-C",         "linefill", "-f", path,      NULL };
	const struct child_spec spec = { .argv = argv, .input = -1 };
	AUTO_TEXT output = { 0 };
	int status = 0;
	if (!user_name(err) || child_capture(&spec, limit, KEY_FILE_MAX, &output, &status, err) < 0)
		return -1;
	return status == 0 ? 0 : keygen_failed(status, text_string(&output), err);
}

static int find_user(struct ssh_server *server, struct error *err)
{
	const char *name = user_name(err);
	if (name)
		text_copy(server->user, sizeof(server->user), name);
	return name ? 0 : -1;
}

static int find_version(struct ssh_server *server, const struct io_limit *limit, struct error *err)
{
	const char *argv[] = { server->program, server->kind->version_flag, NULL };
	const struct child_spec spec = { .argv = argv, .input = -1 };
	AUTO_TEXT output = { 0 };
	int status = 0;
	if (child_capture(&spec, limit, KEY_FILE_MAX, &output, &status, err) < 0)
		return -1;
	/* Older sshd do not know -V: they print the version before their usage. */
	const char *version = strstr(text_string(&output), server->kind->version_mark);
	text_copy(server->version, sizeof(server->version), version ? version : "unknown");
	server->version[strcspn(server->version, ",\r\n")] = '\0';
	return 0;
}

static int write_keys(struct ssh_server *server, const struct ssh_server_spec *spec,
		      const struct io_limit *limit, struct error *err)
{
	AUTO_FREE char *host_key = path_join(spec->scratch, "host_key");
	AUTO_FREE char *host_key_public = path_join(spec->scratch, "host_key.pub");
	AUTO_FREE char *authorized = path_join(spec->scratch, "authorized_keys");
	AUTO_FREE char *home = path_join(spec->scratch, "home");
	if (mkdir(home, 0700) < 0 && errno != EEXIST)
		return error_system(err, "make folder %s", home);
	if (access(host_key, F_OK) < 0 && ssh_make_key(host_key, limit, err) < 0)
		return -1;
	free(server->host_key);
	server->host_key = NULL;
	if (file_read_all(host_key_public, KEY_FILE_MAX, &server->host_key, NULL, err) < 0)
		return -1;
	server->host_key[strcspn(server->host_key, "\n")] = '\0';
	return file_write_all(authorized, spec->authorized_key, strlen(spec->authorized_key), 0600,
			      err);
}

const char *ssh_server_needs_folder(const struct ssh_kind *kind)
{
	return kind->privsep_folder && geteuid() == 0 ? PRIVSEP_FOLDER : NULL;
}

/* A server that lacks a part would only hang up on clients. */
static int try_config(const struct ssh_server *server, const struct io_limit *limit,
		      struct error *err)
{
	const struct ssh_kind *kind = server->kind;
	const char *argv[SSH_KIND_ARGV + 3] = { server->program, kind->test_flag };
	const struct child_spec spec = { .argv = argv, .input = -1 };
	AUTO_TEXT output = { 0 };
	size_t count = 2;
	int status = 0;
	if (!kind->test_flag)
		return 0;
	for (size_t i = 0; kind->argv[i]; i++)
		argv[count++] = kind->argv[i];
	argv[count] = server->config;
	if (child_capture(&spec, limit, KEY_FILE_MAX, &output, &status, err) < 0)
		return -1;
	if (status == 0)
		return 0;
	AUTO_TEXT said = { 0 };
	said_add(text_string(&output), false, &said);
	return error_set(err, ERROR_UNAVAILABLE, status,
			 "the server of %s (%s brings it) refuses its configuration%s", kind->name,
			 kind->package, text_string(&said));
}

int ssh_server_start(struct ssh_server *server, const struct ssh_server_spec *spec,
		     const struct io_limit *limit, struct error *err)
{
	const struct ssh_kind *kind = spec->kind;
	*server = (struct ssh_server){ .keeper = SERVICE_NONE, .kind = kind };
	if (strpbrk(spec->linefill, "\"\\\n"))
		return error_set(
			err, ERROR_CONFIG, 0,
			"%s: an SSH server cannot be told a path with quotes or backslashes",
			spec->linefill);
	server->program = child_find_program(kind->program, err);
	if (!server->program)
		return error_wrap(err, "the server of %s (%s brings it)", kind->name,
				  kind->package);
	server->config = path_join(spec->scratch, "server_config");
	server->log_file = path_join(spec->scratch, "server.log");
	if (find_user(server, err) < 0 || find_version(server, limit, err) < 0 ||
	    write_keys(server, spec, limit, err) < 0)
		return -1;
	const struct ssh_kind_setup setup = {
		.kind = kind,
		.scratch = spec->scratch,
		.id = spec->id,
		.user = server->user,
		.cipher = spec->cipher,
		.mac = spec->mac,
		.linefill = spec->linefill,
	};
	AUTO_TEXT config = { 0 };
	if (kind->configure(&setup, &config, limit, err) < 0 ||
	    file_write_all(server->config, text_string(&config), config.length, 0600, err) < 0)
		return -1;
	if (try_config(server, limit, err) < 0)
		return -1;
	const char *argv[SSH_KIND_ARGV + 2] = { server->program };
	size_t count = 1;
	for (size_t i = 0; kind->argv[i]; i++)
		argv[count++] = kind->argv[i];
	argv[count] = server->config;
	const struct service_spec service = {
		.name = kind->name,
		.host = spec->host,
		.argv = argv,
		.log_file = server->log_file,
		.opening = SSH_OPENING,
	};
	return service_start(&server->keeper, &service, spec->close_fds, err);
}

void ssh_server_stop(struct ssh_server *server)
{
	service_stop(&server->keeper);
	free(server->host_key);
	free(server->program);
	free(server->config);
	free(server->log_file);
	*server = (struct ssh_server){ .keeper = SERVICE_NONE };
}

void ssh_server_log_tail(const struct ssh_server *server, struct text *out)
{
	AUTO_FREE char *log = NULL;
	size_t count = 0;
	if (!server->log_file || file_read_all(server->log_file, 64 << 20, &log, &count, NULL) < 0)
		return;
	text_add(out, count > LOG_TAIL ? log + count - LOG_TAIL : log);
}
