/* note.c - hands notes to their taker.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/note.h"

#include "base/buffer.h"

struct cairn_note_taker cairn_note_taker;

void cairn_note(const char *format, ...)
{
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	va_list arguments;
	va_start(arguments, format);
	cairn_buffer_format_list(&text, format, arguments);
	va_end(arguments);
	cairn_buffer_byte(&text, 0);
	if (cairn_note_taker.note)
		cairn_note_taker.note(text.data);
	cairn_buffer_free(&text);
}
