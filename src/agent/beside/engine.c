/* engine.c - the ledger and the core of another process, from outside.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/beside/engine.h"

#include "agent/beside/modules.h"
#include "agent/sampler/history.h"
#include "agent/sampler/sample.h"
#include "agent/sampler/sampler.h"
#include "base/descriptor.h"
#include "base/pages.h"
#include "dump/ledger_heap.h"
#include "process/clock.h"
#include "process/context.h"
#include "process/facts.h"
#include "process/proc.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { dump_maximum = 1 << 30, resident_pages_most = 1 << 20, list_most_s = 32 };

static struct {
	pthread_mutex_t mutex;
	struct cairn_beside given;
	struct cairn_record record; /* as it is seen from here */
	bool is_counted;            /* calls lead to the core */
	struct cairn_beside_counts counts;
	atomic_bool active, gdump;
	_Atomic uint64_t period;
	struct cairn_error problem; /* why they cannot */
	unsigned pause_s, waited_s; /* before modules are listed again */
} beside = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The core's memory. */

static bool peek(uint64_t address, void *out, size_t size)
{
	return pread(beside.given.memory, out, size, (off_t)address) == (ssize_t)size;
}

static bool poke(uint64_t address, const void *from, size_t size)
{
	return pwrite(beside.given.memory, from, size, (off_t)address) == (ssize_t)size;
}

#define AT(member) (beside.given.sampling + offsetof(struct cairn_sampling, member))

/* The ledger. */

/* Nobody can make it shorter under our hands. */
static bool size_ledger(int descriptor, size_t bytes, bool *is_new, struct cairn_error *error)
{
	struct stat status;
	if (fstat(descriptor, &status) != 0)
		return cairn_fail_errno(error, "the ledger cannot be used");
	*is_new = status.st_size == 0;
	if (*is_new && (ftruncate(descriptor, (off_t)bytes) != 0 ||
			fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0))
		return cairn_fail_errno(error, "the ledger cannot be given %zu bytes", bytes);
	int seals = fcntl(descriptor, F_GET_SEALS);
	return (fstat(descriptor, &status) == 0 && (size_t)status.st_size == bytes && seals >= 0 && (seals & F_SEAL_SHRINK)) ||
	       cairn_fail(error, "the ledger is not as it was made");
}

/* What the core knows of it; last, that it is there. */
static bool tell_core(unsigned depth)
{
	struct cairn_sampling sampling = {.depth = depth, .generation = 1};
	bool open = true;
	sampling.record = cairn_record_elsewhere(&beside.record, beside.given.ledger_address - (uintptr_t)beside.record.header);
	sampling.record.forget = (void (*)(uint64_t))(uintptr_t)beside.given.forget;
	atomic_store(&sampling.period, atomic_load(&beside.period));
	return poke(beside.given.sampling, &sampling, sizeof sampling) && poke(AT(open), &open, sizeof open);
}

static bool tell_period(void)
{
	uint64_t period = atomic_load(&beside.period);
	atomic_store(&beside.record.header->period, period);
	return poke(AT(period), &period, sizeof period);
}

/* Nobody takes or frees samples any more that could do it: the next one to do so does. */
static bool tell_clear(void)
{
	bool clear = true;
	atomic_store(&beside.record.header->reset_ns, cairn_clock_wall_ns());
	return poke(AT(clear), &clear, sizeof clear);
}

bool cairn_beside_open(const struct cairn_beside *given, const struct cairn_config *config, struct cairn_error *error)
{
	bool is_new = false, open = false;
	beside.given = *given;
	atomic_store(&beside.period, config->period);
	if (!size_ledger(given->ledger, given->ledger_bytes, &is_new, error))
		return false;
	void *memory = mmap(NULL, given->ledger_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, given->ledger, 0);
	if (memory == MAP_FAILED)
		return cairn_fail_errno(error, "the ledger cannot be mapped");
	cairn_smaps_set_ledger(given->ledger_address);
	bool good = is_new ? cairn_record_open_at(&beside.record, memory, given->ledger_bytes, given->ledger, error)
			   : cairn_record_view(&beside.record, memory, given->ledger_bytes, given->ledger, error);
	if (!good)
		return false;
	struct cairn_ledger_header *header = beside.record.header;
	if (!peek(AT(open), &open, sizeof open) || (!open && !tell_core((unsigned)config->depth)) || !tell_period() || (open && !tell_clear()))
		return cairn_fail_errno(error, "the memory of process %d cannot be written", given->pid);
	atomic_store(&header->first_period, config->period);
	atomic_store(&header->stopped, false);
	cairn_beside_modules_open(given, &beside.record);
	cairn_beside_modules_list(given, &beside.record);
	return true;
}

/* What was opened as its memory is nobody's then. */
bool cairn_beside_is_there(void)
{
	bool open;
	return peek(AT(open), &open, sizeof open);
}

