/* elf.c - the ELF reader. Follows the System V gABI, chapter 4 (headers, sections, compressed sections, symbols) and
 * chapter 5 (program headers).
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/elf.h"

#include "base/array.h"
#include "base/cursor.h"
#include "base/inflate.h"
#include "symbol/identity.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

bool cairn_elf_is(struct cairn_bytes bytes)
{
	return cairn_bytes_start_with(bytes, ELFMAG);
}

/* LENGTH bytes at OFFSET of the file; empty if the file ends before that. */
static struct cairn_bytes slice(const struct cairn_elf *elf, uint64_t offset, uint64_t length)
{
	struct cairn_bytes whole = elf->file.bytes;
	if (offset > whole.length || length > whole.length - offset)
		return (struct cairn_bytes){"", 0};
	return (struct cairn_bytes){whole.data + offset, (size_t)length};
}

/* The string table up to its last terminator, so that every string in it is terminated. */
static struct cairn_bytes string_table(struct cairn_bytes table)
{
	table.length = table.length < UINT32_MAX ? table.length : UINT32_MAX; /* names are found by 32 bits */
	const char *last = table.length ? memrchr(table.data, 0, table.length) : NULL;
	return (struct cairn_bytes){table.data, last ? (size_t)(last - table.data) + 1 : 0};
}

static const char *string_at(struct cairn_bytes table, uint64_t offset)
{
	return offset < table.length ? table.data + offset : "";
}

static void read_build_id(struct cairn_elf *elf, struct cairn_bytes notes)
{
	if (!elf->build_id[0])
		cairn_build_id_find(elf->layout, notes, elf->build_id);
}

static bool read_segments(struct cairn_elf *elf, const Elf64_Ehdr *header, struct cairn_error *error)
{
	size_t size = cairn_layout_segment_size(elf->layout);
	struct cairn_bytes table = slice(elf, header->e_phoff, (uint64_t)header->e_phnum * size);
	if (header->e_phnum && (table.length == 0 || header->e_phentsize != size))
		return cairn_fail(error, "%s: its program headers lie outside the file", elf->path);
	elf->segments = cairn_array_zero(header->e_phnum + 1u, sizeof *elf->segments);
	for (size_t i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr entry;
		cairn_layout_segment(elf->layout, table.data + i * size, &entry);
		if (entry.p_type == PT_LOAD)
			elf->segments[elf->segment_count++] = (struct cairn_elf_segment){
				entry.p_offset, entry.p_vaddr, entry.p_filesz, entry.p_memsz, (entry.p_flags & PF_X) != 0, entry.p_align};
		else if (entry.p_type == PT_NOTE)
			read_build_id(elf, slice(elf, entry.p_offset, entry.p_filesz));
	}
	return true;
}

/* The older form of compression: the section is named .zdebug_… and starts with "ZLIB" and the size, big-endian. */
static void prepare_zdebug(const struct cairn_elf *elf, struct cairn_elf_section *section)
{
	if (section->bytes.length < 12 || !cairn_bytes_start_with(section->bytes, "ZLIB"))
		return;
	uint64_t size;
	memcpy(&size, section->bytes.data + 4, sizeof size);
	section->inflate = cairn_inflate_new(
		cairn_bytes_skip(section->bytes, 12), elf->file.guard != NULL, CAIRN_INFLATE_ZLIB, __builtin_bswap64(size));
	if (!section->inflate)
		section->bytes.length = 0;
}

