#include "harness/services/ssh_client.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/child.h"
#include "harness/base/cleanup.h"
#include "harness/base/files.h"
#include "harness/base/said.h"
#include "harness/services/ssh_server.h"

#define FILE_MAX 262144
/* What ssh exits with for its own errors, ssh(1); else it is the command's status. */
#define SSH_FAILED 255

int ssh_client_key(const char *scratch, char **public_key, const struct io_limit *limit,
		   struct error *err)
{
	AUTO_FREE char *key = path_join(scratch, "client_key");
	AUTO_FREE char *public_file = path_join(scratch, "client_key.pub");
	if (access(key, F_OK) < 0 && ssh_make_key(key, limit, err) < 0)
		return -1;
	return file_read_all(public_file, FILE_MAX, public_key, NULL, err);
}

/* Keeps a copy for as long as the client lives. */
static const char *keep(struct ssh_client *client, char *string)
{
	if (!string)
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(client->strings); i++) {
		if (client->strings[i])
			continue;
		client->strings[i] = string;
		return string;
	}
	abort();
}

static void fill_service(struct ssh_client *client, const char *scratch,
			 const struct ssh_server_facts *facts)
{
	client->service = (struct service){
		.name = facts->kind->name,
		.host = keep(client, strdup(facts->host)),
		.port = facts->port,
		.user = keep(client, strdup(facts->user)),
		.key_file = keep(client, path_join(scratch, "client_key")),
		.public_key_file = keep(client, path_join(scratch, "client_key.pub")),
		.known_hosts = keep(client, path_join(scratch, "known_hosts")),
		.ssh_config = keep(client, path_join(scratch, "ssh_config")),
		.cipher = keep(client, strdup(facts->cipher)),
		.mac = keep(client, strdup(facts->mac)),
		.program = keep(client, strdup(facts->program)),
		.scratch = keep(client, strdup(facts->scratch)),
	};
}

static int write_known_hosts(const struct service *service, const char *host_key, struct error *err)
{
	AUTO_TEXT line = { 0 };
	/* [host]:port is what a client with no alias looks for, the alias what our configuration
	 * names. */
	text_addf(&line, "linefill,[%s]:%u %s\n", service->host, service->port, host_key);
	return file_write_all(service->known_hosts, text_string(&line), line.length, 0600, err);
}

static int write_config(const struct service *service, struct error *err)
{
	AUTO_TEXT config = { 0 };
	text_addf(&config, "Host *\nHostName %s\nPort %u\nUser %s\nIdentityFile %s\n",
		  service->host, service->port, service->user, service->key_file);
	text_addf(&config, "UserKnownHostsFile %s\nHostKeyAlias linefill\n", service->known_hosts);
	text_add(&config,
		 "GlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n"
		 "CheckHostIP no\nIdentitiesOnly yes\nIdentityAgent none\nBatchMode yes\n"
		 "PreferredAuthentications publickey\nControlMaster no\nControlPath none\n"
		 "ForwardX11 no\nForwardAgent no\nClearAllForwardings yes\nCompression no\n"
		 "RequestTTY no\nUpdateHostKeys no\nConnectTimeout 20\nLogLevel ERROR\n");
	/* Clients of the OpenSSH family do not know none as a cipher or MAC: HPN-SSH switches to
	 * it, if its command line says so. */
	bool none_cipher = strcmp(service->cipher, "none") == 0;
	bool none_mac = strcmp(service->mac, "none") == 0;
	if (service->cipher[0] && !none_cipher)
		text_addf(&config, "Ciphers %s\n", service->cipher);
	if (service->mac[0] && !none_mac)
		text_addf(&config, "MACs %s\n", service->mac);
	if (none_cipher)
		text_add(&config, "NoneEnabled yes\n");
	return file_write_all(service->ssh_config, text_string(&config), config.length, 0600, err);
}

int ssh_client_setup(struct ssh_client *client, const char *scratch,
		     const struct ssh_server_facts *facts, struct error *err)
{
	ssh_client_free(client);
	client->kind = facts->kind;
	fill_service(client, scratch, facts);
	if (write_known_hosts(&client->service, facts->host_key, err) < 0)
		return -1;
	return write_config(&client->service, err);
}

int ssh_client_parse_log(const char *log, struct ssh_client *client, struct error *err)
{
	static const char mark[] = "kex: client->server cipher: ";
	const char *line = NULL;
	for (const char *next = strstr(log, mark); next; next = strstr(next + 1, mark))
		line = next;
	if (!line || sscanf(line + strlen(mark), "%63s MAC: %63s", client->negotiated_cipher,
			    client->negotiated_mac) != 2)
		return error_set(err, ERROR_TOOL, 0,
				 "ssh -v does not say which cipher was negotiated");
	/* An authenticated cipher has no MAC of its own. */
	if (strcmp(client->negotiated_mac, "<implicit>") == 0)
		text_copy(client->negotiated_mac, sizeof(client->negotiated_mac), "implicit");
	return 0;
}

