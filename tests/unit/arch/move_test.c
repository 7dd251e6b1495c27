/* move_test.c - functions of this very program: their first instructions are moved, a jump to them is written, and they still do what they did.
 * It needs only src/arch and src/base, so that it is also built for aarch64 and run under qemu.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/arch.h"
#include "arch/stub.h"
#include "tap.h"

#include <sys/mman.h>

static const size_t page = 65536; /* the largest there is */

/* Each does something with its two arguments, and NAME_end is where it ends. */
#define SAMPLE(name)                                                                                                           \
	long name(long first, long second);                                                                                    \
	extern const char name##_end[];
#define CODE(name, text) ".balign 16\n.globl " #name "\n" #name ":\n" text "\n.globl " #name "_end\n" #name "_end:\n"
#if defined(__x86_64__)
#define SAMPLES(X)                                                                                                             \
	X(pushes, "push %rbp\nmov %rsp, %rbp\npush %rbx\nlea (%rdi,%rsi,2), %rax\npop %rbx\npop %rbp\nret")                    \
	X(long_first, "cmp $0x1000, %rdi\nja 1f\nlea 7(%rdi), %rax\nret\n1: mov %rsi, %rax\nret")                               \
	X(landing, "endbr64\nmov %rdi, %rax\nsub %rsi, %rax\nret")                                                             \
	X(reads, "mov sample_data(%rip), %rax\nadd %rdi, %rax\nret")                                                           \
	X(compares, "cmpb $5, sample_data(%rip)\nmov %rsi, %rax\njne 1f\nmov %rdi, %rax\n1: ret")                              \
	X(takes_address, "push %rbx\nlea sample_data(%rip), %rbx\nmov (%rbx), %rax\nimul %rdi, %rax\npop %rbx\nret")           \
	X(short_condition, "test %rdi, %rdi\njz 1f\nmov %rsi, %rax\nret\nnop\n1: mov $9, %eax\nret")                           \
	X(other_condition, "cmp %rsi, %rdi\njbe 1f\nmov $1, %eax\nret\n1: mov $2, %eax\nret")                                  \
	X(long_condition, "test %esi, %esi\njs sample_away\nmov %rdi, %rax\nret")                                              \
	X(goes_away, "xor %ecx, %ecx\n.byte 0xe9\n.long sample_away - . - 4")                                                  \
	X(is_jump, ".byte 0xe9\n.long sample_away - . - 4")
#define REFUSALS(X)                                                                                                            \
	X(calls, "call sample_away\nret")                                                                                      \
	X(too_short, "mov %edi, %eax\nret")                                                                                    \
	X(loops, "push %rax\n1: dec %rdi\njnz 1b\nmov %rsi, %rax\npop %rcx\nret")                                              \
	X(stops, "int3\nmov %rdi, %rax\nret")                                                                                  \
	X(counts, "mov %rdi, %rcx\nloop 1f\n1: ret\nnop\nnop\nnop")
static const unsigned landing_at = 4;
static const uint64_t far_away[] = {-UINT64_C(0x79000000), UINT64_C(0x6000000), UINT64_C(0x79000000)};
#else
#define SAMPLES(X)                                                                                                             \
	X(pushes, "stp x29, x30, [sp, #-16]!\nadd x0, x0, x1, lsl #1\nldp x29, x30, [sp], #16\nret")                           \
	X(long_first, "cmp x0, #1, lsl #12\nb.hi 1f\nadd x0, x0, #7\nret\n1: mov x0, x1\nret")                                  \
	X(landing, "bti c\nsub x0, x0, x1\nret")                                                                               \
	X(signs, "paciasp\nsub x0, x0, x1\nautiasp\nret")                                                                      \
	X(reads, "ldr x2, sample_data\nadd x0, x0, x2\nret")                                                                   \
	X(reads_signed, "ldrsw x2, sample_data\nadd x0, x0, x2\nret")                                                          \
	X(reads_vector, "ldr d0, sample_data\nfmov x2, d0\nadd x0, x0, x2\nret")                                               \
	X(takes_address, "adr x2, sample_data\nldr x2, [x2]\nmul x0, x0, x2\nret")                                             \
	X(takes_page, "adrp x2, sample_data\nadd x2, x2, :lo12:sample_data\nldr x2, [x2]\nmul x0, x0, x2\nret")               \
	X(short_condition, "cbz x0, 1f\nmov x0, x1\nret\n1: mov x0, #9\nret")                                                  \
	X(other_condition, "tbnz x0, #3, sample_away\nmov x0, #1\nret")                                                        \
	X(long_condition, "cbnz w1, sample_away\nmov x0, #2\nret")                                                                 \
	X(goes_away, "b sample_away")
