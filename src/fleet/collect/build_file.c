/* build_file.c - classifies an ELF file by its headers and sections.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/build_file.h"

#include "symbol/elf.h"
#include "symbol/identity.h"

#include <elf.h>

static bool examine(struct cairn_build_file *file, const struct cairn_elf *elf, const char *name, struct cairn_error *error)
{
	if (elf->type != ET_EXEC && elf->type != ET_DYN)
		return cairn_fail(error, "%s: neither a program nor a library nor a debug file of one", name);
	if (!cairn_build_id_valid(elf->build_id))
		return cairn_fail(error, "%s: it has no build-id, so no profile could refer to it; link with -Wl,--build-id", name);
	memcpy(file->build_id, elf->build_id, sizeof file->build_id);
	for (size_t i = 0; i < elf->segment_count; i++)
		file->program = file->program || (elf->segments[i].executable && elf->segments[i].file_size > 0);
	file->detail = cairn_elf_has_dwarf(elf) ? CAIRN_BUILD_DWARF : cairn_elf_has_symtab(elf) ? CAIRN_BUILD_SYMBOLS : CAIRN_BUILD_CODE;
	file->size = elf->file.bytes.length;
	return file->program || file->detail > CAIRN_BUILD_CODE ||
	       cairn_fail(error, "%s: a debug file without debug information or symbols", name);
}

bool cairn_build_file_read(struct cairn_build_file *file, const char *path, const char *name, struct cairn_error *error)
{
	struct cairn_file bytes;
	*file = (struct cairn_build_file){0};
	if (!cairn_file_map(&bytes, path, error))
		return false;
	struct cairn_elf *elf = NULL;
	bool good = cairn_elf_is(bytes.bytes) || cairn_fail(error, "%s: not an ELF file", name);
	good = good && (elf = cairn_elf_open_bytes(bytes.bytes, name, error)) && examine(file, elf, name, error);
	if (elf)
		cairn_elf_close(elf);
	cairn_file_close(&bytes);
	return good;
}
