/* inside_ask.h - what a process under `cairn run`, and the command that has its allocators counted, tell each other.
 *
 * Before its program runs, and when it has loaded what may have an allocator inside, the process connects to the socket that CAIRN_REPORT
 * names, with CAIRN_INSIDE_ASK_SUFFIX appended. It follows each message until CAIRN_INSIDE_ASK_DONE, or until the connection ends, and
 * answers all but that with an int32_t: 0, or an errno.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROTOCOL_INSIDE_ASK_H
#define CAIRN_PROTOCOL_INSIDE_ASK_H

#include <assert.h>
#include <stdint.h>

#define CAIRN_INSIDE_ASK_SUFFIX "-inside"

enum cairn_inside_ask_kind {
	CAIRN_INSIDE_ASK_TRACER, /* process `number` is to be allowed to trace this one */
	CAIRN_INSIDE_ASK_BLOCK,  /* the file that comes along has a block of `number` bytes for `address` */
	CAIRN_INSIDE_ASK_RENEW,  /* the words of blocks are about to change, or have changed */
	CAIRN_INSIDE_ASK_DONE,
};

struct cairn_inside_ask {
	uint64_t kind, number, address;
};
static_assert(sizeof(struct cairn_inside_ask) == 24, "no padding");

#endif
