/* plain.c - unwinding a thread of another process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/attach/plain.h"

#include "frame/expression.h"
#include "symbol/allocator.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { stack_most = 128 << 10, frames_most = 512 };

static bool is_one_of(long number, const long *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (number == numbers[i])
			return true;
	return false;
}

bool cairn_plain_waits(long number)
{
	static const long waiting[] = {
		SYS_read, SYS_accept, SYS_accept4, SYS_recvfrom, SYS_recvmsg, SYS_futex,
		SYS_nanosleep, SYS_clock_nanosleep, SYS_wait4, SYS_waitid, SYS_ppoll, SYS_pselect6,
		SYS_epoll_pwait, SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_semop, SYS_semtimedop, SYS_msgrcv,
		SYS_msgsnd, SYS_mq_timedreceive, SYS_flock, SYS_restart_syscall,
#ifdef SYS_poll
		SYS_poll, SYS_select, SYS_epoll_wait, SYS_pause,
#endif
#ifdef SYS_epoll_pwait2
		SYS_epoll_pwait2,
#endif
	};
	return is_one_of(number, waiting, sizeof waiting / sizeof *waiting);
}

enum cairn_plain_rank cairn_plain_rank(const struct cairn_machine_call *call)
{
	/* Calls that end with EINTR for whatever reason; of their time the kernel keeps no account. */
	static const long unaccounted[] = {
		SYS_epoll_pwait, SYS_rt_sigtimedwait, SYS_semop, SYS_semtimedop,
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
#ifdef SYS_epoll_pwait2
		SYS_epoll_pwait2,
#endif
	};
	const uint64_t *arguments = call->arguments;
	if (call->number < 0)
		return CAIRN_PLAIN_RUNS;
	/* A part of the message may be there already, and would be returned. */
	if ((call->number == SYS_recvfrom && (arguments[3] & MSG_WAITALL)) ||
	    (call->number == SYS_recvmsg && (arguments[2] & MSG_WAITALL)) || !cairn_plain_waits(call->number))
		return CAIRN_PLAIN_NEVER;
	if (!is_one_of(call->number, unaccounted, sizeof unaccounted / sizeof *unaccounted))
		return CAIRN_PLAIN_EXACT;
	bool has_limit;
	switch (call->number) {
	case SYS_rt_sigtimedwait: has_limit = arguments[2] != 0; break;
	case SYS_semtimedop:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
		has_limit = arguments[3] != 0;
		break;
	case SYS_semop: has_limit = false; break;
	default: has_limit = (int)arguments[3] >= 0; break;
	}
	return has_limit ? CAIRN_PLAIN_TIMED : CAIRN_PLAIN_REPEATED;
}

