/* find_test.c - the file of a module: this program itself, copied, patched and moved about.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/find.h"

#include "base/file.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[] = "/tmp/cairn-find-test.XXXXXX";
static struct cairn_arena arena;
static struct cairn_identity self;
static const char *app, *other_build, *copy;

static const char *in_scratch(const char *name)
{
	return cairn_arena_format(&arena, "%s/%s", scratch, name);
}

/* The program as PATH; with PATCHED, as a build with another build-id. */
static void install(const char *path, bool patched)
{
	struct cairn_file file;
	cairn_file_read(&file, "/proc/self/exe", NULL);
	char *bytes = cairn_arena_alloc(&arena, file.bytes.length);
	memcpy(bytes, file.bytes.data, file.bytes.length);
	unsigned char raw[64];
	size_t length = strlen(self.build_id) / 2;
	for (size_t i = 0; i < length; i++)
		sscanf(self.build_id + 2 * i, "%2hhx", &raw[i]);
	unsigned char *at = patched ? memmem(bytes, file.bytes.length, raw, length) : NULL;
	if (at)
		at[0] ^= 0xff;
	cairn_file_write(path, (struct cairn_bytes){bytes, file.bytes.length}, NULL);
	cairn_file_close(&file);
}

/* What is found for a module at PATH with BUILD_ID, beside a library that comes after it. */
static struct cairn_binary find(struct cairn_finder *finder, const char *path, const char *build_id, bool deleted)
{
	struct cairn_profile profile;
	struct cairn_binary binary;
	cairn_profile_init(&profile);
	profile.facts.time_ns = INT64_MAX;
	uint32_t module = cairn_profile_add_module(&profile, cairn_profile_text(&profile, path), cairn_profile_text(&profile, build_id));
	profile.modules[module].deleted = deleted;
	cairn_profile_add_module(&profile, cairn_profile_text(&profile, "/lib/libother.so.1"), 0);
	cairn_find_binary(finder, &profile, &profile.modules[module], &binary);
	cairn_profile_free(&profile);
	return binary;
}

static void test_by_build_id(void)
{
	struct cairn_find_options options = {0};
	struct cairn_finder finder = {.options = &options};
	is_text(find(&finder, app, self.build_id, false).path, app, "the file of the right build is taken");
	is_text(find(&finder, app, self.build_id, true).path, app, "also when it was said to be deleted: it is back");
	struct cairn_binary wrong = find(&finder, other_build, self.build_id, false);
	ok(!wrong.path, "a file of another build is not taken");
	like_text(wrong.reason, "is another build: its build-id is", "the reason says that");
	like_text(wrong.reason, self.build_id, "and which was wanted");
	struct cairn_binary gone = find(&finder, "/nowhere/app", self.build_id, false);
	ok(!gone.path, "a file that is not there");
	like_text(gone.reason, "there is no debug file for build-id", "has a reason");
	ok(!find(&finder, "/etc/passwd", self.build_id, false).path, "a text file is no binary");
	cairn_finder_free(&finder);
}

static void test_pointing(void)
{
	struct cairn_find_options options = {.binaries = &copy, .binary_count = 1};
	struct cairn_finder finder = {.options = &options};
	is_text(find(&finder, "/nowhere/app", self.build_id, false).path, copy, "--binary by build-id, whatever its name");
	is_text(find(&finder, "/nowhere/app", "", false).path, copy, "--binary stands for the program where there are no build-ids");
	is_text(find(&finder, other_build, "", false).path, copy, "before the file that lies there");
	cairn_finder_free(&finder);

	options.binaries = &other_build;
	finder.options = &options;
	struct cairn_binary wrong = find(&finder, "/nowhere/app", self.build_id, false);
	ok(!wrong.path, "--binary of another build is refused");
	like_text(wrong.reason, "is another build", "with the reason");
	cairn_finder_free(&finder);

	const char *folder = in_scratch("symbols");
	mkdir(folder, 0700);
	install(in_scratch("symbols/app"), false);
	options = (struct cairn_find_options){.symbols = &folder, .symbols_count = 1};
	finder.options = &options;
	is_text(find(&finder, "/nowhere/app", self.build_id, false).path, in_scratch("symbols/app"), "--symbols by name");
	ok(!find(&finder, "/nowhere/app", "0123456789", false).path, "but not of another build");
	cairn_finder_free(&finder);

	options = (struct cairn_find_options){.sysroot = scratch};
	finder.options = &options;
	like_text(find(&finder, "/symbols/app", "", false).path, "symbols/app", "--sysroot goes before the path");
	ok(!find(&finder, app, "", false).path, "and the path itself is one of another machine");
	cairn_finder_free(&finder);
}

