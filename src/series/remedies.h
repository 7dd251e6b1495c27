/* remedies.h - what to do about memory, in the order of effect: a part of cause.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_REMEDIES_H
#define CAIRN_SERIES_REMEDIES_H

#include "series/cause.h"

/* Fills the advice of CAUSES, all else of which is known. */
void cairn_remedies_advise(struct cairn_causes *causes, const struct cairn_cause_facts *facts);

#endif
