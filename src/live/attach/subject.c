/* subject.c - reading /proc/PID/maps and the files behind it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/attach/subject.h"

#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "live/attach/priority.h"
#include "process/proc.h"
#include "process/proc_list.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { page = 4096, modules_most = 4096 };

enum cairn_subject_seccomp cairn_subject_thread_seccomp(int pid, int tid)
{
	char path[CAIRN_PROC_PATH];
	uint64_t mode;
	if (!cairn_proc_number(cairn_proc_task_path(path, pid, tid, "status"), "Seccomp:", &mode))
		return CAIRN_SECCOMP_NONE;
	return mode == 1 ? CAIRN_SECCOMP_STRICT : mode == 2 ? CAIRN_SECCOMP_FILTER : CAIRN_SECCOMP_NONE;
}

enum cairn_subject_seccomp cairn_subject_seccomp(int pid)
{
	enum cairn_subject_seccomp strictest = CAIRN_SECCOMP_NONE;
	struct cairn_proc_list list;
	cairn_proc_list_threads(&list, pid);
	for (int tid; (tid = cairn_proc_list_next(&list));) {
		enum cairn_subject_seccomp mode = cairn_subject_thread_seccomp(pid, tid);
		strictest = mode > strictest ? mode : strictest;
	}
	return strictest;
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* The file that is mapped, not one that has taken its place. */
static struct cairn_elf *open_module(const struct cairn_subject *subject, const struct cairn_subject_module *module, uint64_t inode)
{
	char path[4200];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d/root%s", subject->pid, module->path);
	if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_ino == inode)
		return cairn_elf_open(path, NULL);
	snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", subject->pid, (unsigned long long)module->start,
		 (unsigned long long)module->end);
	return cairn_elf_open(path, NULL);
}

uint64_t cairn_subject_symbol(const struct cairn_subject_module *module, const char *name)
{
	if (!module || !module->elf)
		return 0;
	struct cairn_elf_symbols symbols = cairn_elf_symbols(module->elf, ".dynsym");
	struct cairn_elf_symbol symbol;
	while (cairn_elf_symbols_next(&symbols, &symbol))
		if (symbol.address && symbol.type != STT_GNU_IFUNC && strcmp(symbol.name, name) == 0)
			return module->bias + symbol.address;
	return 0;
}

const char *cairn_subject_name(const struct cairn_subject_module *module, uint64_t address)
{
	if (!module->elf)
		return NULL;
	struct cairn_elf_symbols symbols = cairn_elf_symbols(module->elf, ".dynsym");
	struct cairn_elf_symbol symbol;
	while (cairn_elf_symbols_next(&symbols, &symbol))
		if (symbol.type == STT_FUNC && address - (module->bias + symbol.address) < symbol.size)
			return symbol.name;
	return NULL;
}

/* Its unwind tables, in the bytes of the file: the segment that .eh_frame_hdr is in holds .eh_frame, too. */
static void find_unwind_tables(struct cairn_subject_module *module)
{
	const struct cairn_elf_section *header = cairn_elf_section(module->elf, ".eh_frame_hdr");
	for (size_t i = 0; header && i < module->elf->segment_count; i++) {
		const struct cairn_elf_segment *segment = &module->elf->segments[i];
		if (header->address - segment->address >= segment->file_size)
			continue;
		module->image = (struct cairn_image){module->elf->file.bytes, module->bias + segment->address - segment->offset};
		module->unwind_header = module->bias + header->address;
	}
}

