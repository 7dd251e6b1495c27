/* folder_test.c - the dump folder on a real disk: whole files, an index that may be lost, other writers, leftovers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/folder.h"

#include "base/descriptor.h"
#include "base/pages.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char root[] = "/tmp/cairn-folder-XXXXXX";
static struct cairn_folder folder;
static const struct cairn_folder_facts manual = {.reason = "manual"};

static const char *path_of(const char *name)
{
	static char path[600];
	snprintf(path, sizeof path, "%s/%s", folder.path, name);
	return path;
}

static void start(const char *name, struct cairn_folder_limits limits)
{
	char path[128];
	struct cairn_error error;
	snprintf(path, sizeof path, "%s/%s", root, name);
	ok(cairn_folder_open(&folder, path, &limits, &error), "a folder: %s", name);
}

/* A dump as the agent makes it, of process PID that began at TICKS. */
static struct cairn_bytes dump_of(int pid, unsigned ticks, unsigned second, unsigned long memory)
{
	static char text[2048];
	int length = snprintf(text, sizeof text,
			      "heap_v2/524288\n  t*: 3: %lu [0: 0]\n@ 0x1 0x2\n  t*: 3: %lu [0: 0]\n\nMAPPED_LIBRARIES:\n1-2 r-xp 0 00:00 0 /bin/x\n"
			      "# cairn trailer 1\n# cairn time %u.000000000\n# cairn pid %d\n# cairn process %d.%u.0000beef\n"
			      "# cairn smaps.anonymous %lu\n# cairn end\n", memory / 2, memory / 2, second, pid, pid, ticks, memory);
	return (struct cairn_bytes){text, (size_t)length};
}

static void write_plain(const char *name, const char *text, size_t length)
{
	int descriptor = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(descriptor, text, length) != (ssize_t)length)
		tap_check(false, __FILE__, __LINE__, "a file for the test");
	close(descriptor);
}

static void test_write_and_list(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	start("plain", (struct cairn_folder_limits){0});
	ok(cairn_folder_write(&folder, "a.heap", dump_of(77, 500, 100, 1000), &(struct cairn_folder_facts){.reason = "grow 20 MiB"}, &error),
	   "written, and the folder was made");
	ok(!cairn_folder_write(&folder, "a.heap", dump_of(77, 500, 101, 1000), &manual, &error) && errno == EEXIST, "not over another");
	ok(!cairn_folder_write(&folder, "../b.heap", dump_of(77, 500, 101, 1000), &manual, &error), "not outside");
	ok(cairn_folder_write(&folder, "b.heap", dump_of(77, 500, 110, 3000), &manual, &error), "a second");
	ok(cairn_folder_list(&folder, &listing, &error), "listed");
	is_int(listing.count, 2, "two dumps");
	is_text(listing.dumps[0].name, "a.heap", "by time");
	is_text(listing.dumps[0].reason, "grow 20 MiB", "with the reason");
	is_int(listing.dumps[1].memory, 3000, "and the memory");
	is_int(listing.dumps[1].process.ticks, 500, "and the process");
	is_int(listing.dumps[0].marks & 7, CAIRN_DUMP_FIRST, "the first is marked");
	is_int(listing.dumps[1].marks & 7, CAIRN_DUMP_HIGHEST | CAIRN_DUMP_NEWEST, "so are highest and newest");
	ok(!listing.changed, "all of it is in the index");
	cairn_listing_free(&listing);
	ok(cairn_folder_remove(&folder, "a.heap", &error) && access(path_of("a.heap"), F_OK) != 0, "removed");
}

static size_t count_dumps(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	size_t count = cairn_folder_list(&folder, &listing, &error) ? listing.count : 0;
	cairn_listing_free(&listing);
	return count;
}

