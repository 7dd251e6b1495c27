/* unit.c - unit headers (DWARF 5, 7.5.1), root entries (3.1), and the index of units.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/unit.h"

#include "base/array.h"

#include <pthread.h>
#include <stdlib.h>

struct cairn_cursor cairn_unit_cursor(const struct cairn_unit *unit, uint64_t offset)
{
	struct cairn_bytes info = unit->dwarf->sections[CAIRN_DWARF_INFO];
	struct cairn_cursor in = cairn_dwarf_cursor(unit->dwarf, (struct cairn_bytes){info.data, (size_t)unit->end});
	cairn_cursor_seek(&in, offset < unit->first_entry ? UINT64_MAX : offset);
	return in;
}

/* The fields after the length. */
static void read_header(struct cairn_unit *unit, struct cairn_cursor *in)
{
	struct cairn_encoding *encoding = &unit->encoding;
	uint16_t version = cairn_cursor_u16(in);
	encoding->version = version <= UINT8_MAX ? (uint8_t)version : 0;
	unit->type = DW_UT_compile;
	if (encoding->version >= 5) {
		unit->type = cairn_cursor_u8(in);
		encoding->address_size = cairn_cursor_u8(in);
		unit->abbrev_offset = cairn_cursor_sized(in, encoding->offset_size);
	} else {
		unit->abbrev_offset = cairn_cursor_sized(in, encoding->offset_size);
		encoding->address_size = cairn_cursor_u8(in);
	}
	if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile) {
		unit->dwo_id = cairn_cursor_u64(in);
		unit->has_dwo_id = true;
	} else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type) {
		cairn_cursor_u64(in);
		cairn_cursor_sized(in, encoding->offset_size);
	}
	unit->first_entry = cairn_cursor_offset(in);
}

/* Reads what is in the first bytes of UNIT, up to END. */
static bool read_start(struct cairn_unit *unit, uint64_t end, uint64_t *next)
{
	cairn_dwarf_await(unit->dwarf, CAIRN_DWARF_INFO, unit->offset, end);
	struct cairn_cursor in = cairn_dwarf_cursor(unit->dwarf, unit->dwarf->sections[CAIRN_DWARF_INFO]);
	cairn_cursor_seek(&in, unit->offset);
	uint64_t length = cairn_cursor_u32(&in);
	if (length == UINT32_MAX) {
		length = cairn_cursor_u64(&in);
		unit->encoding.offset_size = 8;
	}
	if (in.failed || length == 0 || length > cairn_cursor_left(&in))
		return false;
	unit->end = *next = cairn_cursor_offset(&in) + length;
	in.end = in.at + length;
	read_header(unit, &in);
	return !in.failed && unit->encoding.version >= 2 && unit->encoding.version <= 5 &&
	       (unit->encoding.address_size == 8 || unit->encoding.address_size == 4);
}

bool cairn_unit_read(struct cairn_unit *unit, struct cairn_dwarf *dwarf, uint64_t offset, uint64_t *next)
{
	enum { longest_header = 40 };
	struct cairn_bytes info = dwarf->sections[CAIRN_DWARF_INFO];
	*next = 0;
	*unit = (struct cairn_unit){.dwarf = dwarf, .offset = offset, .encoding.offset_size = 4};
	if (offset >= info.length)
		return false;
	uint64_t end = info.length - offset < longest_header ? info.length : offset + longest_header;
	cairn_dwarf_hold(dwarf, CAIRN_DWARF_INFO, offset, end);
	bool good = read_start(unit, end, next);
	if (good)
		cairn_dwarf_hold(dwarf, CAIRN_DWARF_INFO, offset, unit->end);
	cairn_dwarf_release(dwarf, CAIRN_DWARF_INFO, offset, end);
	return good;
}

void cairn_unit_release(const struct cairn_unit *unit)
{
	cairn_dwarf_release(unit->dwarf, CAIRN_DWARF_INFO, unit->offset, unit->end);
}

