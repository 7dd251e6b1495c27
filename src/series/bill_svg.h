/* bill_svg.h - the breakdown of RSS as a picture: one bar for the total, and one below it for each line, side by side.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_BILL_SVG_H
#define CAIRN_SERIES_BILL_SVG_H

#include "base/buffer.h"
#include "series/bill.h"

/* TITLE is above the picture, SUBTITLE below the title, and NOTE, which may be empty, at the bottom. */
struct cairn_bill_picture {
	const char *title, *subtitle, *note;
};

/* Appends a self-contained SVG. */
void cairn_bill_svg(const struct cairn_bill *bill, const struct cairn_bill_picture *picture, struct cairn_buffer *out);

/* The same as a page. */
void cairn_bill_html(const struct cairn_bill *bill, const struct cairn_bill_picture *picture, struct cairn_buffer *out);

#endif
