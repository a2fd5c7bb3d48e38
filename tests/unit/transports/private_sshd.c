#include "tests/unit/transports/private_sshd.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/clock.h"
#include "harness/base/files.h"
#include "harness/base/net.h"
#include "harness/base/shared_folder.h"
#include "harness/base/text.h"
#include "transports/wire/server_process.h"

#define CIPHER       "aes128-ctr"
#define MAC          "hmac-sha2-256"
#define SSHD         "/usr/sbin/sshd"
#define SSHD_PRIVSEP "/run/sshd"

enum { FOLDER, CLIENT_KEY, CLIENT_PUBLIC, KNOWN_HOSTS, SSH_CONFIG, USER, LOG };

static int make_key(const char *path, struct error *err)
{
	const char *const argv[] = {
		"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path, NULL
	};
	const struct child_spec spec = { .argv = argv, .input = -1 };
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(30) };
	AUTO_TEXT output = { 0 };
	int status = 0;
	if (child_capture(&spec, &limit, 4096, &output, &status, err) < 0)
		return -1;
	if (status != 0)
		return error_set(err, ERROR_TOOL, status, "ssh-keygen: %s", text_string(&output));
	return 0;
}

static int write_text(const char *path, struct text *text, struct error *err)
{
	return file_write_all(path, text_string(text), text->length, 0600, err);
}

static int write_server(struct private_sshd *sshd, const char *path, const char *host_key,
			struct error *err)
{
	AUTO_TEXT text = { 0 };
	text_addf(&text, "Port %u\nListenAddress %s\nHostKey %s\nPidFile none\nUsePAM no\n",
		  sshd->service.port, sshd->service.host, host_key);
	text_addf(&text, "StrictModes no\nAuthorizedKeysFile %s\n", sshd->strings[CLIENT_PUBLIC]);
	text_add(&text, "AuthenticationMethods publickey\nPermitRootLogin prohibit-password\n");
	text_add(&text, "Subsystem sftp internal-sftp\nMaxStartups 100\n");
	text_add(&text, "Ciphers " CIPHER "\nMACs " MAC "\n");
	/* What a receiver of ours needs: the test program itself plays it. */
	char program[PATH_MAX] = { 0 };
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		return error_system(err, "/proc/self/exe");
	text_addf(&text, "SetEnv \"LINEFILL_PROGRAM=%s\" \"LINEFILL_SCRATCH=%s\"\n", program,
		  sshd->strings[FOLDER]);
	return write_text(path, &text, err);
}

static int write_client(struct private_sshd *sshd, const char *host_key, struct error *err)
{
	AUTO_TEXT text = { 0 };
	text_addf(&text, "Host %s\nPort %u\nUser %s\nIdentityFile %s\nIdentitiesOnly yes\n",
		  sshd->service.host, sshd->service.port, sshd->strings[USER],
		  sshd->strings[CLIENT_KEY]);
	text_addf(&text, "IdentityAgent none\nUserKnownHostsFile %s\nGlobalKnownHostsFile none\n",
		  sshd->strings[KNOWN_HOSTS]);
	text_add(&text,
		 "StrictHostKeyChecking yes\nBatchMode yes\nCompression no\nLogLevel ERROR\n");
	text_add(&text, "Ciphers " CIPHER "\nMACs " MAC "\n");
	if (write_text(sshd->strings[SSH_CONFIG], &text, err) < 0)
		return -1;
	AUTO_TEXT public_path = { 0 };
	AUTO_FREE char *key = NULL;
	text_addf(&public_path, "%s.pub", host_key);
	if (file_read_all(text_string(&public_path), 4096, &key, NULL, err) < 0)
		return -1;
	AUTO_TEXT known = { 0 };
	text_addf(&known, "[%s]:%u %s", sshd->service.host, sshd->service.port, key);
	return write_text(sshd->strings[KNOWN_HOSTS], &known, err);
}

static void holder_name(const struct private_sshd *sshd, char *name, size_t size)
{
	snprintf(name, size, "%d-%u", (int)getpid(), sshd->service.port);
}

static int start(struct private_sshd *sshd, const char *config, struct error *err)
{
	/* Other tests may run at the same time. */
	char name[32];
	holder_name(sshd, name, sizeof(name));
	if (geteuid() == 0 && shared_folder_hold(SSHD_PRIVSEP, name, err) < 0)
		return -1;
	const char *const argv[] = { SSHD, "-D", "-e", "-f", config, NULL };
	const struct child_spec spec = { .argv = argv, .input = -1 };
	struct server_process server = { .child = CHILD_NONE, .log = sshd->strings[LOG] };
	const struct io_limit limit = { .deadline_ns = clock_deadline_ns(20) };
	if (server_process_start(&server, &spec, sshd->service.port, &limit, err) < 0)
		return -1;
	sshd->child = server.child;
	return 0;
}

static void fill_service(struct private_sshd *sshd)
{
	struct service *service = &sshd->service;
	service->name = "sshd";
	service->user = sshd->strings[USER];
	service->key_file = sshd->strings[CLIENT_KEY];
	service->public_key_file = sshd->strings[CLIENT_PUBLIC];
	service->known_hosts = sshd->strings[KNOWN_HOSTS];
	service->ssh_config = sshd->strings[SSH_CONFIG];
	service->cipher = CIPHER;
	service->mac = MAC;
	service->scratch = sshd->strings[FOLDER];
}

int private_sshd_start(struct private_sshd *sshd, const char *folder, struct error *err)
{
	return private_sshd_start_at(sshd, "127.0.0.1", folder, err);
}

int private_sshd_start_at(struct private_sshd *sshd, const char *host, const char *folder,
			  struct error *err)
{
	static const char *const names[] = { [CLIENT_KEY] = "client_key",
					     [CLIENT_PUBLIC] = "client_key.pub",
					     [KNOWN_HOSTS] = "known_hosts",
					     [SSH_CONFIG] = "ssh_config",
					     [LOG] = "sshd.log" };
	*sshd = (struct private_sshd){ .child = CHILD_NONE, .service.host = host };
	const struct passwd *user = getpwuid(geteuid());
	sshd->strings[FOLDER] = strdup(folder);
	sshd->strings[USER] = strdup(user ? user->pw_name : "nobody");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i])
			sshd->strings[i] = path_join(folder, names[i]);
	fill_service(sshd);
	AUTO_FREE char *host_key = path_join(folder, "host_key");
	AUTO_FREE char *config = path_join(folder, "sshd_config");
	if (access(SSHD, X_OK) < 0)
		return error_set(err, ERROR_UNAVAILABLE, 0, SSHD ": not found");
	if (net_free_ports(host, 1, &sshd->service.port, err) < 0 || make_key(host_key, err) < 0 ||
	    make_key(sshd->strings[CLIENT_KEY], err) < 0 ||
	    write_server(sshd, config, host_key, err) < 0 || write_client(sshd, host_key, err) < 0)
		return -1;
	return start(sshd, config, err);
}

void private_sshd_stop(struct private_sshd *sshd)
{
	child_end(&sshd->child);
	char name[32];
	holder_name(sshd, name, sizeof(name));
	if (geteuid() == 0)
		shared_folder_release(SSHD_PRIVSEP, name);
	for (size_t i = 0; i < ARRAY_SIZE(sshd->strings); i++)
		free(sshd->strings[i]);
	*sshd = (struct private_sshd){ .child = CHILD_NONE };
}
