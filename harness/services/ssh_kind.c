#include "harness/services/ssh_kind.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <unistd.h>

#include "harness/api/run_mark.h"
#include "harness/api/session.h"
#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/said.h"

#define KEY_FILE_MAX 16384

/* ---- OpenSSH and what is made from it ---- */

static void openssh_common(const struct ssh_kind_setup *setup, struct text *config)
{
	const char *scratch = setup->scratch;
	text_addf(config, "HostKey %s/host_key\nAuthorizedKeysFile %s/authorized_keys\n", scratch,
		  scratch);
	text_add(config, "AuthenticationMethods publickey\nStrictModes no\nPidFile none\n"
			 "PermitRootLogin prohibit-password\nPermitUserRC no\nPrintMotd no\n"
			 "PrintLastLog no\nUseDNS no\nX11Forwarding no\nAllowTcpForwarding no\n"
			 "AllowAgentForwarding no\nLoginGraceTime 30\nLogLevel INFO\n"
			 "Subsystem sftp internal-sftp\n");
	text_addf(config, "AllowUsers %s\n", setup->user);
	/* HOME: an empty one, so that no start-up file of the user's shell can print or alter
	 * anything. */
	text_addf(config,
		  "SetEnv LC_ALL=C \"PATH=%s\" \"HOME=%s/home\" \"" RUN_MARK_ENV
		  "=%s\" \"LINEFILL_PROGRAM=%s\" \"LINEFILL_SCRATCH=%s\"\n",
		  session_path(), scratch, setup->id, setup->linefill, scratch);
	if (setup->mac[0] && strcmp(setup->mac, "none") != 0)
		text_addf(config, "MACs %s\n", setup->mac);
}

static int configure_openssh(const struct ssh_kind_setup *setup, struct text *config,
			     const struct io_limit *limit, struct error *err)
{
	(void)limit;
	if (strcmp(setup->cipher, "none") == 0 || strcmp(setup->mac, "none") == 0)
		return error_set(err, ERROR_UNSUPPORTED, 0, "OpenSSH has no cipher or MAC none");
	openssh_common(setup, config);
	text_add(config, "UsePAM no\n");
	if (setup->cipher[0])
		text_addf(config, "Ciphers %s\n", setup->cipher);
	return 0;
}

/* HPN-SSH: logs in with a real cipher and switches to none afterwards, so none is no cipher to
 * offer. */
static int configure_hpn(const struct ssh_kind_setup *setup, struct text *config,
			 const struct io_limit *limit, struct error *err)
{
	(void)limit;
	(void)err;
	openssh_common(setup, config);
	text_add(config, "NoneEnabled yes\nNoneMacEnabled yes\n");
	if (setup->cipher[0] && strcmp(setup->cipher, "none") != 0)
		text_addf(config, "Ciphers %s\n", setup->cipher);
	return 0;
}

/* ---- proftpd with mod_sftp: the one packaged server that does the cipher none ---- */

static int write_proftpd_users(const struct ssh_kind_setup *setup, const char *group,
			       struct error *err)
{
	AUTO_FREE char *users = path_join(setup->scratch, "proftpd_users");
	AUTO_FREE char *groups = path_join(setup->scratch, "proftpd_groups");
	AUTO_TEXT user = { 0 };
	AUTO_TEXT line = { 0 };
	text_addf(&user, "%s:*:%u:%u:linefill:%s/home:/bin/sh\n", setup->user, (unsigned)geteuid(),
		  (unsigned)getegid(), setup->scratch);
	text_addf(&line, "%s:*:%u:%s\n", group, (unsigned)getegid(), setup->user);
	if (file_write_all(users, text_string(&user), user.length, 0600, err) < 0)
		return -1;
	return file_write_all(groups, text_string(&line), line.length, 0600, err);
}

/* The client's key in the form that mod_sftp reads. */
static int write_proftpd_keys(const struct ssh_kind_setup *setup, const struct io_limit *limit,
			      struct error *err)
{
	AUTO_FREE char *openssh = path_join(setup->scratch, "authorized_keys");
	AUTO_FREE char *keys = path_join(setup->scratch, "proftpd_keys");
	const char *argv[] = { "ssh-keygen", "-e", "-m", "RFC4716", "-f", openssh, NULL };
	const struct child_spec spec = { .argv = argv, .input = -1 };
	AUTO_TEXT output = { 0 };
	int status = 0;
	if (child_capture(&spec, limit, KEY_FILE_MAX, &output, &status, err) < 0)
		return -1;
	AUTO_TEXT said = { 0 };
	said_add(text_string(&output), false, &said);
	if (status != 0)
		return error_set(err, ERROR_TOOL, status, "ssh-keygen failed%s",
				 text_string(&said));
	return file_write_all(keys, text_string(&output), output.length, 0600, err);
}