static bool count_calls(bool on, struct cairn_error *error)
{
	struct cairn_ledger_header *header = beside.record.header;
	if (beside.is_counted == on)
		return true;
	if (!beside.given.count(beside.given.context, on, &beside.counts))
		return cairn_fail(error, "%s", beside.counts.problem);
	beside.is_counted = on;
	if (on)
		snprintf(header->warning, sizeof header->warning, "%.500s", beside.counts.unseen);
	return true;
}

bool cairn_beside_close(struct cairn_error *error)
{
	pthread_mutex_lock(&beside.mutex);
	bool active = false, done = count_calls(false, error);
	atomic_store(&beside.active, false);
	atomic_store(&beside.record.header->active, false);
	atomic_store(&beside.record.header->stopped, done);
	poke(AT(active), &active, sizeof active);
	cairn_history_close();
	pthread_mutex_unlock(&beside.mutex);
	return done;
}

/* The engine. */

static enum cairn_profiler_state get_state(struct cairn_profiler *profiler)
{
	(void)profiler;
	return beside.problem.text[0] ? CAIRN_PROFILER_UNAVAILABLE
	       : atomic_load(&beside.active) ? CAIRN_PROFILER_ACTIVE : CAIRN_PROFILER_INACTIVE;
}

static void explain(struct cairn_profiler *profiler, char *out, size_t size)
{
	(void)profiler;
	snprintf(out, size, "%s", beside.problem.text);
}

static bool set_active(bool active, struct cairn_error *error)
{
	struct cairn_ledger_header *header = beside.record.header;
	if (!poke(AT(active), &active, sizeof active))
		return cairn_fail_errno(error, "the memory of process %d cannot be written", beside.given.pid);
	if (atomic_exchange(&beside.active, active) != active)
		atomic_store(&header->active_ns, active ? cairn_clock_wall_ns() : 0);
	atomic_store(&header->active, active);
	return true;
}

static bool activate(struct cairn_profiler *profiler, bool active, struct cairn_error *error)
{
	pthread_mutex_lock(&beside.mutex);
	struct cairn_error problem;
	/* The core samples first: a free that is counted before its allocation could be would be missed. */
	bool done = set_active(active, &problem) && (!active || count_calls(true, &problem));
	if (!done && active) {
		beside.problem = problem;
		set_active(false, NULL);
	}
	if (!done && error)
		*error = problem;
	struct cairn_ledger_header *header = beside.record.header;
	atomic_store(&profiler->active_since, atomic_load(&beside.active) ? atomic_load(&header->active_ns) : 0);
	atomic_store(&header->before_bytes, atomic_load(&profiler->before_bytes));
	pthread_mutex_unlock(&beside.mutex);
	return done;
}

static bool set_period(struct cairn_profiler *profiler, uint64_t period)
{
	(void)profiler;
	atomic_store(&beside.period, period);
	return tell_period();
}

static uint64_t get_period(struct cairn_profiler *profiler)
{
	uint64_t period = atomic_load(&beside.period);
	(void)profiler;
	peek(AT(period), &period, sizeof period); /* which doubles where there is no room */
	return period;
}

static bool reset(struct cairn_profiler *profiler, uint64_t period, struct cairn_error *error)
{
	pthread_mutex_lock(&beside.mutex);
	bool done = (!period || set_period(profiler, period)) && tell_clear();
	if (done && period)
		atomic_store(&beside.record.header->first_period, period);
	if (done && !atomic_load(&beside.active))
		done = count_calls(false, error);
	else if (!done)
		cairn_fail_errno(error, "the memory of process %d cannot be written", beside.given.pid);
	atomic_store(&profiler->reset_at, cairn_clock_wall_ns());
	pthread_mutex_unlock(&beside.mutex);
	return done;
}

static bool open_ledger(struct cairn_ledger *ledger, struct cairn_error *error)
{
	return cairn_ledger_open(ledger, (struct cairn_bytes){(const char *)beside.record.header, beside.record.bytes}, error);
}

static void add_maps(const struct cairn_ledger *ledger, struct cairn_buffer *out)
{
	char path[CAIRN_PROC_PATH];
	cairn_buffer_text(out, "\nMAPPED_LIBRARIES:\n");
	size_t before = out->length;
	if ((!cairn_facts_read(cairn_proc_path(path, 0, "maps"), out) || out->length == before) && ledger)
		cairn_ledger_write_maps(ledger, out);
}

static bool make_dump(struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_ledger ledger;
	struct cairn_ledger_heap heap;
	struct cairn_resident resident;
	bool clear = false;
	if (peek(AT(clear), &clear, sizeof clear) && clear) { /* samples that nobody has discarded yet */
		cairn_buffer_text(out, "heap_v2/1\n  t*: 0: 0 [0: 0]\n");
		add_maps(NULL, out);
		cairn_buffer_text(out, CAIRN_LEDGER_SECTION);
		return true;
	}
	if (!open_ledger(&ledger, error))
		return false;
	cairn_resident_open(&resident, 0, resident_pages_most);
	bool good = cairn_ledger_write_heap(&ledger, cairn_clock_ns(), &(struct cairn_ledger_witness){.resident = &resident}, out, &heap, error);
	cairn_resident_close(&resident);
	if (!good)
		return false;
	add_maps(&ledger, out);
	cairn_buffer_append(out, heap.sections.data, heap.sections.length);
	cairn_buffer_free(&heap.sections);
	return !out->failed || cairn_fail(error, "no memory for a dump");
}

