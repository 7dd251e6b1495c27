/* sampler.c - switching the sampler on and off, and keeping it current.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/sampler.h"

#include "agent/jemalloc/profiler.h"
#include "agent/sampler/heap.h"
#include "agent/sampler/history.h"
#include "agent/sampler/hooks.h"
#include "agent/sampler/inside_blocks.h"
#include "agent/sampler/mapping.h"
#include "agent/sampler/modules.h"
#include "agent/sampler/own_dump.h"
#include "agent/sampler/sample.h"
#include "agent/sampler/statistics.h"
#include "agent/unwind/object.h"
#include "base/descriptor.h"
#include "base/pages.h"
#include "dump/ledger_heap.h"
#include "dump/ledger_ranges.h"
#include "process/clock.h"
#include "process/context.h"
#include "process/facts.h"
#include "process/smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { dump_maximum = 1 << 30, look_most_s = 32 };

static struct {
	pthread_mutex_t mutex; /* threads of the agent wait for each other here, none of the host's ever does */
	size_t ledger_bytes; /* this, period and depth are set by cairn_sampler_configure */
	uint64_t period;
	unsigned depth;
	const struct cairn_record_file *file; /* NULL for a ledger in memory */
	struct cairn_error file_problem;
	struct cairn_error problem; /* why this host cannot be sampled; empty when it can, or it was not tried yet */
	char warning[sizeof((struct cairn_ledger_header *)NULL)->warning]; /* what of the service's memory is not seen */
	bool tried, patched, was_active;
	struct cairn_patch_counts counts;
	uint64_t loaded;           /* objects, by the loader's count, when relocations were last walked */
	unsigned pause_s, waited_s; /* before they are walked again without such a reason */
	const struct cairn_sampler_asker *asker; /* NULL for none */
	bool has_sign; /* of an object that was loaded: it is to be asked for */
} sampler = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void cairn_sampler_configure(size_t ledger_bytes, uint64_t period, unsigned depth)
{
	sampler.ledger_bytes = ledger_bytes;
	sampler.period = period;
	sampler.depth = depth;
}

void cairn_sampler_ask_with(const struct cairn_sampler_asker *asker)
{
	sampler.asker = asker;
}

void cairn_sampler_keep_in(const struct cairn_record_file *file)
{
	sampler.file = file;
}

/* Tries once whether this host can be sampled at all. */
static bool is_possible(void)
{
	if (!sampler.tried) {
		sampler.problem.text[0] = 0;
		cairn_patch_prepare(&sampler.problem);
		sampler.tried = true;
	}
	return sampler.problem.text[0] == 0;
}

static enum cairn_profiler_state get_state(struct cairn_profiler *profiler)
{
	(void)profiler;
	if (!is_possible())
		return CAIRN_PROFILER_UNAVAILABLE;
	return atomic_load(&cairn_sampling.active) && cairn_sample_is_ours() ? CAIRN_PROFILER_ACTIVE : CAIRN_PROFILER_INACTIVE;
}

static void explain(struct cairn_profiler *profiler, char *out, size_t size)
{
	(void)profiler;
	snprintf(out, size, "%s", is_possible() ? "" : sampler.problem.text);
}

/* A word that is 1 here and 0 in every child that has a copy of it. */
static void make_guard(void)
{
	if (cairn_sampling.guard)
		return;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return;
	if (madvise(page, 4096, MADV_WIPEONFORK) == 0)
		cairn_sampling.guard = page;
	else
		munmap(page, 4096);
}

/* And what is known of the process only once it has begun: the name of its service. */
static void list_modules(void)
{
	char service[CAIRN_CONTEXT_NAME];
	struct cairn_ledger_header *header = cairn_sampling.record.header;
	cairn_modules_list(&cairn_sampling.record);
	if (cairn_context_service(header->pid, service))
		snprintf(header->service, sizeof header->service, "%s", service);
}

static void walk_relocations(void)
{
	uint64_t loaded = cairn_patch_loaded();
	struct cairn_patch_counts counts;
	if (!cairn_patch_apply(true, &counts))
		return;
	sampler.counts = counts;
	sampler.loaded = loaded;
	sampler.waited_s = 0;
}

static void see_object(const struct cairn_object *object)
{
	cairn_modules_add(&cairn_sampling.record, object);
	sampler.has_sign |= sampler.asker && sampler.asker->has_sign(object);
}

