/* error.h - one clear message about a failure, passed up to the caller that prints it.
 *
 * Every function that can fail takes a `struct cairn_error *` last and returns false or NULL. The message names the file, the place and
 * what would be right; callers put their own context in front of it. Only cmd/ prints.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_ERROR_H
#define CAIRN_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

struct cairn_error {
	char text[2048]; /* room for a server's answer */
	bool usage; /* a usage error: the command line is wrong */
};

/* Formats the message into ERROR (which may be NULL) and returns false, so that a caller can `return cairn_fail(…)`. */
bool cairn_fail(struct cairn_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for usage errors, which the user can correct by changing the command line. */
bool cairn_fail_usage(struct cairn_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Like cairn_fail, followed by ": " and the text of errno. */
bool cairn_fail_errno(struct cairn_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The meaning of errno CODE in English: no locale, no allocation. */
const char *cairn_errno_text(int code);

/* Puts a formatted prefix in front of the present message. Returns false. */
bool cairn_fail_within(struct cairn_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Out of memory: says so on standard error and ends the program with code 3. A command without memory has nothing to save (outputs are
 * written under another name until they are complete), and checking each small allocation would obscure the code. Nothing that runs
 * inside a host process calls this. */
_Noreturn void cairn_out_of_memory(size_t size);

#endif
