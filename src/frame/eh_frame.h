/* eh_frame.h - call frame information: how to get from a frame to its caller, as compilers wrote it into .eh_frame.
 *
 * There are three steps: find the FDE (one function's entry) that covers an address, through the sorted table of .eh_frame_hdr; find the
 * rules for that address, by running the entry's small program; and, in unwind.c, apply them. The formats are those of the Linux Standard
 * Base (10.6) and DWARF 5 (6.4). Nothing allocates, locks or writes outside its result, and all reads stay inside the image, so a broken
 * section yields false and nothing worse.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FRAME_EH_FRAME_H
#define CAIRN_FRAME_EH_FRAME_H

#include "arch/arch.h"
#include "base/bytes.h"

/* A loaded object: its bytes, and the address of the first one; in a live process, its address in memory. */
struct cairn_image {
	struct cairn_bytes bytes;
	uint64_t address;
};

/* One function's entry together with the common one (CIE) it refers to. Offsets count from the image's start. */
struct cairn_fde {
	uint64_t start, length; /* the code it covers */
	size_t common_program, common_program_end;
	size_t program, program_end;
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t return_register;
	uint8_t encoding; /* of addresses in the program */
	bool has_data;    /* of an augmentation, before the program */
	bool is_signal;   /* the kernel made this frame: the pc that follows it is exact, not a return address */
};

enum cairn_rule_kind {
	CAIRN_RULE_SAME,             /* as in the frame itself; also anything that no rule mentions */
	CAIRN_RULE_UNDEFINED,        /* lost; for the return address: this is the outermost frame */
	CAIRN_RULE_OFFSET,           /* stored at CFA + value */
	CAIRN_RULE_VALUE_OFFSET,     /* is CFA + value */
	CAIRN_RULE_REGISTER,         /* is in register number value */
	CAIRN_RULE_EXPRESSION,       /* stored at the result of the expression at image offset value */
	CAIRN_RULE_VALUE_EXPRESSION, /* is the result of the expression at image offset value */
};

struct cairn_rule {
	enum cairn_rule_kind kind;
	int32_t value;
};

/* The rules at one address. The CFA (the stack pointer before the call) is a register plus an offset, or an expression. */
struct cairn_frame_rules {
	struct cairn_rule cfa; /* REGISTER with `cfa_offset`, or EXPRESSION */
	int32_t cfa_offset;
	struct cairn_rule registers[CAIRN_REGISTERS];
	uint8_t return_register;
	bool is_signal;
};

/* The entry for PC through the .eh_frame_hdr at address HEADER. Returns false if none covers it or the section is broken. */
bool cairn_eh_frame_find(const struct cairn_image *image, uint64_t header, uint64_t pc, struct cairn_fde *fde);

/* The entry at OFFSET of the image; returns false for a CIE, the end mark, or invalid data. *NEXT, which may be NULL, is the start of the
 * next entry, even if this one is refused; 0 if there is none. */
bool cairn_eh_frame_parse(const struct cairn_image *image, size_t offset, struct cairn_fde *fde, size_t *next);

/* The rules at PC, which FDE covers. */
bool cairn_eh_frame_rules(const struct cairn_image *image, const struct cairn_fde *fde, uint64_t pc, struct cairn_frame_rules *rules);

/* The expression of a rule's value. */
struct cairn_bytes cairn_eh_frame_expression(const struct cairn_image *image, int32_t value);

#endif