/* The host has loaded something and is about to use it, perhaps in a fork handler. Where the agent has no thread, nobody else would see to
 * it. */
static bool notice_loaded(void)
{
	if (!sampler.patched || !cairn_sample_is_ours())
		return true;
	if (pthread_mutex_trylock(&sampler.mutex) != 0)
		return false;
	bool seen = cairn_patch_try(see_object), done = seen && cairn_code_try_refresh(), asks = seen && sampler.has_sign;
	sampler.has_sign &= !asks;
	pthread_mutex_unlock(&sampler.mutex);
	if (asks)
		sampler.asker->ask();
	return done;
}

static bool open_ledger(struct cairn_error *error)
{
	struct cairn_record record;
	if (cairn_sample_is_ours())
		return true;
	if (sampler.file && !cairn_record_open_file(&record, sampler.ledger_bytes, sampler.file, &sampler.file_problem))
		sampler.file = NULL; /* what is there stays for somebody to look at */
	if (!sampler.file && !cairn_record_open(&record, sampler.ledger_bytes, error))
		return false;
	cairn_filter_open(record.sample_mask + 1);
	record.forget = cairn_filter_remove;
	make_guard();
	uint64_t period = atomic_load(&cairn_sampling.period) ? atomic_load(&cairn_sampling.period) : sampler.period;
	cairn_sampling.record = record;
	cairn_smaps_set_ledger((uintptr_t)record.header);
	atomic_store(&cairn_sampling.process, getpid());
	atomic_store(&cairn_sampling.depth, sampler.depth);
	atomic_store(&cairn_sampling.sweep, 0);
	atomic_store(&cairn_sampling.sweep_end, 0);
	atomic_store(&record.header->period, period);
	atomic_store(&record.header->first_period, period);
	atomic_fetch_add(&cairn_sampling.generation, 1);
	atomic_store(&cairn_sampling.period, period);
	if (cairn_sampling.guard)
		atomic_store(cairn_sampling.guard, 1);
	atomic_store(&cairn_sampling.open, true);
	cairn_heap_names(record.header); /* after that: a name that comes meanwhile is put there by this thread or by its own */
	return true;
}

static void clear_locked(void)
{
	cairn_record_clear(&cairn_sampling.record, cairn_filter_remove);
	if (!sampler.patched) /* otherwise the ranges are still there, or were seen to go */
		cairn_mapping_clear(&cairn_sampling.record);
	atomic_store(&cairn_sampling.sweep_end, atomic_load(&cairn_sampling.sweep));
	atomic_store(&cairn_sampling.record.header->reset_ns, cairn_clock_wall_ns());
}

static void set_active(bool active)
{
	struct cairn_ledger_header *header = cairn_sampling.record.header;
	bool before = atomic_exchange(&cairn_sampling.active, active);
	atomic_store(&header->active, active);
	if (before != active)
		atomic_store(&header->active_ns, active ? cairn_clock_wall_ns() : 0);
}

static bool switch_on(struct cairn_error *error)
{
	bool is_old = cairn_sample_is_ours();
	if (!is_possible())
		return cairn_fail(error, "%s", sampler.problem.text);
	if (!open_ledger(error))
		return false;
	if (!sampler.patched && is_old) /* what was freed since the relocations were put back was not seen */
		clear_locked();
	atomic_store(&cairn_sampling.record.header->stopped, 0);
	set_active(true);
	if (sampler.patched)
		return true;
	cairn_hook_loaded = notice_loaded;
	if (!cairn_code_is_live())
		cairn_code_refresh();
	sampler.patched = true;
	sampler.pause_s = 1;
	walk_relocations();
	return true;
}

static bool switch_off(struct cairn_error *error)
{
	if (!is_possible())
		return cairn_fail(error, "%s", sampler.problem.text);
	if (cairn_sample_is_ours())
		set_active(false);
	else /* it was never on, or not yet in this child */
		sampler.was_active = false;
	return true;
}

/* As the ledger has them: that of a forked child is its own. It gets what there was before. */
static void tell_times(struct cairn_profiler *profiler)
{
	struct cairn_ledger_header *header = cairn_sample_is_ours() ? cairn_sampling.record.header : NULL;
	atomic_store(&profiler->active_since, header && atomic_load(&cairn_sampling.active) ? atomic_load(&header->active_ns) : 0);
	atomic_store(&profiler->reset_at, header ? atomic_load(&header->reset_ns) : 0);
	if (header)
		atomic_store(&header->before_bytes, atomic_load(&profiler->before_bytes));
}

