/* stub.c - stubs for x86_64. They change rax, r10, r11 and the flags.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/stub.h"

#include <string.h>

/* The registers of the first six arguments. */
static const unsigned char numbers[6] = {7, 6, 2, 1, 8, 9};

struct writer {
	struct cairn_stub *stub;
	size_t exits[2][2]; /* where the distance to the slow half is to be put in; 0 for none */
};

static void put(struct writer *writer, const void *bytes, size_t length)
{
	memcpy(writer->stub->code + writer->stub->length, bytes, length);
	writer->stub->length += length;
}

static void put_code(struct writer *writer, const unsigned *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		writer->stub->code[writer->stub->length++] = (unsigned char)bytes[i];
}

#define PUT(writer, ...) put_code(writer, (const unsigned[]){__VA_ARGS__}, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static void put_address(struct writer *writer, uint64_t address)
{
	put(writer, &address, sizeof address);
}

/* A jump if CONDITION holds, to what is written later. */
static void put_exit(struct writer *writer, unsigned char condition, bool due)
{
	PUT(writer, 0x0f, condition, 0, 0, 0, 0);
	writer->exits[due][writer->exits[due][0] != 0] = writer->stub->length;
}

/* Where the thread has no line at its first place, the slow half counts. */
static void put_line_countdown(struct writer *writer, const struct cairn_stub_world *world, unsigned size)
{
	PUT(writer, 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0);          /* mov %fs:0, %rax */
	PUT(writer, 0x49, 0xba);                                        /* mov $CAIRN_STUB_SPREAD, %r10 */
	put_address(writer, CAIRN_STUB_SPREAD);
	PUT(writer, 0x4c, 0x0f, 0xaf, 0xd0);                            /* imul %rax, %r10 */
	PUT(writer, 0x49, 0xc1, 0xea, 64 - CAIRN_STUB_LINES_LOG2);      /* shr $52, %r10 */
	PUT(writer, 0x49, 0xc1, 0xe2, CAIRN_STUB_LINE_LOG2);            /* shl $7, %r10 */
	PUT(writer, 0x48, 0xb8);                                        /* mov $lines, %rax */
	put_address(writer, world->lines);
	PUT(writer, 0x49, 0x01, 0xc2);                                  /* add %rax, %r10 */
	PUT(writer, 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0);          /* mov %fs:0, %rax */
	PUT(writer, 0x49, 0x39, 0x02);                                  /* cmp %rax, (%r10) */
	put_exit(writer, 0x85, true);                                   /* jne */
	PUT(writer, 0x49 | (size >> 3) << 2, 0x29, 0x42 | (size & 7) << 3, 8); /* sub %size, 8(%r10) */
	put_exit(writer, 0x82, true);                                   /* jb */
}

/* sub %ARGUMENT, %fs:countdown; with a count, of the product. Where that does not fit, the function refuses, and the sample is too early at
 * most. */
static void put_countdown(struct writer *writer, const struct cairn_stub_world *world, const struct cairn_stub_arguments *arguments)
{
	unsigned size = numbers[arguments->size];
	int32_t offset = (int32_t)(int64_t)world->countdown;
	if (arguments->count != CAIRN_STUB_NONE) {
		unsigned count = numbers[arguments->count];
		PUT(writer, 0x49 | (size >> 3) << 2, 0x89, 0xc3 | (size & 7) << 3);        /* mov %size, %r11 */
		PUT(writer, 0x4c | count >> 3, 0x0f, 0xaf, 0xd8 | (count & 7)); /* imul %count, %r11 */
		size = 11;
	}
	if (world->lines) {
		put_line_countdown(writer, world, size);
		return;
	}
	PUT(writer, 0x64, 0x48 | (size >> 3) << 2, 0x29, 0x04 | (size & 7) << 3, 0x25);
	put(writer, &offset, sizeof offset);
	put_exit(writer, 0x82, true); /* jb */
}

/* As cairn_filter_has: bit OBJECT * 0x61c88647 >> 35, of 32 in the lower half of each word. */
static void put_filter(struct writer *writer, const struct cairn_stub_world *world, const struct cairn_stub_arguments *arguments)
{
	unsigned object = numbers[arguments->object];
	PUT(writer, 0x48 | object >> 3, 0x69, 0xc0 | (object & 7), 0x47, 0x86, 0xc8, 0x61); /* imul $0x61c88647, %object, %rax */
	PUT(writer, 0x49, 0xba);                                                           /* mov $filter_mask, %r10 */
	put_address(writer, world->filter_mask);
	PUT(writer, 0x48, 0xc1, 0xe8, 35);                                                 /* shr $35, %rax */
	PUT(writer, 0x49, 0x89, 0xc3);                                                     /* mov %rax, %r11 */
	PUT(writer, 0x49, 0xc1, 0xeb, 5);                                                  /* shr $5, %r11 */
	PUT(writer, 0x4d, 0x23, 0x1a);                                                     /* and (%r10), %r11 */
	PUT(writer, 0x49, 0xba);                                                           /* mov $filter_words, %r10 */
	put_address(writer, world->filter_words);
	PUT(writer, 0x47, 0x8b, 0x14, 0xda);                                               /* mov (%r10,%r11,8), %r10d */
	PUT(writer, 0x41, 0x0f, 0xa3, 0xc2);                                               /* bt %eax, %r10d */
	put_exit(writer, 0x82, false);                                                     /* jc */
}

static void put_slow(struct writer *writer, const struct cairn_stub_world *world, uint64_t description, bool due)
{
	if (!writer->exits[due][0])
		return;
	for (int i = 0; i < 2 && writer->exits[due][i]; i++) {
		size_t from = writer->exits[due][i];
		int32_t distance = (int32_t)(writer->stub->length - from);
		memcpy(writer->stub->code + from - sizeof distance, &distance, sizeof distance);
	}
	PUT(writer, 0x49, 0xbb); /* mov $description, %r11 */
	put_address(writer, description + (due ? CAIRN_STUB_DUE : 0));
	PUT(writer, 0x49, 0xba); /* mov $slow, %r10 */
	put_address(writer, world->slow);
	PUT(writer, 0x41, 0xff, 0xe2); /* jmp *%r10 */
}

bool cairn_stub_write(struct cairn_stub *stub, const struct cairn_stub_world *world, struct cairn_stub_arguments arguments, uint64_t address,
		      const struct cairn_move *move, uint64_t description, uint64_t to)
{
	struct writer writer = {.stub = stub};
	stub->length = 0;
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
	return length > 0;
}
