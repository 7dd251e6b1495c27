/* code_table_test.c - what was published is found, and nothing else.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/code_table.h"
#include "tap.h"

static struct cairn_code_table table;

static bool finds(uintptr_t address, uint16_t tag)
{
	struct cairn_code code;
	return cairn_code_table_find(&table, address, &code) && code.tag == tag && address >= code.start && address < code.end;
}

int main(void)
{
	unsigned count = 0;
	struct cairn_code code;
	ok(!cairn_code_table_find(&table, 0x1000, &code), "there is nothing in an empty table");
	cairn_code_table_add(&table, &count, &(struct cairn_code){.start = 0x5000, .end = 0x6000, .tag = 2});
	cairn_code_table_add(&table, &count, &(struct cairn_code){.start = 0x9000, .end = 0xa000, .image_start = 0x8000, .image_end = 0xb000, .tag = 3, .unwind_header = 0x9800});
	cairn_code_table_add(&table, &count, &(struct cairn_code){.start = 0x1000, .end = 0x2000, .tag = 1});
	ok(!cairn_code_table_find(&table, 0x1000, &code), "nor before it is published");
	cairn_code_table_publish(&table, count);
	ok(finds(0x1000, 1) && finds(0x5fff, 2) && finds(0x9000, 3), "entries are found in whatever order they were added");
	ok(!cairn_code_table_find(&table, 0x2000, &code) && !cairn_code_table_find(&table, 0xfff, &code) &&
		   !cairn_code_table_find(&table, 0xa000, &code),
	   "what lies between them is not");
	ok(cairn_code_table_find(&table, 0x9001, &code) && code.unwind_header == 0x9800 && code.image_start == 0x8000 &&
		   code.image_end == 0xb000,
	   "with all that is known");
	count = 0;
	cairn_code_table_add(&table, &count, &(struct cairn_code){.start = 0x1000, .end = 0x3000, .tag = 4});
	ok(finds(0x1000, 1), "the old entries are there while new ones are added");
	cairn_code_table_publish(&table, count);
	ok(finds(0x2000, 4) && !cairn_code_table_find(&table, 0x5000, &code), "and then only the new ones");
	count = 0;
	for (unsigned i = 0; i < CAIRN_CODE_TABLE_MOST + 5; i++)
		cairn_code_table_add(&table, &count, &(struct cairn_code){.start = i * 0x1000, .end = (i + 1) * 0x1000, .tag = 1});
	ok(count == CAIRN_CODE_TABLE_MOST, "a full table takes no more");
	return tap_done();
}
