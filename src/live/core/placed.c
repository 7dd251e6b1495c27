/* placed.c - finding the core by its first words, and sending threads to it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/core/placed.h"

#include "arch/visit.h"
#include "base/file.h"
#include "base/text.h"
#include "live/attach/borrow.h"
#include "live/attach/priority.h"
#include "live/inside/stop.h"
#include "process/clock.h"
#include "process/proc.h"
#include "symbol/live.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <time.h>

enum { slot_most = 1024, patience_ms = 5000, turn_us = 100 };

/* A visit under way. */
struct visit {
	struct cairn_placed *placed;
	struct cairn_visit parameters;
	uint64_t slot;
	char original[slot_most]; /* of the slot */
	const char *why;
	int64_t stopped_ns;
};

static void pause_us(long microseconds)
{
	nanosleep(&(struct timespec){0, microseconds * 1000}, NULL);
}

static size_t slot_size(void)
{
	return cairn_visit_code().length + sizeof(struct cairn_visit);
}

/* The memory map. */

struct hole {
	uint64_t low, size; /* wanted: from there on, so large */
	uint64_t found;
	uint64_t stack_end, vdso, vdso_end;
	uint64_t code, code_end; /* the last anonymous mapping of code, */
	uint64_t core, core_size; /* and one followed by memory that begins with the core's first words */
};

static bool begins_core(const struct cairn_subject *subject, uint64_t address)
{
	uint64_t magic = 0;
	return cairn_subject_read(subject, address, &magic, sizeof magic) == sizeof magic && magic == cairn_core_magic;
}

static void see_mapping(struct hole *hole, const struct cairn_subject *subject, const struct cairn_proc_map *map)
{
	if (cairn_bytes_equal(map->path, cairn_bytes_of("[stack]")))
		hole->stack_end = map->limit;
	if (cairn_bytes_equal(map->path, cairn_bytes_of("[vdso]"))) {
		hole->vdso = map->start;
		hole->vdso_end = map->limit;
	}
	if (map->limit > hole->found && map->start < hole->found + hole->size)
		hole->found = map->limit;
	bool anonymous = map->inode == 0 && !map->shared && (map->path.length == 0 || map->path.data[0] == '[');
	if (anonymous && map->executable && !map->writable) {
		hole->code = map->start;
		hole->code_end = map->limit;
	} else if (anonymous && map->writable && map->start == hole->code_end && begins_core(subject, map->start)) {
		hole->core = hole->code;
		hole->core_size = hole->code_end - hole->code;
	}
}

static bool read_maps(struct hole *hole, const struct cairn_subject *subject, struct cairn_error *error)
{
	char path[CAIRN_PROC_PATH];
	struct cairn_file maps;
	struct cairn_bytes line;
	struct cairn_proc_map map;
	hole->found = hole->low;
	cairn_priority_raise();
	bool read = cairn_file_read(&maps, cairn_proc_path(path, subject->pid, "maps"), error);
	cairn_priority_restore();
	if (!read)
		return false;
	for (struct cairn_bytes rest = maps.bytes; cairn_text_line(&rest, &line, NULL);)
		if (cairn_proc_map_parse(line, &map))
			see_mapping(hole, subject, &map);
	cairn_file_close(&maps);
	return true;
}

/* Finding. */

uint64_t cairn_placed_symbol(const struct cairn_placed *placed, const char *name)
{
	return placed->base + cairn_core_image_symbol(&placed->image, name, NULL);
}

static uint64_t address_of(const struct cairn_placed *placed, size_t member)
{
	return placed->base + placed->image.code_size + member;
}
#define AT(placed, member) address_of(placed, offsetof(struct cairn_core, member))

bool cairn_placed_read(const struct cairn_placed *placed, struct cairn_core *core)
{
	return placed->base && cairn_subject_read(placed->subject, AT(placed, magic), core, sizeof *core) == sizeof *core;
}

