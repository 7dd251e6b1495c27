/* life.c - lives from /proc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/life.h"

#include "base/peek.h"
#include "base/text.h"
#include "base/time.h"
#include "process/clock.h"
#include "process/proc.h"

#include <stdio.h>
#include <unistd.h>

uint32_t cairn_life_boot(void)
{
	char room[64];
	uint64_t boot = 0;
	struct cairn_bytes text = cairn_peek("/proc/sys/kernel/random/boot_id", room, 8);
	return cairn_text_hex(&text, &boot) ? (uint32_t)boot : 0;
}

bool cairn_life_of(int pid, struct cairn_life *life)
{
	struct cairn_proc_stat stat;
	*life = (struct cairn_life){.pid = pid};
	if (pid <= 0 || !cairn_proc_stat_read(pid, &stat) || stat.start_ticks == 0)
		return false;
	life->ticks = stat.start_ticks;
	life->boot = cairn_life_boot();
	return true;
}

/* A process that has ended keeps its number until its parent asks, which in a container may be never. One whose first thread alone has
 * ended looks the same but for its other threads. */
bool cairn_life_has_ended(int pid)
{
	struct cairn_proc_stat stat;
	return !cairn_proc_stat_read(pid, &stat) || ((stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1);
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
