/* machine_test.c - the two pieces of code that a borrowed thread runs, in this very process: it comes back with every register as it was.
 * It needs only the files of the pieces, so that it is also built for aarch64 and run under qemu.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/machine.h"
#include "arch/visit.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* 32 registers, then 32 vectors, before and after; the code; whether the flag was kept. */
struct image {
	uint64_t registers[32];
	unsigned char vectors[32][16];
};
struct image before, after;
uint64_t target, saved_sp;
unsigned char carried;
void run_through(void);
extern const char came_back[];

#if defined(__x86_64__)
enum { REGISTERS = 15, VECTORS = 16, STACK = 30 };
__asm__(".text\n"
	".globl run_through\n"
	"run_through:\n"
	"	pushq %rbx\n	pushq %rbp\n	pushq %r12\n	pushq %r13\n	pushq %r14\n	pushq %r15\n"
	"	movq %rsp, saved_sp(%rip)\n"
	"	movq $0x1234567, -100(%rsp)\n"
	"	movups before+256(%rip), %xmm0\n	movups before+272(%rip), %xmm1\n	movups before+288(%rip), %xmm2\n"
	"	movups before+304(%rip), %xmm3\n	movups before+320(%rip), %xmm4\n	movups before+336(%rip), %xmm5\n"
	"	movups before+352(%rip), %xmm6\n	movups before+368(%rip), %xmm7\n	movups before+384(%rip), %xmm8\n"
	"	movups before+400(%rip), %xmm9\n	movups before+416(%rip), %xmm10\n	movups before+432(%rip), %xmm11\n"
	"	movups before+448(%rip), %xmm12\n	movups before+464(%rip), %xmm13\n	movups before+480(%rip), %xmm14\n"
	"	movups before+496(%rip), %xmm15\n"
	"	movq before+0(%rip), %rax\n	movq before+8(%rip), %rbx\n	movq before+16(%rip), %rcx\n	movq before+24(%rip), "
	"%rdx\n"
	"	movq before+32(%rip), %rsi\n	movq before+40(%rip), %rdi\n	movq before+48(%rip), %rbp\n	movq before+56(%rip), %r8\n"
	"	movq before+64(%rip), %r9\n	movq before+72(%rip), %r10\n	movq before+80(%rip), %r11\n	movq before+88(%rip), "
	"%r12\n"
	"	movq before+96(%rip), %r13\n	movq before+104(%rip), %r14\n	movq before+112(%rip), %r15\n"
	"	stc\n"
	"	jmp *target(%rip)\n"
	".globl came_back\n"
	"came_back:\n"
	"	movq %rax, after+0(%rip)\n	movq %rbx, after+8(%rip)\n	movq %rcx, after+16(%rip)\n	movq %rdx, after+24(%rip)\n"
	"	movq %rsi, after+32(%rip)\n	movq %rdi, after+40(%rip)\n	movq %rbp, after+48(%rip)\n	movq %r8, after+56(%rip)\n"
	"	movq %r9, after+64(%rip)\n	movq %r10, after+72(%rip)\n	movq %r11, after+80(%rip)\n	movq %r12, after+88(%rip)\n"
	"	movq %r13, after+96(%rip)\n	movq %r14, after+104(%rip)\n	movq %r15, after+112(%rip)\n"
	"	setc carried(%rip)\n"
	"	movq %rsp, after+240(%rip)\n"
	"	movq -100(%rsp), %rax\n"
	"	movq %rax, after+248(%rip)\n"
	"	movups %xmm0, after+256(%rip)\n	movups %xmm1, after+272(%rip)\n	movups %xmm2, after+288(%rip)\n"
	"	movups %xmm3, after+304(%rip)\n	movups %xmm4, after+320(%rip)\n	movups %xmm5, after+336(%rip)\n"
	"	movups %xmm6, after+352(%rip)\n	movups %xmm7, after+368(%rip)\n	movups %xmm8, after+384(%rip)\n"
	"	movups %xmm9, after+400(%rip)\n	movups %xmm10, after+416(%rip)\n	movups %xmm11, after+432(%rip)\n"
	"	movups %xmm12, after+448(%rip)\n	movups %xmm13, after+464(%rip)\n	movups %xmm14, after+480(%rip)\n"
	"	movups %xmm15, after+496(%rip)\n"
	"	popq %r15\n	popq %r14\n	popq %r13\n	popq %r12\n	popq %rbp\n	popq %rbx\n"
	"	ret\n");