static void prepare_compressed(const struct cairn_elf *elf, struct cairn_elf_section *section)
{
	Elf64_Chdr header = {0};
	size_t size = cairn_layout_compression_size(elf->layout);
	if (section->bytes.length >= size)
		cairn_layout_compression(elf->layout, section->bytes.data, &header);
	struct cairn_bytes packed = cairn_bytes_skip(section->bytes, size);
	enum { compressed_by_zstd = 2 }; /* ELFCOMPRESS_ZSTD, which is missing from older headers */
	if (header.ch_type == ELFCOMPRESS_ZLIB)
		section->inflate = cairn_inflate_new(packed, elf->file.guard != NULL, CAIRN_INFLATE_ZLIB, header.ch_size);
	else if (header.ch_type == compressed_by_zstd)
		section->inflate = cairn_inflate_new(packed, elf->file.guard != NULL, CAIRN_INFLATE_ZSTD, header.ch_size);
	if (!section->inflate)
		section->bytes.length = 0;
}

static void read_section(struct cairn_elf *elf, const Elf64_Shdr *entry, struct cairn_bytes names, struct cairn_elf_section *section)
{
	*section = (struct cairn_elf_section){
		.name = string_at(names, entry->sh_name),
		.type = entry->sh_type,
		.link = entry->sh_link,
		.info = entry->sh_info,
		.flags = entry->sh_flags,
		.address = entry->sh_addr,
		.size = entry->sh_size,
		.bytes = {"", 0},
	};
	if (entry->sh_type != SHT_NOBITS && entry->sh_type != SHT_NULL)
		section->bytes = slice(elf, entry->sh_offset, entry->sh_size);
	if (entry->sh_type == SHT_NOTE)
		read_build_id(elf, section->bytes);
	if (section->bytes.length == 0)
		return;
	if (entry->sh_flags & SHF_COMPRESSED)
		prepare_compressed(elf, section);
	else if (strncmp(section->name, ".zdebug_", 8) == 0)
		prepare_zdebug(elf, section);
}

/* More than any linker writes: a file may claim one for each 64 bytes it has, and each is a few hundred bytes of memory here. */
enum { most_sections = 1 << 20 };

static bool read_sections(struct cairn_elf *elf, const Elf64_Ehdr *header, struct cairn_error *error)
{
	if (header->e_shoff == 0)
		return true;
	Elf64_Shdr entry;
	size_t size = cairn_layout_section_size(elf->layout);
	struct cairn_bytes first = slice(elf, header->e_shoff, size);
	if (first.length == 0 || header->e_shentsize != size)
		return cairn_fail(error, "%s: its section headers lie outside the file; is it cut short?", elf->path);
	cairn_layout_section(elf->layout, first.data, &entry);
	uint64_t count = header->e_shnum ? header->e_shnum : entry.sh_size;
	uint64_t names_index = header->e_shstrndx == SHN_XINDEX ? entry.sh_link : header->e_shstrndx;
	struct cairn_bytes table = {"", 0};
	if (count <= elf->file.bytes.length / size && count <= most_sections)
		table = slice(elf, header->e_shoff, count * size);
	if (table.length == 0)
		return cairn_fail(error, "%s: its section headers lie outside the file; is it cut short?", elf->path);
	struct cairn_bytes names = {"", 0};
	if (names_index < count) {
		cairn_layout_section(elf->layout, table.data + names_index * size, &entry);
		names = string_table(slice(elf, entry.sh_offset, entry.sh_size));
	}
	elf->sections = cairn_array_zero((size_t)count, sizeof *elf->sections);
	elf->section_count = (size_t)count;
	for (size_t i = 0; i < elf->section_count; i++) {
		cairn_layout_section(elf->layout, table.data + i * size, &entry);
		read_section(elf, &entry, names, &elf->sections[i]);
	}
	return true;
}

static bool read_all(struct cairn_elf *elf, struct cairn_error *error)
{
	struct cairn_bytes bytes = elf->file.bytes;
	Elf64_Ehdr header;
	if (!cairn_elf_is(bytes) || bytes.length < EI_NIDENT)
		return cairn_fail(error, "%s: not an ELF file", elf->path);
	if (!cairn_layout_of(bytes, &elf->layout))
		return cairn_fail(error, "%s: an ELF file of an unknown class or byte order", elf->path);
	if (bytes.length < cairn_layout_header_size(elf->layout))
		return cairn_fail(error, "%s: cut short in the ELF header", elf->path);
	cairn_layout_header(elf->layout, bytes.data, &header);
	elf->machine = header.e_machine;
	elf->type = header.e_type;
	return read_segments(elf, &header, error) && read_sections(elf, &header, error);
}

