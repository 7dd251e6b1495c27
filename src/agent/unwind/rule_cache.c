/* rule_cache.c - making short rules, and keeping them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/rule_cache.h"

#include "base/cursor.h"

struct cairn_rule_line cairn_rule_lines[1 << CAIRN_RULE_LINES_LOG2];

/* A full line loses one entry, chosen by the key's own bits. */
void cairn_rule_cache_put(uint64_t pc, uint16_t tag, cairn_short_rule rule)
{
	uint64_t key = cairn_rule_key(pc, tag);
	struct cairn_rule_line *line = cairn_rule_line_of(key);
	unsigned place = (unsigned)(key >> 4) % CAIRN_RULE_WAYS;
	for (unsigned i = 0; i < CAIRN_RULE_WAYS; i++) {
		if (atomic_load_explicit(&line->entries[i].rule, memory_order_relaxed) == 0) {
			place = i;
			break;
		}
	}
	atomic_store_explicit(&line->entries[place].key_and_rule, key ^ rule, memory_order_relaxed);
	atomic_store_explicit(&line->entries[place].rule, rule, memory_order_relaxed);
}

static bool fits(int64_t value, unsigned bits)
{
	return value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1);
}

/* Whether EXPRESSION is the frame pointer plus *OFFSET, and after that, if DEREF, a load. */
static bool is_fp_offset(struct cairn_bytes expression, bool deref, int64_t *offset)
{
	enum { OP_DEREF = 0x06, OP_BREG0 = 0x70 };
	struct cairn_cursor in = cairn_cursor(expression);
	if (cairn_cursor_u8(&in) != OP_BREG0 + CAIRN_REGISTER_FP)
		return false;
	*offset = cairn_cursor_sleb(&in);
	if (deref && cairn_cursor_u8(&in) != OP_DEREF)
		return false;
	return !in.failed && cairn_cursor_left(&in) == 0;
}

cairn_short_rule cairn_short_rule_make(const struct cairn_image *image, const struct cairn_frame_rules *rules)
{
	const cairn_short_rule needs_all = cairn_short_rule_of(CAIRN_SHORT_NEEDS_ALL);
	struct cairn_rule fp = rules->registers[CAIRN_REGISTER_FP], ra = rules->registers[rules->return_register];
	struct cairn_rule sp = rules->registers[CAIRN_REGISTER_SP];
	if (ra.kind == CAIRN_RULE_UNDEFINED)
		return cairn_short_rule_of(CAIRN_SHORT_OUTERMOST);
	if (rules->is_signal || ra.kind != CAIRN_RULE_OFFSET || sp.kind != CAIRN_RULE_SAME ||
	    rules->return_register != CAIRN_REGISTER_RETURN)
		return needs_all;

	enum cairn_short_kind kind = CAIRN_SHORT_CFA;
	int64_t cfa_offset = rules->cfa_offset, fp_offset = fp.value;
	bool uses_fp = true, saves_fp = fp.kind == CAIRN_RULE_OFFSET;
	if (rules->cfa.kind == CAIRN_RULE_EXPRESSION) {
		kind = CAIRN_SHORT_REALIGNED;
		saves_fp = fp.kind == CAIRN_RULE_EXPRESSION;
		if (!is_fp_offset(cairn_eh_frame_expression(image, rules->cfa.value), true, &cfa_offset) || !saves_fp ||
		    !is_fp_offset(cairn_eh_frame_expression(image, fp.value), false, &fp_offset))
			return needs_all;
	} else {
		uses_fp = rules->cfa.value == CAIRN_REGISTER_FP;
		if ((!uses_fp && rules->cfa.value != CAIRN_REGISTER_SP) || (fp.kind != CAIRN_RULE_SAME && !saves_fp))
			return needs_all;
	}
	if (!fits(cfa_offset, 23) || !fits(ra.value, 21) || !fits(fp_offset, 21) || ra.value % 8 || fp_offset % 8)
		return needs_all;
	return (uint64_t)kind | (uint64_t)uses_fp << 3 | (uint64_t)saves_fp << 4 | ((uint64_t)cfa_offset & 0x7fffff) << 5 |
	       ((uint64_t)(ra.value / 8) & 0x3ffff) << 28 | ((uint64_t)(fp_offset / 8) & 0x3ffff) << 46;
}
