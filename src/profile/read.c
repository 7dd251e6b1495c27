/* read.c - decompresses the input, recognizes its format, and calls the reader of that format.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/read.h"

#include "base/cursor.h"
#include "base/pages.h"
#include "base/text.h"
#include "base/unpack.h"
#include "dump/ledger_dump.h"
#include "profile/pprof_fields.h"

#include <stdlib.h>

/* Whether MESSAGE can be a type of values: two numbers of strings. */
static bool is_value_type(struct cairn_bytes message)
{
	struct cairn_cursor in = cairn_cursor(message);
	struct cairn_protobuf_field field;
	bool numbers = false;
	while (cairn_protobuf_next(&in, &field))
		numbers |= field.id <= PPROF_TYPE_UNIT && field.wire == CAIRN_WIRE_VARINT;
	return numbers && !in.failed;
}

/* Whether DATA can be parsed as top-level fields of pprof's protobuf message. Fields that Cairn does not know, as a later schema or another
 * writer may have, count only together with a type of values or the empty string, which the string table begins with: otherwise too much
 * could be parsed. A truncated message counts if enough of it was parsed. */
static bool looks_like_pprof(struct cairn_bytes data)
{
	enum { fields_most = 64, fields_least = 2 };
	struct cairn_cursor in = cairn_cursor(data);
	struct cairn_protobuf_field field;
	bool strange = false, proven = false;
	for (unsigned fields = 0; fields < fields_most; fields++) {
		if (cairn_cursor_left(&in) == 0)
			return fields > 0 && (proven || !strange);
		if (!cairn_protobuf_next(&in, &field)) {
			bool known_wire = field.wire == CAIRN_WIRE_VARINT || field.wire == CAIRN_WIRE_BYTES ||
					  field.wire == CAIRN_WIRE_FIXED64 || field.wire == CAIRN_WIRE_FIXED32;
			return field.id > 0 && known_wire && fields >= fields_least && (proven || !strange);
		}
		bool plain = field.wire == CAIRN_WIRE_VARINT || field.wire == CAIRN_WIRE_BYTES;
		strange |= field.id > PPROF_DOC_URL || !plain;
		proven |= field.wire == CAIRN_WIRE_BYTES && (field.id == PPROF_SAMPLE_TYPE    ? is_value_type(field.bytes)
							     : field.id == PPROF_STRING_TABLE ? field.bytes.length == 0
											      : false);
	}
	return proven || !strange;
}

/* The binary CPU profile begins with a zero word, then the number of header words after it: 3 or a little more. */
static bool looks_like_cpu(struct cairn_bytes data)
{
	if (data.length < 20)
		return false;
	static const char zeros[8];
	bool wide = memcmp(data.data, zeros, 8) == 0;
	return wide || memcmp(data.data, zeros, 4) == 0;
}

static bool is_binary(struct cairn_bytes data)
{
	size_t length = data.length < 512 ? data.length : 512;
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)data.data[i];
		if (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t')
			return true;
	}
	return false;
}

/* "frames 123": lines of folded text end in a number. The first few non-empty lines decide. */
static bool looks_like_folded(struct cairn_bytes text)
{
	struct cairn_bytes line;
	unsigned good = 0, bad = 0;
	while (good + bad < 8 && cairn_text_line(&text, &line, NULL)) {
		line = cairn_text_trim(line);
		if (line.length == 0 || line.data[0] == '#')
			continue;
		size_t digits = 0;
		while (digits < line.length && strchr("0123456789.", line.data[line.length - 1 - digits]))
			digits++;
		bool number = digits > 0 && digits < line.length && strchr(" \t-", line.data[line.length - 1 - digits]);
		*(number ? &good : &bad) += 1;
	}
	return good > bad;
}

