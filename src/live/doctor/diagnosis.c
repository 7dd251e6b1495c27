/* diagnosis.c - collects facts about a process from /proc, its files and its agent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/doctor/diagnosis.h"

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "dump/engine_kind.h"
#include "live/attach/check.h"
#include "live/files.h"
#include "process/proc.h"
#include "profile/read.h"
#include "symbol/find.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads /proc/PID/NAME into the arena; empty if it cannot be read. */
static struct cairn_bytes read_proc(struct cairn_diagnosis *diagnosis, const char *name, bool *readable)
{
	struct cairn_file file;
	struct cairn_bytes copy = {"", 0};
	bool good = cairn_file_read(&file, cairn_arena_format(&diagnosis->arena, "/proc/%d/%s", diagnosis->pid, name), NULL);
	if (good) {
		copy = cairn_arena_keep(&diagnosis->arena, file.bytes);
		cairn_file_close(&file);
	}
	if (readable)
		*readable = good;
	return copy;
}

static const char *read_link(struct cairn_diagnosis *diagnosis, const char *path)
{
	char target[4096];
	ssize_t length = readlink(path, target, sizeof target - 1);
	return length < 0 ? NULL : cairn_arena_text(&diagnosis->arena, (struct cairn_bytes){target, (size_t)length});
}

static void open_module(struct cairn_diagnosis *diagnosis, struct cairn_diagnosis_module *module)
{
	module->elf = module->reachable ? cairn_elf_open(module->reachable, NULL) : NULL;
	if (!module->elf) {
		/* Generated code and a library in memory, as `cairn attach` loads the agent, have no file that could be read. */
		if (!module->path[0] || cairn_module_has_file(module->path))
			diagnosis->unread = module->path;
		return;
	}
	module->has_jemalloc = cairn_elf_jemalloc(module->elf, &module->jemalloc);
	module->exports_malloc = cairn_elf_exports(module->elf, "malloc");
}

/* A path at which the file of MAP can be opened. The kernel shows its path as seen from our root if possible, else as the
 * process sees it; of several files, the one with the same inode is it. The last resort is open to root only. */
static const char *reach(struct cairn_diagnosis *diagnosis, const char *path, const struct cairn_proc_map *map)
{
	const char *const places[] = {
		cairn_arena_format(&diagnosis->arena, "%s%s", diagnosis->root, path),
		path,
		cairn_arena_format(&diagnosis->arena, "/proc/%d/map_files/%llx-%llx", diagnosis->pid, (unsigned long long)map->start,
				   (unsigned long long)map->limit),
	};
	const char *there = NULL;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		struct stat status;
		if (stat(places[i], &status) != 0 || !S_ISREG(status.st_mode))
			continue;
		if (status.st_ino == map->inode)
			return places[i];
		there = there ? there : places[i];
	}
	return there;
}

/* Adds a file whose code is in memory. All lines of one file are one module. */
static void add_line(struct cairn_diagnosis *diagnosis, struct cairn_bytes line)
{
	struct cairn_proc_map map;
	if (!cairn_proc_map_parse(line, &map) || !map.executable || map.path.length == 0 || map.path.data[0] != '/')
		return;
	for (size_t i = 0; i < diagnosis->module_count; i++)
		if (cairn_bytes_equal(map.path, cairn_bytes_of(diagnosis->modules[i].path))) {
			if (!diagnosis->modules[i].start) {
				diagnosis->modules[i].start = map.start;
				diagnosis->modules[i].offset = map.offset;
			}
			return;
		}
	cairn_array_room(diagnosis->modules, diagnosis->module_count, diagnosis->module_capacity);
	struct cairn_diagnosis_module *module = &diagnosis->modules[diagnosis->module_count++];
	*module = (struct cairn_diagnosis_module){
		.path = cairn_arena_text(&diagnosis->arena, map.path), .start = map.start, .offset = map.offset};
	module->deleted = map.deleted && cairn_module_has_file(module->path); /* what never had a file is marked, too */
	module->reachable = reach(diagnosis, module->path, &map);
	open_module(diagnosis, module);
}