static void classify(struct cairn_subject *subject, struct cairn_subject_module *module, const char *program)
{
	const char *name = cairn_base_name(module->path);
	bool defines = cairn_subject_symbol(module, "malloc") != 0;
	if (strcmp(module->path, program) == 0) {
		module->kind = CAIRN_SUBJECT_PROGRAM;
		struct cairn_bytes loader = module->elf ? cairn_elf_named(module->elf, ".interp") : (struct cairn_bytes){"?", 1};
		subject->nameless = loader.length == 0 || memmem(loader.data, loader.length, "ld-musl", 7);
		struct cairn_bytes bytes = module->elf ? module->elf->file.bytes : (struct cairn_bytes){"", 0};
		subject->allocator_inside = defines || !module->elf || memmem(bytes.data, bytes.length, "<jemalloc>", 10) ||
					    memmem(bytes.data, bytes.length, "tcmalloc", 8) ||
					    memmem(bytes.data, bytes.length, "mimalloc", 8);
	} else if (starts(name, "libc.so") || starts(name, "libc-2.") || starts(name, "ld-musl")) {
		module->kind = CAIRN_SUBJECT_LIBC;
	} else if (starts(name, "ld-linux") || starts(name, "ld-2.") || starts(name, "ld.so")) {
		module->kind = CAIRN_SUBJECT_LOADER;
	} else if (starts(name, "libcairn.so") || starts(name, "memfd:libcairn.so")) {
		module->kind = CAIRN_SUBJECT_AGENT;
	} else if (defines || strstr(name, "malloc")) {
		module->kind = CAIRN_SUBJECT_ALLOCATOR;
	}
}

static void add_mapping(struct cairn_subject *subject, const struct cairn_proc_map *map, const char *program)
{
	struct cairn_subject_module *last = subject->count ? &subject->modules[subject->count - 1] : NULL;
	if (last && cairn_bytes_equal(cairn_bytes_of(last->path), map->path) && map->offset > 0) {
		last->end = map->limit;
		return;
	}
	if (map->offset != 0 || subject->count == modules_most)
		return;
	struct cairn_subject_module *grown = realloc(subject->modules, (subject->count + 1) * sizeof *grown);
	if (!grown)
		return;
	subject->modules = grown;
	struct cairn_subject_module *module = &grown[subject->count];
	*module = (struct cairn_subject_module){
		.path = strndup(map->path.data, map->path.length), .start = map->start, .end = map->limit};
	if (!module->path)
		return;
	module->elf = open_module(subject, module, map->inode);
	if (!module->elf && !strstr(module->path, ".so")) {
		free(module->path); /* data, most likely */
		return;
	}
	if (module->elf && module->elf->segment_count)
		module->bias = map->start - (module->elf->segments[0].address & ~(uint64_t)(page - 1));
	classify(subject, module, program);
	if (module->elf)
		find_unwind_tables(module);
	subject->count++;
}

static void read_maps(struct cairn_subject *subject, struct cairn_bytes maps, const char *program)
{
	struct cairn_bytes line;
	struct cairn_proc_map map;
	while (cairn_text_line(&maps, &line, NULL))
		/* what is mapped without a file behind the last module's data belongs to it */
		if (cairn_proc_map_parse(line, &map) && map.path.length > 0 && map.path.data[0] == '/')
			add_mapping(subject, &map, program);
}

bool cairn_subject_open(struct cairn_subject *subject, int pid, struct cairn_error *error)
{
	char path[64], program[4200];
	struct cairn_file maps;
	*subject = (struct cairn_subject){.pid = pid, .memory = -1};
	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	ssize_t length = readlink(path, program, sizeof program - 1);
	if (length < 0)
		return cairn_fail_errno(error, "process %d cannot be looked at", pid);
	struct cairn_bytes name = {program, (size_t)length};
	cairn_path_take_deleted(&name);
	program[name.length] = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	cairn_priority_raise();
	bool read = cairn_file_read(&maps, path, error);
	cairn_priority_restore();
	if (!read)
		return false;
	read_maps(subject, maps.bytes, program);
	cairn_file_close(&maps);
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	subject->memory = open(path, O_RDWR | O_CLOEXEC);
	return subject->memory >= 0 || cairn_fail_errno(error, "the memory of process %d cannot be opened", pid);
}