static void test_foreign_files(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	static const char whole[] = "heap_v2/524288\n  t*: 1: 4096 [0: 0]\n@ 0x1\n  t*: 1: 4096 [0: 0]\n\nMAPPED_LIBRARIES:\n1-2 r-xp 0 00:00 0 /bin/x\n";
	static const char *const names[] = {"svc.999999.0.i0.heap", "svc.999999.1.u0.heap", "svc.999999.2.f.heap"};
	start("foreign", (struct cairn_folder_limits){0});
	mkdir(folder.path, 0700);
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	for (int i = 0; i < 3; i++, old[1].tv_sec++) {
		write_plain(names[i], whole, sizeof whole - 1);
		utimensat(AT_FDCWD, path_of(names[i]), old, 0);
	}
	write_plain("fresh.1.0.i0.heap", whole, sizeof whole - 1);
	write_plain("cut.1.0.i0.heap", whole, sizeof whole - 5);
	utimensat(AT_FDCWD, path_of("cut.1.0.i0.heap"), old, 0);
	write_plain("nomaps.heap", whole, 40);
	write_plain("notes.txt", "heap of nothing\n", 16);
	write_plain("empty.heap", "", 0);
	if (symlink("/etc/passwd", path_of("link.heap")) != 0 || mkfifo(path_of("pipe.heap"), 0600) != 0)
		ok(false, "files for the test");
	ok(cairn_folder_list(&folder, &listing, &error), "a folder of jemalloc's files: %s", error.text);
	is_int(listing.count, 3, "the complete ones are listed");
	is_int(listing.damaged, 1, "one was cut short long ago");
	is_int(listing.dumps[0].process.pid, 999999, "their process is in the name");
	is_text(listing.dumps[0].reason, "interval", "i is interval");
	is_text(listing.dumps[1].reason, "gdump", "u is gdump");
	is_text(listing.dumps[2].reason, "final", "f is final");
	is_int(listing.dumps[2].sampled, 4096, "what it holds is read");
	cairn_listing_free(&listing);
	is_int(cairn_folder_open_file(&folder, "link.heap", &error), -1, "a link is not followed");
	is_int(cairn_folder_open_file(&folder, "pipe.heap", &error), -1, "a pipe is not a dump");
	is_int(cairn_folder_open_file(&folder, ".cairn-index", &error), -1, "hidden files are not handed out");
	is_int(cairn_folder_open_file(&folder, "notes.txt", &error), -1, "nor is anything else that is no dump");
	ok(!cairn_folder_remove(&folder, "notes.txt", &error) && access(path_of("notes.txt"), F_OK) == 0, "or removed");
	int file = cairn_folder_open_file(&folder, names[0], &error);
	ok(file >= 0, "a dump is");
	cairn_descriptor_close(file);
	folder.limits.age_seconds = 1;
	size_t removed;
	ok(cairn_folder_thin(&folder, &removed, &error), "thinned by age");
	is_int(removed, 2, "the middle one is old and neither first nor highest nor newest, and so is the one that was cut short");
	ok(access(path_of(names[1]), F_OK) != 0 && access(path_of("cut.1.0.i0.heap"), F_OK) != 0, "these went");
	ok(access(path_of("nomaps.heap"), F_OK) == 0 && access(path_of("notes.txt"), F_OK) == 0, "what may still be written, or is no dump, is left alone");
}

/* What was cut short takes room too: it goes first, and not before it must. */
static void test_cut_short(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	start("cut", (struct cairn_folder_limits){0});
	for (unsigned i = 0; i < 3; i++) {
		char name[16], cut[16];
		struct cairn_bytes dump = dump_of(5, 6, 100 + i, 1000);
		struct timespec old[2] = {{.tv_sec = 100 + i}, {.tv_sec = 100 + i}};
		snprintf(name, sizeof name, "%u.heap", i);
		snprintf(cut, sizeof cut, "cut%u.heap", i);
		cairn_folder_write(&folder, name, dump, &manual, &error);
		write_plain(cut, dump.data, dump.length - 13); /* without its end */
		utimensat(AT_FDCWD, path_of(cut), old, 0);
	}
	ok(cairn_folder_thin(&folder, NULL, &error) && cairn_folder_list(&folder, &listing, &error), "thinned without limits");
	ok(listing.count == 3 && listing.damaged == 3 && listing.damaged_bytes > 0, "three dumps, and three that were cut short");
	ok(!listing.changed, "which need not be read again either");
	struct cairn_buffer text = cairn_buffer(1 << 16);
	cairn_listing_text(&listing, "cut", 0, &text);
	cairn_buffer_byte(&text, 0);
	like_text(text.data, "3 dumps, ", "a person is told of them");
	like_text(text.data, "; 3 more that were cut short, ", "apart");
	cairn_buffer_free(&text);
	cairn_listing_free(&listing);
	folder.limits.count = 4;
	size_t removed;
	ok(cairn_folder_thin(&folder, &removed, &error) && removed == 2, "two too many");
	ok(access(path_of("cut0.heap"), F_OK) != 0 && access(path_of("cut1.heap"), F_OK) != 0, "the oldest that were cut short go");
	ok(access(path_of("cut2.heap"), F_OK) == 0 && count_dumps() == 3, "and none else");
	folder.limits = (struct cairn_folder_limits){.bytes = 1};
	ok(cairn_folder_thin(&folder, &removed, &error) && access(path_of("cut2.heap"), F_OK) != 0, "by bytes too");
	is_int(count_dumps(), 2, "the first and the newest of a process stay, whatever the limit");
	ok(cairn_folder_list(&folder, &listing, &error) && !listing.changed && listing.damaged == 0, "and the index agrees");
	cairn_listing_free(&listing);
}

