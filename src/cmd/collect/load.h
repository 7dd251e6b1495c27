/* load.h - turns a profile as it was sent into what a store takes: read, named, and with the process that it belongs to.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_COLLECT_LOAD_H
#define CAIRN_CMD_COLLECT_LOAD_H

#include "cmd/collect/uploads.h"
#include "cmd/source.h"
#include "series/bill.h"
#include "store/store.h"

struct cairn_loaded {
	struct cairn_profile profile;
	char service[256], version[256], host[256];
	struct cairn_buffer labels;
	size_t size;  /* bytes of the decompressed profile and of the rows with its names */
	bool ignored; /* stores keep no profiles of this kind */
	struct cairn_bill bill; /* of its resident memory, if the profile has more than the total */
	struct cairn_store_snapshot snapshot; /* borrows from the members above, and the tenant */
};

/* Reads BODY, unpacked to at most MOST bytes, and names its addresses with what SOURCE says and what TENANT has uploaded, unless UPLOADS is
 * NULL. QUERY has service, version, host, time and labels; without a service it is the program's name. A profile that does not say when it
 * was taken was taken at ARRIVED_NS. Free it in either case. */
bool cairn_loaded_read(struct cairn_loaded *loaded, struct cairn_bytes query, struct cairn_bytes tenant, struct cairn_bytes body,
		       size_t most, int64_t arrived_ns, const struct cairn_source_options *source, struct cairn_uploads *uploads,
		       struct cairn_error *error);
void cairn_loaded_free(struct cairn_loaded *loaded);

#endif