/* The program first, then what else is mapped. */
static void list_modules(struct cairn_diagnosis *diagnosis)
{
	const char *exe = cairn_arena_format(&diagnosis->arena, "/proc/%d/exe", diagnosis->pid), *path = read_link(diagnosis, exe);
	struct cairn_bytes named = cairn_bytes_of(path ? path : "");
	bool gone = cairn_path_take_deleted(&named);
	cairn_array_room(diagnosis->modules, diagnosis->module_count, diagnosis->module_capacity);
	struct cairn_diagnosis_module *program = &diagnosis->modules[diagnosis->module_count++];
	*program = (struct cairn_diagnosis_module){
		.path = cairn_arena_text(&diagnosis->arena, named),
		.reachable = path ? exe : NULL,
		.deleted = gone,
	};
	open_module(diagnosis, program);
	struct cairn_bytes rest = read_proc(diagnosis, "maps", &diagnosis->has_maps), line;
	while (cairn_text_line(&rest, &line, NULL))
		add_line(diagnosis, line);
}

/* Reads up to SIZE bytes of the process's memory at ADDRESS; returns their number, 0 if none can be read. */
static size_t read_memory(const struct cairn_diagnosis *diagnosis, uint64_t address, void *out, size_t size)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/%d/mem", diagnosis->pid);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = descriptor < 0 ? -1 : pread(descriptor, out, size, (off_t)address);
	if (descriptor >= 0)
		close(descriptor);
	return length > 0 ? (size_t)length : 0;
}

/* Where the link-time ADDRESS of MODULE is in the process. A mapping begins at the page in which its segment begins, which may also
 * contain the end of the segment before it: the executable mapping is the right one. */
static bool loaded_address(const struct cairn_diagnosis_module *module, uint64_t *address)
{
	uint64_t within = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	for (size_t i = 0; module->elf && module->start && i < module->elf->segment_count; i++) {
		const struct cairn_elf_segment *segment = &module->elf->segments[i];
		uint64_t first = segment->offset & ~within;
		if (!segment->executable || module->offset < first ||
		    module->offset - first >= (segment->offset & within) + segment->file_size)
			continue;
		*address += module->start - ((segment->address & ~within) + (module->offset - first));
		return true;
	}
	return false;
}

bool cairn_diagnosis_peek(const struct cairn_diagnosis *diagnosis, const char *name, void *out, size_t size)
{
	const struct cairn_diagnosis_module *allocator = diagnosis->allocator;
	uint64_t address;
	return allocator && allocator->elf && cairn_elf_jemalloc_symbol(allocator->elf, &allocator->jemalloc, name, &address) &&
	       loaded_address(allocator, &address) && read_memory(diagnosis, address, out, size) == size;
}

/* The address in the process of the symbol NAME that MODULE exports. */
static bool exported_address(const struct cairn_diagnosis_module *module, const char *name, uint64_t *address)
{
	if (!module->elf)
		return false;
	struct cairn_elf_symbols symbols = cairn_elf_symbols(module->elf, ".dynsym");
	struct cairn_elf_symbol symbol;
	while (cairn_elf_symbols_next(&symbols, &symbol))
		if (strcmp(symbol.name, name) == 0) {
			*address = symbol.address;
			return loaded_address(module, address);
		}
	return false;
}

const struct cairn_diagnosis_module *cairn_diagnosis_find_module(const struct cairn_diagnosis *diagnosis, const char *name)
{
	for (size_t i = 0; i < diagnosis->module_count; i++)
		if (strstr(diagnosis->modules[i].path, name))
			return &diagnosis->modules[i];
	return NULL;
}

const struct cairn_diagnosis_module *cairn_diagnosis_library(const struct cairn_diagnosis *diagnosis)
{
	return cairn_diagnosis_find_module(diagnosis, "libcairn.so");
}

