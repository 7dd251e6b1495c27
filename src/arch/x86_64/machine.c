/* machine.c - registers and the piece of code, for x86_64.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/machine.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

static_assert(offsetof(struct cairn_machine_parameters, text) == 144, "the code knows the parameters by their offsets");
static_assert(sizeof(struct cairn_machine_mailbox) == 72, "and the mailbox");

#define HIDDEN __attribute__((visibility("hidden")))
/* Hidden, so that their addresses are taken relative to the code: a linker may give labels of one section one entry in its table. */
extern const char cairn_machine_begin[] HIDDEN, cairn_machine_second[] HIDDEN, cairn_machine_end[] HIDDEN;
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"cairn_machine_begin:\n"
	"	leaq -128(%rsp), %rsp\n" /* below the red zone; no flags change */
	"	pushfq\n"
	"	pushq %rax\n	pushq %rbx\n	pushq %rcx\n	pushq %rdx\n	pushq %rsi\n	pushq %rdi\n	pushq %rbp\n"
	"	pushq %r8\n	pushq %r9\n	pushq %r10\n	pushq %r11\n	pushq %r12\n	pushq %r13\n	pushq %r14\n	pushq "
	"%r15\n"
	"	cld\n"
	"	movq %rsp, %rbp\n"
	"	movq 1f+72(%rip), %rdi\n"
	"	movq $1, 8(%rdi)\n"
	"	movq $1, 32(%rdi)\n"
	"	movl $9, %eax\n" /* mmap(NULL, memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) */
	"	xorl %edi, %edi\n"
	"	movq 1f+0(%rip), %rsi\n"
	"	movl $3, %edx\n"
	"	movl $0x22, %r10d\n"
	"	movq $-1, %r8\n"
	"	xorl %r9d, %r9d\n"
	"	syscall\n"
	"	movq 1f+72(%rip), %rdi\n"
	"	cmpq $-4096, %rax\n"
	"	ja 8f\n"
	"	movq %rax, %rbx\n"
	"	movq %rbx, 40(%rdi)\n"
	"	xorl %r14d, %r14d\n"
	"	movl $-1, %eax\n"
	"	movl $-1, %edx\n"
	"	xsave64 (%rbx)\n"
	"	movl $14, %eax\n" /* rt_sigprocmask(SIG_SETMASK, &blocked, memory + save_size, 8) */
	"	movl $2, %edi\n"
	"	leaq 1f+16(%rip), %rsi\n"
	"	movq 1f+8(%rip), %rdx\n"
	"	addq %rbx, %rdx\n"
	"	movl $8, %r10d\n"
	"	syscall\n"
	"	movq 1f+0(%rip), %rcx\n"
	"	leaq -256(%rbx,%rcx), %rsp\n" /* functions may look above their return address */
	"	call *1f+24(%rip)\n"
	"	movq %rax, %r12\n"
	"	movl (%rax), %r13d\n"
	"	movq 1f+72(%rip), %rdi\n"
	"	movq %r12, 56(%rdi)\n"
	"	movq %r13, 64(%rdi)\n"
	"	cmpq $0, 1f+88(%rip)\n"
	"	jne 4f\n"
	"	call cairn_machine_second\n"
	"	jmp 2f\n"
	"4:	movq 1f+8(%rip), %r15\n" /* the attributes lie behind the mask, the thread's handle behind them */
	"	leaq 64(%rbx,%r15), %r15\n"
	"	movq %r15, %rdi\n"
	"	call *1f+96(%rip)\n"
	"	movq %r15, %rdi\n"
	"	movl $1, %esi\n" /* PTHREAD_CREATE_DETACHED */
	"	call *1f+104(%rip)\n"
	"	movq %r15, %rdi\n"
	"	movq 1f+128(%rip), %rsi\n"
	"	call *1f+112(%rip)\n"
	"	leaq 128(%r15), %rdi\n"
	"	movq %r15, %rsi\n"
	"	movq 1f+120(%rip), %rdx\n"
	"	xorl %ecx, %ecx\n"
	"	call *1f+88(%rip)\n"
	"	movl %eax, %r14d\n"
	"2:	movl %r13d, (%r12)\n"
	"	movl $14, %eax\n"
	"	movl $2, %edi\n"
	"	movq 1f+8(%rip), %rsi\n"
	"	addq %rbx, %rsi\n"
	"	xorl %edx, %edx\n"
	"	movl $8, %r10d\n"
	"	syscall\n"
	"	movl $-1, %eax\n"
	"	movl $-1, %edx\n"
	"	xrstor64 (%rbx)\n"
	"	movq %rbp, %rsp\n"
	"	movl $11, %eax\n" /* munmap */
	"	movq %rbx, %rdi\n"
	"	movq 1f+0(%rip), %rsi\n"
	"	syscall\n"
	"	movq 1f+72(%rip), %rdi\n"
	"	movq $0, 40(%rdi)\n"
	"	movq %r14, %rax\n"
	"	testq %rax, %rax\n"
	"	jz 3f\n"
	"8:	movq %rax, 48(%rdi)\n" /* nobody makes the call */
	"	movq $2, 8(%rdi)\n"
	"3:	movq $2, 32(%rdi)\n"
	"	popq %r15\n	popq %r14\n	popq %r13\n	popq %r12\n	popq %r11\n	popq %r10\n	popq %r9\n	popq %r8\n"
	"	popq %rbp\n	popq %rdi\n	popq %rsi\n	popq %rdx\n	popq %rcx\n	popq %rbx\n	popq %rax\n"
	"	popfq\n"
	"	leaq 128(%rsp), %rsp\n"
	"	jmp *1f+80(%rip)\n"
	"cairn_machine_second:\n"
	"	pushq %rbx\n	pushq %r12\n	pushq %r13\n"
	"	movq 1f+72(%rip), %rbx\n"
	"	movl $186, %eax\n" /* gettid */
	"	syscall\n"
	"	movq %rax, 24(%rbx)\n"
	"	movq 1f+40(%rip), %rdi\n"
	"	movq 1f+48(%rip), %rsi\n"
	"	movq 1f+56(%rip), %rdx\n"
	"	xorl %eax, %eax\n"
	"	call *1f+32(%rip)\n"
	"	movq %rax, 16(%rbx)\n"
	"	testq %rax, %rax\n"
	"	jnz 7f\n"
	"	cmpq $0, 1f+64(%rip)\n"
	"	je 7f\n"
	"	call *1f+64(%rip)\n"
	"	testq %rax, %rax\n"
	"	jz 7f\n"
	"	leaq 72(%rbx), %rdi\n"
	"	movl 1f+136(%rip), %ecx\n"
	"	testl %ecx, %ecx\n"
	"	jz 7f\n"
	"5:	movb (%rax), %dl\n"
	"	movb %dl, (%rdi)\n"
	"	testb %dl, %dl\n"
	"	jz 7f\n"
	"	incq %rax\n"
	"	incq %rdi\n"
	"	decl %ecx\n"
	"	jnz 5b\n"
	"7:	movq $2, 8(%rbx)\n"
	"	popq %r13\n	popq %r12\n	popq %rbx\n"
	"	xorl %eax, %eax\n"
	"	ret\n"
	".balign 8\n"
	"1:\n"
	"cairn_machine_end:\n"
	".popsection\n");