/* The index holds what would be read again without it; whatever happens to it, the listing is the same. */
static void test_damaged_index(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	static char index[4096];
	start("damage", (struct cairn_folder_limits){0});
	for (unsigned i = 0; i < 4; i++) {
		char name[16];
		snprintf(name, sizeof name, "%u.heap", i);
		cairn_folder_write(&folder, name, dump_of(5, 6, 100 + i, 1000 * (i + 1)), &(struct cairn_folder_facts){.reason = "time"}, &error);
	}
	int descriptor = open(path_of(CAIRN_INDEX_NAME), O_RDONLY);
	ssize_t length = read(descriptor, index, sizeof index);
	close(descriptor);
	ok(length > 100, "there is an index");
	unsigned wrong = 0, unnoticed = 0;
	for (ssize_t at = 0; at <= length; at++)
		for (int kind = 0; kind < 3; kind++) { /* a byte flipped; cut there; zeroes from there on, as after a power failure */
			char changed[sizeof index];
			memcpy(changed, index, sizeof changed);
			size_t left = (size_t)(kind == 1 ? at : length);
			if (kind == 0)
				changed[at < length ? at : 0] ^= 0x11;
			if (kind == 2)
				memset(changed + at, 0, (size_t)(length - at));
			write_plain(CAIRN_INDEX_NAME, changed, left);
			bool good = cairn_folder_list(&folder, &listing, &error) && listing.count == 4;
			for (unsigned i = 0; good && i < 4; i++)
				good = listing.dumps[i].memory == 1000 * (i + 1) && listing.dumps[i].time_ns == (100 + i) * 1000000000LL &&
				       strcmp(listing.dumps[i].reason, "time") == 0 && listing.dumps[i].process.pid == 5;
			wrong += !good;
			unnoticed += good && !listing.changed && at + 1 < length;
			cairn_listing_free(&listing);
		}
	is_int(wrong, 0, "damage at each of %zd bytes changes nothing", length);
	is_int(unnoticed, 0, "and is noticed");
	ok(cairn_folder_thin(&folder, NULL, &error), "the index is made again");
	ok(cairn_folder_list(&folder, &listing, &error) && !listing.changed, "and agrees");
	cairn_listing_free(&listing);
	unlink(path_of("2.heap"));
	is_int(count_dumps(), 3, "a removed dump is not listed, whatever the index says");
	write_plain(CAIRN_INDEX_NAME, index, (size_t)length);
	write_plain("1.heap", "rubbish", 7);
	is_int(count_dumps(), 2, "nor is one that was overwritten");
}

static void test_leftovers(void)
{
	struct cairn_error error;
	start("leftovers", (struct cairn_folder_limits){0});
	mkdir(folder.path, 0700);
	write_plain(".cairn-tmp-1-2.tmp", "half", 4);
	write_plain(".cairn-tmp-1-3.tmp", "half", 4);
	write_plain("theirs.tmp", "half", 4);
	int writer = open(path_of(".cairn-tmp-1-3.tmp"), O_WRONLY);
	flock(writer, LOCK_EX);
	ok(cairn_folder_thin(&folder, NULL, &error), "thinned");
	ok(access(path_of(".cairn-tmp-1-2.tmp"), F_OK) != 0, "what a dead writer left is removed");
	ok(access(path_of(".cairn-tmp-1-3.tmp"), F_OK) == 0, "what a living one writes is not");
	ok(access(path_of("theirs.tmp"), F_OK) == 0, "nor is a file of somebody else");
	close(writer);
}

enum { not_allowed = 77 };

/* In a child: a dump that replaces nothing in a folder with room for four, each system call of it a stop for the parent. */
static void write_traced(bool urgent)
{
	struct cairn_error error;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(not_allowed);
	raise(SIGSTOP);
	cairn_folder_write(&folder, "new.heap", dump_of(5, 6, 200, 9000), &(struct cairn_folder_facts){.reason = "share", .urgent = urgent}, &error);
	_exit(0);
}