static struct cairn_elf *new_elf(const char *path)
{
	struct cairn_elf *elf = calloc(1, sizeof *elf);
	if (elf)
		elf->path = strdup(path);
	if (!elf || !elf->path)
		cairn_out_of_memory(sizeof *elf);
	return elf;
}

struct cairn_elf *cairn_elf_open(const char *path, struct cairn_error *error)
{
	struct cairn_elf *elf = new_elf(path);
	elf->owns_file = true;
	if (cairn_file_map(&elf->file, path, error) && read_all(elf, error))
		return elf;
	cairn_elf_close(elf);
	return NULL;
}

struct cairn_elf *cairn_elf_open_bytes(struct cairn_bytes bytes, const char *name, struct cairn_error *error)
{
	struct cairn_elf *elf = new_elf(name);
	elf->file.bytes = bytes;
	if (read_all(elf, error))
		return elf;
	cairn_elf_close(elf);
	return NULL;
}

void cairn_elf_close(struct cairn_elf *elf)
{
	if (!elf)
		return;
	for (size_t i = 0; i < elf->section_count; i++) {
		cairn_inflate_free(elf->sections[i].inflate);
		free(elf->sections[i].relocated);
	}
	if (elf->owns_file)
		cairn_file_close(&elf->file);
	free(elf->sections);
	free(elf->segments);
	free(elf->path);
	free(elf);
}

bool cairn_elf_address_of(const struct cairn_elf *elf, uint64_t offset, uint64_t *address)
{
	const struct cairn_elf_segment *best = NULL;
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct cairn_elf_segment *segment = &elf->segments[i];
		if (offset >= segment->offset && offset - segment->offset < segment->file_size && (!best || segment->executable))
			best = segment;
	}
	if (best)
		*address = best->address + (offset - best->offset);
	return best != NULL;
}

bool cairn_elf_offset_of(const struct cairn_elf *elf, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct cairn_elf_segment *segment = &elf->segments[i];
		if (address >= segment->address && address - segment->address < segment->file_size) {
			*offset = segment->offset + (address - segment->address);
			return true;
		}
	}
	return false;
}

bool cairn_elf_is_code(const struct cairn_elf *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->segment_count; i++) {
		const struct cairn_elf_segment *segment = &elf->segments[i];
		if (segment->executable && address >= segment->address && address - segment->address < segment->memory_size)
			return true;
	}
	for (size_t i = 0; elf->segment_count == 0 && i < elf->section_count; i++) {
		const struct cairn_elf_section *section = &elf->sections[i];
		if ((section->flags & SHF_EXECINSTR) && address >= section->address && address - section->address < section->size)
			return true;
	}
	return false;
}

struct cairn_elf_section *cairn_elf_section(const struct cairn_elf *elf, const char *name)
{
	static const char debug[] = ".debug_", packed_debug[] = ".zdebug_";
	bool is_debug = strncmp(name, debug, strlen(debug)) == 0;
	for (size_t i = 0; i < elf->section_count; i++) {
		const char *other = elf->sections[i].name;
		if (strcmp(other, name) == 0 || (is_debug && strncmp(other, packed_debug, strlen(packed_debug)) == 0 &&
						 strcmp(other + strlen(packed_debug), name + strlen(debug)) == 0))
			return &elf->sections[i];
	}
	return NULL;
}

static struct cairn_bytes contents(struct cairn_elf_section *section)
{
	if (!section)
		return (struct cairn_bytes){"", 0};
	if (!section->inflate)
		return section->bytes;
	struct cairn_bytes bytes = cairn_inflate_bytes(section->inflate);
	return cairn_inflate_wait(section->inflate, 0, bytes.length) ? bytes : (struct cairn_bytes){"", 0};
}

