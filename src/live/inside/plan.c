/* plan.c - who calls an allocator's functions, and what follows from that.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/inside/plan.h"

#include "base/array.h"
#include "live/inside/code.h"

#include <stdlib.h>

enum { data_most = 256 << 20, piece = 1 << 20, reach_most = 64, compare = 16, linkage_size = 16 };

size_t cairn_plan_read(const struct cairn_plan *plan, uint64_t address, void *out, size_t size)
{
	size_t got = cairn_subject_read(plan->subject, address, out, size);
	for (size_t i = 0; i < plan->word_count; i++) {
		const struct cairn_inside_word *word = &plan->words[i];
		uint64_t value;
		if (word->address + sizeof value <= address || word->address >= address + got ||
		    cairn_subject_read(plan->subject, word->address, &value, sizeof value) != sizeof value || value != word->after)
			continue;
		for (size_t k = 0; k < sizeof value; k++)
			if (word->address + k - address < got)
				((char *)out)[word->address + k - address] = ((const char *)&word->before)[k];
	}
	return got;
}

/* One allocator being looked at. */
struct look {
	struct cairn_plan *plan;
	struct cairn_plan_allocator *allocator;
	const struct cairn_file_code *code;
	uint64_t *addresses; /* of its functions, sorted */
};

static struct cairn_plan_function *function_at(const struct look *look, uint64_t address)
{
	struct cairn_plan_allocator *allocator = look->allocator;
	for (size_t low = 0, high = allocator->count; low < high;) {
		size_t middle = low + (high - low) / 2;
		if (look->addresses[middle] == address)
			return &allocator->functions[middle];
		if (look->addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Who leads to the functions. */

static void see_call(void *context, uint64_t from, uint64_t target, enum cairn_branch branch)
{
	const struct look *look = context;
	(void)branch;
	if (!cairn_ranges_have(look->allocator->ranges, look->allocator->range_count, from))
		function_at(look, target)->direct++;
}

static void find_calls(struct look *look)
{
	const struct cairn_elf *elf = look->code->module->elf;
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct cairn_elf_segment *segment = &elf->segments[i];
		uint64_t start = look->code->module->bias + segment->address;
		if (segment->executable)
			cairn_move_scan(start, cairn_file_code_bytes(look->code, start, segment->file_size), look->addresses,
					look->allocator->count, see_call, look);
	}
}

/* The words of a section, as the process has them, that are addresses of functions. */
static void find_words(struct look *look, const char *name, bool is_table)
{
	const struct cairn_elf_section *section = cairn_elf_section(look->code->module->elf, name);
	uint64_t start = section ? look->code->module->bias + section->address : 0;
	uint64_t size = section && section->size < data_most ? section->size : 0, *words = cairn_array_new(piece / 8, 8);
	for (uint64_t at = 0; at < size; at += piece) {
		size_t wanted = size - at < piece ? (size_t)(size - at) : piece;
		size_t got = cairn_plan_read(look->plan, start + at, words, wanted);
		for (size_t i = 0; i < got / 8; i++) {
			struct cairn_plan_function *function = function_at(look, words[i]);
			if (!function)
				continue;
			function->pointers += !is_table;
			function->slots += is_table;
			if (!is_table)
				continue;
			struct cairn_plan_allocator *allocator = look->allocator;
			cairn_array_room(allocator->slots, allocator->slot_count, allocator->slot_capacity);
			allocator->slots[allocator->slot_count++] =
				(struct cairn_plan_slot){start + at + i * 8, (size_t)(function - allocator->functions)};
		}
	}
	free(words);
}

/* The function that is called or jumped to at TARGET, or by the linkage table's code there. */
static void see_linkage(void *context, uint64_t from, uint64_t target, enum cairn_branch branch)
{
	uint64_t *slot = context;
	(void)from;
	if (branch == CAIRN_BRANCH_JUMP_SLOT && !*slot)
		*slot = target;
}

static struct cairn_plan_function *function_behind(const struct look *look, uint64_t target)
{
	struct cairn_plan_function *function = function_at(look, target);
	struct cairn_code_function known;
	uint64_t slot = 0, value;
	if (function || (cairn_file_code_at(look->code, target, &known) && known.address == target))
		return function;
	cairn_move_branches(target, cairn_file_code_bytes(look->code, target, linkage_size), see_linkage, &slot);
	return slot && cairn_plan_read(look->plan, slot, &value, sizeof value) == sizeof value ? function_at(look, value) : NULL;
}

/* Where a function goes by jumps. */
struct ways_on {
	const struct look *look;
	const struct cairn_plan_function *from;
	struct cairn_plan_function *to; /* another function of the allocator that it jumps to */
	size_t returns, others;         /* and what it does besides */
};

static void see_way(void *context, uint64_t from, uint64_t target, enum cairn_branch branch)
{
	struct ways_on *ways = context;
	(void)from;
	bool within = target - ways->from->address < ways->from->size;
	struct cairn_plan_function *to = branch == CAIRN_BRANCH_JUMP && !within ? function_behind(ways->look, target) : NULL;
	ways->to = to ? to : ways->to;
	ways->returns += branch == CAIRN_BRANCH_RETURN;
	ways->others += !to && !within && branch != CAIRN_BRANCH_RETURN;
}

static bool allocates(const struct cairn_plan_function *function)
{
	return function->function->signature.call == CAIRN_CALL_ALLOCATES || function->function->signature.call == CAIRN_CALL_PLACES;
}

/* The one function of the allocator that another one calls to allocate. */
struct callee {
	const struct look *look;
	const struct cairn_plan_function *from;
	struct cairn_plan_function *to;
};

static bool is_callee(void *context, uint64_t target, enum cairn_branch branch)
{
	struct callee *callee = context;
	uint64_t value;
	bool by_slot = branch == CAIRN_BRANCH_CALL_SLOT || branch == CAIRN_BRANCH_JUMP_SLOT;
	if (by_slot && cairn_plan_read(callee->look->plan, target, &value, sizeof value) != sizeof value)
		return false;
	struct cairn_plan_function *to = function_behind(callee->look, by_slot ? value : target);
	if (!to || to == callee->from || to->function->signature.call != CAIRN_CALL_ALLOCATES || (callee->to && callee->to != to))
		return false;
	callee->to = to;
	return true;
}

static void find_onward(struct look *look, struct cairn_plan_function *function)
{
	struct ways_on ways = {.look = look, .from = function};
	cairn_move_branches(function->address, cairn_file_code_bytes(look->code, function->address, function->size), see_way, &ways);
	const struct cairn_signature signature = function->function->signature;
	bool is_product = signature.count != CAIRN_NO_ARGUMENT; /* it returns by itself where that is too large */
	if (ways.to && (is_product ? signature.call == ways.to->function->signature.call : !ways.returns && !ways.others))
		function->onward = ways.to;
	else if (ways.to && signature.call == CAIRN_CALL_MOVES && allocates(ways.to))
		function->null_to = ways.to;
	else if (signature.call == CAIRN_CALL_ALLOCATES) {
		struct callee callee = {.look = look, .from = function};
		if (cairn_file_code_always(look->code, function->address, function->size, is_callee, &callee)) {
			function->onward = callee.to;
			function->calls_onward = callee.to != NULL;
		}
	}
}

/* What the file has there, the process must have, too: otherwise somebody else has changed it. */
static bool study(struct look *look, struct cairn_plan_function *function)
{
	struct cairn_code_function extent;
	struct cairn_error error;
	char bytes[compare];
	if (!cairn_file_code_at(look->code, function->address, &extent) || extent.address != function->address) {
		function->reason = "where it ends is unknown";
		return false;
	}
	function->size = extent.size;
	struct cairn_bytes code = cairn_file_code_bytes(look->code, function->address, extent.size);
	size_t length = code.length < sizeof bytes ? code.length : sizeof bytes;
	if (cairn_plan_read(look->plan, function->address, bytes, length) != length || memcmp(bytes, code.data, length) != 0) {
		function->reason = "its code is not what its file has: a probe, a debugger or another tool has changed it";
		return false;
	}
	if (cairn_move_study(&function->move, function->address, code, &error))
		return true;
	function->reason = cairn_arena_text(&look->plan->arena, cairn_bytes_of(error.text));
	return false;
}

static bool is_by_name(const struct cairn_plan_function *function)
{
	return function->direct || function->pointers || function->function->exported;
}

/* What would be done with it if there were no others. */
static enum cairn_plan_way way_alone(const struct cairn_plan_function *function)
{
	if (!is_by_name(function))
		return function->slots ? CAIRN_PLAN_SLOTS : CAIRN_PLAN_UNUSED;
	return function->can_move ? CAIRN_PLAN_ENTRY : CAIRN_PLAN_REFUSED;
}

/* Where FUNCTION goes on to at last, itself where it allocates itself. */
static struct cairn_plan_function *follow(struct cairn_plan_function *function, bool *by_call)
{
	enum { steps_most = 8 };
	for (int i = 0; i < steps_most && function->onward; i++) {
		*by_call |= function->calls_onward;
		function = function->onward;
	}
	return function;
}

/* Those who call a function that calls another call that, too. */
static void pass_on_calls(struct cairn_plan_function *function)
{
	bool by_call = false;
	struct cairn_plan_function *last = follow(function, &by_call);
	last->direct += by_call && (is_by_name(function) || function->slots);
}

static void choose_way(struct cairn_plan_function *function)
{
	bool by_call = false;
	const struct cairn_plan_function *last = follow(function, &by_call);
	function->way = last != function && way_alone(last) == CAIRN_PLAN_ENTRY ? CAIRN_PLAN_ELSEWHERE : way_alone(function);
}

static bool is_counted_itself(const struct cairn_plan_function *function)
{
	return function->way == CAIRN_PLAN_ENTRY || function->way == CAIRN_PLAN_SLOTS;
}

/* No exception may go through a frame of the core, which has no unwind table that the program knows. */
static void find_twin(struct look *look, struct cairn_plan_function *function)
{
	const struct cairn_plan_allocator *allocator = look->allocator;
	enum cairn_family_kind kind = allocator->found->family->kind;
	if (!is_counted_itself(function) || !cairn_family_throws(function->function))
		return;
	for (size_t i = 0; i < allocator->count && !function->twin; i++) {
		const struct cairn_plan_function *other = &allocator->functions[i];
		bool counts_once = is_counted_itself(other) || (other->way == CAIRN_PLAN_UNUSED && !other->onward);
		if (counts_once && cairn_family_is_twin(other->function, function->function))
			function->twin = other;
	}
	/* mimalloc ends the program instead of throwing. */
	if (function->twin || !look->plan->subject->nameless || kind == CAIRN_FAMILY_MIMALLOC)
		return;
	function->way = CAIRN_PLAN_REFUSED;
	function->reason = "it throws exceptions";
}

/* Its calls of what it goes on to are then calls of the program. */
static void leave_to_others(struct cairn_plan_allocator *allocator)
{
	for (size_t i = 0; i < allocator->count; i++) {
		const struct cairn_plan_function *function = &allocator->functions[i];
		if (function->way == CAIRN_PLAN_ELSEWHERE && function->calls_onward)
			cairn_ranges_cut(&allocator->ranges, &allocator->range_count, function->address, function->address + function->size);
	}
}

/* Sets `usable_size`, and leaves only functions that count. */
static void take_functions(struct look *look)
{
	struct cairn_plan_allocator *allocator = look->allocator;
	const struct cairn_family *family = allocator->found->family;
	uint64_t bias = allocator->found->module->bias;
	allocator->functions = cairn_arena_zero(&look->plan->arena, family->count, sizeof *allocator->functions);
	look->addresses = cairn_arena_zero(&look->plan->arena, family->count, sizeof *look->addresses);
	for (size_t i = 0; i < family->count; i++) {
		const struct cairn_family_function *function = &family->functions[i];
		if (function->signature.call == CAIRN_CALL_MEASURES) {
			allocator->usable_size = bias + function->address;
			continue;
		}
		look->addresses[allocator->count] = bias + function->address;
		allocator->functions[allocator->count++] =
			(struct cairn_plan_function){.function = function, .address = bias + function->address};
	}
}

/* Whether somebody else has planned to count the function at ADDRESS, or does by its name. */
static bool is_counted(const struct cairn_plan *plan, uint64_t address)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct cairn_plan_allocator *allocator = &plan->items[i];
		const struct cairn_family *family = allocator->found->family;
		bool counts = allocator->verdict == CAIRN_PLAN_BY_NAME || allocator->verdict == CAIRN_PLAN_COUNTED;
		for (size_t k = 0; counts && k < family->count; k++)
			if (allocator->found->module->bias + family->functions[k].address == address)
				return true;
	}
	return false;
}