/* Version 5: where a unit's tables start if the root does not say so, which is after the first header of each section. */
static void set_default_bases(struct cairn_unit *unit)
{
	if (unit->encoding.version < 5)
		return;
	bool wide = unit->encoding.offset_size == 8;
	unit->str_offsets_base = wide ? 16 : 8;
	unit->addr_base = wide ? 16 : 8;
	unit->rnglists_base = wide ? 20 : 12;
}

struct root_texts {
	struct cairn_form_value directory, dwo_name;
};

static bool is_c(uint64_t language)
{
	enum { c89 = 0x01, c = 0x02, c99 = 0x0c, c11 = 0x1d, c17 = 0x2c };
	return language == c89 || language == c || language == c99 || language == c11 || language == c17;
}

static void take_root_value(struct cairn_unit *unit, struct root_texts *texts, uint16_t attribute, struct cairn_form_value value)
{
	switch (attribute) {
	case DW_AT_low_pc:
		unit->low = value;
		break;
	case DW_AT_high_pc:
		unit->high = value;
		break;
	case DW_AT_ranges:
		unit->ranges = value;
		break;
	case DW_AT_stmt_list:
		unit->lines = value.number;
		unit->has_lines = true;
		break;
	case DW_AT_language:
		unit->is_c = is_c(value.number);
		unit->is_assembler = value.number == DW_LANG_assembler;
		unit->mangles = !unit->is_c && !unit->is_assembler && value.number != DW_LANG_Go;
		break;
	case DW_AT_comp_dir:
		texts->directory = value;
		break;
	case DW_AT_producer:
		unit->producer = value;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		texts->dwo_name = value;
		break;
	case DW_AT_GNU_dwo_id:
		unit->dwo_id = value.number;
		unit->has_dwo_id = true;
		break;
	case DW_AT_str_offsets_base:
		unit->str_offsets_base = value.number;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		unit->addr_base = value.number;
		break;
	case DW_AT_rnglists_base:
		unit->rnglists_base = value.number;
		break;
	case DW_AT_GNU_ranges_base:
		unit->ranges_base = value.number;
		break;
	default:
		break;
	}
}

bool cairn_unit_read_root(struct cairn_unit *unit, struct cairn_abbrev_cache *cache)
{
	cairn_dwarf_await(unit->dwarf, CAIRN_DWARF_INFO, unit->offset, unit->end);
	const struct cairn_abbrevs *table = cairn_abbrevs_at(
		cache, unit->dwarf->sections[CAIRN_DWARF_ABBREV], unit->abbrev_offset, unit->encoding);
	struct cairn_cursor in = cairn_unit_cursor(unit, unit->first_entry);
	const struct cairn_abbrev *abbrev = cairn_abbrevs_find(table, cairn_cursor_uleb(&in));
	if (!abbrev)
		return false;
	set_default_bases(unit);
	struct root_texts texts = {0};
	for (size_t i = 0; i < abbrev->step_count; i++) {
		const struct cairn_step *step = &table->steps[abbrev->first_step + i];
		if (step->attribute)
			take_root_value(unit, &texts, step->attribute, cairn_value_read(table, step, &in));
		else
			cairn_step_skip(step, unit->encoding, &in);
	}
	if (in.failed)
		return false;
	unit->tag = abbrev->tag;
	if (abbrev->tag == DW_TAG_partial_unit)
		unit->type = DW_UT_partial;
	unit->directory = cairn_unit_text(unit, &texts.directory);
	unit->dwo_name = cairn_unit_text(unit, &texts.dwo_name);
	if (!cairn_unit_address(unit, &unit->low, &unit->base))
		unit->base = 0;
	return true;
}

/* Reads the number at BASE + INDEX * SIZE of section NAME. */
static bool read_indexed(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section name, uint64_t base, uint64_t index, unsigned size,
	uint64_t *number)
{
	struct cairn_bytes section = dwarf->sections[name];
	if (base > section.length || index >= (section.length - base) / size)
		return false;
	struct cairn_cursor in = cairn_dwarf_cursor(dwarf, section);
	cairn_cursor_seek(&in, base + index * size);
	*number = cairn_cursor_sized(&in, size);
	return true;
}

