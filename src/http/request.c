/* request.c - the request parser.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/request.h"

#include "base/text.h"

#include <strings.h>

/* A token character (RFC 9110, 5.6.2). */
static bool is_token(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_all_token(struct cairn_bytes text)
{
	for (size_t i = 0; i < text.length; i++)
		if (!is_token((unsigned char)text.data[i]))
			return false;
	return text.length > 0;
}

static bool equals_ignoring_case(struct cairn_bytes text, const char *word)
{
	return text.length == strlen(word) && strncasecmp(text.data, word, text.length) == 0;
}

bool cairn_request_is(const struct cairn_request *request, const char *method)
{
	return cairn_bytes_equal(request->method, cairn_bytes_of(method));
}

/* Returns everything up to SEPARATOR and moves REST past it; all of REST if there is no separator. */
static struct cairn_bytes take_until(struct cairn_bytes *rest, char separator)
{
	const char *end = rest->length ? memchr(rest->data, separator, rest->length) : NULL;
	struct cairn_bytes part = {rest->data, end ? (size_t)(end - rest->data) : rest->length};
	*rest = cairn_bytes_skip(*rest, part.length + 1);
	return part;
}

struct cairn_bytes cairn_request_token(const struct cairn_request *request)
{
	static const char scheme[] = "Bearer ";
	size_t length = sizeof scheme - 1;
	struct cairn_bytes sent = request->authorization;
	if (sent.length < length || strncasecmp(sent.data, scheme, length) != 0)
		return (struct cairn_bytes){"", 0};
	return cairn_bytes_skip(sent, length);
}

struct cairn_bytes cairn_request_cookie(const struct cairn_request *request, const char *name)
{
	struct cairn_bytes rest = request->cookie;
	while (rest.length > 0) {
		struct cairn_bytes value = cairn_text_trim(take_until(&rest, ';'));
		if (cairn_bytes_equal(take_until(&value, '='), cairn_bytes_of(name)))
			return value;
	}
	return (struct cairn_bytes){0};
}

bool cairn_token_equal(struct cairn_bytes sent, const char *token)
{
	size_t length = strlen(token);
	unsigned char different = sent.length != length;
	for (size_t i = 0; i < length; i++)
		different |= (unsigned char)(token[i] ^ (i < sent.length ? sent.data[i] : 0));
	return different == 0;
}

bool cairn_request_target(struct cairn_request *request, struct cairn_bytes target)
{
	for (size_t i = 0; i < target.length; i++)
		if ((unsigned char)target.data[i] <= ' ' || target.data[i] == 0x7f)
			return false;
	if (cairn_text_take(&target, "http://")) {
		size_t slash = 0;
		while (slash < target.length && target.data[slash] != '/' && target.data[slash] != '?')
			slash++;
		target = cairn_bytes_skip(target, slash);
		if (target.length == 0)
			target = cairn_bytes_of("/");
	}
	if (target.length == 0 || target.data[0] != '/')
		return false;
	request->path = take_until(&target, '?');
	request->query = take_until(&target, '#');
	return true;
}

static int parse_first_line(struct cairn_request *request, struct cairn_bytes line)
{
	request->method = take_until(&line, ' ');
	if (!is_all_token(request->method))
		return 400;
	struct cairn_bytes target = take_until(&line, ' ');
	if (target.length > CAIRN_REQUEST_TARGET_MAXIMUM)
		return 414;
	if (!cairn_request_target(request, target))
		return 400;
	if (cairn_bytes_equal(line, cairn_bytes_of("HTTP/1.1")))
		request->keep_alive = request->takes_interim = true;
	else if (!cairn_bytes_equal(line, cairn_bytes_of("HTTP/1.0")))
		return cairn_bytes_start_with(line, "HTTP/") ? 505 : 400;
	return 200;
}

static int parse_length(struct cairn_request *request, struct cairn_bytes value)
{
	uint64_t length;
	if (!cairn_text_decimal(&value, &length) || value.length > 0)
		return 400;
	if (request->has_length && request->content_length != length)
		return 400;
	request->has_length = true;
	request->content_length = length;
	return 200;
}

static int parse_field(struct cairn_request *request, struct cairn_bytes name, struct cairn_bytes value)
{
	static const struct {
		const char *name;
		size_t offset;
	} kept[] = {
		{"host", offsetof(struct cairn_request, host)},
		{"origin", offsetof(struct cairn_request, origin)},
		{"authorization", offsetof(struct cairn_request, authorization)},
		{"cookie", offsetof(struct cairn_request, cookie)},
		{"content-type", offsetof(struct cairn_request, content_type)},
		{"sec-fetch-site", offsetof(struct cairn_request, fetch_site)},
		{"if-none-match", offsetof(struct cairn_request, if_none_match)},
		{"x-cairn", offsetof(struct cairn_request, cairn)},
	};
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		if (!equals_ignoring_case(name, kept[i].name))
			continue;
		struct cairn_bytes *field = (struct cairn_bytes *)(void *)((char *)request + kept[i].offset);
		if (field->data)
			return 400; /* given twice: which one counts would be a guess */
		*field = value;
		return 200;
	}
	if (equals_ignoring_case(name, "content-length"))
		return parse_length(request, value);
	if (equals_ignoring_case(name, "transfer-encoding")) {
		if (request->chunked)
			return 400;
		request->chunked = equals_ignoring_case(value, "chunked");
		return request->chunked ? 200 : 501;
	}
	if (equals_ignoring_case(name, "user-agent")) {
		request->user_agent = value;
	} else if (equals_ignoring_case(name, "connection")) {
		while (value.length > 0) {
			struct cairn_bytes word = cairn_text_trim(take_until(&value, ','));
			if (equals_ignoring_case(word, "close"))
				request->keep_alive = false;
		}
	} else if (equals_ignoring_case(name, "expect")) {
		if (!equals_ignoring_case(value, "100-continue"))
			return 417;
		request->expect_continue = true;
	}
	return 200;
}

