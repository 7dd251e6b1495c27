/* buffer.c - growable bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool heap_resize(struct cairn_buffer *buffer, size_t capacity)
{
	if (capacity == 0) {
		free(buffer->data);
		buffer->data = NULL;
	} else {
		char *data = realloc(buffer->data, capacity);
		if (!data)
			cairn_out_of_memory(capacity);
		buffer->data = data;
	}
	buffer->capacity = capacity;
	return true;
}

struct cairn_buffer cairn_buffer(size_t maximum)
{
	return (struct cairn_buffer){.maximum = maximum, .resize = heap_resize};
}

char *cairn_buffer_room(struct cairn_buffer *buffer, size_t length)
{
	if (length <= buffer->capacity - buffer->length)
		return buffer->data + buffer->length;
	if (length > buffer->maximum - buffer->length) {
		buffer->failed = true;
		return NULL;
	}
	size_t grown = buffer->capacity < 128 ? 256 : buffer->capacity * 2, least = buffer->length + length;
	if (grown < least)
		grown = least;
	if (grown > buffer->maximum)
		grown = buffer->maximum;
	if (!buffer->resize(buffer, grown) && (grown == least || !buffer->resize(buffer, least))) {
		buffer->failed = true;
		return NULL;
	}
	return buffer->data + buffer->length;
}

void cairn_buffer_append(struct cairn_buffer *buffer, const void *data, size_t length)
{
	size_t fits = buffer->maximum - buffer->length;
	if (length > fits) {
		buffer->failed = true;
		length = fits;
	}
	if (length == 0)
		return;
	char *room = cairn_buffer_room(buffer, length);
	if (!room)
		return;
	memcpy(room, data, length);
	buffer->length += length;
}

void cairn_buffer_text(struct cairn_buffer *buffer, const char *text)
{
	cairn_buffer_append(buffer, text, strlen(text));
}

void cairn_buffer_byte(struct cairn_buffer *buffer, char byte)
{
	cairn_buffer_append(buffer, &byte, 1);
}

void cairn_buffer_format(struct cairn_buffer *buffer, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	cairn_buffer_format_list(buffer, format, arguments);
	va_end(arguments);
}

void cairn_buffer_format_list(struct cairn_buffer *buffer, const char *format, va_list arguments)
{
	char small[256];
	va_list again;
	va_copy(again, arguments);
	int length = vsnprintf(small, sizeof small, format, arguments);
	char *room = NULL;
	if (length >= 0 && (size_t)length < sizeof small)
		cairn_buffer_append(buffer, small, (size_t)length);
	else if (length >= 0)
		room = cairn_buffer_room(buffer, (size_t)length + 1);
	if (room) {
		vsnprintf(room, (size_t)length + 1, format, again);
		buffer->length += (size_t)length;
	}
	va_end(again);
}

void cairn_buffer_number(struct cairn_buffer *buffer, int64_t value)
{
	char digits[24];
	size_t at = sizeof digits;
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	do {
		digits[--at] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (value < 0)
		digits[--at] = '-';
	cairn_buffer_append(buffer, digits + at, sizeof digits - at);
}

void cairn_buffer_hex(struct cairn_buffer *buffer, uint64_t value)
{
	char digits[18];
	size_t at = sizeof digits;
	do {
		digits[--at] = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
	digits[--at] = 'x';
	digits[--at] = '0';
	cairn_buffer_append(buffer, digits + at, sizeof digits - at);
}

void cairn_buffer_uleb(struct cairn_buffer *buffer, uint64_t value)
{
	char bytes[10];
	size_t length = 0;
	for (; value >= 0x80; value >>= 7)
		bytes[length++] = (char)(value | 0x80);
	bytes[length++] = (char)value;
	cairn_buffer_append(buffer, bytes, length);
}

void cairn_buffer_free(struct cairn_buffer *buffer)
{
	if (buffer->data)
		buffer->resize(buffer, 0);
	buffer->length = 0;
	buffer->failed = false;
}

bool cairn_buffer_read(struct cairn_buffer *buffer, int descriptor)
{
	enum { piece = 64 << 10 };
	while (buffer->length < buffer->maximum) {
		size_t left = buffer->maximum - buffer->length, wanted = left < piece ? left : piece;
		char *room = cairn_buffer_room(buffer, wanted);
		ssize_t length = room ? read(descriptor, room, wanted) : 0;
		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			return length == 0;
		buffer->length += (size_t)length;
	}
	return true;
}
