/* statistics.c - asking the allocators.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/statistics.h"

#include "agent/unwind/dynamic.h"
#include "agent/unwind/object.h"
#include "base/pages.h"
#include "base/path.h"
#include "base/text.h"
#include "dump/trailer_write.h"

#include <assert.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Functions of the object that has the host's malloc. */
enum function { GLIBC_INFO, GLIBC_TEXT, TCMALLOC_PROPERTY, MIMALLOC_PROCESS, FUNCTIONS };

static const char *const names[] = {
	[GLIBC_INFO] = "mallinfo2",
	[GLIBC_TEXT] = "malloc_info",
	[TCMALLOC_PROPERTY] = "MallocExtension_GetNumericProperty",
	[MIMALLOC_PROCESS] = "mi_process_info",
};
static_assert(sizeof names / sizeof *names == FUNCTIONS, "every function has a name");

/* The first object that defines malloc, but for the loader, whose own serves it alone. */
static bool find_functions(void *context, const struct cairn_object *module)
{
	uintptr_t *functions = context;
	struct cairn_dynamic dynamic;
	const char *name = cairn_base_name(module->path);
	if (!name[0] || strncmp(name, "ld-", 3) == 0 || !cairn_dynamic_open(&dynamic, module) || !cairn_dynamic_find(&dynamic, "malloc"))
		return false;
	for (int i = 0; i < FUNCTIONS; i++)
		functions[i] = cairn_dynamic_find(&dynamic, names[i]);
	return true;
}

static void write_number(struct cairn_buffer *out, const char *key, uint64_t value)
{
	char whole[40];
	snprintf(whole, sizeof whole, "malloc.%s", key);
	cairn_trailer_write_number(out, whole, value);
}

/* What glibc counts, in bytes; caches of threads (tcache) count as used there. */
struct glibc {
	uint64_t arenas, system, fast, mapped;
	uint64_t rest, top; /* what is free without fast bins, and the part of it at the ends of arenas */
	uint64_t listed; /* of the arena that is being read: what it has in bins, fast ones among them */
	uint64_t own_rest, own_fast; /* and in all */
	bool in_arena;
};

/* The number in `NAME="…"` of LINE; 0 where there is none. */
static uint64_t attribute(struct cairn_bytes line, const char *name)
{
	uint64_t value = 0;
	const char *found = memmem(line.data, line.length, name, strlen(name));
	if (found) {
		struct cairn_bytes rest = cairn_bytes_skip(line, (size_t)(found - line.data) + strlen(name));
		cairn_text_decimal(&rest, &value);
	}
	return value;
}

/* One line of malloc_info's text: an element each. */
static void read_info(struct glibc *glibc, struct cairn_bytes line)
{
	line = cairn_text_trim(line);
	if (cairn_bytes_start_with(line, "<heap ")) {
		glibc->arenas++;
		glibc->in_arena = true;
		glibc->listed = glibc->own_rest = glibc->own_fast = 0;
	} else if (cairn_bytes_start_with(line, "</heap>")) {
		uint64_t bins = glibc->listed > glibc->own_fast ? glibc->listed - glibc->own_fast : 0;
		glibc->top += glibc->own_rest > bins ? glibc->own_rest - bins : 0;
		glibc->rest += glibc->own_rest;
		glibc->fast += glibc->own_fast;
		glibc->in_arena = false;
	} else if (cairn_bytes_start_with(line, "<total type=\"mmap\"")) {
		glibc->mapped = attribute(line, "size=\"");
	} else if (!glibc->in_arena) {
		return; /* sums of what has been read already */
	} else if (cairn_bytes_start_with(line, "<size ") || cairn_bytes_start_with(line, "<unsorted ")) {
		glibc->listed += attribute(line, "total=\"");
	} else if (cairn_bytes_start_with(line, "<total type=\"fast\"")) {
		glibc->own_fast = attribute(line, "size=\"");
	} else if (cairn_bytes_start_with(line, "<total type=\"rest\"")) {
		glibc->own_rest = attribute(line, "size=\"");
	} else if (cairn_bytes_start_with(line, "<system type=\"current\"")) {
		glibc->system += attribute(line, "size=\"");
	}
}

/* The text, and whose it is: a child that is forked meanwhile has the stream, but not the pages. */
struct told {
	struct cairn_buffer text;
	pid_t owner;
};

static ssize_t append(void *cookie, const char *data, size_t length)
{
	struct told *told = cookie;
	if (told->owner == getpid())
		cairn_buffer_append(&told->text, data, length);
	return (ssize_t)length;
}

