/* prompt.h - every view of one profile at a prompt, with options that stay set. The profile is read and named
 * only once unless an option requires another part of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_PROMPT_H
#define CAIRN_CMD_PROMPT_H

#include "cmd/view.h"

/* Reads commands from standard input to its end. SETUP has the initial options; PROFILE was loaded with its `source` from the COUNT
 * sources at NAMES, which are read again if such an option changes; COUNT is 0 if that is impossible. With JEPROF, top, list and disasm
 * print like jeprof. Returns the exit code. */
int cairn_prompt_run(const struct cairn_profile *profile, const struct cairn_view_setup *setup, int count, char **names, bool jeprof);

#endif
