/* machine.c - registers and the piece of code, for aarch64.
 *
 * No register is free when the thread goes on, so that the last jump is a direct one: the piece has to lie within 128 MiB of there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/machine.h"

#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

static_assert(offsetof(struct cairn_machine_parameters, text) == 144, "the code knows the parameters by their offsets");
static_assert(sizeof(struct cairn_machine_mailbox) == 72, "and the mailbox");

#define HIDDEN __attribute__((visibility("hidden")))
/* Hidden, so that their addresses are taken relative to the code: a linker may give labels of one section one entry in its table. */
extern const char cairn_machine_begin[] HIDDEN, cairn_machine_jump[] HIDDEN, cairn_machine_second[] HIDDEN, cairn_machine_end[] HIDDEN;
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"cairn_machine_begin:\n"
	"	sub sp, sp, #272\n"
	"	stp x0, x1, [sp, #0]\n	stp x2, x3, [sp, #16]\n	stp x4, x5, [sp, #32]\n	stp x6, x7, [sp, #48]\n"
	"	stp x8, x9, [sp, #64]\n	stp x10, x11, [sp, #80]\n	stp x12, x13, [sp, #96]\n	stp x14, x15, [sp, #112]\n"
	"	stp x16, x17, [sp, #128]\n	stp x18, x19, [sp, #144]\n	stp x20, x21, [sp, #160]\n	stp x22, x23, [sp, #176]\n"
	"	stp x24, x25, [sp, #192]\n	stp x26, x27, [sp, #208]\n	stp x28, x29, [sp, #224]\n"
	"	str x30, [sp, #240]\n"
	"	mrs x0, nzcv\n"
	"	str x0, [sp, #248]\n"
	"	adr x19, 1f\n"
	"	mov x20, sp\n"
	"	ldr x21, [x19, #72]\n"
	"	mov x0, #1\n"
	"	str x0, [x21, #8]\n"
	"	str x0, [x21, #32]\n"
	"	mov x0, #0\n" /* mmap(NULL, memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) */
	"	ldr x1, [x19]\n"
	"	mov x2, #3\n"
	"	mov x3, #0x22\n"
	"	mov x4, #-1\n"
	"	mov x5, #0\n"
	"	mov x8, #222\n"
	"	svc #0\n"
	"	cmn x0, #4095\n"
	"	b.hs 8f\n"
	"	mov x22, x0\n"
	"	str x22, [x21, #40]\n"
	"	mov x25, #0\n"
	"	mov x9, x22\n"
	"	stp q0, q1, [x9], #32\n	stp q2, q3, [x9], #32\n	stp q4, q5, [x9], #32\n	stp q6, q7, [x9], #32\n"
	"	stp q8, q9, [x9], #32\n	stp q10, q11, [x9], #32\n	stp q12, q13, [x9], #32\n	stp q14, q15, [x9], #32\n"
	"	stp q16, q17, [x9], #32\n	stp q18, q19, [x9], #32\n	stp q20, q21, [x9], #32\n	stp q22, q23, [x9], #32\n"
	"	stp q24, q25, [x9], #32\n	stp q26, q27, [x9], #32\n	stp q28, q29, [x9], #32\n	stp q30, q31, [x9], #32\n"
	"	mrs x10, fpsr\n"
	"	mrs x11, fpcr\n"
	"	stp x10, x11, [x9]\n"
	"	mov x0, #2\n" /* rt_sigprocmask(SIG_SETMASK, &blocked, memory + save_size, 8) */
	"	add x1, x19, #16\n"
	"	ldr x2, [x19, #8]\n"
	"	add x2, x2, x22\n"
	"	mov x3, #8\n"
	"	mov x8, #135\n"
	"	svc #0\n"
	"	ldr x0, [x19]\n"
	"	add x0, x0, x22\n"
	"	sub sp, x0, #256\n"
	"	ldr x9, [x19, #24]\n"
	"	blr x9\n"
	"	mov x23, x0\n"
	"	ldr w24, [x0]\n"
	"	stp x23, x24, [x21, #56]\n"
	"	ldr x9, [x19, #88]\n"
	"	cbnz x9, 4f\n"
	"	bl cairn_machine_second\n"
	"	b 2f\n"
	"4:	ldr x26, [x19, #8]\n" /* the attributes lie behind the mask, the thread's handle behind them */
	"	add x26, x26, x22\n"
	"	add x26, x26, #64\n"
	"	mov x0, x26\n"
	"	ldr x9, [x19, #96]\n"
	"	blr x9\n"
	"	mov x0, x26\n"
	"	mov x1, #1\n" /* PTHREAD_CREATE_DETACHED */
	"	ldr x9, [x19, #104]\n"
	"	blr x9\n"
	"	mov x0, x26\n"
	"	ldr x1, [x19, #128]\n"
	"	ldr x9, [x19, #112]\n"
	"	blr x9\n"
	"	add x0, x26, #128\n"
	"	mov x1, x26\n"
	"	ldr x2, [x19, #120]\n"
	"	mov x3, #0\n"
	"	ldr x9, [x19, #88]\n"
	"	blr x9\n"
	"	mov w25, w0\n"
	"2:	str w24, [x23]\n"
	"	mov x0, #2\n"
	"	ldr x1, [x19, #8]\n"
	"	add x1, x1, x22\n"
	"	mov x2, #0\n"
	"	mov x3, #8\n"
	"	mov x8, #135\n"
	"	svc #0\n"
	"	mov x9, x22\n"
	"	ldp q0, q1, [x9], #32\n	ldp q2, q3, [x9], #32\n	ldp q4, q5, [x9], #32\n	ldp q6, q7, [x9], #32\n"
	"	ldp q8, q9, [x9], #32\n	ldp q10, q11, [x9], #32\n	ldp q12, q13, [x9], #32\n	ldp q14, q15, [x9], #32\n"
	"	ldp q16, q17, [x9], #32\n	ldp q18, q19, [x9], #32\n	ldp q20, q21, [x9], #32\n	ldp q22, q23, [x9], #32\n"
	"	ldp q24, q25, [x9], #32\n	ldp q26, q27, [x9], #32\n	ldp q28, q29, [x9], #32\n	ldp q30, q31, [x9], #32\n"
	"	ldp x10, x11, [x9]\n"
	"	msr fpsr, x10\n"
	"	msr fpcr, x11\n"
	"	mov sp, x20\n"
	"	mov x0, x22\n" /* munmap */
	"	ldr x1, [x19]\n"
	"	mov x8, #215\n"
	"	svc #0\n"
	"	str xzr, [x21, #40]\n"
	"	mov x0, x25\n"
	"	cbz x0, 3f\n"
	"8:	str x0, [x21, #48]\n" /* nobody makes the call */
	"	mov x1, #2\n"
	"	str x1, [x21, #8]\n"
	"3:	mov x0, #2\n"
	"	str x0, [x21, #32]\n"
	"	ldr x0, [sp, #248]\n"
	"	msr nzcv, x0\n"
	"	ldr x30, [sp, #240]\n"
	"	ldp x2, x3, [sp, #16]\n	ldp x4, x5, [sp, #32]\n	ldp x6, x7, [sp, #48]\n	ldp x8, x9, [sp, #64]\n"
	"	ldp x10, x11, [sp, #80]\n	ldp x12, x13, [sp, #96]\n	ldp x14, x15, [sp, #112]\n	ldp x16, x17, [sp, #128]\n"
	"	ldp x18, x19, [sp, #144]\n	ldp x20, x21, [sp, #160]\n	ldp x22, x23, [sp, #176]\n	ldp x24, x25, [sp, #192]\n"
	"	ldp x26, x27, [sp, #208]\n	ldp x28, x29, [sp, #224]\n"
	"	ldp x0, x1, [sp]\n"
	"	add sp, sp, #272\n"
	"cairn_machine_jump:\n"
	"	b cairn_machine_jump\n" /* to where the thread goes on: see cairn_machine_aim */
	"cairn_machine_second:\n"
	"	hint #34\n" /* bti c: libc calls it through a register */
	"	stp x29, x30, [sp, #-32]!\n"
	"	stp x19, x20, [sp, #16]\n"
	"	adr x19, 1f\n"
	"	ldr x20, [x19, #72]\n"
	"	mov x8, #178\n" /* gettid */
	"	svc #0\n"
	"	str x0, [x20, #24]\n"
	"	ldp x0, x1, [x19, #40]\n"
	"	ldr x2, [x19, #56]\n"
	"	ldr x9, [x19, #32]\n"
	"	blr x9\n"
	"	str x0, [x20, #16]\n"
	"	cbnz x0, 7f\n"
	"	ldr x9, [x19, #64]\n"
	"	cbz x9, 7f\n"
	"	blr x9\n"
	"	cbz x0, 7f\n"
	"	add x1, x20, #72\n"
	"	ldr w2, [x19, #136]\n"
	"	cbz w2, 7f\n"
	"5:	ldrb w3, [x0], #1\n"
	"	strb w3, [x1], #1\n"
	"	cbz w3, 7f\n"
	"	subs w2, w2, #1\n"
	"	b.ne 5b\n"
	"7:	dmb ish\n"
	"	mov x0, #2\n"
	"	str x0, [x20, #8]\n"
	"	ldp x19, x20, [sp, #16]\n"
	"	ldp x29, x30, [sp], #32\n"
	"	mov x0, #0\n"
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