/* Functions of libc that hold a lock which the call needs, or that end or copy the process. */
static bool is_forbidden(const char *name)
{
	static const char *const names[] = {
		"mallopt", "mallinfo", "mallinfo2", "dlopen", "dlmopen", "dlclose", "dlsym", "dlvsym", "dladdr", "dladdr1", "dlinfo",
		"dl_iterate_phdr", "_dl_find_object", "fork", "_Fork", "vfork", "posix_spawn", "posix_spawnp", "system", "popen",
		"pthread_create", "pthread_exit", "exit", "quick_exit", "abort", "setuid", "setgid", "seteuid", "setegid", "setreuid",
		"setregid", "setresuid", "setresgid", "setgroups", "initgroups", "__cxa_finalize", "execve", "fexecve",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return cairn_allocator_is_common(name) || strncmp(name, "malloc", 6) == 0 || strncmp(name, "__libc_", 7) == 0;
}

struct stack {
	uint64_t start;
	char *bytes;
	size_t length;
};

static bool read_word(void *context, uint64_t address, unsigned size, uint64_t *value)
{
	const struct stack *stack = context;
	if (address < stack->start || size > 8 || address - stack->start > stack->length || stack->length - (address - stack->start) < size)
		return false;
	*value = 0;
	memcpy(value, stack->bytes + (address - stack->start), size);
	return true;
}

struct frame {
	const struct cairn_subject_module *module;
	struct cairn_frame_rules rules;
	struct cairn_expression_world world;
	uint64_t cfa;
};

static bool get_register(struct frame *frame, struct stack *stack, unsigned number, uint64_t *value)
{
	struct cairn_rule rule = frame->rules.registers[number];
	switch (rule.kind) {
	case CAIRN_RULE_SAME: *value = frame->world.registers[number]; return true;
	case CAIRN_RULE_UNDEFINED: *value = 0; return true;
	case CAIRN_RULE_OFFSET: return read_word(stack, frame->cfa + (uint64_t)(int64_t)rule.value, 8, value);
	case CAIRN_RULE_VALUE_OFFSET: *value = frame->cfa + (uint64_t)(int64_t)rule.value; return true;
	case CAIRN_RULE_REGISTER:
		*value = (unsigned)rule.value < CAIRN_REGISTERS ? frame->world.registers[rule.value] : 0;
		return (unsigned)rule.value < CAIRN_REGISTERS;
	default: break;
	}
	if (!cairn_expression_value(cairn_eh_frame_expression(&frame->module->image, rule.value), &frame->world, &frame->cfa, value))
		return false;
	return rule.kind == CAIRN_RULE_VALUE_EXPRESSION || read_word(stack, *value, 8, value);
}

/* From the frame with REGISTERS to its caller's. False where that cannot be found; *OUTERMOST where there is none. */
static bool step(struct frame *frame, struct stack *stack, uint64_t *at, uint64_t registers[CAIRN_REGISTERS], bool exact, bool *outermost,
		 bool *is_signal)
{
	struct cairn_fde fde;
	uint64_t pc = *at - !exact, caller[CAIRN_REGISTERS];
	if (!frame->module->unwind_header || !cairn_eh_frame_find(&frame->module->image, frame->module->unwind_header, pc, &fde) ||
	    !cairn_eh_frame_rules(&frame->module->image, &fde, pc, &frame->rules))
		return false;
	*is_signal = frame->rules.is_signal;
	frame->world = (struct cairn_expression_world){registers, CAIRN_REGISTERS, read_word, stack};
	if (frame->rules.cfa.kind == CAIRN_RULE_EXPRESSION) {
		if (!cairn_expression_value(cairn_eh_frame_expression(&frame->module->image, frame->rules.cfa.value), &frame->world, NULL,
					    &frame->cfa))
			return false;
	} else {
		frame->cfa = registers[frame->rules.cfa.value] + (uint64_t)(int64_t)frame->rules.cfa_offset;
	}
	*outermost = frame->rules.registers[frame->rules.return_register].kind == CAIRN_RULE_UNDEFINED;
	if (*outermost)
		return true;
	for (unsigned i = 0; i < CAIRN_REGISTERS; i++)
		if (!get_register(frame, stack, i, &caller[i]))
			return false;
	if (!get_register(frame, stack, frame->rules.return_register, at))
		return false;
	if (frame->rules.registers[CAIRN_REGISTER_SP].kind == CAIRN_RULE_SAME)
		caller[CAIRN_REGISTER_SP] = frame->cfa;
	/* A leaf function may have nothing on the stack where the return address is in a register. */
	bool grows = caller[CAIRN_REGISTER_SP] > registers[CAIRN_REGISTER_SP] ||
		     (!CAIRN_RETURN_IS_PC && exact && caller[CAIRN_REGISTER_SP] == registers[CAIRN_REGISTER_SP]);
	*outermost = *at == 0;
	memcpy(registers, caller, sizeof caller);
	return grows || *outermost;
}

static bool walk(const struct cairn_subject *subject, struct stack *stack, uint64_t pc, uint64_t registers[CAIRN_REGISTERS], long number,
		 const char **why)
{
	const char *libc_name = NULL; /* of the frame before, if that was libc's; "" where it has no name */
	bool exact = true;
	for (int i = 0; i < frames_most; i++) {
		struct frame frame = {.module = cairn_subject_at(subject, pc)};
		enum cairn_subject_kind kind = frame.module ? frame.module->kind : CAIRN_SUBJECT_OTHER;
		if (frame.module && kind != CAIRN_SUBJECT_LIBC && libc_name && !libc_name[0]) {
			*why = "a function of libc that has no name"; /* it may be part of malloc */
			return false;
		}
		if (!frame.module) {
			*why = "generated code";
			return number >= 0 && i > 0;
		}
		*why = kind == CAIRN_SUBJECT_LOADER ? "the loader" : kind == CAIRN_SUBJECT_ALLOCATOR ? "the allocator" :
		       kind == CAIRN_SUBJECT_AGENT ? "the agent" : NULL;
		if (*why)
			return false;
		libc_name = NULL;
		if (kind == CAIRN_SUBJECT_LIBC) {
			const char *name = cairn_subject_name(frame.module, pc - !exact);
			libc_name = name ? name : "";
			if (is_forbidden(libc_name) && strncmp(libc_name, "__libc_start", 12) != 0) {
				*why = "the allocator, the loader or the end of the process";
				return false;
			}
			if (number < 0 && i == 0) {
				*why = "libc";
				return false;
			}
		}
		bool outermost = false, is_signal = false;
		if (!step(&frame, stack, &pc, registers, exact, &outermost, &is_signal)) {
			*why = "code without unwind tables";
			return number >= 0 && i > 0 && !is_signal;
		}
		if (is_signal) {
			*why = "a signal handler";
			return false;
		}
		if (outermost)
			return true;
		exact = false;
	}
	*why = "a very deep stack";
	return number >= 0;
}

bool cairn_plain_check(const struct cairn_subject *subject, uint64_t pc, const uint64_t given[CAIRN_REGISTERS], long number,
		       const char **why)
{
	uint64_t registers[CAIRN_REGISTERS];
	*why = "";
	if (subject->allocator_inside && (number < 0 || number == SYS_futex)) {
		*why = "the program, which has its allocator inside";
		return false;
	}
	struct stack stack = {.start = given[CAIRN_REGISTER_SP], .bytes = malloc(stack_most)};
	if (!stack.bytes)
		return false;
	stack.length = cairn_subject_read(subject, stack.start, stack.bytes, stack_most);
	memcpy(registers, given, sizeof registers);
	bool plain = walk(subject, &stack, pc, registers, number, why);
	free(stack.bytes);
	return plain;
}
