/* eh_frame_fuzz.c - any bytes as .eh_frame_hdr followed by .eh_frame, and the expressions found there: src/frame/eh_frame.c and
 * src/frame/expression.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "frame/eh_frame.h"
#include "frame/expression.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_nothing(void *context, uint64_t address, unsigned size, uint64_t *value)
{
	(void)context;
	*value = address * 31 + size;
	return address % 5 != 0;
}

static void try_rule(const struct cairn_image *image, struct cairn_rule rule)
{
	static const uint64_t registers[CAIRN_REGISTERS] = {1, 2, 3, 4, 5, 6, 7000, 8000};
	const struct cairn_expression_world world = {registers, CAIRN_REGISTERS, read_nothing, NULL};
	uint64_t value;
	if (rule.kind == CAIRN_RULE_EXPRESSION || rule.kind == CAIRN_RULE_VALUE_EXPRESSION)
		cairn_expression_value(cairn_eh_frame_expression(image, rule.value), &world, &registers[6], &value);
}

static void try_pc(const struct cairn_image *image, const struct cairn_fde *fde, uint64_t pc)
{
	struct cairn_frame_rules rules;
	if (!cairn_eh_frame_rules(image, fde, pc, &rules))
		return;
	try_rule(image, rules.cfa);
	for (unsigned i = 0; i < CAIRN_REGISTERS; i++)
		try_rule(image, rules.registers[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t address = 0x400000;
	/* A copy of exactly that size, so that a sanitizer sees every step over its end. */
	char *copy = malloc(size + 1);
	memcpy(copy, data, size);
	struct cairn_image image = {{copy, size}, address};
	struct cairn_fde fde;
	size_t next = 0;
	for (size_t offset = 0; offset < size && offset < 4096; offset = next ? next : offset + 1)
		if (cairn_eh_frame_parse(&image, offset, &fde, &next)) {
			try_pc(&image, &fde, fde.start);
			try_pc(&image, &fde, fde.start + fde.length / 2);
			try_pc(&image, &fde, fde.start + fde.length - 1);
		}
	for (uint64_t pc = address - 0x10000; pc < address + 0x10000; pc += 0x1111)
		if (cairn_eh_frame_find(&image, address, pc, &fde))
			try_pc(&image, &fde, pc);
	free(copy);
	return 0;
}
