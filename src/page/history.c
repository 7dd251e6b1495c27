/* history.c - writes the chart of memory over time as markup.
 * SPDX-License-Identifier: Apache-2.0 */
#include "page/history.h"

#include "base/text.h"
#include "base/time.h"
#include "series/history.h"

#include <stdlib.h>

/* The picture has a style of its own; a shadow tree keeps it from affecting the rest of the page. */
void cairn_page_history_write(const struct cairn_profile *profile, struct cairn_buffer *out)
{
	static const int64_t last_ns = CAIRN_HOUR_NS;
	struct cairn_history history = cairn_history_make(profile, last_ns);
	if (profile->history_count > 0 && history.count > 1 && !profile->base) {
		struct cairn_buffer svg = cairn_buffer(SIZE_MAX);
		cairn_history_svg(&history, "Memory up to the end", CAIRN_HISTORY_LOW, &svg);
		struct cairn_bytes picture = cairn_buffer_bytes(&svg), line;
		cairn_text_line(&picture, &line, NULL); /* the XML declaration of a separate file */
		cairn_buffer_text(out, "<section id=\"history\" aria-label=\"Memory up to the end\"><template shadowrootmode=\"open\">\n"
				       "<style>svg{display:block;width:100%;height:auto}</style>\n");
		cairn_buffer_append(out, picture.data, picture.length);
		cairn_buffer_text(out, "</template></section>\n");
		cairn_buffer_free(&svg);
	}
	free(history.rows);
}