struct cairn_bytes cairn_machine_code(void)
{
	return (struct cairn_bytes){cairn_machine_begin, (size_t)(cairn_machine_end - cairn_machine_begin)};
}

size_t cairn_machine_entrance(void)
{
	return (size_t)(cairn_machine_second - cairn_machine_begin);
}

/* It jumps through the parameters, which reach everywhere. */
bool cairn_machine_aim(char *code, uint64_t address, uint64_t resume)
{
	(void)code, (void)address, (void)resume;
	return true;
}

size_t cairn_machine_save_size(void)
{
	unsigned a, b, c = 0, d;
	if (!__get_cpuid_count(0xd, 0, &a, &b, &c, &d) || c < 576)
		return 0;
	return (c + 63) & ~63u;
}

const int cairn_machine_vectors = NT_X86_XSTATE;

/* A program of 32 bits has another code segment. */
bool cairn_machine_fits(int tid, const struct cairn_machine *machine)
{
	(void)tid;
	return machine->registers.cs == 0x33;
}

uint64_t cairn_machine_pc(const struct cairn_machine *machine)
{
	return machine->registers.rip;
}

uint64_t cairn_machine_sp(const struct cairn_machine *machine)
{
	return machine->registers.rsp;
}

uint64_t cairn_machine_thread_pointer(int tid, const struct cairn_machine *machine)
{
	(void)tid;
	return machine->registers.fs_base;
}

/* Not in a system call any more: the kernel would set the pc back otherwise. */
void cairn_machine_set_pc(struct cairn_machine *machine, uint64_t pc)
{
	machine->registers.rip = pc;
	machine->registers.orig_rax = (unsigned long long)-1;
}

void cairn_machine_to_dwarf(const struct cairn_machine *machine, uint64_t to[CAIRN_REGISTERS])
{
	const struct user_regs_struct *from = &machine->registers;
	const uint64_t values[CAIRN_REGISTERS] = {from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi,
						  from->rbp, from->rsp, from->r8, from->r9, from->r10, from->r11,
						  from->r12, from->r13, from->r14, from->r15, from->rip};
	memcpy(to, values, sizeof values);
}

/* The kernel's own codes for a system call that is to be begun again (linux/errno.h); programs never see them. */
enum { restart_sys = 512, restart_no_interrupt = 513, restart_no_handler = 514, restart_block = 516 };

/* These have done something when they end with EINTR. */
static bool has_effect(long number)
{
	return number == SYS_close || number == SYS_connect || number == SYS_rt_sigreturn;
}

long cairn_machine_restart(struct cairn_machine *machine, const struct cairn_machine_call *before, bool *at_once)
{
	(void)before; /* the registers tell */
	struct user_regs_struct *registers = &machine->registers;
	long code = -(long)registers->rax, number = (long)registers->orig_rax;
	*at_once = code == EINTR;
	if (number < 0 || !(code == restart_sys || code == restart_no_interrupt || code == restart_no_handler || code == restart_block ||
			    (code == EINTR && !has_effect(number))))
		return -1;
	registers->rip -= 2; /* the instruction itself */
	registers->rax = code == restart_block ? SYS_restart_syscall : registers->orig_rax;
	registers->orig_rax = (unsigned long long)-1;
	return number;
}
