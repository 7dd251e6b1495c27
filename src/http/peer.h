/* peer.h - who is at the other end of a unix socket.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HTTP_PEER_H
#define CAIRN_HTTP_PEER_H

#include <stdbool.h>

/* Whether the peer of the connected SOCKET may speak to this process. The folder of a socket that has a path decides that already. One
 * with an abstract name has no folder and can be reached by anybody in the network namespace: only this process's user and root are heard. */
bool cairn_peer_is_allowed(int socket);

/* The process that listens at the other end of the connected SOCKET, as it is numbered here; 0 when that cannot be told. */
int cairn_peer_process(int socket);

#endif
