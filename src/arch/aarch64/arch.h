/* arch.h - AArch64, as its psABI has it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_ARCH_AARCH64_ARCH_H
#define CAIRN_ARCH_AARCH64_ARCH_H

#define CAIRN_ARCH_NAME "aarch64"

enum { CAIRN_ARCH_ELF = EM_AARCH64 };
enum { CAIRN_REGISTERS = 32, CAIRN_REGISTER_SP = 31, CAIRN_REGISTER_FP = 29, CAIRN_REGISTER_RETURN = 30, CAIRN_RETURN_IS_PC = 0 };
enum { CAIRN_ARCH_JUMP_SLOT = R_AARCH64_JUMP_SLOT, CAIRN_ARCH_GLOBAL_DATA = R_AARCH64_GLOB_DAT, CAIRN_ARCH_ABSOLUTE = R_AARCH64_ABS64 };
/* Signal handlers return to the kernel's stub; behind a siginfo lie x0 to x30, sp and the pc. */
enum { CAIRN_ARCH_SIGNAL_REGISTERS = sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs) };

#define CAIRN_ARCH_SLOW_HALF(name, function)                                                                                   \
	__asm__(".pushsection cairn_sampler,\"ax\",@progbits\n"                                                                  \
		".balign 16\n.globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name ":\n"                       \
		".cfi_startproc\nhint #34\nstp x29, x30, [sp, #-64]!\n.cfi_def_cfa_offset 64\n.cfi_offset 29, -64\n"              \
		".cfi_offset 30, -56\nmov x29, sp\nstp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\n"        \
		"mov x0, x16\nadd x1, sp, #16\nbl " #function "\ncbnz x1, 1f\nldp x29, x30, [sp], #64\n.cfi_remember_state\n"    \
		".cfi_restore 30\n.cfi_restore 29\n.cfi_def_cfa_offset 0\nret\n.cfi_restore_state\n"                          \
		"1: mov x16, x1\nldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\nldp x29, x30, [sp], #64\n" \
		".cfi_restore 30\n.cfi_restore 29\n.cfi_def_cfa_offset 0\nbr x16\n.cfi_endproc\n.size " #name ", . - " #name "\n.popsection\n")
#define CAIRN_ARCH_PROBE_1(note, name, first)                                                                                  \
	do {                                                                                                                   \
		register uint64_t x0 __asm__("x0") = first;                                                                    \
		__asm__ volatile(note(name, "8@x0") : : "r"(x0));                                                              \
	} while (0)
#define CAIRN_ARCH_PROBE_3(note, name, first, second, third)                                                                   \
	do {                                                                                                                   \
		register uint64_t x0 __asm__("x0") = first, x1 __asm__("x1") = second, x2 __asm__("x2") = third;               \
		__asm__ volatile(note(name, "8@x0 8@x1 8@x2") : : "r"(x0), "r"(x1), "r"(x2));                                  \
	} while (0)

__attribute__((always_inline)) static inline uint64_t cairn_arch_registers(uint64_t values[CAIRN_REGISTERS])
{
	uint64_t pc;
	__asm__ volatile("stp x19, x20, [%1, #152]\n\t"
			 "stp x21, x22, [%1, #168]\n\t"
			 "stp x23, x24, [%1, #184]\n\t"
			 "stp x25, x26, [%1, #200]\n\t"
			 "stp x27, x28, [%1, #216]\n\t"
			 "stp x29, x30, [%1, #232]\n\t"
			 "mov %0, sp\n\t"
			 "str %0, [%1, #248]\n\t"
			 "adr %0, ."
			 : "=&r"(pc)
			 : "r"(values)
			 : "memory");
	return pc;
}

static inline uint64_t cairn_arch_interrupted(uint64_t values[CAIRN_REGISTERS], const ucontext_t *context)
{
	for (unsigned i = 0; i < 31; i++)
		values[i] = context->uc_mcontext.regs[i];
	values[CAIRN_REGISTER_SP] = context->uc_mcontext.sp;
	return context->uc_mcontext.pc;
}

static inline uint64_t cairn_arch_plain_address(uint64_t address)
{
	register uint64_t x30 __asm__("x30") = address;
	__asm__("hint #7" : "+r"(x30)); /* xpaclri; does nothing where there is no such thing */
	return x30;
}

static inline bool cairn_arch_is_call(const unsigned char before[8])
{
	uint32_t last;
	memcpy(&last, before + 4, sizeof last);
	return last >> 26 == 0x25 || (last & 0xfffffc1f) == 0xd63f0000; /* bl, blr */
}

static inline bool cairn_arch_is_signal_return(uint64_t first, uint64_t second)
{
	return first == 0xd2801168 && second == 0xd4000001; /* mov x8, #139; svc #0 */
}

/* AARCH64_negate_ra_state, with and without the pc: bits that authenticate are always removed. */
static inline bool cairn_arch_is_idle_rule(uint8_t opcode)
{
	return opcode == 0x2c || opcode == 0x2d;
}

__attribute__((always_inline)) static inline long cairn_arch_call_with(long number, const uintptr_t arguments[6])
{
	register long result __asm__("x0") = (long)arguments[0];
	register uintptr_t x1 __asm__("x1") = arguments[1], x2 __asm__("x2") = arguments[2], x3 __asm__("x3") = arguments[3];
	register uintptr_t x4 __asm__("x4") = arguments[4], x5 __asm__("x5") = arguments[5];
	register long x8 __asm__("x8") = number;
	__asm__ volatile("svc #0" : "+r"(result) : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8) : "memory");
	return result;
}

static inline uintptr_t cairn_arch_thread_pointer(void)
{
	uintptr_t pointer;
	__asm__ volatile("mrs %0, tpidr_el0" : "=r"(pointer));
	return pointer;
}

static inline uintptr_t cairn_arch_thread_word(void)
{
	return cairn_arch_thread_pointer();
}

#endif
