/* The writers of other tools' formats: flat_write.c, speedscope.c, callgrind.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/flat_write.h"
#include "profile/read.h"
#include "report/callgrind.h"
#include "report/speedscope.h"
#include "tap.h"

static const char dump[] = "heap profile:      3:     1200 [     3:     1200] @ heapprofile\n"
			   "     1:      200 [     1:      200] @ 0x1001 0x2001\n"
			   "     2:     1000 [     2:     1000] @ 0x1001 0x3001\n"
			   "MAPPED_LIBRARIES:\n1000-9000 r-xp 00000000 00:00 0 /bin/service\n";

static void read_text(struct cairn_profile *profile, const char *text)
{
	struct cairn_error error;
	cairn_profile_init(profile);
	if (!cairn_profile_read(profile, cairn_bytes_of(text), "test", NULL, &error))
		printf("# %s\n", error.text);
}

static void name(struct cairn_profile *profile, uint32_t location, const char *inner, const char *outer)
{
	struct cairn_frame frames[2];
	const char *names[2] = {inner, outer};
	for (int i = 0; i < 2 && names[i]; i++) {
		uint32_t text = cairn_profile_text(profile, names[i]);
		frames[i] = (struct cairn_frame){
			.function = cairn_profile_add_function(profile, &(struct cairn_function){.name = text, .system_name = text})};
	}
	cairn_profile_set_frames(profile, location, frames, outer ? 2 : 1);
}

static const char *terminated(struct cairn_buffer *out)
{
	cairn_buffer_byte(out, 0);
	return out->data;
}

static void test_flat(void)
{
	struct cairn_profile profile, again;
	struct cairn_error error;
	struct cairn_buffer out = cairn_buffer(1 << 16);
	read_text(&profile, dump);
	ok(cairn_flat_write(&profile, &out, &error), "addresses can be written");
	read_text(&again, terminated(&out));
	is_int(again.sample_count, 2, "and read again");
	is_near(cairn_profile_total(&again, cairn_profile_find_value(&again, "inuse_space")), 1200, 0, "with the same total");
	is_int(again.locations[0].address, profile.locations[0].address, "and the same addresses");
	cairn_profile_free(&again);
	cairn_profile_free(&profile);
	read_text(&profile, "a;b 5\n");
	ok(!cairn_flat_write(&profile, &out, &error), "what is not of memory cannot");
	cairn_profile_free(&profile);
	cairn_buffer_free(&out);
}

static void test_symbolized(void)
{
	struct cairn_profile profile, again;
	struct cairn_error error;
	struct cairn_buffer out = cairn_buffer(1 << 16);
	read_text(&profile, dump);
	name(&profile, 0, "operator--", "odd -- name\nof two lines");
	ok(cairn_symbolized_write(&profile, &out, &error), "names can be written");
	read_text(&again, terminated(&out));
	is_int(again.locations[0].frame_count, 2, "inlined functions come back");
	const struct cairn_frame *frames = again.frames + again.locations[0].first_frame;
	is_text(cairn_profile_string(&again, again.functions[frames[0].function].name), "operator--",
		"innermost first, operator-- as it was");
	is_text(cairn_profile_string(&again, again.functions[frames[1].function].name), "odd - - name of two lines",
		"what the format cannot hold is changed");
	cairn_profile_free(&again);
	cairn_profile_free(&profile);
	cairn_buffer_free(&out);
}

static void test_views(void)
{
	struct cairn_profile profile;
	struct cairn_view view;
	struct cairn_error error;
	struct cairn_buffer out = cairn_buffer(1 << 16);
	read_text(&profile, "main;a 5\nmain;b -3\nmain;a;main 2\n");
	ok(cairn_view_make(&view, &profile, &(struct cairn_view_options){0}, &error), "a view of folded text");
	cairn_speedscope_write(&view, &out);
	like_text(terminated(&out), "\"name\":\"samples (grown)\",\"unit\":\"none\",\"startValue\":0,\"endValue\":7,\"samples\":[[",
		  "speedscope: what grew");
	like_text(out.data, "\"name\":\"samples (shrunk)\",\"unit\":\"none\",\"startValue\":0,\"endValue\":3,", "and what shrank");
	like_text(out.data, "\"weights\":[5,2]", "with weights");
	out.length = 0;
	cairn_view_free(&view);
	cairn_view_make(&view, &profile, &(struct cairn_view_options){.granularity = CAIRN_BY_LINE, .drop_negative = true}, &error);
	cairn_callgrind_write(&view, &out);
	like_text(terminated(&out), "events: samples\nsummary: 7\n", "callgrind: the event and its sum");
	like_text(out.data, "calls=1 0\n0 7\n", "and calls with all that is below them, each stack once");
	cairn_view_free(&view);
	cairn_profile_free(&profile);
	cairn_buffer_free(&out);
}

static void test_callgrind(void)
{
	struct cairn_callgrind callgrind;
	struct cairn_buffer out = cairn_buffer(1 << 16);
	const struct cairn_callgrind_name file = {0, cairn_bytes_of("code.c")}, odd = {0, cairn_bytes_of("two\nfn=(7) lines")},
					  number = {1, cairn_bytes_of("(1)")}, brief = {2, cairn_bytes_of("f")}, none = {1, {0}};
	cairn_callgrind_open(&callgrind, &out, 2, 3);
	cairn_callgrind_function(&callgrind, file, odd);
	cairn_callgrind_cost(&callgrind, 3, 1e300);
	cairn_callgrind_call(&callgrind, none, number, 4, 2, 5, -7.5);
	cairn_callgrind_call(&callgrind, file, number, 4, 2, 5, 8);
	cairn_callgrind_function(&callgrind, file, brief);
	cairn_callgrind_close(&callgrind);
	is_text(terminated(&out),
		"fl=(1) code.c\nfn=(1) two?fn=(7) lines\n3 9223372036854775807\n"
		"cfl=???\ncfn=(2) (1)\ncalls=2 4\n5 -7\n"
		"cfl=(1)\ncfn=(2)\ncalls=2 4\n5 8\n"
		"fl=(1)\nfn=f\n",
		"callgrind: a name stays on its line, is never taken for a number, and is written once unless short");
	cairn_buffer_free(&out);
}

int main(void)
{
	test_callgrind();
	test_flat();
	test_symbolized();
	test_views();
	return tap_done();
}
