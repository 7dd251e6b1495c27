/* feed_test.c - which units come up for which addresses: by .debug_aranges, by their roots, by their functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/feed.h"

#include "assemble.h"
#include "tap.h"

enum { RANGED = 1, UNKNOWN, PARTIAL, FUNCTION, EMPTY, OLD };

static struct cairn_buffer abbrev, info, aranges;
static size_t listed, ranged, unknown, old;

static void put_range(uint64_t low, uint64_t length)
{
	put(&info, low, 8);
	put(&info, length, 4);
}

/* A unit that .debug_aranges lists, one whose root has a range, a partial one, one whose compiler would have said that it has code,
 * and two of which only the functions know, the first by the same compiler when it was young. */
static void assemble(void)
{
	abbrev = cairn_buffer(1000);
	info = cairn_buffer(1000);
	aranges = cairn_buffer(1000);
	put_abbrev(&abbrev, RANGED, DW_TAG_compile_unit, false, pairs(DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4));
	put_abbrev(&abbrev, EMPTY, DW_TAG_compile_unit, true, pairs(DW_AT_producer, DW_FORM_string));
	put_abbrev(&abbrev, OLD, DW_TAG_compile_unit, true, pairs(DW_AT_producer, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr));
	put_abbrev(&abbrev, UNKNOWN, DW_TAG_compile_unit, true, pairs(DW_AT_name, DW_FORM_string));
	put_abbrev(&abbrev, PARTIAL, DW_TAG_partial_unit, false, pairs(DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4));
	put_abbrev(&abbrev, FUNCTION, DW_TAG_subprogram, false, pairs(DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4));
	put(&abbrev, 0, 1);
	listed = begin_unit(&info, 4);
	put_bytes(&info, RANGED);
	put_range(0x9000, 1); /* not what .debug_aranges says: that is believed */
	end_unit(&info, listed);
	size_t partial = begin_unit(&info, 4);
	put_bytes(&info, PARTIAL);
	put_range(0x1000, 0x10000);
	end_unit(&info, partial);
	ranged = begin_unit(&info, 4);
	put_bytes(&info, RANGED);
	put_range(0x2000, 0x100);
	end_unit(&info, ranged);
	size_t empty = begin_unit(&info, 4);
	static const char producer[] = "clang LLVM (rustc version 1.95.0)";
	put_bytes(&info, EMPTY);
	cairn_buffer_append(&info, producer, sizeof producer);
	put_bytes(&info, 0);
	end_unit(&info, empty);
	static const char old_producer[] = "clang version 3.3 (tags/RELEASE_33/final)";
	old = begin_unit(&info, 4);
	put_bytes(&info, OLD);
	cairn_buffer_append(&info, old_producer, sizeof old_producer);
	put(&info, 0, 8);
	put_bytes(&info, FUNCTION);
	put_range(0x4000, 0x100);
	put_bytes(&info, 0);
	end_unit(&info, old);
	unknown = begin_unit(&info, 4);
	put_bytes(&info, UNKNOWN, 'x', 0, FUNCTION);
	put_range(0x3000, 0x100);
	put_bytes(&info, 0);
	end_unit(&info, unknown);
	put(&aranges, 44, 4);
	put(&aranges, 2, 2);
	put(&aranges, listed, 4);
	put_bytes(&aranges, 8, 0, 0, 0, 0, 0);
	put(&aranges, 0x1000, 8);
	put(&aranges, 0x100, 8);
	put(&aranges, 0, 16);
}

/* The units that come up for ADDRESSES, as "offset:first place+count". */
static const char *feed_of(struct cairn_dwarf *dwarf, const uint64_t *addresses, size_t count)
{
	static char text[300];
	struct cairn_feed *feed = cairn_feed_new(dwarf, addresses, count);
	struct cairn_abbrev_cache cache = {0};
	struct cairn_job job = {0};
	size_t used = 0;
	text[0] = '\0';
	while (cairn_feed_next(feed, &job, &cache) && used < sizeof text - 60)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s:%zu+%zu", used ? " " : "",
			job.unit.offset == listed ? "listed" : job.unit.offset == ranged ? "ranged" : job.unit.offset == unknown ? "unknown"
			: job.unit.offset == old ? "old" : "partial",
			job.places[0], job.count);
	cairn_job_free(&job);
	cairn_feed_free(feed);
	cairn_abbrev_cache_free(&cache);
	return text;
}

int main(void)
{
	assemble();
	struct cairn_buffer file;
	const struct elf_part parts[] = {
		{".debug_info", cairn_buffer_bytes(&info), 0, 0, 0},
		{".debug_abbrev", cairn_buffer_bytes(&abbrev), 0, 0, 0},
		{".debug_aranges", cairn_buffer_bytes(&aranges), 0, 0, 0},
	};
	make_elf(&file, parts, 3);
	struct cairn_elf *elf = cairn_elf_open_bytes(cairn_buffer_bytes(&file), "made", NULL);
	struct cairn_dwarf dwarf;
	cairn_dwarf_open(&dwarf, elf, false);
	is_text(feed_of(&dwarf, (const uint64_t[]){0x1000, 0x1001}, 2), "listed:0+2", "all in .debug_aranges: no other unit is looked at");
	is_text(feed_of(&dwarf, (const uint64_t[]){0x1001, 0x2000, 0x20ff}, 3), "listed:0+1 ranged:1+2 old:0+3 unknown:0+3",
		"one is not: units by their roots, and those that may have anything");
	is_text(feed_of(&dwarf, (const uint64_t[]){0x9000}, 1), "old:0+1 unknown:0+1",
		"a unit in .debug_aranges has what that says, and no more");
	dwarf.sections[CAIRN_DWARF_INFO].length -= 3;
	is_text(feed_of(&dwarf, (const uint64_t[]){0x2000}, 1), "ranged:0+1 old:0+1", "a last unit cut short is left out");
	cairn_elf_close(elf);
	cairn_buffer_free(&file);
	cairn_buffer_free(&abbrev);
	cairn_buffer_free(&info);
	cairn_buffer_free(&aranges);
	return tap_done();
}