#define REFUSALS(X)                                                                                                            \
	X(calls, "bl sample_away\nret")                                                                                        \
	X(too_short, "ret")                                                                                                    \
	X(loops, "sub x0, x0, #1\ncbnz x0, loops\nret")                                                                        \
	X(stops, "brk #0\nret")
static const unsigned landing_at = 4;
static const uint64_t far_away[] = {-UINT64_C(0x7000000), UINT64_C(0x600000), UINT64_C(0x7000000)};
#endif
#define AS_DECLARED(name, text) SAMPLE(name)
#define AS_CODE(name, text) CODE(name, text)
SAMPLES(AS_DECLARED)
REFUSALS(AS_DECLARED)
__asm__(".text\n" SAMPLES(AS_CODE) REFUSALS(AS_CODE) ".balign 8\nsample_data: .quad 5\n"
#if defined(__x86_64__)
	"sample_away: lea 100(%rdi), %rax\nret\n"
	CODE(six, "lea (%rdi,%rsi,2), %rax\nlea (%rax,%rdx,4), %rax\nlea (%rax,%rcx,8), %rax\nshl $4, %r8\nadd %r8, %rax\nshl $5, %r9\nadd %r9, %rax\nret")
	".globl stub_slow\nstub_slow: mov %r11, slow_description(%rip)\nmov $4711, %eax\nret\n"
#else
	"sample_away: add x0, x0, #100\nret\n"
	CODE(six, "add x0, x0, x1, lsl #1\nadd x0, x0, x2, lsl #2\nadd x0, x0, x3, lsl #3\nadd x0, x0, x4, lsl #4\nadd x0, x0, x5, lsl #5\nret")
	".globl stub_slow\nstub_slow: adrp x9, slow_description\nstr x16, [x9, :lo12:slow_description]\nmov x0, #4711\nret\n"
#endif
);

typedef long sample_function(long first, long second);
static const struct sample {
	const char *name;
	sample_function *function;
	const char *end;
} samples[] = {
#define AS_ROW(name, text) {#name, name, name##_end},
	SAMPLES(AS_ROW)
}, refusals[] = {
	REFUSALS(AS_ROW)
};
enum { SAMPLE_COUNT = sizeof samples / sizeof *samples, REFUSAL_COUNT = sizeof refusals / sizeof *refusals };

static struct cairn_bytes code_of(const struct sample *sample)
{
	const char *start = (const char *)(uintptr_t)sample->function;
	return (struct cairn_bytes){start, (size_t)(sample->end - start)};
}

/* Writes LENGTH bytes over code. */
static void write_code(uint64_t address, const void *bytes, size_t length)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE), start = address & ~(size - 1), end = (address + length + size - 1) & ~(size - 1);
	mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy((void *)address, bytes, length);
	__builtin___clear_cache((char *)address, (char *)address + length);
}

/* On aarch64, of a page with PROT_BTI indirect branches may only lead to landing pads. */
#ifdef __aarch64__
enum { guarded = 0x10 };
#else
enum { guarded = 0 };
#endif
static void guard(uint64_t address, int protection)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);
	mprotect((void *)(address & ~(size - 1)), size, PROT_READ | PROT_EXEC | protection);
}

