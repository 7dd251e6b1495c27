/* enter.c - setns in a thread that does nothing else.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

int cairn_enter_connect(const char *path)
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
	struct timeval most = {.tv_sec = 5}; /* in case its backlog is full and it accepts nobody */
	if (descriptor >= 0)
		setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
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
	void (*act)(void *context);
	void *context;
	int code;
};

static void *act_inside(void *opaque)
{
	struct visit *visit = opaque;
	char path[48];
	snprintf(path, sizeof path, "/proc/%d/ns/net", visit->pid);
	int network = open(path, O_RDONLY | O_CLOEXEC);
	visit->code = network >= 0 && setns(network, CLONE_NEWNET) == 0 ? 0 : errno;
	if (network >= 0)
		close(network);
	if (visit->code == 0)
		visit->act(visit->context);
	return NULL;
}

bool cairn_enter(int pid, void (*act)(void *context), void *context)
{
	struct visit visit = {pid, act, context, 0};
	pthread_t thread;
	int code = pthread_create(&thread, NULL, act_inside, &visit);
	if (code == 0)
		pthread_join(thread, NULL);
	errno = code ? code : visit.code;
	return errno == 0;
}
