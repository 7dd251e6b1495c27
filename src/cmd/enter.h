/* enter.h - connecting to unix sockets, also those that only the network of a process shows.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_ENTER_H
#define CAIRN_CMD_ENTER_H

#include <stdbool.h>

/* Connects to the unix socket at PATH, which begins with @ for an abstract name. The descriptor, or -1 with errno. */
int cairn_enter_connect(const char *path);

/* Calls ACT with CONTEXT in the network namespace of process PID, which takes root: abstract names are those of a network. Only a thread of
 * its own enters; this process stays where it is. False, with errno, where it may not. */
bool cairn_enter(int pid, void (*act)(void *context), void *context);

#endif
