/* probe.h - otel_memory:alloc and otel_memory:free, the probes that OpenTelemetry's profiler attaches to.
 *
 * A probe is one nop in the code and a note (.note.stapsdt, owner "stapsdt", type 3) with its address, its name, the places of its
 * arguments, and a counter, the semaphore, which is above zero while somebody listens. The layout is that of SystemTap's user-space
 * probes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_PROBE_H
#define CAIRN_AGENT_SAMPLER_PROBE_H

#include "arch/arch.h"

#define CAIRN_PROBE_NOTE(name, arguments)                                                                                      \
	"990:\tnop\n"                                                                                                          \
	"\t.pushsection .note.stapsdt,\"\",\"note\"\n"                                                                         \
	"\t.balign 4\n"                                                                                                        \
	"\t.4byte 992f-991f, 994f-993f, 3\n"                                                                                   \
	"991:\t.asciz \"stapsdt\"\n"                                                                                           \
	"992:\t.balign 4\n"                                                                                                    \
	"993:\t.8byte 990b\n"                                                                                                  \
	"\t.8byte _.stapsdt.base\n"                                                                                            \
	"\t.8byte cairn_probe_" name "_semaphore\n"                                                                            \
	"\t.asciz \"otel_memory\"\n"                                                                                           \
	"\t.asciz \"" name "\"\n"                                                                                              \
	"\t.asciz \"" arguments "\"\n"                                                                                         \
	"994:\t.balign 4\n"                                                                                                    \
	"\t.popsection\n"                                                                                                      \
	"\t.ifndef _.stapsdt.base\n"                                                                                           \
	"\t.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                                              \
	"\t.weak _.stapsdt.base\n"                                                                                             \
	"\t.hidden _.stapsdt.base\n"                                                                                           \
	"_.stapsdt.base:\t.space 1\n"                                                                                          \
	"\t.size _.stapsdt.base, 1\n"                                                                                          \
	"\t.popsection\n"                                                                                                      \
	"\t.endif\n"

#ifdef CAIRN_CORE /* which no tracer finds: it is in no file that the process has mapped */
enum { cairn_probe_alloc_semaphore, cairn_probe_free_semaphore = 0 };
#else
extern volatile uint16_t cairn_probe_alloc_semaphore, cairn_probe_free_semaphore;
#endif

/* OBJECT of SIZE bytes was sampled and represents WEIGHTED bytes. */
static inline void cairn_probe_alloc(uint64_t object, uint64_t size, uint64_t weighted)
{
	if (__builtin_expect(cairn_probe_alloc_semaphore == 0, 1))
		return;
	CAIRN_ARCH_PROBE_3(CAIRN_PROBE_NOTE, "alloc", object, size, weighted);
}

/* A sampled OBJECT is being freed. */
static inline void cairn_probe_free(uint64_t object)
{
	if (__builtin_expect(cairn_probe_free_semaphore == 0, 1))
		return;
	CAIRN_ARCH_PROBE_1(CAIRN_PROBE_NOTE, "free", object);
}

#endif
