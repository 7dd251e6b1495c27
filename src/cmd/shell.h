/* shell.h - a shell on one profile, which is read and named once as long as nobody asks for another part of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SHELL_H
#define CAIRN_CMD_SHELL_H

#include "cmd/view.h"

/* Reads commands from standard input until there are no more. SETUP is what options are at the start, and with its `source` PROFILE
 * was loaded from the COUNT sources at NAMES, which are read again where such an option changes; none where that cannot be. With
 * JEPROF, top, list and disasm print as jeprof does. Returns the exit code. */
int cairn_shell_run(const struct cairn_profile *profile, const struct cairn_view_setup *setup, int count, char **names, bool jeprof);

#endif