static struct cairn_bytes skip_comments(struct cairn_reader *reader, struct cairn_bytes text)
{
	while (text.length > 0 && text.data[0] == '%') {
		struct cairn_bytes line;
		cairn_text_line(&text, &line, NULL);
		if (cairn_text_take(&line, "%warn"))
			cairn_profile_warn(reader->profile, "%s: the dump warns: %.*s", reader->name,
					   (int)(line.length < 200 ? line.length : 200), line.data);
	}
	return text;
}

static bool unknown_format(const struct cairn_reader *reader, struct cairn_bytes input, struct cairn_error *error)
{
	const char *what = "it is not a profile Cairn knows (jemalloc, gperftools or tcmalloc heap dumps, pprof, folded stacks)";
	if (cairn_bytes_start_with(input, "\x7f" "ELF"))
		what = "it is a program or library, not a profile; name the dump (and the program with --binary)";
	else if (cairn_bytes_start_with(input, "<"))
		what = "it is a web page or picture, not a profile; perhaps a server answered with an error page";
	else if (cairn_bytes_start_with(input, "{"))
		what = "it is JSON, not a profile";
	return cairn_fail(error, "%s: %s", reader->name, what);
}

/* "--- heap" and the like: a line that announces what follows. */
static enum cairn_format sniff_section(struct cairn_bytes text)
{
	struct cairn_bytes line;
	cairn_text_line(&text, &line, NULL);
	line = cairn_text_trim(cairn_bytes_skip(line, 3));
	if (cairn_bytes_start_with(line, "symbol"))
		return CAIRN_FORMAT_SYMBOLIZED;
	if (cairn_bytes_start_with(line, "heap") || cairn_bytes_start_with(line, "growth"))
		return CAIRN_FORMAT_SECTION;
	if (cairn_bytes_start_with(line, "profile"))
		return CAIRN_FORMAT_SECTION;
	if (cairn_bytes_start_with(line, "contention") || cairn_bytes_start_with(line, "Stacks"))
		return CAIRN_FORMAT_CONTENTION;
	return CAIRN_FORMAT_UNKNOWN;
}

enum cairn_format cairn_profile_sniff(struct cairn_bytes text)
{
	if (text.length == 0)
		return CAIRN_FORMAT_EMPTY;
	if (cairn_unpack_sniff(text) != CAIRN_PACKED_NOT)
		return CAIRN_FORMAT_PACKED;
	if (cairn_ledger_is(text))
		return CAIRN_FORMAT_LEDGER;
	if (looks_like_cpu(text))
		return CAIRN_FORMAT_CPU;
	if (cairn_bytes_start_with(text, "---"))
		return sniff_section(text);
	if (cairn_bytes_start_with(text, "heap profile:"))
		return CAIRN_FORMAT_FLAT;
	if (cairn_bytes_start_with(text, "heap_v"))
		return CAIRN_FORMAT_HEAP;
	/* Names may contain and begin with anything, but in no other format do lines end in numbers. */
	if (looks_like_folded(text))
		return CAIRN_FORMAT_FOLDED;
	return is_binary(text) && looks_like_pprof(text) ? CAIRN_FORMAT_PPROF : CAIRN_FORMAT_UNKNOWN;
}

enum cairn_format cairn_profile_sniff_inside(struct cairn_bytes input)
{
	char head[CAIRN_FORMAT_HEAD];
	if (cairn_unpack_sniff(input) != CAIRN_PACKED_NOT)
		input = (struct cairn_bytes){head, cairn_unpack_head(input, head, sizeof head)};
	return cairn_profile_sniff((struct cairn_bytes){input.data, input.length < sizeof head ? input.length : sizeof head});
}

bool cairn_stack_parse(struct cairn_profile *profile, struct cairn_bytes text, size_t *depth)
{
	*depth = 0;
	for (cairn_text_skip_blanks(&text); text.length > 0; cairn_text_skip_blanks(&text)) {
		uint64_t pc;
		if (!cairn_text_hex(&text, &pc))
			return false;
		uint32_t *room = cairn_profile_stack_room(profile, *depth + 1);
		room[(*depth)++] = cairn_profile_add_location(profile, pc ? pc - 1 : 0, CAIRN_NONE, true);
	}
	return true;
}