static int parse_line(struct cairn_request *request, struct cairn_bytes line)
{
	if (!memchr(line.data, ':', line.length))
		return 400;
	struct cairn_bytes name = take_until(&line, ':');
	if (!is_all_token(name))
		return 400; /* also refuses folded lines and a space before the colon */
	for (size_t i = 0; i < line.length; i++)
		if (((unsigned char)line.data[i] < ' ' && line.data[i] != '\t') || line.data[i] == 0x7f)
			return 400;
	return parse_field(request, name, cairn_text_trim(line));
}

/* The length of the head including its empty line; 0 if the empty line has not arrived. */
static size_t head_length(struct cairn_bytes input)
{
	for (size_t at = 0;;) {
		const char *end = at < input.length ? memchr(input.data + at, '\n', input.length - at) : NULL;
		if (!end)
			return 0;
		size_t next = (size_t)(end - input.data) + 1;
		if (at > 0 && (next - at == 1 || (next - at == 2 && input.data[at] == '\r')))
			return next;
		at = next;
	}
}

int cairn_request_parse(struct cairn_request *request, struct cairn_bytes input, size_t *used)
{
	*request = (struct cairn_request){0};
	size_t blank = 0; /* empty lines before a request are skipped (RFC 9112, 2.2) */
	while (blank < input.length && blank < 4 && (input.data[blank] == '\r' || input.data[blank] == '\n'))
		blank++;
	struct cairn_bytes head = cairn_bytes_skip(input, blank);
	if (head.length > CAIRN_REQUEST_HEAD_MAXIMUM)
		head.length = CAIRN_REQUEST_HEAD_MAXIMUM;
	size_t length = head_length(head);
	if (length == 0) {
		if (head.length < CAIRN_REQUEST_HEAD_MAXIMUM)
			return 0;
		return memchr(head.data, '\n', CAIRN_REQUEST_TARGET_MAXIMUM) ? 431 : 414;
	}
	head.length = length;
	*used = blank + length;
	struct cairn_bytes line;
	cairn_text_line(&head, &line, NULL);
	int status = parse_first_line(request, line);
	while (status == 200 && cairn_text_line(&head, &line, NULL) && line.length > 0)
		status = parse_line(request, line);
	if (status != 200)
		return status;
	if (request->chunked && request->has_length)
		return 400;
	if (request->keep_alive && !request->host.data)
		return 400; /* HTTP/1.1 without Host */
	return 200;
}

