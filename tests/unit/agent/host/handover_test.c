/* handover_test.c - the last snapshot of a process: handed to who wants it, kept from who does not, and nobody waits for ever.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/engine/profiler.h"
#include "agent/host/handover.h"
#include "agent/jemalloc/profiler.h"
#include "tap.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int give(void *old, size_t *old_size, const void *value, size_t size)
{
	if (!old || *old_size != size)
		return EINVAL;
	memcpy(old, value, size);
	return 0;
}

/* A jemalloc that profiles, and has one sample. */
static int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size)
{
	static const char *version = "5.3.0-test";
	static const bool yes = true;
	(void)new_size;
	if (strcmp(name, "version") == 0)
		return give(old, old_size, &version, sizeof version);
	if (strcmp(name, "config.prof") == 0 || strcmp(name, "opt.prof") == 0 || strcmp(name, "prof.active") == 0)
		return give(old, old_size, &yes, sizeof yes);
	if (strcmp(name, "prof.dump") != 0)
		return ENOENT;
	FILE *file = fopen(*(char **)new, "w");
	if (!file)
		return EFAULT;
	fprintf(file, "heap_v2/524288\n  t*: 1: 4096 [0: 0]\n@ 0x1\n  t*: 1: 4096 [0: 0]\n");
	return fclose(file) == 0 ? 0 : EFAULT;
}

static void begin(void)
{
}

/* One who is asked, and answers with ANSWER; 0 for never. */
struct receiver {
	int listener;
	char answer;
	char text[64]; /* of the snapshot that came */
	bool came;
};

static void *receive(void *context)
{
	struct receiver *receiver = context;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
	int client = accept(receiver->listener, NULL, NULL);
	if (receiver->answer)
		(void)!send(client, &receiver->answer, 1, MSG_NOSIGNAL);
	if (recvmsg(client, &message, 0) > 0 && CMSG_FIRSTHDR(&message)) {
		int descriptor;
		memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
		receiver->came = pread(descriptor, receiver->text, sizeof receiver->text - 1, 0) > 0;
		close(descriptor);
	}
	close(client);
	return NULL;
}

static void test_with(char answer, bool expected, const char *what)
{
	static int number;
	struct receiver receiver = {.answer = answer};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	pthread_t thread;
	int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "cairn-handover-test-%d-%d", getpid(), number++);
	receiver.listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	ok(bind(receiver.listener, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) ==
			   0 &&
		   listen(receiver.listener, 1) == 0,
	   "an abstract socket");
	pthread_create(&thread, NULL, receive, &receiver);
	snprintf(cairn_agent.report, sizeof cairn_agent.report, "%.90s", address.sun_path + 1);
	cairn_handover_at_exit(&cairn_agent);
	pthread_join(thread, NULL);
	ok(receiver.came == expected, "%s", what);
	ok(!expected || strncmp(receiver.text, "heap_v2/524288\n", 15) == 0, "which is a dump");
	close(receiver.listener);
}

static uint64_t samples;
static uint64_t count_samples(struct cairn_profiler *profiler)
{
	(void)profiler;
	return samples;
}

/* Whether a process with LIVE samples, whose `cairn run` has PID, asks it. */
static bool asks(uint64_t live, int pid)
{
	struct cairn_engine engine = *cairn_profiler_engine(&cairn_agent.profiler);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int length = snprintf(cairn_agent.report, sizeof cairn_agent.report, "cairn-run-%d-%d", pid, getpid());
	memcpy(address.sun_path + 1, cairn_agent.report, (size_t)length);
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	ok(bind(listener, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0 &&
		   listen(listener, 1) == 0,
	   "an abstract socket");
	samples = live;
	engine.live_samples = count_samples;
	cairn_agent.profiler.engine = &engine;
	cairn_handover_at_exit(&cairn_agent); /* it is not answered, which it does not wait for long */
	cairn_agent.profiler.engine = &cairn_engine_jemalloc;
	int client = accept(listener, NULL, NULL);
	close(listener);
	return client >= 0 && close(client) == 0;
}

int main(void)
{
	struct cairn_error error;
	ok(cairn_jemalloc_take(&cairn_agent.profiler.jemalloc, mallctl, NULL, &error), "a jemalloc");
	cairn_agent.snapshots = (struct cairn_snapshots){.profiler = &cairn_agent.profiler, .folder = ""};
	pthread_mutex_init(&cairn_agent.snapshots.mutex, NULL);
	cairn_agent.work.begin = begin;
	test_with(CAIRN_HANDOVER_WANTED, true, "one who wants it gets the snapshot");
	test_with(CAIRN_HANDOVER_NOT_WANTED, false, "one who does not is not sent it");
	test_with(0, false, "one who never answers is not waited for");
	ok(asks(0, getppid()), "the command asks, whatever it has");
	ok(asks(1, getppid() + 1), "another process with samples, too");
	ok(!asks(0, getppid() + 1), "one without does not");
	snprintf(cairn_agent.report, sizeof cairn_agent.report, "cairn-nobody-%d", getpid());
	cairn_handover_at_exit(&cairn_agent);
	ok(atomic_load(&cairn_agent.snapshots.taken) == 1, "where nobody is there, no snapshot is taken");
	cairn_agent.report[0] = 0;
	cairn_handover_at_exit(&cairn_agent);
	ok(atomic_load(&cairn_agent.snapshots.taken) == 1, "one snapshot was taken in all");
	return tap_done();
}
