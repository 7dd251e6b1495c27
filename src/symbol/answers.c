/* answers.c - reads a block in place, and builds one.
 *
 * Layout: the header, then addresses, probes, segments, the index of each address's first frame, frames, functions, end offsets of strings,
 * and the strings, each terminated. All numbers are little-endian, and the order keeps them aligned.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/answers.h"

#include "base/array.h"
#include "symbol/demangle.h"

#include <libdeflate.h>
#include <stdlib.h>

static const char magic[8] = "cairnsym";

struct header {
	char magic[8];
	uint32_t version;
	uint32_t checksum; /* CRC-32 of the whole block, computed with 0 in this field */
	uint64_t size;     /* of everything after the header */
	uint32_t address_count, probe_count, frame_count, function_count, string_count, string_size;
	uint32_t key, options, note, damaged;
	uint32_t segment_count, unused;
};

/* The number of bytes that follow a header with these counts. The counts have 32 bits each, so the sum cannot overflow. */
static uint64_t body_size(const struct header *header)
{
	return (uint64_t)header->address_count * 8 + (uint64_t)header->probe_count * sizeof(struct cairn_answer_probe) +
	       (uint64_t)header->segment_count * sizeof(struct cairn_answer_segment) +
	       ((uint64_t)header->address_count + 1) * 4 + (uint64_t)header->frame_count * sizeof(struct cairn_answer_frame) +
	       (uint64_t)header->function_count * sizeof(struct cairn_answer_function) + (uint64_t)header->string_count * 4 +
	       header->string_size;
}

static uint32_t checksum(struct header header, const char *body, size_t length)
{
	header.checksum = 0;
	return libdeflate_crc32(libdeflate_crc32(0, &header, sizeof header), body, length);
}

static bool strings_are_whole(const struct cairn_answers *answers, uint32_t size)
{
	uint32_t end = 0;
	for (size_t i = 0; i < answers->string_count; i++) {
		if (answers->string_ends[i] <= end || answers->string_ends[i] > size || answers->string_bytes[answers->string_ends[i] - 1])
			return false;
		end = answers->string_ends[i];
	}
	return true;
}

static bool numbers_are_whole(const struct cairn_answers *answers, const struct header *header)
{
	bool good = header->key <= header->string_count && header->options <= header->string_count && header->note <= header->string_count;
	for (size_t i = 0; good && i < header->probe_count; i++)
		good = answers->probes[i].path <= header->string_count;
	for (size_t i = 0; good && i < header->function_count; i++) {
		const struct cairn_answer_function *function = &answers->functions[i];
		good = function->name <= header->string_count && function->system_name <= header->string_count &&
		       function->file <= header->string_count;
	}
	for (size_t i = 0; good && i < header->frame_count; i++)
		good = answers->frames[i].function < header->function_count;
	for (size_t i = 0; good && i < header->address_count; i++)
		good = answers->first[i] <= answers->first[i + 1] && (i == 0 || answers->addresses[i - 1] < answers->addresses[i]);
	return good && answers->first[header->address_count] <= header->frame_count;
}

bool cairn_answers_parse(struct cairn_answers *answers, struct cairn_bytes block)
{
	struct header header;
	if (block.length < sizeof header || (uintptr_t)block.data % 8 != 0)
		return false;
	memcpy(&header, block.data, sizeof header);
	const char *at = block.data + sizeof header;
	size_t length = block.length - sizeof header;
	if (memcmp(header.magic, magic, sizeof magic) != 0 || header.version != CAIRN_ANSWERS_VERSION || header.size != length ||
	    header.segment_count > CAIRN_SEGMENTS_MOST ||
	    body_size(&header) != length || checksum(header, at, length) != header.checksum)
		return false;
	*answers = (struct cairn_answers){.address_count = header.address_count,
					  .function_count = header.function_count,
					  .string_count = header.string_count,
					  .probe_count = header.probe_count,
					  .segment_count = header.segment_count,
					  .key = header.key,
					  .options = header.options,
					  .note = header.note,
					  .damaged = header.damaged != 0};
	answers->addresses = (const void *)at;
	answers->probes = (const void *)(answers->addresses + header.address_count);
	answers->segments = (const void *)(answers->probes + header.probe_count);
	answers->first = (const void *)(answers->segments + header.segment_count);
	answers->frames = (const void *)(answers->first + header.address_count + 1);
	answers->functions = (const void *)(answers->frames + header.frame_count);
	answers->string_ends = (const void *)(answers->functions + header.function_count);
	answers->string_bytes = (const void *)(answers->string_ends + header.string_count);
	return strings_are_whole(answers, header.string_size) && numbers_are_whole(answers, &header);
}

