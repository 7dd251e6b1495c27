/* listen.c - listening at a name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/run/listen.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { backlog = 64 };

int cairn_run_listen(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	if (length >= sizeof address.sun_path)
		return -1;
	memcpy(address.sun_path + 1, name, length);
	int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (descriptor >= 0 &&
	    (bind(descriptor, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) != 0 ||
	     listen(descriptor, backlog) != 0)) {
		close(descriptor);
		descriptor = -1;
	}
	return descriptor;
}