/* Lets the child come to its stop number STOP and kills it there; false when it had ended before. */
static bool kill_at(unsigned stop, bool urgent)
{
	int status;
	pid_t child = fork();
	if (child == 0)
		write_traced(urgent);
	waitpid(child, &status, 0);
	if (!WIFSTOPPED(status))
		return false;
	for (unsigned i = 0; i < stop; i++) {
		ptrace(PTRACE_SYSCALL, child, NULL, NULL);
		waitpid(child, &status, 0);
		if (!WIFSTOPPED(status))
			return false;
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return true;
}

/* A writer that is killed before or after any of its system calls leaves a folder in which everything complete is listed and
 * nothing else, and which the next writer finds in order. */
static void test_killed_anywhere(bool urgent)
{
	struct cairn_error error;
	unsigned stop = 0, wrong = 0, there = 0, lost = 0, left = 0;
	for (bool killed = true; killed && stop < 2000; stop++) {
		char name[32];
		snprintf(name, sizeof name, "kill-%d-%u", urgent, stop);
		snprintf(folder.path, sizeof folder.path, "%s/%s", root, name);
		folder.limits = (struct cairn_folder_limits){.count = 4};
		mkdir(folder.path, 0700);
		for (unsigned i = 0; i < 4; i++) {
			struct cairn_bytes dump = dump_of(5, 6, 100 + i, 1000 * (i + 1));
			snprintf(name, sizeof name, "%u.heap", i);
			write_plain(name, dump.data, dump.length);
		}
		cairn_folder_thin(&folder, NULL, &error); /* an index */
		killed = kill_at(stop, urgent);
		struct cairn_listing listing;
		cairn_folder_list(&folder, &listing, &error);
		bool present = access(path_of("new.heap"), F_OK) == 0, listed = false;
		for (size_t i = 0; i < listing.count; i++)
			listed |= strcmp(listing.dumps[i].name, "new.heap") == 0 && listing.dumps[i].memory == 9000;
		wrong += present != listed;
		there += present;
		lost += listing.count < 4;
		cairn_listing_free(&listing);
		cairn_folder_thin(&folder, NULL, &error);
		wrong += count_dumps() != 4;
		char command[400];
		snprintf(command, sizeof command, "test -z \"$(find %s -name '*.tmp')\"", folder.path);
		left += system(command) != 0;
	}
	if (stop == 1) {
		tap_skip("a writer that is killed anywhere", "no process may be traced here");
		return;
	}
	ok(stop > 40 && there > 0 && there < stop, "a%s writer was killed at each of its %u system calls, %u times with the dump written", urgent ? "n urgent" : "", stop, there);
	is_int(wrong, 0, "what was complete was listed, nothing else");
	is_int(lost, 0, "nothing that was there before was lost");
	is_int(left, 0, "nothing half-written stayed");
}

/* Two processes write and thin as fast as they can while a third is killed again and again. */
static void test_many_writers(void)
{
	enum { each = 60, kills = 12 };
	struct cairn_error error;
	struct cairn_listing listing;
	start("writers", (struct cairn_folder_limits){0});
	pid_t writers[2], victim = 0;
	for (int i = 0; i < 2; i++) {
		writers[i] = fork();
		if (writers[i] == 0) {
			int failed = 0;
			for (unsigned j = 0; j < each; j++) {
				char name[32];
				snprintf(name, sizeof name, "w%d-%03u.heap", i, j);
				failed += !cairn_folder_write(&folder, name, dump_of(1000 + i, 1, 100 + j, 1000 + j), &manual, &error);
			}
			_exit(failed != 0);
		}
	}
	for (int i = 0; i < kills; i++) {
		victim = fork();
		if (victim == 0)
			for (unsigned j = 0;; j++) {
				char name[32];
				snprintf(name, sizeof name, "v%d-%03u.heap", i, j);
				cairn_folder_write(&folder, name, dump_of(2000 + i, 1, 100 + j, 1000 + j), &manual, &error);
			}
		usleep(3000 + 700 * (useconds_t)i);
		kill(victim, 9);
		waitpid(victim, NULL, 0);
	}
	int failed = 0;
	for (int i = 0; i < 2; i++) {
		int status;
		waitpid(writers[i], &status, 0);
		failed += status != 0;
	}
	is_int(failed, 0, "two writers at once wrote all of theirs");
	ok(cairn_folder_thin(&folder, NULL, &error) && cairn_folder_list(&folder, &listing, &error), "and the folder is in order");
	size_t theirs = 0, complete = 0;
	for (size_t i = 0; i < listing.count; i++) {
		struct cairn_dump *dump = &listing.dumps[i];
		theirs += dump->process.pid < 2000;
		complete += dump->memory >= 1000 && strcmp(dump->reason, "manual") == 0;
	}
	is_int(theirs, 2 * each, "every dump of theirs is listed");
	is_int(complete, listing.count, "and those of writers that were killed are complete (%zu)", listing.count - theirs);
	ok(!listing.changed, "the index agrees");
	cairn_listing_free(&listing);
	char command[600];
	snprintf(command, sizeof command, "test -z \"$(find %s -name '*.tmp')\"", folder.path);
	is_int(system(command), 0, "nothing half-written is left");
}

static void test_trouble(void)
{
	struct cairn_error error = {0};
	start("gone/deeper", (struct cairn_folder_limits){0});
	ok(!cairn_folder_write(&folder, "a.heap", dump_of(1, 1, 1, 1), &manual, &error), "a folder whose parent is missing");
	like_text(error.text, "does not exist, so a.heap cannot be written", "is named");
	start("again", (struct cairn_folder_limits){0});
	ok(cairn_folder_write(&folder, "a.heap", dump_of(1, 1, 1, 1), &manual, &error), "a dump");
	unlink(path_of("a.heap"));
	unlink(path_of(CAIRN_INDEX_NAME));
	rmdir(folder.path);
	ok(!cairn_folder_thin(&folder, NULL, &error), "a folder removed meanwhile cannot be thinned");
	ok(cairn_folder_write(&folder, "b.heap", dump_of(1, 1, 1, 1), &manual, &error), "but is made again for the next dump");
	folder.limits.free_bytes = (uint64_t)1 << 60;
	ok(!cairn_folder_write(&folder, "c.heap", dump_of(1, 1, 2, 1), &manual, &error) && errno == ENOSPC, "the disk is not filled");
	like_text(error.text, "keep_free reserves", "and the sentence says why");
	ok(access(path_of("c.heap"), F_OK) != 0, "nothing is written");
	char longer[400];
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	ok(!cairn_folder_write(&folder, longer, dump_of(1, 1, 2, 1), &manual, &error), "a name that is too long is refused");
	ok(!cairn_folder_open(&folder, longer, &folder.limits, &error), "so is a path");
}

/* In a child that the kernel refuses the system calls RENAMEAT2 and, when asked to, LINKAT: its exit code. */
static int write_without(bool links, const char *name)
{
	int status = -1;
	pid_t child = fork();
	if (child == 0) {
		struct sock_filter code[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, links ? SYS_renameat2 : SYS_linkat, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		struct cairn_error error;
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){sizeof code / sizeof *code, code}) != 0)
			_exit(not_allowed);
		if (!cairn_folder_write(&folder, name, dump_of(1, 1, 1, 1), &manual, &error))
			_exit(errno == EEXIST ? 2 : 1);
		_exit(cairn_folder_write(&folder, name, dump_of(1, 1, 1, 1), &manual, &error) || errno != EEXIST);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* File systems of networks and buckets: no renaming that spares what is there, no links. */
static void test_poor_file_systems(void)
{
	struct cairn_error error;
	start("poor", (struct cairn_folder_limits){0});
	int linked = write_without(true, "linked.heap"), held = write_without(false, "held.heap");
	if (linked == not_allowed) {
		tap_skip("poor file systems", "no filter for system calls here");
		return;
	}
	is_int(linked, 0, "a dump by a link, and over nothing");
	is_int(held, 0, "a dump where there are no links, and over nothing");
	struct cairn_listing listing;
	ok(cairn_folder_list(&folder, &listing, &error) && listing.count == 2, "both are whole");
	cairn_listing_free(&listing);
	char command[400];
	snprintf(command, sizeof command, "test -z \"$(find %s -name '*.tmp')\"", folder.path);
	is_int(system(command), 0, "and nothing else is left");
}

static void test_paths(void)
{
	struct cairn_error error;
	char out[8], path[5000];
	ok(cairn_folder_of("name", out, sizeof out) && strcmp(out, ".") == 0, "a name is in this folder");
	ok(cairn_folder_of("/name", out, sizeof out) && strcmp(out, "/") == 0, "or in the topmost");
	ok(cairn_folder_of("/folder/name", out, sizeof out) && strcmp(out, "/folder") == 0, "a folder that just fits");
	ok(!cairn_folder_of("/folders/name", out, sizeof out) && errno == ENAMETOOLONG && !out[0], "one that does not is not cut");
	memset(path, '/', sizeof path);
	snprintf(path + sizeof path - 8, 8, "x.heap");
	ok(!cairn_folder_write_file(path, cairn_bytes_of("x"), &error) && errno == ENAMETOOLONG, "nothing is written to another folder");
}

/* A dump that has no trailer gets one, so that all that is known about it stays with it. */
static void test_facts(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	static const char plain[] = "heap_v2/1\n t*: 1: 8 [0: 0]\n\nMAPPED_LIBRARIES:\n1-2 r-xp 0 00:00 0 /bin/x";
	start("facts", (struct cairn_folder_limits){0});
	const struct cairn_folder_facts facts = {.process = {.pid = 12, .ticks = 34, .boot = 0x56}, .time_ns = 78000000009, .memory = 90, .reason = "high\n1 GiB"};
	ok(cairn_folder_write(&folder, "greptime-1.gprof", cairn_bytes_of(plain), &facts, &error), "a dump without a trailer");
	unlink(path_of(CAIRN_INDEX_NAME));
	ok(cairn_folder_list(&folder, &listing, &error) && listing.count == 1, "is listed without an index");
	struct cairn_dump *dump = listing.dumps;
	ok(cairn_life_equal(&dump->process, &facts.process) && dump->time_ns == facts.time_ns && dump->memory == 90, "with its facts");
	is_text(dump->reason, "high 1 GiB", "and the reason, on one line");
	cairn_listing_free(&listing);
}

/* Set back by an hour between two dumps: the second is still the newer, and neither is an hour old. */
static void test_clock(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	struct cairn_life self;
	struct timespec wall, up;
	char text[2][400];
	cairn_life_of(getpid(), &self);
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &up);
	start("clock", (struct cairn_folder_limits){0});
	for (int i = 0; i < 2; i++) {
		char life[CAIRN_LIFE_TEXT], name[16];
		snprintf(text[i], sizeof text[i],
			 "heap_v2/1\n t*: 1: 8 [0: 0]\n\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn time %lld.000000000\n"
			 "# cairn uptime %lld.000000000\n# cairn process %s\n# cairn end\n", (long long)wall.tv_sec - i * 3600, (long long)up.tv_sec - 10 + i,
			 cairn_life_text(&self, life));
		snprintf(name, sizeof name, "%d.heap", i);
		ok(cairn_folder_write(&folder, name, cairn_bytes_of(text[i]), &manual, &error), "dump %d", i);
	}
	static const char never[] = "heap_v2/1\n\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn time 9223372035.999999999\n"
				    "# cairn uptime 9223372035.999999999\n# cairn process 1.1.%08x\n# cairn end\n";
	snprintf(text[0], sizeof text[0], never, self.boot);
	write_plain("never.heap", text[0], strlen(text[0]));
	static const char *const strange[] = {"before.heap", "far.heap"};
	for (int i = 0; i < 2; i++) {
		struct timespec times[2] = {{.tv_sec = i ? (time_t)1 << 40 : -5}, {.tv_sec = i ? (time_t)1 << 40 : -5}};
		write_plain(strange[i], "heap_v2/1\n\nMAPPED_LIBRARIES:\n", 29);
		utimensat(AT_FDCWD, path_of(strange[i]), times, 0);
	}
	ok(cairn_folder_list(&folder, &listing, &error) && listing.count == 5, "times that nobody can mean do no harm");
	cairn_listing_plan(&listing, &(struct cairn_folder_limits){.count = 1, .age_seconds = 1}, (int64_t)wall.tv_sec * 1000000000, 0);
	cairn_listing_free(&listing);
	unlink(path_of("never.heap"));
	unlink(path_of("before.heap"));
	unlink(path_of("far.heap"));
	ok(cairn_folder_list(&folder, &listing, &error) && listing.count == 2, "listed");
	is_text(listing.dumps[1].name, "1.heap", "the second is the newer although the clock says otherwise");
	ok(listing.dumps[1].marks & CAIRN_DUMP_NEWEST && listing.dumps[0].marks & CAIRN_DUMP_FIRST, "and marked so");
	ok(listing.dumps[0].marks & CAIRN_DUMP_ALIVE, "their process runs: it is this one");
	is_near((double)listing.dumps[1].time_ns / 1e9, (double)wall.tv_sec - 9, 2, "its time is by the clock of now");
	cairn_listing_free(&listing);
}

