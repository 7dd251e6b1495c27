/* code.c - listing functions, and following jumps from one to another.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/inside/code.h"

#include "base/array.h"

#include <elf.h>
#include <stdlib.h>

enum { function_most = 1 << 20, jumps_most = 1000, padding = 64, steps_most = 256, functions_deep = 4 };

static void add_table(struct cairn_file_code *code, const struct cairn_elf *elf, const char *table)
{
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, table);
	struct cairn_elf_symbol symbol;
	while (cairn_elf_symbols_next(&symbols, &symbol)) {
		if (symbol.type != STT_FUNC || !symbol.address || !symbol.size || symbol.size > function_most)
			continue;
		cairn_array_room(code->functions, code->count, code->capacity);
		code->functions[code->count++] = (struct cairn_code_function){code->module->bias + symbol.address, symbol.size, symbol.name};
	}
}

static int by_address(const void *left, const void *right)
{
	const struct cairn_code_function *a = left, *b = right;
	return a->address != b->address ? (a->address > b->address) - (a->address < b->address) : (a->size < b->size) - (a->size > b->size);
}

void cairn_file_code_open(struct cairn_file_code *code, const struct cairn_subject_module *module, const struct cairn_elf *names)
{
	*code = (struct cairn_file_code){.module = module};
	add_table(code, module->elf, ".dynsym");
	add_table(code, module->elf, ".symtab");
	if (names)
		add_table(code, names, ".symtab");
	if (code->count)
		qsort(code->functions, code->count, sizeof *code->functions, by_address);
}

void cairn_file_code_close(struct cairn_file_code *code)
{
	free(code->functions);
	*code = (struct cairn_file_code){0};
}

static bool find_symbol(const struct cairn_file_code *code, uint64_t address, struct cairn_code_function *function)
{
	size_t low = 0, high = code->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (code->functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - code->functions[low - 1].address >= code->functions[low - 1].size)
		return false;
	*function = code->functions[low - 1];
	return true;
}

bool cairn_file_code_at(const struct cairn_file_code *code, uint64_t address, struct cairn_code_function *function)
{
	const struct cairn_subject_module *module = code->module;
	struct cairn_fde fde;
	if (find_symbol(code, address, function))
		return true;
	if (!module->unwind_header || !cairn_eh_frame_find(&module->image, module->unwind_header, address, &fde) || fde.length > function_most)
		return false;
	*function = (struct cairn_code_function){fde.start, fde.length, NULL};
	return true;
}

struct cairn_bytes cairn_file_code_bytes(const struct cairn_file_code *code, uint64_t address, uint64_t size)
{
	const struct cairn_elf *elf = code->module->elf;
	uint64_t offset;
	if (!cairn_elf_offset_of(elf, address - code->module->bias, &offset) || offset >= elf->file.bytes.length)
		return (struct cairn_bytes){"", 0};
	struct cairn_bytes rest = cairn_bytes_skip(elf->file.bytes, (size_t)offset);
	return (struct cairn_bytes){rest.data, rest.length < size ? rest.length : (size_t)size};
}

/* The ranges that were found so far, and functions whose jumps are yet to be followed. */
struct closure {
	const struct cairn_file_code *code;
	struct cairn_inside_range *ranges;
	size_t count, capacity;
	size_t seen; /* of them, those that were followed */
	size_t jumps;
	struct cairn_code_function now;
};

static void add_range(struct closure *closure, uint64_t start, uint64_t size)
{
	cairn_array_room(closure->ranges, closure->count, closure->capacity);
	closure->ranges[closure->count++] = (struct cairn_inside_range){start, start + size};
}

static void follow(void *context, uint64_t from, uint64_t target, enum cairn_branch branch)
{
	struct closure *closure = context;
	struct cairn_code_function other;
	(void)from;
	if (branch != CAIRN_BRANCH_JUMP || target - closure->now.address < closure->now.size || closure->jumps == jumps_most ||
	    !cairn_file_code_at(closure->code, target, &other))
		return;
	for (size_t i = 0; i < closure->count; i++)
		if (closure->ranges[i].start == other.address)
			return;
	closure->jumps++;
	add_range(closure, other.address, other.size);
}

static int by_start(const void *left, const void *right)
{
	const struct cairn_inside_range *a = left, *b = right;
	return (a->start > b->start) - (a->start < b->start);
}

/* Joins those that touch, or have only the room between two functions between them. */
static size_t join(struct cairn_inside_range *ranges, size_t count)
{
	size_t kept = 0;
	if (count)
		qsort(ranges, count, sizeof *ranges, by_start);
	for (size_t i = 0; i < count; i++) {
		if (kept && ranges[i].start <= ranges[kept - 1].end + padding)
			ranges[kept - 1].end = ranges[i].end > ranges[kept - 1].end ? ranges[i].end : ranges[kept - 1].end;
		else
			ranges[kept++] = ranges[i];
	}
	return kept;
}

