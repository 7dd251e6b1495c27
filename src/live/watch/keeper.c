/* keeper.c - holding on to a process's ledger, and its last dump.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/watch/keeper.h"

#include "base/file.h"
#include "base/pages.h"
#include "dump/ledger_dump.h"
#include "dump/ledger_ranges.h"
#include "live/ledger_file.h"
#include "live/ledger_snapshot.h"
#include "process/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t first_pause = 50 * CAIRN_MILLISECOND_NS, longest_pause = 2 * CAIRN_SECOND_NS;
/* Between two measurements of memory that has changed by more than a 64th, and of memory that has not. */
static const int64_t changed_pause = CAIRN_SECOND_NS, unchanged_pause = 16 * CAIRN_SECOND_NS;
enum { seconds_kept = 300, minutes_kept = 240 };
enum { share_of_time = 50 }; /* looking for a ledger takes no more than that part of the time, */
enum { measuring_share = 500, saved_measurements = 4 }; /* and measuring all processes that; so many are saved up for times of change */

struct cairn_keeper cairn_keeper(void)
{
	return (struct cairn_keeper){.ledger = -1, .maps = -1, .pause_ns = first_pause};
}

void cairn_keeper_close(struct cairn_keeper *keeper)
{
	if (keeper->ledger >= 0)
		close(keeper->ledger);
	if (keeper->maps >= 0)
		close(keeper->maps);
	free(keeper->rows);
	*keeper = cairn_keeper();
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }

/* Whether it is time to measure. Memory that does not change takes at most half of what measuring may cost, so that the other half is
 * there when it does. */
static bool is_due(struct cairn_keeper *keeper, uint64_t resident, int64_t count, int64_t now)
{
	uint64_t change = resident > keeper->resident ? resident - keeper->resident : keeper->resident - resident;
	int64_t pause = change > keeper->resident / 64 ? changed_pause
						       : later(unchanged_pause, 2 * measuring_share * count * keeper->cost_ns);
	keeper->credit_ns = earlier(keeper->credit_ns + (now - keeper->looked_ns) / (measuring_share * count), saved_measurements * keeper->cost_ns);
	keeper->looked_ns = now;
	return keeper->cost_ns == 0 || (now - keeper->measured_ns >= pause && keeper->credit_ns >= keeper->cost_ns);
}

static void measure(struct cairn_keeper *keeper, const struct cairn_life *life, uint64_t resident, int64_t now)
{
	struct cairn_smaps smaps;
	size_t count, size;
	struct cairn_smaps_range *ranges = cairn_ledger_ranges_of(keeper->ledger, &count, &size);
	bool good = cairn_smaps_read_apart(&smaps, life->pid, 0, ranges, count) && smaps.rss > 0;
	if (ranges)
		cairn_pages_unmap(ranges, size);
	int64_t after = cairn_clock_ns();
	keeper->credit_ns = later(0, keeper->credit_ns - (after - now));
	keeper->cost_ns = later(1, after - now);
	if (!good)
		return;
	keeper->smaps = smaps;
	keeper->resident = resident;
	keeper->measured_ns = after;
}

/* Whether the process has memory: not once it begins to end. */
static bool has_memory(const struct cairn_life *life)
{
	char path[64], first;
	snprintf(path, sizeof path, "/proc/%d/maps", life->pid);
	int maps = open(path, O_RDONLY | O_CLOEXEC);
	if (maps < 0)
		return (errno == EACCES || errno == EPERM) &&
		       cairn_life_goes_on(life); /* that of a program which is none of our business */
	bool has = pread(maps, &first, 1, 0) > 0;
	close(maps);
	return has && cairn_life_goes_on(life);
}

