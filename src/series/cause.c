/* cause.c - weighs the causes against each other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/cause.h"

#include "base/sort.h"
#include "base/text.h"
#include "series/remedies.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* What is less than this share of the whole is no reason worth a line. */
static const double worth_saying = 0.02;

/* Memory that is zero because of huge pages is counted a second time, in the heap or among the mappings. It is the cause if it is this
 * large a part of any other. */
static const double huge_part = 2.0 / 3;

/* Arenas beside the main one are a cause of their own if they are at least so many and have that share of the free memory. */
enum { arenas_many = 8 };
static const double arenas_part = 2.0 / 3;

static const double hours_of_day = 24;

static const char *const names[] = {
	[CAIRN_CAUSE_GROWTH] = "growth", [CAIRN_CAUSE_CACHE] = "cache", [CAIRN_CAUSE_LIVE] = "live",
	[CAIRN_CAUSE_BEFORE] = "before", [CAIRN_CAUSE_UNREAD] = "unread",
	[CAIRN_CAUSE_RETENTION] = "retention", [CAIRN_CAUSE_THREADS] = "threads",
	[CAIRN_CAUSE_MAPPINGS] = "mappings", [CAIRN_CAUSE_HUGE_PAGES] = "huge_pages",
	[CAIRN_CAUSE_VARIABLES] = "variables", [CAIRN_CAUSE_FILES] = "files",
	[CAIRN_CAUSE_TMPFS] = "tmpfs", [CAIRN_CAUSE_PAGE_CACHE] = "page_cache", [CAIRN_CAUSE_SLAB] = "slab",
	[CAIRN_CAUSE_SOCKETS] = "sockets",
};
static_assert(sizeof names / sizeof *names == CAIRN_CAUSE_KINDS, "every cause has a name");

const char *cairn_cause_name(enum cairn_cause_kind kind)
{
	return names[kind];
}

struct weighing {
	const struct cairn_cause_facts *facts;
	struct cairn_causes *causes;
	double weights[CAIRN_CAUSE_KINDS]; /* bytes, or for growth what it will be */
	double bytes[CAIRN_CAUSE_KINDS];
	double stacks;
	struct {
		double free, returnable; /* that the allocator itself has counted in a heap that could not be read */
	} unread;
	struct cairn_walk_sum arenas; /* those that exist because there are threads */
};

static double line(const struct weighing *weighing, enum cairn_bill_line number)
{
	return (double)weighing->facts->bill->lines[number];
}

static bool is_walked(const struct cairn_walk *walk)
{
	for (size_t i = 0; i < walk->heap_count; i++)
		if (walk->heaps[i].is_read)
			return true;
	return false;
}

/* Adds what the allocator itself has counted, or the profile. Returns how much that is. */
static double take_bill(struct weighing *weighing)
{
	struct cairn_causes *causes = weighing->causes;
	double live = line(weighing, CAIRN_BILL_LIVE) + line(weighing, CAIRN_BILL_SLACK) + line(weighing, CAIRN_BILL_SAMPLED) +
		      line(weighing, CAIRN_BILL_BEFORE);
	double returnable = line(weighing, CAIRN_BILL_DIRTY) + line(weighing, CAIRN_BILL_MUZZY);
	double reserved = line(weighing, CAIRN_BILL_FREE) + line(weighing, CAIRN_BILL_TOP) + line(weighing, CAIRN_BILL_FAST) +
			  line(weighing, CAIRN_BILL_RETAINED);
	double free = line(weighing, CAIRN_BILL_CACHE) + returnable + line(weighing, CAIRN_BILL_UNUSED) + reserved;
	causes->live += live;
	causes->cached += line(weighing, CAIRN_BILL_CACHE);
	causes->returnable += returnable;
	causes->returnable_group += returnable;
	causes->pinned += line(weighing, CAIRN_BILL_UNUSED);
	causes->reserved += reserved;
	causes->free += free;
	return live + free;
}

