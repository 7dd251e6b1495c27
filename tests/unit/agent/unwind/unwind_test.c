/* unwind_test.c - stacks equal to libgcc's in every corner of a C program, and no harm from stacks that make no sense.
 *
 * It needs only the unwinder's own files, so that it is also built for aarch64 and run under qemu. Longer than other files for that reason:
 * it is one program.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/stack.h"
#include "agent/unwind/unwind.h"
#include "tap.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum { depth_most = 512 };

struct stack {
	void *pcs[depth_most];
	unsigned count;
	enum cairn_unwind_end end;
};

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *opaque)
{
	struct stack *stack = opaque;
	void *pc = (void *)_Unwind_GetIP(context);
	if (!pc || stack->count == depth_most)
		return _URC_END_OF_STACK;
	stack->pcs[stack->count++] = pc;
	return _URC_NO_REASON;
}

static void take_theirs(struct stack *stack)
{
	stack->count = 0;
	_Unwind_Backtrace(note, stack);
}

/* What the last comparison saw; each walker below ends in it. */
static struct {
	unsigned comparisons, equal, complete, depth;
} seen;

/* All frames but the first, which is this function at two places. */
__attribute__((noinline)) static void compare(void)
{
	static _Thread_local struct stack ours, theirs;
	struct cairn_registers registers;
	cairn_registers_here(&registers);
	ours.end = cairn_unwind(&registers, NULL, ours.pcs, depth_most, &ours.count);
	theirs.count = 0;
	_Unwind_Backtrace(note, &theirs);
	bool equal = ours.count == theirs.count && memcmp(ours.pcs + 1, theirs.pcs + 1, (ours.count - 1) * sizeof *ours.pcs) == 0;
	if (!equal)
		for (unsigned i = 0; i < ours.count || i < theirs.count; i++)
			printf("#   %p %p\n", i < ours.count ? ours.pcs[i] : NULL, i < theirs.count ? theirs.pcs[i] : NULL);
	seen.comparisons++;
	seen.equal += equal;
	seen.complete += ours.end == CAIRN_UNWIND_COMPLETE;
	seen.depth = ours.count;
}

static void check_equal(const char *what)
{
	ok(seen.comparisons > 0 && seen.equal == seen.comparisons, "%s: %u of %u stacks as libgcc's, %u complete, the last %u frames", what,
	   seen.equal, seen.comparisons, seen.complete, seen.depth);
	memset(&seen, 0, sizeof seen);
}

__attribute__((noinline)) static void recurse(int depth, void (*leaf)(void))
{
	if (depth > 0)
		recurse(depth - 1, leaf);
	else
		leaf();
	__asm__ volatile("" : : : "memory");
}

/* Frames of different shapes. */
__attribute__((noinline)) static void use(volatile char *memory, size_t size)
{
	memory[0] = memory[size - 1] = 1;
	compare();
}

__attribute__((noinline)) static void with_alloca(size_t size)
{
	use(alloca(size), size);
	__asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) static void with_alignment(size_t size)
{
	_Alignas(128) volatile char aligned[256];
	aligned[size % 256] = 0;
	use(alloca(size), size);
	aligned[size % 255] += aligned[size % 254];
}

__attribute__((noinline)) static void with_large_frame(void)
{
	volatile char large[400000];
	large[0] = 0;
	use(large, sizeof large);
	large[1] = 0;
}

static int compare_numbers(const void *left, const void *right)
{
	compare();
	return *(const int *)left - *(const int *)right;
}

static void test_shapes(void)
{
	compare();
	check_equal("main");
	recurse(200, compare);
	check_equal("200 frames");
	for (size_t size = 16; size <= 65536; size *= 4) {
		with_alloca(size);
		with_alignment(size);
	}
	check_equal("alloca, and stacks realigned for a variable");
	with_large_frame();
	check_equal("a frame of many pages");
	int numbers[] = {5, 3, 9, 1, 7};
	qsort(numbers, 5, sizeof *numbers, compare_numbers);
	bsearch(numbers, numbers, 5, sizeof *numbers, compare_numbers);
	check_equal("libc's qsort and bsearch");
}

static void handle_by_compare(int signal)
{
	(void)signal;
	compare();
}

static void raise_signal(void)
{
	raise(SIGUSR1);
}