bool cairn_placed_open(struct cairn_placed *placed, const struct cairn_subject *subject, struct cairn_error *error)
{
	struct hole hole = {0};
	struct cairn_core core;
	*placed = (struct cairn_placed){.subject = subject};
	if (!cairn_core_image_open(&placed->image, error) || !read_maps(&hole, subject, error))
		return false;
	assert(cairn_core_image_symbol(&placed->image, "cairn_core", NULL) == placed->image.code_size);
	placed->base = hole.core;
	placed->vdso = hole.vdso;
	placed->vdso_end = hole.vdso_end;
	if (!hole.core)
		return true;
	bool same = hole.core_size == placed->image.code_size && cairn_placed_read(placed, &core) &&
		    core.version == CAIRN_CORE_VERSION && core.build == placed->image.build;
	return same || cairn_fail(error, "process %d has been attached to by another build of Cairn, which this command cannot take over",
				  subject->pid);
}

int cairn_placed_process(const struct cairn_placed *placed)
{
	return cairn_live_inner_pid(placed->subject->pid);
}

void cairn_placed_close(struct cairn_placed *placed)
{
	cairn_core_image_close(&placed->image);
}

/* Visiting. */

/* Behind all that is in the vdso: its section headers. */
static uint64_t room_in_vdso(const struct cairn_placed *placed)
{
	Elf64_Ehdr header;
	if (cairn_subject_read(placed->subject, placed->vdso, &header, sizeof header) != sizeof header || !header.e_shoff)
		return 0;
	uint64_t size = placed->vdso_end - placed->vdso, end = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
	uint64_t room = (end + 15) & ~(uint64_t)15;
	return end >= header.e_shoff && room < size && size - room >= slot_size() ? placed->vdso + room : 0;
}

/* The Nth place that a thread could come to, behind the code of a file or in the vdso, and what belongs there; 0 if there are no more. */
static uint64_t find_slot(const struct cairn_placed *placed, size_t n, char *original)
{
	uint64_t slot = cairn_subject_room_in_code(placed->subject, n, slot_size(), original);
	if (slot || (n > 0 && !cairn_subject_room_in_code(placed->subject, n - 1, slot_size(), original)))
		return slot;
	memset(original, 0, slot_size());
	return room_in_vdso(placed);
}

/* Where the thread comes: in a place of the core that was never used, or in one of the program. */
static bool choose_slot(struct visit *visit, char *code, uint64_t resume)
{
	const struct cairn_placed *placed = visit->placed;
	struct cairn_core core;
	uint64_t ways = placed->base ? cairn_placed_symbol(placed, "cairn_core_ways") : 0;
	visit->slot = 0;
	if (!visit->parameters.room_size && cairn_placed_read(placed, &core) && core.visits < CAIRN_CORE_WAYS &&
	    cairn_visit_aim(code, ways + core.visits * CAIRN_CORE_WAY, resume)) {
		visit->slot = ways + core.visits++ * CAIRN_CORE_WAY;
		return cairn_subject_write(placed->subject, AT(placed, visits), &core.visits, sizeof core.visits);
	}
	for (size_t n = 0;; n++) { /* the first that is near enough */
		visit->slot = find_slot(placed, n, visit->original);
		if (!visit->slot || cairn_visit_aim(code, visit->slot, resume))
			return visit->slot;
	}
}

static bool write_slot(struct visit *visit, const struct cairn_machine *resume)
{
	char code[slot_most];
	struct cairn_bytes piece = cairn_visit_code();
	const struct cairn_subject *subject = visit->placed->subject;
	assert(slot_size() <= slot_most);
	memcpy(code, piece.data, piece.length);
	if (!choose_slot(visit, code, cairn_machine_pc(resume))) {
		visit->why = "code that nothing of ours can lie near to";
		return false;
	}
	cairn_visit_return_to(&visit->parameters, resume);
	memcpy(code + piece.length, &visit->parameters, sizeof visit->parameters);
	return cairn_subject_write(subject, visit->slot, code, slot_size());
}

