/* peer.c - SO_PEERCRED.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/peer.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool is_abstract(int socket)
{
	struct sockaddr_un address;
	socklen_t size = sizeof address;
	return getsockname(socket, (struct sockaddr *)&address, &size) == 0 && address.sun_family == AF_UNIX &&
	       size > offsetof(struct sockaddr_un, sun_path) && address.sun_path[0] == 0;
}

bool cairn_peer_is_allowed(int socket)
{
	if (!is_abstract(socket))
		return true;
	struct cairn_peer peer = cairn_peer_of(socket);
	return peer.user == 0 || peer.user == geteuid();
}

struct cairn_peer cairn_peer_of(int socket)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return (struct cairn_peer){0, (unsigned)-1};
	return (struct cairn_peer){peer.pid, peer.uid};
}
