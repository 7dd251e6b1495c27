/* names.h - names that a store gets later than the frames that they belong to.
 *
 * A frame is identified by build-id and offset, so it is named once for all snapshots that contain it, including those that were put before
 * its debug file was available.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_NAMES_H
#define CAIRN_STORE_NAMES_H

#include "store/store.h"

/* A frame without names, of a file with a build-id. */
struct cairn_unnamed_frame {
	uint64_t id; /* cairn_frame_id of its tenant, build-id and offset */
	struct cairn_bytes build_id, module; /* borrowed for the call */
	uint64_t offset;
};

/* Calls VISIT with up to MOST frames without names whose numbers are above *AFTER, in order. Sets *AFTER to the last number and *COUNT to
 * how many there were. The store may also have a row with the names of such a frame. */
bool cairn_store_unnamed(struct cairn_store *store, uint64_t *after, size_t most,
			 void (*visit)(void *context, const struct cairn_unnamed_frame *frame), void *context, size_t *count,
			 struct cairn_error *error);

/* Adds to NAMED those of the COUNT frames in IDS that have names. */
bool cairn_store_named(struct cairn_store *store, const uint64_t *ids, size_t count, struct cairn_map *named, struct cairn_error *error);

/* Puts the names of the locations of PROFILE; *NAMED is the number of locations that have names. */
bool cairn_store_put_names(struct cairn_store *store, struct cairn_bytes tenant, const struct cairn_profile *profile, size_t *named,
			   struct cairn_error *error);

#endif
