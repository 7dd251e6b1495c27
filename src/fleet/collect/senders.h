/* senders.h - who may send to a collector, by token, and which tenant owns what they send.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_SENDERS_H
#define CAIRN_FLEET_COLLECT_SENDERS_H

#include "base/arena.h"
#include "base/error.h"
#include "http/request.h"

/* All zeroes is a collector without tokens. */
struct cairn_senders {
	struct cairn_arena arena;
	struct cairn_sender {
		const char *token, *tenant;
	} *items;
	size_t count, capacity;
};

/* Reads the file PATH, which has a token and, after a blank, its tenant on each line. */
bool cairn_senders_read(struct cairn_senders *senders, const char *path, struct cairn_error *error);
void cairn_senders_free(struct cairn_senders *senders);

/* The tenant of REQUEST, by its token; NULL if that is missing or unknown. Without tokens, every request is the tenant ""'s. */
const char *cairn_senders_tenant(const struct cairn_senders *senders, const struct cairn_request *request);

/* Whether there is more than one tenant. */
bool cairn_senders_are_several(const struct cairn_senders *senders);

#endif