/* Free and live memory, from the walk or, where no heap could be read, from the bill. */
static void take_heap(struct weighing *weighing)
{
	struct cairn_causes *causes = weighing->causes;
	const struct cairn_cause_facts *facts = weighing->facts;
	const struct cairn_walk_sum *sum = &facts->walk->sum;
	causes->knows_free = facts->bill->has_allocator || is_walked(facts->walk);
	if (is_walked(facts->walk)) {
		causes->live = (double)sum->live;
		causes->cached = (double)sum->cached;
		causes->returnable = (double)sum->returnable;
		causes->returnable_group = (double)sum->returnable_group;
		causes->pinned = (double)sum->pinned;
		causes->reserved = (double)sum->reserved;
		causes->free = (double)sum->resident_free + causes->cached;
		return;
	}
	if (!cairn_walk_unread(facts->walk))
		take_bill(weighing);
}

/* What the program mapped itself: private memory beside the heaps. */
static double outside_of(const struct weighing *weighing)
{
	static const enum cairn_smaps_kind kinds[] = {CAIRN_SMAPS_NORESERVE, CAIRN_SMAPS_ANONYMOUS, CAIRN_SMAPS_ARENA, CAIRN_SMAPS_HEAP,
						      CAIRN_SMAPS_HINTED, CAIRN_SMAPS_MAPPED};
	double sum = 0;
	if (!weighing->facts->walk->heap_count)
		return line(weighing, CAIRN_BILL_MAPPED) + line(weighing, CAIRN_BILL_ANONYMOUS);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		sum += (double)weighing->facts->bill_facts->smaps.kinds[kinds[i]].rss;
	for (size_t i = 0; i < weighing->facts->walk->heap_count; i++) /* what a walk has not found is a heap's all the same */
		sum -= (double)weighing->facts->walk->heaps[i].difference;
	return fmax(0, sum - (double)weighing->facts->walk->sum.resident);
}

/* What lies outside of the heaps that were read is, if there is another, its own, but for what the program is known to have mapped. What is
 * live and free of it, the allocator or the profile may say. */
static void take_unread(struct weighing *weighing)
{
	const struct cairn_cause_facts *facts = weighing->facts;
	struct cairn_causes *causes = weighing->causes;
	double unread = fmax(0, causes->outside - facts->mapped_bytes), known;
	if (!cairn_walk_unread(facts->walk))
		return;
	causes->outside -= unread;
	if (facts->bill->has_allocator) {
		double free = causes->free, returnable = causes->returnable;
		known = take_bill(weighing);
		weighing->unread.free = causes->free - free;
		weighing->unread.returnable = causes->returnable - returnable;
	} else {
		known = fmin(unread, fmax(0, facts->bill_facts->profile_bytes - causes->live));
		causes->live += known;
	}
	weighing->bytes[CAIRN_CAUSE_UNREAD] = fmax(0, unread - known);
}

static void take_arenas(struct weighing *weighing)
{
	for (size_t i = 0; i < weighing->facts->walk->heap_count; i++) {
		const struct cairn_walk_heap *heap = &weighing->facts->walk->heaps[i];
		if (heap->arena_count >= arenas_many && (double)heap->others.resident_free >= arenas_part * (double)heap->sum.resident_free)
			cairn_walk_add(&weighing->arenas, &heap->others);
	}
}

/* Live memory that is resident: a part of an object may never have been written to. */
static double resident_live(const struct weighing *weighing)
{
	const struct cairn_walk_sum *sum = &weighing->facts->walk->sum;
	double most = fmax(0, (double)sum->resident - (double)sum->resident_free - (double)sum->cached);
	double untouched = is_walked(weighing->facts->walk) ? fmax(0, (double)sum->live - most) : 0;
	return weighing->causes->live - untouched;
}