static void test_limits(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	start("limits", (struct cairn_folder_limits){.count = 5});
	for (unsigned i = 0; i < 40; i++) {
		char name[16];
		snprintf(name, sizeof name, "%02u.heap", i);
		cairn_folder_write(&folder, name, dump_of(9, 9, 100 + i, i == 17 ? 9999 : 1000 + i), &manual, &error);
	}
	ok(cairn_folder_list(&folder, &listing, &error), "forty dumps with room for five");
	is_int(listing.count, 5, "five are left");
	is_text(listing.dumps[0].name, "00.heap", "the first");
	is_text(listing.dumps[listing.count - 1].name, "39.heap", "the newest");
	bool highest = false;
	for (size_t i = 0; i < listing.count; i++)
		highest |= listing.dumps[i].memory == 9999;
	ok(highest, "and the highest among them");
	cairn_listing_free(&listing);
}

/* An index that takes the named files for dumps, with the sizes and times that they have. */
static void forge_index(const char *const *names, size_t count)
{
	struct cairn_buffer text = cairn_pages(1 << 20);
	for (size_t i = 0; i < count; i++) {
		struct stat status;
		struct cairn_dump dump = {.process = {.pid = 5, .ticks = 6}, .time_ns = 100 + (int64_t)i, .memory = 7};
		if (stat(path_of(names[i]), &status) != 0)
			tap_check(false, __FILE__, __LINE__, "a file to name in an index");
		dump.size = (uint64_t)status.st_size;
		dump.modified_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
		snprintf(dump.name, sizeof dump.name, "%s", names[i]);
		cairn_dump_write_line(&dump, &text);
	}
	write_plain(CAIRN_INDEX_NAME, text.data, text.length);
	cairn_buffer_free(&text);
}

