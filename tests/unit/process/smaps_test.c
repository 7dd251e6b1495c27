/* smaps_test.c - mappings of every kind, odd lines, and our own process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/smaps.h"
#include "tap.h"
#include "without_first_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAP(range, flags, name, rss, vm_flags) \
	range " " flags " 00000000 00:00 0    " name "\nSize: 1 kB\nRss:      " rss \
	      " kB\nPss: 1 kB\nSwap: 2 kB\nLazyFree: 1 kB\nVmFlags: rd wr " vm_flags "\n"

static const char text[] =
	MAP("20000000000-20000001000", "rw-p", "", "44", "ac")
	MAP("555500000000-555500001000", "r-xp", "/usr/bin/service", "4", "ex")
	MAP("555500001000-555500002000", "rw-p", "/usr/bin/service", "4", "ac")
	MAP("555500002000-555500009000", "rw-p", "", "8", "ac")
	MAP("555500009000-55550000a000", "rw-p", "[heap]", "16", "ac")
	MAP("7f0000000000-7f0000100000", "rw-p", "", "400", "nr")
	MAP("7f0000100000-7f0004000000", "---p", "", "0", "nr")
	MAP("7f1000200000-7f1040200000", "rw-p", "", "1000", "mr nr")
	MAP("7f1050000000-7f1050001000", "rw-p", "[anon:jemalloc_pg]", "4", "ac")
	MAP("7f2000000000-7f2000001000", "---p", "", "0", "")
	MAP("7f2000001000-7f2000801000", "rw-p", "", "12", "ac nh")
	MAP("7f3000000000-7f3000001000", "rw-p", "", "20", "ac")
	MAP("7f3000002000-7f3000003000", "rw-s", "/dev/zero (deleted)", "24", "")
	MAP("7f3000003000-7f3000004000", "rw-s", "/memfd:pool (deleted)", "28", "")
	MAP("7f3000004000-7f3000005000", "r--s", "/var/lib/data file", "32", "")
	MAP("7ffd00000000-7ffd00001000", "rw-p", "[stack]", "36", "ac")
	MAP("7ffd00002000-7ffd00003000", "r-xp", "[vdso]", "4", "");

static uint64_t rss(const struct cairn_smaps *smaps, enum cairn_smaps_kind kind)
{
	return smaps->kinds[kind].rss >> 10;
}

static void test_kinds(void)
{
	struct cairn_smaps smaps;
	cairn_smaps_parse(&smaps, cairn_bytes_of(text));
	is_int(rss(&smaps, CAIRN_SMAPS_NORESERVE), 1004, "what is mapped without reserve, and what jemalloc named");
	is_int(smaps.kinds[CAIRN_SMAPS_NORESERVE].size, 0x40000000 + 0x1000, "its size");
	is_int(rss(&smaps, CAIRN_SMAPS_ARENA), 400, "an arena of glibc's malloc by its shape");
	is_int(smaps.kinds[CAIRN_SMAPS_ARENA].size, 1 << 20, "as large as what it uses, without the rest of its reservation");
	is_int(rss(&smaps, CAIRN_SMAPS_HEAP), 16, "the heap");
	is_int(rss(&smaps, CAIRN_SMAPS_HINTED), 44, "where mimalloc asks for memory");
	is_int(rss(&smaps, CAIRN_SMAPS_STACK), 12 + 36, "stacks: the first, and one behind its guard page");
	is_int(rss(&smaps, CAIRN_SMAPS_DATA), 4 + 8, "data, and the zeroed memory behind it");
	is_int(rss(&smaps, CAIRN_SMAPS_FILE), 4 + 32, "files, with a space in a name");
	is_int(rss(&smaps, CAIRN_SMAPS_SHARED), 24 + 28, "shared memory");
	is_int(rss(&smaps, CAIRN_SMAPS_ANONYMOUS), 20, "the others");
	is_int(rss(&smaps, CAIRN_SMAPS_KERNEL), 4, "the kernel's own");
	uint64_t sum = 0;
	for (int i = 0; i < CAIRN_SMAPS_KINDS; i++)
		sum += smaps.kinds[i].rss;
	is_int(sum, smaps.rss, "every mapping is of one kind");
	is_int(smaps.swap >> 10, 34, "swap of all");
	is_int(smaps.regions, 2, "ranges of 1 GiB: of the mapping, and the one behind it, but not of an arena");
}

/* A program may make a part of its data read-only; what follows it is still its zeroed memory. The next file's is not. */
static void test_data(void)
{
	static const char pieces[] =
		"0800-1000 r-xp 0 0:1 77 /bin/a\nRss: 4 kB\n1000-2000 rw-p 0 0:1 77 /bin/a\nRss: 4 kB\n"
		"2000-3000 r--p 0 0:1 77 /bin/a\nRss: 4 kB\n3000-9000 rw-p 0 0:0 0\nRss: 8 kB\n"
		"9000-a000 r-xp 0 0:1 78 /lib/b\nRss: 4 kB\na000-b000 rw-p 0 0:1 78 /lib/b\nRss: 4 kB\n"
		"b000-c000 r--p 0 0:1 79 /lib/c\nRss: 4 kB\nc000-d000 rw-p 0 0:0 0\nRss: 4 kB\n";
	struct cairn_smaps smaps;
	cairn_smaps_parse(&smaps, cairn_bytes_of(pieces));
	is_int(rss(&smaps, CAIRN_SMAPS_DATA), 4 + 8 + 4, "zeroed memory behind a read-only part of the data");
	is_int(rss(&smaps, CAIRN_SMAPS_ANONYMOUS), 4, "but not behind another file");
	cairn_smaps_parse(&smaps, cairn_bytes_of("1000-2000 r-xp 0 0:1 77 /bin/a\nRss: 4 kB\n2000-3000 rw-p 0 0:1 77 /bin/a\nRss: 4 kB\n"
						 "3000-4000 rw-p 0 0:1 90 /srv/table\nRss: 16 kB\n4000-5000 rw-p 0 0:0 0\nRss: 8 kB\n"));
	is_int(rss(&smaps, CAIRN_SMAPS_DATA), 4, "data is of programs and libraries");
	is_int(rss(&smaps, CAIRN_SMAPS_FILE), 4 + 16, "a private copy of another file is that file's");
	is_int(rss(&smaps, CAIRN_SMAPS_ANONYMOUS), 8, "and what lies behind it is not its data");
}

