/* memory_test.c - readings from made-up machines: groups of both versions, nested, unlimited, hostile; and from this one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/memory.h"
#include "tap.h"
#include "without_first_thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[64];
static const int64_t second = 1000000000;

/* Writes TEXT to PATH of the made-up machine, with the folders above it. */
static void put(const char *path, const char *text)
{
	char full[1024];
	snprintf(full, sizeof full, "%s%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(full, 0700);
		*slash = '/';
	}
	FILE *file = fopen(full, "we");
	if (file) {
		fputs(text, file);
		fclose(file);
	}
}

/* A fresh machine with process 42, which has 30 pages resident of which 10 are files. */
static void begin(void)
{
	char command[100];
	snprintf(command, sizeof command, "rm -rf %.60s/*", root);
	if (system(command) != 0)
		printf("# cannot clean %s\n", root);
	put("/proc/42/statm", "100 30 10 1 0 50 0\n");
	put("/proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:    8192 kB\n");
	put("/proc/vmstat", "nr_free_pages 1\noom_kill 7\n");
	put("/proc/pressure/memory", "some avg10=12.34 avg60=0.00 avg300=0.00 total=5\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=0\n");
}

static struct cairn_memory_reading look(void)
{
	struct cairn_memory memory;
	struct cairn_memory_reading reading = {0};
	struct cairn_error error = {0};
	if (!cairn_memory_open(&memory, root, 42, &error) || !cairn_memory_read(&memory, 0, &reading))
		printf("# %s\n", error.text);
	cairn_memory_close(&memory);
	return reading;
}

/* The page cache of the group that has the limit. */
static uint64_t cache(void)
{
	struct cairn_memory memory;
	struct cairn_memory_reading reading;
	struct cairn_error error;
	uint64_t found = 0;
	if (cairn_memory_open(&memory, root, 42, &error) && cairn_memory_read(&memory, 0, &reading))
		found = cairn_memory_cache(&memory);
	cairn_memory_close(&memory);
	return found;
}

static const char mounts_two[] =
	"21 1 0:5 / /proc rw - proc proc rw\n31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
static const char mounts_one[] = "35 31 0:31 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
				 "36 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup  rw,memory\n"
				 "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

static void test_no_group(void)
{
	long page = sysconf(_SC_PAGESIZE);
	begin();
	struct cairn_memory_reading reading = look();
	is_int(reading.anonymous, 20 * page, "own memory is what is resident and no file");
	is_int(reading.resident, 30 * page, "resident");
	is_int(reading.limit, 16384 << 10, "without groups the machine is the limit");
	ok(!reading.limit_of_group, "and said to be");
	is_int(reading.host_available, 8192 << 10, "what is available");
	is_near(reading.pressure, 0.1234, 1e-9, "the machine's pressure");
}

static uint64_t left(void)
{
	struct cairn_memory memory;
	struct cairn_error error = {0};
	if (!cairn_memory_open(&memory, root, 42, &error))
		printf("# %s\n", error.text);
	uint64_t bytes = cairn_memory_left(&memory);
	cairn_memory_close(&memory);
	return bytes;
}

