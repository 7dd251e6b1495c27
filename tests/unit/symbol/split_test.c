/* split_test.c - finding the rest of a skeleton unit, in a package and beside the binary.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/split.h"

#include "assemble.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

static const uint64_t id = 0x1122334455667788;
static struct cairn_buffer abbrev, info;

static void setup(void)
{
	abbrev = cairn_buffer(1000);
	info = cairn_buffer(1000);
	put_abbrev(&abbrev, 1, DW_TAG_compile_unit, false, pairs(DW_AT_name, DW_FORM_string));
	put(&abbrev, 0, 1);
	put(&info, 0, 4);
	put(&info, 5, 2);
	put_bytes(&info, DW_UT_split_compile, 8);
	put(&info, 0, 4);
	put(&info, id, 8);
	put_bytes(&info, 1);
	put_text(&info, "unit.c");
	end_unit(&info, 0);
}

/* An index of one unit whose parts start so far into their sections. */
static void put_index(struct cairn_buffer *out, uint32_t shift)
{
	put(out, 5, 4);
	put(out, 2, 4);
	put(out, 1, 4);
	put(out, 2, 4);
	put(out, 0, 8);
	put(out, 0, 8);
	patch(out, 16 + (id & 1) * 8, id, 8);
	put(out, (id & 1) == 0, 4);
	put(out, (id & 1) == 1, 4);
	put(out, 1, 4);
	put(out, 3, 4);
	put(out, shift, 4);
	put(out, shift, 4);
	put(out, info.length, 4);
	put(out, abbrev.length, 4);
}

static const char *found_in(struct cairn_split *split, uint64_t wanted, const char *name)
{
	static struct cairn_error error;
	struct cairn_dwarf main;
	make_dwarf(&main);
	struct cairn_unit skeleton = {.dwarf = &main, .dwo_name = name, .dwo_id = wanted, .has_dwo_id = true, .encoding = {5, 8, 4}}, unit;
	struct cairn_abbrev_cache cache = {0};
	const struct cairn_unit *found = cairn_split_unit(split, &skeleton, &unit, &cache, &error);
	bool good = found && found->skeleton == &skeleton && found->tag == DW_TAG_compile_unit;
	cairn_abbrev_cache_free(&cache);
	return good ? "found" : error.text;
}

static void test_package(void)
{
	struct cairn_buffer index = cairn_buffer(1000), shifted_info = cairn_buffer(1000), shifted_abbrev = cairn_buffer(1000), file;
	put_index(&index, 16);
	put(&shifted_info, 0, 16);
	cairn_buffer_append(&shifted_info, info.data, info.length);
	put(&shifted_abbrev, 0, 16);
	cairn_buffer_append(&shifted_abbrev, abbrev.data, abbrev.length);
	const struct elf_part parts[] = {
		{".debug_cu_index", cairn_buffer_bytes(&index), 0, 0, 0},
		{".debug_info.dwo", cairn_buffer_bytes(&shifted_info), 0, 0, 0},
		{".debug_abbrev.dwo", cairn_buffer_bytes(&shifted_abbrev), 0, 0, 0},
	};
	make_elf(&file, parts, 3);
	struct cairn_elf *package = cairn_elf_open_bytes(cairn_buffer_bytes(&file), "made.dwp", NULL);
	struct cairn_split *split = cairn_split_new(package, &(struct cairn_split_places){.binary = "binary"});
	is_text(found_in(split, id, "unit.dwo"), "found", "in a package, by id");
	like_text(found_in(split, id + 2, "unit.dwo"), "unit.dwo: not found", "another id is not there");
	cairn_split_free(split);
	cairn_elf_close(package);
	cairn_buffer_free(&index);
	cairn_buffer_free(&shifted_info);
	cairn_buffer_free(&shifted_abbrev);
	cairn_buffer_free(&file);
}

static void test_file(void)
{
	char folder[] = "/tmp/cairn-split.XXXXXX", path[100], binary[100];
	if (!mkdtemp(folder))
		return;
	snprintf(path, sizeof path, "%s/unit.dwo", folder);
	snprintf(binary, sizeof binary, "%s/binary", folder);
	struct cairn_buffer file;
	const struct elf_part parts[] = {
		{".debug_info.dwo", cairn_buffer_bytes(&info), 0, 0, 0},
		{".debug_abbrev.dwo", cairn_buffer_bytes(&abbrev), 0, 0, 0},
	};
	make_elf(&file, parts, 2);
	ok(cairn_file_write(path, cairn_buffer_bytes(&file), NULL), "a .dwo file is written");
	struct cairn_split *split = cairn_split_new(NULL, &(struct cairn_split_places){.binary = binary});
	is_text(found_in(split, id, "/built/elsewhere/unit.dwo"), "found", "beside the binary, though it was made elsewhere");
	cairn_split_free(split);
	const char *folders[] = {"/nowhere", folder};
	split = cairn_split_new(NULL, &(struct cairn_split_places){.folders = folders, .folder_count = 2, .binary = "/nowhere/binary"});
	is_text(found_in(split, id, "/built/elsewhere/unit.dwo"), "found", "in a folder that was pointed at");
	like_text(found_in(split, id + 1, "objects/unit.dwo"), "made for another build", "where one of another build is refused");
	cairn_split_free(split);
	split = cairn_split_new(NULL, &(struct cairn_split_places){.binary = "/nowhere/binary"});
	like_text(found_in(split, id, "objects/unit.dwo"), "not found", "and not looked for when it was not");
	cairn_split_free(split);
	split = cairn_split_new(NULL, &(struct cairn_split_places){.binary = "/nowhere/binary"});
	is_text(found_in(split, id, path), "found", "under its own name");
	like_text(found_in(split, id + 1, path), "made for another build", "one of another build is refused");
	cairn_split_free(split);
	cairn_buffer_free(&file);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	setup();
	test_package();
	test_file();
	cairn_buffer_free(&abbrev);
	cairn_buffer_free(&info);
	return tap_done();
}
