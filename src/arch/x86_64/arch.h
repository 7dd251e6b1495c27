/* arch.h - x86-64, as its psABI has it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_ARCH_X86_64_ARCH_H
#define CAIRN_ARCH_X86_64_ARCH_H

#define CAIRN_ARCH_NAME "x86_64"

enum { CAIRN_ARCH_ELF = EM_X86_64 };
enum { CAIRN_REGISTERS = 17, CAIRN_REGISTER_SP = 7, CAIRN_REGISTER_FP = 6, CAIRN_REGISTER_RETURN = 16, CAIRN_RETURN_IS_PC = 1 };
enum { CAIRN_ARCH_JUMP_SLOT = R_X86_64_JUMP_SLOT, CAIRN_ARCH_GLOBAL_DATA = R_X86_64_GLOB_DAT, CAIRN_ARCH_ABSOLUTE = R_X86_64_64 };
enum { CAIRN_ARCH_SIGNAL_REGISTERS = 0 }; /* libc's stub has rules */

#define CAIRN_ARCH_SLOW_HALF(name, function)                                                                                   \
	__asm__(".pushsection cairn_sampler,\"ax\",@progbits\n"                                                                  \
		".balign 16\n.globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name ":\n"                       \
		".cfi_startproc\nendbr64\nsubq $56, %rsp\n.cfi_adjust_cfa_offset 56\n"                                          \
		"movq %rdi, (%rsp)\nmovq %rsi, 8(%rsp)\nmovq %rdx, 16(%rsp)\nmovq %rcx, 24(%rsp)\nmovq %r8, 32(%rsp)\n"           \
		"movq %r9, 40(%rsp)\nmovq %r11, %rdi\nmovq %rsp, %rsi\ncall " #function "\n"                                     \
		"testq %rdx, %rdx\njnz 1f\naddq $56, %rsp\n.cfi_remember_state\n.cfi_adjust_cfa_offset -56\nret\n.cfi_restore_state\n" \
		"1: movq %rdx, %r11\nmovq (%rsp), %rdi\nmovq 8(%rsp), %rsi\nmovq 16(%rsp), %rdx\nmovq 24(%rsp), %rcx\n"         \
		"movq 32(%rsp), %r8\nmovq 40(%rsp), %r9\naddq $56, %rsp\n.cfi_adjust_cfa_offset -56\njmp *%r11\n.cfi_endproc\n.size " #name ", . - " #name "\n.popsection\n")
#define CAIRN_ARCH_PROBE_1(note, name, first) __asm__ volatile(note(name, "8@%%rdi") : : "D"(first))
#define CAIRN_ARCH_PROBE_3(note, name, first, second, third)                                                                   \
	__asm__ volatile(note(name, "8@%%rdi 8@%%rsi 8@%%rdx") : : "D"(first), "S"(second), "d"(third))

__attribute__((always_inline)) static inline uint64_t cairn_arch_registers(uint64_t values[CAIRN_REGISTERS])
{
	uint64_t pc;
	__asm__ volatile("movq %%rbx, 24(%1)\n\t"
			 "movq %%rbp, 48(%1)\n\t"
			 "movq %%rsp, 56(%1)\n\t"
			 "movq %%r12, 96(%1)\n\t"
			 "movq %%r13, 104(%1)\n\t"
			 "movq %%r14, 112(%1)\n\t"
			 "movq %%r15, 120(%1)\n\t"
			 "leaq 0(%%rip), %0"
			 : "=r"(pc)
			 : "r"(values)
			 : "memory");
	return pc;
}

static inline uint64_t cairn_arch_interrupted(uint64_t values[CAIRN_REGISTERS], const ucontext_t *context)
{
	static const unsigned char places[CAIRN_REGISTERS - 1] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
		REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
	};
	for (unsigned i = 0; i < CAIRN_REGISTERS - 1; i++)
		values[i] = (uint64_t)context->uc_mcontext.gregs[places[i]];
	return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
}

static inline uint64_t cairn_arch_plain_address(uint64_t address)
{
	return address;
}

static inline bool cairn_arch_is_call(const unsigned char before[8])
{
	static const unsigned char sizes[] = {2, 3, 4, 6, 7}; /* of a call through a register or memory, without prefixes */
	enum { relative = 0xe8, indirect = 0xff, relative_size = 5 };
	const size_t all = 8;
	bool found = before[all - relative_size] == relative;
	for (size_t i = 0; i < sizeof sizes; i++)
		found = found || (before[all - sizes[i]] == indirect && (before[all - sizes[i] + 1] & 0x38) == 0x10);
	return found;
}

static inline bool cairn_arch_is_signal_return(uint64_t first, uint64_t second)
{
	(void)first, (void)second;
	return false;
}

static inline bool cairn_arch_is_idle_rule(uint8_t opcode)
{
	(void)opcode;
	return false;
}

__attribute__((always_inline)) static inline long cairn_arch_call_with(long number, const uintptr_t arguments[6])
{
	register uintptr_t r10 __asm__("r10") = arguments[3], r8 __asm__("r8") = arguments[4], r9 __asm__("r9") = arguments[5];
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline uintptr_t cairn_arch_thread_pointer(void)
{
	enum { get_fs = 0x1003 }; /* arch_prctl's ARCH_GET_FS */
	uintptr_t pointer = 0;
	return cairn_arch_call_with(SYS_arch_prctl, (const uintptr_t[6]){get_fs, (uintptr_t)&pointer}) == 0 ? pointer : 0;
}

/* The ABI has it begin with its own address. */
static inline uintptr_t cairn_arch_thread_word(void)
{
	uintptr_t word;
	__asm__ volatile("movq %%fs:0, %0" : "=r"(word));
	return word;
}

#endif
