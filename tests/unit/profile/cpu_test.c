/* cpu_test.c - the binary CPU profile in each word size and byte order, its artefacts, and cut files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"
#include "fixture.h"

#include <stdlib.h>

struct form {
	size_t width;
	bool big;
};

static void add_words(struct cairn_buffer *to, struct form form, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t byte = 0; byte < form.width; byte++)
			cairn_buffer_byte(to, (char)(words[i] >> 8 * (form.big ? form.width - 1 - byte : byte)));
}

#define words(to, form, ...)                                                                                                     \
	add_words((to), (form), (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static bool read_words(struct cairn_buffer *bytes)
{
	bool good = read_bytes(cairn_buffer_bytes(bytes), NULL);
	cairn_buffer_free(bytes);
	return good;
}

static uint64_t address(size_t sample, size_t frame)
{
	return profile.locations[profile.stacks[profile.samples[sample].stack + frame]].address;
}

static void test_forms(void)
{
	const struct form forms[] = {{4, false}, {4, true}, {8, false}, {8, true}};
	for (size_t i = 0; i < 4; i++) {
		struct cairn_buffer bytes = cairn_buffer(4096);
		words(&bytes, forms[i], 0, 5, 0, 10000, 0, 77, 78, 3, 2, 0x401010, 0x402020, 1, 1, 0x403000, 0, 1, 0);
		cairn_buffer_text(&bytes, "00400000-00500000 r-xp 00001000 08:01 99 /opt/service\n");
		ok(read_words(&bytes), "%zu-bit words, %s end first", forms[i].width * 8, forms[i].big ? "big" : "little");
		is_int(profile.sample_count, 2, "two stacks");
		is_near(profile.period, 1e7, 0, "the period in nanoseconds");
		ok(profile.values[0] == 3 && profile.values[1] == 3e7, "samples and time");
		ok(address(0, 0) == 0x401010 && !profile.locations[profile.stacks[0]].is_call, "the leaf is exact");
		ok(address(0, 1) == 0x40201f && profile.locations[profile.stacks[1]].is_call, "its caller is a return address");
		is_int(profile.mapping_count, 1, "the map after the records");
		is_int(profile.warning_count, 0, "nothing to warn of");
	}
}

static void test_artefacts(void)
{
	const struct form form = {8, false};
	struct cairn_buffer bytes = cairn_buffer(4096);
	words(&bytes, form, 0, 3, 0, 1000, 0, 1, 3, 0x10, 0x901, 0x21, 1, 3, 0x11, 0x901, 0x31, 1, 1, 0x12, 1, 4, 0x13, 0x901,
	      0x41, 0x51, 0, 1, 0);
	ok(read_words(&bytes), "a second frame that not all stacks have");
	ok(profile.samples[0].depth == 3 && profile.warning_count == 0, "stays");

	words(&bytes, form, 0, 3, 0, 1000, 0, 1, 3, 0x10, 0x901, 0x21, 1, 3, 0x11, 0x901, 0x31, 0, 1, 0);
	ok(read_words(&bytes), "one that all stacks share");
	ok(profile.samples[0].depth == 2 && address(0, 0) == 0x10 && address(0, 1) == 0x20 && warned("0x900"),
	   "is the signal handler's, and said");

	words(&bytes, form, 0, 3, 0, 1000, 0, 1, 3, 0x10, 0x10, 0x21, 1, 3, 0x11, 0x91, 0x31, 0, 1, 0);
	ok(read_words(&bytes), "a leaf recorded twice");
	ok(profile.samples[0].depth == 2 && address(0, 0) == 0x10 && address(0, 1) == 0x20, "is there once");
	is_int(profile.samples[1].depth, 3, "other stacks keep theirs");
}

static void test_broken(void)
{
	const struct form form = {8, false};
	struct cairn_buffer bytes = cairn_buffer(4096);
	words(&bytes, form, 0, 3, 1, 1000, 0, 0, 1, 0);
	ok(!read_words(&bytes), "Java's version");
	like_text(error.text, "version 1", "is refused by name");
	words(&bytes, form, 0, 2, 0, 1000, 0, 0, 1, 0);
	ok(!read_words(&bytes), "a header that makes no sense");
	words(&bytes, form, 0, 3, 0, 1000, 0, 4, 1, 0x10, 9, 3, 0x10, 0x20);
	ok(read_words(&bytes), "a file cut in a stack");
	ok(profile.sample_count == 1 && warned("cut short after 1 stacks"), "gives what came before, and says so");
	words(&bytes, form, 0, 3, 0, 1000, 0, 1, UINT64_MAX / 2, 0x10);
	ok(read_words(&bytes) && profile.sample_count == 0, "a depth beyond all reason takes no memory");
}

static const char *label(size_t sample, size_t index)
{
	const struct cairn_label_set *set = &profile.label_sets[profile.samples[sample].labels];
	return index < set->count ? cairn_profile_string(&profile, profile.labels[set->first + index].text) : NULL;
}

/* What Cairn's agent writes: threads and the exact period behind the map, and stacks without artefacts. */
static void test_trailer(void)
{
	const struct form form = {8, false};
	struct cairn_buffer bytes = cairn_buffer(4096);
	words(&bytes, form, 0, 3, 0, 10101, 0);
	for (uint64_t i = 0; i < 40; i++)
		words(&bytes, form, 1, 3, 0x401000 + i, 0x402000, 0x403000);
	words(&bytes, form, 0, 1, 0);
	cairn_buffer_text(
		&bytes,
		"00400000-00500000 r-xp 00001000 08:01 99 /opt/service\n# cairn trailer 1\n# cairn cpu.period 10101010\n"
		"# cairn cpu.dropped 12\n# cairn cpu.unwatched 3\n# cairn cpu.blocked 4\n# cairn cpu.cramped 5\n# cairn cpu.foreign 2\n# cairn cpu.overtaken 1\n"
		"# cairn cpu.thread 30 77 main loop\n# cairn cpu.thread 9 78 io\n# cairn module 400000-500000 1000 abcd /opt/link\n# cairn "
		"end\n");
	ok(read_words(&bytes), "a profile with a trailer");
	is_near(profile.period, 10101010, 0, "its period is exact");
	is_near(profile.values[1], 10101010, 0, "and so is the time");
	is_int(profile.samples[0].depth, 3, "a second frame that all stacks share stays");
	is_text(cairn_profile_string(&profile, profile.modules[0].build_id), "abcd", "the program has its build-id");
	is_text(label(0, 0), "77", "the first record's thread");
	is_text(label(29, 1), "main loop", "by name");
	is_text(label(30, 1), "io", "the next one's");
	ok(label(39, 0) == NULL, "a record that no line speaks of has none");
	ok(profile.warning_count == 6 &&
	   strstr(cairn_profile_string(&profile, profile.warnings[4]), "2 threads were not sampled, because") &&
	   strstr(cairn_profile_string(&profile, profile.warnings[0]), "12 samples were lost") &&
	   strstr(cairn_profile_string(&profile, profile.warnings[1]), "3 threads") &&
	   strstr(cairn_profile_string(&profile, profile.warnings[2]), "4 threads could not be sampled") &&
	   strstr(cairn_profile_string(&profile, profile.warnings[3]), "5 samples were lost in threads"), "what was lost is told");
}

int main(void)
{
	test_forms();
	test_artefacts();
	test_broken();
	test_trailer();
	cairn_profile_free(&profile);
	return tap_done();
}