/* Executable memory so FAR from this program; NULL where something else is. */
static void *map_far(uint64_t far)
{
	uint64_t wanted = ((uint64_t)(uintptr_t)samples[0].function + far) & ~(uint64_t)(page - 1);
	void *got = mmap((void *)wanted, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (got == MAP_FAILED || got == (void *)wanted)
		return got == MAP_FAILED ? NULL : got;
	munmap(got, page); /* by an emulator that takes the address for a hint */
	return NULL;
}

static const long values[][2] = {{0, 0}, {1, 2}, {8, 3}, {5000, -7}, {-3, 5}, {12, -1}};
enum { VALUES = sizeof values / sizeof *values };

static void run(const struct sample *sample, long results[VALUES])
{
	for (int i = 0; i < VALUES; i++)
		results[i] = sample->function(values[i][0], values[i][1]);
}

static void test_sample(const struct sample *sample, unsigned char *to, uint64_t far)
{
	uint64_t address = (uintptr_t)sample->function;
	struct cairn_move move;
	struct cairn_error error = {.usage = false};
	unsigned char jump[8], before[8];
	long expected[VALUES], got[VALUES];
	bool studied = cairn_move_study(&move, address, code_of(sample), &error);
	if (!ok(studied, "%s: its first instructions can be moved: %s", sample->name, error.text))
		return;
	size_t entry = cairn_move_enter(&move, to), length = cairn_move_write(&move, (uintptr_t)to + entry, to + entry);
	ok(length > 0 && length <= CAIRN_MOVE_MOST, "%s: they are moved by %lld MiB", sample->name, (long long)far / (1 << 20));
	__builtin___clear_cache((char *)to, (char *)to + entry + length);
	size_t jump_length = cairn_move_jump(address + move.at, (uintptr_t)to, jump);
	ok(jump_length > 0 && jump_length <= move.taken, "%s: a jump fits over them", sample->name);
	run(sample, expected);
	memcpy(before, (const void *)(address + move.at), sizeof before);
	write_code(address + move.at, jump, jump_length);
	if (move.at)
		guard(address, guarded);
	run(sample, got);
	guard(address, 0);
	write_code(address + move.at, before, sizeof before);
	ok(memcmp(expected, got, sizeof got) == 0, "%s: it does the same with them there", sample->name);
	run(sample, got);
	ok(memcmp(expected, got, sizeof got) == 0, "%s: and afterwards", sample->name);
}

static void test_moves(void)
{
	for (size_t k = 0; k < sizeof far_away / sizeof *far_away; k++) {
		unsigned char *to = map_far(far_away[k]);
		if (!to)
			printf("# %lld MiB from here is something else\n", (long long)far_away[k] / (1 << 20));
		for (size_t i = 0; to && i < SAMPLE_COUNT; i++)
			test_sample(&samples[i], to, far_away[k]);
	}
}

static const struct sample *find(const char *name)
{
	for (size_t i = 0; i < SAMPLE_COUNT; i++)
		if (strcmp(samples[i].name, name) == 0)
			return &samples[i];
	return NULL;
}

static void test_facts(void)
{
	struct cairn_move move;
	struct cairn_error error;
	unsigned char out[CAIRN_MOVE_MOST], jump[8];
	uint64_t here = (uintptr_t)samples[0].function;
	cairn_move_study(&move, (uintptr_t)landing, code_of(find("landing")), &error);
	is_int(move.at, landing_at, "the jump is behind a landing pad");
	cairn_move_study(&move, (uintptr_t)long_first, code_of(find("long_first")), &error);
	ok(move.single, "nobody stands in the middle of one instruction");
#if defined(__x86_64__)
	cairn_move_study(&move, (uintptr_t)pushes, code_of(find("pushes")), &error);
	ok(!move.single && move.taken == 5, "but of three");
	cairn_move_study(&move, (uintptr_t)reads, code_of(find("reads")), &error);
	is_int(cairn_move_write(&move, here + (UINT64_C(3) << 30), out), 0, "data that is out of reach is noticed");
#else
	cairn_move_study(&move, (uintptr_t)signs, code_of(find("signs")), &error);
	ok(move.signing && move.at == 4, "who signs the return address is a landing pad, and the jump is behind it");
	(void)out;
#endif
	is_int(cairn_move_jump(here, here + (UINT64_C(3) << 30), jump), 0, "and a jump that does not reach");
	for (size_t i = 0; i < REFUSAL_COUNT; i++) {
		bool studied = cairn_move_study(&move, (uintptr_t)refusals[i].function, code_of(&refusals[i]), &error);
		ok(!studied && error.text[0], "%s is left alone: %s", refusals[i].name, studied ? "it is not" : error.text);
	}
}

static void see_branch(void *context, uint64_t from, uint64_t target, enum cairn_branch branch)
{
	uint64_t *seen = context;
	(void)from;
	if (target == seen[0])
		seen[1 + (branch == CAIRN_BRANCH_CALL)]++;
}

static void test_branches(void)
{
	struct cairn_move move;
	cairn_move_study(&move, (uintptr_t)goes_away, code_of(find("goes_away")), NULL);
	uint64_t away = move.parts[move.count - 1].target, seen[3] = {away};
	cairn_move_branches((uintptr_t)goes_away, code_of(find("goes_away")), see_branch, seen);
	ok(seen[1] == 1 && seen[2] == 0, "a jump to another function is seen");
	seen[1] = seen[2] = 0;
	cairn_move_branches((uintptr_t)calls, code_of(&refusals[0]), see_branch, seen);
	ok(seen[1] == 0 && seen[2] == 1, "and a call");
	seen[1] = seen[2] = 0;
	struct cairn_bytes all = {(const char *)(uintptr_t)samples[0].function, 0};
	all.length = (size_t)(refusals[REFUSAL_COUNT - 1].end - all.data);
	uint64_t targets[] = {1, away, UINT64_MAX};
	cairn_move_scan((uintptr_t)all.data, all, targets, 3, see_branch, seen);
	ok(seen[1] >= 1 && seen[2] == 1, "a scan finds both among all the code");
	seen[1] = 0;
	cairn_move_scan((uintptr_t)all.data, all, targets, 0, see_branch, seen);
	is_int(seen[1], 0, "and nothing where nothing is looked for");
}

/* Stubs. */

uint64_t slow_description;
extern const char stub_slow[], six_end[];
long six(long a, long b, long c, long d, long e, long f);
static _Thread_local uint64_t countdown __attribute__((tls_model("initial-exec")));
static uint64_t filter_words[1024], filter_mask = 1023;

static uint64_t hash_of(uint64_t key)
{
	return key * 0x61c88647u >> 35;
}

typedef long six_function(long a, long b, long c, long d, long e, long f);

static void test_counting(const struct cairn_stub_world *world, unsigned char *to, uint8_t size, uint8_t count)
{
	long a[6] = {3, 5, 7, 11, 13, 17};
	struct cairn_stub stub;
	bool written = cairn_stub_write(&stub, world, (struct cairn_stub_arguments){size, count, CAIRN_STUB_NONE}, (uintptr_t)six, NULL, 0x123450, (uintptr_t)to);
	memcpy(to, stub.code, stub.length);
	__builtin___clear_cache((char *)to, (char *)to + stub.length);
	six_function *stubbed = (six_function *)(uintptr_t)to, *real = (six_function *)(uintptr_t)(to + stub.real);
	uint64_t asked = (uint64_t)a[size] * (count < 6 ? (uint64_t)a[count] : 1);
	countdown = 1000;
	slow_description = 0;
	long got = stubbed(a[0], a[1], a[2], a[3], a[4], a[5]), expected = six(a[0], a[1], a[2], a[3], a[4], a[5]);
	ok(written && got == expected && countdown == 1000 - asked && !slow_description,
	   "size in argument %u, count in %u: counted, and all arguments are passed on", size, count);
	countdown = asked;
	ok(stubbed(a[0], a[1], a[2], a[3], a[4], a[5]) == expected && countdown == 0, "%u, %u: to the last byte", size, count);
	countdown = asked - 1;
	ok(stubbed(a[0], a[1], a[2], a[3], a[4], a[5]) == 4711 && slow_description == 0x123451, "%u, %u: the sample is due", size, count);
	slow_description = 0;
	ok(real(a[0], a[1], a[2], a[3], a[4], a[5]) == expected && !slow_description, "%u, %u: the function itself is behind it", size, count);
}

static void test_looking(const struct cairn_stub_world *world, unsigned char *to, uint8_t object)
{
	long a[6] = {3, 5, 7, 11, 13, 17};
	struct cairn_stub stub;
	cairn_stub_write(&stub, world, (struct cairn_stub_arguments){CAIRN_STUB_NONE, CAIRN_STUB_NONE, object}, (uintptr_t)six, NULL, 0x123450, (uintptr_t)to);
	memcpy(to, stub.code, stub.length);
	__builtin___clear_cache((char *)to, (char *)to + stub.length);
	six_function *stubbed = (six_function *)(uintptr_t)to;
	unsigned wrong = 0;
	for (uint64_t i = 1; i < 4000; i++) {
		uint64_t key = i * 0x7f31c8d52360u & ~7ull, hash = hash_of(key);
		uint64_t *word = &filter_words[hash >> 5 & filter_mask];
		a[object] = (long)key;
		*word = UINT64_MAX << 32; /* counts are no bits */
		wrong += stubbed(a[0], a[1], a[2], a[3], a[4], a[5]) != six(a[0], a[1], a[2], a[3], a[4], a[5]);
		*word = (uint64_t)1 << (hash & 31);
		slow_description = 0;
		wrong += stubbed(a[0], a[1], a[2], a[3], a[4], a[5]) != 4711 || slow_description != 0x123450;
		*word = ~((uint64_t)1 << (hash & 31));
		wrong += stubbed(a[0], a[1], a[2], a[3], a[4], a[5]) == 4711;
		*word = 0;
	}
	is_int(wrong, 0, "object in argument %u: its bit alone decides", object);
}

static void test_both(const struct cairn_stub_world *world, unsigned char *to)
{
	struct cairn_stub stub;
	cairn_stub_write(&stub, world, (struct cairn_stub_arguments){1, CAIRN_STUB_NONE, 0}, (uintptr_t)six, NULL, 0x123450, (uintptr_t)to);
	memcpy(to, stub.code, stub.length);
	__builtin___clear_cache((char *)to, (char *)to + stub.length);
	six_function *stubbed = (six_function *)(uintptr_t)to;
	uint64_t hash = hash_of(64);
	filter_words[hash >> 5 & filter_mask] = (uint64_t)1 << (hash & 31);
	countdown = 100;
	ok(stubbed(64, 10, 0, 0, 0, 0) == 4711 && slow_description == 0x123450 && countdown == 90, "moved: the object may be a sample");
	countdown = 1;
	ok(stubbed(64, 10, 0, 0, 0, 0) == 4711 && slow_description == 0x123451, "moved: the sample is due, too");
	countdown = 100;
	ok(stubbed(6400, 10, 0, 0, 0, 0) == six(6400, 10, 0, 0, 0, 0), "moved: neither");
	filter_words[hash >> 5 & filter_mask] = 0;
}

/* With a table of threads instead of thread-local memory. */
static void test_lines(const struct cairn_stub_world *local, unsigned char *to)
{
	enum { count = 1 << CAIRN_STUB_LINES_LOG2 };
	static struct {
		uint64_t key, countdown;
	} lines[count << (CAIRN_STUB_LINE_LOG2 - 4)];
	uint64_t key = cairn_arch_thread_word(), home = (key * CAIRN_STUB_SPREAD >> (64 - CAIRN_STUB_LINES_LOG2)) << (CAIRN_STUB_LINE_LOG2 - 4);
	struct cairn_stub_world world = *local;
	struct cairn_stub stub;
	unsigned wrong = 0;
	world.lines = (uintptr_t)lines;
	for (uint8_t size = 0; size < 6; size++)
		for (uint8_t times = 0; times < 7; times++) {
			long a[6] = {3, 5, 7, 11, 13, 17};
			uint8_t second = times < 6 ? times : CAIRN_STUB_NONE;
			if (times == size)
				continue;
			cairn_stub_write(&stub, &world, (struct cairn_stub_arguments){size, second, CAIRN_STUB_NONE}, (uintptr_t)six, NULL, 0x123450,
					 (uintptr_t)to);
			memcpy(to, stub.code, stub.length);
			__builtin___clear_cache((char *)to, (char *)to + stub.length);
			six_function *stubbed = (six_function *)(uintptr_t)to;
			uint64_t asked = (uint64_t)a[size] * (times < 6 ? (uint64_t)a[times] : 1);
			long expected = six(a[0], a[1], a[2], a[3], a[4], a[5]);
			lines[home].key = key;
			lines[home].countdown = asked + 1;
			wrong += stubbed(a[0], a[1], a[2], a[3], a[4], a[5]) != expected || lines[home].countdown != 1;
			wrong += stubbed(a[0], a[1], a[2], a[3], a[4], a[5]) != 4711 || slow_description != 0x123451;
			lines[home].key = key + 8; /* another thread's */
			lines[home].countdown = asked + 1;
			slow_description = 0;
			wrong += stubbed(a[0], a[1], a[2], a[3], a[4], a[5]) != 4711 || slow_description != 0x123451 ||
				 lines[home].countdown != asked + 1;
		}
	is_int(wrong, 0, "threads in a table: a line counts for its own thread alone");
}

static void test_stubs(void)
{
	unsigned char *to = map_far(far_away[1]);
	struct cairn_stub_world world = {.filter_words = (uintptr_t)filter_words, .filter_mask = (uintptr_t)&filter_mask, .slow = (uintptr_t)stub_slow,
					 .countdown = (uintptr_t)&countdown - cairn_arch_thread_pointer()};
	if (!to)
		to = map_far(far_away[1] + 16 * page);
	for (uint8_t size = 0; size < 6; size++) {
		test_counting(&world, to, size, CAIRN_STUB_NONE);
		for (uint8_t count = 0; count < 6; count++)
			if (count != size)
				test_counting(&world, to, size, count);
	}
	for (uint8_t object = 0; object < 6; object++)
		test_looking(&world, to, object);
	test_both(&world, to);
	test_lines(&world, to);
}

int main(void)
{
#if defined(__x86_64__) && !defined(CAIRN_HAS_ZYDIS)
	tap_skip("moving instructions", "built without Zydis");
#else
	test_facts();
	test_moves();
	test_branches();
#endif
	test_stubs();
	return tap_done();
}
