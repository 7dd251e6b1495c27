/* quota.h - an amount of memory that several may take from, none of them more than there is.
 *
 * Quotas form a tree of two levels: a *part* takes from its *whole* as well, so that together the parts stay within it. A part may have a
 * reserve, which it gets whatever the others hold. Taking never waits. Any thread may take and give.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_QUOTA_H
#define CAIRN_BASE_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct cairn_quota {
	size_t limit;
	size_t reserve;            /* of a part: within this the whole is not asked */
	struct cairn_quota *whole; /* NULL for none */
	_Atomic size_t used;
	atomic_uint refused;       /* how often there was not enough */
};

/* A buffer of up to this many bytes takes from no quota: small answers are given however much is held. */
enum { CAIRN_QUOTA_FREE = 64 << 10 };

/* Takes BYTES, or nothing at all and false. A NULL quota has no limit. */
bool cairn_quota_take(struct cairn_quota *quota, size_t bytes);

/* Takes BYTES even beyond the limit: what is there already has to be counted. */
void cairn_quota_force(struct cairn_quota *quota, size_t bytes);

void cairn_quota_give(struct cairn_quota *quota, size_t bytes);

/* Takes or gives what a buffer of CAPACITY bytes needs when its capacity becomes WANTED. False, with nothing changed, where that is
 * too much. */
bool cairn_quota_resize(struct cairn_quota *quota, size_t capacity, size_t wanted);

#endif
