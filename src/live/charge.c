/* charge.c - memory.stat, the processes of a group, and making it add up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/charge.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/entries.h"
#include "base/peek.h"
#include "base/sort.h"
#include "base/text.h"
#include "process/clock.h"
#include "process/memory.h"
#include "process/proc.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { pids_most = 65536, depth_most = 32, groups_most = 4096 };

static const struct {
	const char *name, *title;
} names[] = {
	[CAIRN_CHARGE_PROCESSES] = {"processes", "memory of processes"},
	[CAIRN_CHARGE_LEFT] = {"left", "left by processes that have ended or moved"},
	[CAIRN_CHARGE_CACHE] = {"page_cache", "page cache"},
	[CAIRN_CHARGE_TMPFS] = {"tmpfs", "tmpfs and shared memory"},
	[CAIRN_CHARGE_SLAB] = {"slab", "slab: the kernel's own objects"},
	[CAIRN_CHARGE_SOCKETS] = {"sockets", "buffers of sockets"},
	[CAIRN_CHARGE_PAGE_TABLES] = {"page_tables", "page tables"},
	[CAIRN_CHARGE_STACKS] = {"kernel_stacks", "kernel stacks of threads"},
	[CAIRN_CHARGE_KERNEL] = {"kernel", "other kernel memory"},
	[CAIRN_CHARGE_REST] = {"rest", "charged in advance"},
};
static_assert(sizeof names / sizeof *names == CAIRN_CHARGE_LINES, "every line has a name");

const char *cairn_charge_title(enum cairn_charge_line line)
{
	return names[line].title;
}

const char *cairn_charge_name(enum cairn_charge_line line)
{
	return names[line].name;
}

void cairn_charge_add(struct cairn_charge *charge, enum cairn_charge_line line, const char *name, int pid, uint64_t bytes)
{
	struct cairn_charge_items *items = &charge->items[line];
	if (bytes == 0)
		return;
	cairn_array_room(items->items, items->count, items->capacity);
	items->items[items->count++] = (struct cairn_charge_item){cairn_arena_text(&charge->arena, cairn_bytes_of(name)), pid, bytes};
}

static bool read_number(const char *folder, const char *name, uint64_t *number)
{
	char path[CAIRN_MEMORY_PATH + 40], text[64];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	struct cairn_bytes content = cairn_peek(path, text, sizeof text);
	return cairn_text_decimal(&content, number); /* "max" is none */
}

/* The numbers of memory.stat, of the group with those inside. */
struct numbers {
	uint64_t anonymous, file, shared, slab, sockets, tables, more_tables, stacks, kernel;
	bool has_kernel;
};

static void read_stat(const struct cairn_charge *charge, struct numbers *numbers)
{
	const struct {
		bool version_one;
		const char *name;
		uint64_t *amount;
	} fields[] = {
		{false, "anon ", &numbers->anonymous}, {false, "file ", &numbers->file}, {false, "shmem ", &numbers->shared},
		{false, "slab ", &numbers->slab}, {false, "sock ", &numbers->sockets}, {false, "pagetables ", &numbers->tables},
		{false, "sec_pagetables ", &numbers->more_tables}, {false, "kernel_stack ", &numbers->stacks},
		{false, "kernel ", &numbers->kernel}, {true, "total_rss ", &numbers->anonymous}, {true, "total_cache ", &numbers->file},
		{true, "total_shmem ", &numbers->shared},
	};
	char path[CAIRN_MEMORY_PATH + 16], text[16384];
	*numbers = (struct numbers){0};
	snprintf(path, sizeof path, "%s/memory.stat", charge->group);
	struct cairn_bytes rest = cairn_peek(path, text, sizeof text), line;
	while (cairn_text_line(&rest, &line, NULL))
		for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
			if (fields[i].version_one == charge->version_one && cairn_text_take(&line, fields[i].name) &&
			    !cairn_text_decimal(&line, fields[i].amount))
				*fields[i].amount = 0;
	numbers->has_kernel = numbers->kernel > 0;
	if (!charge->version_one)
		return;
	numbers->has_kernel = read_number(charge->group, "memory.kmem.usage_in_bytes", &numbers->kernel);
	/* Buffers of sockets have a limit of their own there (memory.kmem.tcp), and are not charged with the rest. */
}

