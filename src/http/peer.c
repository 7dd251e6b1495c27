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
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (!is_abstract(socket))
		return true;
	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == 0 || peer.uid == geteuid());
}

int cairn_peer_process(int socket)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}