static void weigh_growth(struct weighing *weighing)
{
	const struct cairn_cause_growth *growth = &weighing->facts->growth;
	double live = resident_live(weighing), before = fmin(live, line(weighing, CAIRN_BILL_BEFORE));
	enum cairn_cause_kind kind = CAIRN_CAUSE_LIVE;
	if (growth->known && growth->verdict == CAIRN_GROWING)
		kind = CAIRN_CAUSE_GROWTH;
	else if (growth->known && growth->verdict == CAIRN_FILLING)
		kind = CAIRN_CAUSE_CACHE;
	double moving = kind == CAIRN_CAUSE_LIVE ? 0 : fmin(live, growth->bytes);
	weighing->bytes[CAIRN_CAUSE_BEFORE] = fmin(before, live - moving);
	weighing->bytes[CAIRN_CAUSE_LIVE] = live - moving - weighing->bytes[CAIRN_CAUSE_BEFORE];
	if (kind == CAIRN_CAUSE_LIVE)
		return;
	weighing->bytes[kind] = moving;
	if (moving >= worth_saying * weighing->causes->resident) /* what is little yet is not why there is much now */
		weighing->weights[kind] = fmin(weighing->causes->resident, moving + hours_of_day * growth->per_hour);
}

static void weigh(struct weighing *weighing)
{
	const struct cairn_cause_facts *facts = weighing->facts;
	struct cairn_causes *causes = weighing->causes;
	double *bytes = weighing->bytes;
	causes->resident = (double)facts->bill->total;
	take_heap(weighing);
	causes->outside = outside_of(weighing);
	take_unread(weighing);
	weighing->stacks = line(weighing, CAIRN_BILL_STACK);
	take_arenas(weighing);
	weigh_growth(weighing);
	bytes[CAIRN_CAUSE_THREADS] = weighing->stacks + (double)weighing->arenas.resident_free + causes->cached;
	bytes[CAIRN_CAUSE_RETENTION] = fmax(0, causes->free - (double)weighing->arenas.resident_free - causes->cached);
	bytes[CAIRN_CAUSE_MAPPINGS] = causes->outside;
	bytes[CAIRN_CAUSE_VARIABLES] = line(weighing, CAIRN_BILL_DATA);
	bytes[CAIRN_CAUSE_FILES] = line(weighing, CAIRN_BILL_FILE);
	bytes[CAIRN_CAUSE_TMPFS] = line(weighing, CAIRN_BILL_SHARED);
	/* Without a limit, what is charged to the group harms nobody. */
	if (facts->group.known && facts->group.limit) {
		double cache = (double)facts->group.file - (double)facts->group.shmem - line(weighing, CAIRN_BILL_FILE);
		bytes[CAIRN_CAUSE_TMPFS] = fmax(bytes[CAIRN_CAUSE_TMPFS], (double)facts->group.shmem);
		bytes[CAIRN_CAUSE_PAGE_CACHE] = fmax(0, cache);
		bytes[CAIRN_CAUSE_SLAB] = (double)facts->group.slab;
		bytes[CAIRN_CAUSE_SOCKETS] = (double)facts->group.sockets;
	}
	bytes[CAIRN_CAUSE_HUGE_PAGES] = facts->huge ? facts->huge->zero : 0;
	for (int i = 0; i < CAIRN_CAUSE_KINDS; i++)
		weighing->weights[i] = fmax(weighing->weights[i], bytes[i]);
	weighing->weights[CAIRN_CAUSE_HUGE_PAGES] /= huge_part;
}

/* The name of the allocator with the most free memory. */
static const char *allocator_of(const struct weighing *weighing)
{
	const struct cairn_walk *walk = weighing->facts->walk;
	const char *name = "the allocator";
	uint64_t most = 0;
	for (size_t i = 0; i < walk->heap_count; i++)
		if (walk->heaps[i].is_read && walk->heaps[i].sum.resident_free + walk->heaps[i].sum.cached >= most) {
			most = walk->heaps[i].sum.resident_free + walk->heaps[i].sum.cached;
			name = cairn_walk_name(walk->heaps[i].kind);
		}
	return cairn_walk_unread(walk) && weighing->unread.free > (double)most ? cairn_walk_name(cairn_walk_unread(walk)->kind) : name;
}

static const char *remedy_of(const struct weighing *weighing)
{
	const struct cairn_walk *walk = weighing->facts->walk;
	const char *name = "";
	uint64_t most = 0;
	for (size_t i = 0; i < walk->heap_count; i++)
		if (walk->heaps[i].sum.returnable > most) {
			most = walk->heaps[i].sum.returnable;
			name = cairn_walk_remedy(walk->heaps[i].kind);
		}
	const struct cairn_walk_heap *unread = cairn_walk_unread(walk);
	return unread && weighing->unread.returnable > (double)most ? cairn_walk_remedy(unread->kind) : name;
}

