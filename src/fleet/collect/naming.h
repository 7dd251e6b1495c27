/* naming.h - names for frames that were stored before their debug files were uploaded.
 *
 * A *pass* goes over the unnamed frames in the store and names those whose program their tenant has uploaded. There is a pass after each
 * upload, and one every ten minutes, since another collector may have stored frames of a build whose files are here. Frames that a pass
 * could not name are not tried again before the next upload.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_NAMING_H
#define CAIRN_FLEET_COLLECT_NAMING_H

#include "base/hash.h"
#include "fleet/collect/collector.h"
#include "store/store.h"

/* Set the collector; all zeroes otherwise. */
struct cairn_naming {
	struct cairn_collector *collector;
	uint64_t uploads; /* the number of uploads at the last pass */
	int64_t next_ns, earliest_ns; /* when a pass is due without an upload, and the earliest time with one */
	struct cairn_map tried; /* frames that were tried since the last upload */
};

bool cairn_naming_is_due(const struct cairn_naming *naming);

/* Makes a pass. Fails only if the store does. */
bool cairn_naming_run(struct cairn_naming *naming, struct cairn_store *store, struct cairn_error *error);

void cairn_naming_free(struct cairn_naming *naming);

#endif
