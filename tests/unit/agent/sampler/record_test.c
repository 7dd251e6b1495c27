/* record_test.c - the ledger under one thread and under many, and what a reader finds in it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/history.h"
#include "agent/sampler/record.h"
#include "base/pages.h"
#include "base/time.h"
#include "dump/ledger_heap.h"
#include "process/clock.h"
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cairn_record record;
static uint32_t own_thread = 1; /* of samples */

static struct cairn_ledger open_reader(void)
{
	struct cairn_ledger ledger;
	struct cairn_error error;
	bool opened = cairn_ledger_open(&ledger, (struct cairn_bytes){(const char *)record.header, record.bytes}, &error);
	ok(opened, "a new ledger can be read%s%s", opened ? "" : ": ", opened ? "" : error.text);
	return ledger;
}

static uint32_t add_stack(uintptr_t seed, unsigned depth)
{
	void *pcs[64];
	for (unsigned i = 0; i < depth; i++)
		pcs[i] = (void *)(seed * 1000 + i);
	return cairn_record_stack(&record, pcs, depth);
}

static bool add_sample(uint64_t address, uint64_t size, uint32_t stack)
{
	bool replaced;
	struct cairn_ledger_sample sample = {.address = address,
					     .size = size,
					     .period = 1024,
					     .stack = stack,
					     .thread = own_thread,
					     .birth_ns = 1000,
					     .objects = cairn_record_objects(size, 1024)};
	return cairn_record_sample(&record, address, &sample, &replaced);
}

static unsigned count_live(const struct cairn_ledger *ledger)
{
	struct cairn_ledger_sample sample;
	unsigned count = 0;
	for (uint32_t i = 0; i < cairn_ledger_count(ledger, CAIRN_LEDGER_SAMPLES); i++)
		count += cairn_ledger_get_sample(ledger, i, &sample);
	return count;
}

static void forget(uint64_t key)
{
	(void)key;
}

static void test_one_thread(void)
{
	struct cairn_ledger ledger = open_reader();
	struct cairn_ledger_stack stack;
	uint32_t one = add_stack(7, 20), again = add_stack(7, 20), other = add_stack(8, 20);
	ok(one != 0 && one == again && one != other, "a stack is kept once");
	ok(cairn_ledger_get_stack(&ledger, one, &stack) && stack.depth == 20 && cairn_ledger_frame(&ledger, &stack, 3) == 7003,
	   "and read back");
	ok(add_sample(0x1000, 64, one) && count_live(&ledger) == 1, "a sample is live");
	ok(cairn_record_has(&record, 0x1000) && !cairn_record_has(&record, 0x2000), "it is found by its address, others are not");
	ok(cairn_record_free(&record, 0x1000, 2, 1000 + (1 << 20)) && !cairn_record_free(&record, 0x1000, 2, 5000), "and freed once");
	ok(count_live(&ledger) == 0, "then it is gone");
	cairn_ledger_get_stack(&ledger, one, &stack);
	ok(stack.freed_samples == 1 && stack.freed_elsewhere == 1 && stack.freed_bytes == stack.allocated_bytes,
	   "its stack counts what was freed, by whom");
	ok(stack.lifetimes[21 - CAIRN_LEDGER_FIRST_LIFETIME] == 1, "and how long it lived: 2^20 ns is in the bucket below 2^21");
	add_sample(0x1000, 64, one);
	uint32_t held = cairn_record_hold(&record, 0x1000);
	ok(held && count_live(&ledger) == 1, "an object that may move stays listed");
	ok(!cairn_record_release(&record, 0x1000, held, false, 1, 2000) && cairn_record_has(&record, 0x1000),
	   "as before when it did not move");
	held = cairn_record_hold(&record, 0x1000);
	ok(add_sample(0x1000, 32, other) && count_live(&ledger) == 2, "its address may be handed out before that is known");
	ok(cairn_record_release(&record, 0x1000, held, true, 1, 2000) && count_live(&ledger) == 1 && cairn_record_has(&record, 0x1000),
	   "only the old one goes");
	uint64_t missed = record.header->replaced;
	ok(add_sample(0x1000, 16, one) && count_live(&ledger) == 1 && record.header->replaced == missed + 1,
	   "an address that is handed out while it is listed replaces the sample, and is counted");
	held = cairn_record_hold(&record, 0x1000);
	cairn_record_clear(&record, forget);
	ok(!cairn_record_release(&record, 0x1000, held, true, 1, 2000), "what was thrown away while it moved is not removed again");
	ok(count_live(&ledger) == 0 && record.header->live == 0 && record.header->taken == 0, "all can be thrown away");
	ok(add_stack(7, 20) == one, "stacks stay");
}

