/* traces.h - every stack with its value and its labels, largest first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_TRACES_H
#define CAIRN_REPORT_TRACES_H

#include "report/table.h"

/* Writes them as "traces". Stacks are leaf first. The shape's node_count limits their number. */
void cairn_traces_write(struct cairn_report *report);

#endif
