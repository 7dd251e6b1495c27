/* object_file.c - the symbols that only the file of a loaded object has.
 *
 * Whoever installs a program may write over the file meanwhile, and reading a page that a mapped file has lost raises SIGBUS in the host.
 * So the file is read in pieces, into pages of our own, and nothing counts that was read after somebody changed it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/object.h"

#include "base/pages.h"
#include "base/peek.h"

#include <elf.h>
#include <errno.h>

enum { symbols_at_once = 1024, piece_size = 64 << 10, name_most = 2048, windows_count = 64 };

/* A window holds the names that begin in one part of name_most bytes of the string table, and as much again behind it. Linkers write the
 * names in the order of the symbols, or nearly so, and 64 windows are enough for that. */
struct window {
	uint64_t part; /* counted from 1; 0 for none */
	size_t length;
	char bytes[2 * name_most];
};

struct room {
	ElfW(Sym) symbols[symbols_at_once];
	struct window windows[windows_count];
	char piece[piece_size];
};

struct file {
	int descriptor;
	struct stat opened;
	struct room *room;
};

/* Reads all SIZE bytes at OFFSET, of the file as it was when it was opened. */
static bool read_at(const struct file *file, uint64_t offset, void *bytes, size_t size)
{
	struct stat now;
	uint64_t length = (uint64_t)file->opened.st_size;
	if (offset > length || size > length - offset)
		return false;
	for (size_t done = 0; done < size;) {
		ssize_t got = pread(file->descriptor, (char *)bytes + done, size - done, (off_t)(offset + done));
		if (got == 0 || (got < 0 && errno != EINTR))
			return false;
		done += got > 0 ? (size_t)got : 0;
	}
	return fstat(file->descriptor, &now) == 0 && now.st_size == file->opened.st_size &&
	       memcmp(&now.st_mtim, &file->opened.st_mtim, sizeof now.st_mtim) == 0 &&
	       memcmp(&now.st_ctim, &file->opened.st_ctim, sizeof now.st_ctim) == 0;
}

static bool holds(const struct file *file, uint64_t offset, const void *bytes, size_t length)
{
	for (size_t done = 0, size; done < length; done += size) {
		size = length - done < piece_size ? length - done : piece_size;
		if (!read_at(file, offset + done, file->room->piece, size) ||
		    memcmp(file->room->piece, (const char *)bytes + done, size) != 0)
			return false;
	}
	return true;
}

/* The file is the one that was loaded: same program headers, same build-id. A library that was upgraded on disk while the
 * process runs must not lend us its addresses. */
static bool is_same_file(const struct cairn_object *module, const struct file *file, const ElfW(Ehdr) *elf)
{
	if (elf->e_phnum != module->headers_count ||
	    !holds(file, elf->e_phoff, module->headers, module->headers_count * sizeof(ElfW(Phdr))))
		return false;
	for (size_t i = 0; i < module->headers_count; i++) {
		const ElfW(Phdr) *header = &module->headers[i];
		if (header->p_type == PT_NOTE &&
		    !holds(file, header->p_offset, (const void *)(module->bias + header->p_vaddr), header->p_filesz))
			return false;
	}
	return true;
}

/* Whether one of the names in TEXT ends in SUFFIX. Most programs do not have such a name, and one pass over the names says so. */
static bool has_name(const struct file *file, const ElfW(Shdr) *text, const char *suffix)
{
	char *piece = file->room->piece;
	size_t wanted = strlen(suffix) + 1, kept = 0;
	for (uint64_t at = 0, size; at < text->sh_size; at += size) {
		size = text->sh_size - at < piece_size - kept ? text->sh_size - at : piece_size - kept;
		if (!read_at(file, text->sh_offset + at, piece + kept, size))
			return false;
		if (memmem(piece, kept + size, suffix, wanted))
			return true;
		size_t filled = kept + size;
		kept = filled < wanted - 1 ? filled : wanted - 1;
		memmove(piece, piece + filled - kept, kept);
	}
	return false;
}

/* The name at OFFSET of TEXT, which lives until the next call; NULL if there is none. */
static const char *read_name(const struct file *file, const ElfW(Shdr) *text, uint64_t offset)
{
	uint64_t part = offset / name_most, start = part * name_most;
	struct window *window = &file->room->windows[part % windows_count];
	if (offset >= text->sh_size)
		return NULL;
	if (window->part != part + 1) {
		window->part = 0;
		window->length = text->sh_size - start < sizeof window->bytes ? text->sh_size - start : sizeof window->bytes;
		if (!read_at(file, text->sh_offset + start, window->bytes, window->length))
			return NULL;
		window->part = part + 1;
	}
	const char *name = window->bytes + (offset - start);
	return memchr(name, 0, window->length - (offset - start)) ? name : NULL;
}

static bool search_table(const struct cairn_object *module, const struct file *file, const ElfW(Shdr) *table, const ElfW(Shdr) *text,
			 const char *suffix, cairn_symbol_visitor *see, void *context)
{
	ElfW(Sym) *symbols = file->room->symbols;
	uint64_t count = table->sh_size / sizeof *symbols;
	for (int i = 0; i < windows_count; i++)
		file->room->windows[i].part = 0;
	for (uint64_t at = 0, some; at < count; at += some) {
		some = count - at < symbols_at_once ? count - at : symbols_at_once;
		if (!read_at(file, table->sh_offset + at * sizeof *symbols, symbols, some * sizeof *symbols))
			return false;
		for (uint64_t i = 0; i < some; i++) {
			if ((symbols[i].st_info & 15) != STT_FUNC || symbols[i].st_shndx == SHN_UNDEF)
				continue;
			const char *name = read_name(file, text, symbols[i].st_name);
			if (name && cairn_bytes_end_with(cairn_bytes_of(name), suffix) &&
			    see(context, module, name, module->bias + symbols[i].st_value))
				return true;
		}
	}
	return false;
}

static bool search_file(const struct cairn_object *module, const struct file *file, const char *suffix, cairn_symbol_visitor *see,
			void *context)
{
	ElfW(Ehdr) elf;
	ElfW(Shdr) table, text;
	if (!read_at(file, 0, &elf, sizeof elf) || elf.e_shentsize != sizeof table || !is_same_file(module, file, &elf))
		return false;
	for (size_t i = 0; i < elf.e_shnum; i++) {
		if (!read_at(file, elf.e_shoff + i * sizeof table, &table, sizeof table))
			return false;
		if (table.sh_type == SHT_SYMTAB && table.sh_link < elf.e_shnum &&
		    read_at(file, elf.e_shoff + table.sh_link * sizeof text, &text, sizeof text) && has_name(file, &text, suffix) &&
		    search_table(module, file, &table, &text, suffix, see, context))
			return true;
	}
	return false;
}

bool cairn_object_local(const struct cairn_object *module, const char *suffix, cairn_symbol_visitor *see, void *context)
{
	if (module->path[0] != '/') /* the vdso has a name and no file, and where another was when it was loaded is not known */
		return false;
	struct file file = {.descriptor = cairn_peek_open(module->path)};
	if (file.descriptor < 0)
		return false;
	bool found = false;
	file.room = cairn_pages_map(sizeof *file.room);
	if (file.room && fstat(file.descriptor, &file.opened) == 0)
		found = search_file(module, &file, suffix, see, context);
	cairn_pages_unmap(file.room, sizeof *file.room);
	close(file.descriptor);
	return found;
}
