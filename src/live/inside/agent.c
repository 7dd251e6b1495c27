/* agent.c - asking the agent to map blocks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/inside/agent.h"

#include "base/descriptor.h"
#include "live/attach/library.h"
#include "live/inside/count.h"
#include "protocol/inside_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int cairn_agent_lock(int pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	/* Some file systems have no locks: then there is nothing to wait for. */
	for (int i = 0; i < 1000 && descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
		nanosleep(&(struct timespec){0, 10 * 1000000L}, NULL);
	return descriptor;
}

static bool send_block(void *context, uint64_t address, struct cairn_bytes block, struct cairn_error *error)
{
	char path[64];
	snprintf(path, sizeof path, "/cairn/inside?address=%llu", (unsigned long long)address);
	return cairn_target_send(context, path, block, error);
}

/* If it is just busy, it finds out by itself when it next looks at all objects. */
static void send_news(void *context)
{
	cairn_target_send(context, "/cairn/inside", (struct cairn_bytes){"", 0}, &(struct cairn_error){.usage = false});
}

struct cairn_agent_door cairn_agent_door_of(const struct cairn_target *target)
{
	union {
		const struct cairn_target *constant;
		void *context;
	} pass = {target};
	return (struct cairn_agent_door){send_block, send_news, pass.context};
}

/* What the agent says of itself; false where it says nothing. */
static bool prepare(struct cairn_count *count, const struct cairn_subject *subject, const struct cairn_agent_door *door)
{
	struct cairn_library library;
	struct cairn_inside table = {0};
	*count = (struct cairn_count){.subject = subject, .map = door->map, .tell = door->tell, .context = door->context};
	if (cairn_library_open(&library, NULL))
		count->table = cairn_library_symbol(&library, subject, "cairn_inside");
	cairn_library_close(&library);
	if (!count->table || cairn_subject_read(subject, count->table, &table, sizeof table) != sizeof table ||
	    table.version != CAIRN_INSIDE_VERSION || !table.slow)
		return false;
	count->world.countdown = table.countdown;
	count->world.filter_words = table.filter_words;
	count->world.filter_mask = table.filter_mask;
	count->world.slow = table.slow;
	return true;
}

bool cairn_agent_count_begin(struct cairn_agent_count *count, int pid, const struct cairn_agent_door *door, struct cairn_error *error)
{
	struct cairn_count work;
	*count = (struct cairn_agent_count){.subject.memory = -1};
	if (!cairn_subject_open(&count->subject, pid, error))
		return false;
	if (!prepare(&work, &count->subject, door)) {
		cairn_plan_make(&count->plan, &count->subject, NULL, 0);
		return cairn_fail(error, "the agent of process %d is part of its program, or of another version", pid);
	}
	int lock = cairn_agent_lock(pid);
	bool done = cairn_count_begin(&work, &count->plan, error);
	if (lock >= 0)
		close(lock);
	count->threads = work.threads;
	count->stopped_ns = work.stopped_ns;
	return done;
}

bool cairn_agent_look(struct cairn_agent_count *count, int pid)
{
	struct cairn_count work;
	*count = (struct cairn_agent_count){.subject.memory = -1};
	if (!cairn_subject_open(&count->subject, pid, NULL))
		return false;
	if (prepare(&work, &count->subject, &(struct cairn_agent_door){NULL, NULL, NULL}))
		cairn_count_look(&work, &count->plan);
	else
		cairn_plan_make(&count->plan, &count->subject, NULL, 0);
	return true;
}

void cairn_agent_count_free(struct cairn_agent_count *count)
{
	cairn_plan_free(&count->plan);
	cairn_subject_close(&count->subject);
}

bool cairn_agent_count_end(int pid, const struct cairn_agent_door *door, struct cairn_error *error)
{
	struct cairn_subject subject;
	struct cairn_count work;
	bool done = true;
	int lock = cairn_agent_lock(pid);
	if (cairn_subject_open(&subject, pid, NULL) && prepare(&work, &subject, door) && cairn_count_is_on(&work))
		done = cairn_count_end(&work, error);
	cairn_subject_close(&subject);
	if (lock >= 0)
		close(lock);
	return done;
}

