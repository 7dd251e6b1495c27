/* naming.h - names for frames that were stored before their debug files were uploaded.
 *
 * A pass over the frames of the store that have no names: those whose program has been uploaded by their tenant get them. There is a pass
 * after each upload, and one every ten minutes: another collector may have stored frames of a build whose files are here. What a pass
 * could not name is not tried again before the next upload.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_COLLECT_NAMING_H
#define CAIRN_CMD_COLLECT_NAMING_H

#include "base/hash.h"
#include "cmd/collect/collector.h"
#include "store/store.h"

/* All zeroes but the collector is the start. */
struct cairn_naming {
	struct cairn_collector *collector;
	uint64_t uploads; /* that the last pass knew of */
	int64_t next_ns, earliest_ns; /* when a pass is due anyway, and when it may be due at all */
	struct cairn_map tried; /* frames */
};

bool cairn_naming_is_due(const struct cairn_naming *naming);

/* A pass. Fails where the store does. */
bool cairn_naming_run(struct cairn_naming *naming, struct cairn_store *store, struct cairn_error *error);

void cairn_naming_free(struct cairn_naming *naming);

#endif
