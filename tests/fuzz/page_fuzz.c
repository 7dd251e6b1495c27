/* page_fuzz.c - folded text to a page and to dot text: whatever the names, both stay what they are.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "page/page.h"
#include "profile/read.h"
#include "report/dot.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(struct cairn_bytes text, const char *part)
{
	size_t found = 0;
	const char *at = text.data;
	while (text.length > 0 && (at = memmem(at, text.length - (size_t)(at - text.data), part, strlen(part)))) {
		found++;
		at++;
	}
	return found;
}

static void check(bool good)
{
	if (!good)
		abort();
}

/* Quotes that are not escaped come in pairs on each line. */
static void check_dot(struct cairn_bytes text)
{
	bool quoted = false;
	for (size_t i = 0; i < text.length; i++) {
		if (quoted && text.data[i] == '\\')
			i++;
		else if (text.data[i] == '"')
			quoted = !quoted;
		else if (text.data[i] == '\n')
			check(!quoted);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_profile profile;
	struct cairn_view view = {0};
	cairn_profile_init(&profile);
	struct cairn_reader reader = {.profile = &profile, .name = "fuzz"};
	if (cairn_folded_read(&reader, (struct cairn_bytes){(const char *)data, size}, NULL) &&
	    cairn_view_make(&view, &profile, &(struct cairn_view_options){0}, NULL)) {
		struct cairn_buffer page = cairn_buffer(SIZE_MAX), dot = cairn_buffer(SIZE_MAX);
		cairn_page_write(&view, &(struct cairn_page_options){.node_most = size % 7}, &page);
		check(count(cairn_buffer_bytes(&page), "</script>") == 5);
		check(cairn_utf8_valid(cairn_buffer_bytes(&page)));
		if (cairn_dot_text(&view, &(struct cairn_dot_options){.plain = size % 2, .unit = "B"}, &dot, NULL)) {
			check_dot(cairn_buffer_bytes(&dot));
			check(cairn_utf8_valid(cairn_buffer_bytes(&dot)));
		}
		cairn_buffer_free(&page);
		cairn_buffer_free(&dot);
	}
	cairn_view_free(&view);
	cairn_profile_free(&profile);
	return 0;
}
