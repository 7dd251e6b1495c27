/* trial.h - what `cairn why --try` prints.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_WHY_TRIAL_H
#define CAIRN_CMD_WHY_TRIAL_H

#include "live/why/trial.h"

void cairn_trial_text(const struct cairn_trial *trial, struct cairn_buffer *out);
void cairn_trial_json(const struct cairn_trial *trial, int pid, struct cairn_buffer *out);

#endif
