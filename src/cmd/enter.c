/* enter.c - setns in a thread that does nothing else.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int cairn_enter_connect_here(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(path);
	if (length >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, length);
	socklen_t size = sizeof address;
	if (path[0] == '@') {
		address.sun_path[0] = 0;
		size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	}
	int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (descriptor >= 0 && connect(descriptor, (struct sockaddr *)&address, size) != 0) {
		int code = errno;
		close(descriptor);
		errno = code;
		return -1;
	}
	return descriptor;
}

struct visit {
	int pid;
	const char *path;
	int descriptor, code;
};

static bool enter(int pid, const char *name, int kind)
{
	char path[48];
	snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, name);
	int namespace = open(path, O_RDONLY | O_CLOEXEC);
	bool good = namespace >= 0 && setns(namespace, kind) == 0;
	int code = errno;
	if (namespace >= 0)
		close(namespace);
	errno = code;
	return good;
}

static void *connect_inside(void *context)
{
	struct visit *visit = context;
	/* The mount namespace is entered last: /proc may be another there. A thread has to leave the others' root for it. */
	bool good = enter(visit->pid, "net", CLONE_NEWNET) &&
		    (visit->path[0] == '@' || (unshare(CLONE_FS) == 0 && enter(visit->pid, "mnt", CLONE_NEWNS)));
	visit->descriptor = good ? cairn_enter_connect_here(visit->path) : -1;
	visit->code = errno;
	return NULL;
}

int cairn_enter_connect(int pid, const char *path)
{
	struct visit visit = {pid, path, -1, 0};
	pthread_t thread;
	int code = pthread_create(&thread, NULL, connect_inside, &visit);
	if (code == 0)
		pthread_join(thread, NULL);
	errno = code ? code : visit.code;
	return visit.descriptor;
}
