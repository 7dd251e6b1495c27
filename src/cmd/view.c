/* view.c - the table of view options.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/view.h"

#define AT(member) offsetof(struct cairn_view_options, member)

const struct cairn_option cairn_view_option_table[] = {
	{0, "objects", NULL, "count objects instead of bytes", CAIRN_OPTION_FLAG, AT(objects), 0},
	{0, "alloc", NULL, "everything allocated so far, not only what lives (needs prof_accum:true)", CAIRN_OPTION_FLAG, AT(alloc), 0},
	{0, "value", "TYPE", "show this value of the profile, such as alloc_space or cpu", CAIRN_OPTION_TEXT, AT(value), 0},
	{0, "functions", NULL, "one row for each function (the default)", CAIRN_OPTION_CHOICE, AT(granularity), CAIRN_BY_FUNCTION},
	{0, "files", NULL, "one row for each source file", CAIRN_OPTION_CHOICE, AT(granularity), CAIRN_BY_FILE},
	{0, "lines", NULL, "one row for each source line", CAIRN_OPTION_CHOICE, AT(granularity), CAIRN_BY_LINE},
	{0, "addresses", NULL, "one row for each address", CAIRN_OPTION_CHOICE, AT(granularity), CAIRN_BY_ADDRESS},
	{0, "no-inlines", NULL, "leave inlined functions out", CAIRN_OPTION_FLAG, AT(no_inlines), 0},
	{0, "full-names", NULL, "names with template and call arguments", CAIRN_OPTION_FLAG, AT(full_names), 0},
	{0, "all-frames", NULL, "keep the allocator's own frames", CAIRN_OPTION_FLAG, AT(all_frames), 0},
	{0},
};
