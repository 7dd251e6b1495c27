/* attach.c - starting in a process that runs already, and leaving it again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/attach.h"

#include "agent/host/start.h"
#include "agent/sampler/sample.h"
#include "agent/sampler/sampler.h"
#include "agent/work/thread.h"
#include "base/time.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { answer_pause_ms = 50 };

__attribute__((visibility("default"))) struct cairn_attach cairn_attached = {.version = CAIRN_ATTACH_VERSION};

static void fail(const char *text)
{
	snprintf(cairn_attached.problem, sizeof cairn_attached.problem, "%.500s", text);
	atomic_store(&cairn_attached.state, CAIRN_ATTACH_FAILED);
}

void cairn_attach_close_library(void)
{
	if (cairn_attached.descriptor > 0)
		close(cairn_attached.descriptor - 1);
	cairn_attached.descriptor = 0;
}

static void *begin(void *context)
{
	struct cairn_config config;
	struct cairn_error error = {0};
	(void)context;
	cairn_sample_keep_quiet();
	cairn_attach_close_library();
	cairn_config_default(&config);
	cairn_attached.config[sizeof cairn_attached.config - 1] = 0;
	cairn_config_environment(&config, cairn_bytes_of(cairn_attached.config));
	bool is_given = cairn_attached.config[0] != 0;
	memset(cairn_attached.config, 0, sizeof cairn_attached.config); /* there may be a token in it */
	cairn_service_lock();
	/* Samples of a time before `cairn detach` are worth nothing: what was freed since was not seen. */
	if (is_given && atomic_load(&cairn_agent.stage) == CAIRN_STAGE_OFF && cairn_sample_is_ours())
		cairn_engine_sampler.reset(&cairn_agent.profiler, config.period, &error);
	bool started = cairn_service_start(&config, CAIRN_SERVICE_ATTACHED, &error);
	cairn_service_unlock();
	if (started)
		atomic_store(&cairn_attached.state, CAIRN_ATTACH_RUNNING);
	else
		fail(error.text);
	return NULL;
}

__attribute__((visibility("default"))) long cairn_attach_start(void)
{
	pthread_t thread;
	uint32_t wanted = CAIRN_ATTACH_WANTED;
	if (!atomic_compare_exchange_strong(&cairn_attached.state, &wanted, CAIRN_ATTACH_STARTING))
		return wanted == CAIRN_ATTACH_STARTING || wanted == CAIRN_ATTACH_RUNNING;
	if (!cairn_thread_start(&thread, begin, NULL, "cairn")) {
		fail("no thread can be started in the process");
		return 0;
	}
	pthread_detach(thread);
	return 1;
}

/* Relocations can be in use by a thread of the host that has just loaded something; then they are walked again. */
static void *end(void *context)
{
	(void)context;
	cairn_sample_keep_quiet();
	nanosleep(&(struct timespec){0, answer_pause_ms * 1000000L}, NULL); /* the answer is on its way */
	cairn_service_lock();
	/* Before the socket is gone: a command that sees it gone may attach again at once, and that is not to be undone here. */
	atomic_store(&cairn_attached.state, CAIRN_ATTACH_DETACHED);
	cairn_service_stop();
	for (int i = 0; i < 100 && !cairn_sampler_is_restored(); i++) {
		nanosleep(&(struct timespec){.tv_nsec = 10 * CAIRN_MILLISECOND_NS}, NULL);
		cairn_sampler_stop();
	}
	cairn_service_unlock();
	return NULL;
}

bool cairn_attach_end(struct cairn_error *error)
{
	pthread_t thread;
	if (!cairn_thread_start(&thread, end, NULL, "cairn"))
		return cairn_fail(error, "no thread can be started in the process");
	pthread_detach(thread);
	return true;
}
