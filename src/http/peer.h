/* peer.h - identifies the other end of a connection on this machine.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HTTP_PEER_H
#define CAIRN_HTTP_PEER_H

#include <stdbool.h>

/* Whether the peer of the connected SOCKET may speak to this process. If the socket has a path, the permissions of its folder have
 * decided that already. An abstract name has no folder, and anybody in the network namespace can connect to it: only this process's user
 * and root are accepted. */
bool cairn_peer_is_allowed(int socket);

/* The process that listens at the other end of the connected SOCKET, as numbered here, and the user that it was when it began to listen.
 * PID 0 if unknown. */
struct cairn_peer {
	int pid;
	unsigned user;
};
struct cairn_peer cairn_peer_of(int socket);

/* Whether CONNECTED, a socket of TCP over loopback, leads to a socket of this process's user, as the kernel says (sock_diag(7)).
 * False where it does not say. */
bool cairn_peer_is_own_user(int connected);

#endif
