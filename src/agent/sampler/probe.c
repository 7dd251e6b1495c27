/* probe.c - the probes' semaphores, in the section where tracers look for them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/probe.h"

__attribute__((section(".probes"))) volatile uint16_t cairn_probe_alloc_semaphore = 0;
__attribute__((section(".probes"))) volatile uint16_t cairn_probe_free_semaphore = 0;