/* What an index says is believed only where nobody but this user can have written it, and even then nothing is removed on its word. */
static void test_forged_index(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	static const char *const names[] = {"a.conf", "b.conf", "c.conf", "d.conf", "e.conf"};
	size_t removed;
	start("forged", (struct cairn_folder_limits){.count = 1});
	mkdir(folder.path, 0700);
	for (size_t i = 0; i < 5; i++)
		write_plain(names[i], "precious\n", 9);
	static const mode_t open_modes[] = {01777, 0777, 0770};
	for (size_t i = 0; i < 3; i++) {
		chmod(folder.path, open_modes[i]);
		forge_index(names, 5);
		ok(cairn_folder_list(&folder, &listing, &error) && listing.count == 0, "in a folder of mode %o the index does not count", open_modes[i]);
		cairn_listing_free(&listing);
	}
	ok(cairn_folder_thin(&folder, &removed, &error) && removed == 0, "and nothing is removed");
	chmod(folder.path, 0700);
	chmod(path_of(CAIRN_INDEX_NAME), 0622);
	ok(cairn_folder_list(&folder, &listing, &error) && listing.count == 0, "nor does one that others can write to");
	cairn_listing_free(&listing);
	if (geteuid() == 0) {
		chmod(path_of(CAIRN_INDEX_NAME), 0600);
		ok(chown(path_of(CAIRN_INDEX_NAME), 65534, 65534) == 0 && cairn_folder_list(&folder, &listing, &error) && listing.count == 0,
		   "nor another user's");
		cairn_listing_free(&listing);
		ok(chown(path_of(CAIRN_INDEX_NAME), 0, 0) == 0 && chown(folder.path, 65534, 65534) == 0 &&
		   cairn_folder_list(&folder, &listing, &error) && listing.count == 0, "nor one in another user's folder");
		cairn_listing_free(&listing);
		ok(chown(folder.path, 0, 0) == 0, "the folder is ours again");
	}
	forge_index(names, 5);
	chmod(path_of(CAIRN_INDEX_NAME), 0600);
	ok(cairn_folder_list(&folder, &listing, &error) && listing.count == 5, "our own in a folder of ours does");
	cairn_listing_free(&listing);
	folder.limits.age_seconds = 1;
	ok(cairn_folder_thin(&folder, &removed, &error) && removed == 0, "but what is no dump is not removed on its word");
	for (size_t i = 0; i < 5; i++)
		ok(access(path_of(names[i]), F_OK) == 0, "%s is still there", names[i]);
	ok(cairn_folder_list(&folder, &listing, &error) && listing.count < 5, "and what turned out to be none is forgotten");
	cairn_listing_free(&listing);
	unlink(path_of("a.conf"));
	if (symlink("b.conf", path_of("a.conf")) != 0 || mkfifo(path_of("pipe.heap"), 0600) != 0)
		ok(false, "files for the test");
	ok(!cairn_folder_remove(&folder, "a.conf", &error) && !cairn_folder_remove(&folder, "pipe.heap", &error) &&
	   access(path_of("pipe.heap"), F_OK) == 0, "nor are links and pipes removed on request");
}

