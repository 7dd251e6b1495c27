/* visit.c - the piece of code for x86_64.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/visit.h"

static_assert(offsetof(struct cairn_visit, pause) == 72 && offsetof(struct cairn_visit, registers) == 88,
	      "the code knows the parameters by their offsets");

/* Hidden, so that their addresses are taken relative to the code. */
extern const char cairn_visit_begin[] __attribute__((visibility("hidden"))), cairn_visit_end[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"cairn_visit_begin:\n"
	"	leaq 1f(%rip), %rbx\n"
	"	movq 24(%rbx), %rsi\n"
	"	testq %rsi, %rsi\n"
	"	jz 2f\n"
	"	movl $9, %eax\n" /* mmap(room, room_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) */
	"	movq 16(%rbx), %rdi\n"
	"	movl $3, %edx\n"
	"	movl $0x100022, %r10d\n"
	"	movq $-1, %r8\n"
	"	xorl %r9d, %r9d\n"
	"	syscall\n"
	"	cmpq 16(%rbx), %rax\n"
	"	jne 5f\n"
	"2:	movq 48(%rbx), %r12\n"
	"3:	movq 40(%rbx), %rax\n"
	"	cmpl $1, (%rax)\n"
	"	je 4f\n"
	"	movl $270, %eax\n" /* pselect6(0, NULL, NULL, NULL, pause, NULL) */
	"	xorl %edi, %edi\n"
	"	xorl %esi, %esi\n"
	"	xorl %edx, %edx\n"
	"	xorl %r10d, %r10d\n"
	"	leaq 72(%rbx), %r8\n"
	"	xorl %r9d, %r9d\n"
	"	syscall\n"
	"	decq %r12\n"
	"	jnz 3b\n"
	"	jmp 5f\n"
	"4:	movq 32(%rbx), %rsi\n"
	"	testq %rsi, %rsi\n"
	"	jz 6f\n"
	"	movl $10, %eax\n" /* mprotect(room, code_size, PROT_READ | PROT_EXEC) */
	"	movq 16(%rbx), %rdi\n"
	"	movl $5, %edx\n"
	"	syscall\n"
	"	testq %rax, %rax\n"
	"	jnz 5f\n"
	"6:	movq 56(%rbx), %rsp\n"
	"	cld\n"
	"	call *64(%rbx)\n"
	"5:	testb $1, 10(%rbx)\n" /* the direction flag; then, without a stack, the others: 127 + 1 overflows */
	"	jz 7f\n"
	"	std\n"
	"7:	movl 8(%rbx), %eax\n"
	"	addb $127, %al\n"
	"	sahf\n"
	"	movq 88(%rbx), %rax\n	movq 96(%rbx), %rdx\n	movq 104(%rbx), %rcx\n	movq 120(%rbx), %rsi\n"
	"	movq 128(%rbx), %rdi\n	movq 144(%rbx), %rsp\n	movq 152(%rbx), %r8\n	movq 160(%rbx), %r9\n"
	"	movq 168(%rbx), %r10\n	movq 176(%rbx), %r11\n	movq 184(%rbx), %r12\n	movq 112(%rbx), %rbx\n"
	"	jmp *1f(%rip)\n"
	".balign 8\n"
	"1:\n"
	"cairn_visit_end:\n"
	".popsection\n");

void cairn_visit_return_to(struct cairn_visit *visit, const struct cairn_machine *machine)
{
	enum { direction = 1 << 10, overflow = 1 << 11 };
	uint64_t flags = machine->registers.eflags;
	uint64_t registers[CAIRN_REGISTERS];
	cairn_machine_to_dwarf(machine, registers);
	memcpy(visit->registers, registers, sizeof visit->registers);
	visit->resume = machine->registers.rip;
	visit->flags = (flags & 0xff) << 8 | ((flags & overflow) != 0) | (uint64_t)((flags & direction) != 0) << 16;
}

struct cairn_bytes cairn_visit_code(void)
{
	return (struct cairn_bytes){cairn_visit_begin, (size_t)(cairn_visit_end - cairn_visit_begin)};
}

/* It jumps through the parameters, which reach everywhere. */
bool cairn_visit_aim(char *code, uint64_t address, uint64_t resume)
{
	(void)code, (void)address, (void)resume;
	return true;
}
