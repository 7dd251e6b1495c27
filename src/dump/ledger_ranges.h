/* ledger_ranges.h - the private memory that a service mapped itself, from its ledger, so that smaps can count it separately.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_LEDGER_RANGES_H
#define CAIRN_DUMP_LEDGER_RANGES_H

#include "dump/ledger_read.h"
#include "process/smaps.h"

/* *COUNT ranges, sorted and without overlaps. The caller unmaps them, with *SIZE (cairn_pages_unmap). NULL, with a count of 0, if there is
 * not enough memory. */
struct cairn_smaps_range *cairn_ledger_ranges(const struct cairn_ledger *ledger, size_t *count, size_t *size);

/* The same from the open ledger DESCRIPTOR, which may be any file: reads only what is needed. */
struct cairn_smaps_range *cairn_ledger_ranges_of(int descriptor, size_t *count, size_t *size);

#endif