/* In a folder that everybody can write to, other users' files are not looked at, however many and whatever they are called. */
static void test_strangers(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	size_t removed;
	start("strangers", (struct cairn_folder_limits){.count = 2});
	if (geteuid() != 0)
		return; /* only root can make files of other users */
	for (unsigned i = 0; i < 4; i++) {
		char name[16];
		snprintf(name, sizeof name, "%u.heap", i);
		folder.limits.count = 0;
		cairn_folder_write(&folder, name, dump_of(5, 6, 100 + i, 1000), &manual, &error);
		if (i < 2 && chown(path_of(name), 65534, 65534) != 0)
			ok(false, "a dump of another user");
	}
	chmod(folder.path, 01777);
	unlink(path_of(CAIRN_INDEX_NAME));
	write_plain(".cairn-tmp-77-1.tmp", "kept", 4);
	write_plain(".cairn-tmp-notes", "kept", 4);
	ok(chown(path_of(".cairn-tmp-77-1.tmp"), 65534, 65534) == 0, "a file of another user that is called like one of ours");
	ok(cairn_folder_list(&folder, &listing, &error) && listing.count == 2 && listing.strangers == 2, "other users' dumps are left out, and counted");
	cairn_listing_free(&listing);
	folder.limits.age_seconds = 1;
	folder.limits.count = 1;
	ok(cairn_folder_thin(&folder, &removed, &error) && access(path_of("0.heap"), F_OK) == 0 && access(path_of("1.heap"), F_OK) == 0, "and stay");
	ok(access(path_of(".cairn-tmp-77-1.tmp"), F_OK) == 0, "so does what looks like a leftover of theirs");
	ok(access(path_of(".cairn-tmp-notes"), F_OK) == 0, "and a file whose name is not one of ours");
	ok(access(path_of(CAIRN_INDEX_NAME), F_OK) != 0, "no index is written that nobody would use");
	chmod(folder.path, 0700);
}