static void test_left(void)
{
	begin();
	is_int(left(), 8192 << 10, "without groups there is left what the machine has available");
	put("/proc/42/cgroup", "0::/a/b\n");
	put("/proc/thread-self/mountinfo", mounts_two);
	put("/sys/fs/cgroup/a/b/memory.max", "5000000\n");
	put("/sys/fs/cgroup/a/b/memory.current", "1000000\n");
	is_int(left(), 4000000, "version 2: the limit less what is used");
	put("/sys/fs/cgroup/a/b/memory.stat", "anon 5\ninactive_anon 7\nactive_file 9\ninactive_file 300000\n");
	is_int(left(), 4300000, "and the cache that can be dropped");
	put("/sys/fs/cgroup/a/memory.high", "6000000\n");
	put("/sys/fs/cgroup/a/memory.current", "5900000\n");
	is_int(left(), 100000, "the group above may have less");
	put("/sys/fs/cgroup/a/memory.current", "6900000\n");
	is_int(left(), 0, "or nothing");
	begin();
	put("/proc/42/cgroup", "4:memory:/docker/abc\n");
	put("/proc/thread-self/mountinfo", mounts_one);
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "4000000\n");
	put("/sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "3000000\n");
	put("/sys/fs/cgroup/memory/docker/abc/memory.stat", "inactive_file 1\ntotal_inactive_file 50000\n");
	is_int(left(), 1050000, "version 1");
	put("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
	is_int(left(), 8192 << 10, "version 1 without a limit");
}

static void test_version_two(void)
{
	begin();
	put("/proc/42/cgroup", "0::/system.slice/db.service/inner\n");
	put("/proc/thread-self/mountinfo", mounts_two);
	put("/sys/fs/cgroup/system.slice/db.service/inner/memory.max", "max\n");
	put("/sys/fs/cgroup/system.slice/db.service/inner/memory.high", "max\n");
	put("/sys/fs/cgroup/system.slice/db.service/inner/memory.events", "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n");
	put("/sys/fs/cgroup/system.slice/db.service/inner/memory.pressure", "some avg10=3.00 avg60=0 avg300=0 total=0\n");
	struct cairn_memory_reading reading = look();
	is_int(reading.limit, 16384 << 10, "max is no limit");
	is_int(reading.events.high * 1000 + reading.events.max * 100 + reading.events.oom * 10 + reading.events.oom_kill, 1234,
	       "events by their names");
	is_near(reading.pressure, 0.03, 1e-9, "the group's own pressure");
	put("/sys/fs/cgroup/system.slice/memory.max", "8388608\n");
	put("/sys/fs/cgroup/system.slice/memory.current", "7000000\n");
	put("/sys/fs/cgroup/system.slice/db.service/memory.max", "9000000\n");
	reading = look();
	is_int(reading.limit, 8388608, "the tightest limit above counts");
	is_int(reading.usage, 7000000, "with what is charged there");
	is_int(cache(), 0, "of which cache, if the kernel does not say, is nothing");
	put("/sys/fs/cgroup/system.slice/memory.stat", "anon 5\nfile 999\nactive_anon 8\ninactive_file 100\nactive_file 20\n");
	is_int(cache(), 120, "else what of it can be dropped");
	ok(reading.limit_of_group, "and is a group's");
	put("/sys/fs/cgroup/system.slice/db.service/memory.high", "5000000\n");
	is_int(look().limit, 5000000, "the mark at which the kernel slows is a limit");
	put("/sys/fs/cgroup/system.slice/db.service/memory.high", "99999999999\n");
	is_int(look().limit, 8388608, "but none that is wider");
}

static void test_version_one(void)
{
	begin();
	put("/proc/42/cgroup", "9:name=systemd:/\n4:memory:/docker/abc\n3:cpuset,cpu:/\n0::/else\n");
	put("/proc/thread-self/mountinfo", mounts_one);
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/docker/abc/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
	put("/sys/fs/cgroup/memory/docker/abc/memory.failcnt", "11\n");
	is_int(look().limit, 16384 << 10, "no limit in version 1 is a large number");
	put("/proc/meminfo", "");
	is_int(look().limit, 0, "and no limit where the machine tells none either");
	put("/proc/meminfo", "MemTotal:       16384 kB\n");
	put("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "4194304\n");
	put("/sys/fs/cgroup/memory/docker/memory.usage_in_bytes", "4000000\n");
	struct cairn_memory_reading reading = look();
	is_int(reading.limit, 4194304, "the group above has one");
	is_int(reading.usage, 4000000, "and what is charged to it");
	put("/sys/fs/cgroup/memory/docker/memory.stat", "inactive_file 1\nactive_file 2\ntotal_inactive_file 300\ntotal_active_file 40\n");
	is_int(cache(), 340, "of which cache with that of the groups below");
	is_int(reading.events.max, 11, "how often it was reached");
	is_int(reading.events.oom_kill, 3, "and who was killed for it");
	is_near(reading.pressure, 0.1234, 1e-9, "pressure is the machine's");
}

/* What a container sees: the host's name of its group, and a mount of that group alone. */
static void test_container(void)
{
	begin();
	put("/proc/42/cgroup", "4:memory:/kubepods/pod1/abc/inner\n");
	put("/proc/thread-self/mountinfo", "36 31 0:32 /kubepods/pod1/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000\n");
	put("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "2000000\n");
	is_int(look().limit, 2000000, "the mounted part of the path is taken off");
	put("/proc/42/cgroup", "4:memory:/kubepods/pod1/abcdef\n");
	put("/sys/fs/cgroup/memorydef/memory.limit_in_bytes", "1000000\n");
	is_int(look().limit, 3000000, "a group outside of the mount stands for the mount");
	put("/proc/42/cgroup", "4:memory:/system.slice/my\\x2dservice.slice/inner\n");
	put("/proc/thread-self/mountinfo",
	    "36 31 0:32 /system.slice/my\\134x2dservice.slice /sys/fs/c\\040group ro - cgroup cgroup rw,memory\n");
	put("/sys/fs/c group/memory.limit_in_bytes", "3000000\n");
	put("/sys/fs/c group/inner/memory.limit_in_bytes", "1500000\n");
	is_int(look().limit, 1500000, "blanks and backslashes that mountinfo has in octal");
	put("/proc/thread-self/mountinfo", mounts_two);
	put("/proc/42/cgroup", "0::/../../other\n");
	put("/sys/fs/cgroup/memory.max", "2500000\n");
	is_int(look().limit, 2500000, "so does one outside of the namespace");
	put("/proc/42/cgroup", "0::/\n");
	is_int(look().limit, 2500000, "and the namespace's own");
	put("/proc/42/cgroup", "0::/gone (deleted)\n");
	is_int(look().limit, 2500000, "and one that was removed");
}

static void test_hostile(void)
{
	static const char *const texts[] = {"", "\n", "maxi\n", "-1\n", "0\n", "12x\n", "99999999999999999999999999\n",
					    "0x10\n", "1 2\n", "1e9\n"};
	begin();
	put("/proc/42/cgroup", "0::/a\n");
	put("/proc/thread-self/mountinfo", mounts_two);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		put("/sys/fs/cgroup/a/memory.max", texts[i]);
		is_int(look().limit, 16384 << 10, "a limit of '%.*s' is none", (int)strcspn(texts[i], "\n"), texts[i]);
	}
	static const char *const pressures[] = {
		"", "some", "some avg10=", "some avg10=x", "some avg10=1e3", "some avg10=999.00", "some avg10=5.123456"};
	for (size_t i = 0; i < sizeof pressures / sizeof *pressures; i++) {
		put("/sys/fs/cgroup/a/memory.pressure", pressures[i]);
		ok(look().pressure <= 0.05, "pressure '%s'", pressures[i]);
	}
	static const char *const lines[] = {
		":", "::", "0:", "0::", "\n\n\n", ":memory:", ":memory:/a/../../..", "no colon at all", "1:memory,,:/a"};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		put("/proc/42/cgroup", lines[i]);
		ok(look().limit > 0, "groups '%.*s'", (int)strcspn(lines[i], "\n"), lines[i]);
	}
	static const char *const stats[] = {"", "100", "100 30", "x y z", "100 30 99\n", "18446744073709551616 1 1\n", "0 0 0 0 0 0 0\n"};
	for (size_t i = 0; i < sizeof stats / sizeof *stats; i++) {
		put("/proc/42/statm", stats[i]);
		is_int(look().anonymous, 0, "memory '%.*s'", (int)strcspn(stats[i], "\n"), stats[i]);
	}
	/* A mount whose line is longer than any piece, then the one that matters. */
	static char mounts[20000];
	int length = snprintf(mounts, sizeof mounts, "1 1 0:1 / /");
	memset(mounts + length, 'x', 12000);
	snprintf(mounts + length + 12000, 7000, " rw - overlay overlay rw\n%s", mounts_two);
	begin();
	put("/proc/42/cgroup", "0::/a\n");
	put("/proc/thread-self/mountinfo", mounts);
	put("/sys/fs/cgroup/a/memory.max", "1234567\n");
	is_int(look().limit, 1234567, "a line that is too long hides no other");
}

static void test_change(void)
{
	struct cairn_memory memory;
	struct cairn_memory_reading reading;
	struct cairn_error error;
	begin();
	put("/proc/42/cgroup", "0::/a\n");
	put("/proc/thread-self/mountinfo", mounts_two);
	put("/sys/fs/cgroup/a/memory.max", "1000000\n");
	put("/sys/fs/cgroup/a/memory.events", "oom_kill 0\n");
	put("/sys/fs/cgroup/b/memory.max", "3000000\n");
	if (!ok(cairn_memory_open(&memory, root, 42, &error), "process 42"))
		return;
	ok(cairn_memory_read(&memory, 0, &reading) && reading.limit == 1000000, "its limit");
	put("/sys/fs/cgroup/a/memory.max", "2000000\n");
	put("/proc/42/statm", "100 60 10 1 0 50 0\n");
	ok(cairn_memory_read(&memory, second, &reading) && reading.anonymous == 50 * (uint64_t)sysconf(_SC_PAGESIZE),
	   "memory is read each time");
	is_int(reading.limit, 1000000, "limits not so often");
	ok(cairn_memory_read(&memory, 2 * second, &reading) && reading.limit == 2000000, "but every two seconds");
	put("/proc/42/cgroup", "0::/b\n");
	ok(cairn_memory_read(&memory, 4 * second, &reading) && reading.limit == 3000000, "moved to another group");
	ok(!cairn_memory_was_short(&memory), "nobody was killed");
	put("/proc/vmstat", "oom_kill 8\n");
	ok(cairn_memory_was_short(&memory), "the machine tells of it where the group cannot");
	put("/proc/42/statm", "0 0 0 0 0 0 0\n");
	ok(!cairn_memory_read(&memory, 5 * second, &reading), "a zombie has ended");
	cairn_memory_close(&memory);
	put("/proc/42/cgroup", "0::/a\n");
	put("/proc/42/statm", "100 60 10 1 0 50 0\n");
	ok(cairn_memory_open(&memory, root, 42, &error), "again in the first group");
	put("/proc/vmstat", "oom_kill 9\n");
	ok(!cairn_memory_was_short(&memory), "which speaks for itself while it is there");
	put("/sys/fs/cgroup/a/memory.events", "oom_kill 1\n");
	ok(cairn_memory_was_short(&memory), "and says so when it was");
	cairn_memory_close(&memory);
}

static int count_descriptors(void)
{
	int count = 0;
	for (int i = 0; i < 2048; i++)
		count += fcntl(i, F_GETFD) >= 0;
	return count;
}

static bool reads_its_memory(void)
{
	struct cairn_memory memory;
	struct cairn_memory_reading reading;
	return cairn_memory_open(&memory, "", 0, NULL) && cairn_memory_read(&memory, 0, &reading) && reading.anonymous > 0;
}

static void test_real(void)
{
	struct cairn_memory memory;
	struct cairn_memory_reading before, after;
	struct cairn_error error;
	int descriptors = count_descriptors();
	ok(cairn_memory_open(&memory, "", 0, &error) && cairn_memory_read(&memory, 0, &before), "this process");
	enum { size = 64 << 20 };
	char *volatile block = malloc(size);
	memset(block, 1, size);
	ok(cairn_memory_read(&memory, 1, &after), "again");
	if (TAP_THREAD_SANITIZER)
		tap_skip("64 MiB more are seen", "ThreadSanitizer's shadow is resident too");
	else
		is_near((double)(after.anonymous - before.anonymous), size, 1 << 20, "64 MiB more are seen");
	free(block);
	ok(after.limit > 0 && after.host_total >= after.limit && after.host_available > 0, "it has a limit of %llu",
	   (unsigned long long)after.limit);
	cairn_memory_close(&memory);
	is_int(count_descriptors(), descriptors, "no descriptor is left");

	pid_t child = tap_fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	ok(cairn_memory_open(&memory, "", child, &error) && cairn_memory_read(&memory, 0, &before), "a child");
	kill(child, SIGKILL);
	siginfo_t info;
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	ok(!cairn_memory_read(&memory, 1, &after), "killed, it has ended though nobody has waited for it");
	waitpid(child, NULL, 0);
	ok(!cairn_memory_read(&memory, 2, &after), "and when somebody has");
	cairn_memory_close(&memory);
	ok(!cairn_memory_open(&memory, "", child, &error), "it cannot be begun with: %s", error.text);
	is_int(count_descriptors(), descriptors, "no descriptor is left");
}

/* 32 MiB that a child has of its parent are in a sum of both only once. */
static void test_sum(void)
{
	enum { size = 32 << 20 };
	volatile char *shared = malloc(size); /* volatile, since a compiler may leave out memory that nobody reads */
	for (size_t at = 0; at < size; at += 4096)
		shared[at] = 1;
	uint64_t before = cairn_memory_in_sum(getpid(), UINT64_MAX);
	int pipes[2];
	if (pipe(pipes) != 0)
		return;
	pid_t child = tap_fork();
	if (child == 0) {
		char byte;
		close(pipes[1]);
		_exit(read(pipes[0], &byte, 1) != 0); /* until the parent has looked */
	}
	close(pipes[0]);
	uint64_t sum = cairn_memory_in_sum(getpid(), UINT64_MAX) + cairn_memory_in_sum(child, UINT64_MAX);
	if (before == UINT64_MAX)
		ok(sum == UINT64_MAX - 1, "a kernel without Pss_Anon: what was read otherwise counts");
	else
		ok(before >= size && sum < before + size / 2, "shared after a fork: %llu KiB, of %llu before",
		   (unsigned long long)sum >> 10, (unsigned long long)before >> 10);
	is_int((int64_t)cairn_memory_in_sum(child, 4096), 4096, "never more than the process has by another count");
	is_int((int64_t)cairn_memory_in_sum(1 << 30, 77), 77, "and that where there is no such process");
	close(pipes[1]);
	waitpid(child, NULL, 0);
	free((char *)(uintptr_t)shared);
}

/* Processes of one group ask for its limits once, those of others for theirs. */
static void test_shared_groups(void)
{
	static struct cairn_memory_groups groups;
	struct cairn_memory first, second_of_group, other;
	struct cairn_memory_reading reading;
	struct cairn_error error;
	begin();
	put("/proc/thread-self/mountinfo", mounts_two);
	put("/proc/42/cgroup", "0::/a\n");
	put("/proc/43/cgroup", "0::/a\n");
	put("/proc/44/cgroup", "0::/b\n");
	put("/proc/43/statm", "100 40 10 1 0 50 0\n");
	put("/proc/44/statm", "100 50 10 1 0 50 0\n");
	put("/sys/fs/cgroup/a/memory.max", "1000000\n");
	put("/sys/fs/cgroup/b/memory.max", "5000000\n");
	ok(cairn_memory_open(&first, root, 42, &error) && cairn_memory_open(&second_of_group, root, 43, &error) &&
		   cairn_memory_open(&other, root, 44, &error), "two processes of one group, and one of another");
	first.groups = second_of_group.groups = other.groups = &groups;
	ok(cairn_memory_read(&first, 0, &reading) && reading.limit == 1000000, "the first asks");
	put("/sys/fs/cgroup/a/memory.max", "2000000\n");
	ok(cairn_memory_read(&second_of_group, second, &reading) && reading.limit == 1000000, "the second takes what it was told");
	is_int(reading.anonymous, 30 * sysconf(_SC_PAGESIZE), "with memory of its own");
	ok(cairn_memory_read(&other, second, &reading) && reading.limit == 5000000, "the other has a limit of its own");
	ok(cairn_memory_read(&second_of_group, 2 * second, &reading) && reading.limit == 2000000, "what was told is two seconds old at most");
	put("/proc/42/cgroup", "0::/b\n");
	ok(cairn_memory_read(&first, 2 * second, &reading) && reading.limit == 5000000, "one that moves takes what its new group was told");
	ok(reading.limit_of_group && cairn_memory_left(&first) == 5000000, "and knows which group that is");
	cairn_memory_close(&first);
	cairn_memory_close(&second_of_group);
	cairn_memory_close(&other);
}

int main(void)
{
	snprintf(root, sizeof root, "/tmp/cairn-memory.XXXXXX");
	if (!mkdtemp(root))
		return 1;
	test_no_group();
	test_left();
	test_version_two();
	test_version_one();
	test_container();
	test_hostile();
	test_change();
	test_real();
	test_sum();
	test_shared_groups();
	ok(holds_without_first_thread(reads_its_memory), "a process without its first thread reads its own memory");
	begin();
	char command[100];
	snprintf(command, sizeof command, "rm -rf %.60s", root);
	return system(command) != 0 || tap_done();
}
