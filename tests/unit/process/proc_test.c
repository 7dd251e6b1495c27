/* proc_test.c - what the kernel writes about processes, and texts that it would not write.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/facts.h"
#include "process/proc.h"
#include "tap.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool parse_stat(const char *text, struct cairn_proc_stat *stat)
{
	return cairn_proc_stat_parse(cairn_bytes_of(text), stat);
}

static void test_stat(void)
{
	struct cairn_proc_stat stat;
	ok(parse_stat("7 (a) b) Z 3 1 1 0 -1 4 10 11 12 13 14 15 16 17 20 0 5 0 99 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 "
		      "36 37 "
		      "38 39 40 41 42 43 44 45 46 2304\n",
		      &stat),
	   "a whole line, of a process whose name has a bracket and a blank");
	is_int(stat.state, 'Z', "its state");
	is_int(stat.parent, 3, "its parent");
	is_int(stat.child_faults, 11, "its children's page faults");
	is_int(stat.threads, 5, "its threads");
	is_int(stat.start_ticks, 99, "its start");
	is_int(stat.exit_status, 2304, "how it ended");
	ok(parse_stat("7 (a) R 3 1", &stat) && stat.parent == 3 && stat.threads == 0, "a line that is cut has what is there");
	ok(!parse_stat("", &stat) && !parse_stat("7 (a", &stat) && !parse_stat("7 (a)", &stat) && !parse_stat("7 (a) ", &stat),
	   "no line, or no more than a name");
	ok(parse_stat("7 (a) R 99999999999999999999999 1 1 0", &stat) && stat.parent == 0, "a number that does not fit is 0");

	ok(cairn_proc_stat_read(getpid(), &stat), "our own");
	is_int(stat.state, 'R', "which runs");
	is_int(stat.parent, getppid(), "our parent");
	is_int(stat.threads, 1, "one thread");
	ok(stat.start_ticks > 0, "a start");
	ok(!cairn_proc_stat_read(0x7ffffff0, &stat) && !cairn_proc_state(0x7ffffff0), "nobody's");

	pid_t child = tap_fork();
	if (child == 0)
		_exit(9);
	siginfo_t info;
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	ok(cairn_proc_stat_read(child, &stat) && stat.state == 'Z' && WEXITSTATUS(stat.exit_status) == 9, "a zombie and its exit code");
	is_int(cairn_proc_state(child), 'Z', "the state alone");
	waitpid(child, NULL, 0);
}

static void test_statm(void)
{
	struct cairn_proc_statm statm;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	ok(cairn_proc_statm_parse(cairn_bytes_of("100 20 5 1 0 9 0\n"), &statm), "a line");
	ok(statm.size == 100 * page && statm.resident == 20 * page && statm.anonymous == 15 * page, "in bytes");
	ok(cairn_proc_statm_parse(cairn_bytes_of("100 5 20 1 0 9 0\n"), &statm) && statm.anonymous == 0, "more shared than resident");
	ok(!cairn_proc_statm_parse(cairn_bytes_of("100 20"), &statm) && statm.size == 0, "a line that is cut is none");
	ok(cairn_proc_statm_read(0, &statm) && statm.anonymous > 0 && statm.resident > statm.anonymous && statm.size >= statm.resident,
	   "our own");
	ok(!cairn_proc_statm_read(0x7ffffff0, &statm) && statm.resident == 0, "nobody's");
}

/* A file with TEXT, at a path that lasts until the next call. */
static const char *file_with(const char *text, size_t length)
{
	static int file = -1;
	static char path[64];
	if (file >= 0)
		close(file);
	file = memfd_create("status", 0);
	for (size_t done = 0; done < length;)
		done += (size_t)write(file, text + done, length - done);
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	return path;
}

