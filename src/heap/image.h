/* image.h - the memory of another process as it is seen from outside, without stopping it.
 *
 * An image has the *regions* in which a process may keep data (its private writable mappings), a record for each of their *pages* that
 * is there, and the contents of those pages. Its order matters: which pages are there is found out before any content is read, because
 * reading a page that was never touched makes the kernel map one there. A page that is neither resident nor swapped out is never read;
 * one that is swapped out only within a budget.
 *
 * The process may be hostile, and changes while it is read. So nothing here grows with what the process says: the number of records is
 * that of its resident pages, and bytes, time and memory have limits. Once a limit is reached, reading fails, and `exhausted` says which it
 * was. What readers only try, to find out whether it is part of a heap at all, has a limit of its own (search.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_IMAGE_H
#define CAIRN_HEAP_IMAGE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"

/* The limit that was reached. */
enum cairn_image_end {
	CAIRN_IMAGE_GOES_ON,
	CAIRN_IMAGE_TIME,
	CAIRN_IMAGE_BYTES,  /* more was read than a sound heap of that size needs */
	CAIRN_IMAGE_MEMORY, /* there are more pages than we keep records of */
};

enum cairn_image_kind {
	CAIRN_IMAGE_ANONYMOUS, /* private memory without a file, as allocators map it */
	CAIRN_IMAGE_BREAK,     /* grown by brk */
	CAIRN_IMAGE_DATA,      /* variables of a program or library: what is writable of its file, and the zeroed memory behind it */
	CAIRN_IMAGE_STACK,     /* of the first thread */
};

struct cairn_image_region {
	uint64_t start, end;
	enum cairn_image_kind kind;
	uint32_t module; /* of DATA: whose, an index; else CAIRN_NONE */
	bool is_tail;    /* the zeroed memory behind a file's data; an allocator's mapping may have become one with it */
};

/* A file that is mapped with code or data. */
struct cairn_image_module {
	const char *path;    /* as in the memory map; "" if it has none */
	uint64_t start, end; /* of all its mappings, with the memory behind its data */
	uint64_t first_end;  /* of the first of them */
	uint64_t code;       /* start of an executable mapping; 0 if none */
	bool has_data;
};

/* What is on one page, in bytes. The readers of heaps fill it (walk.h). */
struct cairn_image_page {
	uint16_t used, free; /* objects in caches are used: the page is kept for them as well */
	uint16_t keepers; /* live objects on the page, or in its unit; at most UINT16_MAX */
	uint16_t cached;  /* objects in the allocator's caches, likewise */
	uint16_t flags;
};

enum {
	CAIRN_PAGE_SWAPPED = 1,     /* not resident */
	CAIRN_PAGE_SHARED = 2,      /* of a file or of shared memory: giving it back returns nothing */
	CAIRN_PAGE_COMMON = 4,      /* another process has it too, since a fork */
	CAIRN_PAGE_HUGE = 8,        /* part of a transparent huge page */
	CAIRN_PAGE_WALKED = 16,     /* of a heap that was read */
	CAIRN_PAGE_RETURNABLE = 32, /* the allocator gives it back when it is asked to */
	CAIRN_PAGE_CONTINUED = 64,  /* one unit with the page before: it is kept as long as any object of the unit lives */
	CAIRN_PAGE_RESERVE = 128,   /* free, and kept by the allocator's own rules, not by an object */
	CAIRN_PAGE_UNIT = 256,      /* of a unit, which may be this page alone */
	CAIRN_PAGE_ZERO = 1024,     /* a trial found nothing but zeroes on it */
	CAIRN_PAGE_COUNTED = 512,   /* it is in the sums: structures that lie may claim it twice */
};

struct cairn_image;
struct cairn_image_live;

/* Where an image comes from: a process, or in tests a recording. */
struct cairn_image_source {
	void *context;
	struct cairn_bytes maps; /* as /proc/PID/maps has it; borrowed until the image is open */
	struct cairn_bytes auxv; /* as /proc/PID/auxv has it; likewise */
	uint64_t start_break;    /* where memory from brk begins; 0 if unknown */
	uint64_t page_size;
	/* Copies up to LENGTH bytes from ADDRESS on. Returns how many; fewer if a page is missing. */
	size_t (*read)(void *context, uint64_t address, void *out, size_t length);
	/* Calls cairn_image_add for all runs of pages in [START, END) that are resident or swapped out, by address. Returns false if the
	 * system does not say which are. */
	bool (*find_pages)(void *context, struct cairn_image *image, uint64_t start, uint64_t end);
	/* Opens the file of MODULE. NULL if there are no files. */
	bool (*open_module)(void *context, const struct cairn_image_module *module, struct cairn_file *file);
};

/* What a process can make us spend. Zeroes stand for the defaults. */
struct cairn_image_limits {
	int64_t time_ns;        /* default 30 s */
	uint64_t memory;        /* for records; default 1 GiB */
	uint64_t swapped_bytes; /* that may be read, and thereby swapped in; default 4 MiB */
};

struct cairn_image_run {
	uint64_t start, end; /* addresses */
	uint64_t first;      /* number of the record of its first page */
	bool is_swapped;
};

