#include "harness/cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/cleanup.h"
#include "harness/base/text.h"

#define OPTIONS_MAX 64

static const struct argp_option no_options[] = { { 0 } };

static const struct argp_option *options_of(const struct argp *argp)
{
	return argp->options ? argp->options : no_options;
}

void cli_print(FILE *to, const char *format, ...)
{
	va_list args;
	char *text = NULL;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	size_t size = 4 * strlen(text) + 1;
	AUTO_FREE char *whole = text;
	AUTO_FREE char *shown = malloc(size);
	if (!shown)
		abort();
	for (char *line = text; line;) {
		char *end = strchr(line, '\n');
		if (end)
			*end = '\0';
		text_escape_terminal(shown, size, line);
		fputs(shown, to);
		if (end)
			fputc('\n', to);
		line = end ? end + 1 : NULL;
	}
}

int cli_fail(const struct error *err)
{
	cli_print(stderr, "linefill: %s\n", err->message);
	if (err->kind == ERROR_CANCELLED)
		return CLI_INTERRUPTED;
	return err->kind == ERROR_CONFIG ? CLI_USAGE : CLI_RUNS_FAILED;
}

void cli_keep_word(char **places, size_t size, char *word, struct argp_state *state)
{
	for (size_t i = 0; i < size; i++) {
		if (places[i])
			continue;
		places[i] = word;
		return;
	}
	argp_error(state, "too many arguments: %s is one more than expected", word);
}

/* A pipe whose reader had enough, as with `| head -1`: no fault of ours, nor of the user's. */
static bool nobody_reads(void)
{
	struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };
	return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

void cli_keep_once(char **place, const char *option, char *value, struct argp_state *state)
{
	if (*place && strcmp(*place, value) != 0)
		argp_error(state, "%s %s and %s %s: which one is meant?", option, *place, option,
			   value);
	*place = value;
}

static void close_output(int status, void *context)
{
	(void)context;
	if (nobody_reads())
		return;
	bool pending = __fpending(stdout) > 0;
	bool failed = ferror(stdout);
	errno = 0;
	if (fclose(stdout) == 0) {
		if (!failed)
			return;
		errno = 0; /* the reason passed by with an earlier write */
	} else if (errno == EBADF && !pending && !failed) {
		return; /* it was closed all along, and nobody missed it */
	}
	cli_print(stderr, "linefill: standard output could not be written%s%s\n", errno ? ": " : "",
		  errno ? strerror(errno) : "");
	_exit(status ? status : CLI_RUNS_FAILED);
}

void cli_watch_output(void)
{
	if (on_exit(close_output, NULL) != 0)
		abort();
}

static const struct argp_option *find_option(const struct argp *argp, const char *name,
					     size_t length)
{
	const struct argp_option *prefix = NULL;
	for (const struct argp_option *option = options_of(argp); option->name || option->doc;
	     option++) {
		if (!option->name || strncmp(option->name, name, length) != 0)
			continue;
		if (strlen(option->name) == length)
			return option;
		prefix = option;
	}
	return prefix;
}

static void refuse_option(const struct argp *argp, const char *verb, const char *name)
{
	const char *known[OPTIONS_MAX] = { "help", "usage" };
	size_t count = 2;
	for (const struct argp_option *option = options_of(argp); option->name || option->doc;
	     option++)
		if (option->name && count + 1 < OPTIONS_MAX)
			known[count++] = option->name;
	const char *near = text_nearest_in(name, known);
	cli_print(stderr, "linefill: unknown option '--%s'", name);
	if (near)
		cli_print(stderr, ": did you mean '--%s'?", near);
	cli_print(stderr, "\nTry `linefill %s --help`.\n", verb);
	exit(CLI_USAGE);
}

/* argp would only say that it does not know the option; and -h it does not know. */
static void check_options(const struct argp *argp, int argc, char **argv)
{
	static char help[] = "--help";
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "-h") == 0)
			argv[i] = help;
		if (strncmp(argv[i], "--", 2) != 0) {
			/* A short option's separate value may look like anything. */
			const struct argp_option *option = options_of(argp);
			while ((option->name || option->doc) &&
			       !(argv[i][0] == '-' && option->key == argv[i][1] && !argv[i][2]))
				option++;
			i += (option->name || option->doc) && option->arg;
			continue;
		}
		const char *name = argv[i] + 2;
		size_t length = strcspn(name, "=");
		if (strncmp(name, "help", length) == 0 || strncmp(name, "usage", length) == 0)
			continue;
		const struct argp_option *option = find_option(argp, name, length);
		if (!option) {
			argv[i][2 + length] = '\0';
			refuse_option(argp, argv[0], name);
		} else if (option->arg && name[length] != '=') {
			i++;
		}
	}
}

void cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	char *verb = argv[0];
	char name[64];
	snprintf(name, sizeof(name), "linefill %s", verb);
	argp_err_exit_status = CLI_USAGE;
	check_options(argp, argc, argv);
	argv[0] = name; /* for usage messages */
	error_t problem = argp_parse(argp, argc, argv, 0, NULL, input);
	argv[0] = verb;
	if (problem)
		exit(CLI_USAGE);
}