static bool has_digits(const char *name)
{
	return name[0] == '0';
}

/* Only what that very process wrote for that very reason. */
static void test_remove_own(void)
{
	struct cairn_error error;
	const struct cairn_life own = {.pid = 77, .ticks = 500, .boot = 0xbeef};
	const struct cairn_folder_facts timely = {.reason = "time"};
	start("own", (struct cairn_folder_limits){0});
	ok(cairn_folder_write(&folder, "01.heap", dump_of(77, 500, 100, 1000), &timely, &error) &&
	   cairn_folder_write(&folder, "02.heap", dump_of(77, 501, 101, 1000), &timely, &error) &&
	   cairn_folder_write(&folder, "03.heap", dump_of(78, 500, 102, 1000), &timely, &error) &&
	   cairn_folder_write(&folder, "04.heap", dump_of(77, 500, 103, 1000), &manual, &error) &&
	   cairn_folder_write(&folder, "x5.heap", dump_of(77, 500, 104, 1000), &timely, &error), "five dumps");
	if (geteuid() == 0) {
		ok(cairn_folder_write(&folder, "06.heap", dump_of(77, 500, 105, 1000), &timely, &error) && chown(path_of("06.heap"), 65534, 65534) == 0,
		   "one that another user wrote in our name");
	}
	is_int(cairn_folder_remove_own(&folder, &own, "time", has_digits), 1, "one of them is the process's own");
	ok(access(path_of("01.heap"), F_OK) != 0, "it went");
	ok(access(path_of("02.heap"), F_OK) == 0 && access(path_of("03.heap"), F_OK) == 0, "other processes' stay");
	ok(access(path_of("04.heap"), F_OK) == 0 && access(path_of("x5.heap"), F_OK) == 0, "so do those for other reasons and of other names");
	ok(geteuid() != 0 || access(path_of("06.heap"), F_OK) == 0, "and another user's");
}

int main(void)
{
	if (!mkdtemp(root))
		return 1;
	test_write_and_list();
	test_foreign_files();
	test_cut_short();
	test_damaged_index();
	test_leftovers();
	test_killed_anywhere(false);
	test_killed_anywhere(true);
	test_many_writers();
	test_trouble();
	test_poor_file_systems();
	test_paths();
	test_facts();
	test_clock();
	test_limits();
	test_forged_index();
	test_strangers();
	test_remove_own();
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", root);
	if (system(command) != 0)
		return 1;
	return tap_done();
}
