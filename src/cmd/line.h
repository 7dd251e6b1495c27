/* line.h - lines that a person types: with editing, history and completion where there is a terminal and libedit.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_LINE_H
#define CAIRN_CMD_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* What might be meant: the candidate number INDEX for the word that begins at START of LINE, or NULL after the last. Those that do not
 * begin like the word are passed over. */
typedef const char *cairn_line_candidate(void *context, const char *line, size_t start, size_t index);

struct cairn_line_options {
	const char *prompt;
	bool prompt_always; /* also where the input is no terminal, on standard error */
	cairn_line_candidate *candidate;
	void *context;
};

/* There is one reader of lines in a program. Open loads the history. */
void cairn_line_open(const struct cairn_line_options *options);

/* The next line without its end, to be freed; NULL at the end of the input. */
char *cairn_line_read(void);

/* Keeps the history for the next time. */
void cairn_line_close(void);

#endif
