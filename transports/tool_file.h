/* A tool file (tools/NAME.ini) as data: what is written in it, checked. Runs nothing.
 *
 * [tool]
 *   name         the file's name without .ini when missing
 *   summary      one line
 *   driver       source (pushes, the default) or sink (pulls): the end where `run` is run
 *   needs        services at the other end: sshd
 *   caps         symlinks, empty-folders, any-name, empty-tree, holes, streams, split-file, resume,
 *                open-listener, single-file (carries a tree of exactly one file), memory
 *   plain        yes: data always travels unencrypted
 *   probe        command that prints the version
 *   version      POSIX extended regular expression with one group, searched in probe's output
 *   prepare      command for the driving end, run before the clock starts; it cannot see the data
 *   run          command that copies what is in {src} into {dst}, an empty folder
 *   into         command that gets run's output as its input, when run alone is half of it
 *   input        file that run reads as its input; it has none otherwise
 *   serve        command of a server at the other end, for tools that bring their own
 *   serve_into   command that gets serve's output as its input
 *   serve_until  driver (it is stopped when the driving end is done, the default) or exit (it ends
 *                by itself when it has everything; its exit status counts)
 *   ports        free ports in a row that serve needs, from {port} on; 1 when missing, at most 64
 *   environment  NAME=value words, for all of them
 *   counted      memory only: POSIX extended regular expression with one group, the amount that
 *                arrived as the sink's end tells it: searched in what serve prints, or run, where
 *                the sink drives
 *   counted_unit bytes that an amount of 1 stands for; 1 when missing
 *   ciphers      what this tool can do of what the private server may be told; all when missing
 *   macs         the same
 *   programs     programs that the driving end needs besides run and into
 *   far_programs programs that the other end needs besides serve and serve_into
 *   tested       version that was tested; for people
 *   verifies     yes: the tool compares the copy's contents by itself; option: it does if asked;
 * no; for people [preserve] content, mode, all   words that {preserve} stands for; a missing mode
 * or all is unsupported [option NAME] type         flag, count, size, number, choice, text, list,
 * words (text that is split into words, for what a file does not know: extra = ...) default, min,
 * max, unit, choices, help on           words that {NAME} stands for when the option is not at its
 * default (a flag: is yes), with {value} for the value; without it {NAME} is the value off a flag's
 * words when it is no plain        values with which data travels unencrypted Options named server,
 * cipher and mac need no command: the private server and its clients are told. One named streams is
 * the number of connections. [file NAME] text         lines that are written to {scratch}/NAME at
 * both ends before the clock starts (and before serve, with its {port}); placeholders expand each
 * lines for each file of the tree, after those; {file}, {file_url} and so on are that file's
 *
 * Placeholders, besides {preserve} and the file's own options:
 *   {src} {dst}  the folders to copy from and to; never in prepare
 *   {entries}    the paths of what is directly in {src}: as many words
 *   {file} {file_url} {file_mode} {file_mtime}   path under {src} (as it is, or percent-encoded),
 *                octal mode and time in seconds of the tree's only file, or each one's
 *   {bytes} {mib}   the tree's size, in bytes or in MiB rounded up
 *   {host} {host_url} {port} {next_port}   where the server listens; host_url has brackets around
 *                an IPv6 address; next_port is the port after
 *   {family}     4 or 6, as the address is one of IPv4 or IPv6
 *   {peer}       the address of the other end
 *   {uid}        the number of the user that linefill runs as at this end
 *   {scratch}    a folder of this run, private to this end
 *   {program}    the absolute path of run's program
 *   {token}      a secret of this run, the same at both ends; only in [file], never in a command
 *   {none_switch} what HPN-SSH's clients need on their command line where the cipher is none
 *   {user} {ssh_config} {key} {known_hosts} {cipher} {mac}   of the private server in `needs`
 *
 * An indented line continues the one before. A line has at most 198 bytes. */
#ifndef LINEFILL_TRANSPORTS_TOOL_FILE_H
#define LINEFILL_TRANSPORTS_TOOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/api/manifest.h"
#include "harness/api/xfer.h"
#include "harness/base/error.h"
#include "harness/base/option.h"

#define TOOL_FILE_BYTES_MAX (64u << 10)
#define TOOL_OPTIONS_MAX    32
#define TOOL_NEEDS_MAX      4
#define TOOL_PRESERVES      (PRESERVE_ALL + 1)
#define TOOL_TEXTS_MAX      4
#define TOOL_PORTS_MAX      64

/* Words of the option besides its row in defs. Arrays end with NULL; NULL where not given. */
struct tool_option {
	char **on, **off;
	char **choices;
	bool split; /* the value stands for several words */
};

enum tool_verifies { TOOL_VERIFIES_NO, TOOL_VERIFIES_YES, TOOL_VERIFIES_OPTION };
extern const char *const tool_verifies_names[]; /* ends with NULL */

/* A file that is written for each run; text and each may be NULL. */
struct tool_text {
	char *name, *text, *each;
	bool needs_port;
};

/* All strings and arrays belong to it. Commands are words with placeholders; NULL where not given.
 */
struct tool_file {
	char *name, *summary;
	enum xfer_side driver;
	char **needs;
	uint32_t caps;
	bool plain;
	bool serve_until_exit;
	enum tool_verifies verifies;
	char *version, *counted, *tested;
	double counted_unit;
	uint64_t ports;
	char **probe, **prepare, **run, **into, **input, **serve, **serve_into, **environment;
	char **ciphers, **macs, **programs, **far_programs;
	char **preserve[TOOL_PRESERVES];
	struct option_def defs[TOOL_OPTIONS_MAX + 1];
	struct tool_option options[TOOL_OPTIONS_MAX]; /* in the order of defs */
	size_t option_count;
	size_t options_size;
	struct tool_text texts[TOOL_TEXTS_MAX];
	size_t text_count;
};

/* Reads text as if it were the file at path. The error is CONFIG and starts with path:line. */
int tool_file_parse(const char *path, const char *text, size_t count, struct tool_file **file,
		    struct error *err) MUST_CHECK;
void tool_file_free(struct tool_file *file);

/* The names that every command may use; ends with NULL. Those from the service need `needs`. */
extern const char *const tool_placeholders[];
extern const char *const tool_service_placeholders[];

#endif
