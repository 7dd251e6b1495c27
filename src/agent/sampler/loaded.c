/* loaded.c - the list of known objects, and how it follows the loader's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/loaded.h"

#include "agent/unwind/stack.h"

#include <elf.h>
#include <sys/mman.h>

/* The kernel allows a process 65,530 mappings, and an object has several. VISITS_MOST: an object that is not complete by then waits for the
 * look once a second. */
enum { most = 1 << 16, visits_most = 4 };

static struct {
	struct cairn_loaded *list; /* in the loader's order. Reserved, not allocated; a forked child has a copy */
	size_t count, begun;       /* how many are known; how many of them are not complete */
	unsigned long long adds, subs; /* the loader's counts when it was made */
	const struct link_map *last;   /* the last object of it while SUBS stays the same; NULL if unknown */
	uint64_t looked;
} known;

struct visit {
	cairn_loaded_visitor *visit;
	void *context;
	enum cairn_loaded_state least;
	struct cairn_loaded_sums sums;
	size_t number;     /* of the object in the loader's list */
	size_t old;        /* so many of the loader's list were there at the last visit */
	size_t at, kept;   /* in the list of known ones: the next to compare with, and where the next is put */
	size_t begun;
	unsigned long long adds, subs;
	const struct link_map *last;
	size_t linked;     /* the length of the list that ends in LAST */
	bool complete;     /* the list was made anew */
};

static void look_at(struct visit *visit, const struct cairn_object *object, struct cairn_loaded *loaded)
{
	loaded->slots = 0;
	loaded->is_counted = 0;
	loaded->state = CAIRN_LOADED_DONE;
	visit->visit(visit->context, object, loaded);
	if (loaded->state == CAIRN_LOADED_BEGUN && ++loaded->visits >= visits_most)
		loaded->state = CAIRN_LOADED_UNBOUND;
}

static void keep(struct visit *visit, const struct cairn_loaded *loaded)
{
	visit->begun += loaded->state == CAIRN_LOADED_BEGUN;
	visit->sums.objects += loaded->is_counted;
	visit->sums.slots += loaded->slots;
	visit->sums.pending += loaded->state != CAIRN_LOADED_DONE;
	if (known.list && visit->kept < most)
		known.list[visit->kept++] = *loaded;
}

/* MAP is in the loader's list, which does not show the program headers: they are where the ELF header is, which is at the beginning of a
 * library. False if it is not, or not that of MAP. */
static bool describe(const struct link_map *map, struct cairn_object *object)
{
	const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)map->l_addr;
	if (map->l_addr % 4096 != 0 || !cairn_stack_is_readable(map->l_addr) || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_phentsize != sizeof(ElfW(Phdr)) || elf->e_phoff > 4096 || elf->e_phnum > (4096 - elf->e_phoff) / sizeof(ElfW(Phdr)))
		return false;
	*object = (struct cairn_object){.path = map->l_name ? map->l_name : "", .bias = map->l_addr};
	object->headers = (const ElfW(Phdr) *)(map->l_addr + elf->e_phoff);
	object->headers_count = elf->e_phnum;
	for (size_t i = 0; i < object->headers_count; i++)
		if (object->headers[i].p_type == PT_DYNAMIC)
			return map->l_addr + object->headers[i].p_vaddr == (uintptr_t)map->l_ld;
	return false;
}

/* Visits what follows the last known object. False if the whole list has to be visited. */
static bool visit_end(struct visit *visit)
{
	struct cairn_object object;
	if (!known.list || !known.last || visit->subs != known.subs || known.begun || visit->least < CAIRN_LOADED_BEGUN)
		return false;
	visit->kept = known.count;
	for (const struct link_map *map = known.last->l_next; map; map = map->l_next) {
		if (known.count == most || !describe(map, &object))
			return false;
		struct cairn_loaded loaded = {.bias = object.bias, .headers = object.headers};
		known.looked++;
		look_at(visit, &object, &loaded);
		keep(visit, &loaded);
		known.count = visit->kept;
		known.last = map;
	}
	known.begun = visit->begun;
	known.adds = visit->adds;
	return true;
}