static void test_other_moves(void)
{
	struct cairn_ledger ledger = open_reader();
	uint64_t other = 0x2000;
	uint32_t held, found = 0;
	add_sample(0x1000, 64, 0);
	held = cairn_record_hold(&record, 0x1000);
	cairn_record_clear(&record, forget);
	for (; found != held; other += found == held ? 0 : 16) { /* until one has the same place */
		add_sample(other, 64, 0);
		found = cairn_record_hold(&record, other);
		if (found != held)
			cairn_record_release(&record, other, found, true, 1, 2000);
	}
	uint64_t freed = record.header->freed;
	ok(!cairn_record_release(&record, 0x1000, held, true, 1, 2000) && !cairn_record_release(&record, 0x1000, held, false, 1, 2000) &&
		   record.header->freed == freed && count_live(&ledger) == 1,
	   "another sample that moves where one was thrown away is left alone");
	ok(cairn_record_release(&record, other, held, true, 1, 2000), "and is released by its own key");
	cairn_record_clear(&record, forget);
}

static void test_null(void)
{
	struct cairn_ledger ledger = open_reader();
	add_sample(0x1000, 64, 0);
	cairn_record_free(&record, 0x1000, 1, 2000);
	ok(!cairn_record_has(&record, 0) && !cairn_record_free(&record, 0, 1, 2000) && !cairn_record_hold(&record, 0) &&
		   record.header->live == 0 && count_live(&ledger) == 0,
	   "an empty slot is no sample of address 0");
	cairn_record_clear(&record, forget);
}

static void test_lifetimes_end(void)
{
	uint32_t stack = add_stack(7, 20);
	_Atomic uint32_t *count = &record.stacks[stack].lifetimes[21 - CAIRN_LEDGER_FIRST_LIFETIME];
	*count = UINT32_MAX - 1;
	for (int i = 0; i < 3; i++) {
		add_sample(0x1000, 64, stack);
		cairn_record_free(&record, 0x1000, 1, 1000 + (1 << 20));
	}
	ok(*count == UINT32_MAX, "a count of lifetimes stays at its end");
	cairn_record_clear(&record, forget);
}

static void add_module(const char *path, uint64_t start, uint64_t end)
{
	struct cairn_ledger_module module = {.start = start, .end = end, .id_length = 1, .build_id = {(uint8_t)path[0]}};
	cairn_record_module(&record, &module, cairn_bytes_of(path));
}

static void test_modules(void)
{
	const struct cairn_ledger_module *modules = record.modules;
	add_module("a.so", 0x10000, 0x12000);
	add_module("elsewhere.so", 0x30000, 0x31000);
	add_module("a.so", 0x10000, 0x12000);
	is_int(record.header->modules_used, 2, "a module is listed once");
	add_module("b.so", 0x11000, 0x13000);
	ok(modules[0].state == CAIRN_LEDGER_STATE_ENDED && modules[1].state == CAIRN_LEDGER_STATE_COMPLETE &&
		   modules[2].state == CAIRN_LEDGER_STATE_COMPLETE,
	   "one that lies where another lay replaces it");
	add_module("a.so", 0x10000, 0x12000);
	ok(modules[0].state == CAIRN_LEDGER_STATE_COMPLETE && modules[1].state == CAIRN_LEDGER_STATE_COMPLETE &&
		   modules[2].state == CAIRN_LEDGER_STATE_ENDED && record.header->modules_used == 3,
	   "and is replaced when that one is loaded again");
	add_module("b.so", 0x11000, 0x13000);
	ok(modules[0].state == CAIRN_LEDGER_STATE_ENDED && modules[2].state == CAIRN_LEDGER_STATE_COMPLETE,
	   "as often as they change places");
}

