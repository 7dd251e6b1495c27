/* start.c - the server's thread and the life of the agent.
 *
 * A process that samples needs no thread of ours: the thread that allocates writes into the ledger, which `cairn` reads from outside. So a
 * preloaded agent *waits*, with all that it needs prepared, and the process keeps the threads that it has: only one with a single thread
 * may unshare its users, and Chromium starts no page if the process that it forks them from has a second. Its thread starts when somebody
 * asks: the host by cairn.h, or a command from outside (attach.c). It starts at once where the configuration has work for it: to listen,
 * to write dumps, to keep a ledger in a file, to hold a budget.
 *
 * After fork, the child has none of the agent's threads and must have none of its descriptors. The fork handler closes them and starts
 * nothing: the child waits, too. If it is sampled, it gets a ledger of its own with a sampled allocation, the first that comes once the
 * child is a moment old or the eighth before that, so that this never gets in the way of a child that execs or a daemon that closes all
 * descriptors. Where the configuration has work for its agent, that starts then, or when the child calls a function of cairn.h. If
 * profiling is enabled but not active, such a child samples until then, since nothing else would start its agent. A jemalloc without the
 * hook reports no samples: there, the agent starts at the fork. If profiling is not enabled at all, only the agent of the first child
 * starts, since that may be a daemon.
 *
 * jemalloc registered its own handlers before those that start an agent (it had been called by then), so its
 * locks are free again when they run. Those that free our own locks are registered before anything else is done.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/start.h"

#include "agent/cpu/cpu.h"
#include "agent/host/admission.h"
#include "agent/host/attach.h"
#include "agent/host/environment.h"
#include "agent/host/handover.h"
#include "agent/host/inside_ask.h"
#include "agent/host/ledger_left.h"
#include "agent/jemalloc/hook.h"
#include "agent/jemalloc/message.h"
#include "agent/jemalloc/profiler.h"
#include "agent/sampler/inside_blocks.h"
#include "agent/sampler/sample.h"
#include "agent/sampler/sampler.h"
#include "agent/unwind/object.h"
#include "agent/work/thread.h"
#include "base/descriptor.h"
#include "base/pages.h"
#include "base/time.h"
#include "dump/engine_kind.h"
#include "process/clock.h"
#include "process/facts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { fork_pause_ms = 200, live_pause_ms = 20, retry_ms = 1000, early_samples = 8, failures_most = 3 };
enum { body_maximum = 64 << 20, response_maximum = 512 << 20 };

/* Of a forked child. */
static struct {
	int64_t forked_ns;
	atomic_uint samples;  /* that came too early to start its agent */
	atomic_uint failures; /* to start a thread, or to make a ledger */
	bool was_armed;       /* its agent is starting, and is to end that */
	bool has_forked;      /* this process, itself */
	atomic_bool sampled;  /* it has something to hand over at its end */
} child;

struct cairn_agent cairn_agent = {
	.life = PTHREAD_MUTEX_INITIALIZER,
	.profiler.engine = &cairn_engine_jemalloc,
	.end = cairn_attach_end,
};

/* Sleeps the whole time, even if interrupted: when the host changes its user, libc interrupts every thread, whatever signals it blocks. */
static void pause_ms(int milliseconds)
{
	struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
	cairn_thread_look_for_host();
}

/* Whether there is anything to profile with, and whether that is jemalloc's profiler. */
static bool has_profiler(const struct cairn_agent *agent)
{
	return agent->profiler.jemalloc.mallctl || !cairn_profiler_is_jemalloc(&agent->profiler);
}

static bool uses_jemalloc(const struct cairn_agent *agent)
{
	return agent->profiler.jemalloc.mallctl && cairn_profiler_is_jemalloc(&agent->profiler);
}

/* Ends what CAIRN_STAGE_ARMED stands for. */
static void disarm(bool armed)
{
	if (armed)
		cairn_jemalloc_set_bool(&cairn_agent.profiler.jemalloc, "prof.active", false);
}

/* Says to commands from outside that the agent waits. */
static void tell_waiting(bool has_samples)
{
	bool dumps = has_samples && cairn_profiler_is_jemalloc(&cairn_agent.profiler);
	atomic_store(&cairn_attached.state, dumps ? CAIRN_ATTACH_WAITING_JEMALLOC : CAIRN_ATTACH_WAITING);
}

