/* probe.h - otel_memory:alloc and otel_memory:free, the probes that OpenTelemetry's profiler attaches to.
 *
 * A probe is one nop in the code and a note (.note.stapsdt, owner "stapsdt", type 3) with its address, its name, the places of its
 * arguments, and a counter, the semaphore, which is above zero while somebody listens. The layout is that of SystemTap's user-space
 * probes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_PROBE_H
#define CAIRN_AGENT_SAMPLER_PROBE_H

#include <stdint.h>

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

extern volatile uint16_t cairn_probe_alloc_semaphore, cairn_probe_free_semaphore;

/* OBJECT of SIZE bytes was sampled and represents WEIGHTED bytes. */
static inline void cairn_probe_alloc(uint64_t object, uint64_t size, uint64_t weighted)
{
	if (__builtin_expect(cairn_probe_alloc_semaphore == 0, 1))
		return;
#if defined(__x86_64__)
	__asm__ volatile(CAIRN_PROBE_NOTE("alloc", "8@%%rdi 8@%%rsi 8@%%rdx") : : "D"(object), "S"(size), "d"(weighted));
#elif defined(__aarch64__)
	register uint64_t first __asm__("x0") = object, second __asm__("x1") = size, third __asm__("x2") = weighted;
	__asm__ volatile(CAIRN_PROBE_NOTE("alloc", "8@x0 8@x1 8@x2") : : "r"(first), "r"(second), "r"(third));
#else
#error "Cairn's probes know the registers of x86_64 and aarch64"
#endif
}

/* A sampled OBJECT is being freed. */
static inline void cairn_probe_free(uint64_t object)
{
	if (__builtin_expect(cairn_probe_free_semaphore == 0, 1))
		return;
#if defined(__x86_64__)
	__asm__ volatile(CAIRN_PROBE_NOTE("free", "8@%%rdi") : : "D"(object));
#elif defined(__aarch64__)
	register uint64_t first __asm__("x0") = object;
	__asm__ volatile(CAIRN_PROBE_NOTE("free", "8@x0") : : "r"(first));
#endif
}

#endif
