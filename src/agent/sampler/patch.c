/* patch.c - walking relocations (gABI "Relocation"; x86-64 and AArch64 psABI for their types).
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/patch.h"

#include "agent/sampler/hooks.h"
#include "agent/sampler/inside_blocks.h"
#include "agent/sampler/loaded.h"
#include "agent/sampler/sample.h"
#include "agent/unwind/dynamic.h"
#include "arch/arch.h"
#include "base/path.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	bool prepared;
	bool usual; /* malloc is libc's, as it is unless the host has brought another */
	bool is_program;
	char allocator[256];
	uintptr_t allocator_bias, own_bias, loader_bias;
	uintptr_t malloc;
	bool hooked[CAIRN_HOOK_ENTRIES_MOST]; /* by entry */
	atomic_flag busy;
	uint64_t relocations; /* that were looked at */
} patch = {.busy = ATOMIC_FLAG_INIT};

/* Finding the allocator. */

struct search {
	const char *name;
	uintptr_t found, bias;
	char path[256];
	bool program, libc;
};

static bool is_libc(const char *path)
{
	const char *name = cairn_base_name(path);
	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2", 6) == 0;
}

/* The loader's own copies of malloc serve it alone before libc is there. */
static bool is_loader(const char *path)
{
	const char *name = cairn_base_name(path);
	return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-2", 4) == 0;
}

static bool search_object(void *context, const struct cairn_object *module)
{
	struct search *search = context;
	struct cairn_dynamic dynamic;
	if (!module->path[0] || is_loader(module->path) || !cairn_dynamic_open(&dynamic, module))
		return false;
	search->found = cairn_dynamic_find(&dynamic, search->name);
	if (!search->found)
		return false;
	search->bias = module->bias;
	search->program = module->program;
	search->libc = !module->program && is_libc(module->path);
	snprintf(search->path, sizeof search->path, "%s", module->program ? "" : module->path);
	return true;
}

/* The first object that defines NAME, in the order in which the loader looks. */
static bool find(const char *name, struct search *search)
{
	*search = (struct search){.name = name};
	return cairn_objects_visit(search_object, search);
}

static bool find_own(void *context, const struct cairn_object *module)
{
	(void)context;
	if (is_loader(module->path))
		patch.loader_bias = module->bias;
	if (cairn_object_executes(module, (uintptr_t)cairn_patch_apply) && !module->program)
		patch.own_bias = module->bias;
	return false;
}

static bool refuse_sanitizers(struct cairn_error *error)
{
	static const struct {
		const char *symbol, *name;
	} sanitizers[] = {{"__asan_init", "AddressSanitizer"}, {"__tsan_init", "ThreadSanitizer"}, {"__msan_init", "MemorySanitizer"},
			  {"__hwasan_init", "HWAddressSanitizer"}};
	struct search search;
	for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++)
		if (find(sanitizers[i].symbol, &search))
			return cairn_fail(error,
					  "this program is built with %s, whose malloc must be left alone; profile a build without it",
					  sanitizers[i].name);
	return true;
}

static bool is_of_allocator(const struct search *found)
{
	return found->bias == patch.allocator_bias && found->program == patch.is_program;
}

/* Whether calls of ENTRY, whose function was FOUND, go to its hook. */
static bool is_hooked(const struct cairn_hook_entry *entry, const struct search *found)
{
	if (entry->unless_libc && found->libc)
		return false;
	/* libc's, or those of tcmalloc, which call libc's. */
	if (entry->of_mappings)
		return !patch.is_program && (found->libc || is_of_allocator(found));
	/* A relative of another object (libstdc++'s operator new) calls malloc, and is seen there. */
	return entry->of_loader || is_of_allocator(found);
}

bool cairn_patch_prepare(struct cairn_error *error)
{
	struct search malloc_search, search;
	if (patch.prepared)
		return true;
	if (!refuse_sanitizers(error))
		return false;
	if (!find("malloc", &malloc_search))
		return cairn_fail(error, "no loaded object exports malloc; a static program reports its memory by cairn_heap_allocated");
	memcpy(patch.allocator, malloc_search.path, sizeof patch.allocator);
	patch.malloc = malloc_search.found;
	patch.allocator_bias = malloc_search.bias;
	patch.is_program = malloc_search.program;
	patch.usual = malloc_search.libc;
	cairn_objects_visit(find_own, NULL);
	for (size_t i = 0; i < cairn_hook_entry_count; i++)
		if (find(cairn_hook_entries[i].name, &search) && is_hooked(&cairn_hook_entries[i], &search)) {
			*cairn_hook_entries[i].real = (cairn_hook_function *)search.found;
			patch.hooked[i] = true;
		}
	if (find("malloc_usable_size", &search) && is_of_allocator(&search))
		cairn_sampling.usable_size = (size_t(*)(void *))search.found;
	patch.prepared = true;
	return true;
}

const char *cairn_patch_allocator(void)
{
	return patch.allocator;
}

bool cairn_patch_allocator_is_program(void)
{
	return patch.prepared && patch.is_program;
}

