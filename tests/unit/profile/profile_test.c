/* profile_test.c - what is stored in a profile once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile.h"
#include "tap.h"

/* Labels that have one hash are told apart all the same: it adds up key, text and number. */
static void test_labels(void)
{
	struct cairn_profile one, *profile = &one;
	cairn_profile_init(profile);
	uint32_t key = cairn_profile_text(profile, "key"), text = cairn_profile_text(profile, "text"), next = cairn_profile_text(profile, "next");
	struct cairn_label word = {.key = key, .text = text};
	uint32_t id = cairn_profile_add_labels(profile, &word, 1);
	is_int(cairn_profile_add_labels(profile, &word, 1), id, "the same label is stored once");
	ok(cairn_profile_add_labels(profile, &(struct cairn_label){.key = key, .is_number = true, .number = text}, 1) != id,
	   "a number is another label than a text");
	ok(cairn_profile_add_labels(profile, &(struct cairn_label){.key = key, .text = text - 1, .number = 1}, 1) != id, "so is another text");
	ok(cairn_profile_add_labels(profile, &(struct cairn_label){.key = key - 1, .text = text, .number = (int64_t)1 << 32}, 1) != id,
	   "and another key");
	ok(cairn_profile_add_labels(profile, &(struct cairn_label){.key = key, .text = text, .is_number = true}, 1) != id, "and a kind");
	struct cairn_label two[] = {word, {.key = key, .text = next}};
	uint32_t both = cairn_profile_add_labels(profile, two, 2);
	is_int(cairn_profile_add_labels(profile, two, 2), both, "two labels are stored once, too");
	two[1].is_number = true;
	ok(cairn_profile_add_labels(profile, two, 2) != both, "unless the second is another");
	cairn_profile_free(profile);
}

static void test_no_frames(void)
{
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	cairn_profile_append_value(&profile, "space", "bytes");
	cairn_profile_add_sample(&profile, 0, 0, (const double[]){1});
	ok(profile.stacks != NULL, "where no sample has frames, their stacks have an address all the same: NULL + 0 is undefined");
	cairn_profile_free(&profile);
}

int main(void)
{
	test_no_frames();
	test_labels();
	return tap_done();
}
