/* speedscope.h - a view as speedscope's own JSON, which keeps inlined functions and several values in one file.
 *
 * One profile for each value of the profile that has any, the one that is shown first in front; where a base was
 * subtracted, one for what grew and one for what shrank. https://www.speedscope.app/file-format-schema.json is the format.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_SPEEDSCOPE_H
#define CAIRN_REPORT_SPEEDSCOPE_H

#include "report/view.h"

void cairn_speedscope_write(struct cairn_view *view, struct cairn_buffer *out);

#endif
