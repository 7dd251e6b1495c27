/* note.c - hands notes to their taker.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/note.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct cairn_note_taker cairn_note_taker;

void cairn_note(const char *format, ...)
{
	char *text;
	va_list arguments;
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		cairn_out_of_memory(0);
	if (cairn_note_taker.note)
		cairn_note_taker.note(text);
	free(text);
}
