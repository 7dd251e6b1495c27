/* label.h - the labels that identify the process of a snapshot to a receiver.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_FORWARD_LABEL_H
#define CAIRN_FLEET_FORWARD_LABEL_H

#include "base/arena.h"
#include "store/store.h"

enum { CAIRN_FORWARD_LABELS = 28 }; /* Pyroscope takes 30 */

struct cairn_forward_labels {
	struct cairn_forward_label {
		const char *name, *value; /* valid UTF-8; in the arena */
	} items[CAIRN_FORWARD_LABELS];
	size_t count;
};

/* Reads the labels that the sender of SNAPSHOT gave. Names are made valid for Prometheus ([a-zA-Z_][a-zA-Z0-9_]*), unique, and do not begin
 * with two underscores. Leaves out the names in TAKEN, which ends with NULL. */
void cairn_forward_labels_read(struct cairn_forward_labels *labels, const struct cairn_store_snapshot *snapshot, const char *const *taken,
			       struct cairn_arena *arena);

/* Adds a label in front of those that were read, unless VALUE is empty. */
void cairn_forward_labels_add(struct cairn_forward_labels *labels, const char *name, struct cairn_bytes value, struct cairn_arena *arena);

#endif
