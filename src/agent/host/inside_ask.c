/* inside_ask.c - looks for signs of an allocator inside, asks, and follows instructions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/inside_ask.h"

#include "agent/host/handover.h"
#include "agent/sampler/inside_blocks.h"
#include "agent/sampler/patch.h"
#include "agent/sampler/sampler.h"
#include "agent/unwind/dynamic.h"
#include "base/descriptor.h"
#include "base/path.h"
#include "base/time.h"
#include "process/clock.h"
#include "protocol/inside_ask.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { block_most = 1 << 20, patience_s = 10 };

/* What is loaded into every process, and has no allocator but libc's. */
static bool is_usual(const struct cairn_object *object)
{
	static const char *const names[] = {"ld-linux", "libc.so", "libm.so", "libdl.so", "libpthread.so", "libgcc_s.so", "libcairn.so"};
	const char *name = cairn_base_name(object->path);
	bool usual = !object->path[0];
	for (size_t i = 0; i < sizeof names / sizeof *names && !object->program; i++)
		usual |= strncmp(name, names[i], strlen(names[i])) == 0;
	return usual;
}

/* Functions that give memory back, of allocators other than jemalloc; those that are not exported may have a prefix. */
static const char *const signs[] = {"mi_free", "tc_free", "rpfree", "scalable_free", "dlfree", "TCMallocInternalFree", "sn_rust_dealloc"};

static bool see_name(void *context, const struct cairn_object *object, const char *name, uintptr_t address)
{
	size_t length = strlen(name);
	bool found = false;
	(void)context, (void)object, (void)address;
	for (size_t i = 0; i < sizeof signs / sizeof *signs && !found; i++)
		found = length >= strlen(signs[i]) && strcmp(name + length - strlen(signs[i]), signs[i]) == 0;
	return found;
}

static bool see_any(void *context, const struct cairn_object *object, const char *name, uintptr_t address)
{
	(void)context, (void)object, (void)name, (void)address;
	return true;
}

static bool has_sign(void *context, const struct cairn_object *object)
{
	struct cairn_dynamic dynamic;
	bool found = false;
	(void)context;
	if (is_usual(object))
		return false;
	for (size_t i = 0; i < sizeof signs / sizeof *signs && !found && cairn_dynamic_open(&dynamic, object); i++)
		found = cairn_dynamic_find(&dynamic, signs[i]) != 0;
	return found || cairn_object_local(object, "free", see_name, NULL) || cairn_object_local(object, "sn_rust_dealloc", see_name, NULL);
}

/* jemalloc is found by its own names at the start (agent/engine/jemalloc.h), and by this one later. */
static bool has_late_sign(const struct cairn_object *object)
{
	struct cairn_dynamic dynamic;
	if (is_usual(object))
		return false;
	return (cairn_dynamic_open(&dynamic, object) && cairn_dynamic_find(&dynamic, "sdallocx")) || has_sign(NULL, object) ||
	       cairn_object_local(object, "sdallocx", see_any, NULL);
}

/* Whether a message comes in time, however often signals interrupt. */
static bool await(int from)
{
	int64_t end = cairn_clock_ns() + patience_s * CAIRN_SECOND_NS, left;
	int ready = 0;
	while ((left = end - cairn_clock_ns()) > 0 && (ready = poll(&(struct pollfd){.fd = from, .events = POLLIN}, 1,
								    (int)(left / CAIRN_MILLISECOND_NS) + 1)) < 0 && errno == EINTR)
		;
	return ready > 0;
}

/* Receives a message, and the file that came with it; -1 for none. */
static bool receive(int from, struct cairn_inside_ask *message, int *file)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {message, sizeof *message};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
	ssize_t length;
	*file = -1;
	length = await(from) ? recvmsg(from, &packet, MSG_CMSG_CLOEXEC) : -1;
	struct cmsghdr *rights = length > 0 ? CMSG_FIRSTHDR(&packet) : NULL;
	if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS && rights->cmsg_len == CMSG_LEN(sizeof *file))
		memcpy(file, CMSG_DATA(rights), sizeof *file);
	return length == sizeof *message;
}

static int take_block(const struct cairn_inside_ask *message, int file)
{
	struct cairn_error error;
	if (message->number == 0 || message->number > block_most)
		return EINVAL;
	void *copy = mmap(NULL, message->number, PROT_READ, MAP_PRIVATE, file, 0);
	if (copy == MAP_FAILED)
		return errno;
	errno = EINVAL;
	bool taken = cairn_inside_take(message->address, (struct cairn_bytes){copy, message->number}, &error);
	int reason = taken ? 0 : errno ? errno : EINVAL;
	munmap(copy, message->number);
	return reason;
}

/* False where that is the end of it. */
static bool answer(int to)
{
	struct cairn_inside_ask message = {0};
	int file;
	int32_t result = EINVAL;
	if (!receive(to, &message, &file))
		return false;
	if (message.kind == CAIRN_INSIDE_ASK_TRACER)
		result = prctl(PR_SET_PTRACER, (unsigned long)message.number, 0, 0, 0) == 0 ? 0 : errno;
	else if (message.kind == CAIRN_INSIDE_ASK_BLOCK && file >= 0)
		result = take_block(&message, file);
	else if (message.kind == CAIRN_INSIDE_ASK_RENEW)
		result = cairn_sampler_try_renew() ? 0 : EBUSY;
	if (file >= 0)
		close(file);
	return message.kind != CAIRN_INSIDE_ASK_DONE && send(to, &result, sizeof result, MSG_NOSIGNAL) == sizeof result;
}

/* What answers there is trusted with this process's memory. */
static bool is_trusted(int descriptor)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == 0 || peer.uid == geteuid());
}

/* Threads of the host come here, too. Nothing in it allocates, nor calls the loader but for a look at its list. */
static void ask(const char *report)
{
	char name[108];
	size_t length = strlen(report);
	if (length == 0 || length + sizeof CAIRN_INSIDE_ASK_SUFFIX > sizeof name)
		return;
	memcpy(name, report, length);
	memcpy(name + length, CAIRN_INSIDE_ASK_SUFFIX, sizeof CAIRN_INSIDE_ASK_SUFFIX);
	int descriptor = cairn_handover_reach(name);
	if (descriptor < 0)
		return;
	while (is_trusted(descriptor) && answer(descriptor))
		;
	prctl(PR_SET_PTRACER, 0, 0, 0, 0);
	cairn_descriptor_close(descriptor);
}

void cairn_inside_ask_for(const char *report, const struct cairn_jemalloc *jemalloc)
{
	if (!cairn_patch_sees_malloc() || (jemalloc->mallctl && !jemalloc->is_malloc) || cairn_objects_visit(has_sign, NULL))
		ask(report);
}

static const char *later_report;

/* dlsym is no place where a thread can be cancelled, and leaves errno alone. */
static void ask_later(void)
{
	int before, reason = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	ask(later_report);
	pthread_setcancelstate(before, NULL);
	errno = reason;
}

void cairn_inside_ask_later(const char *report)
{
	static const struct cairn_sampler_asker asker = {has_late_sign, ask_later};
	later_report = report;
	if (report[0])
		cairn_sampler_ask_with(&asker);
}