bool cairn_diagnosis_attach_state(const struct cairn_diagnosis *diagnosis, struct cairn_attach *out)
{
	const struct cairn_diagnosis_module *library = cairn_diagnosis_library(diagnosis);
	uint64_t address;
	if (!library || !exported_address(library, "cairn_attached", &address) ||
	    read_memory(diagnosis, address, out, sizeof *out) != sizeof *out || out->version != CAIRN_ATTACH_VERSION)
		return false;
	out->problem[sizeof out->problem - 1] = 0;
	return true;
}

/* The variables that VECTOR points to in the process. */
static struct cairn_bytes read_vector(struct cairn_diagnosis *diagnosis, uint64_t vector)
{
	enum { variables_most = 1000, text_most = 4096 };
	uint64_t *pointers = cairn_arena_zero(&diagnosis->arena, variables_most + 1, sizeof *pointers);
	struct cairn_buffer text = cairn_buffer(1 << 20);
	for (size_t have = 0; have < variables_most && (have == 0 || pointers[have - 1]); have++)
		if (read_memory(diagnosis, vector + 8 * have, &pointers[have], 8) != 8)
			break;
	for (size_t i = 0; pointers[i] && !text.failed; i++) {
		char *room = cairn_buffer_room(&text, text_most);
		size_t length = room ? read_memory(diagnosis, pointers[i], room, text_most) : 0;
		size_t whole = strnlen(room ? room : "", length);
		text.length += whole;
		cairn_buffer_byte(&text, 0);
	}
	struct cairn_bytes copy = cairn_arena_keep(&diagnosis->arena, cairn_buffer_bytes(&text));
	cairn_buffer_free(&text);
	return copy;
}

/* A program that sets its own title overwrites its environment. libc still knows where the environment is now. */
static void recover_environment(struct cairn_diagnosis *diagnosis)
{
	if (diagnosis->environment.length > 0 && diagnosis->environment.data[0] &&
	    memchr(diagnosis->environment.data, '=', strnlen(diagnosis->environment.data, diagnosis->environment.length)))
		return;
	diagnosis->has_environment = false;
	for (size_t i = 0; i < diagnosis->module_count && !diagnosis->has_environment; i++) {
		uint64_t address, vector = 0;
		if (!exported_address(&diagnosis->modules[i], "environ", &address) ||
		    read_memory(diagnosis, address, &vector, sizeof vector) != sizeof vector || !vector)
			continue;
		diagnosis->environment = read_vector(diagnosis, vector);
		diagnosis->has_environment = diagnosis->environment.length > 0;
	}
}

bool cairn_diagnosis_is_static(const struct cairn_diagnosis *diagnosis)
{
	static const uint64_t is_pie = 0x08000000; /* DF_1_PIE: a program, not a library, although both are ET_DYN */
	const struct cairn_elf *elf = diagnosis->module_count ? diagnosis->modules[0].elf : NULL;
	if (!elf || cairn_elf_section(elf, ".interp"))
		return false;
	if (elf->type == ET_EXEC)
		return true;
	struct cairn_bytes entries = cairn_elf_named(elf, ".dynamic");
	for (; elf->type == ET_DYN && entries.length >= 16; entries = cairn_bytes_skip(entries, 16)) {
		uint64_t entry[2];
		memcpy(entry, entries.data, sizeof entry);
		if (entry[0] == DT_FLAGS_1)
			return (entry[1] & is_pie) != 0;
	}
	return false;
}

const char *cairn_diagnosis_variable(const struct cairn_diagnosis *diagnosis, const char *name)
{
	struct cairn_bytes rest = diagnosis->environment;
	size_t length = strlen(name);
	while (rest.length > 0) {
		size_t whole = strnlen(rest.data, rest.length);
		if (whole > length && memcmp(rest.data, name, length) == 0 && rest.data[length] == '=')
			return rest.data + length + 1;
		rest = cairn_bytes_skip(rest, whole + 1);
	}
	return NULL;
}

