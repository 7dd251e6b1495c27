/* function.c - walks the tree of a unit.
 *
 * Methods of a class that is local to a function are entries inside the class, inside that function. Finding all of them would mean reading
 * everything, so the first walk skips them. A second, thorough walk looks for them, but only for addresses that were not found.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/function.h"

#include "symbol/ranges.h"

/* Compilers nest entries a few dozen levels deep. */
enum { deepest = 1024 };

struct walk {
	const struct cairn_unit *unit;
	const struct cairn_abbrevs *table;
	struct cairn_names *names;
	struct cairn_arena *arena;
	const uint64_t *addresses;
	size_t count;
	const struct cairn_inline_call **calls; /* NULL until one is found: most units that do not record their ranges contain no code */
	size_t left;   /* number of addresses for which no function has been found */
	bool thorough; /* look for functions inside types and inside other functions */
	bool jumped;   /* something was skipped without being read */
	struct cairn_cursor in;
	unsigned depth;
	unsigned inside; /* the depth of the outermost matching function that the walk is in; 0 if none */
	const struct cairn_inline_call *around[deepest]; /* the call that contains each level of the tree; NULL outside matching
							  * functions */
};

static struct cairn_inline_call *new_call(struct walk *walk, const struct cairn_debug_entry *entry, const struct cairn_inline_call *caller)
{
	struct cairn_inline_call *call = cairn_arena_alloc(walk->arena, sizeof *call);
	*call = (struct cairn_inline_call){.caller = caller,
					   .name = cairn_names_of(walk->names, walk->unit, entry),
					   .file = entry->call_file,
					   .line = entry->call_line,
					   .column = entry->call_column};
	return call;
}

/* Whether all CALLS are taken, by another function with the same code that the linker merged with this one. */
static bool are_taken(const struct cairn_inline_call *const *calls, size_t count)
{
	size_t taken = 0;
	while (taken < count && calls[taken])
		taken++;
	return taken == count;
}

/* The call that ENTRY describes, if any of the addresses is in its ranges. It becomes the call of those addresses until a later, more
 * deeply nested entry replaces it. If several functions contain an address, the first one keeps it. */
static const struct cairn_inline_call *match(struct walk *walk, const struct cairn_debug_entry *entry,
					     const struct cairn_inline_call *caller)
{
	struct cairn_inline_call *call = NULL;
	struct cairn_ranges ranges = cairn_ranges(walk->unit, &entry->low, &entry->high, &entry->ranges);
	struct cairn_range range;
	uint64_t start = 0;
	while (cairn_ranges_next(&ranges, &range)) {
		size_t found, first = cairn_addresses_within(walk->addresses, walk->count, range, &found);
		if (!cairn_names_spend(walk->names, 1 + found)) {
			cairn_cursor_fail(&walk->in);
			break;
		}
		if (!start)
			start = range.low;
		if (!found || (!caller && walk->calls && are_taken(&walk->calls[first], found)))
			continue;
		if (!call) {
			call = new_call(walk, entry, caller);
			call->start = start;
		}
		if (!walk->calls)
			walk->calls = cairn_arena_zero(walk->arena, walk->count, sizeof *walk->calls);
		for (size_t i = first; i < first + found; i++) {
			walk->left -= walk->calls[i] == NULL;
			if (caller || !walk->calls[i])
				walk->calls[i] = call;
		}
	}
	/* DWARF 2 has no range lists: it records only the first piece of code that is in several, so calls inlined into the others are
	 * outside it. */
	if (!call && caller && walk->unit->encoding.version == 2 && cairn_names_spend(walk->names, 1))
		call = new_call(walk, entry, caller);
	return call;
}

static void descend(struct walk *walk, const struct cairn_abbrev *abbrev, const struct cairn_inline_call *call)
{
	if (!abbrev->has_children)
		return;
	if (++walk->depth >= deepest)
		cairn_cursor_fail(&walk->in);
	else
		walk->around[walk->depth] = call;
	if (call && !walk->inside)
		walk->inside = walk->depth;
}

/* Skips the entry whose attributes have just been read, with everything below it, if SIBLING says where it ends. Only forward: jumping back
 * could loop forever. */
static bool jump(struct walk *walk, uint32_t sibling)
{
	uint64_t target = walk->unit->offset + sibling;
	if (target < cairn_cursor_offset(&walk->in) || target > walk->unit->end)
		return false;
	walk->in.at = walk->in.start + target;
	walk->jumped = true;
	return true;
}

/* The four bytes at DISTANCE from the position of IN, which the caller has checked to exist. */
static uint32_t sibling_at(const struct cairn_cursor *in, uint32_t distance)
{
	uint32_t sibling;
	memcpy(&sibling, in->at + distance, sizeof sibling);
	return __builtin_expect(in->big_endian, 0) ? __builtin_bswap32(sibling) : sibling;
}

