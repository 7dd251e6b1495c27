/* smaps.c - reading /proc/PID/smaps, in pieces: that of a big process is megabytes of text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/smaps.h"

#include "base/descriptor.h"
#include "base/pages.h"
#include "base/peek.h"
#include "base/text.h"
#include "process/proc.h"
#include "process/resident.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static const uint64_t line_most = (uint64_t)1 << 34; /* kilobytes that a mapping may have */

static const uint64_t hinted_first = (uint64_t)2 << 40, hinted_end = (uint64_t)30 << 40;

/* What is counted apart is looked up page by page, if at all, to this extent: 4 GiB. */
enum { apart_pages_most = 1 << 20 };

/* A guard page is small. The arenas of glibc's malloc consist of reservations of arena_size bytes, each at a multiple of it. */
enum { guard_most = 64 << 10, arena_size = 64 << 20, region_bits = 30, piece_size = 32 << 10 };

struct mapping {
	uint64_t start, end;
	bool readable, writable, executable, shared;
	bool named; /* by a path, or in brackets */
	bool of_data; /* of a file's data, or behind it in the same file: .bss may follow */
	uint64_t inode;
	enum cairn_smaps_kind by_name;
	struct cairn_smaps_sum sum;
	uint64_t pss, anonymous, huge, lazy, hugetlb;
	bool noreserve;
	enum cairn_smaps_kind kind;
};

struct reading {
	struct cairn_smaps *smaps;
	struct mapping now, before;
	struct cairn_smaps_sum full; /* mappings that are arenas of glibc's malloc without a byte to spare, if it has any arenas */
	uint64_t last_region;
	uint64_t code_inode; /* of the latest file that is mapped executable: what is data follows in it */
	uint64_t ledger; /* where that of the process begins, if that is known */
	int pagemap; /* -1 when holes do not matter */
	uint64_t pages_left; /* that may still be looked at */
	const struct cairn_smaps_range *ranges; /* that are to be counted apart, from `range` on: those before it are done */
	size_t range_count, range;
	struct cairn_resident resident;
};

static _Atomic uint64_t ledger_start;

void cairn_smaps_set_ledger(uint64_t start)
{
	atomic_store_explicit(&ledger_start, start, memory_order_relaxed);
}

static bool is_shared_memory(struct cairn_bytes path)
{
	static const char *const places[] = {"/dev/shm/", "/run/shm/", "/memfd:", "/SYSV", "/dev/zero", "[anon_shmem"};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (cairn_bytes_start_with(path, places[i]))
			return true;
	return false;
}

/* What the last field of the line says. The pages that a program has written of a file that is no program or library, that of CODE_INODE,
 * are still that file's. */
static enum cairn_smaps_kind named_kind(struct cairn_bytes name, const struct mapping *mapping, uint64_t code_inode)
{
	if (cairn_bytes_start_with(name, "[heap"))
		return CAIRN_SMAPS_HEAP;
	if (cairn_bytes_start_with(name, "[stack"))
		return CAIRN_SMAPS_STACK;
	if (cairn_bytes_start_with(name, "[v"))
		return CAIRN_SMAPS_KERNEL;
	if (cairn_bytes_start_with(name, "[anon:jemalloc"))
		return CAIRN_SMAPS_NORESERVE;
	if (cairn_bytes_start_with(name, "/memfd:cairn-ledger"))
		return CAIRN_SMAPS_LEDGER;
	if (is_shared_memory(name))
		return CAIRN_SMAPS_SHARED;
	if (!cairn_bytes_start_with(name, "/"))
		return CAIRN_SMAPS_ANONYMOUS;
	return mapping->writable && !mapping->shared && mapping->inode == code_inode ? CAIRN_SMAPS_DATA : CAIRN_SMAPS_FILE;
}

/* The kind of a mapping without a name follows from its flags and from the one before it. */
static enum cairn_smaps_kind unnamed_kind(const struct mapping *mapping, const struct mapping *before)
{
	bool behind = before->end == mapping->start;
	bool behind_guard = behind && !before->readable && !before->writable && !before->executable &&
			    before->end - before->start <= guard_most;
	if (mapping->shared)
		return CAIRN_SMAPS_SHARED;
	if (mapping->noreserve && !(mapping->start >= hinted_first && mapping->start < hinted_end))
		return CAIRN_SMAPS_NORESERVE;
	if (mapping->writable && behind_guard)
		return CAIRN_SMAPS_STACK;
	if (mapping->writable && behind && before->of_data)
		return CAIRN_SMAPS_DATA;
	return mapping->start >= hinted_first && mapping->start < hinted_end ? CAIRN_SMAPS_HINTED : CAIRN_SMAPS_ANONYMOUS;
}

