/* kind.c - the names that pprof gives the values of a heap.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/kind.h"

#include <assert.h>

enum cairn_value_kind cairn_value_kind(struct cairn_bytes type)
{
	static const struct {
		const char *type;
		enum cairn_value_kind kind;
	} known[] = {{"inuse_space", CAIRN_VALUE_LIVE_BYTES},
		     {"inuse_objects", CAIRN_VALUE_LIVE_OBJECTS},
		     {"inuse_usable", CAIRN_VALUE_LIVE_USABLE},
		     {"alloc_space", CAIRN_VALUE_ALLOCATED_BYTES},
		     {"alloc_objects", CAIRN_VALUE_ALLOCATED_OBJECTS}};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (cairn_bytes_equal(type, cairn_bytes_of(known[i].type)))
			return known[i].kind;
	return CAIRN_VALUE_OTHER;
}

enum cairn_value_kind cairn_profile_value_kind(const struct cairn_profile *profile, uint32_t value)
{
	assert(value < CAIRN_VALUES_MAX);
	return cairn_value_kind(cairn_strings_bytes(&profile->strings, profile->value_types[value].type));
}
