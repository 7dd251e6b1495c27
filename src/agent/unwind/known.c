/* known.c - the table of objects: a list that only grows, and an index into it by address.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/known.h"

#include "agent/unwind/object.h"
#include "agent/unwind/stack.h"

#include <elf.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { page_size = 4096, slot_count = 256 };
static const unsigned hashed_tag = 0x8000; /* and above: not a number in the list */

static struct {
	struct cairn_known list[CAIRN_KNOWN_MOST];
	atomic_bool ready[CAIRN_KNOWN_MOST];   /* the entry is whole */
	atomic_bool retired[CAIRN_KNOWN_MOST]; /* not to be found again */
	atomic_uint taken;                     /* may exceed the list when it is full */
	_Atomic uint16_t slots[slot_count];    /* by address: the entry found there last, counted from 1 */
	atomic_bool has_anonymous;              /* one of them has no build-id */
	unsigned long long unloads;
} known;

static unsigned slot_of(uintptr_t start)
{
	return (unsigned)((start >> 12) * 0x9e3779b97f4a7c15u >> 56) % slot_count;
}

static void read_mark(uintptr_t unwind_header, uint64_t *mark)
{
	mark[0] = mark[1] = 0;
	if (unwind_header)
		memcpy(mark, (const void *)unwind_header, 2 * sizeof *mark);
}

static uint64_t mix(uint64_t hash, const void *data, size_t length)
{
	const unsigned char *bytes = data;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	return hash;
}

/* The ELF header, if the object begins with one as every linker makes it, and its program headers lie in the same page. */
static const Elf64_Ehdr *elf_at(uintptr_t start)
{
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)start;
	bool whole = memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0 && elf->e_phentsize == sizeof(Elf64_Phdr) &&
		     elf->e_phoff <= page_size && elf->e_phnum <= (page_size - elf->e_phoff) / sizeof(Elf64_Phdr);
	return whole ? elf : NULL;
}

static uint64_t hash_headers(const struct cairn_place *place, bool has_headers)
{
	const Elf64_Ehdr *elf = has_headers ? elf_at(place->start) : NULL;
	uint64_t hash = mix(0xcbf29ce484222325u, place->name, strlen(place->name));
	if (elf) {
		hash = mix(hash, elf, sizeof *elf);
		hash = mix(hash, (const char *)elf + elf->e_phoff, elf->e_phnum * sizeof(Elf64_Phdr));
	}
	return hash;
}

/* Whether ENTRY is the object at PLACE. This is what each walk pays for, once for each object: the build-id is compared where
 * it lies, which is in the first page. */
static bool is_same(const struct cairn_known *entry, const struct cairn_place *place)
{
	uint64_t mark[2];
	if (entry->start != place->start || entry->end != place->end || entry->unwind_header != place->unwind_header)
		return false;
	read_mark(place->unwind_header, mark);
	if (mark[0] != entry->mark[0] || mark[1] != entry->mark[1])
		return false;
	return entry->id_at ? memcmp((const void *)entry->id_at, entry->id, entry->id_size) == 0
			    : entry->headers == hash_headers(place, entry->has_headers);
}

static void copy_path(struct cairn_known *entry, const char *name)
{
	size_t used = 0;
	if (name[0] && name[0] != '/') {
		long length = syscall(SYS_getcwd, entry->path, sizeof entry->path); /* libc's may allocate */
		if (length > 1 && entry->path[0] == '/' && (size_t)length < sizeof entry->path) {
			used = (size_t)length - 1;
			entry->path[used++] = '/';
			while (name[0] == '.' && name[1] == '/')
				name += 2;
		}
	}
	size_t length = strnlen(name, sizeof entry->path - 1 - used);
	memcpy(entry->path + used, name, length);
	entry->path[used + length] = 0;
}

static void copy_build_id(struct cairn_known *entry, const struct cairn_object *object)
{
	struct cairn_bytes id = cairn_object_build_id(object);
	uintptr_t at = (uintptr_t)id.data;
	if (id.length < 8 || id.length > sizeof entry->id || at < entry->start || at + id.length > entry->start + page_size)
		return;
	entry->id_at = at;
	entry->id_size = (unsigned)id.length;
	memcpy(entry->id, id.data, id.length);
}

/* Notes must lie in the page that is known to be readable. */
static bool has_near_notes(const struct cairn_known *entry, const struct cairn_object *object)
{
	for (size_t i = 0; i < object->headers_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];
		uintptr_t at = object->bias + header->p_vaddr;
		if (header->p_type == PT_NOTE &&
		    (at < entry->start || header->p_memsz > page_size || at + header->p_memsz > entry->start + page_size))
			return false;
	}
	return true;
}

static void fill(struct cairn_known *entry, const struct cairn_place *place)
{
	*entry = (struct cairn_known){.start = place->start, .end = place->end, .unwind_header = place->unwind_header};
	read_mark(place->unwind_header, entry->mark);
	copy_path(entry, place->name);
	const Elf64_Ehdr *elf = cairn_stack_is_readable(place->start) ? elf_at(place->start) : NULL;
	entry->has_headers = elf != NULL;
	entry->headers = hash_headers(place, entry->has_headers);
	if (!elf)
		return;
	const struct cairn_object object = {
		.path = entry->path,
		.bias = place->bias,
		.headers = (const ElfW(Phdr) *)(const void *)((const char *)elf + elf->e_phoff),
		.headers_count = elf->e_phnum,
	};
	if (has_near_notes(entry, &object))
		copy_build_id(entry, &object);
	for (size_t i = 0; i < object.headers_count && entry->segment_count < CAIRN_KNOWN_SEGMENTS; i++) {
		const ElfW(Phdr) *header = &object.headers[i];
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		if (entry->segment_count == 0)
			entry->code_at = place->bias + header->p_vaddr;
		entry->segments[entry->segment_count++] = (struct cairn_known_segment){
			.start = (place->bias + header->p_vaddr) & ~(uintptr_t)(page_size - 1),
			.end = (place->bias + header->p_vaddr + header->p_memsz + page_size - 1) & ~(uintptr_t)(page_size - 1),
			.offset = header->p_offset & ~(uint64_t)(page_size - 1),
		};
	}
}