bool cairn_machine_aim(char *code, uint64_t address, uint64_t resume)
{
	size_t offset = (size_t)(cairn_machine_jump - cairn_machine_begin);
	int64_t distance = (int64_t)(resume - (address + offset)), reach = 128 << 20;
	if (distance < -reach || distance >= reach || distance % 4 != 0)
		return false;
	uint32_t instruction = 0x14000000 | ((uint32_t)(distance / 4) & 0x03ffffff);
	memcpy(code + offset, &instruction, sizeof instruction);
	return true;
}

size_t cairn_machine_save_size(void)
{
	return 32 * 16 + 64; /* and two status registers */
}

const int cairn_machine_vectors = NT_PRFPREG;

/* A thread may use more of its vector registers than the piece saves. System calls end that, so that only a thread that runs can. */
bool cairn_machine_fits(int tid, const struct cairn_machine *machine)
{
	(void)machine;
	struct {
		uint32_t size, max_size;
		uint16_t vl, max_vl, flags, reserved;
	} header = {0};
	struct iovec part = {&header, sizeof header};
	return ptrace(PTRACE_GETREGSET, tid, 0x405 /* NT_ARM_SVE */, &part) != 0 || !(header.flags & 1);
}

uint64_t cairn_machine_pc(const struct cairn_machine *machine)
{
	return machine->registers.pc;
}

