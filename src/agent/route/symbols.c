/* symbols.c - passes `0xA+0xB` to `cairn symbols -` and returns its answer.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/symbols.h"

#include "agent/route/answer.h"
#include "base/pages.h"
#include "base/text.h"
#include "process/facts.h"
#include "process/proc.h"

enum { input_maximum = 64 << 20 };

size_t cairn_symbols_parse(struct cairn_bytes body, size_t maximum, struct cairn_buffer *out)
{
	size_t count = 0;
	uint64_t last = 0;
	body = cairn_text_trim(body);
	while (body.length > 0) {
		uint64_t address;
		if (!cairn_bytes_start_with(body, "0x") || !cairn_text_hex(&body, &address) || address == 0)
			return SIZE_MAX;
		if (body.length > 0 && !cairn_text_take(&body, "+")) {
			struct cairn_bytes rest = cairn_text_trim(body);
			if (rest.length == body.length)
				return SIZE_MAX;
			body = rest;
		} else if (body.length == 0 && body.data[-1] == '+') {
			return SIZE_MAX;
		}
		if (++count > maximum)
			return count;
		if (address == last)
			continue;
		last = address;
		cairn_buffer_hex(out, address);
		cairn_buffer_byte(out, '\n');
	}
	return count;
}

void cairn_symbols_answer(struct cairn_call *call, size_t maximum)
{
	char path[CAIRN_PROC_PATH];
	struct cairn_buffer input = cairn_pages(input_maximum);
	cairn_facts_read(cairn_proc_path(path, 0, "maps"), &input);
	size_t count = cairn_symbols_parse(call->request->body, maximum, &input);
	struct cairn_error error = {0};
	if (count == 0 || count == SIZE_MAX) {
		cairn_response_text(call->response, 400, CAIRN_TEXT, "Request body contains an invalid address\n");
	} else if (count > maximum) {
		cairn_response_text(call->response, 413, CAIRN_TEXT, "Too many addresses requested, the limit is %zu\n", maximum);
	} else {
		static const char *const symbols[] = {"symbols", "-", NULL};
		int status = cairn_answer_render_text(call, symbols, cairn_buffer_bytes(&input), CAIRN_TEXT, &error);
		if (status != 200)
			cairn_response_text(call->response, status, CAIRN_TEXT, "%s\n", error.text);
		/* The command separates with a tab, which no name contains; jeprof's protocol with a space. */
		struct cairn_buffer *body = &call->response->body;
		for (size_t i = 0; i < body->length; i++)
			if (body->data[i] == '\t')
				body->data[i] = ' ';
	}
	cairn_buffer_free(&input);
}
