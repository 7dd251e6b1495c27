/* dwarf.c - finding the DWARF sections of a file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/dwarf.h"

#include "base/inflate.h"

#include <assert.h>
#include <elf.h>
#include <stdio.h>

static const char *const section_names[] = {
	[CAIRN_DWARF_INFO] = ".debug_info",
	[CAIRN_DWARF_ABBREV] = ".debug_abbrev",
	[CAIRN_DWARF_LINE] = ".debug_line",
	[CAIRN_DWARF_LINE_STR] = ".debug_line_str",
	[CAIRN_DWARF_STR] = ".debug_str",
	[CAIRN_DWARF_STR_OFFSETS] = ".debug_str_offsets",
	[CAIRN_DWARF_ADDR] = ".debug_addr",
	[CAIRN_DWARF_RANGES] = ".debug_ranges",
	[CAIRN_DWARF_RNGLISTS] = ".debug_rnglists",
};
static_assert(sizeof section_names / sizeof *section_names == CAIRN_DWARF_SECTIONS, "every section has a name");

/* Whether there may be a function at address 0. A segment that is loaded there from the start of the file has the ELF header there, even if
 * it is executable, as linkers make it that do not keep code apart from the rest. */
static bool is_zero_code(const struct cairn_elf *elf)
{
	for (size_t i = 0; i < elf->segment_count; i++)
		if (elf->segments[i].address == 0 && elf->segments[i].offset == 0 && elf->segments[i].memory_size > 0)
			return false;
	return elf->type == ET_REL || cairn_elf_is_code(elf, 0);
}

void cairn_dwarf_open(struct cairn_dwarf *dwarf, struct cairn_elf *elf, bool split)
{
	*dwarf = (struct cairn_dwarf){.elf = elf, .layout = elf->layout};
	dwarf->zero_is_code = is_zero_code(elf);
	for (int i = 0; i < CAIRN_DWARF_SECTIONS; i++) {
		char name[32];
		snprintf(name, sizeof name, "%s%s", section_names[i], split ? ".dwo" : "");
		const struct cairn_elf_section *section = cairn_elf_section(elf, name);
		dwarf->sections[i] = (struct cairn_bytes){"", 0};
		if (!section)
			continue;
		dwarf->inflates[i] = section->inflate;
		dwarf->sections[i] = section->inflate ? cairn_inflate_bytes(section->inflate) : section->bytes;
	}
}

void cairn_dwarf_stream(struct cairn_dwarf *dwarf)
{
	static const enum cairn_dwarf_section streams[] = {CAIRN_DWARF_INFO, CAIRN_DWARF_LINE};
	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
		if (dwarf->inflates[streams[i]])
			cairn_inflate_stream(dwarf->inflates[streams[i]]);
}

bool cairn_dwarf_is_stream(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section)
{
	return dwarf->inflates[section] && cairn_inflate_is_stream(dwarf->inflates[section]);
}

bool cairn_dwarf_await(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section, uint64_t start, uint64_t end)
{
	if (end > dwarf->sections[section].length)
		return false;
	struct cairn_inflate *inflate = dwarf->inflates[section];
	return !inflate || cairn_inflate_wait(inflate, (size_t)start, (size_t)end);
}

void cairn_dwarf_hold(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section, uint64_t start, uint64_t end)
{
	if (dwarf->inflates[section])
		cairn_inflate_hold(dwarf->inflates[section], (size_t)start, (size_t)end);
}

void cairn_dwarf_release(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section, uint64_t start, uint64_t end)
{
	if (dwarf->inflates[section])
		cairn_inflate_release(dwarf->inflates[section], (size_t)start, (size_t)end);
}

const char *cairn_dwarf_keep(
	const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section, const char *text, struct cairn_arena *arena)
{
	return text && cairn_dwarf_is_stream(dwarf, section) ? cairn_arena_text(arena, cairn_bytes_of(text)) : text;
}

void cairn_dwarf_expect(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section, uint64_t start, uint64_t length)
{
	if (dwarf->inflates[section] && start < dwarf->sections[section].length)
		cairn_inflate_expect(dwarf->inflates[section], (size_t)start, (size_t)length);
}

void cairn_dwarf_await_others(const struct cairn_dwarf *dwarf)
{
	for (int i = 0; i < CAIRN_DWARF_SECTIONS; i++)
		if (i != CAIRN_DWARF_INFO && i != CAIRN_DWARF_STR && dwarf->inflates[i] && !cairn_dwarf_is_stream(dwarf, i))
			cairn_inflate_wait(dwarf->inflates[i], 0, dwarf->sections[i].length);
}

const char *cairn_dwarf_string(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section, uint64_t offset)
{
	struct cairn_bytes rest = cairn_bytes_skip(dwarf->sections[section], (size_t)offset);
	size_t length = rest.length < CAIRN_LONGEST_NAME ? rest.length : CAIRN_LONGEST_NAME;
	if (length && dwarf->inflates[section])
		cairn_inflate_wait(dwarf->inflates[section], (size_t)offset, (size_t)offset + length);
	return length && memchr(rest.data, 0, length) ? rest.data : NULL;
}
