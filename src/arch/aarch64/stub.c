/* stub.c - stubs for aarch64. They change x9, x10, x16, x17 and the flags.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/stub.h"

#include <string.h>

enum { size = 4 };

struct writer {
	struct cairn_stub *stub;
	size_t exits[2][2]; /* where the branches to the slow half are; 0 for none */
};

static void put(struct writer *writer, uint32_t word)
{
	memcpy(writer->stub->code + writer->stub->length, &word, size);
	writer->stub->length += size;
}

/* Sets register NUMBER to VALUE: movz, and movk three times. */
static void put_value(struct writer *writer, unsigned number, uint64_t value)
{
	for (unsigned i = 0; i < 4; i++)
		put(writer, (i ? 0xf2800000 : 0xd2800000) | i << 21 | (uint32_t)(value >> (16 * i) & 0xffff) << 5 | number);
}

static void put_exit(struct writer *writer, uint32_t branch, bool due)
{
	writer->exits[due][writer->exits[due][0] != 0] = writer->stub->length;
	put(writer, branch);
}

/* Where the thread has no line at its first place, the slow half counts. */
static void put_line_countdown(struct writer *writer, const struct cairn_stub_world *world, uint32_t asked)
{
	put(writer, 0xd53bd050);                                                  /* mrs x16, tpidr_el0 */
	put_value(writer, 17, CAIRN_STUB_SPREAD);
	put(writer, 0x9b117e11);                                                  /* mul x17, x16, x17 */
	put(writer, 0xd340fe31 | (uint32_t)(64 - CAIRN_STUB_LINES_LOG2) << 16);   /* lsr x17, x17, #52 */
	put_value(writer, 10, world->lines);
	put(writer, 0x8b110151 | (uint32_t)CAIRN_STUB_LINE_LOG2 << 10);           /* add x17, x10, x17, lsl #7 */
	put(writer, 0xf940022a);                                                  /* ldr x10, [x17] */
	put(writer, 0xeb10015f);                                                  /* cmp x10, x16 */
	put_exit(writer, 0x54000001, true);                                       /* b.ne */
	put(writer, 0xf940062a);                                                  /* ldr x10, [x17, #8] */
	put(writer, 0xeb00014a | asked << 16);                                    /* subs x10, x10, size */
	put(writer, 0xf900062a);                                                  /* str x10, [x17, #8] */
	put_exit(writer, 0x54000003, true);                                       /* b.lo */
}

/* The countdown of the thread less the size; with a count, the product, which is too early a sample at most where it does not fit. */
static void put_countdown(struct writer *writer, const struct cairn_stub_world *world, const struct cairn_stub_arguments *arguments)
{
	uint32_t offset = (uint32_t)world->countdown, asked = arguments->size;
	if (arguments->count != CAIRN_STUB_NONE) {
		put(writer, 0x9b007c09u | (uint32_t)arguments->count << 16 | asked << 5); /* mul x9, size, count */
		asked = 9;
	}
	if (world->lines) {
		put_line_countdown(writer, world, asked);
		return;
	}
	put(writer, 0xd53bd050);                                   /* mrs x16, tpidr_el0 */
	put(writer, 0x91400210 | (offset >> 12 & 0xfff) << 10);    /* add x16, x16, #offset's upper half */
	put(writer, 0xf9400211 | (offset & 0xfff) / 8 << 10);      /* ldr x17, [x16, #its lower half] */
	put(writer, 0xeb000231u | asked << 16);                    /* subs x17, x17, size */
	put(writer, 0xf9000211 | (offset & 0xfff) / 8 << 10);      /* str x17, [x16, #its lower half] */
	put_exit(writer, 0x54000003, true);                        /* b.lo */
}

/* As cairn_filter_has: bit OBJECT * 0x61c88647 >> 35, of 32 in the lower half of each word. */
static void put_filter(struct writer *writer, const struct cairn_stub_world *world, const struct cairn_stub_arguments *arguments)
{
	put(writer, 0xd290c8f0);                                  /* mov x16, #0x8647 */
	put(writer, 0xf2ac3910);                                  /* movk x16, #0x61c8, lsl #16 */
	put(writer, 0x9b007e11u | (uint32_t)arguments->object << 16); /* mul x17, x16, object */
	put(writer, 0xd363fe31);                                  /* lsr x17, x17, #35 */
	put_value(writer, 16, world->filter_mask);
	put(writer, 0xf9400209);                                  /* ldr x9, [x16] */
	put(writer, 0x8a511529);                                  /* and x9, x9, x17, lsr #5 */
	put_value(writer, 16, world->filter_words);
	put(writer, 0xf8697a0a);                                  /* ldr x10, [x16, x9, lsl #3] */
	put(writer, 0x1ad1254a);                                  /* lsr w10, w10, w17 */
	put_exit(writer, 0x3700000a, false);                      /* tbnz w10, #0 */
}

static void put_slow(struct writer *writer, const struct cairn_stub_world *world, uint64_t description, bool due)
{
	if (!writer->exits[due][0])
		return;
	for (int i = 0; i < 2 && writer->exits[due][i]; i++) {
		size_t from = writer->exits[due][i];
		uint32_t word, distance = (uint32_t)(writer->stub->length - from) / size;
		memcpy(&word, writer->stub->code + from, size);
		word |= distance << 5;
		memcpy(writer->stub->code + from, &word, size);
	}
	put_value(writer, 16, description + (due ? CAIRN_STUB_DUE : 0));
	put_value(writer, 17, world->slow);
	put(writer, 0xd61f0220); /* br x17 */
}

bool cairn_stub_write(struct cairn_stub *stub, const struct cairn_stub_world *world, struct cairn_stub_arguments arguments, uint64_t address,
		      const struct cairn_move *move, uint64_t description, uint64_t to)
{
	struct writer writer = {.stub = stub};
	stub->length = move ? cairn_move_enter(move, stub->code) : 0;
	if (arguments.size != CAIRN_STUB_NONE)
		put_countdown(&writer, world, &arguments);
	if (arguments.object != CAIRN_STUB_NONE)
		put_filter(&writer, world, &arguments);
	stub->real = stub->length;
	size_t length = move ? cairn_move_write(move, to + stub->length, stub->code + stub->length)
			     : cairn_move_jump(to + stub->length, address, stub->code + stub->length);
	stub->length += length;
	put_slow(&writer, world, description, true);
	put_slow(&writer, world, description, false);
	return length > 0 && world->countdown < 1 << 24;
}