void cairn_subject_close(struct cairn_subject *subject)
{
	for (size_t i = 0; i < subject->count; i++) {
		cairn_elf_close(subject->modules[i].elf);
		free(subject->modules[i].path);
	}
	free(subject->modules);
	if (subject->memory >= 0)
		close(subject->memory);
	*subject = (struct cairn_subject){.memory = -1};
}

const struct cairn_subject_module *cairn_subject_at(const struct cairn_subject *subject, uint64_t address)
{
	for (size_t i = 0; i < subject->count; i++)
		if (address >= subject->modules[i].start && address < subject->modules[i].end)
			return &subject->modules[i];
	return NULL;
}

const struct cairn_subject_module *cairn_subject_find(const struct cairn_subject *subject, enum cairn_subject_kind kind)
{
	for (size_t i = 0; i < subject->count; i++)
		if (subject->modules[i].kind == kind)
			return &subject->modules[i];
	return NULL;
}

size_t cairn_subject_read(const struct cairn_subject *subject, uint64_t address, void *out, size_t size)
{
	size_t done = 0;
	cairn_priority_raise();
	while (done < size) {
		ssize_t part = pread(subject->memory, (char *)out + done, size - done, (off_t)(address + done));
		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			break;
		done += (size_t)part;
	}
	cairn_priority_restore();
	return done;
}

bool cairn_subject_write(const struct cairn_subject *subject, uint64_t address, const void *bytes, size_t size)
{
	cairn_priority_raise();
	ssize_t written = pwrite(subject->memory, bytes, size, (off_t)address);
	cairn_priority_restore();
	return written == (ssize_t)size;
}

/* Behind SEGMENT in its last page, aligned; 0 where SIZE bytes do not fit. */
static uint64_t room_behind(const struct cairn_subject_module *module, const struct cairn_elf_segment *segment, size_t size)
{
	uint64_t end = segment->address + segment->memory_size, room = (page - end % page) % page;
	return room >= size + 16 ? module->bias + ((end + 15) & ~(uint64_t)15) : 0;
}

/* The loader allocates from the rest of its own last page, and the heap may begin in that of the program's. */
uint64_t cairn_subject_room_in_data(const struct cairn_subject *subject, size_t size, size_t *more)
{
	for (size_t i = 0; i < subject->count; i++) {
		const struct cairn_subject_module *module = &subject->modules[i];
		if (!module->elf || !module->elf->segment_count || module->kind == CAIRN_SUBJECT_LOADER ||
		    module->kind == CAIRN_SUBJECT_PROGRAM || module->kind == CAIRN_SUBJECT_AGENT)
			continue;
		/* The last is the data, of every library that has any. */
		const struct cairn_elf_segment *segment = &module->elf->segments[module->elf->segment_count - 1];
		uint64_t room = !segment->executable && segment->memory_size > segment->file_size ? room_behind(module, segment, size) : 0;
		if (room) {
			*more = (size_t)(page - (room + size) % page) % page;
			return room;
		}
	}
	return 0;
}

uint64_t cairn_subject_room_in_code(const struct cairn_subject *subject, size_t n, size_t size, void *original)
{
	for (size_t i = 0; i < subject->count; i++) {
		const struct cairn_subject_module *module = &subject->modules[i];
		if (!module->elf || module->kind == CAIRN_SUBJECT_LOADER || module->kind == CAIRN_SUBJECT_AGENT)
			continue;
		for (size_t k = 0; k < module->elf->segment_count; k++) {
			const struct cairn_elf_segment *segment = &module->elf->segments[k];
			uint64_t room =
				segment->executable && segment->memory_size == segment->file_size ? room_behind(module, segment, size) : 0;
			if (!room || n-- > 0)
				continue;
			struct cairn_bytes file = module->elf->file.bytes;
			uint64_t offset = segment->offset + (room - module->bias - segment->address);
			size_t there = offset < file.length ? file.length - (size_t)offset : 0;
			memset(original, 0, size);
			memcpy(original, file.data + (there ? offset : 0), there < size ? there : size);
			return room;
		}
	}
	return 0;
}
