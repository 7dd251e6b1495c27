/* beside.c - the agent of another process: the same server, rules and dumps, over another engine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/beside/engine.h"
#include "agent/host/start.h"
#include "base/descriptor.h"
#include "process/proc.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Written to once nobody is to stand beside the program any more. */
static int ending = -1;

static bool end(struct cairn_error *error)
{
	return cairn_beside_close(error) && (write(ending, &(uint64_t){1}, sizeof(uint64_t)) == sizeof(uint64_t) ||
					     cairn_fail_errno(error, "the agent cannot be ended"));
}

static void stop(void)
{
	cairn_service_lock();
	cairn_service_stop();
	cairn_service_unlock();
}

/* Its thread opens the socket by which commands find the agent. */
static void await_server(void)
{
	enum { looks = 5000 };
	for (int i = 0; i < looks && !atomic_load(&cairn_agent.server); i++)
		poll(NULL, 0, 1);
}

static bool start(const struct cairn_beside *beside, struct cairn_error *error)
{
	static struct cairn_config config;
	cairn_config_default(&config);
	cairn_config_environment(&config, cairn_bytes_of(beside->config));
	cairn_proc_speak_for(beside->pid);
	ending = eventfd(0, EFD_CLOEXEC);
	cairn_agent.end = end;
	cairn_agent.beside = &cairn_engine_beside;
	if (ending < 0)
		return cairn_fail_errno(error, "no descriptor is left");
	cairn_service_lock();
	bool started = cairn_beside_open(beside, &config, error) && cairn_service_start(&config, CAIRN_SERVICE_CALLED, error);
	cairn_service_unlock();
	/* What cannot be sampled needs nobody beside it. */
	if (started && cairn_profiler_state(&cairn_agent.profiler) == CAIRN_PROFILER_UNAVAILABLE) {
		cairn_profiler_explain(&cairn_agent.profiler, error->text, sizeof error->text);
		stop();
		return false;
	}
	if (started)
		await_server();
	return started;
}

__attribute__((visibility("default"))) cairn_beside_function cairn_beside_run;

void cairn_beside_run(const struct cairn_beside *beside)
{
	struct cairn_error error = {{0}};
	enum { answer_ms = 50, look_ms = 1000 };
	if (beside->version != CAIRN_BESIDE_VERSION)
		cairn_fail(&error, "libcairn is of another version than the command");
	else if (start(beside, &error))
		error.text[0] = 0;
	beside->ready(beside->context, error.text);
	if (error.text[0])
		return;
	struct pollfd events[] = {{.fd = beside->end, .events = POLLIN}, {.fd = ending, .events = POLLIN}};
	while (poll(events, 2, look_ms) <= 0 && cairn_beside_is_there())
		;
	if (!events[0].revents)
		poll(NULL, 0, answer_ms); /* the answer is on its way */
	stop();
}
