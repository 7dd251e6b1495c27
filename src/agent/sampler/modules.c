/* modules.c - executable ranges with their files and build-ids.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/modules.h"

#include <sys/mman.h>

enum { copy_most = 8 << 20 }; /* some forty thousand objects; addresses, not memory */

/* What was found, in order: each module is followed by its path. */
static struct {
	char *memory;
	_Atomic size_t used; /* a child that is forked meanwhile has whole ones */
} found;

static size_t size_of(size_t path_length)
{
	return sizeof(struct cairn_ledger_module) + ((path_length + 7) & ~(size_t)7);
}

static void keep(const struct cairn_ledger_module *module, struct cairn_bytes path)
{
	if (!found.memory) {
		void *memory = mmap(NULL, copy_most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		found.memory = memory != MAP_FAILED ? memory : NULL;
	}
	size_t used = atomic_load_explicit(&found.used, memory_order_relaxed);
	if (!found.memory || copy_most - used < size_of(path.length))
		return;
	struct cairn_ledger_module *to = (struct cairn_ledger_module *)(void *)(found.memory + used);
	*to = *module;
	to->path_length = (uint32_t)path.length;
	memcpy(to + 1, path.data, path.length);
	atomic_store_explicit(&found.used, used + size_of(path.length), memory_order_release);
}

void cairn_modules_add(struct cairn_record *record, const struct cairn_object *object)
{
	struct cairn_ledger_module module = {0};
	struct cairn_bytes id = cairn_object_build_id(object);
	struct cairn_bytes path =
		cairn_bytes_of(object->program ? record->header->executable : object->path[0] ? object->path : "[vdso]");
	module.id_length = (uint32_t)(id.length < sizeof module.build_id ? id.length : sizeof module.build_id);
	memcpy(module.build_id, id.data, module.id_length);
	for (size_t i = 0; i < object->headers_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		module.start = (object->bias + header->p_vaddr) & ~(uint64_t)4095;
		module.end = (object->bias + header->p_vaddr + header->p_memsz + 4095) & ~(uint64_t)4095;
		module.offset = header->p_offset & ~(uint64_t)4095;
		if (cairn_record_module(record, &module, path))
			keep(&module, path);
	}
}

static bool add(void *context, const struct cairn_object *object)
{
	cairn_modules_add(context, object);
	return false;
}

void cairn_modules_list(struct cairn_record *record)
{
	cairn_objects_visit(add, record);
}

void cairn_modules_copy(struct cairn_record *record)
{
	size_t used = atomic_load_explicit(&found.used, memory_order_acquire);
	for (size_t at = 0; at < used;) {
		const struct cairn_ledger_module *module = (const struct cairn_ledger_module *)(const void *)(found.memory + at);
		cairn_record_module(record, module, (struct cairn_bytes){(const char *)(module + 1), module->path_length});
		at += size_of(module->path_length);
	}
}