/* What the ledger says of the host's memory. */
static void describe_host(void)
{
	struct cairn_ledger_header *header = cairn_sampling.record.header;
	snprintf(header->allocator, sizeof header->allocator, "%s", cairn_patch_allocator());
	memcpy(header->warning, sampler.warning, sizeof header->warning);
}

static bool activate(struct cairn_profiler *profiler, bool active, struct cairn_error *error)
{
	pthread_mutex_lock(&sampler.mutex);
	bool done = active ? switch_on(error) : switch_off(error);
	if (done && active) {
		list_modules();
		cairn_sampler_warn(profiler, sampler.warning, sizeof sampler.warning);
		describe_host();
	}
	tell_times(profiler);
	pthread_mutex_unlock(&sampler.mutex);
	return done;
}

static void restore(void)
{
	if (sampler.patched && cairn_patch_apply(false, &sampler.counts))
		sampler.patched = false;
}

static void set_period_locked(uint64_t period)
{
	sampler.period = period;
	atomic_store(&cairn_sampling.period, period);
	if (cairn_sample_is_ours())
		atomic_store(&cairn_sampling.record.header->period, period);
}

/* Samples keep the period they were drawn with, so that nothing has to be thrown away. */
static bool set_period(struct cairn_profiler *profiler, uint64_t period)
{
	(void)profiler;
	pthread_mutex_lock(&sampler.mutex);
	set_period_locked(period);
	pthread_mutex_unlock(&sampler.mutex);
	return true;
}

static bool reset(struct cairn_profiler *profiler, uint64_t period, struct cairn_error *error)
{
	if (!is_possible())
		return cairn_fail(error, "%s", sampler.problem.text);
	pthread_mutex_lock(&sampler.mutex);
	if (period)
		set_period_locked(period);
	if (cairn_sample_is_ours()) {
		struct cairn_ledger_header *header = cairn_sampling.record.header;
		if (!atomic_load(&cairn_sampling.active))
			restore();
		clear_locked();
		if (period)
			atomic_store(&header->first_period, period);
	}
	atomic_store(&profiler->reset_at, cairn_clock_wall_ns());
	pthread_mutex_unlock(&sampler.mutex);
	return true;
}

static uint64_t get_period(struct cairn_profiler *profiler)
{
	(void)profiler;
	uint64_t period = atomic_load(&cairn_sampling.period);
	return period ? period : sampler.period;
}

/* Dumps. */

static bool dump(struct cairn_profiler *profiler, const char *path, int descriptor, struct cairn_error *error)
{
	(void)path;
	if (!is_possible())
		return cairn_fail(error, "%s", sampler.problem.text);
	struct cairn_buffer out = cairn_pages(dump_maximum);
	bool good = cairn_own_dump_make(&profiler->jemalloc, &out, error);
	struct cairn_bytes rest = cairn_buffer_bytes(&out);
	if (good && !cairn_descriptor_write_all(descriptor, &rest))
		good = cairn_fail_errno(error, "cannot write the snapshot");
	cairn_buffer_free(&out);
	return good;
}

bool cairn_sampler_renew(void)
{
	pthread_mutex_lock(&sampler.mutex);
	bool renewed = !sampler.patched || cairn_patch_renew(&sampler.counts);
	pthread_mutex_unlock(&sampler.mutex);
	return renewed;
}

bool cairn_sampler_try_renew(void)
{
	if (pthread_mutex_trylock(&sampler.mutex) != 0)
		return false;
	bool renewed = !sampler.patched || cairn_patch_try_renew();
	pthread_mutex_unlock(&sampler.mutex);
	return renewed;
}

