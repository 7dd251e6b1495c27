/* inside.c - the slow half of stubs.
 *
 * A function that throws does so when the frames of this file are gone: the program may not know how to unwind them. Only where it has no twin
 * that does not throw, which libcairn alone accepts, it throws through them, and they need no cleaning up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/inside.h"

#include "arch/stub.h"

CAIRN_ARCH_SLOW_HALF(cairn_inside_slow, cairn_inside_call);

typedef uintptr_t six_arguments(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

CAIRN_SAMPLER_CODE static uintptr_t call(uintptr_t real, const uintptr_t a[CAIRN_ARGUMENTS])
{
	return ((six_arguments *)real)(a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* What is asked for. Where the product does not fit, the function refuses. */
static size_t get_size(struct cairn_signature signature, const uintptr_t arguments[CAIRN_ARGUMENTS])
{
	size_t size = signature.size < CAIRN_ARGUMENTS ? arguments[signature.size] : 0;
	if (signature.count < CAIRN_ARGUMENTS && __builtin_mul_overflow(size, arguments[signature.count], &size))
		size = SIZE_MAX;
	return size;
}

/* The object goes and comes. */
CAIRN_SAMPLER_CODE static uintptr_t move(const struct cairn_inside_function *function, const uintptr_t arguments[CAIRN_ARGUMENTS], bool due)
{
	void *object = (void *)arguments[function->signature.object];
	size_t size = get_size(function->signature, arguments);
	uint32_t held = cairn_sample_hold(object);
	uintptr_t result = call(function->real, arguments);
	bool resizes = function->signature.call == CAIRN_CALL_RESIZES, done = resizes ? result >= size : result != 0;
	cairn_sample_release(object, held, done || (!resizes && size == 0));
	if (due && !object && function->null_allocates)
		cairn_sample_skip();
	else if (due)
		cairn_sample_spent_inside(!done ? NULL : resizes ? object : (void *)result, size, function);
	return result;
}

CAIRN_SAMPLER_CODE __attribute__((used)) struct cairn_inside_answer cairn_inside_call(uintptr_t description,
										      const uintptr_t arguments[CAIRN_ARGUMENTS])
{
	bool due = description & CAIRN_STUB_DUE;
	const struct cairn_inside_function *function = (const void *)(description & ~(uintptr_t)CAIRN_STUB_DUE);
	struct cairn_signature signature = function->signature;
	uintptr_t result;
	switch ((enum cairn_call_kind)signature.call) {
	case CAIRN_CALL_ALLOCATES:
		result = call(function->twin ? function->twin : function->real, arguments);
		cairn_sample_spent_inside((void *)result, get_size(signature, arguments), function);
		if (!result && function->twin)
			break;
		return (struct cairn_inside_answer){.result = result};
	case CAIRN_CALL_PLACES:
		result = call(function->real, arguments);
		cairn_sample_spent_inside(result == 0 ? *(void **)arguments[signature.object] : NULL, get_size(signature, arguments), function);
		return (struct cairn_inside_answer){.result = result};
	case CAIRN_CALL_RELEASES: cairn_sample_freed((const void *)arguments[signature.object]); break;
	case CAIRN_CALL_MOVES:
	case CAIRN_CALL_RESIZES: return (struct cairn_inside_answer){.result = move(function, arguments, due)};
	case CAIRN_CALL_MEASURES: break;
	}
	return (struct cairn_inside_answer){.onward = function->real};
}