static enum cairn_borrow_outcome try_thread(void *context, const struct cairn_borrow_candidate *candidate)
{
	struct visit *visit = context;
	struct cairn_machine resume;
	uint64_t registers[CAIRN_REGISTERS], pc;
	int tid = candidate->tid;
	enum cairn_borrow_outcome stopped = cairn_borrow_stop(tid);
	if (stopped != CAIRN_BORROW_SENT)
		return stopped;
	visit->stopped_ns = cairn_clock_ns();
	bool sent = cairn_borrow_read(visit->placed->subject, candidate, &resume, registers, &pc) >= -1 &&
		    (cairn_machine_thread_pointer(tid, &resume) || (visit->why = "a program without a libc that the core knows", false)) &&
		    write_slot(visit, &resume);
	if (sent) {
		cairn_machine_set_pc(&resume, visit->slot);
		sent = cairn_machine_write_registers(tid, &resume);
	}
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return sent ? CAIRN_BORROW_SENT : CAIRN_BORROW_LEFT_ALONE;
}

/* The same for a thread that we have stopped ourselves as it left a system call. */
static bool send_traced(struct visit *visit, int tid, struct cairn_error *error)
{
	struct cairn_machine resume;
	bool sent = cairn_machine_read(tid, &resume) && write_slot(visit, &resume);
	if (sent) {
		cairn_machine_set_pc(&resume, visit->slot);
		sent = cairn_machine_write_registers(tid, &resume);
	}
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return sent || cairn_fail(error, "process %d has no room behind its code", visit->placed->subject->pid);
}

static bool has_ended(const struct cairn_subject *subject)
{
	char state = cairn_proc_state(subject->pid);
	return state == 0 || state == 'Z' || state == 'X';
}

/* Nobody is in the slot, nor in the core on a visit, nor will a signal handler return there: what stood in the slot can stand there again. */
static bool clean(void *context, int tid, struct cairn_error *error)
{
	const struct visit *visit = context;
	(void)tid;
	return cairn_subject_write(visit->placed->subject, visit->slot, visit->original, slot_size()) ||
	       cairn_fail_errno(error, "the memory of process %d cannot be written", visit->placed->subject->pid);
}

bool cairn_placed_tidy(struct cairn_placed *placed, struct cairn_error *error)
{
	const struct cairn_subject *subject = placed->subject;
	struct visit visit = {.placed = placed};
	char there[slot_most];
	bool good = true;
	for (size_t n = 0; good && (visit.slot = find_slot(placed, n, visit.original)); n++) {
		if (cairn_subject_read(subject, visit.slot, there, slot_size()) != slot_size() || memcmp(there, visit.original, slot_size()) == 0)
			continue;
		uint64_t size, enter = placed->base + cairn_core_image_symbol(&placed->image, "cairn_core_enter", &size);
		struct cairn_stop_place slot = {visit.slot - 1, visit.slot + slot_size()}, core = {enter - 1, enter + size};
		const struct cairn_stop_place places[] = {slot.start < core.start ? slot : core, slot.start < core.start ? core : slot};
		struct cairn_stop stop = {.pid = subject->pid, .places = placed->base ? places : &slot, .place_count = placed->base ? 2 : 1};
		good = cairn_stop_all(&stop, clean, &visit, error);
		placed->stopped_ns = stop.stopped_ns > placed->stopped_ns ? stop.stopped_ns : placed->stopped_ns;
	}
	return good;
}

static uint32_t get_state(const struct cairn_placed *placed)
{
	uint32_t state = CAIRN_CORE_NONE;
	cairn_subject_read(placed->subject, AT(placed, state), &state, sizeof state);
	return state;
}

static bool set_state(const struct cairn_placed *placed, uint32_t state)
{
	return cairn_subject_write(placed->subject, AT(placed, state), &state, sizeof state);
}

/* Whether the thread has come back without what it was sent for. It is seen outside of the slot also while it is in the core. */
static bool is_back(const struct visit *visit, int tid)
{
	enum { looks = 3 };
	for (int i = 0; i < looks; i++, pause_us(10000))
		if (!cairn_borrow_has_left(visit->placed->subject->pid, tid, visit->slot, slot_size()) ||
		    get_state(visit->placed) > CAIRN_CORE_READY)
			return false;
	return true;
}

