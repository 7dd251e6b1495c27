/* kind_test.c - what the values of a profile are, by their names.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/kind.h"
#include "tap.h"

static void test_kinds(void)
{
	static const struct {
		const char *type;
		enum cairn_value_kind kind;
		bool live, current, allocated;
	} cases[] = {{"inuse_space", CAIRN_VALUE_LIVE_BYTES, true, true, false},
		     {"inuse_objects", CAIRN_VALUE_LIVE_OBJECTS, true, true, false},
		     {"inuse_usable", CAIRN_VALUE_LIVE_USABLE, false, true, false},
		     {"alloc_space", CAIRN_VALUE_ALLOCATED_BYTES, false, false, true},
		     {"alloc_objects", CAIRN_VALUE_ALLOCATED_OBJECTS, false, false, true},
		     {"peak_space", CAIRN_VALUE_OTHER, false, false, false},
		     {"inuse_space2", CAIRN_VALUE_OTHER, false, false, false},
		     {"", CAIRN_VALUE_OTHER, false, false, false}};
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cairn_profile_add_value_type(&profile, cases[i].type, "count");
		enum cairn_value_kind kind = cairn_profile_value_kind(&profile, i);
		ok(kind == cases[i].kind && cairn_value_is_live(kind) == cases[i].live &&
			   cairn_value_is_current(kind) == cases[i].current && cairn_value_is_allocated(kind) == cases[i].allocated,
		   "the kind of '%s'", cases[i].type);
	}
	cairn_profile_free(&profile);
}

static void test_live(void)
{
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	ok(cairn_profile_is_live(&profile), "a profile is of what is live");
	for (profile.shown = CAIRN_SHOWN_LIVE + 1; profile.shown < CAIRN_SHOWN_COUNT; profile.shown++)
		ok(!cairn_profile_is_live(&profile), "one of '%s' is not", cairn_shown_views[profile.shown].option);
	cairn_profile_free(&profile);
}

int main(void)
{
	test_kinds();
	test_live();
	return tap_done();
}
