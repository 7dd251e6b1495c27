/* glibc_lists.c - chunks that the program has freed but that look used: those in fast bins, and those in the caches of threads.
 *
 * A list may change while it is followed, or be made to lead anywhere. Each of its chunks must lie in a segment and have the size of its
 * list; if one does not, the rest of the list is left alone.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "heap/glibc.h"

enum { marks_most = 1 << 20 }; /* blocks: 4 GiB */

/* The link at SLOT that has the value STORED. Where the version is unknown, the first link that is no multiple of 16 tells. */
static uint64_t link_at(struct cairn_glibc *glibc, uint64_t slot, uint64_t stored)
{
	glibc->mangles |= glibc->first >= 232 || (glibc->last >= 232 && stored % 16 != 0);
	return glibc->mangles ? stored ^ slot >> 12 : stored;
}

/* Reads the size and the first word of the chunk at P. Returns false if it cannot be one of LENGTH bytes. */
static bool read_linked(struct cairn_glibc *glibc, uint64_t p, uint64_t length, uint64_t *next)
{
	uint64_t words[2];
	if (p % 16 || glibc->list_steps_left == 0 || !cairn_image_read(glibc->image, p + 8, words, sizeof words) ||
	    (words[0] & ~(uint64_t)CAIRN_GLIBC_FLAGS) != length)
		return false;
	glibc->list_steps_left--;
	*next = link_at(glibc, p + CAIRN_GLIBC_HEADER, words[1]);
	return true;
}

/* Fast bins. */

/* Marks the chunk at P. Returns false if it was marked already, as in a list that goes round. */
static bool mark(struct cairn_glibc_marks *marks, uint64_t p)
{
	uint32_t *place = cairn_map_at(&marks->blocks, p >> 12);
	if (*place == CAIRN_NONE) {
		cairn_array_room(marks->bits, marks->count, marks->capacity);
		memset(marks->bits[marks->count], 0, sizeof *marks->bits);
		*place = (uint32_t)marks->count++;
	}
	uint64_t *word = &marks->bits[*place][p >> 10 & 3], bit = (uint64_t)1 << (p >> 4 & 63);
	bool first = !(*word & bit);
	*word |= bit;
	return first;
}

bool cairn_glibc_is_fast(const struct cairn_glibc_marks *marks, uint64_t p)
{
	uint32_t place = marks->count ? cairn_map_get(&marks->blocks, p >> 12) : CAIRN_NONE;
	return place != CAIRN_NONE && marks->bits[place][p >> 10 & 3] >> (p >> 4 & 63) & 1;
}

void cairn_glibc_read_fast(struct cairn_glibc *glibc, uint64_t address)
{
	uint64_t heads[CAIRN_GLIBC_FASTS], next;
	if (!glibc->layout->fast || !cairn_image_read(glibc->image, address + glibc->layout->fast, heads, sizeof heads))
		return;
	for (unsigned i = 0; i < CAIRN_GLIBC_FASTS; i++) {
		uint64_t length = CAIRN_GLIBC_LEAST + 16 * i;
		for (uint64_t p = heads[i]; p && glibc->fast.count < marks_most && read_linked(glibc, p, length, &next); p = next)
			if (!mark(&glibc->fast, p))
				break;
	}
}

/* Caches of threads. */

/* struct tcache_perthread_struct. */
struct cache_layout {
	unsigned first, last; /* versions that have it */
	uint16_t chunk;       /* size of the chunk that contains it */
	uint8_t count_size;
	uint8_t bins;
	uint16_t entries;     /* offset */
	uint8_t room;         /* the counts say how many more chunks would fit, of so many; 0: how many there are */
};
static const struct cache_layout layouts[] = {
	{226, 229, 0x250, 1, 64, 64, 0},
	{230, 241, 0x290, 2, 64, 128, 0},
	{242, 242, 0x300, 2, 76, 152, 7},
	{243, 999, 0x300, 2, 76, 152, 16},
};
enum { bins_most = 76, small_bins = 64 };

/* Whether a chunk of SIZE may be one of LAYOUT. A chunk that malloc takes from a bin is larger than asked by 16 bytes, where these would be
 * too few for a chunk of their own. */
static bool is_layout(const struct cairn_glibc *glibc, const struct cache_layout *layout, uint64_t size)
{
	return (size == layout->chunk || size == layout->chunk + 16u) && glibc->last >= layout->first && glibc->first <= layout->last;
}

bool cairn_glibc_may_be_cache(const struct cairn_glibc *glibc, uint64_t size)
{
	enum { most = 1 << 16, largest = 0x310 };
	if (size < layouts[0].chunk || size > largest || glibc->cache_count >= most)
		return false;
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (is_layout(glibc, &layouts[i], size))
			return true;
	return false;
}