struct text {
	char *out;
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text->out + text->length, CAIRN_CAUSE_TEXT - text->length, format, arguments);
	va_end(arguments);
	if (length > 0)
		text->length += (size_t)length < CAIRN_CAUSE_TEXT - text->length ? (size_t)length : CAIRN_CAUSE_TEXT - text->length - 1;
}

static void say_pins(const struct weighing *weighing, struct text *text)
{
	char size[24];
	const struct cairn_cause_facts *facts = weighing->facts;
	const struct cairn_walk_sum *arenas = &weighing->arenas;
	double by_live = weighing->causes->pinned - (double)facts->walk->sum.pinned_by_cache;
	double pinned = fmax(0, by_live - ((double)arenas->pinned - (double)arenas->pinned_by_cache));
	size_t first = 0;
	if (!(pinned >= worth_saying * weighing->causes->resident))
		return;
	say(text, "; %s is on pages that live objects keep", cairn_text_human(pinned, size));
	while (first < facts->pin_count && !facts->pins[first].stack[0]) /* freed objects in caches */
		first++;
	if (first < facts->pin_count && facts->pins[first].bytes >= 0.1 * by_live)
		say(text, ", %.0f %% of it those of %.200s", 100 * fmin(1, facts->pins[first].bytes / by_live), facts->pins[first].name);
}

static void say_retention(const struct weighing *weighing, struct text *text)
{
	char size[24];
	const struct cairn_causes *causes = weighing->causes;
	double returnable = fmax(0, causes->returnable - (double)weighing->arenas.returnable);
	say(text, "free memory that %s keeps", allocator_of(weighing));
	if (returnable >= worth_saying * causes->resident)
		say(text, ": %s would return %s of it", remedy_of(weighing), cairn_text_human(returnable, size));
	else if (causes->knows_free && is_walked(weighing->facts->walk))
		say(text, ", which no call returns");
	say_pins(weighing, text);
}

static void say_threads(const struct weighing *weighing, struct text *text)
{
	char size[24];
	const struct {
		double bytes;
		const char *what;
	} parts[] = {{(double)weighing->arenas.resident_free, "free memory in the arenas of threads"},
		     {weighing->causes->cached, "freed objects in the allocator's caches"},
		     {weighing->stacks, "stacks"}};
	bool any = false;
	say(text, "kept for threads: ");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (parts[i].bytes >= worth_saying * weighing->causes->resident) {
			say(text, "%s%s %s", any ? ", " : "", cairn_text_human(parts[i].bytes, size), parts[i].what);
			any = true;
		}
	if ((double)weighing->arenas.returnable >= worth_saying * weighing->causes->resident)
		say(text, "; %s would return %s of it", remedy_of(weighing),
		    cairn_text_human((double)weighing->arenas.returnable, size));
}

static void say_unread(const struct cairn_walk_heap *heap, struct text *text)
{
	say(text, "in %s%s%s, whose heap cannot be read", cairn_walk_name(heap->kind), heap->version[0] ? " " : "", heap->version);
}

static void say_growth(const struct weighing *weighing, enum cairn_cause_kind kind, struct text *text)
{
	const struct cairn_cause_growth *growth = &weighing->facts->growth;
	say(text, kind == CAIRN_CAUSE_GROWTH ? "live objects that grow: %.400s" : "live objects of a cache that still fills: %.400s",
	    growth->words);
}

