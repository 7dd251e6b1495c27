/* calls.c - blocks for the core, which maps none by itself: a thread of the process does, on a visit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/core/calls.h"

#include "live/inside/count.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Has a thread map SIZE bytes at ADDRESS, for code that is written from outside. */
static bool map_room(struct cairn_placed *placed, uint64_t address, size_t size, struct cairn_error *error)
{
	struct cairn_core core;
	if (!cairn_placed_read(placed, &core))
		return cairn_fail(error, "the memory of the process cannot be read");
	core.call_count = 1;
	core.calls[0] = (struct cairn_core_call){
		.number = SYS_mmap,
		.arguments = {address, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, UINT64_MAX, 0}};
	if (!cairn_placed_visit(placed, &core, 0, error))
		return false;
	errno = core.calls[0].result < 0 ? (int)-core.calls[0].result : EEXIST;
	return (uint64_t)core.calls[0].result == address || cairn_fail_errno(error, "no code can be mapped near its own");
}

static bool map(void *context, uint64_t address, struct cairn_bytes block, struct cairn_error *error)
{
	struct cairn_placed *placed = context;
	const struct cairn_subject *subject = placed->subject;
	struct cairn_inside table;
	uint64_t at = cairn_placed_symbol(placed, "cairn_inside");
	if (cairn_subject_read(subject, at, &table, sizeof table) != sizeof table || table.count >= CAIRN_INSIDE_BLOCKS)
		return cairn_fail(error, "the core has no place for more");
	if (!map_room(placed, address, block.length, error))
		return false;
	uint32_t count = table.count + 1;
	table.blocks[table.count].address = address;
	table.blocks[table.count].state = CAIRN_INSIDE_MAPPED;
	return (cairn_subject_write(subject, address, block.data, block.length) &&
		cairn_subject_write(subject, at + offsetof(struct cairn_inside, blocks), table.blocks, sizeof table.blocks) &&
		cairn_subject_write(subject, at + offsetof(struct cairn_inside, count), &count, sizeof count)) ||
	       cairn_fail_errno(error, "code cannot be written to the process");
}

static struct cairn_count count_of(struct cairn_placed *placed)
{
	return (struct cairn_count){
		.subject = placed->subject,
		.world = {.lines = cairn_placed_symbol(placed, "cairn_core_lines"),
			  .filter_words = cairn_placed_symbol(placed, "cairn_filter_words"),
			  .filter_mask = cairn_placed_symbol(placed, "cairn_filter_mask"),
			  .slow = cairn_placed_symbol(placed, "cairn_inside_slow")},
		.table = cairn_placed_symbol(placed, "cairn_inside"),
		.map = map,
		.context = placed,
	};
}

static void describe(struct cairn_calls *calls, struct cairn_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct cairn_plan_allocator *allocator = &plan->items[i];
		struct cairn_buffer *out = allocator->verdict == CAIRN_PLAN_COUNTED    ? &calls->counted
					   : allocator->verdict == CAIRN_PLAN_NOT_SEEN ? &calls->unseen : NULL;
		if (!out)
			continue;
		if (out->length)
			cairn_buffer_text(out, out == &calls->counted ? ", " : "; ");
		cairn_buffer_text(out, out == &calls->counted ? cairn_allocator_describe(&plan->arena, allocator->found)
							      : cairn_plan_describe(plan, allocator));
	}
	cairn_buffer_byte(&calls->counted, 0);
	cairn_buffer_byte(&calls->unseen, 0);
}

const char cairn_calls_unknown[] = "no allocator is known by its functions' names: keep the symbol table (strip --strip-debug instead of strip)";

bool cairn_calls_begin(struct cairn_calls *calls, struct cairn_placed *placed, struct cairn_error *error)
{
	enum { text_most = 4096 };
	struct cairn_count count = count_of(placed);
	struct cairn_plan plan;
	*calls = (struct cairn_calls){.counted = cairn_buffer(text_most), .unseen = cairn_buffer(text_most)};
	bool done = cairn_count_begin(&count, &plan, error);
	calls->stopped_ns = count.stopped_ns;
	describe(calls, &plan);
	cairn_plan_free(&plan);
	if (done && !calls->counted.data[0])
		done = cairn_fail(error, "%s", calls->unseen.data[0] ? calls->unseen.data : cairn_calls_unknown);
	return done;
}

void cairn_calls_free(struct cairn_calls *calls)
{
	cairn_buffer_free(&calls->counted);
	cairn_buffer_free(&calls->unseen);
}

void cairn_calls_look(struct cairn_plan *plan, const struct cairn_subject *subject)
{
	struct cairn_placed placed;
	if (cairn_placed_open(&placed, subject, NULL) && placed.base) {
		struct cairn_count count = count_of(&placed);
		cairn_count_look(&count, plan);
	} else {
		cairn_plan_make(plan, subject, NULL, 0);
	}
	cairn_placed_close(&placed);
}

bool cairn_calls_are_on(struct cairn_placed *placed)
{
	struct cairn_count count = count_of(placed);
	return cairn_count_is_on(&count);
}

bool cairn_calls_end(struct cairn_placed *placed, struct cairn_error *error)
{
	struct cairn_count count = count_of(placed);
	return !cairn_count_is_on(&count) || cairn_count_end(&count, error);
}
