/* option.h - one option table per command, used for parsing, --help and completions.
 *
 * Each command has a struct for its options. A table says where each value goes in it. Tables are combined in groups, so that commands
 * with common options share their table and struct.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_OPTION_H
#define CAIRN_CMD_OPTION_H

#include "base/buffer.h"
#include "base/error.h"
#include "live/option_list.h"

enum cairn_option_kind {
	CAIRN_OPTION_FLAG,   /* bool, set to true */
	CAIRN_OPTION_CHOICE, /* int, set to `choice`; the last of several wins */
	CAIRN_OPTION_TEXT,   /* const char *, borrowed from argv */
	CAIRN_OPTION_LIST,   /* struct cairn_option_list; may be given several times */
	CAIRN_OPTION_COUNT,  /* uint64_t, decimal */
	CAIRN_OPTION_SIZE,   /* uint64_t, with K, M, G */
	CAIRN_OPTION_PERIOD, /* the same, of those that an agent samples with; 0 is none given */
	CAIRN_OPTION_NUMBER, /* double, not negative */
	CAIRN_OPTION_POSITIVE, /* double, more than 0; 0 is none given */
};

struct cairn_option {
	char letter;          /* 0 for none */
	const char *name;     /* without dashes; users may type "-" or "_" */
	const char *argument; /* what --help calls it; NULL for a flag or choice */
	const char *help;     /* NULL hides a spelling from --help that is accepted only for compatibility */
	enum cairn_option_kind kind;
	size_t offset; /* of the value within the group's struct */
	int choice;
	const char *const *words; /* for a text: all permitted values, ending with NULL; NULL for any */
};

/* Whether the command line has -q or --quiet, which every command takes: no notes then. */
extern bool cairn_option_quiet;

struct cairn_option_group {
	const char *title; /* NULL for the command's own */
	const struct cairn_option *options; /* ends with one whose name is NULL */
	size_t offset; /* of the group's struct within the command's */
};

/* An option of a shared group that a command does not take, or all of a table: it is not listed, and using it is an error. */
struct cairn_option_refusal {
	const char *name;
	const char *why; /* the error; NULL if the option would have no effect */
	const struct cairn_option *table; /* instead of a name */
};

struct cairn_view_command;

struct cairn_command {
	const char *name;
	const char *summary;   /* one line, lower case, no full stop; NULL keeps the command out of help and completions */
	const char *arguments; /* "SOURCE..." */
	const char *detail;    /* paragraphs after the options in --help; NULL for none */
	const struct cairn_option_group *groups; /* ends with one whose options are NULL; may be NULL */
	const struct cairn_option_refusal *refusals; /* ends with one without name and table; may be NULL */
	bool has_setup; /* its options begin with a struct cairn_view_setup (cmd/view.h), but it does more than show one view of a
			 * profile */
	bool runs_another; /* options end at the first operand; the rest belongs to the program it names */
	size_t options_size; /* of the struct for `run`, cleared and then filled from the command line */
	/* OPERANDS are the arguments that are not options. Returns the exit code. */
	int (*run)(const void *options, int operand_count, char **operands);
	/* Set in commands that show a view of a profile (cmd/view.h), whose options begin with the shared ones. cairn_view_run runs them,
	 * or they call it from `run`. */
	const struct cairn_view_command *view;
	/* Set instead in commands that parse another program's command line themselves. */
	int (*run_arguments)(int argc, char **argv);
};

/* Parses ARGV (without the command's name) into VALUES, and moves the operands to the front of ARGV, with NULL
 * behind them where there is room. *HELP is set when --help was among them. */
bool cairn_options_parse(const struct cairn_command *command, void *values, int *argc, char **argv, bool *help,
			 struct cairn_error *error);

/* Sets OPTION's value at VALUE from TEXT (NULL for a flag or choice). Fails with a message if TEXT is invalid. */
bool cairn_option_set(const struct cairn_option *option, void *value, const char *text, struct cairn_error *error);

/* Iterates over all options of COMMAND: start with a zeroed walk; NULL at the end. */
struct cairn_option_walk {
	size_t group;
	size_t option;
};
const struct cairn_option *cairn_options_next(const struct cairn_command *command, struct cairn_option_walk *walk);

/* Whether --help, man pages and completions list OPTION of COMMAND, and anything of GROUP. */
bool cairn_option_is_listed(const struct cairn_command *command, const struct cairn_option *option);
bool cairn_option_group_is_listed(const struct cairn_command *command, const struct cairn_option_group *group);

/* The options of every command: -q (unless COMMAND has its own -q) and --help; ends with one whose name is NULL. */
const struct cairn_option *cairn_options_common(const struct cairn_command *command);

/* The text of --help. */
void cairn_options_help(const struct cairn_command *command, struct cairn_buffer *out);

#endif
