/* view.h - the options that shape a view, for every command that shows one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_VIEW_H
#define CAIRN_CMD_VIEW_H

#include "cmd/option.h"
#include "report/view.h"

/* For a command's groups; they go with a struct cairn_view_options. */
extern const struct cairn_option cairn_view_option_table[];

#endif
