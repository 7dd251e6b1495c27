/* snapshot_trailer.c - version, options, modules, process, statistics and memory at the moment of a snapshot.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/engine/snapshot_trailer.h"

#include "agent/engine/profiler.h"
#include "agent/unwind/known.h"
#include "agent/unwind/object.h"
#include "base/pages.h"
#include "dump/engine_kind.h"
#include "dump/trailer_write.h"
#include "process/clock.h"
#include "process/context.h"
#include "process/facts.h"
#include "process/memory.h"
#include "process/proc.h"
#include "process/smaps.h"

#include <stdio.h>

static void write_process(struct cairn_buffer *out)
{
	struct cairn_facts facts;
	cairn_facts_get(&facts);
	cairn_trailer_write_time(out, "time", cairn_clock_wall_ns());
	cairn_trailer_write_time(out, "uptime", cairn_clock_read(CLOCK_BOOTTIME));
	cairn_trailer_write_text(out, "host", facts.host);
	char life[CAIRN_LIFE_TEXT];
	cairn_trailer_write_number(out, "pid", (uint64_t)facts.pid);
	cairn_trailer_write_text(out, "process", cairn_life_text(&facts.life, life));
	if (facts.start_ns)
		cairn_trailer_write_time(out, "start", facts.start_ns);
	cairn_trailer_write_text(out, "executable", facts.executable);
	cairn_trailer_write_text(out, "command", facts.command);
	char service[CAIRN_CONTEXT_NAME];
	if (cairn_context_service(facts.pid, service))
		cairn_trailer_write_text(out, "service", service);
}

/* The options of the running jemalloc that determine what the numbers mean. */
static void write_options(struct cairn_buffer *out, struct cairn_profiler *profiler)
{
	static const char *const bools[] = {"config.stats",
					    "opt.prof",
					    "opt.prof_active",
					    "opt.prof_accum",
					    "opt.prof_final",
					    "opt.prof_gdump",
					    "opt.prof_leak",
					    "opt.prof_stats",
					    "opt.prof_thread_active_init",
					    "opt.background_thread",
					    "opt.tcache",
					    "opt.retain",
					    "prof.active"};
	static const char *const signed_sizes[] = {"opt.lg_prof_interval", "opt.dirty_decay_ms", "opt.muzzy_decay_ms"};
	static const char *const texts[] = {"opt.prof_prefix", "opt.thp", "opt.metadata_thp"};
	struct cairn_jemalloc *jemalloc = &profiler->jemalloc;
	cairn_trailer_write_text(out, "jemalloc", jemalloc->version);
	cairn_trailer_write_text(out, "prefix", jemalloc->prefix[0] ? jemalloc->prefix : "-");
	for (size_t i = 0; i < sizeof bools / sizeof *bools; i++) {
		bool value;
		if (cairn_jemalloc_get_bool(jemalloc, bools[i], &value) == 0)
			cairn_trailer_write_text(out, bools[i], value ? "true" : "false");
	}
	for (size_t i = 0; i < sizeof signed_sizes / sizeof *signed_sizes; i++) {
		ssize_t value;
		size_t size = sizeof value;
		if (jemalloc->mallctl(signed_sizes[i], &value, &size, NULL, 0) == 0)
			cairn_trailer_write_format(out, signed_sizes[i], "%zd", value);
	}
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char *value;
		if (cairn_jemalloc_get_text(jemalloc, texts[i], &value) == 0)
			cairn_trailer_write_text(out, texts[i], value);
	}
}

static void write_engine(struct cairn_buffer *out, struct cairn_profiler *profiler)
{
	const struct cairn_engine *engine = cairn_profiler_engine(profiler);
	int64_t since = atomic_load(&profiler->active_since), reset = atomic_load(&profiler->reset_at);
	cairn_trailer_write_text(out, "engine", cairn_engine_name(engine->kind));
	if (engine->write_trailer)
		engine->write_trailer(profiler, out);
	else if (profiler->jemalloc.mallctl)
		cairn_trailer_write_number(out, "period", cairn_profiler_period(profiler));
	if (since)
		cairn_trailer_write_time(out, "active_since", since);
	uint64_t before = atomic_load(&profiler->before_bytes);
	if (since && before)
		cairn_trailer_write_number(out, "active_before", before);
	if (reset)
		cairn_trailer_write_time(out, "reset_at", reset);
}

