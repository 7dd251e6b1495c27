/* symbols.h - answers jeprof's requests for names of addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ROUTE_SYMBOLS_H
#define CAIRN_AGENT_ROUTE_SYMBOLS_H

#include "agent/work/call.h"

enum { CAIRN_SYMBOLS_USERVER = 32768, CAIRN_SYMBOLS_ANY = 1 << 20 };

/* Names the addresses in the body (`0xA+0xB…`), at most MAXIMUM of them: a line `0xA NAME` for each that has a name. */
void cairn_symbols_answer(struct cairn_call *call, size_t maximum);

/* Reads the addresses in BODY into OUT as lines. Returns their number, SIZE_MAX for an invalid or zero address, MAXIMUM + 1 for too many.
 * Adjacent duplicates are dropped here; the command drops the others. */
size_t cairn_symbols_parse(struct cairn_bytes body, size_t maximum, struct cairn_buffer *out);

#endif
