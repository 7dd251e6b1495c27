/* suffix.h - the suffix of an output file's name, which promises a format.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SUFFIX_H
#define CAIRN_CMD_SUFFIX_H

#include "base/error.h"

/* Those of pprof profiles, ending with NULL. */
extern const char *const cairn_pprof_suffixes[];

/* Whether a pprof profile is written to OUTPUT, which may be NULL, without compression. */
bool cairn_pprof_is_plain(const char *output);

/* Whether the name OUTPUT, which may be NULL, has one of SUFFIXES. They end with NULL; NULL is an empty list. */
bool cairn_suffix_is_one(const char *output, const char *const *suffixes);

/* Whether COMMAND may write to a file named OUTPUT, which may be NULL: fails with a usage error if the name ends like a format that another
 * command writes, such as .svg, unless it has one of the suffixes OWN. */
bool cairn_suffix_check(const char *command, const char *output, const char *const *own, struct cairn_error *error);

#endif
