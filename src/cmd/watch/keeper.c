/* keeper.c - finding the ledger among a process's descriptors, and its last dump.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/watch/keeper.h"

#include "base/pages.h"
#include "dump/ledger_dump.h"
#include "dump/ledger_ranges.h"
#include "process/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t first_pause = 50 * CAIRN_MILLISECOND_NS, longest_pause = 2 * CAIRN_SECOND_NS, measure_pause = CAIRN_SECOND_NS;
enum { share_of_time = 50 }; /* looking takes no more than that part of the time */
static const char memfd_link[] = "/memfd:cairn-ledger";

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
	*keeper = cairn_keeper();
}

/* Whether DESCRIPTOR is the ledger of process LIFE, whose number may be another in its own namespace. CLOCK_NS is when it was made. */
static bool is_ledger_of(int descriptor, const struct cairn_life *life, int64_t *clock_ns)
{
	struct cairn_ledger_header header;
	struct stat status;
	if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < CAIRN_LEDGER_HEADER ||
	    status.st_size > CAIRN_LEDGER_BYTES_MOST || pread(descriptor, &header, sizeof header, 0) != sizeof header)
		return false;
	*clock_ns = header.clock_ns;
	return header.magic == CAIRN_LEDGER_MAGIC && header.ready &&
	       (header.ticks == 0 || (header.ticks == life->ticks && header.boot == life->boot));
}

/* Whether the descriptor NAME of FOLDER, which is LINK, may be a ledger: a memfd of its name, or a file of a size that one can have. No
 * device and no pipe is ever opened. */
static bool may_be_ledger(int folder, const char *name, const char *link, ssize_t length)
{
	struct stat status;
	if (length >= (ssize_t)sizeof memfd_link - 1 && memcmp(link, memfd_link, sizeof memfd_link - 1) == 0)
		return true;
	bool memfd = length >= 7 && memcmp(link, "/memfd:", 7) == 0;
	return length > 0 && link[0] == '/' && !memfd && fstatat(folder, name, &status, 0) == 0 && S_ISREG(status.st_mode) &&
	       status.st_size >= CAIRN_LEDGER_HEADER && status.st_size % 4096 == 0;
}

/* Opens the newest ledger of process LIFE; -1 where it has none. */
static int find(struct cairn_keeper *keeper, const struct cairn_life *life)
{
	char path[64], link[64];
	int found = -1;
	int64_t newest = INT64_MIN;
	snprintf(path, sizeof path, "/proc/%d/fd", life->pid);
	DIR *folder = opendir(path);
	keeper->refused = !folder && (errno == EACCES || errno == EPERM);
	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, link, sizeof link);
		if (!may_be_ledger(dirfd(folder), entry->d_name, link, length))
			continue;
		int64_t made = INT64_MIN;
		int descriptor = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (descriptor >= 0 && is_ledger_of(descriptor, life, &made) && (found < 0 || made > newest)) {
			int before = found;
			found = descriptor;
			descriptor = before;
			newest = made;
		}
		if (descriptor >= 0)
			close(descriptor);
	}
	if (folder)
		closedir(folder);
	return found;
}

/* Once a second at most, and never for more than a small part of the time: a process of many mappings takes longer. */
static void measure(struct cairn_keeper *keeper, const struct cairn_life *life, int64_t now)
{
	struct cairn_smaps smaps;
	if (now < keeper->measure_ns)
		return;
	size_t count, size;
	struct cairn_smaps_range *ranges = cairn_ledger_ranges_of(keeper->ledger, &count, &size);
	bool good = cairn_smaps_read_apart(&smaps, life->pid, 0, ranges, count) && smaps.rss > 0;
	if (ranges)
		cairn_pages_unmap(ranges, size);
	int64_t after = cairn_clock_ns(), took = (after - now) * share_of_time;
	keeper->measure_ns = now + (took > measure_pause ? took : measure_pause);
	if (!good)
		return;
	keeper->smaps = smaps;
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

void cairn_keeper_look(struct cairn_keeper *keeper, const struct cairn_life *life, int64_t now)
{
	char path[64];
	if (keeper->ledger >= 0 && life->pid)
		measure(keeper, life, now);
	if (keeper->ledger >= 0 || !life->pid || now < keeper->next_ns)
		return;
	/* The map first: if it is still that of the process when the ledger was found, the ledger is of the same program. */
	snprintf(path, sizeof path, "/proc/%d/maps", life->pid);
	int maps = open(path, O_RDONLY | O_CLOEXEC);
	int ledger = find(keeper, life);
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

/* A copy, so that nobody changes it while it is read, nor cuts it short: in pages, and so at a multiple of 8 bytes. */
static bool copy(int descriptor, struct cairn_buffer *out, struct cairn_error *error)
{
	bool good = lseek(descriptor, 0, SEEK_SET) == 0 && cairn_buffer_read(out, descriptor);
	return good || cairn_fail_errno(error, "the ledger of the process cannot be read");
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
	bool good = (keeper->ledger >= 0 || cairn_fail(error, "the process had no ledger")) && copy(keeper->ledger, &memory, error) &&
		    cairn_ledger_open(&ledger, cairn_buffer_bytes(&memory), error) && cairn_ledger_write_dump(&ledger, &end, out, error);
	cairn_buffer_free(&memory);
	return good;
}
