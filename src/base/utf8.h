/* utf8.h - telling valid UTF-8 from other bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_UTF8_H
#define CAIRN_BASE_UTF8_H

#include "base/buffer.h"

/* The length of the well-formed character at the start of TEXT (1 to 4), or 0 when the first byte begins none:
 * overlong forms, surrogates and values past U+10FFFF are not well formed. TEXT is not empty. */
size_t cairn_utf8_length(struct cairn_bytes text);

/* The same for a character that may stand in a text for people: 0 for control characters too, for those that reorder the text
 * around them (U+202A to U+202E, U+2066 to U+2069), and for U+FFFE and U+FFFF. */
size_t cairn_utf8_printable(struct cairn_bytes text);

/* Appends TEXT as a terminal may have it: what is not printable in the sense above becomes a question mark, byte by byte. For whatever
 * came from a file or a process and is not a name of a view, which has been cleaned already. */
void cairn_utf8_show(struct cairn_buffer *out, struct cairn_bytes text);

/* The same for text of several lines: line ends and tabs stay. */
void cairn_utf8_show_lines(struct cairn_buffer *out, struct cairn_bytes text);

/* The same for text that we have coloured ourselves: codes that only set how characters look (ESC [ … m) stay as well. */
void cairn_utf8_show_coloured(struct cairn_buffer *out, struct cairn_bytes text);

/* The length of what stands at the start of TEXT, which is not empty: a code that only sets how characters look, a well-formed character,
 * or one other byte. */
size_t cairn_utf8_step(struct cairn_bytes text);

/* How many columns TEXT takes: one for each character, none for such a code. */
size_t cairn_utf8_columns(struct cairn_bytes text);

bool cairn_utf8_valid(struct cairn_bytes text);

#endif