/* Reads a ledger as the dump that would be made from it. It may change while being read, so it is first copied, to an aligned address. */
static bool read_ledger(struct cairn_reader *reader, struct cairn_bytes input, struct cairn_error *error)
{
	struct cairn_ledger ledger;
	struct cairn_buffer copy = cairn_pages(CAIRN_LEDGER_BYTES_MOST), dump = cairn_pages(CAIRN_LEDGER_DUMP_MOST);
	cairn_pages_append(&copy, input);
	bool good = !copy.failed || cairn_fail(error, "it is larger than any ledger");
	good = good && cairn_ledger_open(&ledger, cairn_buffer_bytes(&copy), error) &&
	       cairn_ledger_write_dump(&ledger, &(struct cairn_ledger_end){0}, &dump, error);
	if (!good)
		cairn_fail_within(error, "%s: ", reader->name);
	reader->options.mapped = false;
	good = good && cairn_heap_read(reader, cairn_buffer_bytes(&dump), error);
	cairn_buffer_free(&dump);
	cairn_buffer_free(&copy);
	return good;
}

bool cairn_profile_read_plain(struct cairn_reader *reader, struct cairn_bytes input, struct cairn_error *error)
{
	enum { deepest = 4 }; /* "--- symbol" contains "--- heap", which contains "heap profile:" */
	if (reader->nesting++ == deepest)
		return cairn_fail(error, "%s: profiles are nested too deeply", reader->name);
	struct cairn_bytes text = skip_comments(reader, input), line;
	switch (cairn_profile_sniff(text)) {
	case CAIRN_FORMAT_EMPTY:
		return cairn_fail(error, "%s: it is empty; was the process killed while it wrote it, or the disk full?", reader->name);
	case CAIRN_FORMAT_CPU:
		return cairn_cpu_read(reader, text, error);
	case CAIRN_FORMAT_SYMBOLIZED:
		return cairn_symbolized_read(reader, text, error);
	case CAIRN_FORMAT_SECTION:
		cairn_text_line(&text, &line, NULL);
		return cairn_profile_read_plain(reader, text, error);
	case CAIRN_FORMAT_CONTENTION:
		return cairn_contention_read(reader, text, error);
	case CAIRN_FORMAT_FLAT:
		return cairn_flat_read(reader, text, error);
	case CAIRN_FORMAT_HEAP:
		return cairn_heap_read(reader, text, error);
	case CAIRN_FORMAT_PPROF:
		return cairn_pprof_read(reader, text, error);
	case CAIRN_FORMAT_LEDGER:
		return read_ledger(reader, text, error);
	case CAIRN_FORMAT_FOLDED:
		return cairn_folded_read(reader, text, error);
	case CAIRN_FORMAT_PACKED:
		return cairn_fail(error, "%s: it is compressed twice; decompress it once yourself", reader->name);
	case CAIRN_FORMAT_UNKNOWN:
		break;
	}
	return unknown_format(reader, text, error);
}

bool cairn_profile_read(struct cairn_profile *profile, struct cairn_bytes input, const char *name,
			const struct cairn_read_options *options, struct cairn_error *error)
{
	struct cairn_reader reader = {.profile = profile, .name = name};
	if (options)
		reader.options = *options;
	if (input.length == 0 || cairn_unpack_sniff(input) == CAIRN_PACKED_NOT)
		return cairn_profile_read_plain(&reader, input, error);
	char *data;
	size_t length;
	bool cut;
	reader.options.mapped = false;
	if (!cairn_unpack(input, &data, &length, &cut, error))
		return cairn_fail_within(error, "%s: ", name);
	if (cut)
		cairn_profile_warn(profile, "%s: its compressed data is damaged or truncated; showing what could be read", name);
	bool good = cairn_profile_read_plain(&reader, (struct cairn_bytes){data, length}, error);
	free(data);
	return good;
}