static unsigned count(void)
{
	unsigned taken = atomic_load_explicit(&known.taken, memory_order_acquire);
	return taken < CAIRN_KNOWN_MOST ? taken : CAIRN_KNOWN_MOST;
}

static bool is_usable(unsigned index)
{
	return atomic_load_explicit(&known.ready[index], memory_order_acquire) &&
	       !atomic_load_explicit(&known.retired[index], memory_order_relaxed);
}

/* Two threads that meet an object at once may both add it: it then has two tags, and either does. */
__attribute__((noinline)) static uint16_t find_or_add(const struct cairn_place *place)
{
	for (unsigned i = 0; i < count(); i++)
		if (is_usable(i) && is_same(&known.list[i], place)) {
			atomic_store_explicit(&known.slots[slot_of(place->start)], (uint16_t)(i + 1), memory_order_release);
			return (uint16_t)(i + 1);
		}
	unsigned index = count() < CAIRN_KNOWN_MOST ? atomic_fetch_add(&known.taken, 1) : CAIRN_KNOWN_MOST;
	if (index >= CAIRN_KNOWN_MOST) {
		struct cairn_known other;
		fill(&other, place);
		uint64_t hash = mix(other.headers ^ other.start ^ other.mark[0] ^ other.mark[1] * 3, other.id, other.id_size);
		return (uint16_t)(hashed_tag | (hash * 0x9e3779b97f4a7c15u >> 49));
	}
	fill(&known.list[index], place);
	if (!known.list[index].id_at && place->name[0])
		atomic_store(&known.has_anonymous, true);
	atomic_store_explicit(&known.ready[index], true, memory_order_release);
	atomic_store_explicit(&known.slots[slot_of(place->start)], (uint16_t)(index + 1), memory_order_release);
	return (uint16_t)(index + 1);
}

uint16_t cairn_known_tag(const struct cairn_place *place)
{
	uint16_t tag = atomic_load_explicit(&known.slots[slot_of(place->start)], memory_order_acquire);
	if (tag && !atomic_load_explicit(&known.retired[tag - 1], memory_order_relaxed) && is_same(&known.list[tag - 1], place))
		return tag;
	return find_or_add(place);
}

bool cairn_known_is_there(uint16_t tag)
{
	if (tag == 0 || tag > CAIRN_KNOWN_MOST || !is_usable(tag - 1u))
		return tag >= hashed_tag;
	const struct cairn_known *entry = &known.list[tag - 1];
	uint64_t mark[2];
	if (entry->unwind_header) {
		if (!cairn_stack_is_readable(entry->unwind_header) || !cairn_stack_is_readable(entry->unwind_header + 8))
			return false;
		read_mark(entry->unwind_header, mark);
		if (mark[0] != entry->mark[0] || mark[1] != entry->mark[1])
			return false;
	}
	return !entry->id_at || (cairn_stack_is_readable(entry->id_at) && cairn_stack_is_readable(entry->id_at + entry->id_size - 8) &&
				 memcmp((const void *)entry->id_at, entry->id, entry->id_size) == 0);
}

/* What the loader lists, compared with what is known. */
struct census {
	bool changed;
	bool loaded[CAIRN_KNOWN_MOST];
};

static int note_loaded(struct dl_phdr_info *info, size_t size, void *opaque)
{
	(void)size;
	struct census *census = opaque;
	const struct cairn_object object = {"", false, (uintptr_t)info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum};
	struct cairn_bytes id = cairn_object_build_id(&object);
	struct cairn_place place = {.name = info->dlpi_name ? info->dlpi_name : ""};
	for (unsigned i = 0; i < count(); i++) {
		const struct cairn_known *entry = &known.list[i];
		if (!is_usable(i) || entry->segment_count == 0 || !cairn_object_executes(&object, entry->code_at))
			continue;
		place.start = entry->start;
		census->loaded[i] = entry->id_at ? id.length == entry->id_size && memcmp(id.data, entry->id, id.length) == 0
						 : entry->headers == hash_headers(&place, entry->has_headers);
	}
	return 0;
}

static int note_unloads(struct dl_phdr_info *info, size_t size, void *opaque)
{
	struct census *census = opaque;
	census->changed = size < sizeof *info || known.unloads != info->dlpi_subs;
	known.unloads = info->dlpi_subs;
	return 1;
}

void cairn_known_retire(void)
{
	struct census census = {.changed = true};
	if (!atomic_load(&known.has_anonymous))
		return;
	cairn_loader_visit(note_unloads, &census);
	if (!census.changed)
		return;
	cairn_loader_visit(note_loaded, &census);
	for (unsigned i = 0; i < count(); i++)
		if (is_usable(i) && known.list[i].segment_count && !known.list[i].id_at && !census.loaded[i])
			atomic_store(&known.retired[i], true);
}

void cairn_known_unloaded(void (*visit)(void *context, const struct cairn_known *known), void *context)
{
	struct census census = {0};
	cairn_loader_visit(note_loaded, &census);
	for (unsigned i = 0; i < count(); i++)
		if (atomic_load_explicit(&known.ready[i], memory_order_acquire) && known.list[i].segment_count && !census.loaded[i] &&
		    known.list[i].path[0])
			visit(context, &known.list[i]);
}