/* 4096 is jemalloc's name for all arenas together. */
static void write_statistics(struct cairn_buffer *out, const struct cairn_jemalloc *jemalloc)
{
	static const struct {
		const char *name, *shown;
	} sizes[] = {
		{"stats.allocated", NULL}, {"stats.active", NULL}, {"stats.metadata", NULL}, {"stats.resident", NULL},
		{"stats.mapped", NULL}, {"stats.retained", NULL}, {"arenas.page", NULL},
		{"stats.arenas.4096.pactive", "stats.pactive"}, {"stats.arenas.4096.pdirty", "stats.pdirty"},
		{"stats.arenas.4096.pmuzzy", "stats.pmuzzy"}, {"stats.arenas.4096.tcache_bytes", "stats.tcache_bytes"},
		{"stats.arenas.4096.tcache_stashed_bytes", "stats.tcache_stashed_bytes"},
		{"stats.arenas.4096.base", "stats.base"}, {"stats.arenas.4096.internal", "stats.internal"},
		{"stats.arenas.4096.small.allocated", "stats.small.allocated"},
		{"stats.arenas.4096.large.allocated", "stats.large.allocated"},
	};
	cairn_jemalloc_refresh(jemalloc);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t value;
		if (cairn_jemalloc_get_size(jemalloc, sizes[i].name, &value) == 0)
			cairn_trailer_write_number(out, sizes[i].shown ? sizes[i].shown : sizes[i].name, value);
	}
}

/* One size class: its size, its objects, and how much was requested by how many of the sampled ones. */
static void write_class(struct cairn_buffer *out, const struct cairn_jemalloc *jemalloc, const char *kind, const char *count,
			unsigned index)
{
	char name[80];
	size_t size, objects;
	struct {
		uint64_t requested, count;
	} sampled;
	size_t length = sizeof sampled;
	snprintf(name, sizeof name, "arenas.%s.%u.size", kind, index);
	if (cairn_jemalloc_get_size(jemalloc, name, &size) != 0)
		return;
	snprintf(name, sizeof name, "stats.arenas.4096.%ss.%u.%s", kind, index, count);
	if (cairn_jemalloc_get_size(jemalloc, name, &objects) != 0 || objects == 0)
		return;
	snprintf(name, sizeof name, "prof.stats.%ss.%u.live", kind, index);
	if (jemalloc->mallctl(name, &sampled, &length, NULL, 0) == 0)
		cairn_trailer_write_format(out, "class", "%zu %zu %llu %llu", size, objects, (unsigned long long)sampled.requested,
					   (unsigned long long)sampled.count);
}

/* Only a jemalloc with prof_stats:true records the requested sizes. */
static void write_classes(struct cairn_buffer *out, const struct cairn_jemalloc *jemalloc)
{
	unsigned bins = 0, extents = 0;
	size_t size = sizeof bins;
	bool kept;
	if (cairn_jemalloc_get_bool(jemalloc, "opt.prof_stats", &kept) != 0 || !kept)
		return;
	jemalloc->mallctl("arenas.nbins", &bins, &size, NULL, 0);
	jemalloc->mallctl("arenas.nlextents", &extents, &size, NULL, 0);
	for (unsigned i = 0; i < bins; i++)
		write_class(out, jemalloc, "bin", "curregs", i);
	for (unsigned i = 0; i < extents; i++)
		write_class(out, jemalloc, "lextent", "curlextents", i);
}

static void write_status(struct cairn_buffer *out)
{
	char path[CAIRN_PROC_PATH];
	uint64_t resident;
	if (cairn_proc_kilobytes(cairn_proc_path(path, 0, "status"), "VmRSS:", &resident))
		cairn_trailer_write_number(out, "status.rss", resident);
}

/* Pages are examined only up to a limit: it takes the kernel about 10 ms for each GiB of addresses. */
enum { pages_most = 1 << 20 };

static void write_memory(struct cairn_buffer *out, const struct cairn_engine *engine)
{
	struct cairn_smaps smaps;
	char name[40];
	uint64_t *value;
	size_t count = 0, size = 0;
	struct cairn_smaps_range *ranges = engine->list_mapped ? engine->list_mapped(&count, &size) : NULL;
	bool good = cairn_smaps_read_apart(&smaps, 0, pages_most, ranges, count);
	if (ranges)
		cairn_pages_unmap(ranges, size);
	if (!good)
		return;
	write_status(out);
	for (unsigned i = 0; cairn_smaps_number(&smaps, i, name, &value); i++)
		cairn_trailer_write_number(out, name, *value);
	if (smaps.has_holes)
		cairn_trailer_write_number(out, "smaps.holes", smaps.holes);
	cairn_trailer_write_huge_pages(out);
}

