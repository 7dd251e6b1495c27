/* snapshot.c - takes and shares snapshots.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/engine/snapshot.h"

#include "agent/engine/profiler.h"
#include "agent/engine/scratch.h"
#include "agent/engine/snapshot_trailer.h"
#include "base/descriptor.h"
#include "base/pages.h"
#include "base/quota.h"
#include "base/text.h"
#include "dump/counts.h"
#include "process/clock.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { trailer_maximum = 16 << 20 };

/* Maps the text of the file so far; the caller unmaps it. */
static struct cairn_bytes map_text(int descriptor)
{
	struct stat status;
	struct cairn_bytes text = {NULL, 0};
	if (fstat(descriptor, &status) != 0 || status.st_size == 0)
		return text;
	char *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
	if (data == MAP_FAILED)
		return text;
	madvise(data, (size_t)status.st_size, MADV_DONTFORK);
	return (struct cairn_bytes){data, (size_t)status.st_size};
}

static bool append_trailer(struct cairn_snapshots *snapshots, int descriptor, bool with_maps, struct cairn_error *error)
{
	struct cairn_buffer trailer = cairn_pages(trailer_maximum);
	cairn_snapshot_trailer_write(&trailer, snapshots->profiler, with_maps ? CAIRN_TRAILER_WITH_MAPS : CAIRN_TRAILER_PLAIN);
	struct cairn_bytes rest = cairn_buffer_bytes(&trailer);
	bool good = lseek(descriptor, 0, SEEK_END) >= 0 && cairn_descriptor_write_all(descriptor, &rest);
	cairn_buffer_free(&trailer);
	return good || cairn_fail_errno(error, "cannot write the snapshot");
}

static bool has_maps(struct cairn_bytes text)
{
	return memmem(text.data, text.length, "\nMAPPED_LIBRARIES:", 18) != NULL;
}

/* Has the engine write a dump into SCRATCH, and checks it. */
static bool dump_into(struct cairn_snapshots *snapshots, struct cairn_scratch *scratch, struct cairn_error *error)
{
	int64_t before = cairn_clock_ns();
	if (!cairn_profiler_dump(snapshots->profiler, scratch->path, scratch->descriptor, error))
		return false;
	atomic_store(&snapshots->last_duration_ns, cairn_clock_ns() - before);
	struct cairn_bytes raw = map_text(scratch->descriptor);
	if (!raw.data)
		return cairn_fail_errno(error, "the profiler wrote an empty dump");
	uint64_t samples, bytes;
	cairn_counts_total(raw, &samples, &bytes);
	if (cairn_profiler_engine(snapshots->profiler)->live_samples)
		samples = cairn_profiler_engine(snapshots->profiler)->live_samples(snapshots->profiler);
	atomic_store(&snapshots->last_samples, samples);
	atomic_store(&snapshots->last_bytes, bytes);
	bool with_maps = !has_maps(raw);
	cairn_pages_unmap((void *)(uintptr_t)raw.data, raw.length);
	return append_trailer(snapshots, scratch->descriptor, with_maps, error);
}

static struct cairn_snapshot *take(struct cairn_snapshots *snapshots, struct cairn_error *error)
{
	struct cairn_scratch scratch;
	if (cairn_profiler_state(snapshots->profiler) < CAIRN_PROFILER_INACTIVE) {
		cairn_profiler_explain(snapshots->profiler, error->text, sizeof error->text);
		return NULL;
	}
	struct cairn_snapshot *snapshot = cairn_pages_map(sizeof *snapshot);
	if (!snapshot)
		cairn_fail_errno(error, "no memory for a snapshot");
	if (!snapshot ||
	    !cairn_scratch_open(&scratch, snapshots->folder, cairn_profiler_engine(snapshots->profiler)->dumps_by_name, error)) {
		cairn_pages_unmap(snapshot, sizeof *snapshot);
		return NULL;
	}
	*snapshot = (struct cairn_snapshot){.holders = 1, .began_ns = cairn_clock_ns()};
	if (dump_into(snapshots, &scratch, error)) {
		snapshot->text = map_text(scratch.descriptor);
		if (!snapshot->text.data)
			cairn_fail_errno(error, "no memory to map the snapshot");
	}
	if (!snapshot->text.data) {
		cairn_scratch_close(&scratch);
		cairn_pages_unmap(snapshot, sizeof *snapshot);
		return NULL;
	}
	cairn_scratch_unname(&scratch);
	snapshot->descriptor = scratch.descriptor;
	atomic_store(&snapshots->last_size, snapshot->text.length);
	atomic_store(&snapshots->last_time_ns, cairn_clock_wall_ns());
	return snapshot;
}

