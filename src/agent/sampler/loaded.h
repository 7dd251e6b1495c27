/* loaded.h - the objects that the loader has loaded, with what the sampler has done to each, so that it looks at each only once.
 *
 * The loader adds objects at the end of its list and counts how many it has ever added and removed. While none was removed, the known ones
 * are the first of the list, and a visit begins behind them: its cost does not depend on how much is loaded. After a removal the list is
 * compared with what is known, in its order. An object that was loaded where another lay is always new: as many as were added since are
 * at the end of the list.
 *
 * Only one thread at a time may be in here; patch.c sees to that.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_LOADED_H
#define CAIRN_AGENT_SAMPLER_LOADED_H

#include "agent/unwind/object.h"

enum cairn_loaded_state {
	CAIRN_LOADED_DONE,    /* nothing will change */
	CAIRN_LOADED_UNBOUND, /* something may change at any time, or cannot be changed */
	CAIRN_LOADED_BEGUN,   /* the loader is not done with it */
};

struct cairn_loaded {
	uintptr_t bias;
	const ElfW(Phdr) *headers; /* these two say which object it is */
	unsigned slots;            /* this and the following are set by the visitor; they are 0 for a new object */
	unsigned char is_counted, state;
	unsigned char visits;
};

/* OBJECT is visited; LOADED is what is known of it. */
typedef void cairn_loaded_visitor(void *context, const struct cairn_object *object, struct cairn_loaded *loaded);

struct cairn_loaded_sums {
	unsigned objects; /* that are counted */
	unsigned slots, pending;
};

/* Calls VISIT for each new object and for each known one whose state is at least LEAST. If SUMS is not NULL, sets it to the sums over
 * all objects. */
void cairn_loaded_visit(cairn_loaded_visitor *visit, void *context, enum cairn_loaded_state least, struct cairn_loaded_sums *sums);

/* The same on a thread of the host, which must not wait: visits what is new or not yet complete. Returns false if another thread forks,
 * and nothing is visited, or if an object was not complete. */
bool cairn_loaded_try_visit(cairn_loaded_visitor *visit, void *context);

/* From now on all objects are new. */
void cairn_loaded_forget(void);

/* The number of objects that were looked at so far, new or not: a measure of the work. */
uint64_t cairn_loaded_looked(void);

#endif
