/* count.c - from a plan to words that are changed, and back.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/inside/count.h"

#include "base/array.h"
#include "live/inside/block.h"
#include "live/inside/stop.h"
#include "live/inside/words.h"

#include <stdlib.h>

enum { block_most = 1 << 20 };

/* A block of the process. */
struct entry {
	uint64_t address, state, before; /* before: the state that it had */
	struct cairn_buffer bytes;
	const struct cairn_plan_allocator *allocator; /* that it is to count; NULL to end that */
};

struct work {
	struct cairn_count *count;
	struct entry entries[CAIRN_INSIDE_BLOCKS];
	size_t entry_count;
	struct cairn_inside_word *words; /* of all of them, for a plan */
	size_t word_count, word_capacity;
	struct cairn_stop_place *places;
	size_t place_count;
};

static bool is_on(uint64_t state)
{
	return state == CAIRN_INSIDE_WRITING || state == CAIRN_INSIDE_ON || state == CAIRN_INSIDE_REMOVING;
}

static struct cairn_words words_of(const struct work *work, const struct entry *entry)
{
	struct cairn_words words = {.memory = work->count->subject->memory};
	words.items = cairn_block_words(cairn_buffer_bytes(&entry->bytes), &words.count);
	return words;
}

static bool set_state(const struct work *work, struct entry *entry, uint64_t state)
{
	size_t number = (size_t)(entry - work->entries);
	uint64_t at = work->count->table + offsetof(struct cairn_inside, blocks) + number * sizeof(((struct cairn_inside *)0)->blocks[0]) +
		      offsetof(struct cairn_inside, blocks[0].state) - offsetof(struct cairn_inside, blocks[0]);
	entry->state = state;
	return cairn_subject_write(work->count->subject, at, &state, sizeof state);
}

/* Reads the block at ADDRESS. Empty if there is none. */
static struct cairn_buffer read_block(const struct cairn_subject *subject, uint64_t address)
{
	struct cairn_inside_block header = {0};
	struct cairn_buffer bytes = cairn_buffer(block_most);
	if (cairn_subject_read(subject, address, &header, sizeof header) != sizeof header || header.magic != cairn_inside_magic ||
	    header.size > block_most)
		return bytes;
	char *copy = cairn_array_new(header.size, 1);
	if (cairn_subject_read(subject, address, copy, header.size) == header.size)
		cairn_buffer_append(&bytes, copy, header.size);
	free(copy);
	return bytes;
}

/* What the process says that it has. */
static bool read_table(struct work *work, struct cairn_error *error)
{
	const struct cairn_count *count = work->count;
	struct cairn_inside table;
	if (cairn_subject_read(count->subject, count->table, &table, sizeof table) != sizeof table)
		return cairn_fail_errno(error, "the memory of process %d cannot be read", count->subject->pid);
	if (table.version != CAIRN_INSIDE_VERSION || table.count > CAIRN_INSIDE_BLOCKS)
		return cairn_fail(error, "the agent of process %d is of another version", count->subject->pid);
	for (; work->entry_count < table.count; work->entry_count++) {
		struct entry *entry = &work->entries[work->entry_count];
		*entry = (struct entry){.address = table.blocks[work->entry_count].address, .state = table.blocks[work->entry_count].state};
		entry->before = entry->state;
		entry->bytes = read_block(count->subject, entry->address);
		struct cairn_words words = words_of(work, entry);
		for (size_t i = 0; i < words.count; i++) {
			cairn_array_room(work->words, work->word_count, work->word_capacity);
			work->words[work->word_count++] = words.items[i];
		}
	}
	return true;
}

static void close_work(struct work *work)
{
	for (size_t i = 0; i < work->entry_count; i++)
		cairn_buffer_free(&work->entries[i].bytes);
	free(work->words);
	free(work->places);
}

