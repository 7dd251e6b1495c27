/* page_child.c - starting the command, waiting for it, and connecting to it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/work/page_child.h"

#include "agent/work/agent.h"
#include "agent/work/spawn.h"
#include "agent/work/thread.h"
#include "base/descriptor.h"
#include "base/pages.h"
#include "base/time.h"
#include "process/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { start_ms = 15000,
       look_ms = 20,
       output_most = 128 << 10, /* room for one more read is asked for at the end */
       year_seconds = 365 * 86400 };
static const int64_t again_ns = 10 * CAIRN_SECOND_NS;

void cairn_page_child_clear(struct cairn_page_child *child)
{
	*child = (struct cairn_page_child){0};
	pthread_mutex_init(&child->mutex, NULL);
}

static void *run(void *context)
{
	struct cairn_agent *agent = context;
	struct cairn_page_child *child = &agent->page;
	struct cairn_buffer out = cairn_pages(output_most);
	const struct cairn_spawn spawn = {
		.path = agent->tool,
		.arguments = {"cairn", "serve", "--listen", child->path, "--idle", "2m", "--keep-memory", "64M", agent->listen.path},
		.environment = agent->environment,
		.input = -1,
		.base = -1,
		.seconds = year_seconds,
		.memory = agent->config.tool_memory,
		.stop = &agent->stop,
	};
	if (agent->work.begin)
		agent->work.begin();
	atomic_fetch_add(&agent->counters.children, 1);
	if (cairn_spawn_run(&spawn, &out, &child->problem) == CAIRN_SPAWN_FAILED)
		atomic_fetch_add(&agent->counters.children_bad, 1);
	cairn_buffer_free(&out);
	unlink(child->path); /* where it was killed */
	atomic_store(&child->running, false);
	return NULL;
}

/* With the mutex held. */
static bool start(struct cairn_agent *agent, struct cairn_error *error)
{
	struct cairn_page_child *child = &agent->page;
	if (!agent->tool[0])
		return cairn_fail(error, "the cairn command is not installed");
	if (!agent->listen.folder[0] || agent->listen.path[0] != '/')
		return cairn_fail(error, "the agent has no folder for a socket");
	if (child->failed && cairn_clock_ns() < child->failed_ns + again_ns) {
		*error = child->problem;
		return false;
	}
	if (child->started)
		pthread_join(child->thread, NULL);
	child->started = child->failed = false;
	/* Named as the agent's own socket, which is unique where processes of several namespaces share the folder. */
	size_t name = strlen(agent->listen.name), ending = strlen(".sock");
	snprintf(child->path, sizeof child->path, "%.72s/%.*s.page", agent->listen.folder, (int)(name > ending ? name - ending : name),
		 agent->listen.name);
	cairn_fail(&child->problem, "the cairn command ended");
	atomic_store(&child->running, true);
	child->started = cairn_thread_start(&child->thread, run, agent, "cairn-page");
	if (!child->started)
		atomic_store(&child->running, false);
	return child->started || cairn_fail(error, "no thread can be started in the process");
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	int descriptor = cairn_descriptor_adopt(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (descriptor >= 0 && connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0)
		return descriptor;
	cairn_descriptor_close(descriptor);
	return -1;
}

/* Waits until the command answers, or has ended. */
static int await_start(const struct cairn_agent *agent, const atomic_bool *gone, struct cairn_error *error)
{
	int64_t end = cairn_clock_ns() + start_ms * (CAIRN_SECOND_NS / 1000);
	while (atomic_load(&agent->page.running)) {
		int descriptor = connect_to(agent->page.path);
		if (descriptor >= 0)
			return descriptor;
		if (cairn_clock_ns() > end || atomic_load(&agent->stop) || (gone && atomic_load(gone)))
			break;
		poll(NULL, 0, look_ms);
	}
	cairn_fail(error, "the cairn command does not answer");
	return -1;
}

int cairn_page_child_reach(struct cairn_agent *agent, const atomic_bool *gone, struct cairn_error *error)
{
	struct cairn_page_child *child = &agent->page;
	/* One that was about to end when it was asked is started once more. */
	for (bool fresh = false; !fresh;) {
		pthread_mutex_lock(&child->mutex);
		fresh = !atomic_load(&child->running);
		bool there = !fresh || start(agent, error);
		pthread_mutex_unlock(&child->mutex);
		int descriptor = there ? await_start(agent, gone, error) : -1;
		if (descriptor >= 0 || !there || atomic_load(&child->running))
			return descriptor;
	}
	pthread_mutex_lock(&child->mutex);
	child->failed = true;
	child->failed_ns = cairn_clock_ns();
	*error = child->problem;
	pthread_mutex_unlock(&child->mutex);
	return -1;
}

void cairn_page_child_join(struct cairn_page_child *child)
{
	pthread_mutex_lock(&child->mutex);
	if (child->started)
		pthread_join(child->thread, NULL);
	child->started = false;
	pthread_mutex_unlock(&child->mutex);
}
