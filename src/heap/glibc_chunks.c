/* glibc_chunks.c - from chunk to chunk through a segment.
 *
 * Neighbouring free chunks are one *run*: malloc_trim first merges what is in fast bins with what is beside it. Of a run, it gives back all
 * pages behind the header of the first chunk.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "heap/glibc.h"

enum { chain = 8, tries = 3 };

struct chunks {
	struct cairn_glibc *glibc;
	struct cairn_walk_arena *arena;
	uint64_t end, top;
	uint64_t run; /* where the present run of free chunks begins; 0 for none */
	uint64_t known; /* bytes */
};

static bool size_at(struct cairn_glibc *glibc, uint64_t chunk, uint64_t *size)
{
	const unsigned char *data = cairn_image_window_at(&glibc->window, chunk + 8, sizeof *size);
	if (!data)
		return false;
	memcpy(size, data, sizeof *size);
	return true;
}

/* The same without moving the window. */
static bool peek(struct cairn_glibc *glibc, uint64_t address, uint64_t *word)
{
	const struct cairn_image_window *window = &glibc->window;
	if (address < window->start || address + sizeof *word > window->end)
		return cairn_image_word(glibc->image, address, word);
	memcpy(word, window->data + (address - window->start), sizeof *word);
	return true;
}

/* Whether SIZE can be that of the chunk at P. */
static bool is_size(uint64_t p, uint64_t size, uint64_t end)
{
	uint64_t length = size & ~(uint64_t)CAIRN_GLIBC_FLAGS;
	return length >= CAIRN_GLIBC_LEAST && length % 16 == 0 && length <= end - p && !(size & CAIRN_GLIBC_MAPPED);
}

bool cairn_glibc_is_chain(struct cairn_glibc *glibc, uint64_t p, uint64_t end, bool foreign)
{
	uint64_t size, count = 0;
	for (; p < end && count < chain; count++) {
		if (!peek(glibc, p + 8, &size) || !is_size(p, size, end) || !!(size & CAIRN_GLIBC_FOREIGN) != foreign)
			return false;
		uint64_t length = size & ~(uint64_t)CAIRN_GLIBC_FLAGS, next, before;
		if (p + length < end && (!peek(glibc, p + length, &before) || !peek(glibc, p + length + 8, &next) ||
					 (!(next & CAIRN_GLIBC_PREVIOUS_USED) && before != length)))
			return false;
		p += length;
	}
	return count == chain || p == end;
}

bool cairn_glibc_leads_to(struct cairn_glibc *glibc, uint64_t start, uint64_t end, uint64_t target)
{
	uint64_t p = start, size;
	while (p < target && p < end && size_at(glibc, p, &size)) {
		uint64_t length = size & ~(uint64_t)CAIRN_GLIBC_FLAGS;
		if (length == 16) { /* two fenceposts end a segment; the next begins behind them */
			p += 16;
			continue;
		}
		if (!is_size(p, size, end))
			return false;
		p += length;
	}
	return p == target;
}

/* The run of free chunks ends at END. With TOP it contains that. */
static void end_run(struct chunks *chunks, uint64_t end, bool top)
{
	struct cairn_glibc *glibc = chunks->glibc;
	uint64_t page = glibc->tally.page_size, start = chunks->run, unit = glibc->huge_page ? glibc->huge_page : page;
	chunks->run = 0;
	cairn_tally_free(&glibc->tally, start, end);
	chunks->arena->sum.free += end - start;
	if (!top) {
		uint64_t first = (start + CAIRN_GLIBC_KEPT + page - 1) & ~(page - 1), last = end & ~(page - 1);
		if (last > first)
			cairn_tally_flag(&glibc->tally, first, last, CAIRN_PAGE_RETURNABLE);
		if (last > first && end - start >= CAIRN_WALK_LARGE)
			glibc->heap->large_free += cairn_image_resident(glibc->image, first, last, true);
		return;
	}
	/* The end of the main arena's top is given back by a smaller break; other arenas give theirs back only when something beside it is
	 * freed. */
	uint64_t length = end - start, extra = 0;
	if (chunks->arena->is_main && end == glibc->break_end && length > CAIRN_GLIBC_LEAST + 1)
		extra = (length - CAIRN_GLIBC_LEAST - 1) / unit * unit;
	uint64_t kept = (end - extra) & ~(page - 1), first = (start + page - 1) & ~(page - 1);
	if (extra)
		cairn_tally_flag(&glibc->tally, (end - extra + page - 1) & ~(page - 1), end, CAIRN_PAGE_RETURNABLE);
	if (kept > first)
		cairn_tally_flag(&glibc->tally, first, kept, CAIRN_PAGE_RESERVE);
	else if (!extra && end > first)
		cairn_tally_flag(&glibc->tally, first, end, CAIRN_PAGE_RESERVE);
}

