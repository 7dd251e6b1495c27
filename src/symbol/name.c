/* name.c - reads entries, and follows references to a name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/name.h"

#include "base/array.h"

#include <stdlib.h>

/* Real chains have at most three links; a longer one is circular. */
enum { longest_chain = 16 };

void cairn_debug_entry_read(
	struct cairn_debug_entry *entry, const struct cairn_abbrevs *table, const struct cairn_abbrev *abbrev, struct cairn_cursor *in)
{
	*entry = (struct cairn_debug_entry){0};
	for (uint32_t i = 0; i < abbrev->step_count; i++) {
		const struct cairn_step *step = &table->steps[abbrev->first_step + i];
		if (!step->attribute) {
			cairn_step_skip(step, table->encoding, in);
			continue;
		}
		struct cairn_form_value value = cairn_value_read(table, step, in);
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
			if (entry->origin.kind == CAIRN_FORM_NONE)
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
			entry->sibling =
				value.kind == CAIRN_FORM_UNIT_REFERENCE && value.number <= UINT32_MAX ? (uint32_t)value.number : 0;
			break;
		default:
			break;
		}
	}
}

/* Finds the entry that REFERENCE in *UNIT points to. *UNIT becomes the unit that contains it. */
static bool follow(const struct cairn_unit **unit, const struct cairn_form_value *reference, uint64_t *offset)
{
	struct cairn_dwarf *dwarf = (*unit)->dwarf;
	switch (reference->kind) {
	case CAIRN_FORM_UNIT_REFERENCE:
		*offset = (*unit)->offset + reference->number;
		return true;
	case CAIRN_FORM_ALT_REFERENCE:
		dwarf = dwarf->alt;
		break;
	case CAIRN_FORM_INFO_REFERENCE:
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

static bool read_at(struct cairn_names *names, const struct cairn_unit *unit, uint64_t offset, struct cairn_debug_entry *entry)
{
	struct cairn_cursor in = cairn_unit_cursor(unit, offset);
	const struct cairn_abbrevs *table = cairn_abbrevs_at(
		&names->abbrevs, unit->dwarf->sections[CAIRN_DWARF_ABBREV], unit->abbrev_offset, unit->encoding);
	const struct cairn_abbrev *abbrev = cairn_abbrevs_find(table, cairn_cursor_uleb(&in));
	if (!abbrev)
		return false;
	cairn_debug_entry_read(entry, table, abbrev, &in);
	return !in.failed && cairn_names_spend(names, cairn_cursor_offset(&in) - offset);
}

/* VALUE in UNIT as a text that outlives the unit. */
static const char *read_text(struct cairn_names *names, const struct cairn_unit *unit, const struct cairn_form_value *value)
{
	const char *text = cairn_unit_text(unit, value);
	return value->kind == CAIRN_FORM_TEXT ? cairn_dwarf_keep(unit->dwarf, CAIRN_DWARF_INFO, text, &names->texts) : text;
}

/* The name of ENTRY in the source. In strict DWARF 2, which has no range lists, GCC describes the cold part of a function as a function of
 * its own; with ranges it has the name of the whole. */
static const char *plain_name(struct cairn_names *names, const struct cairn_unit *unit, const struct cairn_debug_entry *entry)
{
	static const char second[] = "__second_sect_of_";
	const char *name = read_text(names, unit, &entry->name);
	bool is_second = name && unit->encoding.version == 2 && strncmp(name, second, sizeof second - 1) == 0;
	return is_second ? name + sizeof second - 1 : name;
}

/* Adds the names and line of ENTRY to FOUND. Returns true if the rest of the chain cannot have anything better. */
static bool take_name(struct cairn_names *names, struct cairn_found_name *found, const struct cairn_unit *unit,
	const struct cairn_debug_entry *entry)
{
	if (!found->line)
		found->line = entry->line;
	if (!found->linkage)
		found->linkage = read_text(names, unit, &entry->linkage_name);
	if (!found->plain && !unit->is_assembler)
		found->plain = plain_name(names, unit, entry);
	return unit->is_c ? found->plain != NULL : found->linkage != NULL;
}

/* Adds the names of the entry at OFFSET to FOUND. Returns true if the chain goes on, with *REFERENCE. An entry is hardly longer than its
 * names. */
static bool take_names_at(struct cairn_names *names, struct cairn_found_name *found, const struct cairn_unit *unit, uint64_t offset,
	struct cairn_form_value *reference)
{
	enum { longest_entry = 4 * CAIRN_LONGEST_NAME };
	struct cairn_debug_entry entry;
	uint64_t end = unit->end - offset < longest_entry ? unit->end : offset + longest_entry;
	cairn_dwarf_hold(unit->dwarf, CAIRN_DWARF_INFO, offset, end);
	cairn_dwarf_await(unit->dwarf, CAIRN_DWARF_INFO, offset, end);
	bool more = read_at(names, unit, offset, &entry) && !take_name(names, found, unit, &entry);
	cairn_dwarf_release(unit->dwarf, CAIRN_DWARF_INFO, offset, end);
	if (more)
		*reference = entry.origin;
	return more;
}

/* What the chain that starts with REFERENCE, in UNIT, says about the function. */
static struct cairn_found_name find_behind(struct cairn_names *names, const struct cairn_unit *unit, struct cairn_form_value reference)
{
	struct cairn_found_name found = {0};
	uint64_t offset;
	for (int i = 0; i < longest_chain && follow(&unit, &reference, &offset); i++)
		if (offset >= unit->end || !take_names_at(names, &found, unit, offset, &reference))
			break;
	return found;
}

/* Whether LINKAGE is PLAIN preceded by scopes, as Zig writes them in units that claim to be C. */
static bool is_qualified(const char *linkage, const char *plain)
{
	size_t whole = strlen(linkage), part = strlen(plain);
	return whole > part && linkage[whole - part - 1] == '.' && strcmp(linkage + whole - part, plain) == 0;
}

static struct cairn_name choose(const struct cairn_unit *unit, const struct cairn_found_name *found)
{
	bool mangled = found->linkage && (!found->plain || !unit->is_c || is_qualified(found->linkage, found->plain));
	return (struct cairn_name){mangled ? found->linkage : found->plain, found->line, mangled};
}

struct cairn_name cairn_names_of(struct cairn_names *names, const struct cairn_unit *unit, const struct cairn_debug_entry *entry)
{
	struct cairn_found_name found = {0};
	bool is_best = take_name(names, &found, unit, entry);
	if ((is_best && found.line) || entry->origin.kind == CAIRN_FORM_NONE)
		return choose(unit, &found);
	uint64_t place = entry->origin.number + (entry->origin.kind == CAIRN_FORM_UNIT_REFERENCE ? unit->offset : 0);
	uint64_t file = unit->dwarf->number * 2u + (entry->origin.kind == CAIRN_FORM_ALT_REFERENCE);
	uint32_t *known = cairn_map_at(&names->index, cairn_hash_mix(file) ^ place);
	if (*known == CAIRN_NONE) {
		*known = (uint32_t)names->count;
		cairn_array_room(names->items, names->count, names->capacity);
		names->items[names->count++] = find_behind(names, unit, entry->origin);
	}
	const struct cairn_found_name *behind = &names->items[*known];
	if (!found.line) /* gcc names each variant of a constructor, but gives the line of the declaration only once */
		found.line = behind->line;
	if (!is_best && !found.linkage)
		found.linkage = behind->linkage;
	if (!is_best && !found.plain)
		found.plain = behind->plain;
	return choose(unit, &found);
}

void cairn_names_free(struct cairn_names *names)
{
	cairn_abbrev_cache_free(&names->abbrevs);
	cairn_map_free(&names->index);
	cairn_arena_free(&names->texts);
	free(names->items);
	*names = (struct cairn_names){0};
}
