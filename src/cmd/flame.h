/* flame.h - the picture that `cairn flame` draws when nothing is asked for, for commands that draw it too.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_FLAME_H
#define CAIRN_CMD_FLAME_H

#include "report/view.h"

/* Appends the SVG of VIEW, under TITLE, to OUT. Where a base was subtracted it shows the change. Fails, with a sentence, where
 * there is nothing to draw. */
bool cairn_flame_picture(struct cairn_view *view, const char *title, struct cairn_buffer *out, struct cairn_error *error);

#endif