/* A process that is killed while the agent makes room for threads leaves some as ended. */
static void test_threads(void)
{
	struct cairn_ledger ledger = open_reader();
	struct cairn_ledger_thread thread;
	uint32_t number = cairn_record_thread(&record, 1000);
	static const struct {
		enum cairn_ledger_state state;
		bool complete;
	} cases[] = {{CAIRN_LEDGER_STATE_FREE, false},
		     {CAIRN_LEDGER_STATE_WRITING, false},
		     {CAIRN_LEDGER_STATE_COMPLETE, true},
		     {CAIRN_LEDGER_STATE_ENDED, true}};
	ok(number != 0 && record.threads[number].state == CAIRN_LEDGER_STATE_COMPLETE, "a thread is complete once it is listed");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		atomic_store(&record.threads[number].state, cases[i].state);
		ok(cairn_ledger_get_thread(&ledger, number, &thread) == cases[i].complete, "a reader %s a thread in state %d",
		   cases[i].complete ? "takes" : "leaves out", cases[i].state);
	}
	atomic_store(&record.threads[number].state, CAIRN_LEDGER_STATE_COMPLETE);
}

static void *enter(void *context)
{
	static int64_t now_ns = 1000;
	now_ns += CAIRN_SECOND_NS; /* after which numbers may be freed again */
	*(uint32_t *)context = cairn_record_thread(&record, now_ns);
	return NULL;
}

/* More threads come and go than the ledger has numbers for, and no thread of the agent sees to that. */
static void test_short_threads(void)
{
	struct cairn_record kept = record;
	struct cairn_error error;
	unsigned nameless = 0;
	cairn_record_open(&record, CAIRN_RECORD_LEAST, &error);
	uint32_t numbers = record.header->areas[CAIRN_LEDGER_THREADS].count;
	for (uint32_t i = 0; i < 3 * numbers; i++) {
		pthread_t thread;
		uint32_t number = 0;
		pthread_create(&thread, NULL, enter, &number);
		pthread_join(thread, NULL);
		nameless += number == 0;
	}
	is_int(nameless, 0, "threads get the numbers of those that have ended");
	cairn_record_close(&record);
	record = kept;
}

static int compare_times(const void *a, const void *b)
{
	int64_t one = ((const struct cairn_ledger_row *)a)->time_ns, other = ((const struct cairn_ledger_row *)b)->time_ns;
	return one < other ? -1 : one > other;
}

static void test_history(void)
{
	enum { seconds = 12000, most = 1 << 13 };
	static struct cairn_ledger_row rows[most + 1];
	struct cairn_record large;
	struct cairn_ledger ledger;
	struct cairn_error error;
	const int64_t second = 1000000000, start = 5000 * second;
	if (!cairn_record_open(&large, 16 << 20, &error)) {
		ok(false, "%s", error.text);
		return;
	}
	cairn_ledger_open(&ledger, (struct cairn_bytes){(const char *)large.header, large.bytes}, &error);
	for (int64_t i = 0; i < seconds; i++)
		cairn_history_look(&large, start + i * second);
	uint32_t count = 0, in_hour = 0, gaps = 0, before = 0;
	for (uint32_t i = 0; i < cairn_ledger_count(&ledger, CAIRN_LEDGER_HISTORY) && count < most; i++)
		count += cairn_ledger_get_row(&ledger, i, &rows[count]);
	qsort(rows, count, sizeof *rows, compare_times);
	for (uint32_t i = 0; i < count; i++) {
		in_hour += rows[i].time_ns > start + (seconds - 3600 - 1) * second && (i == 0 || rows[i].time_ns != rows[i - 1].time_ns);
		before += rows[i].time_ns <= start + (seconds - 3600 - 1) * second;
		gaps += i > 0 && rows[i].time_ns - rows[i - 1].time_ns > 60 * second;
	}
	ok(in_hour == 3600, "the history has each second of the last hour: %u", in_hour);
	ok(before >= (seconds - 3600) / 60 && gaps == 0, "and each minute before: %u rows, %u gaps", before, gaps);
	ok(count && rows[count - 1].resident > 100000 && rows[count - 1].limit > rows[count - 1].resident, "with memory and its limit");
	cairn_record_close(&large);
}

