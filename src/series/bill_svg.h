/* bill_svg.h - the bill as a picture: a bar that is the whole, and a staircase of its lines that ends where the bar does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_BILL_SVG_H
#define CAIRN_SERIES_BILL_SVG_H

#include "base/buffer.h"
#include "series/bill.h"

/* TITLE stands above it, SUBTITLE below that; NOTE, which may be empty, at the foot. */
struct cairn_bill_picture {
	const char *title, *subtitle, *note;
};

/* Appends an SVG that needs nothing else. */
void cairn_bill_svg(const struct cairn_bill *bill, const struct cairn_bill_picture *picture, struct cairn_buffer *out);

/* The same in a page of its own. */
void cairn_bill_html(const struct cairn_bill *bill, const struct cairn_bill_picture *picture, struct cairn_buffer *out);

#endif