static bool notify_samples(void (*function)(void))
{
	return cairn_profiler_engine(&cairn_agent.profiler)->notify(function);
}

/* Keeps our own few allocations inside libc out of the host's profile. */
static void begin_thread(void)
{
	cairn_locale_use_plain();
	cairn_sample_keep_quiet();
	if (uses_jemalloc(&cairn_agent) && cairn_profiler_state(&cairn_agent.profiler) >= CAIRN_PROFILER_INACTIVE)
		cairn_jemalloc_set_bool(&cairn_agent.profiler.jemalloc, "thread.prof.active", false);
}

/* Opens the process's own socket, if there is anything to report. */
static void listen_locally(struct cairn_agent *agent, struct cairn_server *server)
{
	int listener = has_profiler(agent) ? cairn_listen_local(&agent->listen) : -1;
	if (listener >= 0 && !cairn_server_listen(server, listener, true, NULL))
		cairn_descriptor_close(listener);
}

/* The folder may have changed because the host has changed its user; a port may become free, for instance in a daemon whose parent still
 * holds it. */
static void retry_listening(struct cairn_agent *agent)
{
	struct cairn_server *server = atomic_load(&agent->server);
	if (server && !agent->listen.path[0] && has_profiler(agent)) {
		cairn_listen_folder(&agent->listen, agent->runtime);
		listen_locally(agent, server);
	}
	if (!agent->config.listen[0] || agent->listen.tcp_shown[0])
		return;
	int listener = server ? cairn_listen_tcp(&agent->listen, &agent->config) : -1;
	if (listener >= 0 && !cairn_server_listen(server, listener, false, NULL)) {
		agent->listen.tcp_shown[0] = 0;
		cairn_descriptor_close(listener);
	}
}

/* What is done every second; memory is checked more often if a rule may apply soon. */
static int tick(void *context)
{
	struct cairn_agent *agent = context;
	int next_ms = cairn_monitor_look(agent), host_ms = cairn_thread_look_for_host();
	int64_t now = cairn_clock_ns();
	next_ms = host_ms < next_ms ? host_ms : next_ms;
	if (now < agent->chores_ns)
		return next_ms;
	agent->chores_ns = now + CAIRN_SECOND_NS;
	cairn_code_refresh();
	if (agent->profiler.engine->look)
		agent->profiler.engine->look();
	if (has_profiler(agent))
		cairn_budget_look(&agent->budget, &agent->profiler, (double)agent->config.budget / 1e6);
	retry_listening(agent);
	return next_ms;
}

static struct cairn_server *open_server(struct cairn_agent *agent)
{
	struct cairn_error error;
	struct cairn_server *server = cairn_server_open(&(struct cairn_server_options){
		.connections = (unsigned)agent->config.connections,
		.seconds = (unsigned)agent->config.seconds,
		.body_maximum = body_maximum,
		.response_maximum = response_maximum,
		.quota = &agent->memory.remote,
		.local_quota = &agent->memory.local,
		.admit = cairn_admission_admit,
		.handle = cairn_admission_handle,
		.abandon = cairn_admission_abandon,
		.tick = tick,
		.context = agent,
		.stop = &agent->stop,
	}, &error);
	if (!server)
		return NULL;
	listen_locally(agent, server);
	agent->listen.tcp_shown[0] = 0;
	return server;
}

/* Runs the server until it is stopped or its descriptors are gone. */
static void serve_once(struct cairn_agent *agent)
{
	struct cairn_server *server = open_server(agent);
	if (!server) {
		pause_ms(retry_ms); /* the process has no descriptors left, perhaps not for long */
		return;
	}
	atomic_store(&agent->server, server);
	tick(agent);
	if (!cairn_server_run(server))
		atomic_fetch_add(&agent->counters.restarts, 1);
	while (!cairn_work_is_idle(&agent->work))
		pause_ms(live_pause_ms);
	atomic_store(&agent->server, NULL);
	cairn_listen_remove(&agent->listen);
	cairn_descriptor_close(agent->listen.folder_descriptor);
	agent->listen.folder_descriptor = -1;
	cairn_server_close(server);
}

