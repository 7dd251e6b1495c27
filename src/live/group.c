/* group.c - what a control group is charged, as far as one process is concerned.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/group.h"

#include "dump/trailer_write.h"
#include "live/charge.h"
#include "process/clock.h"
#include "process/memory.h"
#include "process/tree.h"

#include <stdio.h>

/* Whether most of the memory of all processes is that of PID and its descendants. A shell that somebody has opened in a container, or a
 * small process beside the service, changes nothing. */
static bool is_mostly_of(const struct cairn_charge *charge, int pid)
{
	static const uint64_t little = 8 << 20;
	const struct cairn_charge_items *processes = &charge->items[CAIRN_CHARGE_PROCESSES];
	uint64_t own = 0, all = charge->lines[CAIRN_CHARGE_PROCESSES] + charge->lines[CAIRN_CHARGE_LEFT];
	for (size_t i = 0; i < processes->count; i++)
		own += cairn_tree_has(pid, processes->items[i].pid) ? processes->items[i].bytes : 0;
	return all <= own + own / 2 + little;
}

void cairn_group_of(struct cairn_cause_group *group, int pid)
{
	struct cairn_memory memory;
	struct cairn_charge charge;
	struct cairn_memory_reading reading = {0};
	*group = (struct cairn_cause_group){0};
	if (!cairn_memory_open(&memory, "", pid, NULL))
		return;
	/* The root group, that of whatever has no group of its own, says nothing about the process. */
	bool good = cairn_memory_read(&memory, cairn_clock_ns(), &reading) && memory.group[0] && memory.group[memory.mount];
	cairn_memory_close(&memory);
	if (!good)
		return;
	if (cairn_charge_sums(&charge, memory.group, NULL)) {
		group->usage = charge.total;
		group->limit = reading.limit_of_group ? reading.limit : 0;
		group->shmem = charge.lines[CAIRN_CHARGE_TMPFS];
		group->file = charge.lines[CAIRN_CHARGE_CACHE] + group->shmem;
		group->slab = charge.lines[CAIRN_CHARGE_SLAB];
		group->sockets = charge.lines[CAIRN_CHARGE_SOCKETS];
		group->known = group->usage > 0 && is_mostly_of(&charge, pid);
	}
	cairn_charge_free(&charge);
}

/* Calls VISIT for all numbers, with their keys. */
static void visit(struct cairn_cause_group *group, void (*visit_number)(void *context, const char *key, uint64_t *number), void *context)
{
	const struct {
		const char *key;
		uint64_t *number;
	} numbers[] = {{"charge.usage", &group->usage}, {"charge.limit", &group->limit}, {"charge.file", &group->file},
		       {"charge.shmem", &group->shmem}, {"charge.slab", &group->slab}, {"charge.sockets", &group->sockets}};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		visit_number(context, numbers[i].key, numbers[i].number);
}

static void write_number(void *context, const char *key, uint64_t *number)
{
	cairn_trailer_write_number(context, key, *number);
}

static void read_number(void *context, const char *key, uint64_t *number)
{
	*number = cairn_trailer_number(context, key);
}

void cairn_group_write(const struct cairn_cause_group *group, struct cairn_buffer *out)
{
	struct cairn_cause_group copy = *group;
	if (group->known)
		visit(&copy, write_number, out);
}

void cairn_group_read(struct cairn_cause_group *group, const struct cairn_trailer *trailer)
{
	struct cairn_trailer copy = *trailer;
	*group = (struct cairn_cause_group){0};
	visit(group, read_number, &copy);
	group->known = group->usage > 0;
}
