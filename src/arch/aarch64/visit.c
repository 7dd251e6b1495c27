/* visit.c - the piece of code for aarch64.
 *
 * No register is free when the thread goes on, so that the last jump is a direct one: the piece has to lie within 128 MiB of there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/visit.h"

static_assert(offsetof(struct cairn_visit, pause) == 72 && offsetof(struct cairn_visit, registers) == 88,
	      "the code knows the parameters by their offsets");

#define HIDDEN __attribute__((visibility("hidden")))
/* Hidden, so that their addresses are taken relative to the code. */
extern const char cairn_visit_begin[] HIDDEN, cairn_visit_jump[] HIDDEN, cairn_visit_end[] HIDDEN;
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"cairn_visit_begin:\n"
	"	adr x19, 1f\n"
	"	ldr x1, [x19, #24]\n"
	"	cbz x1, 2f\n"
	"	ldr x0, [x19, #16]\n" /* mmap(room, room_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) */
	"	mov x2, #3\n"
	"	mov x3, #0x22\n"
	"	movk x3, #0x10, lsl #16\n"
	"	mov x4, #-1\n"
	"	mov x5, #0\n"
	"	mov x8, #222\n"
	"	svc #0\n"
	"	ldr x1, [x19, #16]\n"
	"	cmp x0, x1\n"
	"	b.ne 5f\n"
	"2:	ldr x20, [x19, #48]\n"
	"3:	ldr x0, [x19, #40]\n"
	"	ldar w0, [x0]\n"
	"	cmp w0, #1\n"
	"	b.eq 4f\n"
	"	mov x8, #72\n" /* pselect6(0, NULL, NULL, NULL, pause, NULL) */
	"	mov x0, #0\n"
	"	mov x1, #0\n"
	"	mov x2, #0\n"
	"	mov x3, #0\n"
	"	add x4, x19, #72\n"
	"	mov x5, #0\n"
	"	svc #0\n"
	"	subs x20, x20, #1\n"
	"	b.ne 3b\n"
	"	b 5f\n"
	"4:	ldr x1, [x19, #32]\n"
	"	cbz x1, 6f\n"
	"	mov x8, #226\n" /* mprotect(room, code_size, PROT_READ | PROT_EXEC) */
	"	ldr x0, [x19, #16]\n"
	"	mov x2, #5\n"
	"	svc #0\n"
	"	cbnz x0, 5f\n"
	"6:	ldr x0, [x19, #56]\n"
	"	mov sp, x0\n"
	"	ldr x9, [x19, #64]\n"
	"	blr x9\n"
	"5:	ldr x0, [x19, #8]\n"
	"	msr nzcv, x0\n"
	"	ldr x0, [x19, #336]\n"
	"	mov sp, x0\n"
	"	ldr x30, [x19, #328]\n"
	"	ldr x20, [x19, #248]\n"
	"	ldr x18, [x19, #232]\n"
	"	ldp x16, x17, [x19, #216]\n	ldp x14, x15, [x19, #200]\n	ldp x12, x13, [x19, #184]\n"
	"	ldp x10, x11, [x19, #168]\n	ldp x8, x9, [x19, #152]\n	ldp x6, x7, [x19, #136]\n"
	"	ldp x4, x5, [x19, #120]\n	ldp x2, x3, [x19, #104]\n	ldp x0, x1, [x19, #88]\n"
	"	ldr x19, [x19, #240]\n"
	"cairn_visit_jump:\n"
	"	b cairn_visit_jump\n" /* to where the thread goes on: see cairn_visit_aim */
	".balign 8\n"
	"1:\n"
	"cairn_visit_end:\n"
	".popsection\n");

void cairn_visit_return_to(struct cairn_visit *visit, const struct cairn_machine *machine)
{
	cairn_machine_to_dwarf(machine, visit->registers);
	visit->resume = machine->registers.pc;
	visit->flags = machine->registers.pstate & 0xf0000000;
}

struct cairn_bytes cairn_visit_code(void)
{
	return (struct cairn_bytes){cairn_visit_begin, (size_t)(cairn_visit_end - cairn_visit_begin)};
}

bool cairn_visit_aim(char *code, uint64_t address, uint64_t resume)
{
	size_t offset = (size_t)(cairn_visit_jump - cairn_visit_begin);
	int64_t distance = (int64_t)(resume - (address + offset)), reach = 128 << 20;
	if (distance < -reach || distance >= reach || distance % 4 != 0)
		return false;
	uint32_t instruction = 0x14000000 | ((uint32_t)(distance / 4) & 0x03ffffff);
	memcpy(code + offset, &instruction, sizeof instruction);
	return true;
}
