/* load.h - turns a profile as it was sent into what a store takes: read, named, and with the process that it belongs to.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_LOAD_H
#define CAIRN_FLEET_COLLECT_LOAD_H

#include "fleet/collect/namer.h"
#include "live/source.h"
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

/* A profile as it was sent, and how to read it. LOADED borrows the tenant; the rest is needed only during the call. */
struct cairn_load_options {
	struct cairn_bytes query;  /* service, version, host, time and labels; by default, the service is the program's name */
	struct cairn_bytes tenant;
	struct cairn_bytes body;   /* the profile, compressed or not */
	size_t unpacked_most;      /* bytes that the body may have, decompressed */
	int64_t arrived_ns;        /* the time of a profile that does not say when it was taken */
	const struct cairn_source_options *source; /* how to name addresses, without a namer */
	struct cairn_namer *namer; /* names them in a child; NULL if the profile comes from this machine */
};

/* Reads a profile and names its addresses. LOADED must be freed even if this fails. */
bool cairn_loaded_read(struct cairn_loaded *loaded, const struct cairn_load_options *options, struct cairn_error *error);
void cairn_loaded_free(struct cairn_loaded *loaded);

#endif