/* The stream is the only thing here that comes from the host's malloc: some hundred bytes, on a thread of the agent's. It keeps nothing
 * back, so that an exit or a fork of the host finds nothing to write in it; what it writes to outlives this stack, on which a child does
 * not run. */
static bool ask_text(struct glibc *glibc, uintptr_t function)
{
	enum { text_most = 16 << 20 };
	static struct told told;
	static atomic_flag busy = ATOMIC_FLAG_INIT; /* whoever comes second does without */
	if (atomic_flag_test_and_set(&busy))
		return false;
	told = (struct told){cairn_pages(text_most), getpid()};
	FILE *stream = fopencookie(&told, "w", (cookie_io_functions_t){.write = append});
	if (!stream) {
		atomic_flag_clear(&busy);
		return false;
	}
	setvbuf(stream, NULL, _IONBF, 0);
	bool good = ((int (*)(int, FILE *))function)(0, stream) == 0;
	good = fclose(stream) == 0 && good && !told.text.failed;
	struct cairn_bytes rest = cairn_buffer_bytes(&told.text), line;
	while (good && cairn_text_line(&rest, &line, NULL))
		read_info(glibc, line);
	cairn_buffer_free(&told.text);
	atomic_flag_clear(&busy);
	return good && glibc->arenas > 0;
}

static void ask_totals(struct glibc *glibc, uintptr_t function)
{
	struct mallinfo2 info = ((struct mallinfo2(*)(void))function)();
	*glibc = (struct glibc){.system = info.arena, .rest = info.fordblks - info.fsmblks, .fast = info.fsmblks, .mapped = info.hblkhd,
				.top = info.keepcost};
}

/* malloc_info has all that mallinfo2 has, and the arenas one by one, for the same walk under the same locks. */
static void write_glibc(struct cairn_buffer *out, const uintptr_t *functions)
{
	struct glibc glibc = {0};
	if (!functions[GLIBC_TEXT] || !ask_text(&glibc, functions[GLIBC_TEXT]))
		ask_totals(&glibc, functions[GLIBC_INFO]);
	uint64_t free = glibc.rest + glibc.fast;
	cairn_trailer_write_text(out, "malloc.kind", "glibc");
	write_number(out, "system", glibc.system);
	write_number(out, "used", glibc.system > free ? glibc.system - free : 0);
	write_number(out, "free", glibc.rest);
	write_number(out, "top", glibc.top);
	write_number(out, "fast", glibc.fast);
	write_number(out, "mapped", glibc.mapped);
	if (glibc.arenas)
		write_number(out, "arenas", glibc.arenas);
}

static void write_tcmalloc(struct cairn_buffer *out, uintptr_t function)
{
	static const struct {
		const char *key, *properties[3];
	} lines[] = {
		{"system", {"generic.heap_size"}},
		{"physical", {"generic.total_physical_bytes"}},
		{"used", {"generic.current_allocated_bytes"}},
		{"cache", {"tcmalloc.thread_cache_free_bytes"}},
		{"central", {"tcmalloc.central_cache_free_bytes", "tcmalloc.transfer_cache_free_bytes"}},
		{"free", {"tcmalloc.pageheap_free_bytes"}},
		{"unmapped", {"tcmalloc.pageheap_unmapped_bytes"}},
	};
	int (*property)(const char *name, size_t *value) = (int (*)(const char *, size_t *))function;
	cairn_trailer_write_text(out, "malloc.kind", "tcmalloc");
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		uint64_t sum = 0;
		bool known = false;
		for (size_t k = 0; k < 3 && lines[i].properties[k]; k++) {
			size_t value = 0;
			if (property(lines[i].properties[k], &value)) {
				sum += value;
				known = true;
			}
		}
		if (known)
			write_number(out, lines[i].key, sum);
	}
}

static void write_mimalloc(struct cairn_buffer *out, uintptr_t function)
{
	size_t ignored[7] = {0}, committed = 0;
	void (*process)(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *) =
		(void (*)(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *))function;
	process(&ignored[0], &ignored[1], &ignored[2], &ignored[3], &ignored[4], &committed, &ignored[5], &ignored[6]);
	cairn_trailer_write_text(out, "malloc.kind", "mimalloc");
	write_number(out, "system", committed);
}

void cairn_statistics_write(struct cairn_buffer *out)
{
	uintptr_t functions[FUNCTIONS] = {0};
	cairn_objects_visit(find_functions, functions);
	if (functions[TCMALLOC_PROPERTY])
		write_tcmalloc(out, functions[TCMALLOC_PROPERTY]);
	else if (functions[MIMALLOC_PROCESS])
		write_mimalloc(out, functions[MIMALLOC_PROCESS]);
	else if (functions[GLIBC_INFO])
		write_glibc(out, functions);
}