static void test_lines(void)
{
	char value[16], path[CAIRN_PROC_PATH];
	uint64_t number;
	const char *text =
		"Name:\tState: x\nState:\tS (sleeping) \nUid:\t7\t8\nVmRSS:\t    12 kB\nSigBlk:\tfff0000000000001\nEmpty:\nLong:\t"
		"0123456789abcdefghijkl\nNSpid:\t4242\t17\t3\nlast 1";
	const char *file = file_with(text, strlen(text));
	ok(cairn_proc_line(file, "State:", value, sizeof value), "a line begins with its key");
	is_text(value, "S (sleeping)", "without blanks around its value");
	ok(cairn_proc_line(file, "Empty:", value, sizeof value) && !value[0], "an empty one");
	ok(cairn_proc_line(file, "Long:", value, sizeof value), "a long one");
	is_text(value, "0123456789abcde", "is cut");
	ok(cairn_proc_line(file, "", value, sizeof value) && strncmp(value, "Name:\tState:", 12) == 0, "without a key, the first");
	ok(!cairn_proc_line(file, "last", value, sizeof value) && !value[0], "one without its end is not complete");
	ok(cairn_proc_line(file, "State:", value, 1) && !value[0], "room for nothing");
	ok(!cairn_proc_line(file, "None:", value, sizeof value) && !value[0], "one that is not there");
	ok(!cairn_proc_line("/none", "State:", value, sizeof value) && !value[0], "no file");
	ok(cairn_proc_number(file, "Uid:", &number) && number == 7, "the first number");
	ok(!cairn_proc_number(file, "State:", &number), "no number");
	ok(cairn_proc_kilobytes(file, "VmRSS:", &number) && number == 12 << 10, "kilobytes");
	ok(cairn_proc_mask(file, "SigBlk:", &number) && number == 0xfff0000000000001, "a mask");
	is_int(cairn_proc_inner_number(file), 3, "the number in the innermost namespace");

	/* The groups of some users fill many pages, and other lines follow them: one that lies across two reads, too. */
	enum { groups = 40000 };
	static char many[groups * 8 + 64];
	size_t length = (size_t)snprintf(many, sizeof many, "Uid:\t7\nGroups:\t");
	for (int i = 0; i < groups; i++)
		length += (size_t)snprintf(many + length, sizeof many - length, "%d ", 100000 + i);
	length += (size_t)snprintf(many + length, sizeof many - length, "\nSeccomp:\t2\n");
	ok(cairn_proc_number(file_with(many, length), "Seccomp:", &number) && number == 2, "a line behind one of 300 KB");
	int wrong = 0;
	for (size_t before = 2030; before < 2060; before++) {
		memset(many, 'x', before);
		memcpy(many + before, "\nSeccomp:\t1\n", 12);
		wrong += !cairn_proc_number(file_with(many, before + 12), "Seccomp:", &number) || number != 1;
	}
	is_int(wrong, 0, "a line at any place of a piece");

	ok(cairn_proc_number(cairn_proc_path(path, 0, "status"), "Pid:", &number) && (pid_t)number == getpid(), "our own status");
	ok(cairn_proc_number(cairn_proc_task_path(path, getpid(), getpid(), "status"), "Tgid:", &number) && (pid_t)number == getpid(),
	   "and our first thread's");
	prctl(PR_SET_NAME, "a name");
	ok(cairn_proc_line(cairn_proc_task_path(path, 0, getpid(), "comm"), "", value, sizeof value) && strcmp(value, "a name") == 0,
	   "its name");
	ok(cairn_proc_inner_number(cairn_proc_path(path, 0, "status")) == getpid(), "our own number");
	ok(!cairn_proc_is_secure(getpid()), "we got no rights from our file");
}

static bool parse_map(const char *line, struct cairn_proc_map *map)
{
	return cairn_proc_map_parse(cairn_bytes_of(line), map);
}

static void test_maps(void)
{
	struct cairn_proc_map map;
	ok(parse_map("7f00-7f10 r-xp 00001000 fd:01 4711                      /usr/lib/a b.so (deleted)", &map), "a library");
	ok(map.start == 0x7f00 && map.limit == 0x7f10 && map.offset == 0x1000 && map.inode == 4711, "its range and file");
	ok(map.readable && !map.writable && map.executable && !map.shared && map.deleted, "its access; it is gone");
	ok(cairn_bytes_equal(map.path, cairn_bytes_of("/usr/lib/a b.so")), "its path, with a blank");
	ok(parse_map("7f00-7f10 rw-s 00000000 00:00 0", &map) && map.path.length == 0 && map.writable && map.shared && !map.inode,
	   "shared memory without a name");
	ok(parse_map("7f00-7f10 rw-p 00000000 00:00 0          [heap]", &map) && cairn_bytes_equal(map.path, cairn_bytes_of("[heap]")),
	   "a name in brackets");
	const char *const others[] = {"",
				      "7f00",
				      "7f00-7f10",
				      "7f10-7f00 r-xp 0 fd:01 1 /a",
				      "7f00-7f00 r-xp 0 fd:01 1 /a",
				      "7f00-7f10: /a",
				      "7f00-7f10 r- 0 fd:01 1 /a",
				      "7f00-7f10 r-xp",
				      "Rss:  4 kB",
				      "VmFlags: rd mr"};
	int taken = 0;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		taken += parse_map(others[i], &map);
	is_int(taken, 0, "lines that are none");
}

/* Last: it cannot be undone. */
static void test_speaking(void)
{
	char path[CAIRN_PROC_PATH];
	struct cairn_facts facts = {0};
	is_int(cairn_proc_own(), getpid(), "by itself, a process speaks for itself");
	ok(strcmp(cairn_proc_path(path, 0, "maps"), "/proc/thread-self/maps") == 0, "and sees itself through its thread");
	pid_t child = fork();
	if (child == 0) {
		execl("/bin/sleep", "the one beside", "100", NULL);
		_exit(1);
	}
	cairn_proc_speak_for(child);
	for (int i = 0; i < 1000 && strcmp(facts.command, "the one beside 100") != 0; i++) {
		usleep(1000);
		cairn_facts_get(&facts);
	}
	is_int(cairn_proc_own(), child, "one that speaks for another has its PID");
	is_int(facts.pid, child, "and its facts:");
	ok(strcmp(facts.command, "the one beside 100") == 0, "its command line: %s", facts.command);
	ok(strstr(facts.executable, "sleep") || strstr(facts.executable, "coreutils") || strstr(facts.executable, "busybox"), "its program: %s",
	   facts.executable);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(void)
{
	test_stat();
	test_statm();
	test_lines();
	test_maps();
	test_speaking();
	return tap_done();
}
