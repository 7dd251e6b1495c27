/* begin.h - a command that can have no agent inside is held at its very beginning until it has one beside it.
 *
 * It is traced until its libc has set the thread pointer, which is before any of its code calls malloc. Then the core is put there, and the
 * program waits in it, for some ten seconds at most, until the process beside it (core/companion.h) counts its calls. Should this program be
 * killed, the command goes on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_RUN_BEGIN_H
#define CAIRN_LIVE_RUN_BEGIN_H

#include "base/error.h"

#include <sys/types.h>

/* To be called in the child, before its exec. */
void cairn_begin_in_child(void);

/* For a child that has called that. CONFIG is as in CAIRN_CONF. False, with the reason, if it runs without profiling; *STATUS is then as of
 * wait(2) if it has ended, else -1. */
bool cairn_begin(pid_t child, const char *config, int *status, struct cairn_error *error);

#endif
