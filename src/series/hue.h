/* hue.h - the colours of pictures over time: the timeline's layers and the bill's lines.
 *
 * They can be distinguished on white and on black, and dark letters can be read on them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_HUE_H
#define CAIRN_SERIES_HUE_H

#include <assert.h>
#include <stdint.h>

/* In the order in which layers take them. */
enum cairn_hue {
	CAIRN_HUE_RED,
	CAIRN_HUE_AMBER,
	CAIRN_HUE_GREEN,
	CAIRN_HUE_BLUE,
	CAIRN_HUE_VIOLET,
	CAIRN_HUE_OLIVE,
	CAIRN_HUE_CYAN,
	CAIRN_HUE_ROSE,
	CAIRN_HUES,
};

/* As 0xrrggbb. */
static const uint32_t cairn_hues[] = {0xd1604a, 0xe0a33e, 0x3f9c8c, 0x5b8ec9, 0x8d78c2, 0x93a747, 0x4fb0c6, 0xc9719a};
static_assert(sizeof cairn_hues / sizeof *cairn_hues == CAIRN_HUES, "every layer has a colour");

#endif