struct cairn_bytes cairn_elf_named(const struct cairn_elf *elf, const char *name)
{
	return contents(cairn_elf_section(elf, name));
}

/* Both link sections start with a terminated file name. */
static const char *link_name(struct cairn_bytes link)
{
	return link.length && memchr(link.data, 0, link.length) && link.data[0] ? link.data : NULL;
}

bool cairn_elf_debuglink(const struct cairn_elf *elf, const char **name, uint32_t *crc)
{
	struct cairn_bytes link = cairn_elf_named(elf, ".gnu_debuglink");
	*name = link_name(link);
	if (!*name)
		return false;
	size_t at = (strlen(*name) + 1 + 3) & ~(size_t)3;
	if (link.length < at + sizeof *crc)
		return false;
	struct cairn_cursor in = cairn_layout_cursor(elf->layout, cairn_bytes_skip(link, at));
	*crc = cairn_cursor_u32(&in);
	return true;
}

/* Writes ID in hex. Returns false if it is empty or too long for a build-id. */
static bool write_build_id(struct cairn_bytes id, char *build_id)
{
	if (id.length == 0 || id.length > 64)
		return false;
	for (size_t i = 0; i < id.length; i++)
		snprintf(build_id + 2 * i, 3, "%02x", (unsigned char)id.data[i]);
	return true;
}

/* DWARF 5, 7.3.6: version, whether this is the shared file itself, the name of the shared file, and its identifier. */
static bool read_supplement(const struct cairn_elf *elf, bool is_shared, const char **name, char *build_id)
{
	struct cairn_cursor in = cairn_layout_cursor(elf->layout, cairn_elf_named(elf, ".debug_sup"));
	uint16_t version = cairn_cursor_u16(&in);
	uint8_t shared = cairn_cursor_u8(&in);
	*name = cairn_cursor_text(&in).data;
	struct cairn_bytes id = cairn_cursor_bytes(&in, cairn_cursor_uleb(&in));
	return !in.failed && version == 5 && shared == is_shared && write_build_id(id, build_id);
}

bool cairn_elf_altlink(const struct cairn_elf *elf, const char **name, char *build_id)
{
	struct cairn_bytes link = cairn_elf_named(elf, ".gnu_debugaltlink");
	*name = link_name(link);
	if (!*name)
		return read_supplement(elf, false, name, build_id) && **name;
	return write_build_id(cairn_bytes_skip(link, strlen(*name) + 1), build_id);
}

bool cairn_elf_is_alt(const struct cairn_elf *elf, const char *build_id)
{
	char own[2 * 64 + 1];
	const char *name;
	return strcmp(elf->build_id, build_id) == 0 || (read_supplement(elf, true, &name, own) && strcmp(own, build_id) == 0);
}

struct cairn_bytes cairn_elf_debugdata(const struct cairn_elf *elf)
{
	return cairn_elf_named(elf, ".gnu_debugdata");
}

static bool has_contents(const struct cairn_elf *elf, const char *name)
{
	const struct cairn_elf_section *section = cairn_elf_section(elf, name);
	return section && section->bytes.length > 0;
}

bool cairn_elf_has_dwarf(const struct cairn_elf *elf)
{
	return has_contents(elf, ".debug_info");
}

bool cairn_elf_has_symtab(const struct cairn_elf *elf)
{
	return has_contents(elf, ".symtab");
}

