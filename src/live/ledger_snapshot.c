/* ledger_snapshot.c - a copy of the ledger, and /proc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/ledger_snapshot.h"

#include "base/file.h"
#include "base/pages.h"
#include "dump/ledger_dump.h"
#include "dump/ledger_heap.h"
#include "dump/ledger_ranges.h"
#include "live/ledger_file.h"
#include "process/clock.h"
#include "process/context.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* As in the agent's own snapshots. */
enum { resident_pages_most = 1 << 20 };

bool cairn_ledger_copy(int descriptor, struct cairn_buffer *memory, struct cairn_ledger *ledger, struct cairn_error *error)
{
	return (cairn_pages_read(memory, descriptor) || cairn_fail_errno(error, "the ledger of the process cannot be read")) &&
	       cairn_ledger_open(ledger, cairn_buffer_bytes(memory), error);
}

/* -1 with a message. */
static int open_ledger(int pid, struct cairn_error *error)
{
	struct cairn_life life;
	bool refused = false;
	int descriptor = cairn_life_of(pid, &life) ? cairn_ledger_file(&life, &refused) : -1;
	if (descriptor < 0)
		cairn_fail(error,
			   refused ? "only the user of process %d and root may read its ledger"
				   : "process %d has no ledger, in which Cairn's engine keeps its samples", pid);
	return descriptor;
}

bool cairn_ledger_copy_of(int pid, struct cairn_buffer *memory, struct cairn_ledger *ledger, struct cairn_error *error)
{
	int descriptor = open_ledger(pid, error);
	bool good = descriptor >= 0 && cairn_ledger_copy(descriptor, memory, ledger, error);
	if (descriptor >= 0)
		close(descriptor);
	return good;
}

bool cairn_ledger_header_of(int pid, struct cairn_ledger_header *header)
{
	int descriptor = open_ledger(pid, NULL);
	bool good = descriptor >= 0 && pread(descriptor, header, sizeof *header, 0) == sizeof *header;
	if (descriptor >= 0)
		close(descriptor);
	return good;
}

bool cairn_ledger_want_agent(int pid)
{
	static const uint64_t yes = 1;
	char path[64];
	int descriptor = open_ledger(pid, NULL);
	if (descriptor < 0)
		return false;
	snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
	/* Only a memfd is sealed; in any other file we write nothing, whatever it looks like. */
	int seals = fcntl(descriptor, F_GET_SEALS), writable = seals > 0 && (seals & F_SEAL_SHRINK) ? open(path, O_RDWR | O_CLOEXEC) : -1;
	bool good = writable >= 0 && pwrite(writable, &yes, sizeof yes, offsetof(struct cairn_ledger_header, wanted)) == sizeof yes;
	if (writable >= 0)
		close(writable);
	close(descriptor);
	return good;
}

/* Its memory, as far as the kernel tells us. */
static void measure(int pid, int descriptor, struct cairn_ledger_end *end, struct cairn_smaps *smaps, struct cairn_memory *memory,
		    struct cairn_memory_reading *reading)
{
	size_t count, size;
	struct cairn_smaps_range *ranges = cairn_ledger_ranges_of(descriptor, &count, &size);
	if (cairn_smaps_read_apart(smaps, pid, resident_pages_most, ranges, count) && smaps->rss > 0)
		end->smaps = smaps;
	if (ranges)
		cairn_pages_unmap(ranges, size);
	if (!cairn_memory_open(memory, "", pid, NULL))
		return;
	if (cairn_memory_read(memory, cairn_clock_ns(), reading)) {
		end->reading = reading;
		end->memory = memory;
	}
}

static bool write_snapshot(int pid, int descriptor, struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_ledger ledger;
	struct cairn_smaps smaps;
	struct cairn_memory_reading reading;
	struct cairn_resident resident;
	struct cairn_file maps = {0};
	char path[64], service[CAIRN_CONTEXT_NAME];
	struct cairn_buffer copy = cairn_pages(CAIRN_LEDGER_BYTES_MOST);
	bool good = cairn_ledger_copy(descriptor, &copy, &ledger, error);
	struct cairn_ledger_end end = {.lives = true, .clock_ns = cairn_clock_ns(), .time_ns = cairn_clock_wall_ns()};
	end.uptime_ns = cairn_clock_read(CLOCK_BOOTTIME);
	struct cairn_memory memory;
	if (good) {
		measure(pid, descriptor, &end, &smaps, &memory, &reading);
		snprintf(path, sizeof path, "/proc/%d/maps", pid);
		if (cairn_file_read(&maps, path, NULL))
			end.maps = maps.bytes;
		if (cairn_context_service(pid, service))
			snprintf(ledger.header.service, sizeof ledger.header.service, "%s", service);
		cairn_resident_open(&resident, pid, resident_pages_most);
		end.witness.resident = &resident;
		good = cairn_ledger_write_dump(&ledger, &end, out, error);
		cairn_resident_close(&resident);
		cairn_file_close(&maps);
		if (end.memory)
			cairn_memory_close(&memory);
	}
	cairn_buffer_free(&copy);
	return good;
}

bool cairn_ledger_snapshot(int pid, int descriptor, struct cairn_buffer *out, struct cairn_error *error)
{
	int own = descriptor < 0 ? open_ledger(pid, error) : -1;
	bool good = (descriptor >= 0 || own >= 0) && write_snapshot(pid, descriptor >= 0 ? descriptor : own, out, error);
	if (own >= 0)
		close(own);
	return good;
}
