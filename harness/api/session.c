#include "harness/api/session.h"

#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"

#define SAID_BYTES 65536

const char *session_path(void)
{
	return geteuid() == 0 ? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
			      : "/usr/local/bin:/usr/bin:/bin:/usr/games";
}

int session_find_path(const struct io_limit *limit, struct text *path, struct error *err)
{
	const struct passwd *user = getpwuid(geteuid());
	const char *shell = user && user->pw_shell[0] ? user->pw_shell : "/bin/sh";
	AUTO_TEXT variable = { 0 };
	AUTO_TEXT output = { 0 };
	text_addf(&variable, "PATH=%s", session_path());
	/* SSH_CLIENT: some shells read start-up files when they see that sshd started them. */
	const char *const environment[] = { text_string(&variable), "HOME=/dev/null", "LC_ALL=C",
					    "SSH_CLIENT=127.0.0.1 1 1", NULL };
	const char *const argv[] = { shell, "-c", "printenv PATH", NULL };
	const struct child_spec spec = { .argv = argv, .env = environment, .input = -1 };
	int status = 0;
	if (child_capture(&spec, limit, SAID_BYTES, &output, &status, err) < 0)
		return error_wrap(err, "the login shell");
	char *said = text_trim(output.data ? output.data : (char[]){ "" });
	const char *last = strrchr(said, '\n');
	if (status != 0 || !*said)
		return error_set(err, ERROR_UNAVAILABLE, status,
				 "the login shell %s runs no commands, so no session of a private "
				 "SSH server can",
				 shell);
	text_add(path, last ? last + 1 : said);
	return 0;
}