/* The sums of the ledger as of now, beside what the kernel says. */
static void note_row(struct cairn_keeper *keeper, const struct cairn_memory_reading *reading, int64_t now)
{
	struct cairn_ledger_header header;
	size_t second = (size_t)(now / CAIRN_SECOND_NS);
	if (!keeper->rows)
		keeper->rows = calloc(seconds_kept + minutes_kept, sizeof *keeper->rows);
	if (!keeper->rows || keeper->rows[second % seconds_kept].time_ns / CAIRN_SECOND_NS == now / CAIRN_SECOND_NS ||
	    pread(keeper->ledger, &header, sizeof header, 0) != sizeof header)
		return;
	uint64_t gone = header.freed_bytes + header.thinned_bytes;
	const struct cairn_ledger_row row = {
		.time_ns = now,
		.resident = reading->resident,
		.usage = reading->usage,
		.limit = reading->limit,
		.live = (int64_t)(header.allocated_bytes - gone) > 0 ? header.allocated_bytes - gone : 0,
		.allocated = header.allocated_bytes,
	};
	keeper->rows[second % seconds_kept] = row;
	keeper->rows[seconds_kept + second / 60 % minutes_kept] = row;
}

void cairn_keeper_look(struct cairn_keeper *keeper, const struct cairn_life *life, const struct cairn_memory_reading *reading, size_t count,
		       int64_t now)
{
	char path[64];
	if (keeper->ledger >= 0 && life->pid)
		note_row(keeper, reading, now);
	if (keeper->ledger >= 0 && life->pid && is_due(keeper, reading->resident, (int64_t)count, now))
		measure(keeper, life, reading->resident, now);
	if (keeper->ledger >= 0 || !life->pid || now < keeper->next_ns)
		return;
	/* The map first: if it is still that of the process when the ledger was found, the ledger is of the same program. */
	snprintf(path, sizeof path, "/proc/%d/maps", life->pid);
	int maps = open(path, O_RDONLY | O_CLOEXEC);
	int ledger = cairn_ledger_file(life, &keeper->refused);
	keeper->maps = maps;
	keeper->ledger = ledger;
	if (ledger >= 0 && !(cairn_keeper_is_stale(keeper) && has_memory(life)))
		return; /* also where the process has ended meanwhile: the ledger is its own, and all that is left of it */
	bool refused = keeper->refused;
	int64_t pause = keeper->pause_ns, took = (cairn_clock_ns() - now) * share_of_time;
	cairn_keeper_close(keeper);
	keeper->refused = refused;
	keeper->pause_ns = 2 * pause < longest_pause ? 2 * pause : longest_pause;
	keeper->next_ns = now + (took > pause ? took : pause);
}

bool cairn_keeper_is_stale(const struct cairn_keeper *keeper)
{
	char first;
	return keeper->ledger >= 0 && keeper->maps >= 0 && pread(keeper->maps, &first, 1, 0) == 0;
}

bool cairn_keeper_write(const struct cairn_keeper *keeper, const struct cairn_ending *ending, const struct cairn_memory_reading *reading,
			struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_ledger ledger;
	struct cairn_buffer memory = cairn_pages(CAIRN_LEDGER_BYTES_MOST);
	char how[200];
	cairn_ending_say(ending, how, sizeof how);
	struct cairn_ledger_end end = cairn_ending_for_ledger(ending, how);
	end.clock_ns = cairn_clock_ns();
	end.time_ns = cairn_clock_wall_ns();
	end.uptime_ns = cairn_clock_read(CLOCK_BOOTTIME);
	end.smaps = keeper->measured_ns ? &keeper->smaps : NULL;
	end.smaps_before_ns = end.clock_ns - keeper->measured_ns;
	end.reading = reading;
	end.rows = keeper->rows;
	end.row_count = keeper->rows ? seconds_kept + minutes_kept : 0;
	bool good = (keeper->ledger >= 0 || cairn_fail(error, "the process had no ledger")) && cairn_ledger_copy(keeper->ledger, &memory, &ledger, error) &&
		    cairn_ledger_write_dump(&ledger, &end, out, error);
	cairn_buffer_free(&memory);
	return good;
}
