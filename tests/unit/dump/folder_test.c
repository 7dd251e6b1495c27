/* folder_test.c - the dump folder: what is written and listed, whose files are touched, and what the limits leave. What goes wrong is in
 * folder_trouble_test.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "unit/dump/folder_fixture.h"

#include "base/descriptor.h"
#include "base/pages.h"

#include <errno.h>
#include <sys/file.h>
#include <time.h>

static void test_write_and_list(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	start("plain", (struct cairn_folder_limits){0});
	ok(cairn_folder_write(&folder, "a.heap", dump_of(77, 500, 100, 1000), &(struct cairn_folder_facts){.reason = "grow 20 MiB"},
			      &error),
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

static void test_foreign_files(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	static const char whole[] =
		"heap_v2/524288\n  t*: 1: 4096 [0: 0]\n@ 0x1\n  t*: 1: 4096 [0: 0]\n\nMAPPED_LIBRARIES:\n1-2 r-xp 0 00:00 0 /bin/x\n";
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
	ok(access(path_of("nomaps.heap"), F_OK) == 0 && access(path_of("notes.txt"), F_OK) == 0,
	   "what may still be written, or is no dump, is left alone");
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
	like_text(text.data, "; cut short: 3, ", "apart");
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
	const struct cairn_folder_facts facts = {
		.process = {.pid = 12, .ticks = 34, .boot = 0x56}, .time_ns = 78000000009, .memory = 90, .reason = "high\n1 GiB"};
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
			 "# cairn uptime %lld.000000000\n# cairn process %s\n# cairn end\n",
			 (long long)wall.tv_sec - i * 3600, (long long)up.tv_sec - 10 + i, cairn_life_text(&self, life));
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
	ok(cairn_folder_list(&folder, &listing, &error) && listing.count == 2 && listing.of_others == 2,
	   "other users' dumps are left out, and counted");
	cairn_listing_free(&listing);
	folder.limits.age_seconds = 1;
	folder.limits.count = 1;
	ok(cairn_folder_thin(&folder, &removed, &error) && access(path_of("0.heap"), F_OK) == 0 && access(path_of("1.heap"), F_OK) == 0,
	   "and stay");
	ok(access(path_of(".cairn-tmp-77-1.tmp"), F_OK) == 0, "so does what looks like a leftover of theirs");
	ok(access(path_of(".cairn-tmp-notes"), F_OK) == 0, "and a file whose name is not one of ours");
	ok(access(path_of(CAIRN_INDEX_NAME), F_OK) != 0, "no index is written that nobody would use");
	chmod(folder.path, 0700);
}

/* Limits of one process in a folder with others' dumps, also of an earlier process with the same PID: theirs are neither counted nor
 * removed, whatever is wrong with them or with the disk. */
static void test_owner(void)
{
	struct cairn_error error;
	size_t removed, others = 0, own = 0;
	struct cairn_listing listing;
	start("owner", (struct cairn_folder_limits){.count = 5, .bytes = 4000, .age_seconds = 1, .owner = {9, 0xbeef, 9}});
	folder.limits.free_bytes = 0;
	const struct cairn_folder_limits limits = folder.limits;
	folder.limits = (struct cairn_folder_limits){0};
	for (unsigned i = 0; i < 30; i++) {
		char name[32];
		snprintf(name, sizeof name, "node.9.%u.i%u.heap", i, i);
		const struct cairn_folder_facts facts = {.reason = i % 2 ? CAIRN_DUMP_LAST ": killed" : "interval"};
		cairn_folder_write(&folder, name, dump_of(i % 3 ? 9 : 77, 8, 100 + i, 1000), &facts, &error);
	}
	struct cairn_bytes whole = dump_of(9, 8, 100, 1000);
	write_plain("cut.heap", whole.data, whole.length / 2);
	utimensat(AT_FDCWD, path_of("cut.heap"), (struct timespec[]){{1000, 0}, {1000, 0}}, 0);
	folder.limits = limits;
	ok(cairn_folder_thin(&folder, &removed, &error) && removed == 0, "a folder full of others' dumps: none goes");
	for (unsigned i = 0; i < 40; i++) {
		char name[16];
		snprintf(name, sizeof name, "%02u.heap", i);
		cairn_folder_write(&folder, name, dump_of(9, 9, 200 + i, 1000 + i), &manual, &error);
	}
	folder.limits.free_bytes = (uint64_t)1 << 60;
	ok(cairn_folder_thin(&folder, &removed, &error), "thinned for a full disk too");
	ok(cairn_folder_list(&folder, &listing, &error), "listed");
	for (size_t i = 0; i < listing.count; i++)
		*(listing.dumps[i].process.ticks == 9 ? &own : &others) += 1;
	is_int(own, 2, "of the process itself the first and the newest stay");
	is_int(others, 30, "and all of the others");
	is_int(listing.damaged, 1, "also the one that was cut short");
	cairn_listing_free(&listing);
	folder.limits = (struct cairn_folder_limits){.count = 1, .age_seconds = 1, .owner = {.pid = 9}};
	ok(cairn_folder_thin(&folder, &removed, &error) && removed == 0, "a process whose start is not known owns none");
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
		ok(cairn_folder_write(&folder, "06.heap", dump_of(77, 500, 105, 1000), &timely, &error) &&
			   chown(path_of("06.heap"), 65534, 65534) == 0,
		   "one that another user wrote in our name");
	}
	is_int(cairn_folder_remove_own(&folder, &own, "time", has_digits), 1, "one of them is the process's own");
	ok(access(path_of("01.heap"), F_OK) != 0, "it went");
	ok(access(path_of("02.heap"), F_OK) == 0 && access(path_of("03.heap"), F_OK) == 0, "other processes' stay");
	ok(access(path_of("04.heap"), F_OK) == 0 && access(path_of("x5.heap"), F_OK) == 0,
	   "so do those for other reasons and of other names");
	ok(geteuid() != 0 || access(path_of("06.heap"), F_OK) == 0, "and another user's");
}

int main(void)
{
	if (!mkdtemp(root))
		return 1;
	test_write_and_list();
	test_foreign_files();
	test_cut_short();
	test_paths();
	test_facts();
	test_clock();
	test_limits();
	test_strangers();
	test_owner();
	test_remove_own();
	return finish();
}
