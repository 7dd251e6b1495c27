/* handover.c - one question, one descriptor.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/handover.h"

#include "agent/host/thread.h"
#include "base/descriptor.h"
#include "process/clock.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { answer_seconds = 2, exit_seconds = 10 };

/* The socket of `cairn run`, or -1. */
static int reach(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	if (length + 1 > sizeof address.sun_path)
		return -1;
	memcpy(address.sun_path + 1, name, length);
	int descriptor = cairn_descriptor_adopt(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	struct timeval patience = {answer_seconds, 0};
	if (descriptor < 0)
		return -1;
	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (connect(descriptor, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0)
		return descriptor;
	cairn_descriptor_close(descriptor);
	return -1;
}

static void send_descriptor(int to, int descriptor)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte = CAIRN_HANDOVER_WANTED;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof descriptor);
	memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
	while (sendmsg(to, &message, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void *hand_over(void *context)
{
	struct cairn_agent *agent = context;
	struct cairn_error error;
	char answer = CAIRN_HANDOVER_NOT_WANTED;
	agent->work.begin();
	int descriptor = reach(agent->report);
	if (descriptor < 0)
		return NULL;
	while (recv(descriptor, &answer, 1, 0) < 0 && errno == EINTR)
		;
	struct cairn_snapshot_ask ask = {.since_ns = cairn_clock_ns()};
	struct cairn_snapshot *snapshot = answer == CAIRN_HANDOVER_WANTED ? cairn_snapshot_take(&agent->snapshots, &ask, &error) : NULL;
	if (snapshot) {
		send_descriptor(descriptor, snapshot->descriptor);
		cairn_snapshot_release(snapshot);
	}
	cairn_descriptor_close(descriptor);
	return NULL;
}

void cairn_handover_at_exit(struct cairn_agent *agent)
{
	pthread_t thread;
	struct timespec until;
	if (!agent->report[0] || cairn_profiler_state(&agent->profiler) < CAIRN_PROFILER_INACTIVE ||
	    !cairn_thread_start(&thread, hand_over, agent, "cairn"))
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += exit_seconds;
	pthread_timedjoin_np(thread, NULL, &until);
}
