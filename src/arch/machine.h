/* machine.h - the part of an injection that differs between architectures: registers, and the piece of code.
 *
 * The piece has two entrances. A thread of the process is sent to the first. It saves all registers, takes memory for a stack, blocks
 * signals and either starts a thread at the second entrance, by libc's own functions, or calls that itself; then it restores everything,
 * including errno, and jumps back to where the thread was. The second entrance makes the call that is wanted and leaves its result.
 *
 * Both read `struct cairn_machine_parameters` behind the code, and write to a `struct cairn_machine_mailbox` in unused bytes of a
 * library's data.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_ARCH_MACHINE_H
#define CAIRN_ARCH_MACHINE_H

#include "arch/arch.h"
#include "base/bytes.h"

#include <assert.h>
#include <sys/user.h>

/* The code knows these by their offsets. */
struct cairn_machine_parameters {
	uint64_t memory_size, save_size; /* of all that it maps, and of the vector registers at its start */
	uint64_t blocked;                /* signals, during the calls */
	uint64_t errno_location;         /* libc's function */
	uint64_t function, arguments[3]; /* the call */
	uint64_t describe;               /* called where its result is 0, for a text that says why; 0 for none */
	uint64_t mailbox;
	uint64_t resume; /* where the thread goes on */
	uint64_t create; /* pthread_create; 0 to make the call on the thread itself */
	uint64_t attributes_init, attributes_detached, attributes_stack;
	uint64_t entrance; /* the second one */
	uint64_t stack_size; /* of a thread that is started */
	uint64_t text_most;  /* how much of a description there is room for in the mailbox */
	char text[256];
};

/* Of the call. */
enum cairn_machine_state { CAIRN_MACHINE_BUSY = 1, CAIRN_MACHINE_DONE = 2, CAIRN_MACHINE_PREPARED = 3 };

/* Of the thread that was sent: under way in the piece, or about to jump back. */
enum cairn_machine_borrowed { CAIRN_MACHINE_AWAY = 1, CAIRN_MACHINE_RETURNING = 2 };

struct cairn_machine_mailbox {
	uint64_t magic, state;
	uint64_t result;
	uint64_t thread;   /* that made the call, as the process numbers it */
	uint64_t borrowed; /* enum cairn_machine_borrowed */
	uint64_t memory;   /* that the piece has mapped; 0 for none */
	uint64_t failure;  /* what pthread_create returned, or mmap's error below zero */
	uint64_t errno_address, errno_value; /* of the thread that was sent */
};

/* The description follows it, as much of it as there is room for. */
enum { CAIRN_MACHINE_TEXT = 184 };

static const uint64_t cairn_machine_magic = 0x4341495252534d42;

/* A stopped thread. */
struct cairn_machine {
	struct user_regs_struct registers;
	uint64_t signals; /* its mask */
	size_t vectors_size;
	unsigned char vectors[16 << 10];
};

/* What /proc/PID/task/TID/syscall told before the thread was stopped. */
struct cairn_machine_call {
	long number; /* -1 where it was in none */
	uint64_t arguments[6], sp, pc;
};

/* The piece; where in it the second entrance is. */
struct cairn_bytes cairn_machine_code(void);
size_t cairn_machine_entrance(void);

/* Completes a copy of the piece that will lie at ADDRESS, for a thread that goes on at RESUME. False where that is too far away. */
bool cairn_machine_aim(char *code, uint64_t address, uint64_t resume);

/* How much room it needs for the vector registers; 0 where this processor cannot save them. */
size_t cairn_machine_save_size(void);

/* Which set of ptrace's holds the vector registers. Whether a stopped thread, whose general registers have been read, is one that the piece
 * can save: it may be of another architecture, or use registers that the piece does not know. */
extern const int cairn_machine_vectors;
bool cairn_machine_fits(int tid, const struct cairn_machine *machine);

/* Reads the registers and the signal mask of thread TID, which has stopped. Returns false also if it does not fit. */
bool cairn_machine_read(int tid, struct cairn_machine *machine);

/* Only the general registers. */
bool cairn_machine_read_registers(int tid, struct cairn_machine *machine);

/* Sets the general registers of thread TID, which has stopped. */
bool cairn_machine_write_registers(int tid, struct cairn_machine *machine);

/* Sets all that cairn_machine_read reads. */
bool cairn_machine_write(int tid, struct cairn_machine *machine);

uint64_t cairn_machine_pc(const struct cairn_machine *machine);
uint64_t cairn_machine_sp(const struct cairn_machine *machine);

/* Where the thread-local memory of stopped thread TID is; 0 before a libc has given it some. */
uint64_t cairn_machine_thread_pointer(int tid, const struct cairn_machine *machine);

/* Makes the thread continue at PC, as code that runs and is in no system call: what the kernel remembers of an interrupted call (x86_64) or
 * of the last branch (aarch64) is cleared as well. */
void cairn_machine_set_pc(struct cairn_machine *machine, uint64_t pc);

/* The registers by their DWARF numbers. */
void cairn_machine_to_dwarf(const struct cairn_machine *machine, uint64_t to[CAIRN_REGISTERS]);

/* Where the thread was interrupted in a system call, which may be BEFORE: turns its registers into those with which it begins that again,
 * and returns the call's number. -1 where it was in none. Some calls end with EINTR whatever interrupts them, and would even if the
 * registers were left alone: *AT_ONCE. */
long cairn_machine_restart(struct cairn_machine *machine, const struct cairn_machine_call *before, bool *at_once);

#endif
