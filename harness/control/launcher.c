#include "harness/control/launcher.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/api/run_mark.h"
#include "harness/base/cleanup.h"

/* What the user has set for other programs: OpenSSL and libcurl would heed it in our own transports
 * and in the private servers, write a session's keys into a file, or take other algorithms, or
 * slower ones, than the row says. Tools get an environment of their own. (Of proxies libcurl is
 * told.) */
static bool is_for_others(const char *variable)
{
	static const char *const names[] = {
		"SSLKEYLOGFILE",   "OPENSSL_CONF",    "OPENSSL_CONF_INCLUDE", "OPENSSL_MODULES",
		"OPENSSL_ENGINES", "OPENSSL_ia32cap", "OPENSSL_armcap",       "SSL_CERT_FILE",
		"SSL_CERT_DIR",    "CURL_CA_BUNDLE",  "CURL_SSL_BACKEND",     "QLOGDIR",
	};
	size_t length = strcspn(variable, "=");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == length && memcmp(names[i], variable, length) == 0)
			return true;
	return false;
}

/* Our environment with the mark that leads a sweep to the agent's processes. */
static char **marked_environment(const char *mark)
{
	size_t count = 0;
	while (environ[count])
		count++;
	char **marked = calloc(count + 2, sizeof(*marked));
	if (!marked)
		abort();
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], RUN_MARK_ENV "=", strlen(RUN_MARK_ENV "=")) != 0 &&
		    !is_for_others(environ[i]))
			marked[kept++] = environ[i];
	marked[kept] = (char *)mark;
	return marked;
}

int launcher_local(const char *id, const char *log_file, struct child *child, int *fd,
		   struct error *err)
{
	AUTO_FREE char *program = child_own_program(err);
	if (!program)
		return -1;
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_system(err, "socketpair");
	AUTO_FD ours = ends[0];
	AUTO_FD theirs = ends[1];
	AUTO_FD log = open(log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log < 0)
		return error_system(err, "create %s", log_file);
	AUTO_TEXT mark = { 0 };
	text_addf(&mark, RUN_MARK_ENV "=%s", id);
	AUTO_FREE char **environment = marked_environment(text_string(&mark));
	const char *argv[] = { program, "agent", id, NULL };
	const struct child_spec spec = { .argv = argv,
					 .env = (const char *const *)environment,
					 .input = theirs,
					 .output = theirs,
					 .error = log,
					 .outlives_parent = true };
	if (io_set_nonblocking(ours, err) < 0 || child_start(&spec, child, err) < 0)
		return error_wrap(err, "start an agent");
	*fd = take_fd(&ours);
	return 0;
}