/* Adds the processes of the group in FOLDER and of those inside it. */
static void list_processes(const char *folder, unsigned depth, unsigned *groups, int *pids, size_t *count)
{
	char path[4096];
	struct cairn_buffer text = cairn_buffer(1 << 22);
	struct cairn_bytes rest, line;
	uint64_t pid;
	snprintf(path, sizeof path, "%s/cgroup.procs", folder);
	int descriptor = cairn_peek_open(path);
	if (descriptor >= 0) {
		cairn_buffer_read(&text, descriptor);
		close(descriptor);
	}
	for (rest = cairn_buffer_bytes(&text); *count < pids_most && cairn_text_line(&rest, &line, NULL);)
		if (cairn_text_decimal(&line, &pid) && pid > 0 && pid < INT32_MAX)
			pids[(*count)++] = (int)pid;
	cairn_buffer_free(&text);
	int open_folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cairn_entries *entries = cairn_array_new(1, sizeof *entries);
	const struct dirent64 *entry;
	for (cairn_entries_start(entries, open_folder); depth < depth_most && (entry = cairn_entries_next(entries));)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && ++*groups < groups_most &&
		    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
			list_processes(path, depth + 1, groups, pids, count);
	free(entries);
	if (open_folder >= 0)
		close(open_folder);
}

/* The memory of the processes, and what of the kernel's memory version 1 does not say. */
static void read_processes(struct cairn_charge *charge, const int *pids, size_t count, struct numbers *numbers)
{
	enum { stack = 16384 }; /* of a thread, in the kernel */
	for (size_t i = 0; i < count; i++) {
		char path[CAIRN_PROC_PATH], name[64] = "";
		struct cairn_proc_statm statm;
		struct cairn_proc_stat stat;
		uint64_t tables = 0;
		if (!cairn_proc_statm_read(pids[i], &statm) || !cairn_proc_stat_read(pids[i], &stat))
			continue;
		charge->processes++;
		cairn_proc_line(cairn_proc_path(path, pids[i], "comm"), "", name, sizeof name);
		cairn_charge_add(charge, CAIRN_CHARGE_PROCESSES, name, pids[i], cairn_memory_in_sum(pids[i], statm.anonymous));
		if (!charge->version_one)
			continue;
		numbers->stacks += stat.threads * stack;
		if (cairn_proc_kilobytes(cairn_proc_path(path, pids[i], "status"), "VmPTE:", &tables))
			numbers->tables += tables;
	}
}

