/* screen.h - the whole terminal as one picture that is drawn again and again. Whatever ends the program, the terminal is left as it was.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_TOP_SCREEN_H
#define CAIRN_CMD_TOP_SCREEN_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>

struct cairn_screen_size {
	unsigned rows, columns;
};

enum cairn_screen_event {
	CAIRN_SCREEN_WAITED, /* the time is over */
	CAIRN_SCREEN_RESIZED,
	CAIRN_SCREEN_KEY_SPACE,
	CAIRN_SCREEN_KEY_QUIT, /* q, or the end of the input */
};

/* Takes over the terminal, which standard input and output must be. There is one screen at a time. */
bool cairn_screen_open(struct cairn_error *error);
void cairn_screen_close(void);

struct cairn_screen_size cairn_screen_size(void);

/* The lines of TEXT as they fit into SIZE: no line is wrapped, and nothing scrolls. TEXT may have colours, which take no room. */
void cairn_screen_fit(struct cairn_bytes text, struct cairn_screen_size size, struct cairn_buffer *out);

/* Shows TEXT in place of what was there. */
void cairn_screen_show(struct cairn_bytes text);

/* Waits for a key or another size of the terminal, for MILLISECONDS at most. */
enum cairn_screen_event cairn_screen_wait(int milliseconds);

#endif
