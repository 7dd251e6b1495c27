/* suffix.h - the suffix of an output file's name, which promises a format.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SUFFIX_H
#define CAIRN_CMD_SUFFIX_H

#include "base/error.h"

/* Whether COMMAND may write to a file named OUTPUT, which may be NULL: fails with a usage error if the name ends like a format that another
 * command writes, such as .svg, unless OWN has that suffix. OWN ends with NULL; NULL is an empty list. */
bool cairn_suffix_check(const char *command, const char *output, const char *const *own, struct cairn_error *error);

#endif