static void test_signals(void)
{
	struct sigaction action = {.sa_handler = handle_by_compare};
	sigaction(SIGUSR1, &action, NULL);
	recurse(10, raise_signal);
	check_equal("a signal handler");
	stack_t alternate = {.ss_sp = malloc(65536), .ss_size = 65536}, before;
	sigaltstack(&alternate, &before);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	recurse(10, raise_signal);
	check_equal("a signal handler on its own stack");
	sigaltstack(&before, NULL);
	free(alternate.ss_sp);
}

static void *run_compare(void *context)
{
	(void)context;
	recurse(20, compare);
	return NULL;
}

static void destroy_by_compare(void *value)
{
	(void)value;
	compare();
}

static pthread_key_t key;

static void *run_with_key(void *context)
{
	pthread_setspecific(key, context);
	return NULL;
}

static void test_threads(void)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++) {
		pthread_create(&thread, NULL, run_compare, NULL);
		pthread_join(thread, NULL);
	}
	check_equal("threads");
	pthread_key_create(&key, destroy_by_compare);
	pthread_create(&thread, NULL, run_with_key, &key);
	pthread_join(thread, NULL);
	pthread_key_delete(key);
	check_equal("a thread that ends");
}

static ucontext_t main_context, fiber_context;

static void run_fiber(void)
{
	recurse(15, compare);
	swapcontext(&fiber_context, &main_context);
	recurse(15, compare);
}

/* Fibers whose stacks lie between pages that cannot be read, and are unmapped while others run. */
static void test_fibers(void)
{
	enum { fiber_size = 64 << 10, page = 4096 };
	for (int round = 0; round < 20; round++) {
		char *memory = mmap(NULL, fiber_size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mprotect(memory + page, fiber_size, PROT_READ | PROT_WRITE);
		getcontext(&fiber_context);
		fiber_context.uc_stack.ss_sp = memory + page;
		fiber_context.uc_stack.ss_size = fiber_size;
		fiber_context.uc_link = &main_context;
		makecontext(&fiber_context, run_fiber, 0);
		swapcontext(&main_context, &fiber_context);
		compare();
		swapcontext(&main_context, &fiber_context);
		munmap(memory, fiber_size + 2 * page);
	}
	check_equal("fibers");
}

static jmp_buf target;

static void jump(void)
{
	longjmp(target, 1);
}

static void test_jumps(void)
{
	for (volatile int i = 0; i < 3; i++) {
		if (setjmp(target) == 0)
			recurse(50, jump);
		recurse(5, compare);
	}
	check_equal("after longjmp");
}

static void test_limits(void)
{
	void *pcs[8];
	unsigned count;
	struct cairn_registers registers;
	cairn_registers_here(&registers);
	ok(cairn_unwind(&registers, NULL, pcs, 2, &count) == CAIRN_UNWIND_TRUNCATED && count == 2,
	   "a stack with more frames than asked for is truncated");
	ok(cairn_unwind(&registers, NULL, pcs, 1, &count) == CAIRN_UNWIND_TRUNCATED && count == 1, "one frame");
	struct cairn_unwind_ranges all = {.ranges = {{0, UINTPTR_MAX}}, .count = 1};
	ok(cairn_unwind(&registers, &all, pcs, 1, &count) == CAIRN_UNWIND_COMPLETE && count == 1,
	   "where all frames are left out, the last of them stays");
	struct cairn_unwind_ranges here = {.ranges = {{(uintptr_t)test_limits, (uintptr_t)pcs}}, .count = 1};
	here.ranges[0].end = here.ranges[0].start + 1;
	cairn_unwind(&registers, &here, pcs, 8, &count);
	ok((uintptr_t)pcs[0] == registers.pc, "frames outside of the ranges stay");
	errno = 12345;
	cairn_stack_at((uintptr_t)&registers - (1 << 20));
	is_int(errno, 12345, "errno is kept");
}

/* Any registers at all: the walk ends, and nothing faults. */
static void test_garbage(void)
{
	void *pcs[64];
	unsigned count;
	struct cairn_registers registers, good;
	cairn_registers_here(&good);
	char *hole = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(hole + 4096, 4096);
	uint64_t state = 88172645463325252u, ends[CAIRN_UNWIND_ENDS] = {0};
	const uint64_t places[] = {0,
				   1,
				   8,
				   UINT64_MAX,
				   UINT64_MAX - 7,
				   UINT64_MAX - 4095,
				   (uint64_t)hole,
				   (uint64_t)hole + 4088,
				   (uint64_t)hole + 4096,
				   (uint64_t)hole + 8184,
				   (uint64_t)INT64_MIN,
				   (uint64_t)1 << 47,
				   ((uint64_t)1 << 47) - 8,
				   good.values[CAIRN_REGISTER_SP],
				   good.values[CAIRN_REGISTER_FP],
				   good.pc,
				   (uint64_t)raise,
				   (uint64_t)&places,
				   (uint64_t)pcs};
	for (int round = 0; round < 200000; round++) {
		registers = good;
		for (unsigned i = 0; i <= CAIRN_REGISTERS; i++) {
			state ^= state << 13, state ^= state >> 7, state ^= state << 17;
			uint64_t value = state % 3 ? places[state / 3 % (sizeof places / sizeof *places)] + (state >> 40) % 64 * 8 : state;
			if (state >> 60 < 8 && i < CAIRN_REGISTERS)
				registers.values[i] = value;
			else if (state >> 60 == 15)
				registers.pc = value;
		}
		registers.pc_is_exact = state & 1;
		ends[cairn_unwind(&registers, NULL, pcs, 64, &count)]++;
	}
	ok(ends[CAIRN_UNWIND_NO_CODE] > 0 && ends[CAIRN_UNWIND_UNREADABLE] > 0,
	   "200,000 sets of garbage registers: %llu no code, %llu no rule, %llu unreadable", (unsigned long long)ends[CAIRN_UNWIND_NO_CODE],
	   (unsigned long long)ends[CAIRN_UNWIND_NO_RULE], (unsigned long long)ends[CAIRN_UNWIND_UNREADABLE]);
	munmap(hole, 4096);
	munmap(hole + 8192, 4096);
}

/* Generated code has no rules: without a frame pointer the walk stops there. */
static void test_generated_code(void)
{
#if defined(__x86_64__)
	static const unsigned char code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
					     0x48, 0x83, 0xc4, 0x08, 0xc3}; /* sub 8,%rsp; call *%rdi; … */
#else
	static const uint32_t code[] = {0xa9bf7bfd, 0xd280003d, 0xd63f0000, 0xa8c17bfd,
					0xd65f03c0}; /* stp x29,x30; mov x29,#1; blr x0; ldp; ret */
#endif
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED) {
		tap_skip("generated code", "no executable pages here");
		return;
	}
	memcpy(page, code, sizeof code);
	__builtin___clear_cache(page, (char *)page + 4096);
	void (*call)(void (*)(void)) = (void (*)(void (*)(void)))(uintptr_t)page;
	call(compare);
	check_equal("called from generated code");
	munmap(page, 4096);
}

