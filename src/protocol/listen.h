/* listen.h - the agent's listening sockets: a unix socket for each process, and TCP if configured.
 *
 * The unix socket is `<pid>.sock` in $XDG_RUNTIME_DIR/cairn, else /run/cairn for root, else /tmp/cairn-UID, else /dev/shm/cairn-UID; only
 * the owner can use the folder (0700, checked) and the socket (0600). If there is no such folder, as with a read-only file system or
 * after chroot, it has the abstract name @cairn/<pid>.sock. TCP is limited to loopback unless a token is set; if the port is taken, the
 * agent tries again every second.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROTOCOL_LISTEN_H
#define CAIRN_PROTOCOL_LISTEN_H

#include "base/error.h"
#include "protocol/config.h"

struct cairn_listen {
	char folder[72];  /* of the socket */
	char path[108];   /* of the socket, or @ and its abstract name; "" if there is none */
	char name[32];    /* its last part */
	int folder_descriptor; /* the folder, for removing the socket wherever the process's root is by then; -1 */
	char tcp_shown[160];   /* the listening address */
	char local_problem[160], tcp_problem[160];
};

/* Finds or creates the folder for sockets of the process's current user; `folder` is "" if that is impossible. RUNTIME is
 * $XDG_RUNTIME_DIR or NULL. Everything else is left unchanged. */
void cairn_listen_folder(struct cairn_listen *listen, const char *runtime);

/* Listens on the unix socket and removes dead sockets from the folder. -1 with `local_problem` set. */
int cairn_listen_local(struct cairn_listen *listen);

/* Removes dead sockets from the folders that this user's agents may have, without creating any. RUNTIME as above. For processes without a
 * socket of their own: agents that were killed, or that may not remove their socket after changing their user, leave it behind. */
void cairn_listen_tidy(const char *runtime);

/* What is wrong with TEXT as an address to listen on: "not address:port" or so; NULL if nothing is. */
const char *cairn_listen_check(const char *text);

/* Listens on CONFIG's address; -1 with `tcp_problem` set, or without if no address is configured. */
int cairn_listen_tcp(struct cairn_listen *listen, const struct cairn_config *config);

/* Removes the socket's name. Async-signal-safe. */
void cairn_listen_remove(struct cairn_listen *listen);

#endif