static int count_one(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)info, (void)size;
	++*(size_t *)context;
	return 0;
}

/* The loader's lock is held, and is recursive. */
static size_t count_old(const struct visit *visit)
{
	size_t all = 0;
	if (!known.list || visit->subs == known.subs)
		return known.count;
	dl_iterate_phdr(count_one, &all);
	unsigned long long added = visit->adds - known.adds;
	return all > added ? all - (size_t)added : 0;
}

/* The loader's list ends in the object that it will put the next one behind. The program's dynamic section says where it begins. */
static void find_last(struct visit *visit, const struct cairn_object *program)
{
	const ElfW(Dyn) *dynamic = NULL;
	for (size_t i = 0; i < program->headers_count; i++)
		if (program->headers[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(program->bias + program->headers[i].p_vaddr);
	while (dynamic && dynamic->d_tag != DT_NULL && dynamic->d_tag != DT_DEBUG)
		dynamic++;
	const struct r_debug *debug = dynamic && dynamic->d_tag == DT_DEBUG ? (const struct r_debug *)dynamic->d_un.d_ptr : NULL;
	for (const struct link_map *map = debug ? debug->r_map : NULL; map; map = map->l_next) {
		visit->last = map;
		visit->linked++;
	}
}

/* Where the known ones go on with OBJECT. */
static bool is_known(struct visit *visit, const struct cairn_object *object)
{
	if (!known.list || visit->number >= visit->old)
		return false;
	while (visit->at < known.count && (known.list[visit->at].bias != object->bias || known.list[visit->at].headers != object->headers))
		visit->at++;
	return visit->at < known.count;
}

static int visit_one(struct dl_phdr_info *info, size_t size, void *context)
{
	struct visit *visit = context;
	struct cairn_object object = cairn_object_of(info, visit->number == 0);
	if (visit->number == 0) {
		bool has_counts = size >= sizeof *info;
		visit->adds = has_counts ? info->dlpi_adds : 0;
		visit->subs = has_counts ? info->dlpi_subs : 0;
		if (has_counts && visit_end(visit))
			return 1;
		visit->old = has_counts ? count_old(visit) : 0;
		visit->kept = visit->begun = 0;
		visit->sums = (struct cairn_loaded_sums){0};
		find_last(visit, &object);
		visit->complete = true;
	}
	known.looked++;
	bool old = is_known(visit, &object);
	struct cairn_loaded loaded = {.bias = object.bias, .headers = object.headers};
	if (old)
		loaded = known.list[visit->at++];
	if (!old || loaded.state >= (int)visit->least)
		look_at(visit, &object, &loaded);
	keep(visit, &loaded);
	visit->number++;
	return 0;
}

static void finish(struct visit *visit)
{
	if (!visit->complete)
		return;
	known.count = visit->kept;
	known.begun = visit->begun;
	known.adds = visit->adds;
	known.subs = visit->subs;
	known.last = visit->linked == visit->number && visit->kept == visit->number ? visit->last : NULL;
}

static void prepare(void)
{
	if (known.list)
		return;
	void *memory = mmap(NULL, most * sizeof *known.list, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	known.list = memory != MAP_FAILED ? memory : NULL; /* without it, all objects are visited each time */
	known.count = 0;
}

void cairn_loaded_visit(cairn_loaded_visitor *visitor, void *context, enum cairn_loaded_state least, struct cairn_loaded_sums *sums)
{
	struct visit visit = {.visit = visitor, .context = context, .least = least};
	prepare();
	cairn_loader_visit(visit_one, &visit);
	finish(&visit);
	if (sums)
		*sums = visit.sums;
}

bool cairn_loaded_try_visit(cairn_loaded_visitor *visitor, void *context)
{
	struct visit visit = {.visit = visitor, .context = context, .least = CAIRN_LOADED_BEGUN};
	prepare();
	bool visited = cairn_loader_try_visit(visit_one, &visit);
	finish(&visit);
	return visited && known.begun == 0;
}

void cairn_loaded_forget(void)
{
	known.count = known.begun = 0;
	known.last = NULL;
}

uint64_t cairn_loaded_looked(void)
{
	return known.looked;
}
