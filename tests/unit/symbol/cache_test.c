/* cache_test.c - the cache on disk: hit, miss, corrupt, outdated, evicted, unwritable, full, and many at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/cache.h"

#include "tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char scratch[] = "/tmp/cairn-cache-test.XXXXXX";
static struct cairn_arena arena;
static struct cairn_cache cache;

static const struct cairn_symbol_frame frame = {.function = "work", .file = "/src/work.c", .line = 5};

static struct cairn_binary binary_of(const char *build_id)
{
	struct cairn_binary binary = {.path = "/nowhere/program", .identity = {.size = 1000, .inode = 5, .modified_ns = 77}};
	snprintf(binary.identity.build_id, sizeof binary.identity.build_id, "%s", build_id);
	return binary;
}

/* A block that knows ADDRESSES addresses. PROBE is a file it missed; NULL for one that missed nothing. */
static struct cairn_buffer block_of(const struct cairn_cache_key *key, const char *probe, size_t addresses)
{
	struct cairn_answers_builder builder = {0};
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	struct cairn_probe probes[2] = {{"/nowhere/program", 1000, 5, 77}};
	if (probe)
		probes[1] = cairn_probe_now(probe);
	for (size_t i = 0; i < addresses; i++)
		cairn_answers_add(&builder, 0x1000 + i * 16, &(struct cairn_symbol){&frame, 1, CAIRN_SYMBOL_DWARF});
	struct cairn_answers_origin origin = {.key = key->text, .options = key->options, .note = probe ? "no debug file" : NULL,
					      .probes = probes, .probe_count = probe ? 2 : 1};
	cairn_answers_write(&builder, &origin, &out);
	cairn_answers_builder_free(&builder);
	return out;
}

static bool store(const struct cairn_binary *binary, const struct cairn_find_options *options, const char *probe, size_t addresses,
		  struct cairn_error *error)
{
	struct cairn_cache_key key = cairn_cache_key(&arena, binary, options);
	struct cairn_buffer block = block_of(&key, probe, addresses);
	bool good = cairn_cache_store(&cache, &key, cairn_buffer_bytes(&block), error);
	cairn_buffer_free(&block);
	return good;
}

static bool load(const struct cairn_binary *binary, const struct cairn_find_options *options)
{
	struct cairn_cache_key key = cairn_cache_key(&arena, binary, options);
	struct cairn_file file;
	struct cairn_answers answers;
	if (!cairn_cache_load(&cache, &key, binary, &file, &answers))
		return false;
	bool right = answers.address_count > 0 && cairn_answers_find(&answers, 0x1000) == 0;
	cairn_file_close(&file);
	return right;
}

/* The same for a build whose file is gone. */
static bool load_gone(const char *build_id)
{
	struct cairn_file file;
	struct cairn_answers answers;
	if (!cairn_cache_load_gone(&cache, &arena, build_id, &file, &answers))
		return false;
	bool right = cairn_answers_find(&answers, 0x1000) == 0;
	cairn_file_close(&file);
	return right;
}

static const struct cairn_find_options usual;

static void test_gone(void)
{
	struct cairn_binary binary = binary_of("90ee");
	struct cairn_error error;
	ok(!load_gone("90ee"), "a build that was never seen has no answers");
	ok(store(&binary, &usual, scratch, 3, &error) && load_gone("90ee"),
	   "one that was has them, also incomplete ones: there are no better");
	ok(!load_gone("../90ee") && !load_gone(""), "what is no build-id is none");
}

static void test_hit_and_miss(void)
{
	struct cairn_binary one = binary_of("aaaa"), other = binary_of("bbbb"), nameless = binary_of("");
	ok(!load(&one, &usual), "an empty cache has nothing");
	ok(store(&one, &usual, NULL, 3, NULL), "answers are stored");
	ok(load(&one, &usual), "and found again");
	ok(!load(&other, &usual), "another build has none");
	struct cairn_binary moved = one;
	moved.path = "/elsewhere/copy";
	moved.identity.modified_ns++;
	ok(load(&moved, &usual), "a copy of the binary has the same answers");
	ok(load(&one, &(struct cairn_find_options){.sysroot = "/x"}), "what missed nothing holds with other options too");
	ok(store(&nameless, &usual, NULL, 3, NULL) && load(&nameless, &usual),
	   "a binary without a build-id is known by path, size and time");
	nameless.identity.modified_ns++;
	ok(!load(&nameless, &usual), "and is another once it was touched");
}

