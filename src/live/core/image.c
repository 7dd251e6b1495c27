/* image.c - segments and symbols of the core's file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/core/image.h"

#include <assert.h>

extern const char cairn_core_file[]; /* scripts/embed makes them of what scripts/link-core links */
extern const unsigned long cairn_core_file_length;

static uint64_t hash(struct cairn_bytes bytes)
{
	uint64_t value = 0xcbf29ce484222325;
	for (size_t i = 0; i < bytes.length; i++)
		value = (value ^ (unsigned char)bytes.data[i]) * 0x100000001b3;
	return value;
}

bool cairn_core_image_open(struct cairn_core_image *image, struct cairn_error *error)
{
	struct cairn_bytes file = {cairn_core_file, cairn_core_file_length};
	*image = (struct cairn_core_image){.elf = cairn_elf_open_bytes(file, "the core", error), .build = hash(file)};
	if (!image->elf)
		return false;
	assert(image->elf->segment_count == 2 && image->elf->segments[0].executable && !image->elf->segments[1].executable);
	const struct cairn_elf_segment *data = &image->elf->segments[1];
	image->code_size = data->address;
	image->size = data->address + data->memory_size;
	return true;
}

void cairn_core_image_close(struct cairn_core_image *image)
{
	cairn_elf_close(image->elf);
	*image = (struct cairn_core_image){0};
}

uint64_t cairn_core_image_symbol(const struct cairn_core_image *image, const char *name, uint64_t *size)
{
	struct cairn_elf_symbols symbols = cairn_elf_symbols(image->elf, ".symtab");
	struct cairn_elf_symbol symbol;
	while (cairn_elf_symbols_next(&symbols, &symbol))
		if (strcmp(symbol.name, name) == 0) {
			if (size)
				*size = symbol.size;
			return symbol.address;
		}
	assert(!"the core has it");
	return 0;
}

bool cairn_core_image_piece(const struct cairn_core_image *image, size_t n, uint64_t *offset, struct cairn_bytes *bytes)
{
	if (n >= image->elf->segment_count)
		return false;
	const struct cairn_elf_segment *segment = &image->elf->segments[n];
	*offset = segment->address;
	*bytes = (struct cairn_bytes){cairn_core_file + segment->offset, segment->file_size};
	return true;
}