/* The next address from P on where chunks seem to begin; END if there is none. */
static uint64_t resync(struct chunks *chunks, uint64_t p)
{
	uint64_t size;
	for (; p < chunks->end; p += 16) {
		if (!size_at(chunks->glibc, p, &size)) { /* not there: go on where something is */
			const struct cairn_image_run *run = cairn_image_run(chunks->glibc->image, p + chunks->glibc->tally.page_size);
			if (!run || chunks->glibc->image->exhausted)
				break;
			p = run->start > p ? run->start - 16 : (p | (chunks->glibc->tally.page_size - 1)) - 15;
			continue;
		}
		if (cairn_glibc_is_chain(chunks->glibc, p, chunks->end, !chunks->arena->is_main))
			return p;
	}
	return chunks->end;
}

static void add_live(struct chunks *chunks, uint64_t p, uint64_t length)
{
	struct cairn_glibc *glibc = chunks->glibc;
	cairn_tally_object(&glibc->tally, p, p + length, false);
	/* Where the next chunk is free, its header is not given back, and that may be on another page. */
	if (((p + length - 1) ^ (p + length + CAIRN_GLIBC_KEPT - 1)) & ~(glibc->tally.page_size - 1))
		cairn_tally_keep(&glibc->tally, p + length + CAIRN_GLIBC_KEPT - 1);
	chunks->arena->sum.live += length;
	chunks->arena->sum.live_objects++;
	if (cairn_glibc_may_be_cache(glibc, length)) {
		cairn_array_room(glibc->caches, glibc->cache_count, glibc->cache_capacity);
		glibc->caches[glibc->cache_count++] = p;
	}
}

/* Reads the sizes of the chunk at P and of the one behind it, 0 where the segment ends. Returns false if they make no sense, also after
 * they were read again. */
static bool read_chunk(struct chunks *chunks, uint64_t p, uint64_t *length, bool *used)
{
	struct cairn_glibc *glibc = chunks->glibc;
	uint64_t size = 0, next = CAIRN_GLIBC_PREVIOUS_USED;
	for (int i = 0; i < tries; i++) {
		bool good = size_at(glibc, p, &size) && is_size(p, size, chunks->end);
		*length = size & ~(uint64_t)CAIRN_GLIBC_FLAGS;
		if (good && p + *length < chunks->end)
			good = size_at(glibc, p + *length, &next);
		if (good) {
			*used = next & CAIRN_GLIBC_PREVIOUS_USED;
			return true;
		}
		if (*length == 16 || *length == 0)
			return false; /* a fencepost */
		glibc->window.start = glibc->window.end = 0;
	}
	return false;
}

/* Fenceposts end a segment: another may follow right behind, made from a mapping beside it. Returns where to go on; the end if nowhere. */
static uint64_t pass_fence(struct chunks *chunks, uint64_t p)
{
	uint64_t size = 0;
	size_at(chunks->glibc, p, &size);
	if ((size & ~(uint64_t)CAIRN_GLIBC_FLAGS) != 16 || !chunks->arena->is_main)
		return chunks->end;
	p += 16;
	size_at(chunks->glibc, p, &size);
	if ((size & ~(uint64_t)CAIRN_GLIBC_FLAGS) == 16)
		p += 16;
	chunks->known += 32;
	uint64_t next = resync(chunks, p);
	return next;
}

uint64_t cairn_glibc_walk(struct cairn_glibc *glibc, size_t arena, uint64_t start, uint64_t end, uint64_t top)
{
	struct chunks chunks = {.glibc = glibc, .arena = &glibc->heap->arenas[arena], .end = end, .top = top};
	uint64_t p = start, length;
	bool used;
	while (p < end) {
		if (p == top) {
			uint64_t size = 0;
			size_at(glibc, p, &size);
			length = size & ~(uint64_t)CAIRN_GLIBC_FLAGS;
			if (length > end - p)
				length = end - p;
			chunks.run = chunks.run ? chunks.run : p;
			end_run(&chunks, p + length, true);
			chunks.known += length;
			break;
		}
		if (!read_chunk(&chunks, p, &length, &used)) {
			if (chunks.run)
				end_run(&chunks, p, false);
			uint64_t size = 0, next;
			size_at(glibc, p, &size);
			if ((size & ~(uint64_t)CAIRN_GLIBC_FLAGS) <= 16 && (size & ~(uint64_t)CAIRN_GLIBC_FLAGS) == 16)
				next = pass_fence(&chunks, p);
			else {
				next = size == 0 && !chunks.arena->is_main ? end : resync(&chunks, p + 16);
				glibc->heap->skipped += next < end ? next - p : 0;
			}
			p = next;
			continue;
		}
		chunks.known += length;
		if (!used || (glibc->layout->fast && length <= 176 && cairn_glibc_is_fast(&glibc->fast, p))) {
			chunks.run = chunks.run ? chunks.run : p;
		} else {
			if (chunks.run)
				end_run(&chunks, p, false);
			add_live(&chunks, p, length);
		}
		p += length;
	}
	if (chunks.run)
		end_run(&chunks, p < end ? p : end, false);
	return chunks.known;
}
