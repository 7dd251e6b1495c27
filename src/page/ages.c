/* ages.c - a bar for each class of ages, and lines of sums.
 * SPDX-License-Identifier: Apache-2.0 */
#include "page/ages.h"

#include "base/text.h"
#include "base/time.h"
#include "series/history.h"

#include <math.h>
#include <stdlib.h>

static void write_bars(const struct cairn_profile *profile, double all, struct cairn_buffer *out)
{
	enum { height = 20 };
	double most = 0;
	for (unsigned i = 0; i < CAIRN_AGES; i++)
		most = fmax(most, profile->age_bytes[i]);
	cairn_buffer_text(out,
			  "<table>\n<caption>Live memory by age</caption>\n<thead><tr><th scope=\"col\">Age</th><th scope=\"col\">Live</th>"
			  "<th scope=\"col\">Share</th><td></td></tr></thead>\n<tbody>\n");
	for (unsigned i = 0; i < CAIRN_AGES; i++) {
		char size[24];
		double bytes = profile->age_bytes[i];
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
	bool is_live = !profile->at_peak && !profile->as_slack && !profile->as_fragmentation && !profile->as_mapped;
	for (unsigned i = 0; i < CAIRN_AGES; i++)
		all += profile->age_bytes[i];
	if (!profile->has_ages || profile->base || !is_live || !(all > 0))
		return;
	cairn_buffer_text(out, "<details id=\"by-age\"><summary>Ages, peak and slack</summary>\n<div>\n");
	write_bars(profile, all, out);
	cairn_buffer_text(out, "<dl>\n");
	write_sum(out, "Live now", all);
	write_sum(out, "At the highest point", profile->peak_bytes);
	write_sum(out, "Slack: what live objects can hold beyond what was requested", profile->slack_bytes);
	write_sum(out, "Allocated and freed since sampling began", profile->freed_bytes);
	write_sum(out, "Mapped by the service itself", profile->mapped_bytes + profile->break_bytes);
	cairn_buffer_text(out, "</dl>\n</div>\n</details>\n");
}

/* The picture brings a style of its own, which a shadow tree keeps from the rest of the page. */
void cairn_page_history_write(const struct cairn_profile *profile, struct cairn_buffer *out)
{
	static const int64_t last_ns = 3600 * CAIRN_SECOND_NS;
	struct cairn_history history = cairn_history_make(profile, last_ns);
	if (profile->history_count > 0 && history.count > 1 && !profile->base) {
		struct cairn_buffer svg = cairn_buffer(SIZE_MAX);
		cairn_history_svg(&history, "Memory up to the end", &svg);
		struct cairn_bytes picture = cairn_buffer_bytes(&svg), line;
		cairn_text_line(&picture, &line, NULL); /* that of a file of its own */
		cairn_buffer_text(out, "<section id=\"history\" aria-label=\"Memory up to the end\"><template shadowrootmode=\"open\">\n"
				       "<style>svg{display:block;width:100%;max-width:960px;height:auto}</style>\n");
		cairn_buffer_append(out, picture.data, picture.length);
		cairn_buffer_text(out, "</template></section>\n");
		cairn_buffer_free(&svg);
	}
	free(history.rows);
}
