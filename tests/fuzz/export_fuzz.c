/* export_fuzz.c - any profile to each format that is written: JSON that parses, and text that our own readers take back.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/xml.h"
#include "profile/flat_write.h"
#include "profile/pprof_write.h"
#include "profile/read.h"
#include "report/callgrind.h"
#include "report/collapsed.h"
#include "report/dot.h"
#include "report/jeprof.h"
#include "report/raw.h"
#include "report/speedscope.h"
#include "wellformed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* TEXT can be read again, where the profile it was written from has a sample. */
static void check_again(const struct cairn_profile *profile, struct cairn_buffer *text)
{
	struct cairn_profile again;
	struct cairn_error error;
	cairn_profile_init(&again);
	bool good = cairn_profile_read(&again, cairn_buffer_bytes(text), "again", NULL, &error);
	must(good || profile->sample_count == 0);
	cairn_profile_free(&again);
	text->length = 0;
}

/* As jeprof counts. */
static void write_jeprof(const struct cairn_profile *profile, struct cairn_buffer *out)
{
	struct cairn_jeprof jeprof;
	struct cairn_error error;
	if (cairn_jeprof_make(&jeprof, profile, &(struct cairn_view_options){0}, &error)) {
		cairn_jeprof_callgrind(&jeprof, out);
		cairn_jeprof_text(&jeprof, true, 0, out);
	}
	cairn_jeprof_free(&jeprof);
	out->length = 0;
}

static void write_all(const struct cairn_profile *profile, struct cairn_view *view, struct cairn_buffer *out)
{
	struct cairn_error error;
	cairn_speedscope_write(view, out);
	must(json_wellformed(cairn_buffer_bytes(out)));
	out->length = 0;
	cairn_callgrind_write(view, out);
	out->length = 0;
	write_jeprof(profile, out);
	cairn_dot_text(view, &(struct cairn_dot_options){0}, out, &error);
	out->length = 0;
	cairn_raw_text(profile, out);
	out->length = 0;
	if (cairn_pprof_write(profile, &(struct cairn_pprof_options){.names = CAIRN_PPROF_NAMES_ALL, .sizes = true}, out))
		check_again(profile, out);
	cairn_collapsed_text(view, CAIRN_COLLAPSED_BEFORE_AFTER, out);
	out->length = 0;
	if (cairn_symbolized_write(profile, out, &error))
		check_again(profile, out);
	out->length = 0;
	if (cairn_flat_write(profile, out, &error))
		check_again(profile, out);
	out->length = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_error error;
	struct cairn_profile profile;
	struct cairn_view view = {0};
	struct cairn_bytes input = {(const char *)data, size};
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	cairn_xml_text(&out, input);
	must(xml_wellformed(cairn_buffer_bytes(&out)));
	out.length = 0;
	cairn_profile_init(&profile);
	if (cairn_profile_read(&profile, input, "fuzz", NULL, &error) &&
	    cairn_view_make(&view, &profile, &(struct cairn_view_options){0}, &error))
		write_all(&profile, &view, &out);
	cairn_view_free(&view);
	cairn_profile_free(&profile);
	cairn_buffer_free(&out);
	return 0;
}