void cairn_diagnosis_field(const struct cairn_diagnosis *diagnosis, const char *path, char *out, size_t size)
{
	cairn_target_field(cairn_buffer_bytes(&diagnosis->agent), path, out, size);
}

bool cairn_diagnosis_is_own_engine(const struct cairn_diagnosis *diagnosis)
{
	char engine[16];
	if (diagnosis->kind == CAIRN_DIAGNOSIS_DUMP)
		return diagnosis->has_trailer &&
		       cairn_engine_is(cairn_trailer_value(&diagnosis->trailer, "engine"), CAIRN_ENGINE_CAIRN);
	cairn_diagnosis_field(diagnosis, "engine.name", engine, sizeof engine);
	return diagnosis->has_agent && cairn_engine_is(cairn_bytes_of(engine), CAIRN_ENGINE_CAIRN);
}

/* A jemalloc that replaces malloc takes precedence over one that is called by other names. */
static void choose_allocator(struct cairn_diagnosis *diagnosis)
{
	for (size_t i = 0; i < diagnosis->module_count; i++) {
		const struct cairn_diagnosis_module *module = &diagnosis->modules[i];
		if (!module->has_jemalloc)
			continue;
		diagnosis->jemalloc_count++;
		if (!diagnosis->allocator || (module->exports_malloc && !diagnosis->allocator->exports_malloc))
			diagnosis->allocator = module;
	}
	if (diagnosis->allocator && diagnosis->allocator->jemalloc.variable[0])
		diagnosis->variable = diagnosis->allocator->jemalloc.variable;
}

/* The settings compiled into the program or its jemalloc. */
static void read_compiled(struct cairn_diagnosis *diagnosis)
{
	uint64_t address;
	const struct cairn_diagnosis_module *program = &diagnosis->modules[0], *allocator = diagnosis->allocator;
	bool found = program->elf && cairn_elf_jemalloc_symbol(program->elf, &allocator->jemalloc, "malloc_conf", &address);
	const char *text = found ? cairn_elf_pointed_text(program->elf, address) : NULL;
	if (text && strlen(text) < 4096)
		cairn_malloc_conf_add(&diagnosis->conf, text);
}

static void read_conf(struct cairn_diagnosis *diagnosis)
{
	diagnosis->conf.arena = &diagnosis->arena;
	if (!diagnosis->allocator)
		return;
	read_compiled(diagnosis);
	if (diagnosis->kind != CAIRN_DIAGNOSIS_PROCESS)
		return;
	const char *link = diagnosis->allocator->jemalloc.link,
		   *value = diagnosis->variable ? cairn_diagnosis_variable(diagnosis, diagnosis->variable) : NULL;
	const char *linked = link[0] ? read_link(diagnosis, cairn_arena_format(&diagnosis->arena, "%s%s", diagnosis->root, link)) : NULL;
	if (linked)
		cairn_malloc_conf_add(&diagnosis->conf, linked);
	if (value && !diagnosis->is_secure)
		cairn_malloc_conf_add(&diagnosis->conf, value);
}

/* Takes the first of the numbers in TEXT off it. */
static bool take_number(struct cairn_bytes *text, uint64_t *number)
{
	struct cairn_bytes word = cairn_text_word(text);
	return cairn_text_decimal(&word, number);
}

/* The ids of a line are the real one, the effective one and others. */
static uint32_t effective_id(const char *status, const char *key)
{
	char room[64];
	uint64_t id = 0;
	cairn_proc_line(status, key, room, sizeof room);
	struct cairn_bytes ids = cairn_bytes_of(room);
	for (int i = 0; i < 2; i++)
		take_number(&ids, &id);
	return (uint32_t)id;
}

/* A user may have 65,536 groups. */
static const char *read_groups(struct cairn_diagnosis *diagnosis, const char *status)
{
	enum { size = 1 << 20 };
	char *room = cairn_array_new(size, 1);
	cairn_proc_line(status, "Groups:", room, size);
	const char *groups = cairn_arena_text(&diagnosis->arena, cairn_bytes_of(room));
	free(room);
	return groups;
}

