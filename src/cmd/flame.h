/* flame.h - the default picture of `cairn flame`, for other commands that draw it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_FLAME_H
#define CAIRN_CMD_FLAME_H

#include "report/view.h"

/* Appends the SVG of VIEW with TITLE to OUT. With a base, it shows the change. Fails with a message if there is nothing to draw. */
bool cairn_flame_picture(struct cairn_view *view, const char *title, struct cairn_buffer *out, struct cairn_error *error);

#endif
