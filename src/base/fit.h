/* fit.h - makes tables and sentences fit the width of a terminal.
 *
 * Words move to the next line, under the beginning of the last column: that is where the last gap of two or more spaces ends. If that
 * leaves too little room, the last column of that table goes to lines of its own, below each row. A name without spaces that is longer
 * than a line is shortened in the middle. Nothing that one may want to copy is: paths of files, and commands after "-> ", which stay
 * in one line, however long.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_FIT_H
#define CAIRN_BASE_FIT_H

#include "base/buffer.h"

/* Appends TEXT to OUT in lines of at most WIDTH columns. Codes that set how characters look take no room. */
void cairn_fit_lines(struct cairn_bytes text, size_t width, struct cairn_buffer *out);

#endif
