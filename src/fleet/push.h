/* push.h - sending the dumps that `cairn watch` writes to a collector or on to another system, or putting them straight into a store.
 *
 * A thread of its own sends them, one after the other, from the files in the folder, so that neither a slow collector nor a missing one
 * holds up a dump. What could not be sent is tried again, with pauses; of those that wait the oldest is dropped when there are too many,
 * with a note. A dump that was removed in the meantime is skipped. How far it has come is kept in a file of the folder,
 * `.cairn-pushed-...`, so that what waited when the sender was killed is sent by the next one; a store counts what it gets twice once.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_PUSH_H
#define CAIRN_FLEET_PUSH_H

#include "base/error.h"
#include "live/option_list.h"

struct cairn_push;

/* All are borrowed, and must live until cairn_push_close. */
struct cairn_push_options {
	const char *to;      /* the URL of a collector, the name of a store, or a receiver of fleet/forward/forward.h */
	const char *headers; /* a file, for a receiver; may be NULL */
	const struct cairn_option_list *labels; /* "key=value", sent with every dump */
	const char *host;    /* sent with every dump */
	const char *folder;  /* where the dumps are */
	const char *pattern; /* what their names are made from */
};

/* Starts sending. Returns NULL with a message if an option is invalid. */
struct cairn_push *cairn_push_open(const struct cairn_push_options *options, struct cairn_error *error);

/* The dump FILE, in the folder, is there: it is to be sent. Any thread; never waits. */
void cairn_push_add(struct cairn_push *push, const char *file);

/* Sends what still waits, for a few seconds at most, and ends. */
void cairn_push_close(struct cairn_push *push);

#endif