/* What a function goes on to by calls and jumps, how far it matters. */
struct reach {
	const struct look *look;
	uint64_t functions[reach_most];
	size_t count;
	bool found;  /* one that is counted */
	bool enters; /* the code behind those, by another door */
};

/* Whether ADDRESS is in the code of an allocator that is counted. */
static bool is_behind(const struct cairn_plan *plan, uint64_t address)
{
	bool found = false;
	for (size_t i = 0; i < plan->count && !found; i++)
		found = plan->items[i].verdict == CAIRN_PLAN_COUNTED &&
			cairn_ranges_have(plan->items[i].ranges, plan->items[i].range_count, address);
	return found;
}

static void see_reach(void *context, uint64_t from, uint64_t target, enum cairn_branch branch)
{
	struct reach *reach = context;
	(void)from;
	if (branch == CAIRN_BRANCH_RETURN)
		return;
	if (branch == CAIRN_BRANCH_CALL_SLOT || branch == CAIRN_BRANCH_JUMP_SLOT) {
		uint64_t value = 0;
		cairn_plan_read(reach->look->plan, target, &value, sizeof value);
		target = value;
	}
	bool counted = is_counted(reach->look->plan, target);
	reach->found |= counted;
	reach->enters |= !counted && is_behind(reach->look->plan, target);
	if (counted)
		return;
	for (size_t i = 0; i < reach->count; i++)
		if (reach->functions[i] == target)
			return;
	if (reach->count < reach_most)
		reach->functions[reach->count++] = target;
}

