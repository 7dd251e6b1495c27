/* trailer.c - version, options, modules, process, statistics and memory of the instant of a snapshot.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/trailer.h"

#include "agent/clock.h"
#include "agent/facts.h"
#include "agent/memory.h"
#include "agent/object.h"
#include "base/pages.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void write_text(struct cairn_buffer *out, const char *key, const char *value)
{
	cairn_buffer_format(out, "# cairn %s ", key);
	for (; *value; value++)
		cairn_buffer_byte(out, (unsigned char)*value < ' ' ? ' ' : *value);
	cairn_buffer_byte(out, '\n');
}

static void write_number(struct cairn_buffer *out, const char *key, uint64_t value)
{
	cairn_buffer_format(out, "# cairn %s %llu\n", key, (unsigned long long)value);
}

static void write_time(struct cairn_buffer *out, const char *key, int64_t ns)
{
	cairn_buffer_format(out, "# cairn %s %lld.%09lld\n", key, (long long)(ns / 1000000000), (long long)(ns % 1000000000));
}

static void write_process(struct cairn_buffer *out)
{
	struct cairn_facts facts;
	cairn_facts_get(&facts);
	write_time(out, "time", cairn_clock_wall_ns());
	write_time(out, "uptime", cairn_clock_read(CLOCK_BOOTTIME));
	write_text(out, "host", facts.host);
	char life[CAIRN_LIFE_TEXT];
	write_number(out, "pid", (uint64_t)facts.pid);
	write_text(out, "process", cairn_life_text(&facts.life, life));
	if (facts.start_ns)
		write_time(out, "start", facts.start_ns);
	write_text(out, "executable", facts.executable);
	write_text(out, "command", facts.command);
}

/* The options that decide what the numbers mean, as jemalloc runs with them. */
static void write_options(struct cairn_buffer *out, struct cairn_profiler *profiler)
{
	static const char *const bools[] = {"opt.prof", "opt.prof_active", "opt.prof_accum", "opt.prof_final", "opt.prof_gdump",
					    "opt.prof_leak", "opt.prof_thread_active_init", "opt.background_thread", "opt.tcache", "prof.active"};
	struct cairn_jemalloc *jemalloc = &profiler->jemalloc;
	write_text(out, "jemalloc", jemalloc->version);
	write_text(out, "prefix", jemalloc->prefix[0] ? jemalloc->prefix : "-");
	write_number(out, "period", cairn_profiler_period(profiler));
	for (size_t i = 0; i < sizeof bools / sizeof *bools; i++) {
		bool value;
		if (cairn_jemalloc_get_bool(jemalloc, bools[i], &value) == 0)
			write_text(out, bools[i], value ? "true" : "false");
	}
	ssize_t interval;
	size_t size = sizeof interval;
	if (jemalloc->mallctl("opt.lg_prof_interval", &interval, &size, NULL, 0) == 0)
		cairn_buffer_format(out, "# cairn opt.lg_prof_interval %zd\n", interval);
	const char *text;
	if (cairn_jemalloc_get_text(jemalloc, "opt.prof_prefix", &text) == 0)
		write_text(out, "opt.prof_prefix", text);
	int64_t since = atomic_load(&profiler->active_since), reset = atomic_load(&profiler->reset_at);
	if (since)
		write_time(out, "active_since", since);
	if (reset)
		write_time(out, "reset_at", reset);
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
		{"stats.arenas.4096.base", "stats.base"}, {"stats.arenas.4096.internal", "stats.internal"},
		{"stats.arenas.4096.small.allocated", "stats.small.allocated"},
		{"stats.arenas.4096.large.allocated", "stats.large.allocated"},
	};
	cairn_jemalloc_refresh(jemalloc);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t value;
		if (cairn_jemalloc_get_size(jemalloc, sizes[i].name, &value) == 0)
			write_number(out, sizes[i].shown ? sizes[i].shown : sizes[i].name, value);
	}
}

/* Resident memory by what it backs. */
struct memory {
	uint64_t rss, pss, anonymous, swap, huge;
	uint64_t by_kind[5];
	int kind;
};

static const char *const kinds[] = {"anonymous", "file", "shared", "heap", "stack"};

/* The kind of a mapping by the last field of its line, and whether it is shared. */
static int kind_of(struct cairn_bytes line)
{
	const char *path = memchr(line.data, '/', line.length);
	bool shared = line.length > 20 && memmem(line.data, line.length < 60 ? line.length : 60, "s ", 2) != NULL;
	if (memmem(line.data, line.length, "[heap]", 6))
		return 3;
	if (memmem(line.data, line.length, "[stack", 6))
		return 4;
	if (shared)
		return 2;
	return path ? 1 : 0;
}