static int compare(const void *a, const void *b)
{
	const struct cairn_charge_item *one = a, *other = b;
	return one->bytes < other->bytes ? 1 : one->bytes > other->bytes ? -1 : strcmp(one->name, other->name);
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Sorts the items of LINE and returns their sum, at most MOST: then each process has less, and files that were found last, which are mapped
 * and often charged to another group, have nothing. */
static uint64_t fit_items(struct cairn_charge *charge, enum cairn_charge_line line, uint64_t most)
{
	struct cairn_charge_items *items = &charge->items[line];
	double sum = 0;
	uint64_t fitted = 0;
	for (size_t i = 0; i < items->count; i++)
		sum += (double)items->items[i].bytes;
	for (size_t i = 0; i < items->count; i++) {
		if (line == CAIRN_CHARGE_PROCESSES && sum > (double)most)
			items->items[i].bytes = (uint64_t)((double)items->items[i].bytes * ((double)most / sum));
		items->items[i].bytes = least_of(items->items[i].bytes, most - fitted);
		fitted += items->items[i].bytes;
	}
	if (line == CAIRN_CHARGE_PROCESSES && sum > (double)most) { /* what rounding has left over */
		items->items[0].bytes += most - fitted;
		fitted = most;
	}
	if (items->count)
		cairn_sort(items->items, items->count, sizeof *items->items, compare);
	return fitted;
}

static void make_lines(struct cairn_charge *charge, const struct numbers *numbers)
{
	/* Where counts are too high, they give way in this order. */
	static const enum cairn_charge_line order[] = {
		CAIRN_CHARGE_CACHE, CAIRN_CHARGE_SLAB, CAIRN_CHARGE_KERNEL, CAIRN_CHARGE_LEFT, CAIRN_CHARGE_TMPFS, CAIRN_CHARGE_PROCESSES,
		CAIRN_CHARGE_SOCKETS, CAIRN_CHARGE_STACKS, CAIRN_CHARGE_PAGE_TABLES};
	uint64_t *lines = charge->lines, sum = 0;
	uint64_t tables = numbers->tables + numbers->more_tables, kernel = numbers->has_kernel ? numbers->kernel : UINT64_MAX;
	lines[CAIRN_CHARGE_PROCESSES] = fit_items(charge, CAIRN_CHARGE_PROCESSES, numbers->anonymous);
	lines[CAIRN_CHARGE_LEFT] = numbers->anonymous - lines[CAIRN_CHARGE_PROCESSES];
	lines[CAIRN_CHARGE_TMPFS] = least_of(numbers->shared, numbers->file);
	lines[CAIRN_CHARGE_CACHE] = numbers->file - lines[CAIRN_CHARGE_TMPFS];
	lines[CAIRN_CHARGE_SOCKETS] = numbers->sockets;
	lines[CAIRN_CHARGE_PAGE_TABLES] = least_of(tables, kernel);
	lines[CAIRN_CHARGE_STACKS] = least_of(numbers->stacks, kernel - lines[CAIRN_CHARGE_PAGE_TABLES]);
	uint64_t left = kernel - lines[CAIRN_CHARGE_PAGE_TABLES] - lines[CAIRN_CHARGE_STACKS];
	lines[CAIRN_CHARGE_SLAB] = charge->version_one && numbers->has_kernel ? left : least_of(numbers->slab, left);
	lines[CAIRN_CHARGE_KERNEL] = numbers->has_kernel ? left - lines[CAIRN_CHARGE_SLAB] : 0;
	for (int i = 0; i < CAIRN_CHARGE_REST; i++)
		sum += lines[i];
	for (size_t i = 0; i < sizeof order / sizeof *order && sum > charge->total; i++) {
		uint64_t less = least_of(lines[order[i]], sum - charge->total);
		lines[order[i]] -= less;
		sum -= less;
	}
	lines[CAIRN_CHARGE_REST] = charge->total - sum;
	for (int i = 0; i < CAIRN_CHARGE_LINES; i++)
		fit_items(charge, (enum cairn_charge_line)i, lines[i]);
}

static bool read_folder(struct cairn_charge *charge, const char *path, bool with_files, struct cairn_error *error)
{
	struct numbers numbers;
	uint64_t least = 0;
	*charge = (struct cairn_charge){0};
	charge->group = cairn_arena_text(&charge->arena, cairn_bytes_of(path));
	if (!read_number(path, "memory.current", &charge->total)) {
		charge->version_one = true;
		if (!read_number(path, "memory.usage_in_bytes", &charge->total))
			return cairn_fail(error, "%.300s is not the folder of a control group whose memory is counted", path);
	}
	read_number(path, charge->version_one ? "memory.limit_in_bytes" : "memory.max", &charge->limit);
	charge->limit = charge->limit < (uint64_t)1 << 60 ? charge->limit : 0; /* version 1 has a large number for none */
	char stat[CAIRN_MEMORY_PATH + 16], text[4096];
	snprintf(stat, sizeof stat, "%.*s/cgroup.stat", CAIRN_MEMORY_PATH - 1, path);
	struct cairn_bytes rest = cairn_peek(stat, text, sizeof text), line;
	while (cairn_text_line(&rest, &line, NULL))
		if (cairn_text_take(&line, "nr_dying_descendants ") && cairn_text_decimal(&line, &least))
			charge->removed_groups = least;
	int *pids = cairn_array_new(pids_most, sizeof *pids);
	size_t count = 0;
	unsigned groups = 0;
	list_processes(path, 0, &groups, pids, &count);
	read_stat(charge, &numbers);
	read_processes(charge, pids, count, &numbers);
	if (with_files)
		cairn_charge_files(charge, pids, count);
	free(pids);
	make_lines(charge, &numbers);
	return true;
}

bool cairn_charge_of_folder(struct cairn_charge *charge, const char *path, struct cairn_error *error)
{
	return read_folder(charge, path, true, error);
}

bool cairn_charge_sums(struct cairn_charge *charge, const char *path, struct cairn_error *error)
{
	return read_folder(charge, path, false, error);
}

bool cairn_charge_of_process(struct cairn_charge *charge, int pid, struct cairn_error *error)
{
	struct cairn_memory memory;
	struct cairn_memory_reading reading;
	*charge = (struct cairn_charge){0};
	if (!cairn_memory_open(&memory, "", pid, error))
		return false;
	bool good = cairn_memory_read(&memory, cairn_clock_ns(), &reading) && memory.group[0];
	cairn_memory_close(&memory);
	return good ? cairn_charge_of_folder(charge, memory.group, error)
		    : cairn_fail(error, "process %d is in no control group whose memory is counted", pid);
}

void cairn_charge_free(struct cairn_charge *charge)
{
	for (int i = 0; i < CAIRN_CHARGE_LINES; i++)
		free(charge->items[i].items);
	cairn_arena_free(&charge->arena);
	*charge = (struct cairn_charge){0};
}
