/* speedscope.h - a view in speedscope's own JSON format, which keeps inlined functions and several values in one file.
 *
 * There is one profile for each value with any samples, the view's own first; with a base, there is one for growth and one for shrinkage.
 * https://www.speedscope.app/file-format-schema.json defines the format.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_SPEEDSCOPE_H
#define CAIRN_REPORT_SPEEDSCOPE_H

#include "report/view.h"

void cairn_speedscope_write(struct cairn_view *view, struct cairn_buffer *out);

#endif