bool cairn_diagnosis_has_group(const struct cairn_diagnosis *diagnosis, gid_t group)
{
	struct cairn_bytes ids = cairn_bytes_of(diagnosis->groups ? diagnosis->groups : "");
	bool has = diagnosis->group == group;
	for (uint64_t id; !has && take_number(&ids, &id);)
		has = id == group;
	return has;
}

static bool see_process(struct cairn_diagnosis *diagnosis, struct cairn_error *error)
{
	struct stat folder;
	char status[CAIRN_PROC_PATH];
	if (stat(cairn_proc_path(status, diagnosis->pid, ""), &folder) != 0)
		return cairn_fail(error, "no process %d", diagnosis->pid);
	diagnosis->root = cairn_arena_format(&diagnosis->arena, "/proc/%d/root", diagnosis->pid);
	diagnosis->folder = read_link(diagnosis, cairn_arena_format(&diagnosis->arena, "/proc/%d/cwd", diagnosis->pid));
	cairn_proc_path(status, diagnosis->pid, "status");
	diagnosis->state = cairn_proc_state(diagnosis->pid);
	diagnosis->user = effective_id(status, "Uid:");
	diagnosis->group = effective_id(status, "Gid:");
	diagnosis->groups = read_groups(diagnosis, status);
	if (!cairn_proc_kilobytes(status, "VmRSS:", &diagnosis->resident))
		diagnosis->resident = 0;
	diagnosis->limits = read_proc(diagnosis, "limits", NULL);
	diagnosis->environment = read_proc(diagnosis, "environ", &diagnosis->has_environment);
	diagnosis->is_secure = cairn_proc_is_secure(diagnosis->pid);
	if (diagnosis->state == 'Z' || diagnosis->resident == 0)
		return cairn_fail(error, "process %d has ended, or is a kernel thread", diagnosis->pid);
	list_modules(diagnosis);
	if (!diagnosis->has_maps && !diagnosis->modules[0].elf && !diagnosis->has_agent)
		return cairn_fail(error, "cannot inspect process %d: %s", diagnosis->pid,
				  geteuid() ? "it belongs to another user, or is protected; try as that user or as root"
					    : strerror(EACCES));
	recover_environment(diagnosis);
	choose_allocator(diagnosis);
	read_conf(diagnosis);
	diagnosis->can_attach = cairn_attach_is_possible(diagnosis->pid, false, &diagnosis->attach_problem);
	diagnosis->counts_nothing = diagnosis->can_attach && cairn_diagnosis_counts_nothing(diagnosis);
	if (diagnosis->counts_nothing)
		diagnosis->can_attach = cairn_fail(&diagnosis->attach_problem, "its allocator cannot be counted");
	return true;
}

static bool see_target(struct cairn_diagnosis *diagnosis, const char *name, const char *token, struct cairn_error *error)
{
	char text[16];
	diagnosis->kind = CAIRN_DIAGNOSIS_PROCESS;
	diagnosis->has_agent = cairn_target_find_or_start(&diagnosis->target, name, token, &diagnosis->agent_problem) &&
			       cairn_target_ask(&diagnosis->target, "GET", "/cairn/status", &diagnosis->agent,
						&diagnosis->agent_problem);
	diagnosis->pid = diagnosis->target.pid;
	if (!diagnosis->pid && !diagnosis->has_agent) {
		*error = diagnosis->agent_problem;
		return false;
	}
	if (!diagnosis->pid && diagnosis->target.socket[0]) {
		cairn_diagnosis_field(diagnosis, "pid", text, sizeof text);
		diagnosis->pid = atoi(text);
	}
	/* Only the agent knows about a process on another machine. */
	return diagnosis->pid ? see_process(diagnosis, error) : true;
}

bool cairn_diagnosis_has_own_root(struct cairn_diagnosis *diagnosis)
{
	struct stat ours, theirs;
	return diagnosis->pid && stat("/", &ours) == 0 &&
	       stat(cairn_arena_format(&diagnosis->arena, "%s/.", diagnosis->root), &theirs) == 0 &&
	       (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino);
}