/* The sums of live samples in bytes, and what the highest point had of STACK. */
static uint64_t bytes_at_peak(const struct cairn_ledger *ledger, uint32_t stack)
{
	struct cairn_ledger_peak peak;
	return cairn_ledger_get_peak(ledger, stack, cairn_ledger_peak_number(ledger), &peak) ? peak.bytes : 0;
}

static void test_peak(void)
{
	enum { count = 100, size = 1 << 20 }; /* of a size that is sampled always, and so exactly */
	struct cairn_ledger ledger = open_reader();
	uint32_t stays = add_stack(21, 5), spike = add_stack(22, 5), after = add_stack(23, 5);
	cairn_record_clear(&record, forget);
	for (uint64_t i = 1; i <= count; i++)
		add_sample(i << 24, size, stays);
	ok(bytes_at_peak(&ledger, stays) == (uint64_t)count * size, "while memory grows, the highest point is now");
	for (uint64_t i = 1; i <= count; i++)
		add_sample((i << 24) + 64, size, spike);
	for (uint64_t i = 1; i <= count; i++)
		cairn_record_free(&record, (i << 24) + 64, 1, 2000);
	for (uint64_t i = 1; i <= count / 2; i++) {
		cairn_record_free(&record, i << 24, 1, 2000);
		add_sample((i << 24) + 128, size, after);
	}
	ok(record.header->highest_bytes == 2ull * count * size, "the highest total stays: %llu",
	   (unsigned long long)record.header->highest_bytes);
	ok(bytes_at_peak(&ledger, stays) == (uint64_t)count * size && bytes_at_peak(&ledger, spike) == (uint64_t)count * size &&
		   bytes_at_peak(&ledger, after) == 0,
	   "and so do the call paths it was made of");
	for (uint64_t i = 1; i <= 2 * count; i++)
		add_sample((i << 24) + 192, size, after);
	ok(bytes_at_peak(&ledger, after) == 5ull * count * size / 2 && bytes_at_peak(&ledger, stays) == (uint64_t)count * size / 2 &&
		   bytes_at_peak(&ledger, spike) == 0,
	   "until a higher one comes");
	cairn_record_clear(&record, forget);
	ok(bytes_at_peak(&ledger, after) == 0 && bytes_at_peak(&ledger, stays) == 0 && record.header->peak_ns == 0, "a reset forgets it");
}

/* What the live samples of STACK stand for. */
static double bytes_of_samples(const struct cairn_ledger *ledger, uint32_t stack)
{
	double bytes = 0;
	struct cairn_ledger_sample sample;
	for (uint32_t i = 0; i < cairn_ledger_count(ledger, CAIRN_LEDGER_SAMPLES); i++)
		if (cairn_ledger_get_sample(ledger, i, &sample) && sample.stack == stack)
			bytes += (double)(sample.objects * sample.size) / CAIRN_LEDGER_OBJECT;
	return bytes;
}

/* Three times as many samples as there are slots: each stands for itself, or others stand for it. */
static void test_overfull(void)
{
	struct cairn_ledger ledger = open_reader();
	uint32_t slots = cairn_ledger_count(&ledger, CAIRN_LEDGER_SAMPLES), stack = add_stack(7, 20), other = add_stack(8, 20), added = 0;
	uint64_t dropped = record.header->dropped;
	double each = (double)(cairn_record_objects(8, 1024) * 8) / CAIRN_LEDGER_OBJECT, wanted = each * slots * 3;
	cairn_record_clear(&record, forget);
	record.forget = forget;
	for (uint64_t i = 1; i <= 3 * slots; i++)
		added += add_sample(i * 16, 8, i % 4 ? stack : other);
	record.forget = NULL;
	ok(added == 3 * slots && record.header->dropped == dropped, "three samples for each slot: none is dropped (%llu)",
	   (unsigned long long)(record.header->dropped - dropped));
	double most = bytes_of_samples(&ledger, stack), least = bytes_of_samples(&ledger, other);
	ok(fabs(most + least - wanted) < wanted * 0.08, "what is there stands for all: %.0f of %.0f bytes", most + least, wanted);
	ok(fabs(least - wanted / 4) < wanted / 4 * 0.2, "and for each stack: %.0f of %.0f bytes", least, wanted / 4);
	cairn_record_clear(&record, forget);
}