uint32_t cairn_answers_find(const struct cairn_answers *answers, uint64_t address)
{
	size_t low = 0, high = answers->address_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (answers->addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < answers->address_count && answers->addresses[low] == address ? (uint32_t)low : CAIRN_NONE;
}

/* Most equal strings come from the reader as the same pointer, so strings are first looked up by pointer: hashing all of them would take
 * longer than the rest. */
static uint32_t add_text(struct cairn_answers_builder *builder, const char *text)
{
	if (!text)
		return 0;
	uint32_t *id = cairn_map_at(&builder->known_texts, (uintptr_t)text);
	if (*id == CAIRN_NONE)
		*id = cairn_strings_add_text(&builder->strings, text);
	return *id;
}

static uint32_t add_demangled(struct cairn_answers_builder *builder, uint32_t mangled)
{
	uint32_t *id = cairn_map_at(&builder->demangled, mangled);
	if (*id == CAIRN_NONE) {
		const char *name = cairn_demangle(&builder->strings.arena, cairn_strings_text(&builder->strings, mangled));
		*id = name ? cairn_strings_add_text(&builder->strings, name) : mangled;
	}
	return *id;
}

/* A function that the linker never saw has only its name in the source, and no linkage name. The part before its template arguments serves
 * as one: because the two names differ, readers can tell that the name is complete and can be shortened. */
static uint32_t add_plain(struct cairn_answers_builder *builder, uint32_t name)
{
	struct cairn_bytes text = cairn_strings_bytes(&builder->strings, name);
	size_t length = strcspn(text.data, "<");
	return length > 0 && length < text.length ? cairn_strings_add(&builder->strings, (struct cairn_bytes){text.data, length}) : name;
}

static uint32_t add_function(struct cairn_answers_builder *builder, const struct cairn_answer_function *function)
{
	uint64_t hash = cairn_hash_bytes(function, sizeof *function);
	size_t position = 0;
	uint32_t id;
	while ((id = cairn_index_next(&builder->function_index, hash, &position)) != CAIRN_NONE)
		if (memcmp(&builder->functions[id], function, sizeof *function) == 0)
			return id;
	cairn_array_room(builder->functions, builder->function_count, builder->function_capacity);
	id = (uint32_t)builder->function_count++;
	builder->functions[id] = *function;
	cairn_index_add(&builder->function_index, hash, id);
	return id;
}

static void add_entry(struct cairn_answers_builder *builder, uint64_t address, uint32_t count)
{
	cairn_array_room(builder->entries, builder->entry_count, builder->entry_capacity);
	builder->entries[builder->entry_count++] = (struct answer_entry){address, (uint32_t)builder->frame_count, count};
	builder->frames =
		cairn_array_reserve(builder->frames, &builder->frame_capacity, builder->frame_count + count, sizeof *builder->frames);
}

void cairn_answers_add(struct cairn_answers_builder *builder, uint64_t address, const struct cairn_symbol *symbol)
{
	add_entry(builder, address, symbol->count);
	for (uint32_t i = 0; i < symbol->count; i++) {
		const struct cairn_symbol_frame *frame = &symbol->frames[i];
		uint32_t found = add_text(builder, frame->function);
		struct cairn_answer_function function = {.name = frame->mangled ? add_demangled(builder, found) : found,
							 .system_name = frame->mangled ? found : add_plain(builder, found),
							 .file = add_text(builder, frame->file), .start_line = frame->function_line};
		builder->frames[builder->frame_count++] =
			(struct cairn_answer_frame){add_function(builder, &function), frame->line, frame->column};
	}
}

void cairn_answers_add_all(struct cairn_answers_builder *builder, const struct cairn_answers *older)
{
	uint32_t *strings = calloc(older->string_count + 1, sizeof *strings);
	uint32_t *functions = calloc(older->function_count + 1, sizeof *functions);
	if (!strings || !functions)
		cairn_out_of_memory((older->string_count + older->function_count) * sizeof *strings);
	for (uint32_t i = 1; i <= older->string_count; i++)
		strings[i] = cairn_strings_add(&builder->strings, cairn_answers_string(older, i));
	for (size_t i = 0; i < older->function_count; i++) {
		struct cairn_answer_function function = older->functions[i];
		function.name = strings[function.name];
		function.system_name = strings[function.system_name];
		function.file = strings[function.file];
		functions[i] = add_function(builder, &function);
	}
	for (size_t i = 0; i < older->address_count; i++) {
		add_entry(builder, older->addresses[i], older->first[i + 1] - older->first[i]);
		for (uint32_t f = older->first[i]; f < older->first[i + 1]; f++) {
			struct cairn_answer_frame frame = older->frames[f];
			frame.function = functions[frame.function];
			builder->frames[builder->frame_count++] = frame;
		}
	}
	free(strings);
	free(functions);
}

static int by_address(const void *a, const void *b)
{
	const struct answer_entry *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static void write_segments(const struct cairn_answers_origin *origin, struct cairn_buffer *out)
{
	for (size_t i = 0; i < origin->segment_count; i++) {
		const struct cairn_elf_segment *segment = &origin->segments[i];
		struct cairn_answer_segment written = {segment->offset, segment->address, segment->file_size};
		cairn_buffer_append(out, &written, sizeof written);
	}
}

static void write_entries(const struct cairn_answers_builder *builder, const struct cairn_answers_origin *origin,
			  const struct cairn_answer_probe *probes, struct cairn_buffer *out)
{
	uint32_t first = 0;
	for (size_t i = 0; i < builder->entry_count; i++)
		cairn_buffer_append(out, &builder->entries[i].address, 8);
	cairn_buffer_append(out, probes, origin->probe_count * sizeof *probes);
	write_segments(origin, out);
	for (size_t i = 0; i < builder->entry_count; i++) {
		cairn_buffer_append(out, &first, 4);
		first += builder->entries[i].count;
	}
	cairn_buffer_append(out, &first, 4);
	for (size_t i = 0; i < builder->entry_count; i++)
		if (builder->entries[i].count)
			cairn_buffer_append(out, builder->frames + builder->entries[i].first,
					    builder->entries[i].count * sizeof *builder->frames);
	cairn_buffer_append(out, builder->functions, builder->function_count * sizeof *builder->functions);
}

static void write_strings(const struct cairn_strings *strings, struct cairn_buffer *out)
{
	uint32_t end = 0;
	for (size_t i = 0; i < strings->count; i++) {
		end += (uint32_t)strings->items[i].length + 1;
		cairn_buffer_append(out, &end, 4);
	}
	for (size_t i = 0; i < strings->count; i++)
		cairn_buffer_append(out, strings->items[i].data, strings->items[i].length + 1);
}

bool cairn_answers_write(struct cairn_answers_builder *builder, const struct cairn_answers_origin *origin, struct cairn_buffer *out)
{
	struct cairn_strings *strings = &builder->strings;
	struct header header = {.version = CAIRN_ANSWERS_VERSION};
	memcpy(header.magic, magic, sizeof magic);
	header.key = cairn_strings_add_text(strings, origin->key);
	header.options = cairn_strings_add_text(strings, origin->options);
	header.note = cairn_strings_add_text(strings, origin->note ? origin->note : "");
	header.damaged = origin->damaged;
	struct cairn_answer_probe *probes = cairn_arena_zero(&strings->arena, origin->probe_count, sizeof *probes);
	for (size_t i = 0; i < origin->probe_count; i++)
		probes[i] = (struct cairn_answer_probe){origin->probes[i].size, origin->probes[i].inode, origin->probes[i].modified_ns,
							cairn_strings_add_text(strings, origin->probes[i].path), 0};
	uint64_t string_size = 0;
	for (size_t i = 0; i < strings->count; i++)
		string_size += strings->items[i].length + 1;
	if (string_size > UINT32_MAX || builder->entry_count >= UINT32_MAX || builder->frame_count > UINT32_MAX)
		return false;
	header.address_count = (uint32_t)builder->entry_count;
	header.probe_count = (uint32_t)origin->probe_count;
	header.segment_count = (uint32_t)origin->segment_count;
	header.frame_count = (uint32_t)builder->frame_count;
	header.function_count = (uint32_t)builder->function_count;
	header.string_count = (uint32_t)strings->count;
	header.string_size = (uint32_t)string_size;
	header.size = body_size(&header);
	if (!cairn_buffer_room(out, sizeof header + header.size))
		return false;
	if (builder->entry_count)
		qsort(builder->entries, builder->entry_count, sizeof *builder->entries, by_address);
	cairn_buffer_append(out, &header, sizeof header);
	write_entries(builder, origin, probes, out);
	write_strings(strings, out);
	header.checksum = checksum(header, out->data + sizeof header, out->length - sizeof header);
	memcpy(out->data, &header, sizeof header);
	return !out->failed;
}

void cairn_answers_builder_free(struct cairn_answers_builder *builder)
{
	cairn_strings_free(&builder->strings);
	cairn_map_free(&builder->known_texts);
	cairn_map_free(&builder->demangled);
	cairn_index_free(&builder->function_index);
	free(builder->functions);
	free(builder->frames);
	free(builder->entries);
	*builder = (struct cairn_answers_builder){0};
}