static void *serve(void *context)
{
	struct cairn_agent *agent = context;
	disarm(child.was_armed);
	child.was_armed = false;
	begin_thread();
	int64_t age_ms = (cairn_clock_ns() - child.forked_ns) / CAIRN_MILLISECOND_NS;
	if (agent->forked && age_ms < fork_pause_ms)
		pause_ms((int)(fork_pause_ms - age_ms));
	if (agent->forked)
		cairn_sampler_resume(&agent->profiler);
	/* A jemalloc with a prefix counts as in use once something was allocated from it. */
	for (int wait = live_pause_ms; uses_jemalloc(agent) && !atomic_load(&agent->stop) &&
	     !cairn_jemalloc_is_live(&agent->profiler.jemalloc); wait = wait < retry_ms ? wait * 2 : retry_ms)
		pause_ms(wait);
	cairn_listen_folder(&agent->listen, agent->runtime);
	cairn_monitor_open(agent);
	while (!atomic_load(&agent->stop))
		serve_once(agent);
	cairn_monitor_close(agent);
	return NULL;
}

/* The parts that do not outlive a fork. */
static void clear_parts(struct cairn_agent *agent)
{
	agent->owner = getpid();
	agent->started_ns = cairn_clock_wall_ns();
	agent->listen = (struct cairn_listen){.folder_descriptor = -1};
	agent->snapshots = (struct cairn_snapshots){.profiler = &agent->profiler, .folder = agent->listen.folder};
	pthread_mutex_init(&agent->snapshots.mutex, NULL);
	memset(&agent->counters, 0, sizeof agent->counters);
	memset(&agent->budget, 0, sizeof agent->budget);
	cairn_admission_open(agent);
	cairn_monitor_clear(&agent->monitor);
	cairn_page_child_clear(&agent->page);
	agent->chores_ns = 0;
	atomic_store(&agent->server, NULL);
	atomic_store(&agent->stop, false);
	atomic_store(&agent->tikv_interval, 0);
	cairn_work_open(&agent->work, begin_thread);
}

static bool start_parts(struct cairn_agent *agent)
{
	clear_parts(agent);
	return cairn_thread_start(&agent->thread, serve, agent, "cairn");
}

/* Starts the agent if it waits, on whichever thread comes first. */
static void start_waiting(void)
{
	enum cairn_stage before;
	uint32_t told = atomic_load(&cairn_attached.state);
	if (!cairn_stage_move(&cairn_agent.stage, CAIRN_STAGE_WAKE, &before))
		return;
	child.was_armed = before == CAIRN_STAGE_ARMED;
	if (start_parts(&cairn_agent)) {
		if (told == CAIRN_ATTACH_WAITING || told == CAIRN_ATTACH_WAITING_JEMALLOC)
			atomic_compare_exchange_strong(&cairn_attached.state, &told, CAIRN_ATTACH_RUNNING);
		notify_samples(NULL);
		cairn_stage_move(&cairn_agent.stage, CAIRN_STAGE_RUN, NULL);
	} else if (atomic_fetch_add(&child.failures, 1) < failures_most) {
		cairn_stage_move(&cairn_agent.stage, CAIRN_STAGE_WAIT, NULL);
		if (child.was_armed)
			cairn_stage_move(&cairn_agent.stage, CAIRN_STAGE_ARM, NULL);
	} else {
		notify_samples(NULL);
		disarm(child.was_armed);
		cairn_stage_move(&cairn_agent.stage, CAIRN_STAGE_GIVE_UP, NULL);
	}
}

/* A command from outside may not be allowed to trace the process, or see none of its threads where it could start ours. */
static void see_wanted(void)
{
	if (cairn_agent.owner == getpid() && cairn_sampler_is_wanted())
		start_waiting();
}

/* Runs on a thread of the host, inside malloc; jemalloc can be called again here. A child of vfork shares our memory but is another
 * process. */
static void see_sample(void)
{
	if (cairn_agent.owner != getpid() || (cairn_clock_ns() - child.forked_ns < fork_pause_ms * CAIRN_MILLISECOND_NS &&
					      atomic_fetch_add(&child.samples, 1) + 1 < early_samples))
		return;
	atomic_store(&child.sampled, true);
	bool resumed = cairn_sampler_resume_early(&cairn_agent.profiler);
	if (cairn_config_has_work(&cairn_agent.config)) {
		start_waiting();
	} else if (resumed || uses_jemalloc(&cairn_agent) || atomic_fetch_add(&child.failures, 1) >= failures_most) {
		notify_samples(resumed ? see_wanted : NULL);
		tell_waiting(true);
	}
}