static void test_without_file(void)
{
	static const char *const paths[] = {"",
					    "[vdso]",
					    "[heap]",
					    "linux-vdso.so.1",
					    "//anon",
					    "/memfd:doublemapper",
					    "/dev/zero",
					    "/SYSV00000000",
					    "/anon_hugepage",
					    "//proc/self/fd/3",
					    "/./proc/self/fd/3",
					    "/usr/../proc/self/fd/3",
					    "proc/self/fd/3",
					    "../x",
					    "./dev/x"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		ok(!cairn_module_has_file(paths[i]), "'%s' has no file", paths[i]);
	ok(cairn_module_has_file("/usr/bin/redis-server"), "a program has");
	struct cairn_find_options options = {0};
	struct cairn_finder finder = {.options = &options};
	ok(!find(&finder, app, "", true).path, "deleted, and no build-id: not taken");
	cairn_finder_free(&finder);
}

static void test_identify(void)
{
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	profile.facts.time_ns = 1;
	cairn_profile_add_module(&profile, cairn_profile_text(&profile, app), 0);
	cairn_profile_add_module(&profile, cairn_profile_text(&profile, "/nowhere/lib.so"), 0);
	cairn_profile_add_module(&profile, cairn_profile_text(&profile, other_build), cairn_profile_text(&profile, "abcdef"));
	cairn_modules_identify(&profile, &(struct cairn_find_options){0});
	is_text(cairn_profile_string(&profile, profile.modules[0].build_id), self.build_id, "a module gets the build-id of its file");
	is_int(profile.modules[1].build_id, 0, "one without a file gets none");
	is_text(cairn_profile_string(&profile, profile.modules[2].build_id), "abcdef", "one that has a build-id keeps it");
	is_int(profile.warning_count, 1, "a file newer than the profile is worth a warning");
	like_text(cairn_profile_string(&profile, profile.warnings[0]), "is newer than the profile", "that says so");
	cairn_profile_free(&profile);
}

static void test_notes(void)
{
	static const char note[] = "\x04\0\0\0\x04\0\0\0\x03\0\0\0GNU\0\xde\xad\xbe\xef";
	static const char after_another[] = "\x05\0\0\0\x01\0\0\0\x01\0\0\0Fred\0\0\0\0x\0\0\0\x04\0\0\0\x02\0\0\0\x03\0\0\0GNU\0\x12\x34";
	char text[129];
	ok(cairn_build_id_find((struct cairn_layout){0}, (struct cairn_bytes){note, sizeof note - 1}, text), "a build-id note");
	is_text(text, "deadbeef", "its text");
	ok(cairn_build_id_find((struct cairn_layout){0}, (struct cairn_bytes){after_another, sizeof after_another - 1}, text),
		"after a note of another kind, with padding");
	is_text(text, "1234", "its text");
	for (size_t length = 0; length < sizeof note - 1; length++)
		if (cairn_build_id_find((struct cairn_layout){0}, (struct cairn_bytes){note, length}, text))
			ok(false, "a note cut to %zu bytes has none", length);
	ok(cairn_build_id_valid("abcd") && !cairn_build_id_valid("abc") && !cairn_build_id_valid("ABCD") && !cairn_build_id_valid("") &&
		   !cairn_build_id_valid("../../etc"), "what a build-id looks like");
}

/* Binary: r-x at file 0x1000, linked at 0x401000. Its debug file: the same without file offsets. */
static void test_addresses(void)
{
	struct cairn_elf_segment segments[] = {
		{.offset = 0, .address = 0x400000, .file_size = 0x800, .memory_size = 0x800},
		{.offset = 0x1040, .address = 0x402040, .file_size = 0x500, .memory_size = 0x500, .executable = true}};
	struct cairn_identity identity = {.segments = segments, .segment_count = 2};
	uint64_t address = 0;
	ok(cairn_identity_address(&identity, 0x1050, &address) && address == 0x402050, "a place in the second segment");
	ok(cairn_identity_address(&identity, 0x10, &address) && address == 0x400010, "in the first");
	ok(!cairn_identity_address(&identity, 0x900, &address) && !cairn_identity_address(&identity, 0x1540, &address), "in none");
	segments[1].offset = 0;
	segments[1].file_size = 0;
	ok(cairn_identity_address_from_start(&identity, 0x1000, 0x1050, &address) && address == 0x402050,
	   "a debug file knows it by the distance from the start");
	ok(!cairn_identity_address_from_start(&identity, 0x1000, 0x1010, &address) &&
		   !cairn_identity_address_from_start(&identity, 0x1000, 0x1540, &address),
	   "within the segment only");
	/* As aarch64's linkers lay it out: the segment, at 0x23040 of the binary, begins in the middle of a page of 64 KiB. */
	segments[1].address = 0x433040;
	segments[1].alignment = 0x10000;
	ok(cairn_identity_address_from_start(&identity, 0x23000, 0x23050, &address) && address == 0x433050, "mapped by pages of 4 KiB");
	ok(cairn_identity_address_from_start(&identity, 0x20000, 0x23050, &address) && address == 0x433050, "mapped by pages of 64 KiB");
	segments[1].alignment = 0x200000;
	ok(!cairn_identity_address_from_start(&identity, 0x23000, 0x23050, &address), "an offset that no page of the segment can have");
	segments[0].executable = true;
	ok(!cairn_identity_address_from_start(&identity, 0x1000, 0x1050, &address), "two executable segments leave it open");
}

int main(void)
{
	struct cairn_error error;
	if (!mkdtemp(scratch) || !cairn_identity_read(&self, &arena, "/proc/self/exe", &error) || !*self.build_id) {
		tap_skip("finding files", "this program has no build-id");
		return tap_done();
	}
	app = in_scratch("app");
	other_build = in_scratch("other");
	copy = in_scratch("renamed");
	install(app, false);
	install(other_build, true);
	install(copy, false);
	test_by_build_id();
	test_pointing();
	test_without_file();
	test_identify();
	test_notes();
	test_addresses();
	int status = system(cairn_arena_format(&arena, "rm -rf %s", scratch));
	cairn_arena_free(&arena);
	return tap_done() || status;
}