uint64_t cairn_machine_sp(const struct cairn_machine *machine)
{
	return machine->registers.sp;
}

uint64_t cairn_machine_thread_pointer(int tid, const struct cairn_machine *machine)
{
	uint64_t pointer = 0;
	struct iovec part = {&pointer, sizeof pointer};
	(void)machine;
	return ptrace(PTRACE_GETREGSET, tid, NT_ARM_TLS, &part) == 0 ? pointer : 0;
}

/* The kind of the last branch is forgotten, which only a page with branch targets (BTI) would ask for. */
void cairn_machine_set_pc(struct cairn_machine *machine, uint64_t pc)
{
	machine->registers.pc = pc;
	machine->registers.pstate &= ~(uint64_t)(3 << 10);
}

void cairn_machine_to_dwarf(const struct cairn_machine *machine, uint64_t to[CAIRN_REGISTERS])
{
	memset(to, 0, CAIRN_REGISTERS * sizeof *to);
	memcpy(to, machine->registers.regs, sizeof machine->registers.regs);
	to[CAIRN_REGISTER_SP] = machine->registers.sp;
}

/* Whether the kernel has noted how to go on with it, which restart_syscall does. */
static bool is_continued(const struct cairn_machine_call *call)
{
	unsigned operation = (unsigned)call->arguments[1] & FUTEX_CMD_MASK;
	switch (call->number) {
	case SYS_nanosleep:
	case SYS_restart_syscall: return true;
	case SYS_clock_nanosleep: return !(call->arguments[1] & TIMER_ABSTIME);
	case SYS_futex: return (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) && call->arguments[3] != 0;
	default: return false;
	}
}

/* The kernel has set the pc back to the instruction already, unless the call ended with EINTR. */
long cairn_machine_restart(struct cairn_machine *machine, const struct cairn_machine_call *before, bool *at_once)
{
	struct user_regs_struct *registers = &machine->registers;
	*at_once = false;
	if (before->number < 0 || registers->sp != before->sp)
		return -1;
	bool has_effect = before->number == SYS_close || before->number == SYS_connect; /* although it ends with EINTR */
	if (registers->pc == before->pc && registers->regs[0] == (uint64_t)-EINTR && !has_effect) {
		*at_once = true;
		registers->regs[0] = before->arguments[0];
		registers->pc -= 4;
		return before->number;
	}
	if (registers->pc != before->pc - 4)
		return -1;
	if (is_continued(before))
		registers->regs[8] = SYS_restart_syscall;
	return before->number;
}