static void test_full(void)
{
	struct cairn_ledger ledger = open_reader();
	uint32_t slots = cairn_ledger_count(&ledger, CAIRN_LEDGER_SAMPLES), stack = add_stack(7, 20), added = 0;
	for (uint64_t i = 1; i <= 2 * slots; i++)
		added += add_sample(i * 16, 8, stack);
	ok(added > slots / 10 * 9 && added <= slots && record.header->dropped == 2 * slots - added,
	   "a full table drops samples and counts them: %u of %u fit",
	   added, slots);
	uint64_t bytes = 0, random = 1;
	struct cairn_ledger_sample sample;
	for (uint32_t i = 0; i < slots; i++)
		bytes += cairn_ledger_get_sample(&ledger, i, &sample) ? sample.objects * sample.size / CAIRN_LEDGER_OBJECT : 0;
	size_t gone = cairn_record_thin(&record, 5, slots, 2048, &random, forget);
	uint64_t after = 0;
	for (uint32_t i = 0; i < slots; i++)
		if (cairn_ledger_get_sample(&ledger, i, &sample)) {
			after += sample.objects * sample.size / CAIRN_LEDGER_OBJECT;
			if (sample.period != 2048)
				ok(false, "a sample kept its period of %llu", (unsigned long long)sample.period);
		}
	struct cairn_ledger_peak now;
	cairn_ledger_get_peak(&ledger, stack, CAIRN_LEDGER_SAVING, &now); /* no highest point has this number */
	ok(now.samples == added - gone && now.bytes > after - after / 50 && now.bytes < after + after / 50,
	   "the sums of the stack follow: %llu bytes, its samples have %llu", (unsigned long long)now.bytes, (unsigned long long)after);
	ok(gone > added / 3 && record.header->live == added - gone, "at twice the period about half of them go: %zu of %u", gone, added);
	ok(fabs((double)after / (double)bytes - 1) < 0.1, "and the rest stand for as much as before: %.3f", (double)after / (double)bytes);
	uint32_t stacks = cairn_ledger_count(&ledger, CAIRN_LEDGER_STACKS), lost = 0;
	for (uintptr_t i = 0; i < 2 * stacks; i++)
		lost += add_stack(100 + i, 40) == 0;
	ok(lost > 0 && record.header->stacks_lost == lost,
	   "stacks that do not fit are counted, and their samples belong to the unknown one");
	cairn_record_clear(&record, forget);
}

/* Writers at work while a reader reads: whatever it gets is whole. */
static atomic_bool stop;

static void *write_samples(void *context)
{
	uint64_t base = (uint64_t)(uintptr_t)context << 32;
	for (uint64_t i = 1; !atomic_load(&stop); i++) {
		uint64_t address = base + i % 512 * 16;
		bool replaced;
		struct cairn_ledger_sample sample = {.address = address,
						     .size = address,
						     .period = address + 1,
						     .birth_ns = (int64_t)address + 2,
						     .stack = 0,
						     .thread = 0,
						     .objects = 256};
		if (!cairn_record_free(&record, address, 0, 5))
			cairn_record_sample(&record, address, &sample, &replaced);
	}
	return NULL;
}

static void test_many_threads(void)
{
	pthread_t threads[3];
	struct cairn_ledger ledger = open_reader();
	atomic_store(&stop, false);
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, write_samples, (void *)(i + 1));
	unsigned whole = 0, torn = 0;
	/* On a busy machine the writers may begin late. */
	for (int round = 0; round < 300 || (whole <= 1000 && round < 1000000); round++, sched_yield())
		for (uint32_t i = 0; i < cairn_ledger_count(&ledger, CAIRN_LEDGER_SAMPLES); i++) {
			struct cairn_ledger_sample sample;
			if (!cairn_ledger_get_sample(&ledger, i, &sample))
				continue;
			whole++;
			torn += sample.size != sample.address || sample.period != sample.address + 1 ||
				sample.birth_ns != (int64_t)sample.address + 2;
		}
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ok(whole > 1000 && torn == 0, "while three threads write, %u samples are read and %u are torn", whole, torn);
	ok(record.header->live == count_live(&ledger), "the count of live samples is theirs");
	cairn_record_clear(&record, forget);
}