struct cairn_inside_range *cairn_file_code_ranges(const struct cairn_file_code *code, const struct cairn_family *family, size_t *count)
{
	struct closure closure = {.code = code};
	for (size_t i = 0; i < family->count; i++)
		if (cairn_file_code_at(code, code->module->bias + family->functions[i].address, &closure.now))
			add_range(&closure, closure.now.address, closure.now.size);
	for (; closure.seen < closure.count; closure.seen++) {
		closure.now.address = closure.ranges[closure.seen].start;
		closure.now.size = closure.ranges[closure.seen].end - closure.now.address;
		cairn_move_branches(closure.now.address, cairn_file_code_bytes(code, closure.now.address, closure.now.size), follow, &closure);
	}
	for (size_t i = 0; i < code->count; i++)
		if (cairn_family_has_name(family->kind, family->prefix, code->functions[i].name))
			add_range(&closure, code->functions[i].address, code->functions[i].size);
	*count = join(closure.ranges, closure.count);
	return closure.ranges;
}

/* The branches of one function, in the order of its code. */
struct steps {
	const struct cairn_file_code *code;
	cairn_file_code_wanted *is_wanted;
	void *context;
	struct cairn_code_function function;
	struct step {
		uint64_t from, target;
		enum cairn_branch branch;
		bool seen;
	} items[steps_most];
	size_t count;
	unsigned depth; /* of functions that jump to each other */
};

static void add_step(void *context, uint64_t from, uint64_t target, enum cairn_branch branch)
{
	struct steps *steps = context;
	if (steps->count < steps_most)
		steps->items[steps->count++] = (struct step){.from = from, .target = target, .branch = branch};
}

static bool always(const struct cairn_file_code *code, struct cairn_code_function function, cairn_file_code_wanted *is_wanted, void *context,
		   unsigned depth);

/* A jump is followed and not followed, since it may depend on something. */
static bool walk(struct steps *steps, uint64_t address)
{
	size_t i = 0;
	while (i < steps->count && steps->items[i].from < address)
		i++;
	for (; i < steps->count && !steps->items[i].seen; i++) {
		struct step *step = &steps->items[i];
		struct cairn_code_function other;
		step->seen = true;
		bool wanted = step->branch != CAIRN_BRANCH_RETURN && steps->is_wanted(steps->context, step->target, step->branch);
		bool within = step->target - steps->function.address < steps->function.size;
		if (wanted && (step->branch == CAIRN_BRANCH_CALL || step->branch == CAIRN_BRANCH_CALL_SLOT))
			return true;
		if (step->branch == CAIRN_BRANCH_RETURN || (step->branch == CAIRN_BRANCH_JUMP_SLOT && !wanted))
			return false;
		if (step->branch == CAIRN_BRANCH_JUMP && !wanted &&
		    !(within ? walk(steps, step->target)
			     : cairn_file_code_at(steps->code, step->target, &other) &&
				       always(steps->code, other, steps->is_wanted, steps->context, steps->depth + 1)))
			return false;
	}
	return true;
}

static bool always(const struct cairn_file_code *code, struct cairn_code_function function, cairn_file_code_wanted *is_wanted, void *context,
		   unsigned depth)
{
	struct steps steps = {.code = code, .is_wanted = is_wanted, .context = context, .function = function, .depth = depth};
	struct cairn_bytes bytes = cairn_file_code_bytes(code, function.address, function.size);
	return depth < functions_deep && bytes.length && cairn_move_branches(function.address, bytes, add_step, &steps) &&
	       steps.count < steps_most && walk(&steps, function.address);
}

bool cairn_file_code_always(const struct cairn_file_code *code, uint64_t address, uint64_t size, cairn_file_code_wanted *is_wanted, void *context)
{
	return always(code, (struct cairn_code_function){address, size, NULL}, is_wanted, context, 0);
}

void cairn_ranges_cut(struct cairn_inside_range **ranges, size_t *count, uint64_t start, uint64_t end)
{
	struct cairn_inside_range *kept = cairn_array_new(*count * 2 + 1, sizeof *kept);
	size_t kept_count = 0;
	for (size_t i = 0; i < *count; i++) {
		struct cairn_inside_range range = (*ranges)[i];
		uint64_t before = range.end < start ? range.end : start, after = range.start > end ? range.start : end;
		if (range.start < before)
			kept[kept_count++] = (struct cairn_inside_range){range.start, before};
		if (after < range.end)
			kept[kept_count++] = (struct cairn_inside_range){after, range.end};
	}
	free(*ranges);
	*ranges = kept;
	*count = kept_count;
}

bool cairn_ranges_have(const struct cairn_inside_range *ranges, size_t count, uint64_t address)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && address >= ranges[low].start;
}