/* A child may be forked while the agent starts: its threads are not here, whatever they held or had begun. */
static void forget_in_child(void)
{
	cairn_loader_in_child();
	cairn_sampler_in_child(&cairn_agent.profiler);
	pthread_mutex_init(&cairn_agent.life, NULL);
	cairn_stage_move(&cairn_agent.stage, CAIRN_STAGE_FORK, NULL);
	cairn_descriptors_abandon();
	cairn_cpu_forget();
	cairn_code_forget();
	cairn_threads_in_child();
}

static void after_fork_in_child(void)
{
	if (!cairn_stage_waits(atomic_load(&cairn_agent.stage)))
		return;
	bool first = !child.has_forked, has_work = cairn_config_has_work(&cairn_agent.config);
	cairn_agent.forked = true;
	cairn_agent.owner = getpid();
	cairn_agent.listen.path[0] = 0; /* the parent's */
	child.forked_ns = cairn_clock_ns();
	child.has_forked = false;
	atomic_store(&child.samples, 0);
	atomic_store(&child.failures, 0);
	atomic_store(&child.sampled, false);
	enum cairn_profiler_state state = cairn_profiler_state(&cairn_agent.profiler);
	bool tells = state >= CAIRN_PROFILER_INACTIVE && notify_samples(see_sample);
	if (has_work && !tells && (first || (state >= CAIRN_PROFILER_INACTIVE && cairn_profiler_is_jemalloc(&cairn_agent.profiler)))) {
		start_waiting();
		return;
	}
	tell_waiting(false);
	if (has_work && (child.was_armed || (state == CAIRN_PROFILER_INACTIVE && uses_jemalloc(&cairn_agent) &&
					     cairn_jemalloc_set_bool(&cairn_agent.profiler.jemalloc, "prof.active", true) == 0)))
		cairn_stage_move(&cairn_agent.stage, CAIRN_STAGE_ARM, NULL);
}

static void after_fork_in_parent(void)
{
	child.has_forked = true;
	cairn_loader_after_fork();
}

/* Before anything is locked. These handlers call nothing of jemalloc's, whose own may be registered after them. Two threads may both do it:
 * then they are called twice, which does no harm. */
static bool register_early(void)
{
	static atomic_bool registered;
	if (!atomic_load(&registered))
		atomic_store(&registered, pthread_atfork(cairn_loader_before_fork, cairn_loader_after_fork, forget_in_child) == 0);
	return atomic_load(&registered);
}

/* After jemalloc was called. Before a fork, these come first: whoever reads the loader's list may be calling jemalloc, whose handler locks
 * all of it. */
static bool register_late(void)
{
	static bool registered;
	if (!registered)
		registered = pthread_atfork(cairn_loader_before_fork, after_fork_in_parent, after_fork_in_child) == 0;
	return registered;
}

void cairn_service_lock(void)
{
	register_early();
	pthread_mutex_lock(&cairn_agent.life);
}

void cairn_service_unlock(void)
{
	pthread_mutex_unlock(&cairn_agent.life);
}

__attribute__((destructor)) static void at_exit(void)
{
	enum cairn_stage stage = atomic_load(&cairn_agent.stage);
	bool waits = cairn_stage_waits(stage) && (!cairn_agent.forked || atomic_load(&child.sampled));
	if ((stage != CAIRN_STAGE_RUNNING && !waits) || cairn_agent.owner != getpid())
		return;
	if (cairn_agent.forked && waits)
		clear_parts(&cairn_agent);
	cairn_handover_at_exit(&cairn_agent);
	cairn_listen_remove(&cairn_agent.listen);
}

static void read_config(struct cairn_config *config)
{
	const char *path = secure_getenv("CAIRN_CONFIG"), *text = secure_getenv("CAIRN_CONF"),
		   *folder = secure_getenv("RW_HEAP_PROFILING_DIR");
	const char *tool = secure_getenv("CAIRN_TOOL"), *limit = secure_getenv("RW_TOTAL_MEMORY_BYTES");
	if (path && path[0]) {
		struct cairn_buffer file = cairn_pages(1 << 20);
		bool whole = cairn_facts_read(path, &file) && !file.failed;
		if (whole)
			cairn_config_file(config, cairn_buffer_bytes(&file));
		else
			snprintf(config->problems, sizeof config->problems, "CAIRN_CONFIG: %.200s: %s", path,
				 file.failed ? "longer than 1 MiB" : cairn_errno_text(errno));
		config->token_unusable |= !whole; /* there may be one in it */
		cairn_buffer_free(&file);
	}
	if (folder && folder[0])
		cairn_config_set_foreign(config, "server.heap_profiling.dir", cairn_bytes_of(folder), CAIRN_CONFIG_ENVIRONMENT);
	if (limit && limit[0])
		cairn_config_set(config, "limit", cairn_bytes_of(limit), CAIRN_CONFIG_ENVIRONMENT);
	if (text)
		cairn_config_environment(config, cairn_bytes_of(text));
	if (tool && tool[0])
		cairn_config_set(config, "tool", cairn_bytes_of(tool), CAIRN_CONFIG_ENVIRONMENT);
}

