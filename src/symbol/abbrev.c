/* abbrev.c - compiling abbreviation tables. Forms and their sizes follow DWARF 5, 7.5.6, with the GNU extensions for
 * split and shared files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/abbrev.h"

#include "base/array.h"
#include "symbol/dwarf.h"

#include <stdlib.h>

/* The tables of one thread's units take a few megabytes. Above this limit they are dropped, and rebuilt when needed again. */
static const size_t cache_limit = (size_t)16 << 20;
static const uint64_t compile_floor = (uint64_t)64 << 20;
enum { compile_ratio = 16 };

bool cairn_step_of_form(uint64_t form, struct cairn_encoding encoding, struct cairn_step *step)
{
	*step = (struct cairn_step){.kind = CAIRN_STEP_FIXED, .form = (uint16_t)form};
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		step->size = 0;
		return true;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		step->size = 1;
		return true;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		step->size = 2;
		return true;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		step->size = 3;
		return true;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		step->size = 4;
		return true;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		step->size = 8;
		return true;
	case DW_FORM_data16:
		step->size = 16;
		return true;
	case DW_FORM_addr:
		step->size = encoding.address_size;
		return true;
	case DW_FORM_ref_addr:
		step->size = encoding.version <= 2 ? encoding.address_size : encoding.offset_size;
		return true;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		step->size = encoding.offset_size;
		return true;
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		step->kind = CAIRN_STEP_LEB;
		return true;
	case DW_FORM_string:
		step->kind = CAIRN_STEP_TEXT;
		return true;
	case DW_FORM_block1:
		step->kind = CAIRN_STEP_BLOCK1;
		return true;
	case DW_FORM_block2:
		step->kind = CAIRN_STEP_BLOCK2;
		return true;
	case DW_FORM_block4:
		step->kind = CAIRN_STEP_BLOCK4;
		return true;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		step->kind = CAIRN_STEP_BLOCK;
		return true;
	case DW_FORM_indirect:
		step->kind = CAIRN_STEP_INDIRECT;
		return true;
	default:
		return false;
	}
}

void cairn_step_skip(const struct cairn_step *step, struct cairn_encoding encoding, struct cairn_cursor *in)
{
	struct cairn_step actual;
	switch (step->kind) {
	case CAIRN_STEP_FIXED:
		cairn_cursor_skip(in, step->implicit ? 0 : step->size);
		return;
	case CAIRN_STEP_LEB:
		cairn_cursor_uleb(in);
		return;
	case CAIRN_STEP_TEXT:
		cairn_cursor_text(in);
		return;
	case CAIRN_STEP_BLOCK1:
		cairn_cursor_skip(in, cairn_cursor_u8(in));
		return;
	case CAIRN_STEP_BLOCK2:
		cairn_cursor_skip(in, cairn_cursor_u16(in));
		return;
	case CAIRN_STEP_BLOCK4:
		cairn_cursor_skip(in, cairn_cursor_u32(in));
		return;
	case CAIRN_STEP_BLOCK:
		cairn_cursor_skip(in, cairn_cursor_uleb(in));
		return;
	case CAIRN_STEP_INDIRECT:
		if (cairn_step_of_form(cairn_cursor_uleb(in), encoding, &actual) && actual.kind != CAIRN_STEP_INDIRECT)
			cairn_step_skip(&actual, encoding, in);
		else
			cairn_cursor_fail(in);
		return;
	}
}

static bool is_asked_for(uint64_t attribute)
{
	switch (attribute) {
	case DW_AT_sibling:
	case DW_AT_name:
	case DW_AT_stmt_list:
	case DW_AT_low_pc:
	case DW_AT_high_pc:
	case DW_AT_language:
	case DW_AT_comp_dir:
	case DW_AT_producer:
	case DW_AT_abstract_origin:
	case DW_AT_decl_line:
	case DW_AT_specification:
	case DW_AT_ranges:
	case DW_AT_call_column:
	case DW_AT_call_file:
	case DW_AT_call_line:
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
	case DW_AT_str_offsets_base:
	case DW_AT_addr_base:
	case DW_AT_rnglists_base:
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
	case DW_AT_GNU_dwo_id:
	case DW_AT_GNU_ranges_base:
	case DW_AT_GNU_addr_base:
		return true;
	default:
		return false;
	}
}

