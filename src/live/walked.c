/* walked.c - puts together an agent's snapshot, its ledger and a walk of its heaps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/walked.h"

#include "base/pages.h"
#include "dump/ledger_dump.h"
#include "dump/ledger_heap.h"
#include "dump/trailer_write.h"
#include "live/group.h"
#include "live/ledger_snapshot.h"
#include "process/clock.h"
#include "profile/live.h"

/* As in the agent's own snapshots. */
enum { resident_pages_most = 1 << 20 };

static bool find_share(const void *context, uint64_t address, uint64_t usable, double *bytes)
{
	return cairn_walk_share(context, address, usable, bytes);
}

/* Writes TEXT again, its stacks and samples from the ledger as it is now. */
static bool write_again(struct cairn_bytes text, int pid, const struct cairn_walk *walk, struct cairn_buffer *out, struct cairn_error *error)
{
	static const char maps[] = "\nMAPPED_LIBRARIES:";
	struct cairn_ledger ledger;
	struct cairn_ledger_heap heap;
	struct cairn_resident resident;
	struct cairn_bytes section;
	const char *between = text.length ? memmem(text.data, text.length, maps, sizeof maps - 1) : NULL;
	if (!cairn_live_section(text, &section) || !between || between > section.data)
		return cairn_fail(error, "the snapshot is not from Cairn's own engine, which alone knows where its samples are (engine:cairn)");
	struct cairn_buffer memory = cairn_pages(CAIRN_LEDGER_BYTES_MOST);
	bool good = cairn_ledger_copy_of(pid, &memory, &ledger, error);
	cairn_resident_open(&resident, pid, resident_pages_most);
	struct cairn_ledger_witness witness = {.resident = &resident, .find_share = find_share, .context = walk};
	good = good && cairn_ledger_write_heap(&ledger, cairn_clock_ns(), &witness, out, &heap, error);
	cairn_resident_close(&resident);
	cairn_buffer_free(&memory);
	if (!good)
		return false;
	size_t header = sizeof CAIRN_LEDGER_SECTION - 1, end = (size_t)(section.data - text.data) + section.length;
	cairn_buffer_append(out, between, (size_t)(section.data - between) - header);
	cairn_buffer_append(out, heap.sections.data, heap.sections.length);
	cairn_buffer_free(&heap.sections);
	cairn_buffer_append(out, text.data + end, text.length - end);
	return !out->failed || cairn_fail(error, "no memory for a snapshot");
}

/* What else says why so much is resident. */
static void write_beside(const struct cairn_walk *walk, int pid, struct cairn_buffer *out)
{
	struct cairn_huge huge = {0};
	struct cairn_cause_group group;
	if (walk->image)
		cairn_huge_measure(&huge, walk->image);
	if (huge.bytes) {
		cairn_trailer_write_number(out, "huge.bytes", huge.bytes);
		cairn_trailer_write_number(out, "huge.zero", (uint64_t)huge.zero);
		cairn_trailer_write_number(out, "huge.zero_error", (uint64_t)huge.zero_error);
	}
	cairn_group_of(&group, pid);
	cairn_group_write(&group, out);
}

void cairn_walked_read(const struct cairn_trailer *trailer, struct cairn_huge *huge, struct cairn_cause_group *group)
{
	huge->bytes = cairn_trailer_number(trailer, "huge.bytes");
	huge->zero = (double)cairn_trailer_number(trailer, "huge.zero");
	huge->zero_error = (double)cairn_trailer_number(trailer, "huge.zero_error");
	cairn_group_read(group, trailer);
}

bool cairn_walked_add(struct cairn_buffer *text, int pid, const struct cairn_walk *walk, struct cairn_error *error)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	struct cairn_bytes dump = cairn_buffer_bytes(text);
	if (!cairn_trailer_take_last(&dump))
		return cairn_fail(error, "the snapshot has no trailer of Cairn's");
	bool shares = write_again(dump, pid, walk, &out, error);
	if (!shares) {
		out.length = 0;
		cairn_buffer_append(&out, dump.data, dump.length);
	}
	cairn_walk_write(walk, &out);
	write_beside(walk, pid, &out);
	cairn_trailer_write_last(&out);
	cairn_buffer_free(text);
	*text = out;
	return shares;
}

bool cairn_walked_snapshot(const struct cairn_target *target, struct cairn_buffer *text, struct cairn_error *error)
{
	struct cairn_walk walk;
	int pid = cairn_target_process(target);
	if (pid <= 0)
		return cairn_fail(error, "the process runs on another machine, or cannot be seen from here");
	bool good = cairn_walk_process(&walk, pid, NULL, error), any = false;
	for (size_t i = 0; good && i < walk.heap_count; i++)
		any |= walk.heaps[i].is_read;
	if (good && !any)
		good = cairn_fail(error, "process %d: %s", pid,
				  walk.heap_count ? walk.heaps[0].problem : "it has no allocator whose heap can be read");
	good = good && cairn_walked_add(text, pid, &walk, error);
	cairn_walk_free(&walk);
	return good;
}
