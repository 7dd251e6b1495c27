/* enter.h - connects to unix sockets, including those that are visible only in the network of a process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_ENTER_H
#define CAIRN_LIVE_ENTER_H

#include <stdbool.h>

/* Connects to the unix socket at PATH, which begins with @ for an abstract name. Returns the descriptor, or -1 with errno. */
int cairn_enter_connect(const char *path);

/* Calls ACT with CONTEXT in the network namespace of process PID, which requires root: abstract names belong to a network. Only a
 * separate thread enters; this process stays where it is. Returns false with errno if it is not permitted. */
bool cairn_enter(int pid, void (*act)(void *context), void *context);

#endif