/* Switching to none may fail without a word, and data that was encrypted must not pass for plain.
 */
static int check_none(const char *what, const char *wanted, const char *negotiated,
		      struct error *err)
{
	if (strcmp(wanted, "none") != 0 || strcmp(negotiated, "none") == 0)
		return 0;
	return error_set(err, ERROR_TOOL, 0,
			 "the %s none was asked for, and the connection uses %s", what, negotiated);
}

/* HPN-SSH says on standard error that it switched to none. */
static void drop_warnings(struct text *output)
{
	static const char mark[] = "WARNING: ENABLED NONE";
	AUTO_TEXT kept = { 0 };
	for (const char *line = text_string(output); *line;) {
		size_t length = strcspn(line, "\n");
		length += line[length] == '\n';
		if (strncmp(line, mark, strlen(mark)) != 0)
			text_add_bytes(&kept, line, length);
		line += length;
	}
	text_free(output);
	text_add(output, text_string(&kept));
}

/* What ssh said last, or what it does not like in its configuration; cuts up the log. */
static const char *telling_line(char *log)
{
	char *bad = strstr(log, "Bad SSH2 ");
	if (bad) {
		bad[strcspn(bad, "\n")] = '\0';
		return text_trim(bad);
	}
	char *last = strrchr(text_trim(log), '\n');
	return last ? last + 1 : log;
}

/* Who is let in and still cannot run `true` has no shell, as system users have none. */
static int explain_refusal(char *log, const char *output, int status, struct error *err)
{
	char text[64];
	AUTO_TEXT said = { 0 };
	bool let_in = strstr(log, "Authenticated to ") && WIFEXITED(status) &&
		      WEXITSTATUS(status) != SSH_FAILED;
	child_status_text(status, text, sizeof(text));
	said_add(output, false, &said);
	if (let_in)
		return error_set(err, ERROR_UNAVAILABLE, status,
				 "the login shell of this user runs no commands, which ssh needs "
				 "(%s%s)",
				 text, text_string(&said));
	return error_set(err, ERROR_TOOL, status, "the private sshd refused a login: %s; %s", text,
			 telling_line(log));
}

int ssh_client_preflight(struct ssh_client *client, const struct io_limit *limit, struct error *err)
{
	if (!client->kind->client)
		return 0;
	AUTO_FREE char *program = child_find_program(client->kind->client, err);
	if (!program)
		return error_wrap(err, "the client for %s", client->kind->name);
	AUTO_TEXT log_path = { 0 };
	text_addf(&log_path, "%s.preflight", client->service.ssh_config);
	const char *config = client->service.ssh_config;
	const char *argv[12] = { program, "-v", "-E", text_string(&log_path), "-F", config };
	size_t count = 6;
	if (strcmp(client->service.cipher, "none") == 0) {
		argv[count++] = "-oNoneSwitch=yes";
		if (strcmp(client->service.mac, "none") == 0)
			argv[count++] = "-oNoneMacEnabled=yes";
	}
	argv[count++] = client->service.host;
	argv[count] = "true";
	const struct child_spec spec = { .argv = argv, .input = -1 };
	AUTO_TEXT output = { 0 };
	AUTO_FREE char *log = NULL;
	int status = 0;
	unlink(text_string(&log_path)); /* ssh appends */
	if (child_capture(&spec, limit, FILE_MAX, &output, &status, err) < 0)
		return -1;
	if (file_read_all(text_string(&log_path), FILE_MAX, &log, NULL, err) < 0)
		return -1;
	if (status != 0)
		return explain_refusal(log, text_string(&output), status, err);
	drop_warnings(&output);
	if (output.length > 0)
		return error_set(
			err, ERROR_TOOL, 0,
			"the login at the sink prints text (\"%.80s\"), which breaks tools "
			"that talk over ssh: silence the shell's start-up files",
			text_trim(output.data));
	if (ssh_client_parse_log(log, client, err) < 0)
		return -1;
	if (check_none("cipher", client->service.cipher, client->negotiated_cipher, err) < 0)
		return -1;
	return check_none("MAC", client->service.mac, client->negotiated_mac, err);
}

void ssh_client_free(struct ssh_client *client)
{
	for (size_t i = 0; i < ARRAY_SIZE(client->strings); i++)
		free(client->strings[i]);
	*client = (struct ssh_client){ 0 };
}