static void test_outdated(void)
{
	char probe[256];
	snprintf(probe, sizeof probe, "%s/some.debug", scratch);
	struct cairn_binary binary = binary_of("cccc");
	ok(store(&binary, &usual, probe, 3, NULL) && load(&binary, &usual), "answers that missed a debug file hold while it is missing");
	ok(!load(&binary, &(struct cairn_find_options){.sysroot = "/x"}), "but not when a person points elsewhere");
	struct cairn_binary unstripped = binary;
	unstripped.identity.size++;
	ok(!load(&unstripped, &usual), "nor for another file of the same build");
	close(open(probe, O_CREAT | O_WRONLY, 0600));
	ok(!load(&binary, &usual), "nor once the debug file is installed");
	unlink(probe);
}

static char *path_of(const struct cairn_binary *binary)
{
	struct cairn_cache_key key = cairn_cache_key(&arena, binary, &usual);
	return cairn_arena_format(&arena, "%s/%s", cache.folder, key.file);
}

static void test_corrupt(void)
{
	struct cairn_binary binary = binary_of("dddd"), other = binary_of("eeee");
	store(&binary, &usual, NULL, 100, NULL);
	char *path = path_of(&binary);
	int file = open(path, O_RDWR);
	ok(file >= 0 && pwrite(file, "x", 1, 900) == 1 && !load(&binary, &usual), "a damaged file counts as not there");
	ok(ftruncate(file, 300) == 0 && !load(&binary, &usual), "so does one cut short");
	ok(ftruncate(file, 0) == 0 && !load(&binary, &usual), "and an empty one");
	close(file);
	ok(store(&binary, &usual, NULL, 100, NULL) && load(&binary, &usual), "it is written anew");
	ok(rename(path, path_of(&other)) == 0 && !load(&other, &usual), "a file under another build's name is not believed");
	mkdir(path, 0700);
	ok(!load(&binary, &usual) && !store(&binary, &usual, NULL, 3, NULL), "a folder in its place is no file");
	rmdir(path);
}

static size_t count_files(const char *part)
{
	DIR *folder = opendir(cache.folder);
	size_t count = 0;
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		count += entry->d_name[0] != '.' && strstr(entry->d_name, part);
	if (folder)
		closedir(folder);
	return count;
}

static void test_concurrent(void)
{
	enum { writers = 6, rounds = 60 };
	pid_t children[writers];
	int bad = 0;
	for (int c = 0; c < writers; c++) {
		children[c] = tap_fork();
		if (children[c] == 0) {
			struct cairn_binary binary = binary_of("ffff");
			int failures = 0;
			for (size_t i = 0; i < rounds; i++)
				failures +=
					!store(&binary, &usual, NULL, 1 + (i * 37 + (size_t)c * 91) % 2000, NULL) || !load(&binary, &usual);
			_exit(failures != 0);
		}
	}
	for (int c = 0; c < writers; c++) {
		int status;
		bad += waitpid(children[c], &status, 0) != children[c] || status != 0;
	}
	is_int(bad, 0, "%d processes that write one file at once always find it whole", writers);
	is_int(count_files(".writing."), 0, "and leave nothing behind");
}