static void add_sum(struct cairn_smaps_sum *to, const struct cairn_smaps_sum *sum)
{
	to->size += sum->size;
	to->rss += sum->rss;
	to->swap += sum->swap;
}

static void count_regions(struct reading *reading, const struct mapping *mapping)
{
	uint64_t first = mapping->start >> region_bits, last = (mapping->end - 1) >> region_bits;
	reading->smaps->regions += last - first + (first + 1 != reading->last_region);
	reading->last_region = last + 1;
}

/* Adds the holes of MAPPING; how long it takes is bounded, so that a process with terabytes of addresses is not looked through. */
static void count_holes(struct reading *reading, const struct mapping *mapping)
{
	enum { page_size = 4096, words_most = 2048 };
	static const uint64_t present_or_swapped = (uint64_t)3 << 62;
	uint64_t page = mapping->start / page_size, end = mapping->end / page_size, run = 0;
	if (reading->pagemap < 0 || !reading->smaps->has_holes)
		return;
	while (page < end) {
		uint64_t words[words_most];
		size_t wanted = end - page < words_most ? (size_t)(end - page) : words_most;
		ssize_t got = reading->pages_left >= wanted
				      ? pread(reading->pagemap, words, wanted * sizeof *words, (off_t)(page * sizeof *words))
				      : 0;
		if (got < (ssize_t)sizeof *words) {
			reading->smaps->has_holes = false;
			return;
		}
		size_t count = (size_t)got / sizeof *words;
		for (size_t i = 0; i < count; i++) {
			if (!(words[i] & present_or_swapped)) {
				run++;
				continue;
			}
			reading->smaps->holes += run * page_size >= CAIRN_SMAPS_HOLE ? run * page_size : 0;
			run = 0;
		}
		page += count;
		reading->pages_left -= count;
	}
	reading->smaps->holes += run * page_size >= CAIRN_SMAPS_HOLE ? run * page_size : 0;
}

static bool is_private_memory(const struct mapping *mapping)
{
	enum cairn_smaps_kind kind = mapping->kind;
	return !mapping->shared && kind != CAIRN_SMAPS_FILE && kind != CAIRN_SMAPS_KERNEL && !(kind == CAIRN_SMAPS_DATA && mapping->named);
}

/* Takes what of MAPPING is in a range of its own out of it. What is resident of a part is looked up page by page. */
static void count_apart(struct reading *reading, struct mapping *mapping)
{
	struct cairn_smaps_sum part = {0};
	while (reading->range < reading->range_count && reading->ranges[reading->range].end <= mapping->start)
		reading->range++;
	for (size_t i = reading->range; i < reading->range_count && reading->ranges[i].start < mapping->end; i++) {
		uint64_t start = reading->ranges[i].start > mapping->start ? reading->ranges[i].start : mapping->start;
		uint64_t end = reading->ranges[i].end < mapping->end ? reading->ranges[i].end : mapping->end, bytes = 0;
		if (start >= end)
			continue;
		bool whole = start == mapping->start && end == mapping->end;
		if (whole)
			bytes = mapping->sum.rss;
		else if (mapping->sum.rss && !cairn_resident_range(&reading->resident, start, end - start, &bytes))
			bytes = (uint64_t)((double)mapping->sum.rss * ((double)(end - start) / (double)(mapping->end - mapping->start)));
		part.size += end - start;
		part.rss += bytes;
		part.swap += whole ? mapping->sum.swap : 0;
	}
	if (part.rss > mapping->sum.rss) /* it has grown meanwhile */
		part.rss = mapping->sum.rss;
	add_sum(&reading->smaps->kinds[CAIRN_SMAPS_MAPPED], &part);
	mapping->sum.size -= part.size < mapping->sum.size ? part.size : mapping->sum.size;
	mapping->sum.rss -= part.rss;
	mapping->sum.swap -= part.swap;
}

