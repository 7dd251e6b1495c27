/* modules.h - the objects of this process, as the ledger lists them.
 *
 * A forked child has a ledger of its own, made inside malloc, where the loader must not be called: so what was found is also kept apart
 * from the ledger, in memory that children have a copy of.
 *
 * One thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_MODULES_H
#define CAIRN_AGENT_SAMPLER_MODULES_H

#include "agent/sampler/record.h"
#include "agent/unwind/object.h"

/* Adds OBJECT to RECORD, unless it is there. Looks only at OBJECT. */
void cairn_modules_add(struct cairn_record *record, const struct cairn_object *object);

/* Adds all objects that are loaded now. Calls the loader. */
void cairn_modules_list(struct cairn_record *record);

/* Adds what was found so far, by this process or its parent, to RECORD, which is empty. */
void cairn_modules_copy(struct cairn_record *record);

#endif