static void test_evicted(void)
{
	struct cairn_cache_use use;
	cairn_cache_clear(&cache, &use, NULL);
	is_int(cairn_cache_measure(&cache).files, 0, "cleared");
	struct cairn_binary hidden = {.path = "/opt/.hidden-program"}; /* without a build-id it is kept by name */
	store(&hidden, &usual, NULL, 10, NULL);
	is_int(cairn_cache_measure(&cache).files, 1, "a program whose name starts with a point is counted");
	ok(cairn_cache_clear(&cache, &use, NULL) && use.files == 1, "and removed");
	char build_id[8];
	for (int i = 0; i < 8; i++) {
		snprintf(build_id, sizeof build_id, "aa%02d", i);
		struct cairn_binary binary = binary_of(build_id);
		store(&binary, &usual, NULL, 1000, NULL);
		struct timespec times[2] = {{1000000 + i, 0}, {1000000 + i, 0}};
		utimensat(AT_FDCWD, path_of(&binary), times, 0);
	}
	struct cairn_binary first = binary_of("aa00"), second = binary_of("aa01"), last = binary_of("aa07"), next = binary_of("aa08");
	uint64_t one = cairn_cache_measure(&cache).bytes / 8;
	ok(load(&first, &usual), "the oldest is used once more");
	cache.limit_bytes = one * 5 + 100;
	store(&next, &usual, NULL, 1000, NULL);
	ok(cairn_cache_measure(&cache).bytes <= cache.limit_bytes, "the folder is within its limit");
	is_int(cairn_cache_measure(&cache).files, 5, "and no more was removed than needed");
	ok(load(&first, &usual) && !load(&second, &usual), "what was not used for longest went, what was just used stays");
	ok(load(&last, &usual) && load(&next, &usual), "and so does what is new");
	cache.limit_bytes = one / 2;
	ok(!store(&second, &usual, NULL, 1000, NULL) && cairn_cache_measure(&cache).files == 5,
	   "what is larger than the limit is not kept");
	cache.limit_bytes = (uint64_t)512 << 20;
}

/* Puts a file called NAME, of SIZE bytes and long not used, into FOLDER. */
static void plant(const char *folder, const char *name, off_t size)
{
	struct timespec times[2] = {{1000, 0}, {1000, 0}};
	const char *path = cairn_arena_format(&arena, "%s/%s", folder, name);
	int descriptor = open(path, O_CREAT | O_WRONLY, 0600);
	ok(ftruncate(descriptor, size) == 0 && futimens(descriptor, times) == 0, "%s is planted", name);
	close(descriptor);
}

static bool is_there(const char *folder, const char *name)
{
	return access(cairn_arena_format(&arena, "%s/%s", folder, name), F_OK) == 0;
}

static void test_strange_files(void)
{
	static const char *const strange[] = {"database", "notes.v2", "abcd.v", "abcd.v2.old", "abcd.vital", "abc.v1", "-12345678.v1",
					      "12345678.v1.gz", "paper-1234567.v1", "paper-12345678.v1.writing", "x.writing.123456"};
	static const char *const own[] = {"abcd.v1", "abcdef.v99", "program-12345678.v2", "abcd.v3.writing.XyZ123"};
	enum { megabyte = 1 << 20 };
	struct cairn_cache_use use;
	struct cairn_binary binary = binary_of("adad");
	cairn_cache_clear(&cache, &use, NULL);
	for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
		plant(cache.folder, strange[i], megabyte);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		plant(cache.folder, own[i], megabyte);
	cache.limit_bytes = megabyte / 2;
	ok(store(&binary, &usual, NULL, 3, NULL), "the folder is far beyond the limit");
	is_int(cairn_cache_measure(&cache).files, 1, "it is brought within it");
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		ok(!is_there(cache.folder, own[i]), "%s is removed", own[i]);
	ok(cairn_cache_clear(&cache, &use, NULL) && use.files == 1, "and cleared");
	for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
		ok(is_there(cache.folder, strange[i]), "%s stays", strange[i]);
	cache.limit_bytes = (uint64_t)512 << 20;
}