/* Between two reads a mapping may grow, and the kernel then shows it again. What is counted of MAPPING is what lies behind FROM, in
 * proportion. Returns false if that is nothing. */
static bool keep_rest(struct mapping *mapping, uint64_t from)
{
	uint64_t *const amounts[] = {&mapping->sum.rss, &mapping->sum.swap, &mapping->pss, &mapping->anonymous,
				     &mapping->huge, &mapping->lazy, &mapping->hugetlb};
	if (mapping->start >= from)
		return true;
	if (mapping->end <= from)
		return false;
	double share = (double)(mapping->end - from) / (double)(mapping->end - mapping->start);
	for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
		*amounts[i] = (uint64_t)((double)*amounts[i] * share);
	mapping->start = from;
	return true;
}

/* BEFORE and what was added to it since are one mapping. */
static void join(struct mapping *before, const struct mapping *rest)
{
	before->end = rest->end;
	add_sum(&before->sum, &rest->sum);
	before->pss += rest->pss;
	before->anonymous += rest->anonymous;
	before->huge += rest->huge;
	before->lazy += rest->lazy;
	before->hugetlb += rest->hugetlb;
}

/* Whether RESERVE is the rest of an arena of glibc's malloc, the used part of which is BEFORE: full reservations in front of it are part
 * of the same mapping. */
static bool is_reserve_of(const struct mapping *reserve, const struct mapping *before)
{
	return !reserve->readable && !reserve->writable && reserve->noreserve && before->end == reserve->start &&
	       before->kind == CAIRN_SMAPS_NORESERVE && before->start % arena_size == 0 && reserve->end % arena_size == 0 &&
	       reserve->end - reserve->start < arena_size;
}

/* Counts the mapping before the present one: its kind is certain now. */
static void settle(struct reading *reading)
{
	struct cairn_smaps *smaps = reading->smaps;
	struct mapping *mapping = &reading->before;
	smaps->rss += mapping->sum.rss;
	smaps->swap += mapping->sum.swap;
	smaps->pss += mapping->pss;
	smaps->anonymous += mapping->anonymous;
	smaps->huge += mapping->huge;
	smaps->lazy += mapping->lazy;
	smaps->hugetlb += mapping->hugetlb;
	if (mapping->kind == CAIRN_SMAPS_NORESERVE && mapping->end > mapping->start) {
		count_regions(reading, mapping);
		count_holes(reading, mapping);
	}
	if (reading->range_count && is_private_memory(mapping))
		count_apart(reading, mapping);
	add_sum(&smaps->kinds[mapping->kind], &mapping->sum);
	if (mapping->kind == CAIRN_SMAPS_NORESERVE && !mapping->named && mapping->writable && mapping->start % arena_size == 0 &&
	    mapping->end % arena_size == 0)
		add_sum(&reading->full, &mapping->sum);
}

/* MAPPING, all lines of which have been read, gets its kind; BEFORE gets another if MAPPING is its reserve. */
static void classify(const struct reading *reading, struct mapping *mapping, struct mapping *before)
{
	mapping->kind = mapping->named ? mapping->by_name : unnamed_kind(mapping, before);
	if (mapping->start == reading->ledger && mapping->shared)
		mapping->kind = CAIRN_SMAPS_LEDGER;
	bool same_file = mapping->named && mapping->inode && mapping->inode == before->inode && before->end == mapping->start;
	mapping->of_data = mapping->kind == CAIRN_SMAPS_DATA || (same_file && before->of_data);
	if (is_reserve_of(mapping, before)) {
		before->kind = mapping->kind = CAIRN_SMAPS_ARENA;
		mapping->sum.size = 0;
	}
}

/* All lines of the mapping have been read. */
static void finish(struct reading *reading)
{
	struct mapping *mapping = &reading->now, *before = &reading->before;
	bool again = mapping->start < before->end && mapping->readable == before->readable && mapping->writable == before->writable;
	if (mapping->end <= mapping->start || !keep_rest(mapping, before->end))
		return;
	mapping->sum.size = mapping->end - mapping->start;
	if (again) {
		join(before, mapping);
		return;
	}
	classify(reading, mapping, before);
	settle(reading);
	*before = *mapping;
}

