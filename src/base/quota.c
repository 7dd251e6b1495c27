/* quota.c - counting what is taken.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/quota.h"

/* Adds BYTES where the sum stays within the limit. What was used is in *BEFORE. */
static bool add(struct cairn_quota *quota, size_t bytes, size_t *before)
{
	*before = atomic_load(&quota->used);
	do {
		if (bytes > quota->limit || *before > quota->limit - bytes) {
			atomic_fetch_add(&quota->refused, 1);
			return false;
		}
	} while (!atomic_compare_exchange_weak(&quota->used, before, *before + bytes));
	return true;
}

/* Down to nothing at the least: what was taken before a quota was set up anew may be given back after it. */
static void subtract(struct cairn_quota *quota, size_t bytes)
{
	size_t before = atomic_load(&quota->used);
	while (!atomic_compare_exchange_weak(&quota->used, &before, before > bytes ? before - bytes : 0))
		;
}

bool cairn_quota_take(struct cairn_quota *quota, size_t bytes)
{
	size_t before;
	if (!quota)
		return true;
	if (!add(quota, bytes, &before))
		return false;
	if (!quota->whole)
		return true;
	if (before + bytes <= quota->reserve) {
		atomic_fetch_add(&quota->whole->used, bytes);
		return true;
	}
	if (add(quota->whole, bytes, &before))
		return true;
	atomic_fetch_add(&quota->refused, 1);
	subtract(quota, bytes);
	return false;
}

void cairn_quota_force(struct cairn_quota *quota, size_t bytes)
{
	for (; quota; quota = quota->whole)
		atomic_fetch_add(&quota->used, bytes);
}

void cairn_quota_give(struct cairn_quota *quota, size_t bytes)
{
	for (; quota; quota = quota->whole)
		subtract(quota, bytes);
}

static size_t counted(size_t capacity)
{
	return capacity > CAIRN_QUOTA_FREE ? capacity : 0;
}

bool cairn_quota_resize(struct cairn_quota *quota, size_t capacity, size_t wanted)
{
	size_t now = counted(capacity), then = counted(wanted);
	if (then > now)
		return cairn_quota_take(quota, then - now);
	cairn_quota_give(quota, now - then);
	return true;
}
