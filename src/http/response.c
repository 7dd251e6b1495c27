/* response.c - filling in responses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include <stdarg.h>
#include <stdio.h>

void cairn_response_start(struct cairn_response *response, int status, const char *type)
{
	response->status = status;
	response->type = type;
	response->body.length = 0;
	response->body.failed = false;
}

void cairn_response_text(struct cairn_response *response, int status, const char *type, const char *format, ...)
{
	cairn_response_start(response, status, type);
	char text[2048];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (length > 0)
		cairn_buffer_append(&response->body, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

void cairn_response_header(struct cairn_response *response, const char *name, const char *value)
{
	size_t used = strlen(response->headers);
	int length = snprintf(response->headers + used, sizeof response->headers - used, "%s: %s\r\n", name, value);
	if (length < 0 || (size_t)length >= sizeof response->headers - used)
		response->headers[used] = 0;
}

struct cairn_bytes cairn_response_content(const struct cairn_response *response)
{
	return response->release ? response->content : cairn_buffer_bytes(&response->body);
}

void cairn_response_free(struct cairn_response *response)
{
	if (response->release)
		response->release(response->owner);
	response->release = NULL;
	cairn_buffer_free(&response->body);
}
