/* fit.c - compares mappings with segments, for each possible page size.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/fit.h"

#include <elf.h>
#include <stdio.h>

/* The part of the file, in bytes from its start, that was or would be mapped as executable. */
struct extent {
	uint64_t start, end;
};

static struct extent segment_extent(const struct cairn_elf_segment *segment, uint64_t page)
{
	return (struct extent){segment->offset & ~(page - 1), (segment->offset + segment->file_size + page - 1) & ~(page - 1)};
}

static bool is_code(const struct cairn_elf_segment *segment)
{
	return segment->executable && segment->file_size > 0 && segment->offset + segment->file_size > segment->offset;
}

/* The segment with pages that contain all of EXTENT, or NULL. */
static const struct cairn_elf_segment *segment_around(const struct cairn_identity *identity, struct extent extent, uint64_t page)
{
	for (size_t i = 0; i < identity->segment_count; i++) {
		struct extent whole = segment_extent(&identity->segments[i], page);
		if (is_code(&identity->segments[i]) && extent.start >= whole.start && extent.end <= whole.end)
			return &identity->segments[i];
	}
	return NULL;
}

static enum cairn_fit fit_pages(const struct cairn_profile *profile, uint32_t module, const struct cairn_identity *identity, uint64_t page)
{
	enum cairn_fit fit = CAIRN_FIT_UNKNOWN;
	struct extent total = {UINT64_MAX, 0};
	const struct cairn_elf_segment *segment = NULL;
	for (size_t i = 0; i < profile->mapping_count; i++) {
		const struct cairn_mapping *mapping = &profile->mappings[i];
		if (mapping->module != module)
			continue;
		struct extent extent = {mapping->offset, mapping->offset + (mapping->limit - mapping->start)};
		segment = segment_around(identity, extent, page);
		if (!segment)
			return CAIRN_FIT_BAD;
		total.start = extent.start < total.start ? extent.start : total.start;
		total.end = extent.end > total.end ? extent.end : total.end;
		fit = CAIRN_FIT_GOOD;
	}
	/* If there are several code segments, as some linkers make, their mappings were only checked one by one. */
	if (segment && segment_around(identity, total, page) == segment) {
		struct extent whole = segment_extent(segment, page);
		fit = total.start == whole.start && total.end == whole.end ? CAIRN_FIT_GOOD : CAIRN_FIT_DOUBT;
	}
	return fit;
}

/* Whether the map has page-aligned addresses and real offsets: some formats have neither, and give offset 0 for every mapping. */
static bool is_comparable(const struct cairn_profile *profile, uint32_t module, const struct cairn_identity *identity)
{
	enum { smallest_page = 4096 };
	bool any = false, starts_at_zero = false;
	for (size_t i = 0; i < identity->segment_count; i++)
		starts_at_zero |= is_code(&identity->segments[i]) && identity->segments[i].offset < smallest_page;
	for (size_t i = 0; i < profile->mapping_count; i++) {
		const struct cairn_mapping *mapping = &profile->mappings[i];
		if (mapping->module != module)
			continue;
		if (mapping->start % smallest_page || mapping->limit % smallest_page || mapping->offset % smallest_page ||
			(!mapping->offset && !starts_at_zero))
			return false;
		any = true;
	}
	return any;
}

static void explain(const struct cairn_profile *profile, uint32_t module, const struct cairn_identity *identity, char *why, size_t size)
{
	struct extent mapped = {UINT64_MAX, 0}, file = {UINT64_MAX, 0};
	for (size_t i = 0; i < profile->mapping_count; i++) {
		const struct cairn_mapping *mapping = &profile->mappings[i];
		uint64_t end = mapping->offset + (mapping->limit - mapping->start);
		if (mapping->module != module)
			continue;
		mapped.start = mapping->offset < mapped.start ? mapping->offset : mapped.start;
		mapped.end = end > mapped.end ? end : mapped.end;
	}
	for (size_t i = 0; i < identity->segment_count; i++) {
		const struct cairn_elf_segment *segment = &identity->segments[i];
		if (!is_code(segment))
			continue;
		file.start = segment->offset < file.start ? segment->offset : file.start;
		file.end = segment->offset + segment->file_size > file.end ? segment->offset + segment->file_size : file.end;
	}
	snprintf(why, size, "its code is the bytes 0x%llx to 0x%llx of the file, the process had 0x%llx to 0x%llx mapped",
		 (unsigned long long)file.start, (unsigned long long)file.end, (unsigned long long)mapped.start,
		 (unsigned long long)mapped.end);
}

size_t cairn_fit_outside(const struct cairn_profile *profile, uint32_t module, const struct cairn_identity *identity)
{
	size_t outside = 0;
	char why[1];
	if (cairn_fit(profile, module, identity, why, sizeof why) == CAIRN_FIT_UNKNOWN)
		return 0;
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		uint64_t address;
		if (location->mapping != CAIRN_NONE && profile->mappings[location->mapping].module == module)
			outside += !cairn_identity_address(identity, cairn_profile_file_offset(profile, location), &address);
	}
	return outside;
}

enum cairn_fit cairn_fit(const struct cairn_profile *profile, uint32_t module, const struct cairn_identity *identity, char *why,
	size_t size)
{
	static const uint64_t pages[] = {4096, 16384, 65536};
	bool small_only = identity->machine == EM_X86_64 || identity->machine == EM_386 || identity->machine == EM_S390;
	bool has_code = false;
	for (size_t i = 0; i < identity->segment_count; i++)
		has_code |= is_code(&identity->segments[i]);
	if (!has_code || !is_comparable(profile, module, identity))
		return CAIRN_FIT_UNKNOWN;
	enum cairn_fit best = CAIRN_FIT_BAD;
	for (size_t i = 0; i < (small_only ? 1 : sizeof pages / sizeof *pages); i++) {
		enum cairn_fit fit = fit_pages(profile, module, identity, pages[i]);
		best = fit < best ? fit : best;
	}
	if (best == CAIRN_FIT_DOUBT || best == CAIRN_FIT_BAD)
		explain(profile, module, identity, why, size);
	return best;
}
