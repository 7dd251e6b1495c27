/* view.h - commands that show a view of a profile: the options they share, and how they run.
 *
 * Such a command has a struct of options that begins with a struct cairn_view_setup, and one function that writes its report. Reading the
 * sources, making the view and printing happen here.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_VIEW_H
#define CAIRN_CMD_VIEW_H

#include "cmd/option.h"
#include "cmd/shared_options.h"
#include "live/source.h"
#include "report/table.h"

struct cairn_view_setup {
	struct cairn_source_options source;
	struct cairn_view_options view;
	struct cairn_shape shape; /* set by cairn_view_set_not_given to values that mean "not given" */
	const char *pattern;      /* the REGEX operand, for commands that take one */
	const char *output;
	bool json;
};

/* For a command's groups; all go with a struct cairn_view_setup. */
extern const struct cairn_option cairn_report_option_table[]; /* rows, numbers and JSON */
extern const struct cairn_option cairn_order_option_table[];  /* the order of rows */
extern const struct cairn_option cairn_view_option_table[];   /* what is shown */
extern const struct cairn_option cairn_errors_option_table[]; /* confidence intervals */
extern const struct cairn_option cairn_filter_option_table[]; /* filters of stacks */
extern const struct cairn_option cairn_frame_option_table[];  /* filters of frames */
extern const struct cairn_option cairn_output_option_table[]; /* the output */

/* The groups that every command about a view ends with; its options begin with a struct cairn_view_setup. */
#define CAIRN_VIEW_GROUPS                                                                                              \
	{"confidence intervals", cairn_errors_option_table, 0}, CAIRN_FORMAT_GROUPS
/* The same for formats that cannot represent errors. */
#define CAIRN_FORMAT_GROUPS                                                                                            \
	{"view", cairn_view_option_table, 0}, {"stack filters", cairn_filter_option_table, 0},                         \
		{"frame filters", cairn_frame_option_table, 0}, CAIRN_SOURCES_GROUPS
/* The sources and what is made of them. */
#define CAIRN_SOURCES_GROUPS                                                                                           \
	{"sums and differences", cairn_combine_option_table, offsetof(struct cairn_view_setup, source)},               \
		{"instead of live memory", cairn_shown_option_table, offsetof(struct cairn_view_setup, source)},        \
		{"sources", cairn_source_option_table, offsetof(struct cairn_view_setup, source)}

/* For the refusals of a command that folds wrappers only if it is asked to, so that there are none to keep. */
#define CAIRN_UNFOLDED_REFUSALS {"no-fold", NULL}, {"keep-wrappers", NULL}

/* All of them and the sources': the groups of a command that has no options of its own. */
extern const struct cairn_option_group cairn_report_groups[];

struct cairn_view_command {
	bool takes_pattern; /* takes a REGEX before the sources */
	bool compares;      /* takes two sources; the first is the base of the second */
	bool fits;          /* its tables are made to fit a terminal */
	bool folds;         /* charges the memory of wrappers to their callers by default */
	/* Sets the options that the command requires, before anything is read and again before it is shown; may be NULL. */
	void (*prepare)(void *options);
	/* Checks what can be checked before anything is read; may be NULL. */
	bool (*check)(const void *options, struct cairn_error *error);
	bool bare;    /* the output is a separate format: no head above it, and no JSON */
	bool picture; /* the output is not for a terminal */
	/* The file name suffixes for this output, ending with NULL; NULL for any. Reports also accept .json. */
	const char *const *suffixes;
	const char *without_errors; /* the format, if it cannot represent errors; else NULL */
	/* What the report leaves out by default, as text: rows after the first ROWS, and what is below these fractions of the total. */
	uint64_t rows;
	double node_fraction, edge_fraction;
	bool (*show)(const void *options, struct cairn_report *report, struct cairn_error *error);
	void (*write)(struct cairn_report *report); /* instead of that, where it needs nothing else and cannot fail */
};

/* Marks the members of SETUP for which zero is meaningful as not given. Call it before parsing. */
void cairn_view_set_not_given(struct cairn_view_setup *setup);

/* The requested shape, with these defaults for a table; JSON contains everything by default. */
struct cairn_shape cairn_view_shape(const struct cairn_view_setup *setup, uint64_t node_count, double node_fraction, double edge_fraction);

/* Runs COMMAND, which has a `view`: reads the sources, shows the view, writes the output. Returns the exit code. */
int cairn_view_run(const struct cairn_command *command, void *options, int operand_count, char **operands);

/* Whether the filters of SETUP are well formed. They are compiled when the view is made; one that is wrong is reported before a large
 * profile is read for it. */
bool cairn_view_check_filters(const struct cairn_view_setup *setup, struct cairn_error *error);

/* Has the reader of SOURCE keep apart what the label filters in FILTER tell apart: threads and ages. Returns whether there are any. */
bool cairn_view_split_labels(struct cairn_source_options *source, const struct cairn_filter_options *filter);

/* Whether SETUP selects all that one dump says of the heap: neither a sum, nor a difference, nor a part by thread, age or label. Only of
 * that do dumps say what was freed. */
bool cairn_view_is_whole(const struct cairn_view_setup *setup);

/* Whether binary output may be written: not to a terminal. */
bool cairn_view_takes_binary(const struct cairn_view_setup *setup, struct cairn_error *error);

/* The part after reading: appends COMMAND's report of PROFILE, with its head, to OUT. */
bool cairn_view_show(const struct cairn_command *command, void *options, const struct cairn_profile *profile, struct cairn_buffer *out,
		     struct cairn_error *error);

#endif