/* What the memory of KIND is, behind "X of the Y resident are ". */
static void describe(const struct weighing *weighing, enum cairn_cause_kind kind, struct text *text)
{
	char size[24];
	const struct cairn_cause_facts *facts = weighing->facts;
	struct cairn_bytes first = cairn_bytes_of(facts->mapper ? facts->mapper : ""), name = {0};
	switch (kind) {
	case CAIRN_CAUSE_GROWTH:
	case CAIRN_CAUSE_CACHE: say_growth(weighing, kind, text); break;
	case CAIRN_CAUSE_LIVE: say(text, "live objects: the program holds them"); break;
	case CAIRN_CAUSE_BEFORE: say(text, "live objects allocated before Cairn came, so by whom is unknown"); break;
	case CAIRN_CAUSE_UNREAD: say_unread(cairn_walk_unread(facts->walk), text); break;
	case CAIRN_CAUSE_RETENTION: say_retention(weighing, text); break;
	case CAIRN_CAUSE_THREADS: say_threads(weighing, text); break;
	case CAIRN_CAUSE_MAPPINGS:
		say(text, "mapped by the program itself, outside of malloc");
		if (cairn_text_line(&first, &name, NULL))
			say(text, ", %s of it by %.*s", cairn_text_human(fmin(facts->mapper_bytes, weighing->bytes[kind]), size),
			    (int)(name.length < 200 ? name.length : 200), name.data);
		break;
	case CAIRN_CAUSE_HUGE_PAGES: say(text, "zeroes in huge pages, which the program has never written to"); break;
	case CAIRN_CAUSE_VARIABLES:
		say(text, "variables of the program and its libraries, such as static arrays, or private copies of mapped files");
		break;
	case CAIRN_CAUSE_FILES: say(text, "code and mapped files"); break;
	case CAIRN_CAUSE_TMPFS: say(text, "shared memory and files in tmpfs"); break;
	case CAIRN_CAUSE_PAGE_CACHE:
		say(text, "page cache of files that the control group has read or written; the kernel drops it when it needs memory");
		break;
	case CAIRN_CAUSE_SLAB: say(text, "kernel memory (slab) charged to the control group"); break;
	case CAIRN_CAUSE_SOCKETS: say(text, "buffers of sockets charged to the control group"); break;
	case CAIRN_CAUSE_KINDS: break;
	}
}

static int compare(const void *a, const void *b)
{
	const struct cairn_cause_reason *one = a, *other = b;
	return one->bytes < other->bytes ? 1 : one->bytes > other->bytes ? -1 : (int)one->kind - (int)other->kind;
}

/* Whether it is charged to the control group, not part of the process's resident memory. */
static bool is_of_group(const struct weighing *weighing, enum cairn_cause_kind kind)
{
	return kind == CAIRN_CAUSE_PAGE_CACHE || kind == CAIRN_CAUSE_SLAB || kind == CAIRN_CAUSE_SOCKETS ||
	       (kind == CAIRN_CAUSE_TMPFS && weighing->bytes[kind] > (double)weighing->facts->bill->lines[CAIRN_BILL_SHARED]);
}

void cairn_causes_find(struct cairn_causes *causes, const struct cairn_cause_facts *facts)
{
	struct weighing weighing = {.facts = facts, .causes = causes};
	char size[24], all[24];
	*causes = (struct cairn_causes){.cause = CAIRN_CAUSE_LIVE};
	weigh(&weighing);
	for (int i = 0; i < CAIRN_CAUSE_KINDS; i++) {
		enum cairn_cause_kind kind = (enum cairn_cause_kind)i;
		if (weighing.weights[i] > weighing.weights[causes->cause])
			causes->cause = kind;
		bool of_group = is_of_group(&weighing, kind);
		double whole = of_group ? (double)facts->group.usage : causes->resident;
		if (!(weighing.bytes[i] >= worth_saying * whole) || weighing.bytes[i] == 0)
			continue;
		struct cairn_cause_reason *reason = &causes->reasons[causes->reason_count++];
		*reason = (struct cairn_cause_reason){.kind = kind, .bytes = weighing.bytes[i], .whole = whole, .of_group = of_group};
		describe(&weighing, kind, &(struct text){reason->text, 0});
	}
	cairn_sort(causes->reasons, causes->reason_count, sizeof *causes->reasons, compare);
	struct text sentence = {causes->sentence, 0};
	bool of_group = is_of_group(&weighing, causes->cause);
	say(&sentence, "%s of the %s %s is ", cairn_text_human(weighing.bytes[causes->cause], size),
	    cairn_text_human(of_group ? (double)facts->group.usage : causes->resident, all),
	    of_group ? "charged to the control group" : "resident");
	describe(&weighing, causes->cause, &sentence);
	say(&sentence, ".");
	cairn_remedies_advise(causes, facts);
}