/* The last mapping has been read. */
static void finish_last(struct reading *reading)
{
	struct cairn_smaps_sum *kinds = reading->smaps->kinds, *noreserve = &kinds[CAIRN_SMAPS_NORESERVE];
	finish(reading);
	settle(reading);
	if (kinds[CAIRN_SMAPS_ARENA].size == 0)
		return;
	add_sum(&kinds[CAIRN_SMAPS_ARENA], &reading->full);
	noreserve->size -= reading->full.size;
	noreserve->rss -= reading->full.rss;
	noreserve->swap -= reading->full.swap;
}

/* "START-END rwxp OFFSET DEVICE INODE NAME", and any name may follow. */
static void begin(struct reading *reading, struct cairn_bytes line)
{
	struct mapping *mapping = &reading->now;
	finish(reading);
	*mapping = (struct mapping){0};
	struct cairn_proc_map map;
	if (!cairn_proc_map_parse(line, &map))
		return;
	*mapping = (struct mapping){
		.start = map.start,
		.end = map.limit,
		.inode = map.inode,
		.readable = map.readable,
		.writable = map.writable,
		.executable = map.executable,
		.shared = map.shared,
		.named = map.path.length > 0,
	};
	if (map.executable && cairn_bytes_start_with(map.path, "/"))
		reading->code_inode = map.inode;
	if (mapping->named)
		mapping->by_name = named_kind(map.path, mapping, reading->code_inode);
}

static void take_flags(struct mapping *mapping, struct cairn_bytes flags)
{
	for (flags = cairn_text_trim(flags); flags.length >= 2; flags = cairn_text_trim(cairn_bytes_skip(flags, 2)))
		mapping->noreserve = mapping->noreserve || memcmp(flags.data, "nr", 2) == 0;
}

static void read_line(struct reading *reading, struct cairn_bytes line)
{
	struct mapping *now = &reading->now;
	const struct {
		const char *name;
		uint64_t *amount;
	} fields[] = {
		{"Rss:", &now->sum.rss},
		{"Pss:", &now->pss},
		{"Anonymous:", &now->anonymous},
		{"Swap:", &now->sum.swap},
		{"AnonHugePages:", &now->huge},
		{"LazyFree:", &now->lazy},
		{"Private_Hugetlb:", &now->hugetlb},
		{"Shared_Hugetlb:", &now->hugetlb},
	};
	if (line.length > 0 && (line.data[0] < 'A' || line.data[0] > 'Z')) {
		begin(reading, line);
		return;
	}
	if (cairn_text_take(&line, "VmFlags:")) {
		take_flags(now, line);
		return;
	}
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		uint64_t kilobytes;
		if (!cairn_text_take(&line, fields[i].name))
			continue;
		line = cairn_text_trim(line);
		if (!cairn_text_decimal(&line, &kilobytes) || kilobytes > line_most)
			return;
		*fields[i].amount += kilobytes << 10;
		return;
	}
}

static void read_lines(struct reading *reading, struct cairn_bytes text)
{
	struct cairn_bytes line;
	while (cairn_text_line(&text, &line, NULL))
		read_line(reading, line);
}

void cairn_smaps_parse(struct cairn_smaps *smaps, struct cairn_bytes text)
{
	struct reading reading = {.smaps = smaps, .pagemap = -1};
	*smaps = (struct cairn_smaps){0};
	read_lines(&reading, text);
	finish_last(&reading);
}

/* Reads what there is now behind the KEPT bytes of an unfinished line; 0 at the end, -1 with errno. */
static ssize_t read_piece(int descriptor, struct cairn_buffer *piece, size_t kept)
{
	piece->length = kept;
	char *room = cairn_buffer_room(piece, piece_size);
	if (!room) {
		errno = ENOMEM;
		return -1;
	}
	ssize_t length;
	do
		length = read(descriptor, room, piece_size);
	while (length < 0 && errno == EINTR);
	return length;
}

static bool read_all(struct reading *reading, int descriptor, struct cairn_buffer *piece)
{
	size_t kept = 0;
	for (;;) {
		ssize_t length = read_piece(descriptor, piece, kept);
		if (length < 0)
			return false;
		struct cairn_bytes rest = {piece->data, kept + (size_t)length};
		const char *end = rest.length ? memrchr(rest.data, '\n', rest.length) : NULL;
		size_t whole = end ? (size_t)(end - rest.data) + 1 : 0;
		read_lines(reading, (struct cairn_bytes){rest.data, whole});
		if (length == 0)
			break;
		kept = rest.length - whole;
		memmove(piece->data, piece->data + whole, kept);
	}
	finish_last(reading);
	return true;
}

