/* enter.h - connecting to a socket of a process that only its own namespaces show.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_ENTER_H
#define CAIRN_CMD_ENTER_H

/* Connects to the unix socket at PATH, in the network and mount namespaces of process PID: PATH is as that sees it before any chroot, or
 * begins with @ for an abstract name. Takes root. Only a thread of its own enters; this process stays where it is. The
 * descriptor, or -1 with errno. */
int cairn_enter_connect(int pid, const char *path);

/* Connects to PATH from here, the same otherwise. */
int cairn_enter_connect_here(const char *path);

#endif