static enum cairn_entry_role role_of(uint64_t tag, bool has_code)
{
	switch (tag) {
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_skeleton_unit:
	case DW_TAG_namespace:
	case DW_TAG_module:
		return CAIRN_ENTRY_SCOPE;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return CAIRN_ENTRY_BLOCK;
	case DW_TAG_subprogram:
		return has_code ? CAIRN_ENTRY_FUNCTION : CAIRN_ENTRY_TYPE;
	case DW_TAG_inlined_subroutine:
		return has_code ? CAIRN_ENTRY_INLINED : CAIRN_ENTRY_BLOCK;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return CAIRN_ENTRY_TYPE;
	default:
		return CAIRN_ENTRY_CLOSED;
	}
}

/* A table being compiled. Its arrays grow here and are copied into the cache's arena at the end. */
struct builder {
	struct cairn_abbrev *items;
	size_t count, capacity;
	struct cairn_step *steps;
	size_t step_count, step_capacity;
	int64_t *implicit;
	size_t implicit_count, implicit_capacity;
	struct cairn_map *sparse;
	struct cairn_encoding encoding;
	bool has_functions;
};

static void add_step(struct builder *builder, struct cairn_abbrev *abbrev, const struct cairn_step *step)
{
	struct cairn_step *last = abbrev->step_count ? &builder->steps[builder->step_count - 1] : NULL;
	if (step->kind == CAIRN_STEP_FIXED && !step->attribute && last && last->kind == CAIRN_STEP_FIXED && !last->attribute) {
		last->size += step->size;
		return;
	}
	if (step->kind == CAIRN_STEP_FIXED && !step->attribute && step->size == 0)
		return;
	cairn_array_room(builder->steps, builder->step_count, builder->step_capacity);
	builder->steps[builder->step_count++] = *step;
	abbrev->step_count++;
}

/* Reads one pair of the attribute list. Returns false at the end of the list and at an unknown form. */
static bool read_attribute(struct builder *builder, struct cairn_abbrev *abbrev, struct cairn_cursor *in, bool *has_code)
{
	uint64_t attribute = cairn_cursor_uleb(in), form = cairn_cursor_uleb(in);
	struct cairn_step step;
	int64_t implicit = form == DW_FORM_implicit_const ? cairn_cursor_sleb(in) : 0;
	if (in->failed || (attribute == 0 && form == 0))
		return false;
	if (!cairn_step_of_form(form, builder->encoding, &step)) {
		cairn_cursor_fail(in);
		return false;
	}
	if (attribute == DW_AT_sibling) {
		abbrev->has_sibling = true;
		abbrev->placed_sibling = form == DW_FORM_ref4 && abbrev->sized;
		abbrev->sibling = abbrev->size;
	}
	*has_code |= attribute == DW_AT_low_pc || attribute == DW_AT_ranges;
	if (step.kind == CAIRN_STEP_FIXED)
		abbrev->size += step.size;
	else
		abbrev->sized = false;
	if (is_asked_for(attribute)) {
		step.attribute = (uint16_t)attribute;
		if (form == DW_FORM_implicit_const) {
			cairn_array_room(builder->implicit, builder->implicit_count, builder->implicit_capacity);
			step.implicit = true;
			step.size = (uint32_t)builder->implicit_count;
			builder->implicit[builder->implicit_count++] = implicit;
		}
	}
	add_step(builder, abbrev, &step);
	return true;
}