#else
enum { REGISTERS = 31, VECTORS = 32, STACK = 31 };
__asm__(".text\n"
	".globl run_through\n"
	"run_through:\n"
	"	stp x29, x30, [sp, #-160]!\n"
	"	stp x19, x20, [sp, #16]\n	stp x21, x22, [sp, #32]\n	stp x23, x24, [sp, #48]\n"
	"	stp x25, x26, [sp, #64]\n	stp x27, x28, [sp, #80]\n"
	"	stp d8, d9, [sp, #96]\n	stp d10, d11, [sp, #112]\n"
	"	stp d12, d13, [sp, #128]\n	stp d14, d15, [sp, #144]\n"
	"	adrp x9, saved_sp\n	add x9, x9, :lo12:saved_sp\n	mov x10, sp\n	str x10, [x9]\n"
	"	adrp x29, before\n	add x29, x29, :lo12:before\n"
	"	add x9, x29, #256\n"
	"	ldp q0, q1, [x9], #32\n	ldp q2, q3, [x9], #32\n	ldp q4, q5, [x9], #32\n"
	"	ldp q6, q7, [x9], #32\n	ldp q8, q9, [x9], #32\n	ldp q10, q11, [x9], #32\n"
	"	ldp q12, q13, [x9], #32\n	ldp q14, q15, [x9], #32\n	ldp q16, q17, [x9], #32\n"
	"	ldp q18, q19, [x9], #32\n	ldp q20, q21, [x9], #32\n	ldp q22, q23, [x9], #32\n"
	"	ldp q24, q25, [x9], #32\n	ldp q26, q27, [x9], #32\n	ldp q28, q29, [x9], #32\n"
	"	ldp q30, q31, [x9], #32\n"
	"	adrp x17, target\n	add x17, x17, :lo12:target\n	ldr x17, [x17]\n"
	"	ldr x0, [x29, #0]\n	ldr x1, [x29, #8]\n	ldr x2, [x29, #16]\n	ldr x3, [x29, #24]\n"
	"	ldr x4, [x29, #32]\n	ldr x5, [x29, #40]\n	ldr x6, [x29, #48]\n	ldr x7, [x29, #56]\n"
	"	ldr x8, [x29, #64]\n	ldr x9, [x29, #72]\n	ldr x10, [x29, #80]\n	ldr x11, [x29, #88]\n"
	"	ldr x12, [x29, #96]\n	ldr x13, [x29, #104]\n	ldr x14, [x29, #112]\n	ldr x15, [x29, #120]\n"
	"	ldr x16, [x29, #128]\n	ldr x18, [x29, #144]\n	ldr x19, [x29, #152]\n	ldr x20, [x29, #160]\n"
	"	ldr x21, [x29, #168]\n	ldr x22, [x29, #176]\n	ldr x23, [x29, #184]\n	ldr x24, [x29, #192]\n"
	"	ldr x25, [x29, #200]\n	ldr x26, [x29, #208]\n	ldr x27, [x29, #216]\n	ldr x28, [x29, #224]\n"
	"	ldr x30, [x29, #240]\n"
	"	ldr x29, [x29, #232]\n"
	"	cmp xzr, xzr\n"
	"	br x17\n"
	".globl came_back\n"
	"came_back:\n"
	"	stp x16, x17, [sp, #-16]!\n"
	"	adrp x16, after\n	add x16, x16, :lo12:after\n"
	"	str x0, [x16, #0]\n	str x1, [x16, #8]\n	str x2, [x16, #16]\n	str x3, [x16, #24]\n"
	"	str x4, [x16, #32]\n	str x5, [x16, #40]\n	str x6, [x16, #48]\n	str x7, [x16, #56]\n"
	"	str x8, [x16, #64]\n	str x9, [x16, #72]\n	str x10, [x16, #80]\n	str x11, [x16, #88]\n"
	"	str x12, [x16, #96]\n	str x13, [x16, #104]\n	str x14, [x16, #112]\n	str x15, [x16, #120]\n"
	"	str x18, [x16, #144]\n	str x19, [x16, #152]\n	str x20, [x16, #160]\n	str x21, [x16, #168]\n"
	"	str x22, [x16, #176]\n	str x23, [x16, #184]\n	str x24, [x16, #192]\n	str x25, [x16, #200]\n"
	"	str x26, [x16, #208]\n	str x27, [x16, #216]\n	str x28, [x16, #224]\n	str x29, [x16, #232]\n"
	"	str x30, [x16, #240]\n"
	"	ldp x0, x1, [sp], #16\n	str x0, [x16, #128]\n	str x1, [x16, #136]\n"
	"	cset w2, eq\n	adrp x3, carried\n	add x3, x3, :lo12:carried\n	strb w2, [x3]\n"
	"	mov x0, sp\n	str x0, [x16, #248]\n"
	"	add x16, x16, #256\n"
	"	stp q0, q1, [x16], #32\n	stp q2, q3, [x16], #32\n	stp q4, q5, [x16], #32\n"
	"	stp q6, q7, [x16], #32\n	stp q8, q9, [x16], #32\n	stp q10, q11, [x16], #32\n"
	"	stp q12, q13, [x16], #32\n	stp q14, q15, [x16], #32\n	stp q16, q17, [x16], #32\n"
	"	stp q18, q19, [x16], #32\n	stp q20, q21, [x16], #32\n	stp q22, q23, [x16], #32\n"
	"	stp q24, q25, [x16], #32\n	stp q26, q27, [x16], #32\n	stp q28, q29, [x16], #32\n"
	"	stp q30, q31, [x16], #32\n"
	"	ldp x19, x20, [sp, #16]\n	ldp x21, x22, [sp, #32]\n	ldp x23, x24, [sp, #48]\n"
	"	ldp x25, x26, [sp, #64]\n	ldp x27, x28, [sp, #80]\n"
	"	ldp d8, d9, [sp, #96]\n	ldp d10, d11, [sp, #112]\n"
	"	ldp d12, d13, [sp, #128]\n	ldp d14, d15, [sp, #144]\n"
	"	ldp x29, x30, [sp], #160\n"
	"	ret\n");
