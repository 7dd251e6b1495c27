/* expression_test.c - DWARF expressions: every operation, and those that must fail.
 * SPDX-License-Identifier: Apache-2.0 */
#include "frame/expression.h"
#include "tap.h"

static const uint64_t registers[] = {100, 101, 102, 103, 104, 105, 0x7000, 0x8000, 108, 109, 110, 111, 112, 113, 114, 115, 0x401006};

static bool read_double(void *context, uint64_t address, unsigned size, uint64_t *value)
{
	(void)context;
	*value = size == 8 ? address * 2 : (address * 2) & 0xff;
	return address != 0xbad;
}

static bool evaluate(const char *bytes, size_t length, const uint64_t *first, uint64_t *value)
{
	const struct cairn_expression_world world = {registers, sizeof registers / sizeof *registers, read_double, NULL};
	return cairn_expression_value((struct cairn_bytes){bytes, length}, &world, first, value);
}

/* An expression as a literal, its value, and what it is. */
#define gives(text, want, what)                                                                                                  \
	do {                                                                                                                     \
		uint64_t got = 0;                                                                                                \
		bool good = evaluate(text, sizeof text - 1, NULL, &got);                                                         \
		ok(got == (uint64_t)(want) && good, "%s: %llx", what, (unsigned long long)got);                                  \
	} while (0)
#define fails(text, what)                                                                                                        \
	do {                                                                                                                     \
		uint64_t got;                                                                                                    \
		ok(!evaluate(text, sizeof text - 1, NULL, &got), "%s", what);                                                    \
	} while (0)

int main(void)
{
	gives("\x35", 5, "lit5");
	gives("\x09\xff", -1, "const1s");
	gives("\x0b\xfe\xff", -2, "const2s");
	gives("\x10\x80\x01", 128, "constu");
	gives("\x11\x7f", -1, "consts");
	gives("\x76\x08", 0x7008, "breg6 + 8");
	gives("\x92\x07\x78", 0x7ff8, "bregx 7 - 8");
	gives("\x76\x70\x06", 0x6ff0 * 2, "a realigned stack: breg6 - 16, deref");
	gives("\x35\x12\x22", 10, "dup plus");
	gives("\x35\x33\x1c", 2, "minus");
	gives("\x35\x33\x16\x1c", -2, "swap minus");
	gives("\x35\x33\x14\x1c", -2, "over minus");
	gives("\x31\x32\x33\x17\x1c", -1, "rot: 1 2 3 becomes 3 1 2");
	gives("\x38\x33\x1b", 2, "div");
	gives("\x38\x33\x1d", 2, "mod");
	gives("\x31\x34\x24", 16, "shl");
	gives("\x09\x80\x33\x26", -16, "shra");
	gives("\x35\x23\x05", 10, "plus_uconst");
	gives("\x31\x28\x01\x00\x30\x35", 5, "bra over one");
	gives("\x35\x94\x01", 10, "deref_size 1");
	/* What linkers write for the stubs of a PLT: how far into the stub the pc is decides whether its push has been done. */
	gives("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 0x8008, "a PLT stub before its push");
	fails("\x22", "plus on an empty stack");
	fails("\x35\x30\x1b", "division by zero");
	fails("\x0a\xad\x0b\x06", "an address that cannot be read");
	fails("\x2f\xfd\xff", "a loop");
	fails("\x10\x80", "cut short");
	fails("\x9c", "an operation that has no place here");
	fails("\x90\x40", "a register that is not there");
	fails("", "nothing at all");
	fails("\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31\x31", "a stack that runs over");
	uint64_t value, first = 42;
	ok(evaluate("\x23\x02", 2, &first, &value) && value == 44, "with a first value on the stack");
	return tap_done();
}