/* Compilers that keep frame pointers in what they generate are followed through it; without them the walk ends there as before. */
static enum cairn_unwind_end generated_end;
static bool generated_came_back;
static const void *generated_caller;

static void walk_from_generated(void)
{
	void *pcs[64];
	unsigned count;
	struct cairn_registers registers;
	cairn_registers_here(&registers);
	generated_end = cairn_unwind(&registers, NULL, pcs, 64, &count);
	generated_came_back = false;
	for (unsigned i = 0; i < count; i++)
		generated_came_back = generated_came_back || (uintptr_t)pcs[i] - (uintptr_t)generated_caller < 40;
	__asm__ volatile("");
}

/* It needs a frame pointer. clang, which knows no such attribute, builds this test under sanitizers, with -fno-omit-frame-pointer. */
#if !defined(__clang__)
__attribute__((optimize("no-omit-frame-pointer")))
#endif
__attribute__((noinline)) static void call_generated(void *page)
{
	void (*call)(void (*)(void)) = (void (*)(void (*)(void)))(uintptr_t)page;
	call(walk_from_generated);
	__asm__ volatile("");
}

static void test_frame_pointers_in_generated_code(void)
{
#if defined(__x86_64__)
	/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret, and the same after a call to itself */
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
					     0x55, 0x48, 0x89, 0xe5, 0xe8, 0xe7, 0xff, 0xff, 0xff, 0x5d, 0xc3};
	/* lea 8(%rdi),%rbp is no frame pointer */
	static const unsigned char without[] = {0x55, 0x48, 0x8d, 0x6f, 0x08, 0xff, 0xd7, 0x5d, 0xc3};
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED) {
		tap_skip("frame pointers in generated code", "no executable pages here");
		return;
	}
	generated_caller = (const void *)(uintptr_t)call_generated;
	memcpy(page, code, sizeof code);
	call_generated(page + 16);
	ok(generated_end == CAIRN_UNWIND_COMPLETE && generated_came_back, "through two frames of generated code to their caller");
	memcpy(page + 64, without, sizeof without);
	call_generated(page + 64);
	ok(generated_end == CAIRN_UNWIND_NO_CODE && !generated_came_back, "where the register holds something else the walk ends");
	munmap(page, 4096);