/* MALLOC_CONF configures the engine that profiles the service. It is ignored if Cairn's engine does not see the service's memory. */
static void take_malloc_conf(struct cairn_agent *agent)
{
	struct cairn_error unseen;
	const char *text = secure_getenv("MALLOC_CONF");
	if (text && !cairn_sampler_warn(&agent->profiler, unseen.text, sizeof unseen.text))
		cairn_config_malloc_conf(&agent->config, cairn_bytes_of(text));
}

/* jemalloc's own profiler if the host was started with it, otherwise Cairn's sampler. */
static void choose_engine(struct cairn_agent *agent, enum cairn_service_reason reason)
{
	const struct cairn_config *config = &agent->config;
	agent->profiler.engine = agent->beside ? agent->beside : &cairn_engine_jemalloc;
	if (agent->beside)
		return;
	if (config->engine == CAIRN_ENGINE_CAIRN ||
	    (config->engine == CAIRN_ENGINE_AUTO && cairn_profiler_state(&agent->profiler) < CAIRN_PROFILER_INACTIVE))
		agent->profiler.engine = &cairn_engine_sampler;
	cairn_inside_open();
	if (reason == CAIRN_SERVICE_PRELOADED && !cairn_profiler_is_jemalloc(&agent->profiler)) {
		cairn_inside_ask_for(agent->report, &agent->profiler.jemalloc);
		cairn_inside_ask_later(agent->report);
	}
	if (!cairn_profiler_is_jemalloc(&agent->profiler))
		take_malloc_conf(agent);
	cairn_sampler_configure(config->ledger_bytes, config->period, (unsigned)config->depth);
	cairn_ledger_left_configure(agent);
}

/* Switches sampling on or off as configured, and records since when it is on. */
static void settle_profiler(struct cairn_agent *agent)
{
	struct cairn_facts facts;
	enum cairn_profiler_state state = cairn_profiler_state(&agent->profiler);
	if (state == CAIRN_PROFILER_ACTIVE && agent->config.activate != CAIRN_CONFIG_OFF) {
		cairn_facts_get(&facts);
		if (facts.start_ns)
			atomic_store(&agent->profiler.active_since, facts.start_ns);
	} else if (state >= CAIRN_PROFILER_INACTIVE && agent->config.activate != CAIRN_CONFIG_UNSET) {
		cairn_profiler_activate(&agent->profiler, agent->config.activate == CAIRN_CONFIG_ON, NULL);
	}
	if (!cairn_profiler_is_jemalloc(&agent->profiler))
		return;
	if (state >= CAIRN_PROFILER_INACTIVE)
		cairn_message_filter(&agent->profiler.jemalloc);
	if (agent->config.unwinder != CAIRN_UNWINDER_CAIRN)
		cairn_fail(&agent->unwinder_problem, "the configuration says unwinder:jemalloc");
	else if (state < CAIRN_PROFILER_INACTIVE)
		cairn_profiler_explain(&agent->profiler, agent->unwinder_problem.text, sizeof agent->unwinder_problem.text);
	else
		cairn_hook_install(&agent->profiler.jemalloc, (unsigned)agent->config.depth, &agent->unwinder_problem);
}