bool cairn_sampler_warn(struct cairn_profiler *profiler, char *out, size_t size)
{
	const struct cairn_jemalloc *jemalloc = &profiler->jemalloc;
	bool possible = is_possible(); /* which finds the allocator */
	struct cairn_error unseen = {.usage = false}, other = {.usage = false};
	if (possible && !cairn_patch_sees_malloc())
		cairn_fail(&unseen, "malloc is part of the program itself, where Cairn's engine does not see it");
	else if (jemalloc->mallctl && !jemalloc->is_malloc && !cairn_inside_has((uintptr_t)jemalloc->mallctl))
		cairn_fail(&unseen, jemalloc->prefix[0] ? "memory allocated through %smalloc is not seen"
							: "memory of the jemalloc that the service passed on is not seen%s", jemalloc->prefix);
	/* A jemalloc that can profile needs to be started with it; one that cannot is not worth a word. */
	if (unseen.text[0] && jemalloc->mallctl && cairn_engine_jemalloc.state(profiler) != CAIRN_PROFILER_NOT_BUILT)
		cairn_engine_jemalloc.explain(profiler, other.text, sizeof other.text);
	if (unseen.text[0])
		snprintf(out, size, "%s: 'cairn attach PID' has it counted%s%.400s", unseen.text, other.text[0] ? "; or " : "", other.text);
	else
		out[0] = 0;
	return out[0] != 0;
}

static void write_trailer(struct cairn_profiler *profiler, struct cairn_buffer *out)
{
	struct cairn_ledger ledger;
	struct cairn_error text;
	const char *allocator = cairn_patch_allocator();
	cairn_trailer_write_text(out, "allocator", allocator[0] ? allocator : "-");
	if (cairn_inside_describe(text.text, sizeof text.text))
		cairn_trailer_write_text(out, "inside", text.text);
	if (cairn_sampler_warn(profiler, text.text, sizeof text.text))
		cairn_trailer_write_text(out, "warning", text.text);
	if (cairn_sample_is_ours() && cairn_own_ledger_open(&ledger, NULL))
		cairn_ledger_write_counts(&ledger, out);
	else
		cairn_trailer_write_number(out, "period", get_period(profiler));
}

static struct cairn_smaps_range *list_mapped(size_t *count, size_t *size)
{
	struct cairn_ledger ledger;
	*count = 0;
	return cairn_sample_is_ours() && cairn_own_ledger_open(&ledger, NULL) ? cairn_ledger_ranges(&ledger, count, size) : NULL;
}

static void count(struct cairn_engine_counts *counts)
{
	cairn_engine_count(&cairn_sampling.tally, counts);
	counts->installed = true;
}

static bool is_time_to_walk(void)
{
	if (cairn_patch_loaded() != sampler.loaded) {
		sampler.pause_s = 1;
		return true;
	}
	if (++sampler.waited_s < sampler.pause_s)
		return false;
	sampler.pause_s = sampler.pause_s < look_most_s ? sampler.pause_s * 2 : look_most_s;
	return true;
}

static void look(void)
{
	if (pthread_mutex_trylock(&sampler.mutex) != 0)
		return;
	if (sampler.patched && cairn_sample_is_ours()) {
		if (is_time_to_walk()) {
			walk_relocations();
			list_modules();
		}
		cairn_record_sweep_threads(&cairn_sampling.record, cairn_clock_ns());
		cairn_history_look(&cairn_sampling.record, cairn_clock_ns());
	}
	pthread_mutex_unlock(&sampler.mutex);
}

void cairn_sampler_in_child(struct cairn_profiler *profiler)
{
	pthread_mutex_init(&sampler.mutex, NULL);
	cairn_patch_in_child();
	cairn_history_in_child();
	cairn_sample_in_child();
	cairn_heap_in_child();
	/* A child that has no ledger yet passes on that its parent was sampled: a daemon forks twice, and a master forks at once. */
	sampler.was_active = atomic_load(&cairn_sampling.active) || (sampler.was_active && !atomic_load(&cairn_sampling.open));
	atomic_store(&cairn_sampling.open, false);
	atomic_store(&cairn_sampling.active, false);
	cairn_sampling.record = (struct cairn_record){.descriptor = -1};
	cairn_smaps_set_ledger(0);
	sampler.file = NULL;
	if (profiler->engine != &cairn_engine_sampler) /* jemalloc's samples are passed on with the heap */
		return;
	atomic_store(&profiler->before_bytes, 0);
	tell_times(profiler);
}

static void resume_locked(struct cairn_profiler *profiler)
{
	if (!sampler.was_active || cairn_sample_is_ours())
		return;
	cairn_filter_clear(); /* before the first sample of this process */
	cairn_profiler_note_before(profiler);
	if (switch_on(&(struct cairn_error){{0}})) {
		describe_host();
		cairn_modules_copy(&cairn_sampling.record);
		atomic_store(&cairn_sampling.record.header->inherited, 1);
	}
	tell_times(profiler);
}

