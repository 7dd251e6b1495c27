/* rule_cache.h - the unwind rule of a frame in one word, and a table of rules by pc.
 *
 * A short rule contains what the fast walk needs: how to find the CFA, the return address and the frame pointer. Any thread reads and
 * writes entries at any time without a lock: the key is stored combined with the rule, so a torn entry matches no pc or, very rarely, a
 * wrong one, whose walk then goes astray, but only through checked reads. The tag of the object that contains a pc is part of the key,
 * and no two objects share one: rules of an unloaded object are never used again.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_UNWIND_RULE_CACHE_H
#define CAIRN_AGENT_UNWIND_RULE_CACHE_H

#include "frame/eh_frame.h"

#include <stdatomic.h>

/* Bits, from the lowest: kind 3, uses_fp 1, saves_fp 1, cfa offset 23 (signed), return offset 18 (signed, in words), fp
 * offset 18 (signed, in words). Never 0. */
typedef uint64_t cairn_short_rule;

enum cairn_short_kind {
	CAIRN_SHORT_CFA = 1,   /* CFA = sp or fp + offset; the caller's fp is unchanged or at CFA + offset */
	CAIRN_SHORT_REALIGNED, /* CFA is stored at fp + offset, and the caller's fp at fp + offset */
	CAIRN_SHORT_OUTERMOST,
	CAIRN_SHORT_NEEDS_ALL, /* none of these: all registers are needed */
	CAIRN_SHORT_NO_RULE,
	CAIRN_SHORT_NO_CODE,
};

static inline enum cairn_short_kind cairn_short_rule_kind(cairn_short_rule rule)
{
	return rule & 7;
}

static inline bool cairn_short_rule_uses_fp(cairn_short_rule rule)
{
	return rule >> 3 & 1;
}

static inline bool cairn_short_rule_saves_fp(cairn_short_rule rule)
{
	return rule >> 4 & 1;
}

static inline int64_t cairn_short_rule_cfa_offset(cairn_short_rule rule)
{
	return (int64_t)(rule << 36) >> 41;
}

static inline int64_t cairn_short_rule_return_offset(cairn_short_rule rule)
{
	return ((int64_t)(rule << 18) >> 46) * 8;
}

static inline int64_t cairn_short_rule_fp_offset(cairn_short_rule rule)
{
	return ((int64_t)rule >> 46) * 8;
}

/* A rule that consists only of its kind. */
static inline cairn_short_rule cairn_short_rule_of(enum cairn_short_kind kind)
{
	return (cairn_short_rule)kind;
}

/* RULES in short, or CAIRN_SHORT_NEEDS_ALL. */
cairn_short_rule cairn_short_rule_make(const struct cairn_image *image, const struct cairn_frame_rules *rules);

enum { CAIRN_RULE_WAYS = 4, CAIRN_RULE_LINES_LOG2 = 13 }; /* 32,768 rules in 512 KiB, of which only the touched pages exist */

/* One cache line of the table. */
struct cairn_rule_line {
	struct {
		_Atomic uint64_t key_and_rule; /* the xor of key and rule */
		_Atomic uint64_t rule;
	} entries[CAIRN_RULE_WAYS];
} __attribute__((aligned(64)));

extern struct cairn_rule_line cairn_rule_lines[1 << CAIRN_RULE_LINES_LOG2];

/* Addresses of user space leave the upper 16 bits free. */
static inline uint64_t cairn_rule_key(uint64_t pc, uint16_t tag)
{
	return pc ^ (uint64_t)tag << 48;
}

static inline struct cairn_rule_line *cairn_rule_line_of(uint64_t key)
{
	return &cairn_rule_lines[key * 0x9e3779b97f4a7c15u >> (64 - CAIRN_RULE_LINES_LOG2)];
}

/* The rule for PC in an object with that tag; 0 if there is none. */
static inline cairn_short_rule cairn_rule_cache_get(uint64_t pc, uint16_t tag)
{
	uint64_t key = cairn_rule_key(pc, tag);
	struct cairn_rule_line *line = cairn_rule_line_of(key);
	for (unsigned i = 0; i < CAIRN_RULE_WAYS; i++) {
		uint64_t rule = atomic_load_explicit(&line->entries[i].rule, memory_order_relaxed);
		if ((atomic_load_explicit(&line->entries[i].key_and_rule, memory_order_relaxed) ^ rule) == key)
			return rule;
	}
	return 0;
}

void cairn_rule_cache_put(uint64_t pc, uint16_t tag, cairn_short_rule rule);

#endif