size_t cairn_query_decode(struct cairn_bytes text, bool plus, char *out, size_t size)
{
	size_t written = 0;
	for (size_t i = 0; i < text.length && written + 1 < size; i++) {
		char c = text.data[i];
		if (c == '%' && i + 2 < text.length && cairn_text_hex_digit(text.data[i + 1]) >= 0 &&
		    cairn_text_hex_digit(text.data[i + 2]) >= 0) {
			c = (char)(cairn_text_hex_digit(text.data[i + 1]) << 4 | cairn_text_hex_digit(text.data[i + 2]));
			i += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		out[written++] = c;
	}
	out[written] = 0;
	return written;
}

bool cairn_query_get(struct cairn_bytes text, const char *name, char *out, size_t size)
{
	char key[64];
	while (text.length > 0) {
		struct cairn_bytes value = take_until(&text, '&');
		struct cairn_bytes raw = take_until(&value, '=');
		cairn_query_decode(raw, true, key, sizeof key);
		if (strcmp(key, name) == 0) {
			cairn_query_decode(value, true, out, size);
			return true;
		}
	}
	return false;
}

/* Each `…_lf` expects the line feed after a carriage return. */
enum {
	chunk_size, chunk_extension, chunk_size_lf,
	chunk_data, chunk_data_end, chunk_data_lf,
	chunk_trailer, chunk_trailer_line, chunk_trailer_lf,
	chunk_end,
};

/* The state after the character C between chunks, or -1. Their lines must end in CR and LF. */
static int next_state(struct cairn_chunks *chunks, char c)
{
	bool control = (unsigned char)c < ' ' && c != '\t';
	switch (chunks->state) {
	case chunk_size:
		if (cairn_text_hex_digit(c) >= 0) {
			if (chunks->left >> 48)
				return -1;
			/* one more than the value, so that "no digit yet" is zero */
			uint64_t value = chunks->left ? chunks->left - 1 : 0;
			chunks->left = (value << 4 | (uint64_t)cairn_text_hex_digit(c)) + 1;
			return chunk_size;
		}
		if (chunks->left == 0)
			return -1;
		return c == '\r' ? chunk_size_lf : c == ';' || c == ' ' || c == '\t' ? chunk_extension : -1;
	case chunk_extension: return c == '\r' ? chunk_size_lf : control ? -1 : chunk_extension;
	case chunk_size_lf:
		if (c != '\n')
			return -1;
		chunks->left--;
		return chunks->left ? chunk_data : chunk_trailer;
	case chunk_data_end: return c == '\r' ? chunk_data_lf : -1;
	case chunk_data_lf: return c == '\n' ? chunk_size : -1;
	case chunk_trailer: return c == '\r' ? chunk_end : control ? -1 : chunk_trailer_line;
	case chunk_trailer_line: return c == '\r' ? chunk_trailer_lf : control ? -1 : chunk_trailer_line;
	case chunk_trailer_lf: return c == '\n' ? chunk_trailer : -1;
	}
	return -1;
}

int cairn_chunks_decode(struct cairn_chunks *chunks, char *data, size_t length)
{
	while (chunks->read < length) {
		if (chunks->state == chunk_data) {
			size_t part = length - chunks->read;
			if (part > chunks->left)
				part = (size_t)chunks->left;
			memmove(data + chunks->written, data + chunks->read, part);
			chunks->written += part;
			chunks->read += part;
			chunks->left -= part;
			if (chunks->left == 0)
				chunks->state = chunk_data_end;
			continue;
		}
		char c = data[chunks->read++];
		if (chunks->state == chunk_end)
			return c == '\n' ? 200 : 400;
		chunks->state = next_state(chunks, c);
		if (chunks->state < 0)
			return 400;
	}
	return 0;
}