/* Whether a function of the allocator calls one of another that is counted, and not what that calls, as jemalloc's operator new does. A linkage
 * table has no functions of its own. */
static bool leads_away(const struct look *look)
{
	struct reach reach = {.look = look};
	for (size_t i = 0; i < look->allocator->count && reach.count < reach_most; i++)
		if (allocates(&look->allocator->functions[i]))
			reach.functions[reach.count++] = look->allocator->functions[i].address;
	for (size_t i = 0; i < reach.count && !reach.enters; i++) {
		struct cairn_code_function function = {reach.functions[i], linkage_size, NULL};
		bool known = cairn_file_code_at(look->code, reach.functions[i], &function) && function.address == reach.functions[i];
		cairn_move_branches(reach.functions[i], cairn_file_code_bytes(look->code, reach.functions[i], known ? function.size : linkage_size),
				    see_reach, &reach);
	}
	return reach.found && !reach.enters;
}

/* Operator new of a library is looked up by its name, and calls malloc in all libraries that are known. */
static bool is_wrapper(const struct cairn_allocator_found *found)
{
	return found->family->kind == CAIRN_FAMILY_OPERATORS && found->module->kind != CAIRN_SUBJECT_PROGRAM;
}

static void decide(struct look *look)
{
	struct cairn_plan_allocator *allocator = look->allocator;
	size_t used = 0;
	for (size_t i = 0; i < allocator->count; i++) {
		const struct cairn_plan_function *function = &allocator->functions[i];
		used += is_counted_itself(function);
		if (function->way == CAIRN_PLAN_REFUSED)
			allocator->reason = cairn_arena_format(&look->plan->arena, "its function %s cannot be counted: %s",
							       function->function->name, function->reason);
	}
	allocator->verdict = allocator->reason ? CAIRN_PLAN_NOT_SEEN : used ? CAIRN_PLAN_COUNTED : CAIRN_PLAN_NOT_USED;
}

