/* line.h - reads lines from the user, with editing, history and completion if there is a terminal and libedit.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_PROMPT_LINE_H
#define CAIRN_CMD_PROMPT_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Completion: candidate number INDEX for the word that begins at START of LINE, or NULL after the last. Candidates that do not begin with
 * the word are skipped. */
typedef const char *cairn_line_candidate(void *context, const char *line, size_t start, size_t index);

struct cairn_line_options {
	const char *prompt;
	bool prompt_always; /* printed on standard error even if the input is no terminal */
	cairn_line_candidate *candidate;
	void *context;
};

/* A program has one line reader. Open loads the history. */
void cairn_line_open(const struct cairn_line_options *options);

/* The next line without its end, to be freed; NULL at the end of the input. */
char *cairn_line_read(void);

/* Saves the history for the next time. */
void cairn_line_close(void);

#endif
