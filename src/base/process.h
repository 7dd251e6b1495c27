/* process.h - runs another program for its output.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_PROCESS_H
#define CAIRN_BASE_PROCESS_H

#include "base/buffer.h"
#include "base/error.h"

/* Runs ARGUMENTS (the first is the program, searched for in PATH; ends with NULL) without a shell and appends its standard output to OUT;
 * its standard error is dropped. Fails with a message if it cannot be started, fails, or writes more than OUT holds. */
bool cairn_process_read(const char *const *arguments, struct cairn_buffer *out, struct cairn_error *error);

#endif