const char *cairn_unit_text(const struct cairn_unit *unit, const struct cairn_form_value *value)
{
	uint64_t offset;
	switch (value->kind) {
	case CAIRN_FORM_TEXT:
		return strnlen(value->text, CAIRN_LONGEST_NAME) < CAIRN_LONGEST_NAME ? value->text : NULL;
	case CAIRN_FORM_STR:
		return cairn_dwarf_string(unit->dwarf, CAIRN_DWARF_STR, value->number);
	case CAIRN_FORM_LINE_STR:
		return cairn_dwarf_string(unit->dwarf, CAIRN_DWARF_LINE_STR, value->number);
	case CAIRN_FORM_ALT_STR:
		return unit->dwarf->alt ? cairn_dwarf_string(unit->dwarf->alt, CAIRN_DWARF_STR, value->number) : NULL;
	case CAIRN_FORM_STR_INDEX:
		if (!read_indexed(unit->dwarf, CAIRN_DWARF_STR_OFFSETS, unit->str_offsets_base, value->number,
				  unit->encoding.offset_size, &offset))
			return NULL;
		return cairn_dwarf_string(unit->dwarf, CAIRN_DWARF_STR, offset);
	default:
		return NULL;
	}
}

bool cairn_unit_address(const struct cairn_unit *unit, const struct cairn_form_value *value, uint64_t *address)
{
	if (value->kind == CAIRN_FORM_ADDRESS) {
		*address = value->number;
		return true;
	}
	if (value->kind != CAIRN_FORM_ADDRESS_INDEX)
		return false;
	const struct cairn_unit *owner = unit->skeleton ? unit->skeleton : unit;
	return read_indexed(owner->dwarf, CAIRN_DWARF_ADDR, owner->addr_base, value->number,
		unit->encoding.address_size, address);
}

struct cairn_units {
	struct cairn_dwarf *dwarf;
	pthread_mutex_t lock;
	struct cairn_unit **items; /* by offset */
	size_t count, capacity;
	uint64_t next; /* where the next unit starts; 0 if there are no more */
	bool started;
	struct cairn_arena arena;
	struct cairn_abbrev_cache cache;
};

struct cairn_units *cairn_units_new(struct cairn_dwarf *dwarf)
{
	struct cairn_units *units = calloc(1, sizeof *units);
	if (!units)
		cairn_out_of_memory(sizeof *units);
	units->dwarf = dwarf;
	pthread_mutex_init(&units->lock, NULL);
	return units;
}

void cairn_units_free(struct cairn_units *units)
{
	if (!units)
		return;
	pthread_mutex_destroy(&units->lock);
	cairn_abbrev_cache_free(&units->cache);
	cairn_arena_free(&units->arena);
	free(units->items);
	free(units);
}

/* Reads headers until one covers OFFSET, or there are no more. */
static void extend(struct cairn_units *units, uint64_t offset)
{
	while ((units->next || !units->started) && units->next <= offset) {
		struct cairn_unit unit;
		uint64_t next;
		bool good = cairn_unit_read(&unit, units->dwarf, units->next, &next);
		units->started = true;
		units->next = next;
		if (!good)
			continue;
		good = cairn_unit_read_root(&unit, &units->cache);
		cairn_unit_release(&unit);
		if (!good)
			continue;
		cairn_abbrev_cache_trim(&units->cache);
		struct cairn_unit *kept = cairn_arena_alloc(&units->arena, sizeof *kept);
		*kept = unit;
		cairn_array_room(units->items, units->count, units->capacity);
		units->items[units->count++] = kept;
	}
}

const struct cairn_unit *cairn_units_find(struct cairn_units *units, uint64_t offset)
{
	pthread_mutex_lock(&units->lock);
	extend(units, offset);
	size_t low = 0, high = units->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (units->items[middle]->end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	const struct cairn_unit *found = low < units->count && units->items[low]->offset <= offset ? units->items[low] : NULL;
	pthread_mutex_unlock(&units->lock);
	return found;
}