static void plan_one(struct look *look)
{
	static const char *const tables[] = {".got", ".got.plt"}, *const data[] = {".data", ".data.rel.ro", ".init_array"};
	struct cairn_plan_allocator *allocator = look->allocator;
	take_functions(look);
	allocator->ranges = cairn_file_code_ranges(look->code, allocator->found->family, &allocator->range_count);
	/* arrow_mi_malloc is a jump to mi_malloc. */
	const struct cairn_family *family = allocator->found->family;
	bool is_outer = family->kind == CAIRN_FAMILY_OPERATORS || family->kind == CAIRN_FAMILY_RUST ||
			(family->kind == CAIRN_FAMILY_MIMALLOC && family->prefix[0]);
	if (is_wrapper(allocator->found) || (is_outer && leads_away(look))) {
		allocator->verdict = CAIRN_PLAN_LEADS_AWAY;
		return;
	}
	find_calls(look);
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		find_words(look, tables[i], true);
	for (size_t i = 0; i < sizeof data / sizeof *data; i++)
		find_words(look, data[i], false);
	for (size_t i = 0; i < allocator->count; i++)
		allocator->functions[i].can_move = study(look, &allocator->functions[i]);
	for (size_t i = 0; i < allocator->count; i++)
		find_onward(look, &allocator->functions[i]);
	for (size_t i = 0; i < allocator->count; i++)
		pass_on_calls(&allocator->functions[i]);
	for (size_t i = 0; i < allocator->count; i++)
		choose_way(&allocator->functions[i]);
	for (size_t i = 0; i < allocator->count; i++)
		find_twin(look, &allocator->functions[i]);
	leave_to_others(allocator);
	decide(look);
}

