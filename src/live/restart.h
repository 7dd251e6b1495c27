/* restart.h - the command line that starts a process again, to be pasted into a shell.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_RESTART_H
#define CAIRN_LIVE_RESTART_H

#include "base/arena.h"

/* TEXT as one word of a shell's command line. */
const char *cairn_shell_word(struct cairn_arena *arena, const char *text);

/* "cd FOLDER && BEFORE PROGRAM ARGUMENT...", as process PID was started, every word quoted where it needs to be; without the folder if it
 * is ours. BEFORE, such as assignments of variables or "cairn run --", is taken as it is. NULL where the command line cannot be told: the
 * process is another user's, or has written a title over it. */
const char *cairn_restart_line(struct cairn_arena *arena, int pid, const char *before);

#endif
