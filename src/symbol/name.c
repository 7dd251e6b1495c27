/* name.c - reading entries, and following references to a name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/name.h"

#include "base/array.h"

#include <stdlib.h>

/* Real chains have three links at most; one that goes on is a circle. */
enum { longest_chain = 16 };

void cairn_entry_read(
	struct cairn_entry *entry, const struct cairn_abbrevs *table, const struct cairn_abbrev *abbrev, struct cairn_cursor *in)
{
	*entry = (struct cairn_entry){0};
	for (uint32_t i = 0; i < abbrev->step_count; i++) {
		const struct cairn_step *step = &table->steps[abbrev->first_step + i];
		if (!step->attribute) {
			cairn_step_skip(step, table->encoding, in);
			continue;
		}
		struct cairn_value value = cairn_value_read(table, step, in);
		switch (step->attribute) {
		case DW_AT_low_pc:
			entry->low = value;
			break;
		case DW_AT_high_pc:
			entry->high = value;
			break;
		case DW_AT_ranges:
			entry->ranges = value;
			break;
		case DW_AT_name:
			entry->name = value;
			break;
		case DW_AT_linkage_name:
		case DW_AT_MIPS_linkage_name:
			entry->linkage_name = value;
			break;
		case DW_AT_abstract_origin:
			entry->origin = value;
			break;
		case DW_AT_specification:
			if (entry->origin.kind == CAIRN_VALUE_NONE)
				entry->origin = value;
			break;
		case DW_AT_call_file:
			entry->call_file = value.number;
			break;
		case DW_AT_call_line:
			entry->call_line = (uint32_t)value.number;
			break;
		case DW_AT_call_column:
			entry->call_column = (uint32_t)value.number;
			break;
		case DW_AT_decl_line:
			entry->line = (uint32_t)value.number;
			break;
		case DW_AT_sibling:
			entry->sibling = value.kind == CAIRN_VALUE_UNIT_REFERENCE && value.number <= UINT32_MAX ? (uint32_t)value.number : 0;
			break;
		default:
			break;
		}
	}
}

/* Where REFERENCE, in *UNIT, leads: *UNIT becomes the unit it is in. */
static bool follow(const struct cairn_unit **unit, const struct cairn_value *reference, uint64_t *offset)
{
	struct cairn_dwarf *dwarf = (*unit)->dwarf;
	switch (reference->kind) {
	case CAIRN_VALUE_UNIT_REFERENCE:
		*offset = (*unit)->offset + reference->number;
		return true;
	case CAIRN_VALUE_ALT_REFERENCE:
		dwarf = dwarf->alt;
		break;
	case CAIRN_VALUE_INFO_REFERENCE:
		if (reference->number >= (*unit)->first_entry && reference->number < (*unit)->end) {
			*offset = reference->number;
			return true;
		}
		break;
	default:
		return false;
	}
	*offset = reference->number;
	*unit = dwarf && dwarf->units ? cairn_units_find(dwarf->units, *offset) : NULL;
	return *unit != NULL;
}

static bool read_at(struct cairn_names *names, const struct cairn_unit *unit, uint64_t offset, struct cairn_entry *entry)
{
	struct cairn_cursor in = cairn_unit_cursor(unit, offset);
	const struct cairn_abbrevs *table = cairn_abbrevs_at(
		&names->abbrevs, unit->dwarf->sections[CAIRN_DWARF_ABBREV], unit->abbrev_offset, unit->encoding);
	const struct cairn_abbrev *abbrev = cairn_abbrevs_find(table, cairn_cursor_uleb(&in));
	if (!abbrev)
		return false;
	cairn_entry_read(entry, table, abbrev, &in);
	return !in.failed && cairn_names_spend(names, cairn_cursor_offset(&in) - offset);
}

/* Adds to NAME what ENTRY says; true when there is nothing better to be found further on. */
static bool take_name(struct cairn_name *name, const struct cairn_unit *unit, const struct cairn_entry *entry)
{
	if (!name->line)
		name->line = entry->line;
	const char *linkage = cairn_unit_text(unit, &entry->linkage_name), *plain = cairn_unit_text(unit, &entry->name);
	if (linkage && !(plain && unit->is_c)) {
		name->text = linkage;
		name->mangled = true;
		return true;
	}
	if (!name->text && !unit->is_assembler)
		name->text = plain;
	return false;
}

/* The name found from REFERENCE on, which is in UNIT. */
static struct cairn_name name_behind(struct cairn_names *names, const struct cairn_unit *unit, struct cairn_value reference)
{
	struct cairn_name name = {0};
	struct cairn_entry entry;
	uint64_t offset;
	for (int i = 0; i < longest_chain && follow(&unit, &reference, &offset); i++) {
		if (!read_at(names, unit, offset, &entry) || take_name(&name, unit, &entry))
			break;
		reference = entry.origin;
	}
	return name;
}

struct cairn_name cairn_names_of(struct cairn_names *names, const struct cairn_unit *unit, const struct cairn_entry *entry)
{
	struct cairn_name name = {0};
	bool is_best = take_name(&name, unit, entry);
	if ((is_best && name.line) || entry->origin.kind == CAIRN_VALUE_NONE)
		return name;
	uint64_t place = entry->origin.number + (entry->origin.kind == CAIRN_VALUE_UNIT_REFERENCE ? unit->offset : 0);
	uint64_t file = unit->dwarf->number * 2u + (entry->origin.kind == CAIRN_VALUE_ALT_REFERENCE);
	uint32_t *known = cairn_map_at(&names->index, cairn_hash_mix(file) ^ place);
	if (*known == CAIRN_NONE) {
		*known = (uint32_t)names->count;
		cairn_array_room(names->items, names->count, names->capacity);
		names->items[names->count++] = name_behind(names, unit, entry->origin);
	}
	const struct cairn_name *behind = &names->items[*known];
	if (is_best) /* gcc names each kind of a constructor, and says where it is declared once for all */
		name.line = behind->line;
	else if (behind->mangled || !name.text)
		name = (struct cairn_name){behind->text, name.line ? name.line : behind->line, behind->mangled};
	return name;
}

void cairn_names_free(struct cairn_names *names)
{
	cairn_abbrev_cache_free(&names->abbrevs);
	cairn_map_free(&names->index);
	free(names->items);
	*names = (struct cairn_names){0};
}