static bool dump(struct cairn_profiler *profiler, const char *path, int descriptor, struct cairn_error *error)
{
	(void)profiler, (void)path;
	struct cairn_buffer out = cairn_pages(dump_maximum);
	bool good = make_dump(&out, error);
	struct cairn_bytes rest = cairn_buffer_bytes(&out);
	if (good && !cairn_descriptor_write_all(descriptor, &rest))
		good = cairn_fail_errno(error, "cannot write the snapshot");
	cairn_buffer_free(&out);
	return good;
}

static bool warn(struct cairn_profiler *profiler, char *out, size_t size)
{
	(void)profiler;
	snprintf(out, size, "%s", beside.counts.unseen);
	return out[0] != 0;
}

static void write_trailer(struct cairn_profiler *profiler, struct cairn_buffer *out)
{
	struct cairn_ledger ledger;
	(void)profiler;
	cairn_trailer_write_text(out, "allocator", "-");
	if (beside.counts.counted[0])
		cairn_trailer_write_text(out, "inside", beside.counts.counted);
	if (beside.counts.unseen[0])
		cairn_trailer_write_text(out, "warning", beside.counts.unseen);
	if (open_ledger(&ledger, NULL))
		cairn_ledger_write_counts(&ledger, out);
}

static void write_modules(struct cairn_buffer *out, bool as_maps)
{
	struct cairn_ledger ledger;
	struct cairn_ledger_module module;
	struct cairn_trailer_range range;
	for (uint32_t i = 0; open_ledger(&ledger, NULL) && i < cairn_ledger_count(&ledger, CAIRN_LEDGER_MODULES) && !out->failed; i++)
		if (cairn_ledger_range(&ledger, i, &module, &range) && as_maps)
			cairn_trailer_write_map(out, &range);
		else if (cairn_ledger_range(&ledger, i, &module, &range))
			cairn_trailer_write_range(out, "module", &range);
}

static uint64_t get_allocated(struct cairn_profiler *profiler)
{
	(void)profiler;
	return atomic_load(&beside.record.header->allocated_bytes);
}

static uint64_t get_live(struct cairn_profiler *profiler)
{
	(void)profiler;
	return atomic_load(&beside.record.header->live);
}

static uint64_t get_highest(void)
{
	return atomic_load(&beside.record.header->highest_bytes);
}

static void count(struct cairn_engine_counts *counts)
{
	struct cairn_engine_tally tally = {0};
	peek(AT(tally), &tally, sizeof tally);
	cairn_engine_count(&tally, counts);
	counts->installed = true;
}

static bool notify(void (*function)(void))
{
	(void)function;
	return false;
}

static bool set_gdump(struct cairn_profiler *profiler, bool active, struct cairn_error *error)
{
	(void)profiler, (void)error;
	atomic_store(&beside.gdump, active);
	return true;
}

static bool get_gdump(struct cairn_profiler *profiler)
{
	(void)profiler;
	return atomic_load(&beside.gdump);
}

static void get_status(struct cairn_sampler_status *status)
{
	*status = (struct cairn_sampler_status){.allocator = "", .file = "", .file_problem = "", .descriptor = -1};
	status->open = open_ledger(&status->ledger, NULL);
	snprintf(status->inside, sizeof status->inside, "%s", beside.counts.counted);
	status->descriptor = beside.given.ledger;
}

/* A static program never maps another module; where one can, it is found within a second at first, and later within half a minute. */
static void look(void)
{
	char service[CAIRN_CONTEXT_NAME];
	struct cairn_ledger_header *header = beside.record.header;
	if (pthread_mutex_trylock(&beside.mutex) != 0)
		return;
	if (++beside.waited_s > beside.pause_s) {
		beside.waited_s = 0;
		beside.pause_s = beside.pause_s < list_most_s ? beside.pause_s * 2 + 1 : list_most_s;
		cairn_beside_modules_list(&beside.given, &beside.record);
		if (cairn_context_service(beside.given.pid, service))
			snprintf(header->service, sizeof header->service, "%s", service);
	}
	cairn_history_look(&beside.record, cairn_clock_ns());
	pthread_mutex_unlock(&beside.mutex);
}

const struct cairn_engine cairn_engine_beside = {
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
	.write_modules = write_modules,
	.allocated = get_allocated,
	.live_samples = get_live,
	.highest = get_highest,
	.notify = notify,
	.count = count,
	.warn = warn,
	.get_status = get_status,
	.look = look,
};
