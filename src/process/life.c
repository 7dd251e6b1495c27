/* life.c - lives from /proc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/life.h"

#include "base/peek.h"
#include "base/text.h"
#include "base/time.h"
#include "process/clock.h"

#include <stdio.h>
#include <unistd.h>

uint32_t cairn_life_boot(void)
{
	char room[64];
	uint64_t boot = 0;
	struct cairn_bytes text = cairn_peek("/proc/sys/kernel/random/boot_id", room, 8);
	return cairn_text_hex(&text, &boot) ? (uint32_t)boot : 0;
}

struct stat_fields {
	char state;
	uint64_t threads, ticks;
};

/* The name in the second field may hold anything, so fields are counted from its end. */
static bool read_stat(int pid, struct stat_fields *fields)
{
	enum { state_field = 3, threads_field = 20, ticks_field = 22 };
	char path[32], room[1024];
	*fields = (struct stat_fields){0};
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	struct cairn_bytes rest = cairn_peek(path, room, sizeof room);
	const char *end = rest.length ? memrchr(rest.data, ')', rest.length) : NULL;
	if (!end)
		return false;
	rest = cairn_bytes_skip(rest, (size_t)(end - rest.data) + 1);
	for (int field = 2; field < ticks_field && rest.length > 1;) {
		struct cairn_bytes value = rest = cairn_bytes_skip(rest, 1);
		field++;
		if (field == state_field)
			fields->state = value.data[0];
		else if (field == threads_field)
			cairn_text_decimal(&value, &fields->threads);
		else if (field == ticks_field)
			cairn_text_decimal(&value, &fields->ticks);
		while (rest.length > 0 && rest.data[0] != ' ')
			rest = cairn_bytes_skip(rest, 1);
	}
	return fields->ticks > 0;
}

bool cairn_life_of(int pid, struct cairn_life *life)
{
	struct stat_fields fields;
	*life = (struct cairn_life){.pid = pid};
	if (pid <= 0 || !read_stat(pid, &fields))
		return false;
	life->ticks = fields.ticks;
	life->boot = cairn_life_boot();
	return true;
}

/* A process that has ended keeps its number until its parent asks, which in a container may be never. One whose first thread alone has
 * ended looks the same but for its other threads. */
bool cairn_life_has_ended(int pid)
{
	struct stat_fields fields;
	return !read_stat(pid, &fields) || ((fields.state == 'Z' || fields.state == 'X') && fields.threads <= 1);
}

bool cairn_life_goes_on(const struct cairn_life *life)
{
	struct cairn_life now;
	return cairn_life_of(life->pid, &now) && cairn_life_equal(life, &now) && !cairn_life_has_ended(life->pid);
}

int64_t cairn_life_start_ns(const struct cairn_life *life)
{
	if (!life->ticks)
		return 0;
	int64_t booted = cairn_clock_wall_ns() - cairn_clock_read(CLOCK_BOOTTIME);
	return booted + (int64_t)(life->ticks * (CAIRN_SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK)));
}

bool cairn_life_equal(const struct cairn_life *a, const struct cairn_life *b)
{
	return a->pid == b->pid && a->ticks == b->ticks && a->boot == b->boot;
}

int cairn_life_compare(const struct cairn_life *a, const struct cairn_life *b)
{
	if (a->boot != b->boot)
		return a->boot < b->boot ? -1 : 1;
	if (a->ticks != b->ticks)
		return a->ticks < b->ticks ? -1 : 1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

char *cairn_life_text(const struct cairn_life *life, char out[CAIRN_LIFE_TEXT])
{
	snprintf(out, CAIRN_LIFE_TEXT, "%d.%llu.%08x", life->pid, (unsigned long long)life->ticks, life->boot);
	return out;
}

bool cairn_life_parse(struct cairn_bytes text, struct cairn_life *life)
{
	uint64_t pid, ticks, boot;
	*life = (struct cairn_life){0};
	if (!cairn_text_decimal(&text, &pid) || pid > INT32_MAX || !cairn_text_take(&text, ".") || !cairn_text_decimal(&text, &ticks) ||
	    !cairn_text_take(&text, ".") || !cairn_text_hex(&text, &boot) || boot > UINT32_MAX || text.length > 0)
		return false;
	*life = (struct cairn_life){.pid = (int)pid, .ticks = ticks, .boot = (uint32_t)boot};
	return true;
}
