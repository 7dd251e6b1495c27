/* rule_cache_test.c - short rules say what the long ones do, and the table keeps them apart by object.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/rule_cache.h"
#include "tap.h"

static struct cairn_frame_rules make_rules(int base, int cfa_offset, int return_offset)
{
	struct cairn_frame_rules rules = {
		.cfa = {CAIRN_RULE_REGISTER, base}, .cfa_offset = cfa_offset, .return_register = CAIRN_REGISTER_RETURN};
	rules.registers[CAIRN_REGISTER_RETURN] = (struct cairn_rule){CAIRN_RULE_OFFSET, return_offset};
	return rules;
}

static void test_offsets(void)
{
	const struct cairn_image none = {{"", 0}, 0};
	const int offsets[] = {16, 8, 4096, 4194296, -8, -4194304};
	const int places[] = {-8, -16, -1048576, 1048568, 0, 8};
	bool all = true;
	for (int i = 0; i < 6; i++) {
		for (int j = 0; j < 6; j++) {
			struct cairn_frame_rules rules = make_rules(i % 2 ? CAIRN_REGISTER_FP : CAIRN_REGISTER_SP, offsets[i], places[j]);
			rules.registers[CAIRN_REGISTER_FP] =
				(struct cairn_rule){j % 3 ? CAIRN_RULE_OFFSET : CAIRN_RULE_SAME, j % 3 ? places[5 - j] : 0};
			cairn_short_rule rule = cairn_short_rule_make(&none, &rules);
			all = all && cairn_short_rule_kind(rule) == CAIRN_SHORT_CFA && cairn_short_rule_uses_fp(rule) == i % 2 &&
			      cairn_short_rule_cfa_offset(rule) == offsets[i] && cairn_short_rule_return_offset(rule) == places[j] &&
			      cairn_short_rule_saves_fp(rule) == (j % 3 != 0) &&
			      (j % 3 == 0 || cairn_short_rule_fp_offset(rule) == places[5 - j]);
		}
	}
	ok(all, "every offset comes back");
	struct cairn_frame_rules rules = make_rules(CAIRN_REGISTER_SP, 4194304, -8);
	is_int(cairn_short_rule_kind(cairn_short_rule_make(&none, &rules)), CAIRN_SHORT_NEEDS_ALL, "a frame too large for a short rule");
	rules = make_rules(3, 16, -8);
	is_int(cairn_short_rule_kind(cairn_short_rule_make(&none, &rules)), CAIRN_SHORT_NEEDS_ALL, "a CFA in another register");
	rules = make_rules(CAIRN_REGISTER_SP, 16, -8);
	rules.is_signal = true;
	is_int(cairn_short_rule_kind(cairn_short_rule_make(&none, &rules)), CAIRN_SHORT_NEEDS_ALL, "a signal frame");
	rules.registers[CAIRN_REGISTER_RETURN].kind = CAIRN_RULE_UNDEFINED;
	is_int(cairn_short_rule_kind(cairn_short_rule_make(&none, &rules)), CAIRN_SHORT_OUTERMOST, "no return address");
}

static void test_table(void)
{
	const cairn_short_rule rule = cairn_short_rule_of(CAIRN_SHORT_OUTERMOST), other = cairn_short_rule_of(CAIRN_SHORT_NO_RULE);
	ok(cairn_rule_cache_get(0x401000, 1) == 0, "an empty table has nothing");
	cairn_rule_cache_put(0x401000, 1, rule);
	ok(cairn_rule_cache_get(0x401000, 1) == rule, "a rule is kept");
	ok(cairn_rule_cache_get(0x401001, 1) == 0, "for its pc");
	ok(cairn_rule_cache_get(0x401000, 2) == 0, "in its object: another that comes to lie there does not see it");
	for (uint64_t pc = 0x500000; pc < 0x540000; pc++)
		cairn_rule_cache_put(pc, 3, pc % 2 ? rule : other);
	unsigned kept = 0, wrong = 0;
	for (uint64_t pc = 0x500000; pc < 0x540000; pc++) {
		cairn_short_rule got = cairn_rule_cache_get(pc, 3);
		kept += got != 0;
		wrong += got != 0 && got != (pc % 2 ? rule : other);
	}
	ok(kept > 30000 && wrong == 0, "when it is full it forgets, and is never wrong: %u of 262144 kept", kept);
}

int main(void)
{
	test_offsets();
	test_table();
	return tap_done();
}