/* Lists of ours separate by commas, proftpd's by blanks. */
static void add_proftpd_list(struct text *config, const char *key, const char *list)
{
	if (!list[0])
		return;
	text_addf(config, "%s", key);
	for (const char *name = list; *name; name += *name == ',') {
		size_t length = strcspn(name, ",");
		text_add(config, " ");
		text_add_bytes(config, name, length);
		name += length;
	}
	text_add(config, "\n");
}

static int configure_proftpd(const struct ssh_kind_setup *setup, struct text *config,
			     const struct io_limit *limit, struct error *err)
{
	errno = 0;
	const struct group *group = getgrgid(getegid());
	if (!group)
		return error_set(err, ERROR_SYSTEM, errno,
				 "group %u has no entry in the group database",
				 (unsigned)getegid());
	if (write_proftpd_users(setup, group->gr_name, err) < 0 ||
	    write_proftpd_keys(setup, limit, err) < 0)
		return -1;
	const char *scratch = setup->scratch;
	text_addf(config, "ServerType inetd\nPort 0\nUser %s\nGroup %s\n", setup->user,
		  group->gr_name);
	text_add(config, "UseIPv6 off\nUseReverseDNS off\nAuthOrder mod_auth_file.c\n");
	text_addf(config, "AuthUserFile %s/proftpd_users\nAuthGroupFile %s/proftpd_groups\n",
		  scratch, scratch);
	text_addf(config, "RequireValidShell off\nUseFtpUsers off\nPidFile %s/proftpd.pid\n",
		  scratch);
	text_add(config, "ScoreboardFile none\nDelayEngine off\nWtmpLog off\nTransferLog none\n"
			 "SystemLog none\nAllowOverwrite on\nUmask 022\nLoadModule mod_sftp.c\n"
			 "SFTPEngine on\nSFTPAuthMethods publickey\nSFTPCompression delayed\n");
	/* It clears a buffer of 256 KiB twice for each packet: the fewer, the better; one of more
	 * than 256 KiB, with all that is around the contents, it refuses. */
	text_add(config, "SFTPClientMatch \".*\" channelPacketSize 252KB\n");
	/* The keeper ends what hangs; proftpd would set an alarm anew for each packet. */
	text_add(config, "TimeoutNoTransfer 0\nTimeoutStalled 0\n");
	/* No other files that configure are looked for on the way, and no control socket is made.
	 */
	text_add(config, "<Global>\nAllowOverride off\n</Global>\n"
			 "<IfModule mod_ctrls.c>\nControlsEngine off\n</IfModule>\n");
	/* Names are bytes. */
	text_add(config, "<IfModule mod_lang.c>\nLangEngine off\nUseEncoding off\n</IfModule>\n");
	if (geteuid() == 0)
		text_add(config, "RootLogin on\n");
	text_addf(config, "SFTPHostKey %s/host_key\nSFTPAuthorizedUserKeys file:%s/proftpd_keys\n",
		  scratch, scratch);
	add_proftpd_list(config, "SFTPCiphers", setup->cipher);
	add_proftpd_list(config, "SFTPDigests", setup->mac);
	return 0;
}

/* ---- the table ---- */

static const struct ssh_kind kinds[] = {
	{
		.name = "sshd",
		.program = "sshd",
		.package = "package openssh-server",
		.argv = { "-i", "-e", "-f" },
		.version_flag = "-V",
		.version_mark = "OpenSSH_",
		.privsep_folder = true,
		.client = "ssh",
		.configure = configure_openssh,
	},
	{
		.name = "hpnsshd",
		.program = "hpnsshd",
		.package = "HPN-SSH",
		.argv = { "-i", "-e", "-f" },
		.version_flag = "-V",
		.version_mark = "OpenSSH_",
		.privsep_folder = true,
		.none_cipher = true,
		.client = "hpnssh",
		.configure = configure_hpn,
	},
	{
		.name = "proftpd",
		.program = "proftpd",
		.package = "apt-get install proftpd-core proftpd-mod-crypto",
		.argv = { "-n", "-c" },
		.test_flag = "-t", /* its module may be missing */
		.version_flag = "-v",
		.version_mark = "ProFTPD Version ",
		.none_cipher = true,
		.configure = configure_proftpd,
	},
};

const struct ssh_kind *ssh_kind_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}