static void test_fork(void)
{
	pid_t child = tap_fork();
	if (child == 0) {
		unsigned char resident;
		_exit(mincore(record.header, 4096, &resident) == 0);
	}
	int status;
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child has no ledger to write into");
	ok(record.descriptor >= 0 && ftruncate(record.descriptor, 4096) != 0, "its memory cannot be made smaller by anybody");
}

static bool save_nothing(void *context, const struct cairn_ledger *ledger, struct cairn_error *error)
{
	(void)context, (void)ledger, (void)error;
	return true;
}

/* In a process whose files may not be as long as a ledger. Returns what is wrong. */
static int open_within_limit(const char *path)
{
	struct cairn_record limited;
	struct cairn_error error = {0};
	struct cairn_record_file file = {path, save_nothing, NULL};
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){CAIRN_RECORD_LEAST / 2, CAIRN_RECORD_LEAST / 2});
	if (!cairn_record_open(&limited, CAIRN_RECORD_LEAST, &error) || limited.descriptor != -1 || limited.header->ready != 1)
		return 1;
	cairn_record_close(&limited);
	if (cairn_record_open_file(&limited, CAIRN_RECORD_LEAST, &file, &error))
		return 2;
	/* The second is said of file systems that are not tried at all. */
	return strstr(error.text, strerror(EFBIG)) || strstr(error.text, "cannot promise space") ? 0 : 3;
}

static void test_file_limit(void)
{
	char path[] = "/tmp/cairn-record-test.XXXXXX";
	int status, descriptor = mkstemp(path);
	pid_t child = tap_fork();
	if (child == 0)
		_exit(open_within_limit(path));
	waitpid(child, &status, 0);
	is_int(status, 0, "where a file may not be that long, a ledger is in anonymous memory, and none is in a file");
	close(descriptor);
	unlink(path);
}

static void test_dump(void)
{
	struct cairn_ledger_heap heap;
	struct cairn_error error;
	struct cairn_buffer out = cairn_pages(1 << 26);
	uint32_t stack = add_stack(7, 3);
	char line[64];
	prctl(PR_SET_NAME, "tester");
	own_thread = cairn_record_thread(&record, INT64_MAX);
	for (uint64_t i = 1; i <= 100; i++)
		add_sample(i * 64, 10 + i, stack);
	struct cairn_ledger ledger = open_reader();
	ok(cairn_ledger_write_heap(&ledger, 5000, &(struct cairn_ledger_witness){0}, &out, &heap, &error),
	   "a ledger can be written as a dump");
	struct cairn_bytes text = cairn_buffer_bytes(&out), sections = cairn_buffer_bytes(&heap.sections);
	ok(cairn_bytes_start_with(text, "heap_v2/1\n  t*: ") && cairn_bytes_contain(text, "\n@ 0x1b58 0x1b59 0x1b5a\n  t*: "),
	   "with its stacks");
	snprintf(line, sizeof line, " 110 0 1024 %d 4 0\n", (int)gettid());
	ok(heap.samples == 100 && cairn_bytes_contain(sections, "# cairn live ") && cairn_bytes_contain(sections, line),
	   "and its samples, with the thread's number in the kernel");
	snprintf(line, sizeof line, "\n  t%d: ", (int)gettid());
	const char *named = memmem(text.data, text.length, line, strlen(line)), *unnamed = named ? memmem(named + 1, text.length - (size_t)(named + 1 - text.data), line, strlen(line)) : NULL;
	ok(named && unnamed && memmem(named + 1, (size_t)(strchr(named + 1, '\n') + 1 - named), " tester\n", 8), "which is named once");
	own_thread = 1;
	cairn_buffer_free(&heap.sections);
	cairn_buffer_free(&out);
	cairn_record_clear(&record, forget);
}

int main(void)
{
	struct cairn_error error;
	ok(!cairn_record_open(&record, 4096, &error), "a ledger that is too small is refused");
	ok(cairn_record_open(&record, CAIRN_RECORD_LEAST, &error), "the smallest can be made");
	test_one_thread();
	test_other_moves();
	test_null();
	test_lifetimes_end();
	test_modules();
	test_threads();
	test_short_threads();
	test_fork();
	test_file_limit();
	test_dump();
	test_peak();
	test_history();
	test_full();
	test_overfull();
	test_many_threads();
	cairn_record_close(&record);
	return tap_done();
}