/* Waits for IS_THERE. False once the thread is back, or the process has ended. */
static bool await(const struct visit *visit, int tid, bool (*is_there)(const struct cairn_placed *placed))
{
	enum { turns_each = 64 };
	for (unsigned turn = 1; !is_there(visit->placed); turn++, pause_us(50))
		if (turn % turns_each == 0 && (has_ended(visit->placed->subject) || is_back(visit, tid)))
			return is_there(visit->placed);
	return true;
}

static bool is_mapped(const struct cairn_placed *placed)
{
	char byte;
	return cairn_subject_read(placed->subject, placed->base, &byte, 1) == 1;
}

static bool is_done(const struct cairn_placed *placed)
{
	return get_state(placed) == CAIRN_CORE_DONE;
}

/* Sends a thread, TRACED or any, which is then in the slot; 0 if there is none. */
static int send(struct visit *visit, int traced, struct cairn_error *error)
{
	struct cairn_placed *placed = visit->placed;
	struct cairn_core core;
	int pid = placed->subject->pid;
	visit->why = "";
	visit->parameters.room = placed->base;
	visit->parameters.ready = AT(placed, state);
	visit->parameters.turns = patience_ms * 1000 / turn_us;
	visit->parameters.pause[1] = turn_us * 1000;
	/* The thread that came first may be held, and come again: its stack stays. */
	visit->parameters.stack = cairn_placed_symbol(placed, "cairn_core_stack") + CAIRN_CORE_STACK / (visit->parameters.room_size ? 1 : 2);
	visit->parameters.entrance = cairn_placed_symbol(placed, "cairn_core_enter");
	if (traced)
		return send_traced(visit, traced, error) ? traced : 0;
	/* Where the thread comes by the code of the program, a command that was killed may have left something there. */
	bool by_core = !visit->parameters.room_size && cairn_placed_read(placed, &core) && core.visits < CAIRN_CORE_WAYS;
	if (!by_core && !cairn_placed_tidy(placed, error))
		return 0;
	struct cairn_borrow borrow = {pid, placed->filtered, try_thread, visit, "that could be borrowed", &visit->why};
	return cairn_borrow_any(&borrow, error);
}

static bool finish(struct visit *visit, bool done)
{
	struct cairn_placed *placed = visit->placed;
	int64_t held_ns = cairn_clock_ns() - visit->stopped_ns;
	if (visit->stopped_ns)
		placed->held_ns = held_ns > placed->held_ns ? held_ns : placed->held_ns;
	if (!done)
		set_state(placed, CAIRN_CORE_NONE); /* should it come after all */
	return done;
}

/* Putting it there. */

/* The vdso's function that reads a clock. */
static uint64_t find_clock(const struct cairn_placed *placed)
{
	static char vdso[64 << 10];
	uint64_t size = placed->vdso_end - placed->vdso, found = 0;
	if (!size || size > sizeof vdso || cairn_subject_read(placed->subject, placed->vdso, vdso, size) != size)
		return 0;
	struct cairn_elf *elf = cairn_elf_open_bytes((struct cairn_bytes){vdso, size}, "the vdso", NULL);
	if (!elf)
		return 0;
	struct cairn_subject_module module = {.elf = elf, .bias = placed->vdso};
	found = cairn_subject_symbol(&module, "__vdso_clock_gettime");
	found = found ? found : cairn_subject_symbol(&module, "__kernel_clock_gettime");
	cairn_elf_close(elf);
	return found;
}

static bool fill(struct cairn_placed *placed, const struct cairn_core *core)
{
	uint64_t offset;
	struct cairn_bytes bytes;
	for (size_t n = 0; cairn_core_image_piece(&placed->image, n, &offset, &bytes); n++)
		if (!cairn_subject_write(placed->subject, placed->base + offset, bytes.data, bytes.length))
			return false;
	return cairn_subject_write(placed->subject, AT(placed, magic), core, sizeof *core) && set_state(placed, CAIRN_CORE_READY);
}

