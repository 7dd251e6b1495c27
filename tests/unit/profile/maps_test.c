/* maps_test.c - memory maps and their quirks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"
#include "profile/maps.h"
#include "tap.h"

static struct cairn_profile profile;

static void read_maps(const char *text)
{
	cairn_profile_free(&profile);
	cairn_profile_init(&profile);
	cairn_maps_read(&profile, cairn_bytes_of(text));
}

static const char *path_of(size_t mapping)
{
	return mapping < profile.mapping_count ? cairn_profile_string(&profile, profile.modules[profile.mappings[mapping].module].path)
					       : "(none)";
}

/* The path and file offset of ADDRESS, as a stack would see it. */
static const char *place(uint64_t address, uint64_t *offset)
{
	uint32_t id = cairn_profile_add_location(&profile, address, CAIRN_NONE, false);
	cairn_maps_attach(&profile);
	const struct cairn_module *module = cairn_profile_module(&profile, &profile.locations[id]);
	*offset = cairn_profile_file_offset(&profile, &profile.locations[id]);
	return module ? cairn_profile_string(&profile, module->path) : "(none)";
}

static void test_linux(void)
{
	uint64_t offset;
	read_maps("55d000-55e000 r--p 00000000 fd:01 1  /usr/bin/app\n"
		  "55e000-560000 r-xp 00001000 fd:01 1  /usr/bin/app\n"
		  "560000-561000 rw-p 00003000 fd:01 1  /usr/bin/app\n"
		  "7f0000-7f1000 r-xp 00000000 fd:01 2  /opt/with space/lib x.so.2 (deleted)\n"
		  "7f2000-7f3000 r-xp 00000000 00:00 0\n"
		  "7ff000-7ff800 r-xp 00000000 00:00 0  [vdso]\n"
		  "nonsense\n"
		  "build=/somewhere\n"
		  "7ffa00-7ff900 r-xp 00000000 00:00 0 backwards\n");
	is_int(profile.mapping_count, 4, "executable ranges only");
	is_text(path_of(1), "/opt/with space/lib x.so.2", "spaces stay, (deleted) goes");
	ok(profile.modules[profile.mappings[1].module].deleted, "and is remembered");
	is_text(path_of(2), "", "memory without a file has no path");
	is_text(path_of(3), "[vdso]", "the vdso is called so");
	is_text(place(0x55e123, &offset), "/usr/bin/app", "an address finds its file");
	is_int(offset, 0x1123, "and its offset there");
	is_text(place(0x560000, &offset), "(none)", "the end of a range is outside");
	is_text(place(0x10, &offset), "(none)", "before everything");
	is_int(offset, 0x10, "where there is no file the address stands for itself");
	is_text(cairn_profile_string(&profile, profile.facts.process), "/usr/bin/app", "the program is the first that is no library");
}

static void test_segments(void)
{
	uint64_t offset;
	read_maps("200000-300000 r--p 00000000 fd:01 1 /bin/lld\n"
		  "301000-400000 r-xp 00100000 fd:01 1 /bin/lld\n"
		  "400000-500000 r-xp 001ff000 fd:01 1 /bin/lld\n");
	is_text(place(0x301010, &offset), "/bin/lld", "first executable segment");
	is_int(offset, 0x100010, "its own offset");
	is_text(place(0x400010, &offset), "/bin/lld", "second executable segment");
	is_int(offset, 0x1ff010, "its own offset");
	is_int(profile.module_count, 1, "one file");
}

static void test_huge_pages(void)
{
	uint64_t offset;
	read_maps("400000-600000 r-xp 00000000 fd:01 1 /bin/huge\n"
		  "600000-a00000 r-xp 00000000 00:00 0\n"
		  "a00000-b00000 r-xp 00600000 fd:01 1 /bin/huge\n");
	is_text(place(0x600010, &offset), "/bin/huge", "text moved to huge pages keeps its file");
	is_int(offset, 0x200010, "and its offset");
	read_maps("400000-600000 r-xp 00000000 fd:01 1 /bin/huge\n"
		  "600000-a00000 r-xp 00000000 00:00 0\n"
		  "c00000-d00000 r-xp 00600000 fd:01 1 /bin/huge\n");
	is_text(place(0x600010, &offset), "", "but not where the lines around it do not fit");
}

static void test_others(void)
{
	uint64_t offset;
	read_maps("0000000100000000-0000000100010000: /usr/local/bin/mac\n00400000-00500000: /lib/libx.so\n");
	is_int(profile.mapping_count, 2, "cooked lines");
	is_text(place(0x100000010, &offset), "/usr/local/bin/mac", "macOS");
	read_maps("0x400000 0x500000 10 0 0xffff r-x 1 0 0x0 COW NC vnode /bin/bsd NCH -1\n");
	is_text(place(0x400010, &offset), "/bin/bsd", "FreeBSD");
	read_maps("1000-2000: //anon\n0x3000-0x2000 5 10 0 0xffff r-x 1 0 0x0 COW NC vnode /bin/odd NCH -1\n");
	is_int(profile.mapping_count, 0, "an image without a file, and a line that is neither Linux's nor FreeBSD's");
	read_maps("1000-2000 r-xp 00000000 fd:01 1 /tmp/new\\012line\n");
	is_text(path_of(0), "/tmp/new\nline", "a newline in a path");
	read_maps("");
	is_int(profile.mapping_count, 0, "no maps at all");
}

static void test_many(void)
{
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	for (unsigned i = 0; i < 100000; i++)
		cairn_buffer_format(&text, "%x-%x r-xp 00000000 fd:01 %u /lib/plugin%u.so\n", 0x1000000 + i * 0x2000,
				    0x1000000 + i * 0x2000 + 0x1000, i, i);
	cairn_profile_free(&profile);
	cairn_profile_init(&profile);
	cairn_maps_read(&profile, cairn_buffer_bytes(&text));
	uint64_t offset;
	is_int(profile.mapping_count, 100000, "a hundred thousand lines");
	is_text(place(0x1000000 + 77777 * 0x2000u + 5, &offset), "/lib/plugin77777.so", "are found by address");
	cairn_buffer_free(&text);
}

static void test_long_definition(void)
{
	uint64_t offset;
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	cairn_buffer_format(&text, "build=/%05000d\n1000-2000 r-xp 00000000 fd:01 1 $build/app\n", 0);
	cairn_buffer_byte(&text, '\0');
	read_maps(text.data);
	is_text(place(0x1010, &offset), "$build/app", "a definition longer than any path is none");
	cairn_buffer_free(&text);
}

int main(void)
{
	cairn_profile_init(&profile);
	test_linux();
	test_segments();
	test_huge_pages();
	test_others();
	test_many();
	test_long_definition();
	cairn_profile_free(&profile);
	return tap_done();
}