/* The kernel shows a mapping again that grew between two reads. */
static void test_shown_again(void)
{
	static const char grown[] =
		MAP("7f0000000000-7f0000100000", "rw-p", "", "1024", "nr")
		MAP("7f0000000000-7f0000101000", "rw-p", "", "1028", "nr")
		MAP("7f0000101000-7f0004000000", "---p", "", "0", "nr");
	static const char shrunk[] =
		MAP("7f0000000000-7f0000100000", "rw-p", "", "1024", "nr")
		MAP("7f0000080000-7f0004000000", "---p", "", "0", "nr");
	static const char joined[] =
		MAP("7f0000000000-7f0000100000", "rw-p", "", "1024", "ac")
		MAP("7f0000000000-7f0000200000", "rw-p", "", "2048", "ac")
		MAP("7f0000000000-7f0000180000", "rw-p", "", "1536", "ac")
		MAP("7f0000300000-7f0000301000", "rw-p", "", "4", "ac");
	struct cairn_smaps smaps;
	cairn_smaps_parse(&smaps, cairn_bytes_of(grown));
	is_int(smaps.rss >> 10, 1028, "a mapping that is shown again is counted once");
	is_int(rss(&smaps, CAIRN_SMAPS_ARENA), 1028, "and is still an arena");
	is_int(smaps.kinds[CAIRN_SMAPS_ARENA].size, 0x101000, "as large as it has become");
	is_int(smaps.kinds[CAIRN_SMAPS_NORESERVE].size, 0, "of which nothing is left over");
	cairn_smaps_parse(&smaps, cairn_bytes_of(shrunk));
	is_int(rss(&smaps, CAIRN_SMAPS_ARENA), 1024, "one that has shrunk is an arena, too");
	cairn_smaps_parse(&smaps, cairn_bytes_of(joined));
	is_int(rss(&smaps, CAIRN_SMAPS_ANONYMOUS), 2048 + 4, "one that has become part of another is counted with it");
	is_int(smaps.kinds[CAIRN_SMAPS_ANONYMOUS].size, 0x201000, "with its size");
}

/* An arena of glibc's malloc that is full has nothing behind it, and the next may follow at once. */
static void test_full_arenas(void)
{
	static const char arenas[] =
		MAP("7f0000000000-7f0008000000", "rw-p", "", "131072", "nr")
		MAP("7f0010000000-7f0014100000", "rw-p", "", "66560", "nr")
		MAP("7f0014100000-7f0018000000", "---p", "", "0", "nr");
	struct cairn_smaps smaps;
	cairn_smaps_parse(&smaps, cairn_bytes_of(arenas));
	is_int(rss(&smaps, CAIRN_SMAPS_ARENA), 131072 + 66560, "full arenas of glibc's malloc");
	is_int(smaps.kinds[CAIRN_SMAPS_ARENA].size, 0x8000000 + 0x4100000, "with their size");
	is_int(rss(&smaps, CAIRN_SMAPS_NORESERVE), 0, "are of that kind alone");
	cairn_smaps_parse(&smaps, (struct cairn_bytes){arenas, (size_t)(strstr(arenas, "7f0010000000") - arenas)});
	is_int(rss(&smaps, CAIRN_SMAPS_NORESERVE), 131072, "but not in a process that has no other: such a mapping may be anybody's");
}

static void test_odd(void)
{
	static const char *const odd[] = {"",
					  "\n\n",
					  "Rss: 4 kB\n",
					  "zzz\nRss: 99999999999999999999 kB\n",
					  "10-5 rw-p 0 0 0 \nRss: 4 kB\n",
					  "1-2",
					  "1-2 rw\nVmFlags:\nVmFlags: n",
					  "0-ffffffffffffffff rw-p 0 0 0\nRss: 18446744073709551615 kB\nVmFlags: nr\n"};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		struct cairn_smaps smaps;
		char *copy = strdup(odd[i]); /* so that a step past the end is seen */
		cairn_smaps_parse(&smaps, (struct cairn_bytes){copy, strlen(odd[i])});
		free(copy);
	}
	ok(true, "odd lines are survived");
}