bool cairn_patch_sees_malloc(void)
{
	return patch.prepared && (!patch.is_program || cairn_inside_counts(patch.malloc));
}

/* Changing relocations. */

struct walk {
	bool install;
	void (*see)(const struct cairn_object *object); /* NULL for nobody */
	unsigned slots; /* of the object */
};

/* The object whose relocations are being changed. */
struct target {
	const struct cairn_object *module;
	struct cairn_dynamic dynamic;
	uintptr_t start, end;             /* all of it */
	uintptr_t relro_start, relro_end; /* whole pages that are read-only once it is loaded; empty for none */
	bool writable;                    /* these pages are, for now */
	enum cairn_loaded_state state;
};

static void set_state(struct target *target, enum cairn_loaded_state state)
{
	target->state = state > target->state ? state : target->state;
}

static void measure(struct target *target)
{
	target->start = UINTPTR_MAX;
	for (size_t i = 0; i < target->module->headers_count; i++) {
		const ElfW(Phdr) *header = &target->module->headers[i];
		uintptr_t start = target->module->bias + header->p_vaddr, end = start + header->p_memsz;
		if (header->p_type == PT_LOAD) {
			target->start = start < target->start ? start : target->start;
			target->end = end > target->end ? end : target->end;
		} else if (header->p_type == PT_GNU_RELRO) {
			uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
			target->relro_start = start & ~(page - 1);
			target->relro_end = end & ~(page - 1);
		}
	}
}

/* Whether SLOT is data of the object: it has relocations in code, too, where it was built so. */
static bool is_data(const struct target *target, uintptr_t slot)
{
	for (size_t i = 0; i < target->module->headers_count; i++) {
		const ElfW(Phdr) *header = &target->module->headers[i];
		if (header->p_type == PT_LOAD && (header->p_flags & PF_W) &&
		    slot - (target->module->bias + header->p_vaddr) < header->p_memsz)
			return slot % 8 == 0;
	}
	return false;
}

/* The kernel adds 0 to the word if it may be written, and says EFAULT if not. */
static bool is_writable(uintptr_t address)
{
	int saved = errno;
	uint32_t waiters = 0;
	bool writable = syscall(SYS_futex, &waiters, FUTEX_WAKE_OP, 0, 0, address, FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)) >= 0;
	errno = saved;
	return writable;
}

/* False where SLOT cannot be written now. */
static bool prepare_slot(struct target *target, uintptr_t slot)
{
	if (slot < target->relro_start || slot >= target->relro_end || target->writable)
		return true;
	if (is_writable(slot))
		set_state(target, CAIRN_LOADED_BEGUN);
	else if (mprotect((void *)target->relro_start, target->relro_end - target->relro_start, PROT_READ | PROT_WRITE) != 0)
		set_state(target, CAIRN_LOADED_UNBOUND); /* nothing may be changed here at all */
	else
		target->writable = true;
	return target->writable;
}

static const struct cairn_hook_entry *find_by_address(uintptr_t address, bool of_hooks)
{
	for (size_t i = 0; i < cairn_hook_entry_count; i++)
		if (patch.hooked[i] && address == (uintptr_t)(of_hooks ? cairn_hook_entries[i].hook : *cairn_hook_entries[i].real))
			return &cairn_hook_entries[i];
	return NULL;
}

static const struct cairn_hook_entry *find_by_name(const char *name)
{
	for (size_t i = 0; i < cairn_hook_entry_count; i++)
		if (patch.hooked[i] && strcmp(cairn_hook_entries[i].name, name) == 0)
			return &cairn_hook_entries[i];
	return NULL;
}

/* A relocation that is bound by the first call leads back into its own object until then. What the loader will find is what everybody
 * finds, but where an object prefers its own libraries (RTLD_DEEPBIND): that cannot be seen, so where it would matter, because libc is not
 * the allocator, only the program itself and libc are taken to be as usual. */
static const struct cairn_hook_entry *find_unbound(struct target *target, const ElfW(Rela) *relocation, uintptr_t value)
{
	const ElfW(Sym) *symbol = &target->dynamic.symbols[ELF64_R_SYM(relocation->r_info)];
	/* libc has relocations of functions that it defines itself. Bound to its own, an object has no need of others. */
	bool is_own = symbol->st_shndx != SHN_UNDEF && value == target->module->bias + symbol->st_value;
	if (value < target->start || value >= target->end || is_own)
		return NULL;
	const struct cairn_hook_entry *entry = find_by_name(target->dynamic.names + symbol->st_name);
	if (!entry || patch.usual || target->module->program || is_libc(target->module->path))
		return entry;
	set_state(target, CAIRN_LOADED_UNBOUND);
	return NULL;
}

/* Before the loader comes to it, a slot holds an address within the file, or 0. It then stays 0 only for a weak symbol that nobody defines,
 * and the functions that are hooked are defined. */
static bool is_waiting(const struct target *target, const ElfW(Rela) *relocation, uintptr_t value)
{
	return value < target->end - target->start && target->module->bias != 0 &&
	       find_by_name(target->dynamic.names + target->dynamic.symbols[ELF64_R_SYM(relocation->r_info)].st_name);
}

