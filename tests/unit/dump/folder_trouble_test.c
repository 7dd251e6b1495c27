/* folder_trouble_test.c - the dump folder when things go wrong: an index that is damaged or forged, writers that are killed, other writers,
 * full disks and file systems that can do little.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit/dump/folder_fixture.h"

#include "base/descriptor.h"
#include "base/pages.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

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
		cairn_folder_write(&folder, name, dump_of(5, 6, 100 + i, 1000 * (i + 1)), &(struct cairn_folder_facts){.reason = "time"},
				   &error);
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
	cairn_folder_write(&folder, "new.heap", dump_of(5, 6, 200, 9000), &(struct cairn_folder_facts){.reason = "share", .urgent = urgent},
			   &error);
	_exit(0);
}

/* Lets the child come to its stop number STOP and kills it there; false when it had ended before. */
static bool kill_at(unsigned stop, bool urgent)
{
	int status;
	pid_t child = tap_fork();
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

static bool has_half_written(void)
{
	DIR *entries = opendir(folder.path);
	bool found = false;
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		const char *end = strrchr(entry->d_name, '.');
		found |= end && strcmp(end, ".tmp") == 0;
	}
	if (entries)
		closedir(entries);
	return found;
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
		left += has_half_written();
	}
	if (stop == 1) {
		tap_skip("a writer that is killed anywhere", "no process may be traced here");
		return;
	}
	ok(stop > 40 && there > 0 && there < stop, "a%s writer was killed at each of its %u system calls, %u times with the dump written",
	   urgent ? "n urgent" : "", stop, there);
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
		writers[i] = tap_fork();
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
		victim = tap_fork();
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
	ok(!cairn_folder_set(&folder, longer, &folder.limits, &error), "so is a path");
}

/* In a child that the kernel refuses the system calls RENAMEAT2 and, when asked to, LINKAT: its exit code. */
static int write_without(bool links, const char *name)
{
	int status = -1;
	pid_t child = tap_fork();
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
		ok(cairn_folder_list(&folder, &listing, &error) && listing.count == 0, "in a folder of mode %o the index does not count",
		   open_modes[i]);
		cairn_listing_free(&listing);
	}
	ok(cairn_folder_thin(&folder, &removed, &error) && removed == 0, "and nothing is removed");
	chmod(folder.path, 0700);
	chmod(path_of(CAIRN_INDEX_NAME), 0622);
	ok(cairn_folder_list(&folder, &listing, &error) && listing.count == 0, "nor does one that others can write to");
	cairn_listing_free(&listing);
	if (geteuid() == 0) {
		chmod(path_of(CAIRN_INDEX_NAME), 0600);
		ok(chown(path_of(CAIRN_INDEX_NAME), 65534, 65534) == 0 && cairn_folder_list(&folder, &listing, &error) &&
			   listing.count == 0,
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

int main(void)
{
	if (!mkdtemp(root))
		return 1;
	test_damaged_index();
	test_leftovers();
	test_killed_anywhere(false);
	test_killed_anywhere(true);
	test_many_writers();
	test_trouble();
	test_poor_file_systems();
	test_forged_index();
	return finish();
}
