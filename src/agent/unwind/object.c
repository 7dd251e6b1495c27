/* object.c - ELF in memory: PT_DYNAMIC, symbol tables, notes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/object.h"

#include "base/time.h"
#include "process/clock.h"

#include <elf.h>
#include <stdatomic.h>
#include <time.h>

static struct {
	atomic_int visits, forks; /* under way */
} loader;

/* Forks of this thread that are under way. */
static _Thread_local int own_forks __attribute__((tls_model("initial-exec")));

static void wait_a_little(void)
{
	nanosleep(&(struct timespec){0, 100000}, NULL);
}

/* Each says first what it is about to do and looks at the other then: of two at once at least one sees it. A thread that forks itself
 * is in a fork handler, and ends its visit before the fork goes on. */
static bool begin_visit(void)
{
	atomic_fetch_add(&loader.visits, 1);
	if (atomic_load(&loader.forks) <= own_forks)
		return true;
	atomic_fetch_sub(&loader.visits, 1);
	return false;
}

void cairn_loader_leave(void)
{
	atomic_fetch_sub(&loader.visits, 1);
}

void cairn_loader_enter(void)
{
	static const int64_t wait_most = 2 * CAIRN_SECOND_NS;
	bool begun = begin_visit();
	for (int64_t start = cairn_clock_ns(); !begun && cairn_clock_ns() - start < wait_most;) {
		wait_a_little();
		begun = begin_visit();
	}
	if (!begun)
		atomic_fetch_add(&loader.visits, 1);
}

int cairn_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context)
{
	cairn_loader_enter();
	int result = dl_iterate_phdr(visit, context);
	cairn_loader_leave();
	return result;
}

bool cairn_loader_try_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context)
{
	if (!begin_visit())
		return false;
	dl_iterate_phdr(visit, context);
	cairn_loader_leave();
	return true;
}

void cairn_loader_before_fork(void)
{
	/* Not for ever: the visit may itself wait for the thread that forks, if that holds the loader's lock. */
	static const int64_t wait_most = CAIRN_SECOND_NS / 10;
	bool has_waited = own_forks++ > 0; /* it is called twice (start.c), and a fork handler may fork */
	atomic_fetch_add(&loader.forks, 1);
	if (has_waited || atomic_load(&loader.visits) == 0)
		return;
	for (int64_t start = cairn_clock_ns(); atomic_load(&loader.visits) > 0 && cairn_clock_ns() - start < wait_most;)
		wait_a_little();
}

/* Where a fork handler has forked, its child comes here too, which has no fork under way any more. */
void cairn_loader_after_fork(void)
{
	if (own_forks == 0)
		return;
	own_forks--;
	atomic_fetch_sub(&loader.forks, 1);
}

void cairn_loader_in_child(void)
{
	own_forks = 0;
	atomic_store(&loader.forks, 0);
	atomic_store(&loader.visits, 0);
}

struct visit {
	bool (*visit)(void *context, const struct cairn_object *module);
	void *context;
	bool first;
};

struct cairn_object cairn_object_of(const struct dl_phdr_info *info, bool first)
{
	return (struct cairn_object){
		.path = first ? "/proc/self/exe" : info->dlpi_name ? info->dlpi_name : "",
		.program = first,
		.bias = (uintptr_t)info->dlpi_addr,
		.headers = info->dlpi_phdr,
		.headers_count = info->dlpi_phnum,
	};
}

static int visit_one(struct dl_phdr_info *info, size_t size, void *opaque)
{
	(void)size;
	struct visit *visit = opaque;
	struct cairn_object module = cairn_object_of(info, visit->first);
	visit->first = false;
	return visit->visit(visit->context, &module);
}

bool cairn_objects_visit(bool (*visit)(void *context, const struct cairn_object *module), void *context)
{
	return cairn_loader_visit(visit_one, &(struct visit){visit, context, true}) != 0;
}

bool cairn_object_executes(const struct cairn_object *module, uintptr_t address)
{
	for (size_t i = 0; i < module->headers_count; i++) {
		const ElfW(Phdr) *header = &module->headers[i];
		if (header->p_type == PT_LOAD && (header->p_flags & PF_X) && address - (module->bias + header->p_vaddr) < header->p_memsz)
			return true;
	}
	return false;
}

/* How many entries the dynamic symbol table has: it does not say, but its hash tables do. */
static size_t count_symbols(const uint32_t *gnu, const uint32_t *sysv)
{
	if (sysv)
		return sysv[1];
	if (!gnu)
		return 0;
	uint32_t buckets_count = gnu[0], first = gnu[1], bloom_words = gnu[2];
	const uint32_t *buckets = gnu + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chains = buckets + buckets_count;
	uint32_t last = 0;
	for (uint32_t i = 0; i < buckets_count; i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < first)
		return first;
	while (!(chains[last - first] & 1))
		last++;
	return (size_t)last + 1;
}

bool cairn_object_exported(const struct cairn_object *module, const char *suffix, cairn_symbol_visitor *see, void *context)
{
	const ElfW(Dyn) *dynamic = NULL;
	for (size_t i = 0; i < module->headers_count; i++)
		if (module->headers[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(module->bias + module->headers[i].p_vaddr);
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	const uint32_t *gnu = NULL, *sysv = NULL;
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		uintptr_t address = (uintptr_t)dynamic->d_un.d_ptr;
		if (address < module->bias) /* the vdso's table is not relocated, everybody else's is */
			address += module->bias;
		if (dynamic->d_tag == DT_SYMTAB)
			symbols = (const ElfW(Sym) *)address;
		else if (dynamic->d_tag == DT_STRTAB)
			names = (const char *)address;
		else if (dynamic->d_tag == DT_GNU_HASH)
			gnu = (const uint32_t *)address;
		else if (dynamic->d_tag == DT_HASH)
			sysv = (const uint32_t *)address;
	}
	if (!symbols || !names)
		return false;
	size_t count = count_symbols(gnu, sysv);
	for (size_t i = 0; i < count; i++) {
		const ElfW(Sym) *symbol = &symbols[i];
		if (symbol->st_shndx == SHN_UNDEF || (symbol->st_info & 15) != STT_FUNC ||
		    !cairn_bytes_end_with(cairn_bytes_of(names + symbol->st_name), suffix))
			continue;
		if (see(context, module, names + symbol->st_name, module->bias + symbol->st_value))
			return true;
	}
	return false;
}

static struct cairn_bytes find_note(const char *at, size_t length)
{
	const char *end = at + length;
	while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
		size_t name_size = (note->n_namesz + 3) & ~(size_t)3, size = sizeof *note + name_size + ((note->n_descsz + 3) & ~(size_t)3);
		if (size > (size_t)(end - at))
			break;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(note + 1, "GNU", 4) == 0)
			return (struct cairn_bytes){at + sizeof *note + name_size, note->n_descsz};
		at += size;
	}
	return (struct cairn_bytes){"", 0};
}

struct cairn_bytes cairn_object_build_id(const struct cairn_object *module)
{
	for (size_t i = 0; i < module->headers_count; i++) {
		const ElfW(Phdr) *header = &module->headers[i];
		if (header->p_type != PT_NOTE)
			continue;
		struct cairn_bytes id = find_note((const char *)(module->bias + header->p_vaddr), header->p_memsz);
		if (id.length > 0)
			return id;
	}
	return (struct cairn_bytes){"", 0};
}
