/* error.h - one clear sentence about what went wrong, passed up to whoever prints it.
 *
 * Every function that can fail takes a `struct cairn_error *` last and returns false or NULL. The message names the
 * file, the place and what would be right; callers put their own context in front of it. Only cmd/ prints.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_ERROR_H
#define CAIRN_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

struct cairn_error {
	char text[2048]; /* room for what a server has to say */
	bool usage; /* what was asked for cannot be: the command line is wrong, not the world */
};

/* Formats the message into ERROR (which may be NULL) and returns false, so that a caller can `return cairn_fail(…)`. */
bool cairn_fail(struct cairn_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for what the person who typed the command can put right by typing it otherwise. */
bool cairn_fail_usage(struct cairn_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As cairn_fail, followed by ": " and what errno says. */
bool cairn_fail_errno(struct cairn_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What errno CODE means, in English: no locale, no allocation. */
const char *cairn_errno_text(int code);

/* Puts a formatted prefix in front of the message that is already there. Returns false. */
bool cairn_fail_within(struct cairn_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory could not be had: says so on standard error and ends the program with code 3. A command that has run out of
 * memory has nothing to save (outputs are written under another name until complete), and checking each small
 * allocation would hide the code that matters. Nothing that runs inside a host process calls this. */
_Noreturn void cairn_out_of_memory(size_t size);

#endif