#endif
}

/* A recursion that meets the guard page, looked at from the handler of the fault. */
static sigjmp_buf after_fault;
static unsigned fault_depth;
static enum cairn_unwind_end fault_end;

static void handle_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info;
	static void *pcs[100000];
	struct cairn_registers registers;
	cairn_registers_interrupted(&registers, context);
	fault_end = cairn_unwind(&registers, NULL, pcs, 100000, &fault_depth);
	siglongjmp(after_fault, 1);
}

__attribute__((noinline)) static int recurse_for_ever(volatile int *counter)
{
	volatile char room[200];
	room[0] = 0;
	if (++*counter < 0)
		return 0;
	int result = recurse_for_ever(counter) + room[0];
	__asm__ volatile("" : : : "memory");
	return result;
}

static void *run_over_the_end(void *context)
{
	static char alternate_memory[65536];
	stack_t alternate = {.ss_sp = alternate_memory, .ss_size = sizeof alternate_memory}, before;
	sigaltstack(&alternate, &before);
	if (sigsetjmp(after_fault, 1) == 0)
		recurse_for_ever(context);
	sigaltstack(&before, NULL);
	return NULL;
}

static void test_guard_page(void)
{
	struct sigaction action = {.sa_sigaction = handle_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK}, before;
	volatile int counter = 0;
	pthread_attr_t attributes;
	pthread_t thread;
	sigaction(SIGSEGV, &action, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 1 << 20);
	pthread_create(&thread, &attributes, run_over_the_end, (void *)(uintptr_t)&counter);
	pthread_join(thread, NULL);
	sigaction(SIGSEGV, &before, NULL);
	ok(counter > 1000 && fault_depth >= (unsigned)counter && fault_end == CAIRN_UNWIND_COMPLETE,
	   "from the handler of a stack overflow, all of %d frames: %u, %s", counter, fault_depth, cairn_unwind_end_name(fault_end));
}

/* Signals at random instants, in the middle of libc, the loader and each other's handlers: the interrupted stack by
 * libgcc, which has the handler's frames before it, ends with ours. In code without unwind information (_init and _fini of
 * any library) libgcc stops, and ours may go on by the frame pointer. */
static atomic_uint random_taken, random_equal, random_further;
static struct stack different[2]; /* a pair that is not equal: that of whoever sets the flag */
static atomic_flag different_taken = ATOMIC_FLAG_INIT;

static void handle_random(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info;
	int saved = errno;
	struct stack ours, theirs;
	struct cairn_registers registers;
	cairn_registers_interrupted(&registers, context);
	ours.end = cairn_unwind(&registers, NULL, ours.pcs, depth_most, &ours.count);
	take_theirs(&theirs);
	unsigned handler = 0; /* frames of libgcc's before the interrupted one */
	while (handler < theirs.count && theirs.pcs[handler] != ours.pcs[0])
		handler++;
	unsigned common = theirs.count - handler;
	bool as_far = common > 0 && common <= ours.count && memcmp(ours.pcs, theirs.pcs + handler, common * sizeof *ours.pcs) == 0;
	random_taken++;
	if (as_far && common == ours.count) {
		random_equal++;
	} else if (as_far) {
		random_further++;
	} else if (!atomic_flag_test_and_set(&different_taken)) {
		different[0] = ours;
		different[1] = theirs;
	}
	errno = saved;
}

static void print_different(void)
{
	for (int side = 0; side < 2; side++) {
		for (unsigned i = 0; i < different[side].count; i++) {
			Dl_info info;
			bool known = dladdr(different[side].pcs[i], &info);
			printf("#   %s %p %s %s+%lx\n", side ? "theirs" : "ours", different[side].pcs[i], known ? info.dli_fname : "",
			       known && info.dli_sname ? info.dli_sname : "",
			       known ? (unsigned long)((char *)different[side].pcs[i] - (char *)info.dli_fbase) : 0);
		}
	}
}