static const char missing_names[] = "its functions have no names: keep the symbol table (strip --strip-debug instead of strip), or install the "
				    "debug file of this build";

static void plan_all(struct cairn_plan *plan)
{
	struct cairn_file_code code = {0};
	for (size_t i = 0; i < plan->count; i++) {
		struct cairn_plan_allocator *allocator = &plan->items[i];
		const struct cairn_allocator_found *found = allocator->found;
		if (found->usual)
			allocator->verdict = CAIRN_PLAN_BY_NAME;
		else if (found->module->kind == CAIRN_SUBJECT_LIBC && !plan->subject->nameless)
			allocator->verdict = CAIRN_PLAN_NOT_USED;
		else if (found->family->count == 0) {
			allocator->verdict = CAIRN_PLAN_NOT_SEEN;
			allocator->reason = missing_names;
		} else {
			if (code.module != found->module) {
				cairn_file_code_close(&code);
				cairn_file_code_open(&code, found->module, found->names);
			}
			plan_one(&(struct look){.plan = plan, .allocator = allocator, .code = &code});
		}
	}
	cairn_file_code_close(&code);
}

void cairn_plan_make(struct cairn_plan *plan, const struct cairn_subject *subject, const struct cairn_inside_word *words, size_t word_count)
{
	*plan = (struct cairn_plan){.subject = subject, .words = words, .word_count = word_count};
	cairn_allocators_find(&plan->allocators, subject);
	plan->count = plan->allocators.count;
	plan->items = cairn_array_zero(plan->count, sizeof *plan->items);
	for (size_t i = 0; i < plan->count; i++)
		plan->items[i] = (struct cairn_plan_allocator){.found = &plan->allocators.items[i], .verdict = CAIRN_PLAN_NOT_USED};
	plan_all(plan);
}

void cairn_plan_free(struct cairn_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		free(plan->items[i].slots);
		free(plan->items[i].ranges);
	}
	free(plan->items);
	cairn_allocators_free(&plan->allocators);
	cairn_arena_free(&plan->arena);
	*plan = (struct cairn_plan){0};
}

const char *cairn_plan_describe(struct cairn_plan *plan, const struct cairn_plan_allocator *allocator)
{
	const char *name = cairn_allocator_describe(&plan->arena, allocator->found);
	size_t slots = 0, entries = 0;
	for (size_t i = 0; i < allocator->count; i++) {
		slots += allocator->functions[i].way == CAIRN_PLAN_SLOTS ? allocator->functions[i].slots : 0;
		entries += allocator->functions[i].way == CAIRN_PLAN_ENTRY;
	}
	switch (allocator->verdict) {
	case CAIRN_PLAN_BY_NAME: return cairn_arena_format(&plan->arena, "%s, by its names", name);
	case CAIRN_PLAN_COUNTED:
		if (entries == 0)
			return cairn_arena_format(&plan->arena, "%s, by %zu slot%s", name, slots, slots == 1 ? "" : "s");
		return cairn_arena_format(&plan->arena, "%s, at the entries of %zu function%s%s", name, entries, entries == 1 ? "" : "s",
					  slots ? " and by slots" : "");
	case CAIRN_PLAN_NOT_USED: return cairn_arena_format(&plan->arena, "%s, which nobody calls", name);
	case CAIRN_PLAN_LEADS_AWAY: return cairn_arena_format(&plan->arena, "%s, which calls another allocator", name);
	case CAIRN_PLAN_NOT_SEEN: break;
	}
	return cairn_arena_format(&plan->arena, "%s: %s", name, allocator->reason);
}