/* Skips an entry that is of no interest, with everything below it unless the walk is thorough. */
static void step_over(struct walk *walk, const struct cairn_abbrev *abbrev)
{
	struct cairn_cursor *in = &walk->in;
	if (!abbrev->has_children) {
		cairn_abbrev_skip(walk->table, abbrev, in);
		return;
	}
	uint32_t sibling = 0;
	bool may_hold = walk->thorough && abbrev->role != CAIRN_ENTRY_CLOSED;
	if (abbrev->placed_sibling || !abbrev->has_sibling || may_hold) {
		if (abbrev->placed_sibling && cairn_cursor_left(in) >= abbrev->sibling + sizeof sibling)
			sibling = sibling_at(in, abbrev->sibling);
		cairn_abbrev_skip(walk->table, abbrev, in);
	} else {
		struct cairn_debug_entry entry;
		cairn_debug_entry_read(&entry, walk->table, abbrev, in);
		sibling = entry.sibling;
	}
	if (may_hold || !jump(walk, sibling))
		descend(walk, abbrev, NULL);
}

static void visit(struct walk *walk, const struct cairn_abbrev *abbrev)
{
	const struct cairn_inline_call *around = walk->around[walk->depth];
	enum cairn_entry_role role = abbrev->role;
	if (role == CAIRN_ENTRY_SCOPE || (role == CAIRN_ENTRY_BLOCK && around)) {
		cairn_abbrev_skip(walk->table, abbrev, &walk->in);
		descend(walk, abbrev, around);
	} else if (role == CAIRN_ENTRY_FUNCTION || (role == CAIRN_ENTRY_INLINED && around)) {
		struct cairn_debug_entry entry;
		cairn_debug_entry_read(&entry, walk->table, abbrev, &walk->in);
		const struct cairn_inline_call *call = match(walk, &entry, role == CAIRN_ENTRY_INLINED ? around : NULL);
		if (call || walk->thorough || !abbrev->has_children || !jump(walk, entry.sibling))
			descend(walk, abbrev, call);
	} else {
		step_over(walk, abbrev);
	}
}

static void walk_tree(struct walk *walk)
{
	if (!cairn_names_spend(walk->names, walk->unit->end - walk->unit->offset))
		return;
	cairn_dwarf_expect(walk->unit->dwarf, CAIRN_DWARF_INFO, walk->unit->offset, walk->unit->end - walk->unit->offset);
	walk->in = cairn_unit_cursor(walk->unit, walk->unit->first_entry);
	walk->depth = walk->inside = 0;
	do {
		uint64_t code = cairn_cursor_uleb(&walk->in);
		if (code == 0) {
			if (walk->depth > 0)
				walk->depth--;
			if (walk->depth < walk->inside)
				walk->inside = 0;
			continue;
		}
		const struct cairn_abbrev *abbrev = cairn_abbrevs_find(walk->table, code);
		if (!abbrev)
			return;
		visit(walk, abbrev);
		/* Once every address has its function, and the walk has left the last of these, nothing more can be found. */
	} while (walk->depth > 0 && walk->in.at < walk->in.end && (walk->left || walk->inside));
}

/* Walks the tree for the addresses that have not been found. */
static void walk_for_missing(struct walk *walk)
{
	const uint64_t *addresses = walk->addresses;
	const struct cairn_inline_call **calls = walk->calls;
	size_t count = walk->count;
	uint64_t *missing = cairn_arena_alloc(walk->arena, walk->left * sizeof *missing);
	walk->calls = NULL;
	walk->count = 0;
	for (size_t i = 0; i < count; i++)
		if (!calls[i])
			missing[walk->count++] = addresses[i];
	walk->addresses = missing;
	walk_tree(walk);
	for (size_t i = 0, k = 0; walk->calls && i < count; i++)
		if (!calls[i])
			calls[i] = walk->calls[k++];
	walk->calls = calls;
}

const struct cairn_inline_call **cairn_functions_match(const struct cairn_unit *unit, struct cairn_names *names, struct cairn_arena *arena,
	const uint64_t *addresses, size_t count)
{
	struct walk walk = {
		.unit = unit,
		.table = cairn_abbrevs_at(
			&names->abbrevs, unit->dwarf->sections[CAIRN_DWARF_ABBREV], unit->abbrev_offset, unit->encoding),
		.names = names,
		.arena = arena,
		.addresses = addresses,
		.count = count,
		.left = count,
	};
	if (!walk.table->has_functions)
		return NULL;
	walk_tree(&walk);
	if (walk.jumped && walk.left) {
		walk.thorough = true;
		if (walk.calls)
			walk_for_missing(&walk);
		else
			walk_tree(&walk);
	}
	return walk.calls;
}