static void write_limit(struct cairn_buffer *out)
{
	struct cairn_memory memory;
	struct cairn_memory_reading reading;
	struct cairn_error error;
	if (!cairn_memory_open(&memory, "", 0, &error))
		return;
	if (cairn_memory_read(&memory, cairn_clock_ns(), &reading))
		cairn_trailer_write_limit(out, &memory, &reading);
	cairn_memory_close(&memory);
}

struct listing {
	struct cairn_buffer *out;
	const char *executable;
	bool as_maps; /* lines like those of /proc/self/maps, else lines of the trailer */
};

static bool list_module(void *context, const struct cairn_object *module)
{
	struct listing *listing = context;
	const char *path = module->program ? listing->executable : module->path[0] ? module->path : "[vdso]";
	for (size_t i = 0; i < module->headers_count; i++) {
		const ElfW(Phdr) *header = &module->headers[i];
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		struct cairn_trailer_range range = {
			.start = (module->bias + header->p_vaddr) & ~(uintptr_t)4095,
			.end = (module->bias + header->p_vaddr + header->p_memsz + 4095) & ~(uintptr_t)4095,
			.offset = header->p_offset & ~(uint64_t)4095,
			.id = cairn_object_build_id(module),
			.path = cairn_bytes_of(path),
		};
		if (listing->as_maps)
			cairn_trailer_write_map(listing->out, &range);
		else
			cairn_trailer_write_range(listing->out, "module", &range);
	}
	return false;
}

/* Memory that an unloaded library allocated may still be live, and gets its names from that library. */
static void list_unloaded(void *context, const struct cairn_known *known)
{
	for (unsigned i = 0; i < known->segment_count; i++) {
		const struct cairn_known_segment *segment = &known->segments[i];
		struct cairn_bytes id = {(const char *)known->id, known->id_size};
		struct cairn_trailer_range range = {segment->start, segment->end, segment->offset, id, cairn_bytes_of(known->path)};
		cairn_trailer_write_range(context, "unloaded", &range);
	}
}

void cairn_snapshot_trailer_begin(struct cairn_buffer *out)
{
	cairn_trailer_write_first(out);
	cairn_trailer_write_text(out, "version", CAIRN_VERSION);
	write_process(out);
}

/* Of the process that the engine is for. */
static void list_modules(const struct cairn_engine *engine, struct cairn_buffer *out, bool as_maps)
{
	struct cairn_facts facts;
	cairn_facts_get(&facts);
	if (engine && engine->write_modules)
		engine->write_modules(out, as_maps);
	else
		cairn_objects_visit(list_module, &(struct listing){out, facts.executable, as_maps});
}

void cairn_snapshot_trailer_end(struct cairn_buffer *out, const struct cairn_engine *engine)
{
	list_modules(engine, out, false);
	if (!engine || !engine->write_modules)
		cairn_known_unloaded(list_unloaded, out);
	cairn_trailer_write_last(out);
}

void cairn_snapshot_trailer_write(struct cairn_buffer *out, struct cairn_profiler *profiler, enum cairn_trailer_extent extent)
{
	const struct cairn_engine *engine = cairn_profiler_engine(profiler);
	if (extent == CAIRN_TRAILER_WITH_MAPS) {
		cairn_buffer_text(out, "\nMAPPED_LIBRARIES:\n");
		list_modules(engine, out, true);
	}
	cairn_snapshot_trailer_begin(out);
	write_engine(out, profiler);
	if (profiler->jemalloc.mallctl) {
		write_options(out, profiler);
		write_statistics(out, &profiler->jemalloc);
		write_classes(out, &profiler->jemalloc);
	}
	if (extent == CAIRN_TRAILER_WITH_STATISTICS && !profiler->jemalloc.mallctl && engine->write_statistics)
		engine->write_statistics(out);
	write_memory(out, engine);
	write_limit(out);
	cairn_snapshot_trailer_end(out, engine);
}