void cairn_agent_say_unseen(struct cairn_plan *plan, const char *problem, void (*say)(const char *text))
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct cairn_plan_allocator *allocator = &plan->items[i];
		bool unseen = allocator->verdict == CAIRN_PLAN_NOT_SEEN;
		if (unseen || (problem[0] && allocator->verdict == CAIRN_PLAN_COUNTED))
			say(cairn_arena_format(&plan->arena, "%s is not sampled: %s", cairn_allocator_describe(&plan->arena, allocator->found),
					       unseen ? allocator->reason : problem));
	}
}

/* Over the connection on which a thread of the process waits. */

/* Sends MESSAGE, with FILE unless that is -1, and waits for the answer. */
static bool tell_process(int connection, struct cairn_inside_ask message, int file, struct cairn_error *error)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {&message, sizeof message};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
	int32_t result = 0;
	if (file >= 0) {
		packet.msg_control = control.room;
		packet.msg_controllen = sizeof control.room;
		struct cmsghdr *rights = CMSG_FIRSTHDR(&packet);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof file);
		memcpy(CMSG_DATA(rights), &file, sizeof file);
	}
	if (sendmsg(connection, &packet, MSG_NOSIGNAL) != sizeof message ||
	    (message.kind != CAIRN_INSIDE_ASK_DONE && recv(connection, &result, sizeof result, 0) != sizeof result))
		return cairn_fail(error, "the process does not answer");
	errno = result;
	return result == 0 || cairn_fail_errno(error, "the process cannot do its part");
}

static bool hand_block(void *context, uint64_t address, struct cairn_bytes block, struct cairn_error *error)
{
	int file = memfd_create("cairn-inside", MFD_CLOEXEC);
	struct cairn_bytes rest = block;
	bool done = file >= 0 && cairn_descriptor_write_all(file, &rest);
	if (done)
		done = tell_process(*(int *)context, (struct cairn_inside_ask){CAIRN_INSIDE_ASK_BLOCK, block.length, address}, file, error);
	else
		cairn_fail_errno(error, "no file can be made in memory");
	if (file >= 0)
		close(file);
	return done;
}

/* A process that is just busy finds out by itself when it next looks at all objects. */
static void tell_news(void *context)
{
	tell_process(*(int *)context, (struct cairn_inside_ask){.kind = CAIRN_INSIDE_ASK_RENEW}, -1, &(struct cairn_error){.usage = false});
}

enum cairn_agent_start cairn_agent_count_at_start(int pid, int connection, void (*say)(const char *text))
{
	struct cairn_agent_count count;
	struct cairn_error error = {.usage = false};
	struct cairn_agent_door door = {hand_block, tell_news, &connection};
	/* A system that has no such permission needs none. */
	tell_process(connection, (struct cairn_inside_ask){.kind = CAIRN_INSIDE_ASK_TRACER, .number = (uint64_t)getpid()}, -1, &error);
	error.text[0] = 0;
	bool done = cairn_agent_count_begin(&count, pid, &door, &error);
	enum cairn_agent_start outcome = done ? CAIRN_AGENT_START_NOTHING : CAIRN_AGENT_START_FAILED;
	for (size_t i = 0; i < count.plan.count; i++)
		if (count.plan.items[i].verdict == CAIRN_PLAN_COUNTED || count.plan.items[i].verdict == CAIRN_PLAN_NOT_SEEN)
			outcome = done ? CAIRN_AGENT_START_COUNTED : CAIRN_AGENT_START_FAILED;
	tell_process(connection, (struct cairn_inside_ask){.kind = CAIRN_INSIDE_ASK_DONE}, -1, NULL);
	if (!done && count.plan.count == 0)
		say(error.text);
	cairn_agent_say_unseen(&count.plan, error.text, say);
	cairn_agent_count_free(&count);
	return outcome;
}