static void test_numbers(void)
{
	struct cairn_smaps smaps, copy = {0};
	char name[40];
	uint64_t *value, *other;
	cairn_smaps_parse(&smaps, cairn_bytes_of(text));
	unsigned count = 0;
	for (; cairn_smaps_number(&smaps, count, name, &value); count++)
		if (cairn_smaps_number(&copy, count, name, &other))
			*other = *value;
	ok(count > 30 && memcmp(&smaps, &copy, sizeof smaps) == 0, "the %u numbers are all of it", count);
	ok(cairn_smaps_number(&smaps, 0, name, &value) && strcmp(name, "smaps.rss") == 0, "the first is %s", name);
}

static void test_self(void)
{
	enum { size = 32 << 20 };
	struct cairn_smaps before, after;
	ok(cairn_smaps_read(&before, 0), "our own mappings");
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *plain = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(memory, 1, size / 2);
	memset(plain, 1, size);
	ok(cairn_smaps_read(&after, (int)getpid()), "by number");
	if (TAP_THREAD_SANITIZER)
		tap_skip("resident memory grows by what was touched", "ThreadSanitizer's shadow is resident too");
	else
		is_near((double)(after.rss - before.rss), 1.5 * size, 1 << 20, "resident memory grows by what was touched");
	if (TAP_THREAD_SANITIZER)
		tap_skip("as the kind it is", "ThreadSanitizer's shadow is of that kind too");
	else if (after.kinds[CAIRN_SMAPS_NORESERVE].size - before.kinds[CAIRN_SMAPS_NORESERVE].size == size)
		is_int(after.kinds[CAIRN_SMAPS_NORESERVE].rss - before.kinds[CAIRN_SMAPS_NORESERVE].rss, size / 2, "as the kind it is");
	else
		tap_skip("as the kind it is", "this machine never overcommits");
	munmap(memory, size);
	munmap(plain, size);
	ok(!cairn_smaps_read(&after, 999999999) && errno == ENOENT, "a process that is not there");
}

/* What the caller names is counted apart, whole mappings and parts of them; and a ledger is told by its name or by its place. */
static void test_apart(void)
{
	enum { size = 8 << 20 };
	struct cairn_smaps plain, apart;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int named = memfd_create("cairn-ledger", MFD_CLOEXEC);
	char *ledger = ftruncate(named, size) == 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, named, 0) : MAP_FAILED;
	memset(memory, 1, size);
	memset(shared, 1, size);
	memset(ledger, 1, size / 2);
	struct cairn_smaps_range ranges[] = {{(uintptr_t)memory + size / 4, (uintptr_t)memory + size / 2},
					     {(uintptr_t)memory + size / 2, (uintptr_t)memory + 3 * size / 4},
					     {(uintptr_t)shared, (uintptr_t)shared + size}};
	if (ranges[2].start < ranges[0].start) {
		struct cairn_smaps_range last = ranges[2];
		ranges[2] = ranges[1];
		ranges[1] = ranges[0];
		ranges[0] = last;
	}
	ok(cairn_smaps_read(&plain, 0) && cairn_smaps_read_apart(&apart, 0, 0, ranges, 3), "mappings with some apart");
	is_int(apart.kinds[CAIRN_SMAPS_MAPPED].rss, size / 2, "the private ones that were named are of a kind of their own");
	is_int(apart.kinds[CAIRN_SMAPS_MAPPED].size, size / 2, "with their size");
	is_int(plain.kinds[CAIRN_SMAPS_MAPPED].rss, 0, "which nobody has otherwise");
	is_near((double)plain.kinds[CAIRN_SMAPS_ANONYMOUS].rss, (double)(apart.kinds[CAIRN_SMAPS_ANONYMOUS].rss + size / 2), 1 << 18,
		"and are taken out of the kind they were of");
	is_int(plain.kinds[CAIRN_SMAPS_LEDGER].rss, size / 2, "a ledger is known by its name");
	cairn_smaps_set_ledger((uintptr_t)shared);
	cairn_smaps_read(&apart, 0);
	is_int(apart.kinds[CAIRN_SMAPS_LEDGER].rss, size + size / 2, "or by its place");
	cairn_smaps_set_ledger(0);
	munmap(memory, size);
	munmap(shared, size);
	munmap(ledger, size);
	close(named);
}

static bool reads_its_mappings(void)
{
	struct cairn_smaps smaps;
	return cairn_smaps_read(&smaps, 0);
}

int main(void)
{
	test_kinds();
	test_data();
	test_shown_again();
	test_full_arenas();
	test_odd();
	test_numbers();
	test_self();
	test_apart();
	ok(holds_without_first_thread(reads_its_mappings), "a process without its first thread reads its own mappings");
	return tap_done();
}
