/* command.h - all commands, and how they print messages.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_COMMAND_H
#define CAIRN_CMD_COMMAND_H

#include "base/note.h"
#include "cmd/option.h"

#include <stdio.h>

/* Exit codes: success, failure, usage error. */
enum { CAIRN_EXIT_DONE = 0, CAIRN_EXIT_FAILED = 1, CAIRN_EXIT_USAGE = 2 };

/* The commands, in the order `cairn help` shows them; ends with NULL. */
extern const struct cairn_command *const cairn_commands[];

extern const struct cairn_command cairn_command_top;
extern const struct cairn_command cairn_command_tree;
extern const struct cairn_command cairn_command_peek;
extern const struct cairn_command cairn_command_traces;
extern const struct cairn_command cairn_command_list;
extern const struct cairn_command cairn_command_disasm;
extern const struct cairn_command cairn_command_tags;
extern const struct cairn_command cairn_command_churn;
extern const struct cairn_command cairn_command_diff;
extern const struct cairn_command cairn_command_raw;
extern const struct cairn_command cairn_command_collapsed;
extern const struct cairn_command cairn_command_leaks;
extern const struct cairn_command cairn_command_timeline;
extern const struct cairn_command cairn_command_rss;
extern const struct cairn_command cairn_command_why;
extern const struct cairn_command cairn_command_doctor;
extern const struct cairn_command cairn_command_flame;
extern const struct cairn_command cairn_command_flamegraph;
extern const struct cairn_command cairn_command_html;
extern const struct cairn_command cairn_command_graph;
extern const struct cairn_command cairn_command_gallery;
extern const struct cairn_command cairn_command_gen_flamegraph;
extern const struct cairn_command cairn_command_pprof;
extern const struct cairn_command cairn_command_export;
extern const struct cairn_command cairn_command_shell;
extern const struct cairn_command cairn_command_jeprof;
extern const struct cairn_command cairn_command_addr2line;
extern const struct cairn_command cairn_command_cache;
extern const struct cairn_command cairn_command_run;
extern const struct cairn_command cairn_command_attach;
extern const struct cairn_command cairn_command_detach;
extern const struct cairn_command cairn_command_inside; /* which nobody types: see live/run/inside.h */
extern const struct cairn_command cairn_command_beside; /* which nobody types: see live/core/companion.h */
extern const struct cairn_command cairn_command_serve;
extern const struct cairn_command cairn_command_watch;
extern const struct cairn_command cairn_command_store;
extern const struct cairn_command cairn_command_collect;
extern const struct cairn_command cairn_command_fleet;
extern const struct cairn_command cairn_command_ps;
extern const struct cairn_command cairn_command_status;
extern const struct cairn_command cairn_command_activate;
extern const struct cairn_command cairn_command_deactivate;
extern const struct cairn_command cairn_command_reset;
extern const struct cairn_command cairn_command_gdump;
extern const struct cairn_command cairn_command_dump;
extern const struct cairn_command cairn_command_dumps;
extern const struct cairn_command cairn_command_cpu;
extern const struct cairn_command cairn_command_stats;
extern const struct cairn_command cairn_command_symbols;
extern const struct cairn_command cairn_command_completion;
extern const struct cairn_command cairn_command_manual;

/* Runs COMMAND with its arguments; ARGV[0] is its name. Returns the exit code. */
int cairn_run_command(const struct cairn_command *command, int argc, char **argv);

/* "cairn: TEXT" on standard error, in red on a terminal. Returns CAIRN_EXIT_FAILED. */
int cairn_say_error(const char *text);
/* The same with the message of ERROR. Returns CAIRN_EXIT_USAGE if it is a usage error. */
int cairn_say_failure(const struct cairn_error *error);
/* "cairn: TEXT" for a usage error that is always the same. Returns CAIRN_EXIT_USAGE. */
int cairn_say_usage(const char *text);
/* A usage error: a command takes one operand, called KIND, and was given COUNT. DETAIL says what it is. Returns CAIRN_EXIT_USAGE. */
int cairn_say_not_one(int count, const char *kind, const char *detail);
/* "cairn: note: TEXT" on standard error, unless -q was given: what becomes of notes (base/note.h). */
void cairn_say_note(const char *text);
/* Shows on standard error how far something is, unless -q was given. */
void cairn_say_progress(void *context, size_t done, size_t total, const char *what);

/* Prints formatted text that may contain any names; line ends and tabs are the only control characters that are kept. */
void cairn_print(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes BYTES to PATH (NULL or "-" is standard output) and reports a failure. A closed pipe is no error. Output to a terminal passes
 * through cairn_utf8_show_coloured. Returns the exit code. */
int cairn_say_output(const char *path, struct cairn_bytes bytes);

/* The same for tables and sentences, which on a terminal are made to fit its width (base/fit.h). With AS_JSON, they are a JSON answer, which
 * is not. */
int cairn_say_text(const char *path, struct cairn_bytes text, bool as_json);

/* The same to standard output for text from an agent or a server: cleaned even if standard output is not a terminal. */
int cairn_say_lines(struct cairn_bytes text);

/* For "did you mean": makes WORD the *NEAREST if it is nearer to NAME than *BEST, which begins with SIZE_MAX. A word that more than a third
 * of the letters differ from was not mistyped. */
void cairn_consider_word(const char *name, const char *word, const char **nearest, size_t *best);

#endif
