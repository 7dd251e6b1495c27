/* listen.h - the sockets the agent listens on: one of the process's own, and TCP where it was asked for.
 *
 * The unix socket is `<pid>.sock` in $XDG_RUNTIME_DIR/cairn, else /run/cairn for root, else /tmp/cairn-UID, else
 * /dev/shm/cairn-UID; the folder is ours alone (0700, checked) and so is the socket (0600). Where there is no such folder, as with a
 * read-only file system or after chroot, it has the abstract name @cairn/<pid>.sock. TCP is loopback only unless a token is set; a port that is taken
 * is tried again every second.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_LISTEN_H
#define CAIRN_AGENT_HOST_LISTEN_H

#include "agent/host/config.h"
#include "base/error.h"

struct cairn_listen {
	char folder[72];  /* of the socket */
	char path[108];   /* of the socket, or @ and its abstract name; "" when there is none */
	char name[32];    /* its last part */
	int folder_descriptor; /* by which the socket is removed, wherever the process's root is by then; -1 */
	char tcp_shown[160];   /* the address that is listened on */
	char local_problem[160], tcp_problem[160];
};

/* Finds or makes the folder for sockets of the user this process is now; `folder` is "" when none is possible. RUNTIME is
 * $XDG_RUNTIME_DIR or NULL. All else is left as it is. */
void cairn_listen_folder(struct cairn_listen *listen, const char *runtime);

/* Listens on the unix socket and removes those in the folder that nobody answers on any more. -1 with `local_problem` set. */
int cairn_listen_local(struct cairn_listen *listen);

/* Removes sockets that nobody answers on any more from the folders this user's agents may have; none is made. RUNTIME as above. For
 * who has no socket to make: agents that were killed, or that may not remove their socket as the user they are by then, leave it behind. */
void cairn_listen_tidy(const char *runtime);

/* Listens on CONFIG's address; -1 with `tcp_problem` set, or with none when no address is asked for. */
int cairn_listen_tcp(struct cairn_listen *listen, const struct cairn_config *config);

/* Removes the socket's name. Async-signal-safe. */
void cairn_listen_remove(struct cairn_listen *listen);

/* Splits "host:port", "[v6]:port", ":port" or "port". An empty host is loopback. */
bool cairn_listen_parse(const char *text, char *host, size_t size, unsigned *port);

/* Whether HOST (a Host header, with or without port) is one a browser cannot have been tricked into: an address, but not the unspecified
 * one (0.0.0.0, ::), localhost, this machine's name, or one of EXTRA (separated by spaces). */
bool cairn_listen_host_is_ours(struct cairn_bytes host, const char *extra);

#endif
