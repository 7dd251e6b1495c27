/* handover.c - one question, one descriptor.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/handover.h"

#include "agent/engine/profiler.h"
#include "agent/sampler/sampler.h"
#include "agent/work/thread.h"
#include "base/descriptor.h"
#include "base/text.h"
#include "process/clock.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { answer_seconds = 2, exit_seconds = 10 };

int cairn_handover_reach(const char *name)
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

static void send_descriptor(int to, int descriptor, char byte)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
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

/* The connection to `cairn run`, if it wants something; or -1. */
static int offer(const struct cairn_agent *agent)
{
	char answer = CAIRN_HANDOVER_NOT_WANTED;
	int descriptor = cairn_handover_reach(agent->report);
	while (descriptor >= 0 && recv(descriptor, &answer, 1, 0) < 0 && errno == EINTR)
		;
	if (answer == CAIRN_HANDOVER_WANTED)
		return descriptor;
	cairn_descriptor_close(descriptor);
	return -1;
}

static void *hand_over(void *context)
{
	struct cairn_agent *agent = context;
	struct cairn_error error;
	agent->work.begin();
	int descriptor = offer(agent);
	if (descriptor < 0)
		return NULL;
	struct cairn_snapshot_ask ask = {.since_ns = cairn_clock_ns()};
	struct cairn_snapshot *snapshot = cairn_snapshot_take(&agent->snapshots, &ask, &error);
	if (snapshot) {
		send_descriptor(descriptor, snapshot->descriptor, CAIRN_HANDOVER_SNAPSHOT);
		cairn_snapshot_release(snapshot);
	}
	cairn_descriptor_close(descriptor);
	return NULL;
}

/* Sends LEDGER, and waits until it has been read: /proc says the rest, while this process is there. */
static void hand_over_ledger(const struct cairn_agent *agent, int ledger)
{
	char byte;
	struct timeval patience = {exit_seconds, 0};
	int descriptor = offer(agent);
	if (descriptor < 0)
		return;
	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	send_descriptor(descriptor, ledger, CAIRN_HANDOVER_LEDGER);
	while (recv(descriptor, &byte, 1, 0) < 0 && errno == EINTR)
		;
	cairn_descriptor_close(descriptor);
}

/* `cairn run` wants the snapshot of the command itself, whose parent it is, and of others that hold something. Its socket has its PID in the
 * name; in a namespace below its own the parent has none. */
static bool has_something(struct cairn_agent *agent)
{
	uint64_t (*live)(struct cairn_profiler *) = cairn_profiler_engine(&agent->profiler)->live_samples;
	struct cairn_bytes name = cairn_bytes_of(agent->report);
	uint64_t run = 0;
	const char *dash = strchr(agent->report, '-'), *number = dash ? strchr(dash + 1, '-') : NULL;
	if (!live || !number || live(&agent->profiler) > 0 || getppid() == 0)
		return true;
	name = cairn_bytes_skip(name, (size_t)(number + 1 - agent->report));
	return !cairn_text_decimal(&name, &run) || run == (uint64_t)getppid();
}

void cairn_handover_at_exit(struct cairn_agent *agent)
{
	pthread_t thread;
	struct timespec until;
	if (!agent->report[0] || !has_something(agent) || cairn_profiler_state(&agent->profiler) < CAIRN_PROFILER_INACTIVE)
		return;
	int ledger = cairn_profiler_is_jemalloc(&agent->profiler) ? -1 : cairn_sampler_ledger();
	if (ledger >= 0 && cairn_descriptor_is_ours(ledger)) {
		hand_over_ledger(agent, ledger);
		return;
	}
	if (!cairn_thread_start(&thread, hand_over, agent, "cairn"))
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += exit_seconds;
	pthread_timedjoin_np(thread, NULL, &until);
}
