/* elf_test.c - ELF files: this program itself, small ones made by hand, and what is none.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/elf.h"

#include "assemble.h"
#include "tap.h"

#include <stdlib.h>
#include <zlib.h>

static struct cairn_bytes bytes_of_buffer(const struct cairn_buffer *buffer)
{
	return cairn_buffer_bytes(buffer);
}

static void test_self(void)
{
	struct cairn_error error;
	struct cairn_elf *elf = cairn_elf_open("/proc/self/exe", &error);
	if (!ok(elf != NULL, "this program can be opened"))
		return;
	ok(elf->machine != EM_NONE && elf->section_count > 10, "it has a machine and sections");
	ok(cairn_elf_has_symtab(elf), "it has a symbol table");
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, ".symtab");
	struct cairn_elf_symbol symbol, found = {0};
	while (cairn_elf_symbols_next(&symbols, &symbol))
		if (strcmp(symbol.name, "main") == 0)
			found = symbol;
	ok(found.size > 0 && found.type == STT_FUNC, "main is a function with a size");
	ok(cairn_elf_is_code(elf, found.address), "and in code");
	uint64_t offset = 0, address = 0;
	ok(cairn_elf_offset_of(elf, found.address, &offset) && cairn_elf_address_of(elf, offset, &address), "its address is in the file");
	is_int(address, found.address, "and back again");
	ok(!cairn_elf_offset_of(elf, UINT64_MAX, &offset) && !cairn_elf_address_of(elf, UINT64_MAX, &address),
	   "the end of the world is in no file");
	cairn_elf_close(elf);
}

static void test_prefixes(void)
{
	struct cairn_error error;
	struct cairn_file file;
	if (!cairn_file_read(&file, "/proc/self/exe", &error))
		return;
	size_t opened = 0;
	for (size_t length = 0; length < 5000 && length < file.bytes.length; length++) {
		struct cairn_elf *elf = cairn_elf_open_bytes((struct cairn_bytes){file.bytes.data, length}, "prefix", &error);
		opened += elf != NULL;
		cairn_elf_close(elf);
	}
	is_int(opened, 0, "a file cut short is refused, wherever it is cut");
	like_text(error.text, "cut short", "and the sentence says so");
	cairn_file_close(&file);
}

static const char *refusal(const char *data, size_t length)
{
	static struct cairn_error error;
	error.text[0] = '\0';
	struct cairn_elf *elf = cairn_elf_open_bytes((struct cairn_bytes){data, length}, "thing", &error);
	cairn_elf_close(elf);
	return elf ? NULL : error.text;
}

static void test_refusals(void)
{
	like_text(refusal("", 0), "thing: not an ELF file", "nothing");
	like_text(refusal("#!/bin/sh\necho hello, world\n", 28), "not an ELF file", "a script");
	like_text(refusal("\x7f" "ELF\3\1\1\0\0\0\0\0\0\0\0\0\0\0", 18), "unknown class", "a file of 128 bits");
	like_text(refusal("\x7f" "ELF\2\3\1\0\0\0\0\0\0\0\0\0\0\0", 18), "byte order", "a file of no byte order");
	like_text(refusal("\x7f" "ELF\1\2\1\0\0\0\0\0\0\0\0\0\0\0", 18), "cut short", "half a header of 32 bits");
	like_text(refusal("\x7f" "ELF\2\1\1\0\0\0\0\0\0\0\0\0\0\0", 18), "cut short", "half a header");
	struct cairn_error error;
	ok(!cairn_elf_open("/nonexistent/file", &error), "a missing file");
	like_text(error.text, "/nonexistent/file", "is named");
}

static void test_parts(void)
{
	struct cairn_buffer link = cairn_buffer(100), alt = cairn_buffer(100), note = cairn_buffer(100), out;
	put_text(&link, "a.debug");
	put(&link, 0xdeadbeef, 4);
	put_text(&alt, "../shared");
	put(&alt, 0x0123456789abcdef, 8);
	put(&note, 4, 4);
	put(&note, 4, 4);
	put(&note, NT_GNU_BUILD_ID, 4);
	put_text(&note, "GNU");
	put(&note, 0x78563412, 4);
	const struct elf_part parts[] = {
		{".gnu_debuglink", bytes_of_buffer(&link), 0, 0, 0},
		{".gnu_debugaltlink", bytes_of_buffer(&alt), 0, 0, 0},
		{".note.gnu.build-id", bytes_of_buffer(&note), SHT_NOTE, 0, 0},
		{".debug_info", {"info", 4}, 0, 0, 0},
	};
	make_elf(&out, parts, 4);
	struct cairn_error error;
	struct cairn_elf *elf = cairn_elf_open_bytes(bytes_of_buffer(&out), "made", &error);
	const char *name = NULL;
	uint32_t crc = 0;
	char build_id[129] = "";
	if (ok(elf != NULL, "a file made by hand")) {
		is_text(elf->build_id, "12345678", "build-id");
		ok(cairn_elf_debuglink(elf, &name, &crc) && crc == 0xdeadbeef, "debug link with its checksum");
		is_text(name, "a.debug", "and name");
		ok(cairn_elf_altlink(elf, &name, build_id), "shared file");
		is_text(name, "../shared", "its name");
		is_text(build_id, "efcdab8967452301", "its build-id");
		ok(cairn_elf_has_dwarf(elf) && !cairn_elf_has_symtab(elf), "what it has, and what not");
		ok(cairn_elf_named(elf, ".nothing").length == 0 && !cairn_elf_section(elf, ".nothing"), "no such section");
		cairn_elf_close(elf);
	}
	cairn_buffer_free(&link);
	cairn_buffer_free(&alt);
	cairn_buffer_free(&note);
	cairn_buffer_free(&out);
}

static void test_compressed(void)
{
	char text[2000], packed[4096];
	memset(text, 'x', sizeof text);
	uLongf size = sizeof packed - 24;
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = sizeof text};
	memcpy(packed, &header, sizeof header);
	compress((Bytef *)packed + 24, &size, (const Bytef *)text, sizeof text);
	struct cairn_buffer old = cairn_buffer(8192), absurd = cairn_buffer(100), out;
	cairn_buffer_append(&old, "ZLIB\0\0\0\0\0\0\x07\xd0", 12);
	cairn_buffer_append(&old, packed + 24, size);
	header.ch_size = UINT64_MAX / 2;
	cairn_buffer_append(&absurd, &header, sizeof header);
	const struct elf_part parts[] = {
		{".debug_info", {packed, 24 + size}, 0, SHF_COMPRESSED, 0},
		{".zdebug_line", bytes_of_buffer(&old), 0, 0, 0},
		{".debug_str", bytes_of_buffer(&absurd), 0, SHF_COMPRESSED, 0},
		{".debug_abbrev", {packed, 10}, 0, SHF_COMPRESSED, 0},
	};
	make_elf(&out, parts, 4);
	struct cairn_elf *elf = cairn_elf_open_bytes(bytes_of_buffer(&out), "packed", NULL);
	if (ok(elf != NULL, "a file with compressed sections")) {
		struct cairn_bytes wanted = {text, sizeof text};
		ok(cairn_bytes_equal(cairn_elf_named(elf, ".debug_info"), wanted), "SHF_COMPRESSED");
		ok(cairn_bytes_equal(cairn_elf_named(elf, ".debug_line"), wanted), ".zdebug_line is .debug_line");
		is_int(cairn_elf_named(elf, ".debug_str").length, 0, "an absurd size is refused");
		is_int(cairn_elf_named(elf, ".debug_abbrev").length, 0, "half a compression header too");
		cairn_elf_close(elf);
	}
	cairn_buffer_free(&old);
	cairn_buffer_free(&absurd);
	cairn_buffer_free(&out);
}

int main(void)
{
	test_self();
	test_prefixes();
	test_refusals();
	test_parts();
	test_compressed();
	return tap_done();
}
