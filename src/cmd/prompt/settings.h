/* settings.h - options that stay set from one command to the next, at the shell's prompt.
 *
 * Options of all views are stored as values; those of single commands, such as list's --source-path, as they were typed, for the commands
 * that know them. The output is no setting: each command names it. Names may contain - or _.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_PROMPT_SETTINGS_H
#define CAIRN_CMD_PROMPT_SETTINGS_H

#include "cmd/command.h"
#include "cmd/prompt/reload.h"
#include "cmd/view.h"

enum { CAIRN_SETTINGS_EXTRAS_MOST = 64 };

/* All zeroes except `setup`, which has the initial options. */
struct cairn_settings {
	struct cairn_view_setup setup;
	const char *extras[CAIRN_SETTINGS_EXTRAS_MOST]; /* "--name=value" */
	size_t extra_count;
	struct cairn_arena arena; /* of the texts in both */
};

/* Applies WORD: "name=value", "name=" to reset it, or "name" for a flag. *KNOWN is false if there is no such option. Fails with a
 * message, and changes nothing, if the value is wrong or RELOAD cannot load the sources with it. */
bool cairn_settings_set(struct cairn_settings *settings, struct cairn_reload *reload, const char *word, bool *known,
			struct cairn_error *error);

/* The INDEXth option of all views that can be set, and the place of its value; NULL after the last. */
const struct cairn_option *cairn_settings_option(const struct cairn_settings *settings, size_t index, const void **value);

/* Appends every option with its value and its description. */
void cairn_settings_show(const struct cairn_settings *settings, struct cairn_buffer *out);

/* Whether COMMAND has an option NAME that can be set. */
bool cairn_settings_apply_to(const struct cairn_command *command, const char *name);

/* Puts the extra options that COMMAND knows into ARGUMENTS, copied to ARENA; returns their number. */
int cairn_settings_extras(const struct cairn_settings *settings, const struct cairn_command *command, struct cairn_arena *arena,
			  char **arguments);

void cairn_settings_free(struct cairn_settings *settings);

#endif
