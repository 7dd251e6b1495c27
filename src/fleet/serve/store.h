/* store.h - a store as the live page shows it: its services, and the instances of each.
 *
 * A thread queries the store periodically. A service is listed like a process: its points are the sums of its instances, its verdict is the
 * one over instances (series/fleet.h), and it reaches its limit when the first of them does. Each instance is listed too, like a process of
 * a folder; if there are very many, those nearest to their limits. Entries without a snapshot in the time shown are dropped from the list.
 * The page says how many are not listed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_STORE_H
#define CAIRN_FLEET_SERVE_STORE_H

#include "fleet/serve/serve.h"
#include "live/store_series.h"
#include "store/store.h"

struct cairn_serve_store {
	struct cairn_serve *serve;
	struct cairn_store *store;
	const char *tenant; /* NULL if there is only one */
	struct cairn_serve_listed {
		struct cairn_serve_process *process;
		uint64_t id; /* of an instance, or of a service's name */
		bool service;
		int64_t newest_ns; /* the last point that was added */
		struct cairn_fleet_instant counted; /* of a service: who counted at that point, */
		uint64_t sets; /* and how many sets of instances came after each other */
	} *listed;
	size_t count, capacity;
	struct cairn_serve_dropped dropped;
	bool complained;
};

/* Opens the store NAME and checks it. */
bool cairn_serve_store_open(struct cairn_serve_store *store, struct cairn_serve *serve, const char *name, struct cairn_error *error);

/* A thread that follows the store, until serve->stop. */
void *cairn_serve_store_run(void *store);

#endif
