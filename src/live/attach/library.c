/* library.c - finding symbols of the agent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/attach/library.h"

bool cairn_library_open(struct cairn_library *library, struct cairn_error *error)
{
	library->file = (struct cairn_file){0};
	if (!cairn_program_library("libcairn.so", library->path) && !cairn_program_library("libcairn.so.1", library->path))
		return cairn_fail(error, "libcairn.so is not beside the command");
	return cairn_file_map(&library->file, library->path, error);
}

void cairn_library_close(struct cairn_library *library)
{
	cairn_file_close(&library->file);
}

uint64_t cairn_library_symbol(const struct cairn_library *library, const struct cairn_subject *subject, const char *name)
{
	char theirs[1024];
	const struct cairn_subject_module *module = cairn_subject_find(subject, CAIRN_SUBJECT_AGENT);
	if (!module)
		return 0;
	struct cairn_subject_module own = *module;
	struct cairn_elf *elf = NULL;
	if (!own.elf && library->file.bytes.length > sizeof theirs &&
	    cairn_subject_read(subject, module->start, theirs, sizeof theirs) == sizeof theirs &&
	    memcmp(library->file.bytes.data, theirs, sizeof theirs) == 0)
		own.elf = elf = cairn_elf_open_bytes(library->file.bytes, library->path, NULL);
	if (elf && elf->segment_count)
		own.bias = module->start - elf->segments[0].address;
	uint64_t address = cairn_subject_symbol(&own, name);
	cairn_elf_close(elf);
	return address;
}