/* A block that the process has already and that is just what is wanted. */
static struct entry *find_same(struct work *work, const struct cairn_plan *plan, const struct cairn_plan_allocator *allocator)
{
	for (size_t i = 0; i < work->entry_count; i++) {
		struct entry *entry = &work->entries[i];
		struct cairn_buffer wanted = {0};
		bool same = !entry->allocator &&
			    cairn_block_make(&wanted, plan, allocator, &work->count->world, entry->address, &(struct cairn_error){.usage = false});
		same = same && cairn_bytes_equal(cairn_buffer_bytes(&wanted), cairn_buffer_bytes(&entry->bytes));
		cairn_buffer_free(&wanted);
		if (same)
			return entry;
	}
	return NULL;
}

/* Makes a block and has the process take it, at the best place that does. */
static struct entry *put_block(struct work *work, const struct cairn_plan *plan, const struct cairn_plan_allocator *allocator,
			       struct cairn_error *error)
{
	const struct cairn_count *count = work->count;
	const struct cairn_subject_module *module = allocator->found->module;
	struct cairn_buffer bytes;
	size_t before = work->entry_count;
	cairn_fail(error, "there is no room near its code");
	if (!cairn_block_make(&bytes, plan, allocator, &count->world, module->start, error)) /* how large it is */
		return NULL;
	size_t size = bytes.length;
	cairn_buffer_free(&bytes);
	for (size_t n = 0; n < CAIRN_BLOCK_PLACES; n++) {
		uint64_t address = cairn_block_place(count->subject, module, size, n);
		if (!address || !cairn_block_make(&bytes, plan, allocator, &count->world, address, error))
			continue;
		bool mapped = count->map(count->context, address, cairn_buffer_bytes(&bytes), error);
		cairn_buffer_free(&bytes);
		if (mapped)
			return read_table(work, error) && work->entry_count > before ? &work->entries[before] : NULL;
	}
	return NULL;
}

/* A block for each allocator that can be counted. */
static void find_blocks(struct work *work, struct cairn_plan *plan)
{
	struct cairn_error error;
	for (size_t i = 0; i < plan->count; i++) {
		struct cairn_plan_allocator *allocator = &plan->items[i];
		if (allocator->verdict != CAIRN_PLAN_COUNTED)
			continue;
		struct entry *entry = find_same(work, plan, allocator);
		entry = entry ? entry : put_block(work, plan, allocator, &error);
		plan->words = work->words; /* which may have moved */
		if (entry) {
			entry->allocator = allocator;
			continue;
		}
		allocator->verdict = CAIRN_PLAN_NOT_SEEN;
		allocator->reason = cairn_arena_text(&plan->arena, cairn_bytes_of(error.text));
	}
}

static int by_start(const void *left, const void *right)
{
	const struct cairn_stop_place *a = left, *b = right;
	return (a->start > b->start) - (a->start < b->start);
}

static void add_places(struct work *work, const struct cairn_plan_allocator *allocator)
{
	size_t count;
	struct cairn_stop_place *places = cairn_block_places(allocator, &count);
	struct cairn_stop_place *all = cairn_array_new(work->place_count + count, sizeof *all);
	memcpy(all, work->places, work->place_count * sizeof *all);
	memcpy(all + work->place_count, places, count * sizeof *all);
	free(places);
	free(work->places);
	work->places = all;
	work->place_count += count;
	if (work->place_count)
		qsort(all, work->place_count, sizeof *all, by_start);
}

/* Whether words of the block have to change. What is to end and has nothing left that it could change has ended. */
static bool has_to_change(const struct work *work, const struct entry *entry)
{
	struct cairn_words words = words_of(work, entry);
	struct cairn_words_state state = cairn_words_look(&words);
	return entry->allocator ? state.after < words.count : state.after + state.strange > 0;
}