struct cairn_elf_symbols cairn_elf_symbols(const struct cairn_elf *elf, const char *table)
{
	struct cairn_elf_section *section = cairn_elf_section(elf, table);
	const size_t entries_most = (size_t)1 << 30; /* in bytes: 45 million symbols. The largest programs have a tenth of that */
	if (!section || section->link >= elf->section_count)
		return (struct cairn_elf_symbols){.entries = {"", 0}, .names = {"", 0}, .elf = elf};
	struct cairn_elf_symbols symbols = {.entries = contents(section),
					    .names = string_table(contents(&elf->sections[section->link])),
					    .elf = elf,
					    .descriptors = elf->machine == EM_PPC64 ? cairn_elf_section(elf, ".opd") : NULL};
	symbols.entries.length = symbols.entries.length < entries_most ? symbols.entries.length : entries_most;
	for (size_t i = 0; symbols.descriptors && i < elf->section_count && i < SHN_LORESERVE; i++) {
		if (!(elf->sections[i].flags & SHF_EXECINSTR))
			continue;
		if (symbols.code_count == CAIRN_ELF_CODE_SECTIONS) {
			symbols.code_count = 0;
			break;
		}
		symbols.code[symbols.code_count++] = (uint16_t)i;
	}
	return symbols;
}

/* The index of the code section that contains ADDRESS. */
static uint16_t section_around(const struct cairn_elf_symbols *symbols, uint64_t address)
{
	for (size_t i = 0; i < symbols->code_count; i++) {
		const struct cairn_elf_section *section = &symbols->elf->sections[symbols->code[i]];
		if (address >= section->address && address - section->address < section->size)
			return symbols->code[i];
	}
	return SHN_ABS;
}

/* On ARM, the lowest bit of a function's address marks Thumb code. In the first ABI of 64-bit PowerPC, a function's symbol points to a
 * descriptor, and the first word of the descriptor is the address of the code. */
static void find_code(const struct cairn_elf_symbols *symbols, Elf64_Sym *entry)
{
	const struct cairn_elf_section *descriptors = symbols->descriptors;
	if (symbols->elf->machine == EM_ARM && ELF64_ST_TYPE(entry->st_info) == STT_FUNC)
		entry->st_value &= ~(uint64_t)1;
	if (!descriptors || entry->st_value < descriptors->address || entry->st_value - descriptors->address >= descriptors->bytes.length)
		return;
	struct cairn_cursor in = cairn_layout_cursor(symbols->elf->layout, descriptors->bytes);
	cairn_cursor_skip(&in, entry->st_value - descriptors->address);
	entry->st_value = cairn_cursor_u64(&in);
	entry->st_shndx = entry->st_size ? SHN_ABS : section_around(symbols, entry->st_value); /* which limits those without a size */
}

bool cairn_elf_symbols_next(struct cairn_elf_symbols *symbols, struct cairn_elf_symbol *symbol)
{
	struct cairn_layout layout = symbols->elf->layout;
	size_t size = cairn_layout_symbol_size(layout);
	Elf64_Sym entry;
	while (symbols->entries.length >= size) {
		cairn_layout_symbol(layout, symbols->entries.data, &entry);
		symbols->entries = cairn_bytes_skip(symbols->entries, size);
		if (entry.st_shndx == SHN_UNDEF)
			continue;
		if (symbols->elf->machine == EM_ARM || symbols->descriptors)
			find_code(symbols, &entry);
		if (symbols->elf->type == ET_REL && entry.st_shndx < SHN_LORESERVE &&
		    entry.st_shndx < symbols->elf->section_count)
			entry.st_value += symbols->elf->sections[entry.st_shndx].address; /* 0 until the file is relocated */
		*symbol = (struct cairn_elf_symbol){string_at(symbols->names, entry.st_name), entry.st_value, entry.st_size,
			ELF64_ST_TYPE(entry.st_info), ELF64_ST_BIND(entry.st_info), entry.st_shndx};
		return true;
	}
	return false;
}

bool cairn_elf_exports(const struct cairn_elf *elf, const char *name)
{
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, ".dynsym");
	struct cairn_elf_symbol symbol;
	while (cairn_elf_symbols_next(&symbols, &symbol))
		if (strcmp(symbol.name, name) == 0)
			return true;
	return false;
}
