/* move.h - from the spool into the store.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_MOVE_H
#define CAIRN_FLEET_COLLECT_MOVE_H

/* A thread: moves the spool into the store, naming addresses on the way, until `stop`. CONTEXT is the collector. */
void *cairn_move_run(void *context);

#endif