/* What a snapshot of SIZE is charged. However large it is, QUOTA must have room for one, and for what is made from it. */
static size_t counted(const struct cairn_quota *quota, uint64_t size)
{
	size_t most = !quota ? 0 : quota->reserve ? quota->reserve / 2 : quota->limit / 3 * 2;
	return size < most ? (size_t)size : most;
}

/* Takes a snapshot within the quota. Its size is known only afterwards; until then the size of the last one is assumed. */
static struct cairn_snapshot *take_counted(struct cairn_snapshots *snapshots, struct cairn_snapshot_ask *ask, struct cairn_error *error)
{
	size_t expected = counted(ask->quota, atomic_load(&snapshots->last_size));
	if (!cairn_quota_take(ask->quota, expected)) {
		ask->refused = true;
		cairn_fail(error, "other snapshots and answers use all of the memory for answers (`memory` in CAIRN_CONF)");
		return NULL;
	}
	struct cairn_snapshot *snapshot = take(snapshots, error);
	if (!snapshot) {
		cairn_quota_give(ask->quota, expected);
		return NULL;
	}
	snapshot->quota = ask->quota;
	snapshot->counted = counted(ask->quota, snapshot->text.length);
	cairn_quota_give(ask->quota, expected);
	cairn_quota_force(ask->quota, snapshot->counted);
	return snapshot;
}

static struct cairn_snapshot *take_latest(struct cairn_snapshots *snapshots, struct cairn_snapshot_ask *ask, struct cairn_error *error)
{
	struct cairn_snapshot *snapshot = snapshots->latest;
	/* Not shared between quotas: a client that is slow to release it would hold what belongs to others. */
	if (snapshot && snapshot->began_ns >= ask->since_ns && snapshot->quota == ask->quota) {
		atomic_fetch_add(&snapshots->shared, 1);
	} else {
		if (snapshot)
			cairn_snapshot_release(snapshot);
		snapshot = snapshots->latest = take_counted(snapshots, ask, error);
		atomic_fetch_add(snapshot ? &snapshots->taken : &snapshots->failed, 1);
	}
	if (snapshot)
		atomic_fetch_add(&snapshot->holders, 1);
	return snapshot;
}

struct cairn_snapshot *cairn_snapshot_take(struct cairn_snapshots *snapshots, struct cairn_snapshot_ask *ask, struct cairn_error *error)
{
	struct cairn_snapshot *snapshot = NULL;
	atomic_fetch_add(&snapshots->waiting, 1);
	pthread_mutex_lock(&snapshots->mutex);
	if (ask->gone && atomic_load(ask->gone))
		cairn_fail(error, "the client has left");
	else
		snapshot = take_latest(snapshots, ask, error);
	if (atomic_fetch_sub(&snapshots->waiting, 1) == 1 && snapshots->latest) {
		cairn_snapshot_release(snapshots->latest);
		snapshots->latest = NULL;
	}
	pthread_mutex_unlock(&snapshots->mutex);
	return snapshot;
}

void cairn_snapshot_release(struct cairn_snapshot *snapshot)
{
	int holders = atomic_fetch_sub(&snapshot->holders, 1);
	assert(holders > 0);
	if (holders != 1)
		return;
	cairn_quota_give(snapshot->quota, snapshot->counted);
	cairn_pages_unmap((void *)(uintptr_t)snapshot->text.data, snapshot->text.length);
	cairn_descriptor_close(snapshot->descriptor);
	cairn_pages_unmap(snapshot, sizeof *snapshot);
}
