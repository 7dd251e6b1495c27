/* kind.h - what the values of a profile are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_KIND_H
#define CAIRN_PROFILE_KIND_H

#include "profile/profile.h"

/* The kinds of values that reports treat differently; any other value is only shown by its name. */
enum cairn_value_kind {
	CAIRN_VALUE_OTHER,
	CAIRN_VALUE_LIVE_BYTES,        /* inuse_space */
	CAIRN_VALUE_LIVE_OBJECTS,      /* inuse_objects */
	CAIRN_VALUE_LIVE_USABLE,       /* inuse_usable: the bytes of live objects with those that the allocator gave beyond the requested */
	CAIRN_VALUE_ALLOCATED_BYTES,   /* alloc_space: freed or not */
	CAIRN_VALUE_ALLOCATED_OBJECTS, /* alloc_objects */
};

/* The kind of values of TYPE, such as "inuse_space", and that of VALUE of PROFILE. */
enum cairn_value_kind cairn_value_kind(struct cairn_bytes type);
enum cairn_value_kind cairn_profile_value_kind(const struct cairn_profile *profile, uint32_t value);

static inline bool cairn_value_is_live(enum cairn_value_kind kind)
{
	return kind == CAIRN_VALUE_LIVE_BYTES || kind == CAIRN_VALUE_LIVE_OBJECTS;
}

/* Whether a value says what is live at the time of the dump, by any measure; others count since the start or tell of another time. */
static inline bool cairn_value_is_current(enum cairn_value_kind kind)
{
	return cairn_value_is_live(kind) || kind == CAIRN_VALUE_LIVE_USABLE;
}

static inline bool cairn_value_is_allocated(enum cairn_value_kind kind)
{
	return kind == CAIRN_VALUE_ALLOCATED_BYTES || kind == CAIRN_VALUE_ALLOCATED_OBJECTS;
}

/* Whether the values are all that is live, not the highest point, slack, fragmentation or mappings instead. */
static inline bool cairn_profile_is_live(const struct cairn_profile *profile)
{
	return profile->shown == CAIRN_SHOWN_LIVE;
}

#endif
