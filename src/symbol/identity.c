/* identity.c - reads ELF program headers and notes with pread, and nothing else of the file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/identity.h"

#include "base/cursor.h"
#include "base/file.h"
#include "base/time.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { head_size = 4096, largest_note = 64 * 1024, largest_page = 64 * 1024, notes_most = 1 << 20 };

/* A file, and its beginning, which was read ahead. */
struct source {
	int descriptor;
	struct cairn_arena *arena;
	char head[head_size];
	size_t head_length;
};

/* LENGTH bytes at OFFSET; empty if the file ends before that. */
static struct cairn_bytes part(struct source *source, uint64_t offset, size_t length)
{
	if (offset <= source->head_length && length <= source->head_length - offset)
		return (struct cairn_bytes){source->head + offset, length};
	if (offset > INT64_MAX - length)
		return (struct cairn_bytes){"", 0};
	char *data = cairn_arena_alloc(source->arena, length);
	ssize_t got = pread(source->descriptor, data, length, (off_t)offset);
	return (struct cairn_bytes){data, got == (ssize_t)length ? length : 0};
}

bool cairn_build_id_valid(const char *text)
{
	size_t length = strspn(text, "0123456789abcdef");
	return text[length] == '\0' && length >= 4 && length <= 128 && length % 2 == 0;
}

bool cairn_build_id_find(struct cairn_layout layout, struct cairn_bytes notes, char *text)
{
	notes.length = notes.length < notes_most ? notes.length : notes_most;
	struct cairn_cursor in = cairn_layout_cursor(layout, notes);
	while (cairn_cursor_left(&in) >= sizeof(Elf64_Nhdr)) {
		uint32_t name_size = cairn_cursor_u32(&in), size = cairn_cursor_u32(&in), type = cairn_cursor_u32(&in);
		struct cairn_bytes name = cairn_cursor_bytes(&in, name_size);
		cairn_cursor_skip(&in, -(uint64_t)name_size & 3);
		struct cairn_bytes description = cairn_cursor_bytes(&in, size);
		if (in.failed)
			break;
		if (type == NT_GNU_BUILD_ID && cairn_bytes_equal(name, (struct cairn_bytes){"GNU", 4}) && size >= 2 && size <= 64) {
			for (size_t i = 0; i < size; i++) {
				text[2 * i] = "0123456789abcdef"[(unsigned char)description.data[i] >> 4];
				text[2 * i + 1] = "0123456789abcdef"[description.data[i] & 15];
			}
			text[2 * size] = '\0';
			return true;
		}
		if (cairn_cursor_left(&in) >= (-(uint64_t)size & 3))
			cairn_cursor_skip(&in, -(uint64_t)size & 3);
	}
	return false;
}

static bool read_headers(struct cairn_identity *identity, struct source *source, const char *path, struct cairn_error *error)
{
	struct cairn_layout layout;
	Elf64_Ehdr header;
	if (!cairn_layout_of((struct cairn_bytes){source->head, source->head_length}, &layout) ||
	    source->head_length < cairn_layout_header_size(layout))
		return cairn_fail(error, "%s: not an ELF file", path);
	cairn_layout_header(layout, source->head, &header);
	identity->machine = header.e_machine;
	identity->type = header.e_type;
	size_t count = header.e_phnum, size = cairn_layout_segment_size(layout);
	bool object = header.e_type == ET_REL; /* which has none */
	if ((header.e_phentsize != size && !object) || count > CAIRN_SEGMENTS_MOST)
		return cairn_fail(error, "%s: its program headers make no sense", path);
	struct cairn_bytes table = part(source, header.e_phoff, count * size);
	identity->segments = cairn_arena_zero(source->arena, count + 1, sizeof *identity->segments);
	for (size_t i = 0; i < table.length / size; i++) {
		Elf64_Phdr entry;
		cairn_layout_segment(layout, table.data + i * size, &entry);
		if (entry.p_type == PT_LOAD)
			identity->segments[identity->segment_count++] = (struct cairn_elf_segment){
				.offset = entry.p_offset, .address = entry.p_vaddr, .file_size = entry.p_filesz,
				.memory_size = entry.p_memsz, .executable = entry.p_flags & PF_X, .alignment = entry.p_align};
		else if (entry.p_type == PT_NOTE && !identity->build_id[0] && entry.p_filesz <= largest_note)
			cairn_build_id_find(layout, part(source, entry.p_offset, entry.p_filesz), identity->build_id);
	}
	return true;
}

bool cairn_identity_read(struct cairn_identity *identity, struct cairn_arena *arena, const char *path, struct cairn_error *error)
{
	*identity = (struct cairn_identity){0};
	struct stat status;
	struct source source = {.descriptor = cairn_file_open(path, &status, error), .arena = arena};
	if (source.descriptor < 0)
		return false;
	ssize_t got = pread(source.descriptor, source.head, sizeof source.head, 0);
	bool good = got >= 0 || cairn_fail_errno(error, "%s", path);
	if (good) {
		source.head_length = (size_t)got;
		identity->size = (uint64_t)status.st_size;
		identity->inode = status.st_ino;
		identity->modified_ns = cairn_time_ns(&status.st_mtim);
		errno = EINVAL;
		good = read_headers(identity, &source, path, error);
	}
	close(source.descriptor);
	return good;
}

bool cairn_identity_address(const struct cairn_identity *identity, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < identity->segment_count; i++) {
		const struct cairn_elf_segment *segment = &identity->segments[i];
		if (offset >= segment->offset && offset - segment->offset < segment->file_size) {
			*address = offset - segment->offset + segment->address;
			return true;
		}
	}
	return false;
}

bool cairn_identity_address_from_start(const struct cairn_identity *identity, uint64_t start, uint64_t offset, uint64_t *address)
{
	const struct cairn_elf_segment *code = NULL;
	for (size_t i = 0; i < identity->segment_count; i++) {
		if (!identity->segments[i].executable)
			continue;
		if (code)
			return false;
		code = &identity->segments[i];
	}
	if (!code)
		return false;
	/* The mapping begins at the start of the page that contains the segment's first byte. The page size, 4 KiB to 64 KiB, can only be
	 * told from START. */
	uint64_t alignment = code->alignment, distance = offset - start;
	bool sensible = alignment >= 4096 && (alignment & (alignment - 1)) == 0;
	uint64_t before = (code->address - start) & ((sensible ? alignment : 4096) - 1);
	if (before >= largest_page || distance - before >= code->memory_size)
		return false;
	*address = code->address - before + distance;
	return true;
}
