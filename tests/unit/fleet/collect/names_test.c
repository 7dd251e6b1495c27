/* names_test.c - a question and its answer arrive as they were, and one that is cut short or damaged does no harm.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/names.h"

#include "tap.h"

/* Two modules, one of them replaced on disk; four locations, of which the second has its name. */
static void make_profile(struct cairn_profile *profile)
{
	cairn_profile_init(profile);
	uint32_t first = cairn_profile_add_module(profile, cairn_profile_text(profile, "/bin/first"), cairn_profile_text(profile, "00aa"));
	uint32_t second = cairn_profile_add_module(profile, cairn_profile_text(profile, "/bin/second"), 0);
	profile->modules[second].deleted = true;
	cairn_profile_add_mapping(profile, &(struct cairn_mapping){.start = 0x1000, .limit = 0x2000, .offset = 0x100, .module = first});
	cairn_profile_add_mapping(profile, &(struct cairn_mapping){.start = 0x5000, .limit = 0x6000, .module = second});
	cairn_profile_add_location(profile, 0x1100, 0, true);
	uint32_t named = cairn_profile_add_location(profile, 0x1200, 0, true);
	cairn_profile_add_location(profile, 0x5100, 1, false);
	cairn_profile_add_location(profile, 0x9000, CAIRN_NONE, true);
	struct cairn_function function = {.name = cairn_profile_text(profile, "sent")};
	cairn_profile_set_frames(profile, named, &(struct cairn_frame){.function = cairn_profile_add_function(profile, &function)}, 1);
	profile->facts.process_id = 4242;
	profile->facts.start_ns = 77;
}

static void make_answer(struct cairn_profile *asked, struct cairn_buffer *answer)
{
	struct cairn_frame frames[2] = {{.line = 7, .column = 3}, {.line = 9}};
	struct cairn_function outer = {.name = cairn_profile_text(asked, "outer"), .file = cairn_profile_text(asked, "a.c"), .start_line = 5};
	struct cairn_function inner = {.name = cairn_profile_text(asked, "inner()"), .system_name = cairn_profile_text(asked, "_Zinner")};
	frames[0].function = cairn_profile_add_function(asked, &inner);
	frames[1].function = cairn_profile_add_function(asked, &outer);
	cairn_profile_set_frames(asked, 0, frames, 2);
	asked->modules[1].build_id = cairn_profile_text(asked, "00bb");
	cairn_names_answer(asked, answer);
}

static const char *name_of(const struct cairn_profile *profile, uint32_t location, uint32_t frame)
{
	const struct cairn_location *at = &profile->locations[location];
	return frame < at->frame_count
		       ? cairn_profile_string(profile, profile->functions[profile->frames[at->first_frame + frame].function].name)
		       : "";
}

static void test_both_ways(struct cairn_buffer *question, struct cairn_buffer *answer)
{
	struct cairn_profile profile, asked;
	struct cairn_arena arena = {0};
	const char *binaries[] = {"/uploads/first"}, *symbols[] = {"/uploads"};
	struct cairn_symbolize_options options = {
		.find = {.binaries = binaries, .binary_count = 1, .symbols = symbols, .symbols_count = 1}, .cache_folder = "/names"};
	struct cairn_symbolize_options got = {0};
	make_profile(&profile);
	cairn_profile_init(&asked);
	cairn_names_ask(&profile, &options, question);
	ok(cairn_names_asked(&asked, &got, &arena, cairn_buffer_bytes(question)), "a question");
	is_int((long long)got.find.binary_count, 1, "with its binaries");
	is_text(got.find.symbols[0], "/uploads", "its folders");
	is_text(got.cache_folder, "/names", "and its cache");
	is_int((long long)asked.location_count, 3, "the unnamed locations");
	is_int((long long)asked.locations[1].address, 0x5100, "in order");
	ok(asked.locations[0].is_call && !asked.locations[1].is_call && asked.locations[2].mapping == CAIRN_NONE, "with what they are");
	is_text(cairn_profile_string(&asked, asked.modules[0].build_id), "00aa", "the modules");
	ok(asked.modules[1].deleted && asked.mappings[0].offset == 0x100 && asked.mappings[1].module == 1, "and mappings");
	ok(asked.facts.process_id == 4242 && asked.facts.start_ns == 77, "of which process");
	make_answer(&asked, answer);
	ok(cairn_names_take(&profile, cairn_buffer_bytes(answer)), "an answer");
	is_text(name_of(&profile, 0, 0), "inner()", "the innermost frame first");
	is_text(name_of(&profile, 0, 1), "outer", "then where it is inlined");
	is_int(profile.frames[profile.locations[0].first_frame].column, 3, "with its place");
	is_text(name_of(&profile, 1, 0), "sent", "a name that was sent stays");
	is_text(name_of(&profile, 2, 0), "", "what has no name has none");
	is_text(cairn_profile_string(&profile, profile.modules[1].build_id), "00bb", "a build-id that was found");
	cairn_profile_free(&profile);
	cairn_profile_free(&asked);
	cairn_arena_free(&arena);
}

/* Every prefix, and every byte changed. All references of what is taken must be valid. */
static void test_damage(struct cairn_buffer *question, struct cairn_buffer *answer)
{
	bool good = true, whole = false;
	for (size_t i = 0; i < 2 * question->length; i++) {
		struct cairn_profile asked;
		struct cairn_arena arena = {0};
		struct cairn_symbolize_options options = {0};
		cairn_profile_init(&asked);
		if (i >= question->length)
			question->data[i - question->length] ^= (char)0x95;
		cairn_names_asked(&asked, &options, &arena,
				  (struct cairn_bytes){question->data, i < question->length ? i : question->length});
		for (size_t k = 0; k < asked.location_count; k++)
			good = good && (asked.locations[k].mapping == CAIRN_NONE || asked.locations[k].mapping < asked.mapping_count);
		cairn_profile_free(&asked);
		cairn_arena_free(&arena);
	}
	ok(good, "damaged questions");
	for (size_t i = 0; i < 2 * answer->length; i++) {
		struct cairn_profile profile;
		make_profile(&profile);
		if (i >= answer->length)
			answer->data[i - answer->length] ^= (char)0x95;
		whole |= cairn_names_take(&profile, (struct cairn_bytes){answer->data, i < answer->length ? i : answer->length}) &&
			 i < answer->length;
		for (size_t k = 0; k < profile.frame_count; k++)
			good = good && profile.frames[k].function < profile.function_count;
		for (size_t k = 0; k < profile.location_count; k++)
			good = good && profile.locations[k].first_frame + profile.locations[k].frame_count <= profile.frame_count;
		cairn_profile_free(&profile);
	}
	ok(good, "damaged answers");
	ok(!whole, "one that is cut short is refused");
}

int main(void)
{
	struct cairn_buffer question = cairn_buffer(1 << 16), answer = cairn_buffer(1 << 16);
	test_both_ways(&question, &answer);
	test_damage(&question, &answer);
	cairn_buffer_free(&question);
	cairn_buffer_free(&answer);
	return tap_done();
}
