/* ledger_ranges.h - where the private memory lies that a service mapped itself, from its ledger, so that smaps can be read with it apart.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_LEDGER_RANGES_H
#define CAIRN_DUMP_LEDGER_RANGES_H

#include "dump/ledger_read.h"
#include "process/smaps.h"

/* *COUNT ranges, sorted and without overlaps. The caller unmaps them, with *SIZE (cairn_pages_unmap). NULL, with a count of 0, without
 * memory. */
struct cairn_smaps_range *cairn_ledger_ranges(const struct cairn_ledger *ledger, size_t *count, size_t *size);

/* The same from the open ledger DESCRIPTOR, which may be anything: reads only what it needs. */
struct cairn_smaps_range *cairn_ledger_ranges_of(int descriptor, size_t *count, size_t *size);

#endif
