/* flame_heading.c - the process, how much of what, and how it was measured.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/flame_heading.h"

#include "base/path.h"
#include "base/text.h"
#include "report/head.h"

/* What the numbers count, in a word. */
static const char *count_name(const struct cairn_view *view)
{
	const struct cairn_profile *profile = view->profile;
	if (strstr(cairn_head_type(view), "objects"))
		return "objects";
	const char *unit = cairn_profile_string(profile, profile->value_types[view->value].unit);
	return strcmp(unit, "count") == 0 || !*unit ? "samples" : unit;
}

/* A heading with the process's name, if it is known. */
static const char *heading(const struct cairn_view *view, struct cairn_arena *arena)
{
	const struct cairn_profile *profile = view->profile;
	char number[32];
	if (!profile->facts.process)
		return NULL;
	const char *process = cairn_base_name(cairn_profile_string(profile, profile->facts.process));
	if (profile->base)
		return cairn_arena_format(arena, "%s: change of %s", process, cairn_head_title(view));
	cairn_head_number(view, &(struct cairn_shape){0}, view->shown, number);
	return cairn_arena_format(arena, "%s: %s of %s", process, number, cairn_head_title(view));
}

/* How it was measured, for sampled profiles. */
static const char *subheading(const struct cairn_view *view, struct cairn_arena *arena)
{
	const struct cairn_profile *profile = view->profile;
	char period[24], coverage[CAIRN_COVERAGE_TEXT];
	if (profile->period <= 1 || profile->kind != CAIRN_PROFILE_HEAP)
		return NULL;
	bool partial = cairn_head_coverage(view, coverage, sizeof coverage);
	return cairn_arena_format(arena, "%s, one sample per %s%s%s", profile->format, cairn_text_human(profile->period, period),
				  partial ? "; " : "", partial ? coverage : "");
}

void cairn_flame_describe(struct cairn_flame_svg_options *svg, const struct cairn_view *view, struct cairn_arena *arena)
{
	if (!svg->count_name)
		svg->count_name = count_name(view);
	if (!svg->title)
		svg->title = heading(view, arena);
	if (!svg->subtitle)
		svg->subtitle = subheading(view, arena);
}

enum cairn_palette_kind cairn_flame_palette(const struct cairn_view *view)
{
	return view->profile->kind == CAIRN_PROFILE_HEAP ? CAIRN_PALETTE_MEM : CAIRN_PALETTE_HOT;
}
