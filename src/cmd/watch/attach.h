/* attach.h - `cairn attach` on behalf of `cairn watch --attach`, as a process of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_WATCH_ATTACH_H
#define CAIRN_CMD_WATCH_ATTACH_H

#include "base/error.h"

#include <stdint.h>

/* Gives process PID an agent, unless it has one. PERIOD is 0 for the default. Takes as long as it takes, so that it is a thread of its own
 * that calls it. False with what the command said. */
bool cairn_watch_attach(int pid, uint64_t period, struct cairn_error *error);

#endif