bool cairn_sampler_resume_early(struct cairn_profiler *profiler)
{
	if (pthread_mutex_trylock(&sampler.mutex) != 0)
		return false;
	resume_locked(profiler);
	pthread_mutex_unlock(&sampler.mutex);
	return cairn_sample_is_ours();
}

void cairn_sampler_resume(struct cairn_profiler *profiler)
{
	pthread_mutex_lock(&sampler.mutex);
	resume_locked(profiler);
	if (cairn_sample_is_ours())
		list_modules();
	pthread_mutex_unlock(&sampler.mutex);
}

void cairn_sampler_stop(void)
{
	pthread_mutex_lock(&sampler.mutex);
	atomic_store(&cairn_sampling.active, false);
	if (cairn_sample_is_ours())
		atomic_store(&cairn_sampling.record.header->stopped, 1);
	restore();
	cairn_history_close();
	pthread_mutex_unlock(&sampler.mutex);
}

bool cairn_sampler_is_restored(void)
{
	pthread_mutex_lock(&sampler.mutex);
	bool restored = !sampler.patched;
	pthread_mutex_unlock(&sampler.mutex);
	return restored;
}

bool cairn_sampler_is_wanted(void)
{
	return cairn_sample_is_ours() && atomic_load(&cairn_sampling.record.header->wanted);
}

int cairn_sampler_ledger(void)
{
	return cairn_sample_is_ours() ? cairn_sampling.record.descriptor : -1;
}

void cairn_sampler_get_status(struct cairn_sampler_status *status)
{
	*status = (struct cairn_sampler_status){
		.patch = sampler.counts,
		.allocator = cairn_patch_allocator(),
		.allocator_is_program = cairn_patch_allocator_is_program(),
		.file = "",
		.file_problem = sampler.file_problem.text,
		.descriptor = -1,
	};
	cairn_inside_describe(status->inside, sizeof status->inside);
	pthread_mutex_lock(&sampler.mutex);
	if (cairn_sample_is_ours()) {
		status->open = cairn_own_ledger_open(&status->ledger, NULL);
		status->descriptor = cairn_sampling.record.descriptor;
		status->file = sampler.file ? sampler.file->path : "";
	}
	pthread_mutex_unlock(&sampler.mutex);
}

static uint64_t live_samples(struct cairn_profiler *profiler)
{
	(void)profiler;
	return cairn_sample_is_ours() ? atomic_load(&cairn_sampling.record.header->live) : 0;
}

static uint64_t allocated(struct cairn_profiler *profiler)
{
	(void)profiler;
	return cairn_sample_is_ours() ? atomic_load(&cairn_sampling.record.header->allocated_bytes) : 0;
}

static uint64_t highest(void)
{
	return cairn_sample_is_ours() ? atomic_load(&cairn_sampling.record.header->highest_bytes) : 0;
}

/* In a forked child, which has no ledger yet: the hooks still count. */
static bool notify(void (*function)(void))
{
	atomic_store(&cairn_sampling.notify, function);
	return sampler.patched && sampler.was_active;
}

/* Dumps at new highs are written by the agent's monitor, within the limits of its folder. */
static atomic_bool gdump_active;

static bool set_gdump(struct cairn_profiler *profiler, bool active, struct cairn_error *error)
{
	(void)profiler;
	if (!is_possible())
		return cairn_fail(error, "%s", sampler.problem.text);
	atomic_store(&gdump_active, active);
	return true;
}

static bool get_gdump(struct cairn_profiler *profiler)
{
	(void)profiler;
	return atomic_load(&gdump_active);
}

const struct cairn_engine cairn_engine_sampler = {
	.kind = CAIRN_ENGINE_CAIRN,
	.state = get_state,
	.explain = explain,
	.activate = activate,
	.gdump = set_gdump,
	.gdump_is_active = get_gdump,
	.reset = reset,
	.set_period = set_period,
	.period = get_period,
	.dump = dump,
	.write_trailer = write_trailer,
	.list_mapped = list_mapped,
	.write_statistics = cairn_statistics_write,
	.allocated = allocated,
	.live_samples = live_samples,
	.notify = notify,
	.count = count,
	.look = look,
	.highest = highest,
	.get_status = cairn_sampler_get_status,
	.warn = cairn_sampler_warn,
};
