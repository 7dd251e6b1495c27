/* listing.c - reads a folder and its index, and chooses what to remove.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/listing.h"

#include "base/descriptor.h"
#include "base/entries.h"
#include "base/hash.h"
#include "base/pages.h"
#include "base/sort.h"
#include "base/text.h"
#include "base/time.h"
#include "dump/end.h"
#include "dump/name.h"
#include "process/clock.h"
#include "process/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { dumps_maximum = 1 << 16, index_maximum = 32 << 20, ended_processes_kept = 8 };
static const int64_t uptime_most_ns = (int64_t)1 << 60; /* some 36 years */

void cairn_listing_visit(int descriptor, void (*see)(void *context, const char *name), void *context)
{
	struct cairn_entries entries;
	cairn_entries_start(&entries, descriptor);
	for (const struct dirent64 *entry; (entry = cairn_entries_next(&entries));)
		see(context, entry->d_name);
}

/* Dumps by name while a folder is read: an open-addressing table of indices plus one. */
struct names {
	uint32_t *slots;
	size_t capacity;
};

struct reading {
	struct cairn_listing *listing;
	struct names names;
	int folder;
	bool shared; /* everybody can write to the folder */
	int64_t now_ns;
};

/* Whether only this user or root can have written to the folder; entries of an access control list count as group rights. */
static bool is_trusted(const struct stat *folder)
{
	return (folder->st_uid == geteuid() || folder->st_uid == 0) && (folder->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static uint32_t *slot_of(struct reading *reading, const char *name)
{
	uint64_t hash = cairn_hash_text(cairn_bytes_of(name));
	size_t mask = reading->names.capacity - 1;
	for (size_t i = (hash ^ hash >> 32) & mask;; i = (i + 1) & mask) {
		uint32_t *slot = &reading->names.slots[i];
		if (!*slot || strcmp(reading->listing->dumps[*slot - 1].name, name) == 0)
			return slot;
	}
}

/* The dump NAME in the listing, added if necessary; NULL if there is no room. */
static struct cairn_dump *add(struct reading *reading, const struct cairn_dump *dump)
{
	struct cairn_listing *listing = reading->listing;
	uint32_t *slot = slot_of(reading, dump->name);
	if (*slot) {
		listing->dumps[*slot - 1] = *dump;
		return &listing->dumps[*slot - 1];
	}
	if (listing->count == dumps_maximum)
		return NULL;
	cairn_buffer_append(&listing->room, dump, sizeof *dump);
	if (listing->room.failed)
		return NULL;
	listing->dumps = (struct cairn_dump *)(void *)listing->room.data;
	*slot = (uint32_t)++listing->count;
	return &listing->dumps[listing->count - 1];
}

static void read_index(struct reading *reading)
{
	struct cairn_buffer text = cairn_pages(index_maximum);
	struct stat status;
	if (!reading->listing->trusted)
		return;
	int descriptor = cairn_descriptor_adopt(openat(reading->folder, CAIRN_INDEX_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    (status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		cairn_buffer_read(&text, descriptor);
	cairn_descriptor_close(descriptor);
	struct cairn_bytes rest = cairn_buffer_bytes(&text), line;
	while (cairn_text_line(&rest, &line, NULL)) {
		struct cairn_dump dump;
		if (!cairn_dump_read_line(line, &dump) || !add(reading, &dump))
			reading->listing->changed = true;
	}
	cairn_buffer_free(&text);
}

/* A file can have any time; one before 1970 or after 2255 counts as 1970. */
static int64_t time_of(const struct timespec *time)
{
	return time->tv_sec < 0 || time->tv_sec > (int64_t)9000000000 ? 0 : cairn_time_ns(time);
}

static void see_file(void *context, const char *name)
{
	struct reading *reading = context;
	struct stat status;
	if (!cairn_dump_is_name(name) || fstatat(reading->folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
		return;
	if (reading->shared && status.st_uid != geteuid()) {
		reading->listing->of_others++;
		return;
	}
	uint32_t number = *slot_of(reading, name);
	struct cairn_dump *known = number ? &reading->listing->dumps[number - 1] : NULL;
	if (known && known->size == (uint64_t)status.st_size && known->modified_ns == time_of(&status.st_mtim)) {
		known->marks = CAIRN_DUMP_SEEN | (known->marks & CAIRN_DUMP_DAMAGED);
		return;
	}
	struct cairn_dump dump = {.size = (uint64_t)status.st_size, .modified_ns = time_of(&status.st_mtim), .marks = CAIRN_DUMP_SEEN};
	memcpy(dump.name, name, strlen(name) + 1);
	int descriptor = cairn_descriptor_adopt(openat(reading->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	reading->listing->unreadable += descriptor < 0 && errno == EACCES;
	if (descriptor >= 0 && cairn_dump_scan(descriptor, reading->now_ns, &dump) && add(reading, &dump))
		reading->listing->changed = true;
	cairn_descriptor_close(descriptor);
}

static int compare_damage(const void *a, const void *b)
{
	const struct cairn_dump *x = a, *y = b;
	int difference = ((x->marks & CAIRN_DUMP_DAMAGED) != 0) - ((y->marks & CAIRN_DUMP_DAMAGED) != 0);
	if (difference)
		return difference;
	return x->time_ns != y->time_ns ? x->time_ns < y->time_ns ? -1 : 1 : strcmp(x->name, y->name);
}

/* Moves truncated dumps, if any, after the others. */
static void set_damaged_apart(struct cairn_listing *listing)
{
	listing->bytes = listing->damaged_bytes = listing->damaged = 0;
	for (size_t i = 0; i < listing->count; i++) {
		bool damaged = listing->dumps[i].marks & CAIRN_DUMP_DAMAGED;
		listing->damaged += damaged;
		*(damaged ? &listing->damaged_bytes : &listing->bytes) += listing->dumps[i].size;
	}
	if (listing->damaged)
		cairn_sort(listing->dumps, listing->count, sizeof *listing->dumps, compare_damage);
	listing->count -= listing->damaged;
}

/* Removes the dumps, damaged ones included, that have (or lack) MARK. */
static void remove_where(struct cairn_listing *listing, unsigned mark, bool set)
{
	size_t kept = 0, all = listing->count + listing->damaged;
	for (size_t i = 0; i < all; i++) {
		if (((listing->dumps[i].marks & mark) != 0) == set)
			continue;
		if (kept != i)
			listing->dumps[kept] = listing->dumps[i];
		kept++;
	}
	listing->changed |= kept != all;
	listing->count = kept;
	listing->room.length = kept * sizeof *listing->dumps;
	set_damaged_apart(listing);
}

static int compare(const void *a, const void *b)
{
	const struct cairn_dump *x = a, *y = b;
	int lives = cairn_life_compare(&x->process, &y->process);
	if (lives)
		return lives;
	return x->time_ns != y->time_ns ? x->time_ns < y->time_ns ? -1 : 1 : strcmp(x->name, y->name);
}

/* Converts times since this boot to the current wall clock, so that setting the clock does not change the order. */
static void settle_times(struct cairn_listing *listing)
{
	uint32_t boot = cairn_life_boot();
	int64_t booted = cairn_clock_wall_ns() - cairn_clock_read(CLOCK_BOOTTIME);
	for (size_t i = 0; i < listing->count; i++) {
		struct cairn_dump *dump = &listing->dumps[i];
		if (dump->uptime_ns > 0 && dump->uptime_ns < uptime_most_ns && boot && dump->process.boot == boot)
			dump->time_ns = booted + dump->uptime_ns;
	}
}

/* jemalloc's own files name a PID, but not its start. They belong to the process with that PID if it has been running since before them,
 * else to the process that wrote the last dumps before (or else the first after) them. */
static void settle_lives(struct cairn_listing *listing)
{
	struct cairn_life running = {0};
	int64_t running_since = 0;
	for (size_t i = 0; i < listing->count; i++) {
		struct cairn_dump *dump = &listing->dumps[i], *best = NULL;
		if (dump->process.ticks || !dump->process.pid)
			continue;
		if (running.pid != dump->process.pid)
			running_since = cairn_life_of(dump->process.pid, &running) ? cairn_life_start_ns(&running) : INT64_MAX;
		if (running_since <= dump->time_ns) {
			dump->process = running;
			continue;
		}
		for (size_t j = listing->count; j-- > 0 && listing->dumps[j].process.ticks;) {
			struct cairn_dump *other = &listing->dumps[j];
			if (other->process.pid == dump->process.pid &&
			    (!best || (best->time_ns > dump->time_ns && other->time_ns < best->time_ns)))
				best = other;
		}
		if (best)
			dump->process = best->process;
	}
}

/* The end of the dumps, from START on, of one process. */
static size_t end_of_process(const struct cairn_listing *listing, size_t start)
{
	size_t end = start + 1;
	while (end < listing->count && cairn_life_equal(&listing->dumps[start].process, &listing->dumps[end].process))
		end++;
	return end;
}

/* `cairn run` calls the dump of the highest moment so. The process may have had more memory afterwards, freed but not returned. */
static bool is_peak(const struct cairn_dump *dump)
{
	return cairn_dump_name_is_peak(dump->name);
}

static bool is_higher(const struct cairn_dump *dump, const struct cairn_dump *than)
{
	if (is_peak(dump) != is_peak(than))
		return is_peak(dump);
	return dump->memory != than->memory ? dump->memory > than->memory : dump->sampled > than->sampled;
}

static void mark_process(struct cairn_dump *dumps, size_t count)
{
	struct cairn_dump *highest = dumps;
	for (size_t i = 0; i < count; i++)
		if (is_higher(&dumps[i], highest))
			highest = &dumps[i];
	unsigned alive = cairn_life_goes_on(&dumps->process) ? CAIRN_DUMP_ALIVE : 0;
	for (size_t i = 0; i < count; i++)
		dumps[i].marks = CAIRN_DUMP_SEEN | alive;
	highest->marks |= CAIRN_DUMP_HIGHEST;
	dumps[0].marks |= CAIRN_DUMP_FIRST;
	dumps[count - 1].marks |= CAIRN_DUMP_NEWEST;
}

void cairn_listing_mark(struct cairn_listing *listing)
{
	cairn_sort(listing->dumps, listing->count, sizeof *listing->dumps, compare);
	for (size_t start = 0, end; start < listing->count; start = end) {
		end = end_of_process(listing, start);
		mark_process(&listing->dumps[start], end - start);
	}
}

/* The next known number of kills in LAST's group: at the first dump of a later process in it, else now. Returns false if unknown. */
static bool next_kills(const struct cairn_listing *listing, int folder, const struct cairn_dump *last, uint64_t *kills)
{
	const struct cairn_dump *next = NULL;
	for (size_t i = 0; i < listing->count; i++) {
		const struct cairn_dump *other = &listing->dumps[i];
		if ((other->marks & CAIRN_DUMP_FIRST) && other->group == last->group && other->time_ns > last->time_ns &&
		    !cairn_life_equal(&other->process, &last->process) && (!next || other->time_ns < next->time_ns))
			next = other;
	}
	if (next) {
		*kills = next->kills;
		return true;
	}
	char group[CAIRN_MEMORY_PATH];
	int descriptor = cairn_descriptor_adopt(openat(folder, last->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	bool found = descriptor >= 0 && cairn_dump_find_group(descriptor, group, sizeof group) && cairn_memory_group_kills(group, kills);
	cairn_descriptor_close(descriptor);
	return found;
}

static void mark_fates(struct cairn_listing *listing, int folder)
{
	for (size_t i = 0; i < listing->count; i++) {
		struct cairn_dump *dump = &listing->dumps[i];
		uint64_t kills;
		if (cairn_dump_is_last_moment(dump) && cairn_end_parse(cairn_dump_ending(dump)).out_of_memory)
			dump->marks |= CAIRN_DUMP_OOM;
		if ((dump->marks & (CAIRN_DUMP_NEWEST | CAIRN_DUMP_ALIVE)) == CAIRN_DUMP_NEWEST && dump->group &&
		    next_kills(listing, folder, dump, &kills) && kills > dump->kills)
			dump->marks |= CAIRN_DUMP_OOM;
	}
}

bool cairn_listing_read(struct cairn_listing *listing, int descriptor, struct cairn_error *error)
{
	*listing = (struct cairn_listing){.room = cairn_pages((size_t)dumps_maximum * sizeof *listing->dumps)};
	struct reading reading = {
		.listing = listing, .names = {NULL, 2 * dumps_maximum}, .folder = descriptor, .now_ns = cairn_clock_wall_ns()};
	struct stat status;
	if (fstat(descriptor, &status) != 0)
		return cairn_fail_errno(error, "cannot read the dump folder");
	listing->trusted = is_trusted(&status);
	reading.shared = status.st_mode & S_IWOTH;
	reading.names.slots = cairn_pages_map(reading.names.capacity * sizeof *reading.names.slots);
	if (!reading.names.slots)
		return cairn_fail(error, "no memory to list the dump folder");
	read_index(&reading);
	cairn_listing_visit(descriptor, see_file, &reading);
	cairn_pages_unmap(reading.names.slots, reading.names.capacity * sizeof *reading.names.slots);
	remove_where(listing, CAIRN_DUMP_SEEN, false);
	if (listing->room.failed)
		return cairn_fail(error, "no memory to list the dump folder");
	settle_times(listing);
	cairn_sort(listing->dumps, listing->count, sizeof *listing->dumps, compare); /* unknown processes come first */
	settle_lives(listing);
	cairn_listing_mark(listing);
	mark_fates(listing, descriptor);
	return true;
}

void cairn_listing_free(struct cairn_listing *listing)
{
	cairn_buffer_free(&listing->room);
}

void cairn_listing_forget_dropped(struct cairn_listing *listing)
{
	remove_where(listing, CAIRN_DUMP_DROP, true);
}

/* The earliest of the last dumps of the eight processes that ended last. */
static int64_t ended_since(const struct cairn_listing *listing)
{
	int64_t latest[ended_processes_kept] = {0}; /* in descending order */
	for (size_t i = 0; i < listing->count; i++) {
		const struct cairn_dump *dump = &listing->dumps[i];
		if (!(dump->marks & CAIRN_DUMP_NEWEST) || (dump->marks & CAIRN_DUMP_ALIVE) ||
		    dump->time_ns <= latest[ended_processes_kept - 1])
			continue;
		int at = ended_processes_kept - 1;
		for (; at > 0 && latest[at - 1] < dump->time_ns; at--)
			latest[at] = latest[at - 1];
		latest[at] = dump->time_ns;
	}
	return latest[ended_processes_kept - 1];
}

/* A dump of a last moment. */
struct moment {
	uint64_t service;
	int64_t time_ns;
	uint32_t number;
};

static uint64_t service_of(const struct cairn_dump *dump)
{
	return cairn_hash_text(cairn_dump_name_service(dump->name, dump->process.pid));
}

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;
	if (x->service != y->service)
		return x->service < y->service ? -1 : 1;
	return x->time_ns != y->time_ns ? x->time_ns > y->time_ns ? -1 : 1 : (x->number > y->number) - (x->number < y->number);
}

/* Calls EXCESS for each dump of a last moment beyond the number that is kept. */
static void drop_moments(struct cairn_listing *listing, void (*excess)(void *context, struct cairn_dump *dump), void *context)
{
	struct moment *moments = cairn_pages_map(listing->count * sizeof *moments + 1);
	size_t count = 0, same = 0;
	for (size_t i = 0; moments && i < listing->count; i++)
		if (cairn_dump_is_last_moment(&listing->dumps[i]))
			moments[count++] = (struct moment){service_of(&listing->dumps[i]), listing->dumps[i].time_ns, (uint32_t)i};
	cairn_sort(moments, count, sizeof *moments, compare_moments);
	for (size_t i = 0; i < count; i++) {
		same = i && moments[i].service == moments[i - 1].service ? same + 1 : 1;
		if (same > CAIRN_LAST_MOMENTS_KEPT)
			excess(context, &listing->dumps[moments[i].number]);
	}
	cairn_pages_unmap(moments, listing->count * sizeof *moments + 1);
}

static void mark_kept(struct cairn_listing *listing)
{
	int64_t since = ended_since(listing);
	for (size_t start = 0, end; start < listing->count; start = end) {
		end = end_of_process(listing, start);
		const struct cairn_dump *last = &listing->dumps[end - 1];
		for (size_t i = start; i < end; i++)
			if (cairn_dump_is_last_moment(&listing->dumps[i])) /* irreplaceable, however old it is */
				listing->dumps[i].marks |= CAIRN_DUMP_KEPT;
		if (!(last->marks & CAIRN_DUMP_ALIVE) && last->time_ns < since)
			continue;
		for (size_t i = start; i < end; i++)
			if (listing->dumps[i].marks & (CAIRN_DUMP_FIRST | CAIRN_DUMP_HIGHEST | CAIRN_DUMP_NEWEST))
				listing->dumps[i].marks |= CAIRN_DUMP_KEPT;
	}
}

/* What would remain in the folder, and the limits. */
struct balance {
	uint64_t count, bytes;
	uint64_t count_most, bytes_most;
};

static bool is_over(const struct balance *balance)
{
	return balance->count > balance->count_most || balance->bytes > balance->bytes_most;
}

static void drop(struct balance *balance, struct cairn_dump *dump)
{
	dump->marks |= CAIRN_DUMP_DROP;
	balance->count--;
	balance->bytes -= dump->size;
}

static void drop_moment(void *context, struct cairn_dump *dump)
{
	dump->marks &= ~(unsigned)CAIRN_DUMP_KEPT;
	drop(context, dump);
}

struct candidate {
	int64_t gap; /* between its neighbours in time, if it is removed */
	uint32_t number;
};

static int compare_gaps(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	return x->gap != y->gap ? x->gap < y->gap ? -1 : 1 : (x->number > y->number) - (x->number < y->number);
}

/* Marks every other removable dump of one process. Returns the number of candidates. */
static size_t find_candidates(const struct cairn_listing *listing, size_t start, size_t end, struct candidate *candidates, size_t count)
{
	int64_t before = 0;
	bool any = false, taken = false; /* there is an earlier dump; that dump is a candidate */
	for (size_t i = start; i < end; i++) {
		const struct cairn_dump *dump = &listing->dumps[i];
		if (dump->marks & CAIRN_DUMP_DROP)
			continue;
		size_t next = i + 1;
		while (next < end && (listing->dumps[next].marks & CAIRN_DUMP_DROP))
			next++;
		bool candidate = !(dump->marks & CAIRN_DUMP_KEPT) && !taken;
		if (candidate)
			candidates[count++] =
				(struct candidate){any && next < end ? listing->dumps[next].time_ns - before : 0, (uint32_t)i};
		before = dump->time_ns;
		any = true;
		taken = candidate;
	}
	return count;
}

/* One round of thinning; false if nothing more can be removed. */
static bool thin_round(struct cairn_listing *listing, struct balance *balance, struct candidate *candidates)
{
	size_t count = 0;
	for (size_t start = 0, end; start < listing->count; start = end) {
		end = end_of_process(listing, start);
		count = find_candidates(listing, start, end, candidates, count);
	}
	cairn_sort(candidates, count, sizeof *candidates, compare_gaps);
	for (size_t i = 0; i < count && is_over(balance); i++)
		drop(balance, &listing->dumps[candidates[i].number]);
	return count > 0;
}

/* Whether LIMITS are for DUMP. A process whose start is not known could be another one of the same PID: it owns nothing. */
static bool is_limited(const struct cairn_folder_limits *limits, const struct cairn_dump *dump)
{
	const struct cairn_life *owner = &limits->owner;
	return !owner->pid || (owner->ticks && cairn_life_equal(owner, &dump->process));
}

/* Counts the dumps that LIMITS are for, and keeps all others. */
static void weigh(struct cairn_listing *listing, const struct cairn_folder_limits *limits, struct balance *balance)
{
	for (size_t i = 0; i < listing->count + listing->damaged; i++) {
		bool limited = is_limited(limits, &listing->dumps[i]);
		balance->count += limited;
		balance->bytes += limited ? listing->dumps[i].size : 0;
		if (!limited)
			listing->dumps[i].marks |= CAIRN_DUMP_KEPT;
	}
}

void cairn_listing_plan(struct cairn_listing *listing, const struct cairn_folder_limits *limits, int64_t now_ns, uint64_t spare)
{
	struct balance balance = {
		.count_most = limits->count ? limits->count : UINT64_MAX,
		.bytes_most = limits->bytes ? limits->bytes : UINT64_MAX,
	};
	mark_kept(listing);
	weigh(listing, limits, &balance);
	uint64_t left = balance.bytes > spare ? balance.bytes - spare : 0;
	if (spare && left < balance.bytes_most)
		balance.bytes_most = left;
	if (!limits->owner.pid) /* a last moment is that of another process */
		drop_moments(listing, drop_moment, &balance);
	for (size_t i = 0; i < listing->count + listing->damaged && limits->age_seconds; i++)
		if (!(listing->dumps[i].marks & (CAIRN_DUMP_KEPT | CAIRN_DUMP_DROP)) &&
		    (now_ns - listing->dumps[i].time_ns) / CAIRN_SECOND_NS > (int64_t)limits->age_seconds)
			drop(&balance, &listing->dumps[i]);
	for (size_t i = listing->count; i < listing->count + listing->damaged && is_over(&balance); i++)
		if (!(listing->dumps[i].marks & (CAIRN_DUMP_KEPT | CAIRN_DUMP_DROP)))
			drop(&balance, &listing->dumps[i]);
	struct candidate *candidates = is_over(&balance) ? cairn_pages_map(listing->count * sizeof *candidates) : NULL;
	while (candidates && is_over(&balance) && thin_round(listing, &balance, candidates))
		;
	cairn_pages_unmap(candidates, listing->count * sizeof *candidates);
}
