/* store.h - a store as the live page shows it: its services, and the instances of each.
 *
 * A thread asks the store again and again. A service is listed like a process: its points are what its instances held together, its verdict
 * is the one over instances (series/fleet.h), and it reaches a limit when the first of them does. Each instance is listed too, as a process
 * that is known by its dumps only; of very many, those that are nearest to their limits. What has no snapshot in the time that is shown any
 * more is taken off the list; how many there are beyond those that are listed is said.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SERVE_STORE_H
#define CAIRN_CMD_SERVE_STORE_H

#include "cmd/serve/serve.h"
#include "store/store.h"

struct cairn_serve_store {
	struct cairn_serve *serve;
	struct cairn_store *store;
	const char *tenant; /* NULL for the only one */
	struct cairn_serve_listed {
		struct cairn_serve_process *process;
		uint64_t id; /* of an instance, or of a service's name */
		bool service;
		int64_t newest_ns; /* the last point that was added */
	} *listed;
	size_t count, capacity;
	struct cairn_serve_dropped dropped;
	bool complained;
};

/* Opens the store NAME and checks it. */
bool cairn_serve_store_open(struct cairn_serve_store *store, struct cairn_serve *serve, const char *name, struct cairn_error *error);

/* The thread that follows it; ends with serve->stop. */
void *cairn_serve_store_run(void *store);

#endif
