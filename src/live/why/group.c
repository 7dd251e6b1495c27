/* group.c - what a control group is charged beside the memory of its processes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"
#include "base/peek.h"
#include "base/text.h"
#include "live/why/why.h"
#include "process/clock.h"
#include "process/memory.h"
#include "process/proc.h"

#include <stdio.h>

static void read_stat(struct cairn_cause_group *group, const char *folder, uint64_t *anonymous)
{
	char path[CAIRN_MEMORY_PATH + 16], text[16384];
	const struct {
		const char *name;
		uint64_t *amount;
	} fields[] = {
		{"anon ", anonymous}, {"rss ", anonymous}, {"file ", &group->file}, {"cache ", &group->file}, {"shmem ", &group->shmem},
		{"slab ", &group->slab}, {"sock ", &group->sockets},
	};
	snprintf(path, sizeof path, "%s/memory.stat", folder);
	struct cairn_bytes rest = cairn_peek(path, text, sizeof text), line;
	while (cairn_text_line(&rest, &line, NULL))
		for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
			if (cairn_text_take(&line, fields[i].name) && !cairn_text_decimal(&line, fields[i].amount))
				*fields[i].amount = 0;
}

static uint64_t read_number(const char *folder, const char *name)
{
	char path[CAIRN_MEMORY_PATH + 32], text[32];
	uint64_t value;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	struct cairn_bytes content = cairn_peek(path, text, sizeof text);
	return cairn_text_decimal(&content, &value) ? value : 0;
}

/* Whether the processes of the group in FOLDER are one tree: a service with its children, not a session in which this and that was
 * started. */
static bool is_one_tree(const char *folder)
{
	enum { most = 4096 };
	char path[CAIRN_MEMORY_PATH + 16];
	int pids[most];
	size_t count = 0, roots = 0;
	struct cairn_buffer text = cairn_buffer(1 << 16);
	struct cairn_bytes rest, line;
	uint64_t pid;
	snprintf(path, sizeof path, "%s/cgroup.procs", folder);
	int descriptor = cairn_peek_open(path);
	if (descriptor >= 0) {
		cairn_buffer_read(&text, descriptor);
		close(descriptor);
	}
	for (rest = cairn_buffer_bytes(&text); count < most && cairn_text_line(&rest, &line, NULL);)
		if (cairn_text_decimal(&line, &pid) && pid < INT32_MAX)
			pids[count++] = (int)pid;
	cairn_buffer_free(&text);
	for (size_t i = 0; i < count && roots < 2; i++) {
		struct cairn_proc_stat stat;
		bool inside = false;
		if (!cairn_proc_stat_read(pids[i], &stat))
			continue;
		for (size_t k = 0; k < count && !inside; k++)
			inside = pids[k] == stat.parent;
		roots += !inside;
	}
	return roots == 1;
}

void cairn_why_group(struct cairn_cause_group *group, int pid)
{
	struct cairn_memory memory;
	struct cairn_memory_reading reading = {0};
	uint64_t anonymous = 0;
	*group = (struct cairn_cause_group){0};
	if (!cairn_memory_open(&memory, "", pid, NULL))
		return;
	/* The root group, that of whatever has no group of its own, says nothing about the process. Neither does one with much of
	 * others. */
	if (cairn_memory_read(&memory, cairn_clock_ns(), &reading) && memory.group[0] && memory.group[memory.mount]) {
		read_stat(group, memory.group, &anonymous);
		group->usage = read_number(memory.group, memory.version_one ? "memory.usage_in_bytes" : "memory.current");
		group->limit = reading.limit_of_group ? reading.limit : 0;
		group->known = group->usage > 0 && is_one_tree(memory.group) &&
			       anonymous <= reading.anonymous + reading.anonymous / 2 + ((uint64_t)8 << 20);
	}
	cairn_memory_close(&memory);
}