enum { CAIRN_IMAGE_CACHE = 256, CAIRN_IMAGE_BLOCK_BITS = 14, CAIRN_IMAGE_PAGE_MOST = 1 << 16 };

struct cairn_image {
	struct cairn_arena arena;
	struct cairn_image_source source;
	struct cairn_image_region *regions; /* by address */
	size_t region_count, region_capacity, region_last;
	struct cairn_image_module *modules;
	size_t module_count, module_capacity;
	struct cairn_image_run *runs; /* by address */
	size_t run_count, run_capacity, run_last;
	struct cairn_image_page **blocks; /* of 2^CAIRN_IMAGE_BLOCK_BITS records */
	size_t block_count, block_capacity;
	uint64_t page_count, resident_bytes;
	unsigned page_bits;
	uint8_t random[16]; /* what the kernel gave the process at AT_RANDOM */
	bool has_random;
	uint64_t bytes_left, swapped_left, memory_left;
	int64_t deadline_ns;
	enum cairn_image_end exhausted;
	uint64_t trial_left; /* bytes that trials may read */
	bool in_trial, has_untried; /* there were too many candidates to try all */
	/* Pages that were read one by one. */
	struct {
		uint64_t page; /* its address plus 1; 0 is empty */
		char *data;
	} cache[CAIRN_IMAGE_CACHE];
	struct cairn_image_live *live; /* of a process; owned */
};

/* Opens the memory of process PID. Fails with what to do if we may not read it. Close it in any case. */
bool cairn_image_open(struct cairn_image *image, int pid, const struct cairn_image_limits *limits, struct cairn_error *error);

/* The same from another SOURCE. */
bool cairn_image_open_source(struct cairn_image *image, const struct cairn_image_source *source, const struct cairn_image_limits *limits,
			     struct cairn_error *error);
void cairn_image_close(struct cairn_image *image);

/* The pages of [START, END) are there, with FLAGS. For sources. */
void cairn_image_add(struct cairn_image *image, uint64_t start, uint64_t end, uint16_t flags);

/* The region that contains ADDRESS, or NULL. */
const struct cairn_image_region *cairn_image_region(const struct cairn_image *image, uint64_t address);

/* The module whose mappings contain ADDRESS, or NULL. */
const struct cairn_image_module *cairn_image_module(const struct cairn_image *image, uint64_t address);

/* Whether ADDRESS lies in memory where an allocator may keep objects: anonymous memory or brk. */
bool cairn_image_is_heap(const struct cairn_image *image, uint64_t address);

/* The same, or in what such memory may have grown by since the regions were read: the process goes on. */
bool cairn_image_may_be_heap(const struct cairn_image *image, uint64_t address);

/* The record of the page of ADDRESS, or NULL if it is not there. */
struct cairn_image_page *cairn_image_page(struct cairn_image *image, uint64_t address);

/* The run of pages that contains ADDRESS, or if none does, the next one; NULL at the end. */
const struct cairn_image_run *cairn_image_run(struct cairn_image *image, uint64_t address);

/* The bytes of [START, END) on pages that are resident; those of swapped pages as well with SWAPPED. */
uint64_t cairn_image_resident(struct cairn_image *image, uint64_t start, uint64_t end, bool swapped);

/* Copies LENGTH bytes, at most a page's size. Pages are kept, so that neighbouring words cost one system call. Returns false if not all of
 * them are there. */
bool cairn_image_read(struct cairn_image *image, uint64_t address, void *out, size_t length);
bool cairn_image_word(struct cairn_image *image, uint64_t address, uint64_t *word);

/* Copies all LENGTH bytes in one piece, whatever their number, with zeroes for pages that are not there. Returns false if a limit was
 * reached. */
bool cairn_image_copy(struct cairn_image *image, uint64_t address, void *out, size_t length);

/* Reads ahead, for walks upwards. */
struct cairn_image_window {
	struct cairn_image *image;
	unsigned char *data; /* owned */
	uint64_t start, end;
	size_t room;
};

struct cairn_image_window cairn_image_window(struct cairn_image *image, size_t room);
void cairn_image_window_free(struct cairn_image_window *window);

/* LENGTH bytes at ADDRESS, borrowed until the next call; NULL if they are not all there. */
const unsigned char *cairn_image_window_fill(struct cairn_image_window *window, uint64_t address, size_t length);

static inline const unsigned char *cairn_image_window_at(struct cairn_image_window *window, uint64_t address, size_t length)
{
	if (address >= window->start && address + length <= window->end && address + length > address)
		return window->data + (address - window->start);
	return cairn_image_window_fill(window, address, length);
}

/* What is read between these two costs nothing but `trial_left`; once that is used up, reading fails until the trial ends. */
static inline void cairn_image_begin_trial(struct cairn_image *image)
{
	image->in_trial = true;
}

static inline void cairn_image_end_trial(struct cairn_image *image)
{
	image->in_trial = false;
}

/* Takes LENGTH bytes from what may be read. Returns false if there is not so much left. */
bool cairn_image_take(struct cairn_image *image, uint64_t length);

/* Forgets what was read, to read it again. */
void cairn_image_forget(struct cairn_image *image);

/* Whether time is up; then reading fails as well. */
bool cairn_image_is_late(struct cairn_image *image);

#endif