static void change_slot(struct walk *walk, struct target *target, const ElfW(Rela) *relocation)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
	enum { jump_slot = CAIRN_ARCH_JUMP_SLOT, global_data = CAIRN_ARCH_GLOBAL_DATA, absolute = CAIRN_ARCH_ABSOLUTE };
	if ((type != jump_slot && type != global_data && type != absolute) || (type == absolute && relocation->r_addend != 0))
		return;
	uintptr_t slot = target->module->bias + relocation->r_offset;
	if (!is_data(target, slot))
		return;
	_Atomic uintptr_t *word = (_Atomic uintptr_t *)slot;
	uintptr_t value = atomic_load_explicit(word, memory_order_relaxed), wanted;
	if (find_by_address(value, true)) {
		wanted = (uintptr_t)*find_by_address(value, true)->real;
		walk->slots++;
		if (walk->install && !cairn_inside_counts(wanted))
			return;
	} else if (!walk->install) {
		return;
	} else {
		const struct cairn_hook_entry *entry = find_by_address(value, false);
		if (!entry && is_waiting(target, relocation, value))
			set_state(target, CAIRN_LOADED_BEGUN);
		else if (!entry && type == jump_slot)
			entry = find_unbound(target, relocation, value);
		if (!entry || cairn_inside_counts((uintptr_t)*entry->real))
			return;
		wanted = (uintptr_t)entry->hook;
	}
	if (!prepare_slot(target, slot))
		return;
	if (atomic_compare_exchange_strong(word, &value, wanted))
		walk->slots += find_by_address(wanted, true) ? 1 : (unsigned)-1;
}

/* The allocator's own calls of itself are no calls of the host. libc is more than an allocator. */
static bool is_left_alone(const struct cairn_object *module)
{
	if (!module->path[0] || module->bias == patch.own_bias || (patch.loader_bias && module->bias == patch.loader_bias))
		return !module->program;
	return !patch.usual && module->bias == patch.allocator_bias && module->program == patch.is_program && !module->program;
}

static void change_object(void *context, const struct cairn_object *module, struct cairn_loaded *loaded)
{
	struct walk *walk = context;
	struct target target = {.module = module};
	if (walk->see)
		walk->see(module);
	if (is_left_alone(module) || !cairn_dynamic_open(&target.dynamic, module))
		return;
	measure(&target);
	walk->slots = 0;
	for (size_t i = 0; i < target.dynamic.plt.count; i++)
		change_slot(walk, &target, &target.dynamic.plt.entries[i]);
	for (size_t i = 0; i < target.dynamic.data.count; i++)
		change_slot(walk, &target, &target.dynamic.data.entries[i]);
	if (target.writable)
		mprotect((void *)target.relro_start, target.relro_end - target.relro_start, PROT_READ);
	patch.relocations += target.dynamic.plt.count + target.dynamic.data.count;
	loaded->is_counted = 1;
	loaded->slots = walk->slots;
	loaded->state = (unsigned char)target.state;
}

static bool apply(bool install, bool anew, struct cairn_patch_counts *counts)
{
	if (!patch.prepared || atomic_flag_test_and_set(&patch.busy))
		return false;
	struct cairn_loaded_sums sums;
	if (anew)
		cairn_loaded_forget();
	cairn_loaded_visit(change_object, &(struct walk){.install = install}, CAIRN_LOADED_UNBOUND, &sums);
	if (!install)
		cairn_loaded_forget();
	atomic_flag_clear(&patch.busy);
	if (counts)
		*counts = (struct cairn_patch_counts){sums.objects, sums.slots, sums.pending};
	return true;
}

bool cairn_patch_apply(bool install, struct cairn_patch_counts *counts)
{
	return apply(install, !install, counts);
}

bool cairn_patch_renew(struct cairn_patch_counts *counts)
{
	return apply(true, true, counts);
}

static bool try(bool anew, void (*see)(const struct cairn_object *object))
{
	if (!patch.prepared || atomic_flag_test_and_set(&patch.busy))
		return false;
	if (anew)
		cairn_loaded_forget();
	bool done = cairn_loaded_try_visit(change_object, &(struct walk){.install = true, .see = see});
	atomic_flag_clear(&patch.busy);
	return done;
}

bool cairn_patch_try(void (*see)(const struct cairn_object *object))
{
	return try(false, see);
}

bool cairn_patch_try_renew(void)
{
	return try(true, NULL);
}

static int see_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
	if (size >= sizeof *info)
		*(uint64_t *)context = info->dlpi_adds;
	return 1;
}

uint64_t cairn_patch_loaded(void)
{
	uint64_t count = 0;
	cairn_loader_visit(see_loaded, &count);
	return count;
}

void cairn_patch_work(uint64_t *relocations, uint64_t *objects)
{
	*relocations = patch.relocations;
	*objects = cairn_loaded_looked();
}

void cairn_patch_in_child(void)
{
	if (atomic_flag_test_and_set(&patch.busy)) /* it may have left the list half made */
		cairn_loaded_forget();
	atomic_flag_clear(&patch.busy);
}