static bool read_abbrev(struct builder *builder, struct cairn_cursor *in)
{
	uint64_t code = cairn_cursor_uleb(in);
	if (code == 0 || in->failed)
		return false;
	uint64_t tag = cairn_cursor_uleb(in);
	struct cairn_abbrev abbrev = {
		.tag = tag <= UINT16_MAX ? (uint16_t)tag : 0,
		.has_children = cairn_cursor_u8(in) != 0,
		.sized = true,
		.first_step = (uint32_t)builder->step_count,
	};
	bool has_code = false;
	while (read_attribute(builder, &abbrev, in, &has_code))
		;
	if (in->failed)
		return false;
	abbrev.role = (uint8_t)role_of(abbrev.tag, has_code);
	builder->has_functions |= abbrev.role == CAIRN_ENTRY_FUNCTION;
	if (code != builder->count + 1 && !builder->sparse) {
		builder->sparse = calloc(1, sizeof *builder->sparse);
		if (!builder->sparse)
			cairn_out_of_memory(sizeof *builder->sparse);
		for (uint32_t i = 0; i < builder->count; i++)
			*cairn_map_at(builder->sparse, i + 1) = i;
	}
	if (builder->sparse)
		*cairn_map_at(builder->sparse, code) = (uint32_t)builder->count;
	cairn_array_room(builder->items, builder->count, builder->capacity);
	builder->items[builder->count++] = abbrev;
	return true;
}

static void *keep(struct cairn_arena *arena, const void *items, size_t size)
{
	return size ? memcpy(cairn_arena_alloc(arena, size), items, size) : NULL;
}

static struct cairn_abbrevs *compile(struct cairn_abbrev_cache *cache, struct cairn_bytes section, uint64_t offset,
	struct cairn_encoding encoding)
{
	struct builder builder = {.encoding = encoding};
	struct cairn_cursor in = cairn_cursor(section);
	cairn_cursor_seek(&in, offset);
	if (cache->compiled_bytes < compile_floor + compile_ratio * (uint64_t)section.length)
		while (read_abbrev(&builder, &in))
			;
	cache->compiled_bytes += offset < cairn_cursor_offset(&in) ? cairn_cursor_offset(&in) - offset : 0;
	struct cairn_abbrevs *table = cairn_arena_zero(&cache->arena, 1, sizeof *table);
	table->items = keep(&cache->arena, builder.items, builder.count * sizeof *builder.items);
	table->count = builder.count;
	table->steps = keep(&cache->arena, builder.steps, builder.step_count * sizeof *builder.steps);
	table->implicit = keep(&cache->arena, builder.implicit, builder.implicit_count * sizeof *builder.implicit);
	table->sparse = builder.sparse;
	table->encoding = encoding;
	table->has_functions = builder.has_functions;
	if (builder.sparse) {
		cairn_array_room(cache->maps, cache->map_count, cache->map_capacity);
		cache->maps[cache->map_count++] = builder.sparse;
	}
	free(builder.items);
	free(builder.steps);
	free(builder.implicit);
	return table;
}

const struct cairn_abbrevs *cairn_abbrevs_at(
	struct cairn_abbrev_cache *cache, struct cairn_bytes section, uint64_t offset, struct cairn_encoding encoding)
{
	uint64_t shape = (uint64_t)(encoding.version <= 2) | (uint64_t)(encoding.offset_size == 8) << 1 |
			 (uint64_t)(encoding.address_size == 4) << 2;
	uint64_t key = cairn_hash_mix((uint64_t)(uintptr_t)section.data) ^ (offset << 3 | shape);
	uint32_t *known = cairn_map_at(&cache->index, key);
	if (*known == CAIRN_NONE) {
		*known = (uint32_t)cache->count;
		cairn_array_room(cache->items, cache->count, cache->capacity);
		cache->items[cache->count++] = compile(cache, section, offset, encoding);
	}
	return cache->items[*known];
}

void cairn_abbrev_cache_free(struct cairn_abbrev_cache *cache)
{
	for (size_t i = 0; i < cache->map_count; i++) {
		cairn_map_free(cache->maps[i]);
		free(cache->maps[i]);
	}
	free(cache->maps);
	free(cache->items);
	cairn_map_free(&cache->index);
	cairn_arena_free(&cache->arena);
	*cache = (struct cairn_abbrev_cache){.compiled_bytes = cache->compiled_bytes};
}

void cairn_abbrev_cache_trim(struct cairn_abbrev_cache *cache)
{
	if (cache->arena.total_bytes > cache_limit)
		cairn_abbrev_cache_free(cache);
}
