/* hidden.h - included before all else in every file of the core: nothing in it is anybody else's, so that nothing is reached through a table
 * of addresses, which a loader would have to fill.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_CORE_HIDDEN_H
#define CAIRN_AGENT_CORE_HIDDEN_H

#pragma GCC visibility push(hidden)

#endif
