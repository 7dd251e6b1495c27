/* process.h - starts another program, or runs it for its output.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_PROCESS_H
#define CAIRN_BASE_PROCESS_H

#include "base/buffer.h"
#include "base/error.h"

#include <sys/types.h>

/* This very program, also after its file was replaced. */
#define CAIRN_PROCESS_SELF "/proc/self/exe"

/* Starts PROGRAM, which is searched for in PATH if it has no slash, with no signals blocked, and with the descriptors STANDARD as its
 * standard input, output and error; -1 stands for /dev/null, and its own number for the caller's. Returns false with errno if it cannot be started. */
bool cairn_process_start(const char *program, char *const *arguments, char *const *environment, const int standard[3], pid_t *child);

/* Runs ARGUMENTS (the first is the program, searched for in PATH; ends with NULL) without a shell and appends its standard output to OUT;
 * its standard error is dropped. Fails with a message if it cannot be started, fails, or writes more than OUT holds. */
bool cairn_process_read(const char *const *arguments, struct cairn_buffer *out, struct cairn_error *error);

#endif
