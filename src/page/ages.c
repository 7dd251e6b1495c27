/* ages.c - draws a bar for each age class, and writes lines with sums.
 * SPDX-License-Identifier: Apache-2.0 */
#include "page/ages.h"

#include "base/text.h"
#include "profile/kind.h"

#include <math.h>

static void write_bars(const struct cairn_profile *profile, double all, struct cairn_buffer *out)
{
	enum { height = 20 };
	double most = 0;
	for (unsigned i = 0; i < CAIRN_AGES; i++)
		most = fmax(most, profile->facts.age_bytes[i]);
	cairn_buffer_text(out,
			  "<table>\n<caption>Live memory by age</caption>\n<thead><tr><th scope=\"col\">Age</th><th scope=\"col\">Live</th>"
			  "<th scope=\"col\">Share</th><td></td></tr></thead>\n<tbody>\n");
	for (unsigned i = 0; i < CAIRN_AGES; i++) {
		char size[24];
		double bytes = profile->facts.age_bytes[i];
		cairn_buffer_format(out,
				    "<tr><th scope=\"row\">%s</th><td>%s</td><td>%.1f %%</td><td>"
				    "<svg width=\"200\" height=\"%d\" aria-hidden=\"true\">"
				    "<rect width=\"%.1f\" height=\"%d\"/></svg></td></tr>\n",
				    cairn_age_name(i), cairn_text_human(bytes, size), 100 * bytes / all, height,
				    200 * bytes / fmax(1, most), height);
	}
	cairn_buffer_text(out, "</tbody>\n</table>\n");
}

static void write_sum(struct cairn_buffer *out, const char *name, double bytes)
{
	char size[24];
	if (bytes > 0)
		cairn_buffer_format(out, "<dt>%s</dt><dd>%s</dd>\n", name, cairn_text_human(bytes, size));
}

void cairn_page_ages_write(const struct cairn_profile *profile, struct cairn_buffer *out)
{
	double all = 0;
	for (unsigned i = 0; i < CAIRN_AGES; i++)
		all += profile->facts.age_bytes[i];
	if (!profile->facts.has_ages || profile->base || !cairn_profile_is_live(profile) || !(all > 0))
		return;
	cairn_buffer_text(out, "<details id=\"by-age\"><summary>Ages, peak and slack</summary>\n<div>\n");
	write_bars(profile, all, out);
	cairn_buffer_text(out, "<dl>\n");
	write_sum(out, "Live now", all);
	write_sum(out, "At the highest point", profile->facts.peak_bytes);
	write_sum(out, "Slack: what live objects can hold beyond what was requested", profile->facts.slack_bytes);
	write_sum(out, "Allocated and freed since sampling began", profile->facts.freed_bytes);
	write_sum(out, "Mapped by the service itself", profile->facts.mapped_bytes + profile->facts.break_bytes);
	cairn_buffer_text(out, "</dl>\n</div>\n</details>\n");
}
