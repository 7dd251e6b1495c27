/* pages.c - memory by mmap.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/pages.h"

#include "base/quota.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum { page_size = 4096, piece_size = 256 << 10 };

void *cairn_pages_map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, size, MADV_DONTFORK);
	return memory;
}

void cairn_pages_unmap(void *memory, size_t size)
{
	if (!memory)
		return;
	for (size_t at = 0; size - at > piece_size; at += piece_size)
		madvise((char *)memory + at, piece_size, MADV_DONTNEED);
	munmap(memory, size);
}

void cairn_pages_touch(const void *memory, size_t size)
{
	for (size_t at = 0; at < size; at += page_size)
		(void)((const volatile char *)memory)[at];
}

static bool pages_resize(struct cairn_buffer *buffer, size_t capacity)
{
	if (capacity == 0) {
		cairn_quota_resize(buffer->quota, buffer->capacity, 0);
		cairn_pages_unmap(buffer->data, buffer->capacity);
		buffer->data = NULL;
		buffer->capacity = 0;
		return true;
	}
	if (capacity > SIZE_MAX - page_size)
		return false;
	capacity = (capacity + page_size - 1) & ~(size_t)(page_size - 1);
	if (!cairn_quota_resize(buffer->quota, buffer->capacity, capacity))
		return false;
	char *data = buffer->data ? mremap(buffer->data, buffer->capacity, capacity, MREMAP_MAYMOVE) : cairn_pages_map(capacity);
	if (!data || data == MAP_FAILED) {
		cairn_quota_resize(buffer->quota, capacity, buffer->capacity);
		return false;
	}
	buffer->data = data;
	buffer->capacity = capacity;
	return true;
}

struct cairn_buffer cairn_pages(size_t maximum)
{
	return (struct cairn_buffer){.maximum = maximum, .resize = pages_resize};
}

struct cairn_buffer cairn_pages_of(struct cairn_quota *quota, size_t maximum)
{
	return (struct cairn_buffer){.maximum = maximum, .resize = pages_resize, .quota = quota};
}

static bool is_zero(const char *bytes, size_t length)
{
	return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

void cairn_pages_append(struct cairn_buffer *buffer, struct cairn_bytes bytes)
{
	while (bytes.length > 0 && !buffer->failed) {
		size_t left = page_size - buffer->length % page_size, length = bytes.length < left ? bytes.length : left;
		if (length == page_size && is_zero(bytes.data, length) && cairn_buffer_room(buffer, length))
			buffer->length += length; /* pages are zeroes until they are written to */
		else
			cairn_buffer_append(buffer, bytes.data, length);
		bytes = cairn_bytes_skip(bytes, length);
	}
}

bool cairn_pages_read(struct cairn_buffer *buffer, int descriptor)
{
	char *piece = cairn_pages_map(piece_size);
	ssize_t length = piece ? 1 : -1;
	for (off_t at = 0; length > 0 && !buffer->failed; at += length) {
		while ((length = pread(descriptor, piece, piece_size, at)) < 0 && errno == EINTR)
			;
		if (length > 0)
			cairn_pages_append(buffer, (struct cairn_bytes){piece, (size_t)length});
	}
	int code = errno;
	cairn_pages_unmap(piece, piece_size);
	errno = code;
	return length >= 0;
}