#endif

static char area[64 << 10] __attribute__((aligned(64 << 10)));
static union {
	struct cairn_machine_mailbox fixed;
	char bytes[sizeof(struct cairn_machine_mailbox) + 32];
} mailbox;

static struct {
	uint64_t arguments[3], blocked;
	pthread_t thread;
	uint64_t result;
} called;

static uint64_t function(uint64_t first, uint64_t second, uint64_t third)
{
	sigset_t mask;
	volatile double values[32]; /* some vectors are overwritten */
	for (int i = 0; i < 32; i++)
		values[i] = (double)(first + (uint64_t)i) * 1.5;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	memcpy(&called.blocked, &mask, sizeof called.blocked);
	called.arguments[0] = first + (uint64_t)(values[3] * 0);
	called.arguments[1] = second;
	called.arguments[2] = third;
	called.thread = pthread_self();
	errno = ENOTTY;
	return called.result;
}

static const char *describe(void)
{
	return "a reason that is longer than the room there is";
}

static const uint64_t blocked = 0xfffffffffff8e0c7; /* all but faults, as far as libc lets a program block them */

static void run(bool thread, uint64_t result, uint64_t text_most)
{
	struct cairn_bytes piece = cairn_machine_code();
	struct cairn_machine_parameters parameters = {
		.memory_size = 512 << 10,
		.save_size = cairn_machine_save_size(),
		.blocked = blocked,
		.errno_location = (uint64_t)(uintptr_t)__errno_location,
		.function = (uint64_t)(uintptr_t)function,
		.arguments = {11, 22, 33},
		.describe = (uint64_t)(uintptr_t)describe,
		.mailbox = (uint64_t)(uintptr_t)&mailbox,
		.resume = (uint64_t)(uintptr_t)came_back,
		.create = thread ? (uint64_t)(uintptr_t)pthread_create : 0,
		.attributes_init = (uint64_t)(uintptr_t)pthread_attr_init,
		.attributes_detached = (uint64_t)(uintptr_t)pthread_attr_setdetachstate,
		.attributes_stack = (uint64_t)(uintptr_t)pthread_attr_setstacksize,
		.entrance = (uint64_t)(uintptr_t)area + cairn_machine_entrance(),
		.stack_size = 1 << 20,
		.text_most = text_most,
	};
	memset(&mailbox, 0, sizeof mailbox);
	memset(&called, 0, sizeof called);
	called.result = result;
	mprotect(area, sizeof area, PROT_READ | PROT_WRITE);
	memcpy(area, piece.data, piece.length);
	ok(cairn_machine_aim(area, (uint64_t)(uintptr_t)area, parameters.resume), "the piece reaches where the thread goes on");
	memcpy(area + piece.length, &parameters, sizeof parameters);
	mprotect(area, sizeof area, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(area, area + sizeof area);
	target = (uint64_t)(uintptr_t)area;
	for (unsigned i = 0; i < 32; i++)
		before.registers[i] = 0x1111111100000000u + i;
	memset(&after, 0, sizeof after);
	for (unsigned i = 0; i < sizeof before.vectors; i++)
		before.vectors[i / 16][i % 16] = (unsigned char)(i * 7 + 1);
	errno = EDOM;
	run_through();
	int kept = errno;
	for (int i = 0; i < 100000 && *(volatile uint64_t *)&mailbox.fixed.state != CAIRN_MACHINE_DONE; i++)
		usleep(1000);
	is_int(kept, EDOM, "errno is as it was");
}

static void check_registers(const char *name)
{
	unsigned changed = 0;
	for (unsigned i = 0; i < REGISTERS; i++) {
		bool jumped_by = REGISTERS == 31 && i == 17; /* held the address of the piece */
		if (after.registers[i] != (jumped_by ? target : before.registers[i])) {
			printf("#   register %u: %#llx\n", i, (unsigned long long)after.registers[i]);
			changed++;
		}
	}
	is_int(changed, 0, "%s: every register is as it was", name);
	ok(memcmp(before.vectors, after.vectors, VECTORS * 16) == 0, "%s: every vector, too", name);
	is_int(carried, 1, "%s: and the flags", name);
	ok(after.registers[STACK] == saved_sp, "%s: and the stack pointer", name);
#if defined(__x86_64__)
	is_int((long)after.registers[31], 0x1234567, "%s: and the red zone", name);
#endif
}

static void check(const char *name)
{
	check_registers(name);
	is_int((long)mailbox.fixed.borrowed, CAIRN_MACHINE_RETURNING, "%s: the thread is on its way back", name);
	is_int((long)mailbox.fixed.memory, 0, "%s: nothing stays mapped", name);
	is_int((long)(called.arguments[0] * 10000 + called.arguments[1] * 100 + called.arguments[2]), 112233,
	       "%s: the call had its arguments", name);
	ok((called.blocked & 0xff) == (blocked & 0xff), "%s: with signals blocked", name);
	sigset_t mask;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	ok(!sigismember(&mask, SIGTERM) && sigismember(&mask, SIGUSR2), "%s: the mask is as it was", name);
}

/* What a thread does that visits (arch/visit.h). */
static struct {
	_Atomic uint32_t ready;
	volatile uint32_t entered;
	volatile uintptr_t stack;
	char *room;
} visited;
enum { room_size = 64 << 10 };

#if defined(__x86_64__)
__attribute__((target("general-regs-only")))
#endif
static void enter(void)
{
	visited.entered++;
	visited.stack = (uintptr_t)__builtin_frame_address(0);
}

static void *make_ready(void *unused)
{
	(void)unused;
	unsigned char there = 0;
	while (mincore(visited.room, room_size, (unsigned char[room_size / 4096]){there}) != 0) /* until it is mapped */
		usleep(100);
	visited.room[0] = 1;
	visited.ready = CAIRN_VISIT_READY;
	return NULL;
}

/* Before the visit the registers are those that run_through sets, of which the stack pointer is learnt by a first run. */
static void visit(bool becomes_ready, bool is_mapped, uint64_t flags)
{
	struct cairn_bytes piece = cairn_visit_code();
	struct cairn_visit parameters = {
		.resume = (uint64_t)(uintptr_t)came_back,
		.flags = flags,
		.ready = (uint64_t)(uintptr_t)&visited.ready,
		.turns = becomes_ready ? 10000 : 3,
		.pause = {0, 1000000},
		.entrance = (uint64_t)(uintptr_t)enter,
	};
	pthread_t other;
	memset(&after, 0, sizeof after);
	target = (uint64_t)(uintptr_t)came_back;
	run_through();
	for (unsigned i = 0; i < REGISTERS; i++)
		parameters.registers[i] = before.registers[i];
#if defined(__x86_64__)
	static const unsigned char numbers[REGISTERS] = {0, 3, 2, 1, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	for (unsigned i = 0; i < REGISTERS; i++)
		parameters.registers[numbers[i]] = before.registers[i];
#else
	parameters.registers[17] = (uint64_t)(uintptr_t)area;
#endif
	parameters.registers[CAIRN_REGISTER_SP] = saved_sp;
	visited.room = mmap(NULL, room_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!is_mapped) {
		munmap(visited.room, room_size);
		parameters.room_size = room_size;
		parameters.code_size = 4096;
	} else {
		mprotect(visited.room, room_size, PROT_READ | PROT_WRITE);
	}
	parameters.room = (uint64_t)(uintptr_t)visited.room;
	parameters.stack = parameters.room + room_size;
	visited.ready = visited.entered = 0;
	mprotect(area, sizeof area, PROT_READ | PROT_WRITE);
	memcpy(area, piece.data, piece.length);
	ok(cairn_visit_aim(area, (uint64_t)(uintptr_t)area, parameters.resume), "the piece reaches where the thread goes on");
	memcpy(area + piece.length, &parameters, sizeof parameters);
	mprotect(area, sizeof area, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(area, area + sizeof area);
	target = (uint64_t)(uintptr_t)area;
	if (becomes_ready)
		pthread_create(&other, NULL, make_ready, NULL);
	run_through(); /* no jump, but a call as the first: from the same stack pointer */
	ok(!becomes_ready || pthread_join(other, NULL) == 0, "the thread goes on");
}

static void test_visits(void)
{
	uint64_t carry = CAIRN_REGISTER_SP == 31 ? 1 << 30 : 1 << 8; /* as run_through has it */
	visit(true, false, carry);
	check_registers("a visit");
	is_int((long)visited.entered, 1, "the entrance was called once");
	ok(visited.stack - (uintptr_t)visited.room < room_size, "on a stack in the room");
	is_int(visited.room[0], 1, "which had been filled");
	ok(munmap(visited.room, room_size) == 0, "and is there");
	visit(true, true, carry);
	check_registers("a visit to a room that is there");
	is_int((long)visited.entered, 1, "the entrance was called once");
	munmap(visited.room, room_size);
	visit(false, false, carry);
	check_registers("a visit in vain");
	is_int((long)visited.entered, 0, "the entrance was not called");
	munmap(visited.room, room_size);
	visit(false, false, 0);
	is_int(carried, 0, "flags are those that were given");
	ok(!cairn_visit_aim(area, (uint64_t)(uintptr_t)area, (uint64_t)(uintptr_t)area + (1ull << 40)) == (REGISTERS == 31),
	   "a direct jump has its limits");
}

int main(void)
{
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	run(false, 42, 31);
	check("on the thread itself");
	ok(pthread_equal(called.thread, pthread_self()), "the thread itself makes the call");
	is_int((long)mailbox.fixed.result, 42, "its result is there");
	is_int(mailbox.bytes[sizeof mailbox.fixed], 0, "and no description");
	if (TAP_THREAD_SANITIZER) {
		tap_skip("on a new thread", "ThreadSanitizer does not see how machine code waits for it");
	} else {
		run(true, 43, 31);
		check("on a new thread");
		ok(called.thread && !pthread_equal(called.thread, pthread_self()), "another thread makes the call");
		is_int((long)mailbox.fixed.result, 43, "its result is there");
	}
	run(!TAP_THREAD_SANITIZER, 0, 31);
	ok(strncmp(mailbox.bytes + sizeof mailbox.fixed, "a reason that is longer than the room", 31) == 0 &&
	   mailbox.bytes[sizeof mailbox.fixed + 31] == 0, "a failure is described, as far as there is room");
	run(false, 0, 0);
	is_int(mailbox.bytes[sizeof mailbox.fixed], 0, "and not where there is none");
	ok(!cairn_machine_aim(area, (uint64_t)(uintptr_t)area, (uint64_t)(uintptr_t)area + (1ull << 40)) == (REGISTERS == 31),
	   "a direct jump has its limits");
	test_visits();
	return tap_done();
}
