/* arch.h - everything that differs between processors: registers, instructions, relocations and system calls.
 *
 * Each processor has a folder with two files. Its arch.h has what this header describes; its machine.c is the code that `cairn attach` puts
 * into a process (arch/machine.h). To add a processor, write its folder, named as Meson names it, and give it its rows below.
 *
 *   CAIRN_ARCH_NAME             its name, as in the names of folders of libraries
 *   CAIRN_ARCH_ELF              its number in ELF files
 *   CAIRN_REGISTERS             the number of registers that rules of .eh_frame name, by DWARF's numbers, and that matter for a stack
 *   CAIRN_REGISTER_SP, _FP      the stack pointer and the frame pointer among them
 *   CAIRN_REGISTER_RETURN       the one that rules call the return address,
 *   CAIRN_RETURN_IS_PC          which is the pc itself or a register of its own
 *   CAIRN_ARCH_JUMP_SLOT, CAIRN_ARCH_GLOBAL_DATA, CAIRN_ARCH_ABSOLUTE
 *                               the relocations of a word that holds the address of a symbol
 *   CAIRN_ARCH_SIGNAL_REGISTERS where signal handlers return to a stub without rules: how far above the stack pointer the registers of the
 *                               interrupted code lie, in the order of their numbers, and then the pc; 0 where the stub has rules
 *   CAIRN_ARCH_SLOW_HALF        (NAME, FUNCTION), at top level: the code that stubs (stub.h) go on with calls FUNCTION with the description of
 *                               what was called and the six arguments, in an array. It returns the first of two words that it gets, or jumps
 *                               to the second, with the arguments as they were, if that is not 0
 *   CAIRN_ARCH_PROBE_1, CAIRN_ARCH_PROBE_3
 *                               (NOTE, NAME, VALUE...): a probe with that many values, which NOTE(NAME, PLACES) describes
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_ARCH_ARCH_H
#define CAIRN_ARCH_ARCH_H

#include <elf.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#if defined(__x86_64__)
#include "arch/x86_64/arch.h"
#elif defined(__aarch64__)
#include "arch/aarch64/arch.h"
#else
#error "Cairn knows x86_64 and aarch64"
#endif

/* The type of relocation that adds where a file is loaded to a word in it, for each processor whose files are read, by its number in ELF
 * files; 0 for others. */
static inline uint32_t cairn_arch_relative(uint16_t elf)
{
	return elf == EM_X86_64 ? R_X86_64_RELATIVE : elf == EM_AARCH64 ? R_AARCH64_RELATIVE : 0;
}

/* Stores the registers that a function keeps for its caller at VALUES, by their numbers, and returns the pc: of the function itself, since
 * it is always inlined. */
static inline uint64_t cairn_arch_registers(uint64_t values[CAIRN_REGISTERS]);

/* The same for all registers of the code that a signal interrupted. */
static inline uint64_t cairn_arch_interrupted(uint64_t values[CAIRN_REGISTERS], const ucontext_t *context);

/* A return address without the bits that authenticate it. */
static inline uint64_t cairn_arch_plain_address(uint64_t address);

/* Whether the eight bytes BEFORE an address end with a call. */
static inline bool cairn_arch_is_call(const unsigned char before[8]);

/* Whether the words FIRST and SECOND are the instructions of the stub that CAIRN_ARCH_SIGNAL_REGISTERS is about. */
static inline bool cairn_arch_is_signal_return(uint64_t first, uint64_t second);

/* Whether OPCODE of .eh_frame, one that is the processor's own, changes nothing here. */
static inline bool cairn_arch_is_idle_rule(uint8_t opcode);

/* Makes a system call with up to six arguments. Needs no libc: an error is below zero, and does not go into errno. */
#define cairn_arch_call(number, ...) cairn_arch_call_with(number, (const uintptr_t[6]){__VA_ARGS__})
static inline long cairn_arch_call_with(long number, const uintptr_t arguments[6]);

/* Where thread-local memory of the calling thread is. */
static inline uintptr_t cairn_arch_thread_pointer(void);

/* The same without a system call, for a thread that has some. */
static inline uintptr_t cairn_arch_thread_word(void);

#endif
