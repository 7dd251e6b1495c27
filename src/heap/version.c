/* version.c - texts such as "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36."
 * SPDX-License-Identifier: Apache-2.0 */
#include "heap/version.h"

#include "base/text.h"
#include "symbol/elf.h"
#include "symbol/jemalloc.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>

/* The text behind MARK in BYTES, at most 64 characters; empty if there is none. Moves REST behind it. */
static struct cairn_bytes find(struct cairn_bytes *rest, const char *mark)
{
	size_t length = strlen(mark);
	const char *found = rest->length ? memmem(rest->data, rest->length, mark, length) : NULL;
	if (!found) {
		*rest = (struct cairn_bytes){"", 0};
		return *rest;
	}
	*rest = cairn_bytes_skip(*rest, (size_t)(found - rest->data) + length);
	return (struct cairn_bytes){rest->data, rest->length < 64 ? rest->length : 64};
}

/* "2.36" at the start of TEXT, as 236. */
static unsigned read_pair(struct cairn_bytes text)
{
	uint64_t major, minor;
	if (!cairn_text_decimal(&text, &major) || !cairn_text_take(&text, ".") || !cairn_text_decimal(&text, &minor) || major > 9 ||
	    minor > 99)
		return 0;
	return (unsigned)(major * 100 + minor);
}

unsigned cairn_version_of_glibc(struct cairn_image *image, const struct cairn_image_module *module)
{
	struct cairn_file file;
	unsigned version = 0;
	if (!image->source.open_module || !image->source.open_module(image->source.context, module, &file))
		return 0;
	struct cairn_bytes rest = file.bytes;
	while (!version && find(&rest, "GNU C Library ").length)
		version = read_pair(find(&rest, " version "));
	cairn_file_close(&file);
	return version;
}

/* "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c": as git describes a commit. */
bool cairn_version_of_jemalloc(struct cairn_image *image, const struct cairn_image_module *module, char *version, size_t size)
{
	enum { hash = 40, longest = 24 };
	struct cairn_file file;
	bool found = false;
	if (!image->source.open_module || !image->source.open_module(image->source.context, module, &file))
		return false;
	struct cairn_bytes rest = file.bytes, text;
	while (!found && (text = find(&rest, "-g")).length >= hash) {
		const char *start = text.data - 2;
		size_t digits = 0;
		while (digits < hash && isxdigit((unsigned char)text.data[digits]))
			digits++;
		while (digits == hash && start > file.bytes.data && text.data - start < longest &&
		       (isdigit((unsigned char)start[-1]) || strchr(".-", start[-1])) && start[-1])
			start--;
		size_t length = strspn(start, "0123456789.");
		found = digits == hash && length >= 5 && length < size && start[0] == '5' && start[1] == '.';
		if (found)
			snprintf(version, size, "%.*s", (int)length, start);
	}
	cairn_file_close(&file);
	return found;
}

void cairn_variable_of_jemalloc(struct cairn_image *image, const struct cairn_image_module *module, char *variable, size_t size)
{
	struct cairn_file file;
	struct cairn_elf_jemalloc jemalloc;
	if (!image->source.open_module || !image->source.open_module(image->source.context, module, &file))
		return;
	struct cairn_elf *elf = cairn_elf_open_bytes(file.bytes, module->path, NULL);
	if (elf && cairn_elf_jemalloc(elf, &jemalloc) && strlen(jemalloc.variable) < size)
		snprintf(variable, size, "%s", jemalloc.variable);
	cairn_elf_close(elf);
	cairn_file_close(&file);
}

/* The constant that the function whose CODE this is returns, where it does nothing else; 0 if it does. */
static unsigned returned_by(struct cairn_bytes code, uint16_t machine)
{
	static const unsigned char intel_entry[] = {0xf3, 0x0f, 0x1e, 0xfa},
				   arm_entry[] = {0x5f, 0x24, 0x03, 0xd5}; /* of guarded branches */
	const unsigned char *entry = machine == EM_X86_64 ? intel_entry : arm_entry;
	unsigned char bytes[5] = {0};
	uint32_t word;
	if (code.length >= sizeof intel_entry && memcmp(code.data, entry, sizeof intel_entry) == 0)
		code = cairn_bytes_skip(code, sizeof intel_entry);
	memcpy(bytes, code.data, code.length < sizeof bytes ? code.length : sizeof bytes);
	memcpy(&word, bytes + (machine == EM_X86_64), sizeof word);
	if (machine == EM_X86_64)
		return bytes[0] == 0xb8 ? word : 0; /* mov eax, */
	return machine == EM_AARCH64 && (word & 0xffe0001f) == 0x52800000 ? word >> 5 & 0xffff : 0; /* mov w0, */
}

/* 206 is 2.0.6, 3012 is 3.0.12, and 30403 is 3.4.3. */
bool cairn_version_of_mimalloc(struct cairn_image *image, const struct cairn_image_module *module, char *version, size_t size)
{
	static const char *const tables[] = {".dynsym", ".symtab"};
	struct cairn_file file;
	struct cairn_elf_symbol symbol;
	unsigned number = 0;
	uint64_t offset;
	if (!image->source.open_module || !image->source.open_module(image->source.context, module, &file))
		return false;
	struct cairn_elf *elf = cairn_elf_open_bytes(file.bytes, module->path, NULL);
	for (size_t i = 0; elf && i < sizeof tables / sizeof *tables && !number; i++) {
		struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, tables[i]);
		while (!number && cairn_elf_symbols_next(&symbols, &symbol))
			if (strcmp(symbol.name, "mi_version") == 0 && cairn_elf_offset_of(elf, symbol.address, &offset) &&
			    offset < file.bytes.length)
				number = returned_by(cairn_bytes_skip(file.bytes, (size_t)offset), elf->machine);
	}
	cairn_elf_close(elf);
	cairn_file_close(&file);
	if (number < 100 || number > 99999)
		return false;
	unsigned patch = number < 1000 ? number % 10 : number % 100, rest = number / (number < 1000 ? 10 : 100),
		 unit = number < 10000 ? 10 : 100;
	snprintf(version, size, "%u.%u.%u", rest / unit, rest % unit, patch);
	return true;
}

bool cairn_version_of_gperftools(struct cairn_image *image, const struct cairn_image_module *module, char *version, size_t size)
{
	struct cairn_file file;
	unsigned number = 0;
	if (!image->source.open_module || !image->source.open_module(image->source.context, module, &file))
		return false;
	struct cairn_bytes rest = file.bytes, text;
	while (!number && (text = find(&rest, "gperftools ")).length)
		number = read_pair(text);
	if (number)
		snprintf(version, size, "%u.%u", number / 100, number % 100);
	cairn_file_close(&file);
	return number != 0;
}