static void *run_random(void *context)
{
	atomic_bool *stop = context;
	for (unsigned round = 0; !*stop; round++) {
		char text[64];
		int numbers[64];
		for (int i = 0; i < 64; i++)
			numbers[i] = (int)((unsigned)i * 7919 * round % 1000);
		qsort(numbers, 64, sizeof *numbers, (int (*)(const void *, const void *))(uintptr_t)strcmp);
		snprintf(text, sizeof text, "%f %d", (double)round / 3, numbers[3]);
		void *library = round % 16 ? NULL : dlopen("libz.so.1", RTLD_LAZY);
		if (library)
			dlclose(library);
		free(malloc(round % 5000));
		struct timespec now;
		for (int i = 0; i < 500; i++) /* in the vdso */
			clock_gettime(CLOCK_MONOTONIC, &now);
	}
	return NULL;
}

static void test_random_instants(void)
{
	const char *seconds_text = getenv("UNWIND_SECONDS");
	unsigned seconds = seconds_text ? (unsigned)atoi(seconds_text) : 2;
	struct sigaction action = {.sa_sigaction = handle_random, .sa_flags = SA_SIGINFO | SA_RESTART};
	atomic_bool stop = false;
	pthread_t threads[2];
	sigaction(SIGPROF, &action, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run_random, &stop);
	struct itimerval timer = {{0, 1000}, {0, 1000}};
	setitimer(ITIMER_PROF, &timer, NULL);
	while (seconds > 0)
		seconds = sleep(seconds);
	for (int i = 0; i < 120 && random_taken <= 50; i++) /* the timer counts time on a processor, of which a busy machine has little */
		sleep(1);
	setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
	stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	signal(SIGPROF, SIG_IGN);
	if (TAP_THREAD_SANITIZER) {
		ok(random_taken > 50, "signals at random instants: %u taken", random_taken);
		tap_skip("and equal to libgcc's", "ThreadSanitizer delivers signals later, with the registers of before");
		return;
	}
	print_different();
	ok(random_taken > 50 && random_equal + random_further >= random_taken - random_taken / 1000 && random_further <= random_taken / 10,
	   "signals at random instants: %u of %u stacks as libgcc's, %u go further", random_equal, random_taken, random_further);
}

/* What the table still has, and the loader does not any more. */
static void test_unloaded(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	uintptr_t address = library ? (uintptr_t)dlsym(library, "cbrt") : 0;
	struct cairn_code code;
	cairn_code_refresh();
	bool found = address && cairn_code_find(address, &code) && code.unwind_header;
	if (library)
		dlclose(library);
	if (!found || cairn_stack_is_readable(code.unwind_header)) {
		tap_skip("code that was unloaded is not found", "no library here that can be unloaded");
		return;
	}
	ok(!cairn_code_find(address, &code), "code that was unloaded is not found, before the table is read again");
}

/* What was found of the own stack is remembered, also when the next page begins where it ends: then nothing is asked of the kernel
 * again. */
static void *see_own_stack(void *context)
{
	bool *remembered = context;
	char here[64];
	cairn_stack_at((uintptr_t)here);
	struct cairn_stack known = cairn_stack_at((uintptr_t)here);
	struct cairn_stack wider = cairn_stack_at(known.low - 8), again = cairn_stack_at(known.low - 8);
	remembered[0] = known.high > (uintptr_t)here && known.high >= (uintptr_t)pthread_self();
	remembered[1] = wider.low < known.low && wider.high == known.high && again.low == wider.low && again.high == wider.high;
	return NULL;
}

static void test_own_stack(void)
{
	pthread_t thread;
	bool remembered[2] = {false, false};
	pthread_create(&thread, NULL, see_own_stack, remembered);
	pthread_join(thread, NULL);
	ok(remembered[0], "what was found of a thread's stack reaches to its top");
	ok(remembered[1], "and one page more joins it");
}

#if TAP_THREAD_SANITIZER
/* The loader's lock orders a look at an object before its end, but ThreadSanitizer does not see into the loader. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:_dl_close_worker\n";
}
#endif

int main(void)
{
	if (!cairn_code_is_live()) /* as the agent does on an older C library */
		cairn_code_refresh();
	test_shapes();
	test_signals();
	test_threads();
	test_own_stack();
	test_fibers();
	test_jumps();
	test_limits();
	test_garbage();
	test_generated_code();
	test_frame_pointers_in_generated_code();
	test_guard_page();
	test_random_instants();
	cairn_code_use_table(true);
	cairn_code_refresh();
	ok(!cairn_code_is_live(), "with the table of modules instead of the loader's");
	test_shapes();
	test_threads();
	test_unloaded();
	return tap_done();
}