/* Far from all that the kernel and programs choose by themselves: three eighths of the way to the first thread's stack. */
static bool find_room(struct cairn_placed *placed, struct hole *hole, struct cairn_error *error)
{
	enum { margin = 2 << 20 };
	if (!read_maps(hole, placed->subject, error))
		return false;
	hole->low = hole->stack_end / 8 * 3 & ~(uint64_t)(margin - 1);
	hole->size = placed->image.size + margin;
	if (!read_maps(hole, placed->subject, error))
		return false;
	placed->base = (hole->found + margin - 1) & ~(uint64_t)(margin - 1);
	return hole->stack_end ? true : cairn_fail(error, "the memory map of process %d has no stack", placed->subject->pid);
}

static bool put(struct cairn_placed *placed, struct cairn_core *core, int traced, struct cairn_error *error)
{
	static struct visit visit;
	int pid = placed->subject->pid;
	visit = (struct visit){.placed = placed, .parameters = {.room_size = placed->image.size, .code_size = placed->image.code_size}};
	int tid = send(&visit, traced, error);
	if (!tid)
		return false;
	if (!await(&visit, tid, is_mapped)) {
		finish(&visit, false);
		return cairn_fail(error, has_ended(placed->subject) ? "process %d ended meanwhile"
								    : "process %d cannot map memory: a limit, or a filter of its system calls",
				  pid);
	}
	if (!fill(placed, core))
		return finish(&visit, false) || cairn_fail_errno(error, "the memory of process %d cannot be written", pid);
	if (!finish(&visit, await(&visit, tid, is_done)))
		return cairn_fail(error,
				  has_ended(placed->subject)
					  ? "process %d ended meanwhile"
					  : "process %d may not make memory executable, by a security module (SELinux) or a seccomp filter",
				  pid);
	return true;
}

/* Has a thread do what CORE says, in a core that is there. */
static bool visit_again(struct cairn_placed *placed, struct cairn_core *core, struct cairn_error *error)
{
	static struct visit visit;
	visit = (struct visit){.placed = placed};
	core->state = CAIRN_CORE_NONE;
	if (!cairn_subject_write(placed->subject, AT(placed, magic), core, sizeof *core) || !set_state(placed, CAIRN_CORE_READY))
		return cairn_fail_errno(error, "the memory of process %d cannot be written", placed->subject->pid);
	int tid = send(&visit, 0, error);
	return tid && (finish(&visit, await(&visit, tid, is_done)) || cairn_fail(error, "process %d ended meanwhile", placed->subject->pid));
}

bool cairn_placed_visit(struct cairn_placed *placed, struct cairn_core *wanted, int traced, struct cairn_error *error)
{
	struct hole hole = {0};
	sigset_t stops, before; /* SIGCHLD wakes us up as soon as a thread has stopped */
	bool is_there = placed->base;
	if (!is_there && !find_room(placed, &hole, error))
		return false;
	wanted->magic = cairn_core_magic;
	wanted->version = CAIRN_CORE_VERSION;
	wanted->build = placed->image.build;
	wanted->process = (uint32_t)cairn_placed_process(placed);
	wanted->stays = traced != 0;
	if (!is_there) {
		wanted->hold = traced != 0;
		wanted->clock = find_clock(placed);
		wanted->stack_top = hole.stack_end - 8;
	}
	sigemptyset(&stops);
	sigaddset(&stops, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &stops, &before);
	cairn_priority_raise();
	bool done = is_there ? visit_again(placed, wanted, error) : put(placed, wanted, traced, error);
	cairn_priority_restore();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	placed->base = done || is_there ? placed->base : 0;
	if (!done)
		return false;
	if (!cairn_placed_read(placed, wanted))
		return cairn_fail(error, "the memory of process %d cannot be read", placed->subject->pid);
	errno = (int)-wanted->failure;
	return wanted->failure == 0 || cairn_fail_errno(error, "process %d cannot make memory for a ledger of %llu bytes", placed->subject->pid,
							(unsigned long long)wanted->ledger_bytes);
}

bool cairn_placed_release(struct cairn_placed *placed, struct cairn_error *error)
{
	uint32_t nobody = 0;
	return cairn_subject_write(placed->subject, AT(placed, hold), &nobody, sizeof nobody) && cairn_placed_tidy(placed, error);
}