struct cache {
	const struct cache_layout *layout;
	unsigned counts[bins_most];
	uint64_t entries[bins_most];
	unsigned room;
};

/* Reads what may be a cache. Returns false if its counts and lists do not agree. */
static bool parse_cache(struct cairn_glibc *glibc, uint64_t chunk, const struct cache_layout *layout, struct cache *cache)
{
	uint8_t bytes[0x300];
	size_t size = layout->entries + 8 * (size_t)layout->bins;
	unsigned lists = 0, room = 0;
	*cache = (struct cache){.layout = layout};
	if (!cairn_image_read(glibc->image, chunk + CAIRN_GLIBC_HEADER, bytes, size))
		return false;
	for (unsigned i = 0; i < layout->bins; i++) {
		uint16_t wide;
		memcpy(&wide, bytes + 2 * i, sizeof wide);
		cache->counts[i] = layout->count_size == 1 ? bytes[i] : wide;
		memcpy(&cache->entries[i], bytes + layout->entries + 8 * i, 8);
		room = cache->counts[i] > room ? cache->counts[i] : room;
	}
	/* A limit may have been set; an empty list has all of its room. */
	cache->room = room > layout->room ? room : layout->room;
	for (unsigned i = 0; i < layout->bins; i++) {
		bool empty = layout->room ? cache->entries[i] == 0 : cache->counts[i] == 0;
		if (empty != (cache->entries[i] == 0) || cache->entries[i] % 16 ||
		    (cache->entries[i] && !cairn_glibc_segment(glibc, cache->entries[i])))
			return false;
		lists += !empty;
	}
	return lists > 0;
}

/* The list of BIN, from which MOST chunks are taken. Chunks are taken out of the live objects if REALLY. Returns how many there are, or -1
 * if the list is not one. */
static long follow(struct cairn_glibc *glibc, const struct cache *cache, unsigned bin, bool really)
{
	long count = 0, most = cache->layout->room ? (long)cache->room : (long)cache->counts[bin];
	uint64_t entry = cache->entries[bin], next;
	for (; entry && count < most; entry = next, count++) {
		uint64_t p = entry - CAIRN_GLIBC_HEADER, length = CAIRN_GLIBC_LEAST + 16 * (uint64_t)bin, words[2];
		const struct cairn_glibc_segment *segment = cairn_glibc_segment(glibc, p);
		if (entry % 16 || !segment || !cairn_image_read(glibc->image, p + 8, words, sizeof words))
			return -1;
		if (bin >= small_bins) /* a bin of several sizes */
			length = words[0] & ~(uint64_t)CAIRN_GLIBC_FLAGS;
		if (length > segment->end - p || !read_linked(glibc, p, length, &next))
			return -1;
		if (!really)
			continue;
		struct cairn_walk_sum *sum = &glibc->heap->arenas[segment->arena].sum;
		cairn_tally_recache(&glibc->tally, p, p + length + CAIRN_GLIBC_KEPT);
		sum->live -= length < sum->live ? length : sum->live;
		sum->live_objects -= sum->live_objects > 0;
		sum->cached += length;
		sum->cached_objects++;
	}
	bool complete = entry == 0 && (cache->layout->room || count == most);
	return complete ? count : -1;
}

/* A thread's cache: most of its lists are sound; one or the other may change just now. */
static bool read_cache(struct cairn_glibc *glibc, const struct cache *cache)
{
	unsigned good = 0, bad = 0;
	for (unsigned i = 0; i < cache->layout->bins; i++)
		if (cache->entries[i])
			*(follow(glibc, cache, i, false) >= 0 ? &good : &bad) += 1;
	if (good == 0 || good < 2 * bad)
		return false;
	for (unsigned i = 0; i < cache->layout->bins; i++)
		if (cache->entries[i])
			follow(glibc, cache, i, true);
	return true;
}

void cairn_glibc_read_caches(struct cairn_glibc *glibc)
{
	struct cache cache;
	cairn_image_forget(glibc->image);
	for (size_t i = 0; i < glibc->cache_count; i++) {
		uint64_t size = 0;
		cairn_image_word(glibc->image, glibc->caches[i] + 8, &size);
		size &= ~(uint64_t)CAIRN_GLIBC_FLAGS;
		for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++)
			if (is_layout(glibc, &layouts[k], size) &&
			    parse_cache(glibc, glibc->caches[i], &layouts[k], &cache) && read_cache(glibc, &cache))
				break;
	}
}