static void test_strange_folder(void)
{
	struct cairn_error error;
	struct cairn_cache_use use;
	struct cairn_cache good = cache;
	struct cairn_binary binary = binary_of("aeae");
	const char *other = cairn_arena_format(&arena, "%s/other", scratch), *link = cairn_arena_format(&arena, "%s/link", scratch);
	ok(mkdir(other, 0700) == 0 && symlink("other", link) == 0, "a link to a folder");
	plant(other, "abcd.v1", 10);
	cache.folder = link;
	ok(!store(&binary, &usual, NULL, 3, &error) && !load(&binary, &usual), "nothing is stored there");
	like_text(error.text, "is a link, so no names are kept there", "for a reason");
	ok(!cairn_cache_is_usable(&cache, &error) && !cairn_cache_clear(&cache, &use, &error) && is_there(other, "abcd.v1"), "nor cleared");
	cache.folder = other;
	struct cairn_answers answers;
	struct cairn_file file;
	struct cairn_cache_key key = cairn_cache_key(&arena, &binary, &usual);
	ok(store(&binary, &usual, NULL, 3, &error) && load(&binary, &usual), "in a folder of ours, it is");
	ok(rename(path_of(&binary), cairn_arena_format(&arena, "%s/moved", other)) == 0 && symlink("moved", path_of(&binary)) == 0 &&
		   !cairn_cache_load(&cache, &key, &binary, &file, &answers),
	   "a file of the cache is no link, either");
	if (geteuid() != 0) {
		tap_skip("a folder of another user", "only root can make one");
	} else {
		ok(chown(other, 65534, 65534) == 0 && !store(&binary, &usual, NULL, 3, &error), "a folder of another user");
		like_text(error.text, "belongs to another user", "for a reason");
		ok(!load(&binary, &usual) && !cairn_cache_clear(&cache, &use, &error) && is_there(other, "abcd.v1"), "nothing is removed");
	}
	cache = good;
}

static void test_unwritable(void)
{
	struct cairn_error error;
	struct cairn_cache good = cache;
	struct cairn_binary binary = binary_of("abab");
	char *file = cairn_arena_format(&arena, "%s/file", scratch);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	cache.folder = cairn_arena_format(&arena, "%s/cairn", file);
	ok(!store(&binary, &usual, NULL, 3, &error), "where no folder can be made nothing is stored");
	like_text(error.text, "cannot keep names in", "and a sentence says so");
	ok(!load(&binary, &usual), "nor found");
	is_int(cairn_cache_measure(&cache).files, 0, "nor counted");
	cache = good;
}

/* A limit on the size of files stands for the disk that is full: write fails in the middle. */
static void test_full(void)
{
	struct cairn_error error;
	struct cairn_binary binary = binary_of("acac");
	size_t before = cairn_cache_measure(&cache).files;
	struct rlimit old, small;
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 4096;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	bool stored = store(&binary, &usual, NULL, 5000, &error);
	setrlimit(RLIMIT_FSIZE, &old);
	ok(!stored && !load(&binary, &usual), "what does not fit on the disk is not stored");
	is_int(cairn_cache_measure(&cache).files, before, "and nothing half-written is left");
	ok(store(&binary, &usual, NULL, 5000, NULL) && load(&binary, &usual), "with room it is");
}

static void test_folder(void)
{
	struct cairn_cache found;
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", "/home/somebody", 1);
	ok(cairn_cache_open(&found, &arena), "without XDG_CACHE_HOME");
	is_text(found.folder, "/home/somebody/.cache/cairn", "it is in the home folder");
	setenv("CAIRN_CACHE_LIMIT", "3M", 1);
	cairn_cache_open(&found, &arena);
	is_int(found.limit_bytes, 3 << 20, "CAIRN_CACHE_LIMIT sets the limit");
	setenv("XDG_CACHE_HOME", "relative", 1);
	cairn_cache_open(&found, &arena);
	is_text(found.folder, "/home/somebody/.cache/cairn", "a relative XDG_CACHE_HOME is ignored, as the specification asks");
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	ok(!cairn_cache_open(&found, &arena), "without either there is no cache");
}

int main(void)
{
	if (!mkdtemp(scratch))
		return 1;
	setenv("XDG_CACHE_HOME", scratch, 1);
	unsetenv("CAIRN_CACHE_LIMIT");
	ok(cairn_cache_open(&cache, &arena), "the cache lies in XDG_CACHE_HOME");
	test_hit_and_miss();
	test_gone();
	test_outdated();
	test_corrupt();
	test_concurrent();
	test_evicted();
	test_strange_files();
	test_strange_folder();
	test_unwritable();
	test_full();
	struct cairn_cache_use use;
	ok(cairn_cache_clear(&cache, &use, NULL) && use.files > 0, "everything can be removed");
	char *command = cairn_arena_format(&arena, "rm -rf %s", scratch);
	test_folder();
	int status = system(command);
	cairn_arena_free(&arena);
	return tap_done() || status;
}