/* With all threads stopped. First what ends: its words may be those of what begins. */
static bool change(void *context, int tid, struct cairn_error *error)
{
	struct work *work = context;
	bool ended = true;
	for (size_t i = 0; i < work->entry_count; i++) {
		struct cairn_words words = words_of(work, &work->entries[i]);
		if (!work->entries[i].allocator && is_on(work->entries[i].state))
			ended &= cairn_words_change(&words, tid, true, error);
	}
	for (size_t i = 0; i < work->entry_count && ended; i++) {
		struct cairn_words words = words_of(work, &work->entries[i]);
		if (!work->entries[i].allocator || !is_on(work->entries[i].state) || cairn_words_change(&words, tid, false, error))
			continue;
		while (i-- > 0) { /* all or nothing */
			struct cairn_words done = words_of(work, &work->entries[i]);
			if (work->entries[i].allocator && work->entries[i].before != CAIRN_INSIDE_ON)
				cairn_words_change(&done, tid, true, &(struct cairn_error){.usage = false});
		}
		return false;
	}
	return ended;
}

static void tell(const struct work *work)
{
	if (work->count->tell)
		work->count->tell(work->count->context);
}

/* Changes the words of all blocks to what their entries say. */
static bool apply(struct work *work, struct cairn_error *error)
{
	struct cairn_stop stop = {.pid = work->count->subject->pid};
	bool needed = false, good = true;
	for (size_t i = 0; i < work->entry_count; i++) {
		struct entry *entry = &work->entries[i];
		bool changes = (entry->allocator || is_on(entry->state)) && has_to_change(work, entry);
		needed |= changes;
		if (changes && entry->allocator)
			add_places(work, entry->allocator);
		if (changes)
			set_state(work, entry, entry->allocator ? CAIRN_INSIDE_WRITING : CAIRN_INSIDE_REMOVING);
	}
	stop.places = work->places;
	stop.place_count = work->place_count;
	if (needed) {
		tell(work);
		good = cairn_stop_all(&stop, change, work, error);
		work->count->threads = stop.threads;
		work->count->stopped_ns = stop.stopped_ns;
	}
	for (size_t i = 0; i < work->entry_count; i++) {
		struct entry *entry = &work->entries[i];
		if (!entry->allocator && !is_on(entry->state))
			continue;
		bool still = has_to_change(work, entry);
		if (entry->allocator)
			set_state(work, entry, still ? CAIRN_INSIDE_OFF : CAIRN_INSIDE_ON);
		else
			set_state(work, entry, still ? CAIRN_INSIDE_REMOVING : CAIRN_INSIDE_OFF);
	}
	tell(work);
	return good;
}

bool cairn_count_begin(struct cairn_count *count, struct cairn_plan *plan, struct cairn_error *error)
{
	struct work work = {.count = count};
	bool good = read_table(&work, error);
	cairn_plan_make(plan, count->subject, good ? work.words : NULL, good ? work.word_count : 0);
	if (good) {
		find_blocks(&work, plan);
		good = apply(&work, error);
	}
	plan->words = NULL;
	close_work(&work);
	return good;
}

void cairn_count_look(struct cairn_count *count, struct cairn_plan *plan)
{
	struct work work = {.count = count};
	struct cairn_error error;
	bool good = read_table(&work, &error);
	cairn_plan_make(plan, count->subject, good ? work.words : NULL, good ? work.word_count : 0);
	plan->words = NULL;
	close_work(&work);
}

bool cairn_count_end(struct cairn_count *count, struct cairn_error *error)
{
	struct work work = {.count = count};
	bool good = read_table(&work, error) && apply(&work, error);
	close_work(&work);
	return good;
}

bool cairn_count_is_on(const struct cairn_count *count)
{
	struct cairn_inside table;
	bool found = false;
	if (cairn_subject_read(count->subject, count->table, &table, sizeof table) != sizeof table || table.version != CAIRN_INSIDE_VERSION)
		return false;
	for (size_t i = 0; i < table.count && i < CAIRN_INSIDE_BLOCKS; i++)
		found |= is_on(table.blocks[i].state);
	return found;
}
