/* statistics.c - asking the allocators.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/statistics.h"

#include "agent/unwind/dynamic.h"
#include "agent/unwind/object.h"
#include "base/path.h"
#include "dump/trailer_write.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

/* Functions of the object that has the host's malloc. */
enum function { GLIBC_INFO, TCMALLOC_PROPERTY, MIMALLOC_PROCESS, FUNCTIONS };

static const char *const names[FUNCTIONS] = {
	[GLIBC_INFO] = "mallinfo2",
	[TCMALLOC_PROPERTY] = "MallocExtension_GetNumericProperty",
	[MIMALLOC_PROCESS] = "mi_process_info",
};

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

/* What it has in thread caches (tcache) counts as used there. */
static void write_glibc(struct cairn_buffer *out, uintptr_t function)
{
	struct mallinfo2 info = ((struct mallinfo2(*)(void))function)();
	cairn_trailer_write_text(out, "malloc.kind", "glibc");
	write_number(out, "system", info.arena);
	write_number(out, "used", info.uordblks);
	write_number(out, "free", info.fordblks - info.fsmblks);
	write_number(out, "cache", info.fsmblks);
	write_number(out, "mapped", info.hblkhd);
}

static void write_tcmalloc(struct cairn_buffer *out, uintptr_t function)
{
	static const struct {
		const char *key, *properties[3];
	} lines[] = {
		{"system", {"generic.heap_size"}},
		{"physical", {"generic.total_physical_bytes"}},
		{"used", {"generic.current_allocated_bytes"}},
		{"cache", {"tcmalloc.thread_cache_free_bytes", "tcmalloc.central_cache_free_bytes", "tcmalloc.transfer_cache_free_bytes"}},
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
		write_glibc(out, functions[GLIBC_INFO]);
}