static void read_memory_line(struct memory *memory, struct cairn_bytes line)
{
	static const struct {
		const char *name;
		size_t offset;
	} fields[] = {
		{"Rss:", offsetof(struct memory, rss)}, {"Pss:", offsetof(struct memory, pss)},
		{"Anonymous:", offsetof(struct memory, anonymous)}, {"Swap:", offsetof(struct memory, swap)},
		{"AnonHugePages:", offsetof(struct memory, huge)},
	};
	if (line.length > 0 && (line.data[0] < 'A' || line.data[0] > 'Z')) {
		memory->kind = kind_of(line);
		return;
	}
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		uint64_t value;
		if (!cairn_text_take(&line, fields[i].name))
			continue;
		line = cairn_text_trim(line);
		if (!cairn_text_decimal(&line, &value))
			return;
		*(uint64_t *)(void *)((char *)memory + fields[i].offset) += value << 10;
		if (i == 0)
			memory->by_kind[memory->kind] += value << 10;
		return;
	}
}

/* smaps of a big process is megabytes of text: read in pieces, summed as it comes. */
static bool read_memory(struct memory *memory, struct cairn_buffer *piece)
{
	int descriptor = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return false;
	size_t kept = 0;
	for (;;) {
		piece->length = kept;
		char *room = cairn_buffer_room(piece, 32 << 10);
		ssize_t length = room ? read(descriptor, room, 32 << 10) : 0;
		if (length <= 0)
			break;
		struct cairn_bytes rest = {piece->data, kept + (size_t)length}, line;
		const char *end = memrchr(rest.data, '\n', rest.length);
		size_t whole = end ? (size_t)(end - rest.data) + 1 : 0;
		struct cairn_bytes lines = {rest.data, whole};
		while (cairn_text_line(&lines, &line, NULL))
			read_memory_line(memory, line);
		kept = rest.length - whole;
		memmove(piece->data, piece->data + whole, kept);
	}
	close(descriptor);
	return memory->rss > 0;
}

static void write_memory(struct cairn_buffer *out)
{
	struct memory memory = {0};
	struct cairn_buffer piece = cairn_pages(64 << 10);
	if (read_memory(&memory, &piece)) {
		write_number(out, "smaps.rss", memory.rss);
		write_number(out, "smaps.pss", memory.pss);
		write_number(out, "smaps.swap", memory.swap);
		write_number(out, "smaps.anonymous", memory.anonymous);
		write_number(out, "smaps.huge", memory.huge);
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
			char key[32];
			snprintf(key, sizeof key, "smaps.rss.%s", kinds[i]);
			write_number(out, key, memory.by_kind[i]);
		}
	}
	cairn_buffer_free(&piece);
}

/* How much the process may have, and how often its group ran out of it. */
static void write_limit(struct cairn_buffer *out)
{
	struct cairn_memory memory;
	struct cairn_memory_reading reading;
	struct cairn_error error;
	if (!cairn_memory_open(&memory, "", 0, &error))
		return;
	if (cairn_memory_read(&memory, cairn_clock_ns(), &reading)) {
		if (reading.limit)
			write_number(out, "limit", reading.limit);
		if (memory.group[0]) {
			write_text(out, "group", memory.group);
			write_number(out, "group.oom_kill", reading.events.oom_kill);
		}
		if (reading.limit_of_group)
			write_number(out, "group.usage", reading.usage);
	}
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
	struct cairn_bytes id = cairn_object_build_id(module);
	for (size_t i = 0; i < module->headers_count; i++) {
		const ElfW(Phdr) *header = &module->headers[i];
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		uintptr_t start = (module->bias + header->p_vaddr) & ~(uintptr_t)4095;
		uintptr_t end = (module->bias + header->p_vaddr + header->p_memsz + 4095) & ~(uintptr_t)4095;
		unsigned long long offset = header->p_offset & ~(unsigned long long)4095;
		if (listing->as_maps) {
			cairn_buffer_format(listing->out, "%lx-%lx r-xp %08llx 00:00 0 %s\n", start, end, offset, path);
			continue;
		}
		cairn_buffer_format(listing->out, "# cairn module %lx-%lx %llx ", start, end, offset);
		for (size_t j = 0; j < id.length; j++)
			cairn_buffer_format(listing->out, "%02x", (unsigned char)id.data[j]);
		cairn_buffer_format(listing->out, "%s %s\n", id.length ? "" : "-", path);
	}
	return false;
}

void cairn_trailer_begin(struct cairn_buffer *out)
{
	cairn_buffer_text(out, "# cairn trailer 1\n");
	write_text(out, "version", CAIRN_VERSION);
	write_process(out);
}

void cairn_trailer_end(struct cairn_buffer *out)
{
	struct cairn_facts facts;
	cairn_facts_get(&facts);
	cairn_objects_visit(list_module, &(struct listing){out, facts.executable, false});
	cairn_buffer_text(out, "# cairn end\n");
}

void cairn_trailer_write(struct cairn_buffer *out, struct cairn_profiler *profiler, bool with_maps)
{
	if (with_maps) {
		struct cairn_facts facts;
		cairn_facts_get(&facts);
		cairn_buffer_text(out, "\nMAPPED_LIBRARIES:\n");
		cairn_objects_visit(list_module, &(struct listing){out, facts.executable, true});
	}
	cairn_trailer_begin(out);
	write_options(out, profiler);
	write_statistics(out, &profiler->jemalloc);
	write_memory(out);
	write_limit(out);
	cairn_trailer_end(out);
}
