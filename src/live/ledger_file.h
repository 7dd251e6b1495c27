/* ledger_file.h - opens the ledger (dump/ledger.h) of a running process through /proc, so that nobody has to answer.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_LEDGER_FILE_H
#define CAIRN_LIVE_LEDGER_FILE_H

#include "process/life.h"

/* Opens the newest ledger of process LIFE that is in use. Returns -1 if it has none, or if we may not look (*REFUSED). The caller closes it. */
int cairn_ledger_file(const struct cairn_life *life, bool *refused);

#endif