/* Everything that comes before the first thread of the agent. */
static bool prepare(struct cairn_agent *agent, const struct cairn_config *config, enum cairn_service_reason reason,
		    struct cairn_error *error)
{
	bool only_live = reason != CAIRN_SERVICE_CALLED;
	agent->config = *config;
	locale_t before = cairn_locale_use_plain();
	read_config(&agent->config);
	uselocale(before);
	snprintf(agent->report, sizeof agent->report, "%s", secure_getenv("CAIRN_REPORT") ? secure_getenv("CAIRN_REPORT") : "");
	if (!only_live && agent->config.listen[0] && agent->config.token_unusable)
		return cairn_fail(error, "the agent does not start: its token is invalid, so %.100s would be open to everybody: %.300s",
				  agent->config.listen, agent->config.problems);
	if (!register_early())
		return cairn_fail(error, "cannot register for fork");
	if (!agent->profiler.jemalloc.mallctl && !agent->beside)
		cairn_jemalloc_find(&agent->profiler.jemalloc, &agent->profiler.missing);
	choose_engine(agent, reason);
	if (only_live && !has_profiler(agent)) {
		*error = agent->profiler.missing;
		return false;
	}
	settle_profiler(agent);
	if (!agent->environment) /* left by an agent that has ended */
		agent->environment = cairn_environment_copy(environ);
	cairn_environment_find_tool(agent->config.tool, secure_getenv("PATH"), agent->tool, sizeof agent->tool);
	snprintf(agent->runtime, sizeof agent->runtime, "%s", secure_getenv("XDG_RUNTIME_DIR") ? secure_getenv("XDG_RUNTIME_DIR") : "");
	time_t now = time(NULL);
	struct tm local;
	cairn_loader_enter();
	agent->utc_offset = localtime_r(&now, &local) ? (int)local.tm_gmtoff : 0;
	cairn_loader_leave();
	agent->forked = false;
	return register_late() || cairn_fail(error, "cannot register for fork");
}

/* Until no other thread is starting the agent: that of its first sample, for instance. */
static enum cairn_stage await_change(void)
{
	enum cairn_stage stage = atomic_load(&cairn_agent.stage);
	for (int waits = 0; waits < 1000 && cairn_stage_changes(stage); waits++) {
		poll(NULL, 0, 1);
		stage = atomic_load(&cairn_agent.stage);
	}
	return stage;
}

bool cairn_service_start(const struct cairn_config *config, enum cairn_service_reason reason, struct cairn_error *error)
{
	struct cairn_agent *agent = &cairn_agent;
	if (getauxval(AT_SECURE))
		return cairn_fail(error, "the agent does not start in a privileged process (setuid, setgid or capabilities)");
	start_waiting();
	if (await_change() == CAIRN_STAGE_RUNNING)
		return true;
	if (!cairn_stage_move(&agent->stage, CAIRN_STAGE_PREPARE, NULL))
		return cairn_fail_errno(error, "cannot start the agent's thread");
	if (!prepare(agent, config, reason, error)) {
		cairn_stage_move(&agent->stage, CAIRN_STAGE_GIVE_UP, NULL);
		return false;
	}
	if (reason == CAIRN_SERVICE_PRELOADED && !cairn_config_has_work(&agent->config)) {
		clear_parts(agent);
		tell_waiting(cairn_profiler_state(&agent->profiler) == CAIRN_PROFILER_ACTIVE);
		if (!cairn_profiler_is_jemalloc(&agent->profiler))
			notify_samples(see_wanted);
		return cairn_stage_move(&agent->stage, CAIRN_STAGE_WAIT, NULL);
	}
	cairn_stage_move(&agent->stage, CAIRN_STAGE_START, NULL);
	bool started = start_parts(agent);
	cairn_stage_move(&agent->stage, started ? CAIRN_STAGE_RUN : CAIRN_STAGE_GIVE_UP, NULL);
	return started || cairn_fail_errno(error, "cannot start the agent's thread");
}

bool cairn_service_is_running(void)
{
	if (cairn_stage_waits(atomic_load(&cairn_agent.stage))) {
		cairn_service_lock();
		start_waiting();
		cairn_service_unlock();
	}
	return atomic_load(&cairn_agent.stage) == CAIRN_STAGE_RUNNING;
}

void cairn_service_stop(void)
{
	struct cairn_agent *agent = &cairn_agent;
	enum cairn_stage before;
	await_change();
	if (!cairn_stage_move(&agent->stage, CAIRN_STAGE_STOP, &before))
		return;
	if (cairn_stage_waits(before)) {
		notify_samples(NULL);
		disarm(before == CAIRN_STAGE_ARMED);
	} else {
		atomic_store(&agent->stop, true);
		cairn_work_stop(&agent->work);
		cairn_page_child_join(&agent->page);
		pthread_join(agent->thread, NULL);
	}
	if (uses_jemalloc(agent))
		cairn_hook_remove(&agent->profiler.jemalloc);
	cairn_sampler_stop();
}
