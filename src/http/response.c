/* response.c - fills in responses and writes their heads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/date.h"
#include "base/descriptor.h"
#include "http/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void let_go_of_content(struct cairn_response *response)
{
	if (response->release)
		response->release(response->owner);
	response->release = NULL;
	if (response->file)
		cairn_descriptor_close(response->file);
	response->file = 0;
}

void cairn_response_start(struct cairn_response *response, int status, const char *type)
{
	let_go_of_content(response);
	response->status = status;
	response->type = type;
	response->body.length = 0;
	response->body.failed = false;
	response->stream = false;
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

void cairn_response_busy(struct cairn_response *response, const char *why)
{
	cairn_response_free(response);
	response->headers[0] = 0;
	cairn_response_text(response, 503, "text/plain; charset=utf-8", "%s; try again\n", why);
	cairn_response_header(response, "Retry-After", "1");
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

uint64_t cairn_response_length(const struct cairn_response *response)
{
	return response->file ? response->file_length : cairn_response_content(response).length;
}

bool cairn_response_load(struct cairn_response *response)
{
	if (!response->file)
		return true;
	int file = response->file;
	response->file = 0;
	response->body.length = 0;
	bool good = lseek(file, 0, SEEK_SET) == 0 && cairn_buffer_read(&response->body, file) && !response->body.failed;
	cairn_descriptor_close(file);
	if (!good)
		cairn_response_busy(response, "the file does not fit in the remaining memory for answers, or cannot be read");
	return good;
}

const char *cairn_response_reason(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{200, "OK"}, {204, "No Content"}, {400, "Bad Request"}, {401, "Unauthorized"}, {403, "Forbidden"},
		{404, "Not Found"}, {405, "Method Not Allowed"}, {408, "Request Timeout"}, {409, "Conflict"},
		{303, "See Other"}, {304, "Not Modified"}, {413, "Content Too Large"}, {414, "URI Too Long"}, {415, "Unsupported Media Type"},
		{417, "Expectation Failed"}, {422, "Unprocessable Entity"}, {429, "Too Many Requests"}, {431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"}, {501, "Not Implemented"}, {503, "Service Unavailable"}, {504, "Gateway Timeout"},
		{505, "HTTP Version Not Supported"}, {507, "Insufficient Storage"},
	};
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

size_t cairn_response_head(struct cairn_response *response, bool closing, char *out, size_t size)
{
	if (response->body.failed && !response->release && !response->file)
		cairn_response_busy(response, "the answer does not fit in the remaining memory for answers");
	struct tm date = cairn_date(time(NULL));
	static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char content_length[48] = "";
	if (!response->stream)
		snprintf(content_length, sizeof content_length, "Content-Length: %llu\r\n",
			 (unsigned long long)cairn_response_length(response));
	int length = snprintf(out, size,
			      "HTTP/1.1 %d %s\r\nDate: %.3s, %02d %.3s %d %02d:%02d:%02d GMT\r\nContent-Type: %s\r\n%s"
			      "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n%s%s\r\n",
			      response->status, cairn_response_reason(response->status), days + 3 * date.tm_wday, date.tm_mday,
			      months + 3 * date.tm_mon, date.tm_year + 1900, date.tm_hour, date.tm_min, date.tm_sec,
			      response->type ? response->type : "text/plain; charset=utf-8", content_length,
			      response->headers, closing ? "Connection: close\r\n" : "");
	return length > 0 && (size_t)length < size ? (size_t)length : 0;
}

void cairn_response_free(struct cairn_response *response)
{
	let_go_of_content(response);
	cairn_buffer_free(&response->body);
}
