/* attach.h - how a process that runs already gets its agent.
 *
 * `cairn attach` loads the library into the process (live/attach/inject.h), with `cairn_attached` filled in: in the copy of the library
 * that it loads, or in memory where the library is there already. The library's constructor, or a call of cairn_attach_start, then starts
 * a thread that does everything else, so that the thread that was borrowed for it is given back at once.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_ATTACH_H
#define CAIRN_AGENT_HOST_ATTACH_H

#include "base/error.h"
#include "protocol/attached.h"

extern struct cairn_attach cairn_attached;

/* Starts the agent as `cairn_attached` says. Returns at once; 0 where not even a thread can be started. */
long cairn_attach_start(void);

/* Closes the library's memfd, if it came from one. */
void cairn_attach_close_library(void);

/* Ends the agent soon, on a thread of its own: sampling stops, every relocation is restored, threads and socket end. */
bool cairn_attach_end(struct cairn_error *error);

#endif