static bool read_process(struct cairn_smaps *smaps, int pid, int pagemap, uint64_t pages, const struct cairn_smaps_range *ranges,
			 size_t range_count)
{
	char path[CAIRN_PROC_PATH];
	*smaps = (struct cairn_smaps){0};
	int descriptor = cairn_descriptor_adopt(cairn_peek_open(cairn_proc_path(path, pid, "smaps")));
	if (descriptor < 0)
		return false;
	struct reading reading = {.smaps = smaps, .pagemap = pagemap, .pages_left = pages};
	reading.ranges = ranges;
	reading.range_count = range_count;
	cairn_resident_open(&reading.resident, pid, range_count ? apart_pages_most : 0);
	reading.ledger = pid ? 0 : atomic_load_explicit(&ledger_start, memory_order_relaxed);
	smaps->has_holes = pagemap >= 0;
	struct cairn_buffer piece = cairn_pages(4 * piece_size);
	bool good = read_all(&reading, descriptor, &piece);
	int code = errno;
	cairn_buffer_free(&piece);
	cairn_resident_close(&reading.resident);
	cairn_descriptor_close(descriptor);
	errno = code;
	if (good && smaps->rss == 0) {
		errno = ESRCH; /* a process that has ended, or a thread of the kernel, has no mappings */
		good = false;
	}
	return good;
}

bool cairn_smaps_read(struct cairn_smaps *smaps, int pid)
{
	return read_process(smaps, pid, -1, 0, NULL, 0);
}

bool cairn_smaps_read_holes(struct cairn_smaps *smaps, int pid, uint64_t pages)
{
	return cairn_smaps_read_apart(smaps, pid, pages, NULL, 0);
}

bool cairn_smaps_read_apart(struct cairn_smaps *smaps, int pid, uint64_t pages, const struct cairn_smaps_range *ranges, size_t count)
{
	char path[CAIRN_PROC_PATH];
	bool wanted = pages && sysconf(_SC_PAGESIZE) == 4096;
	int pagemap = wanted ? cairn_descriptor_adopt(open(cairn_proc_path(path, pid, "pagemap"), O_RDONLY | O_CLOEXEC)) : -1;
	bool good = read_process(smaps, pid, pagemap, pages, ranges, count);
	int code = errno;
	cairn_descriptor_close(pagemap);
	errno = code;
	return good;
}

static const char *kind_name(enum cairn_smaps_kind kind)
{
	static const char *const names[] = {"noreserve", "anonymous", "arena", "heap", "stack", "data",
					    "file", "shared", "kernel", "ledger", "mapped", "hinted"};
	static_assert(sizeof names / sizeof *names == CAIRN_SMAPS_KINDS, "every kind has a name");
	return names[kind];
}

bool cairn_smaps_number(struct cairn_smaps *smaps, unsigned index, char *name, uint64_t **value)
{
	const struct {
		const char *name;
		uint64_t *value;
	} totals[] = {
		{"rss", &smaps->rss}, {"pss", &smaps->pss}, {"swap", &smaps->swap}, {"anonymous", &smaps->anonymous},
		{"huge", &smaps->huge}, {"lazy", &smaps->lazy}, {"hugetlb", &smaps->hugetlb}, {"regions", &smaps->regions},
	};
	static const char *const sums[] = {"size", "rss", "swap"};
	enum { total_count = sizeof totals / sizeof *totals, sum_count = 3 };
	if (index >= total_count + sum_count * CAIRN_SMAPS_KINDS)
		return false;
	if (index < total_count) {
		snprintf(name, 40, "smaps.%s", totals[index].name);
		*value = totals[index].value;
		return true;
	}
	index -= total_count;
	struct cairn_smaps_sum *sum = &smaps->kinds[index / sum_count];
	uint64_t *const members[] = {&sum->size, &sum->rss, &sum->swap};
	snprintf(name, 40, "smaps.%s.%s", sums[index % sum_count], kind_name((enum cairn_smaps_kind)(index / sum_count)));
	*value = members[index % sum_count];
	return true;
}