static bool is_program(const char *name)
{
	struct cairn_file file;
	if (strcmp(name, "-") == 0 || !cairn_file_read(&file, name, NULL))
		return false;
	bool elf = cairn_elf_is(file.bytes);
	cairn_file_close(&file);
	return elf;
}

static bool see_binary(struct cairn_diagnosis *diagnosis, struct cairn_error *error)
{
	struct cairn_elf *elf = cairn_elf_open(diagnosis->name, error);
	if (!elf)
		return false;
	struct cairn_elf_section *code = cairn_elf_section(elf, ".text");
	bool bare = code && code->bytes.length == 0;
	cairn_elf_close(elf);
	if (bare)
		return cairn_fail(error, "%s is a separate debug file without code; give the program itself", diagnosis->name);
	diagnosis->kind = CAIRN_DIAGNOSIS_BINARY;
	diagnosis->root = "";
	cairn_array_room(diagnosis->modules, diagnosis->module_count, diagnosis->module_capacity);
	diagnosis->modules[diagnosis->module_count++] =
		(struct cairn_diagnosis_module){.path = diagnosis->name, .reachable = diagnosis->name};
	open_module(diagnosis, &diagnosis->modules[0]);
	choose_allocator(diagnosis);
	read_conf(diagnosis);
	return true;
}

static bool see_dump(struct cairn_diagnosis *diagnosis, struct cairn_error *error)
{
	diagnosis->kind = CAIRN_DIAGNOSIS_DUMP;
	diagnosis->dump = cairn_buffer(SIZE_MAX);
	cairn_profile_init(&diagnosis->profile);
	if (!cairn_files_text(diagnosis->name, &diagnosis->dump, error))
		return false;
	if (!cairn_profile_read(&diagnosis->profile, cairn_buffer_bytes(&diagnosis->dump), diagnosis->name,
				&(struct cairn_read_options){.with_freed = true}, error))
		return false;
	const struct cairn_profile *profile = &diagnosis->profile;
	diagnosis->has_trailer = cairn_trailer_read(cairn_strings_bytes(&profile->strings, profile->facts.trailer), &diagnosis->trailer);
	return true;
}

/* Of a folder, the newest dump. */
static bool choose_dump(struct cairn_diagnosis *diagnosis, struct cairn_error *error)
{
	struct cairn_dump_files list = {0};
	struct stat status;
	if (stat(diagnosis->name, &status) != 0 || !S_ISDIR(status.st_mode))
		return true;
	bool good = cairn_files_list(&list, 1, (char *[]){(char *)(uintptr_t)diagnosis->name}, error);
	if (good)
		diagnosis->name = cairn_arena_format(&diagnosis->arena, "%s", cairn_files_newest(&list, false)->path);
	cairn_files_free(&list);
	return good;
}

bool cairn_diagnosis_see(struct cairn_diagnosis *diagnosis, const char *name, const char *token, struct cairn_error *error)
{
	*diagnosis = (struct cairn_diagnosis){.name = name, .kind = CAIRN_DIAGNOSIS_PROCESS};
	if (cairn_target_is(name))
		return see_target(diagnosis, name, token, error);
	if (!choose_dump(diagnosis, error))
		return false;
	return is_program(diagnosis->name) ? see_binary(diagnosis, error) : see_dump(diagnosis, error);
}

void cairn_diagnosis_free(struct cairn_diagnosis *diagnosis)
{
	for (size_t i = 0; i < diagnosis->module_count; i++)
		if (diagnosis->modules[i].elf)
			cairn_elf_close(diagnosis->modules[i].elf);
	free(diagnosis->modules);
	if (diagnosis->kind == CAIRN_DIAGNOSIS_DUMP)
		cairn_profile_free(&diagnosis->profile);
	cairn_buffer_free(&diagnosis->agent);
	cairn_buffer_free(&diagnosis->dump);
	cairn_arena_free(&diagnosis->arena);
}
