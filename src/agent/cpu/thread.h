/* thread.h - whether the calling thread is one of libc's.
 *
 * A host may make threads by clone, with a thread pointer of its own, or none: there, whatever is thread-local (errno, and much of the
 * unwinder) is memory that is not there or belongs to somebody else. Nothing here uses thread-local memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_CPU_THREAD_H
#define CAIRN_AGENT_CPU_THREAD_H

#include "arch/arch.h"

/* libc tells the kernel for each of its threads where the list of its robust mutexes begins: in the thread's descriptor, which the thread
 * pointer points to or behind. The kernel has none for a thread made by clone. Where it does not tell (under qemu), any pointer will do. */
static inline bool cairn_thread_is_of_libc(void)
{
	enum { descriptor_most = 4096 };
	uintptr_t list = 0, length = 0, pointer = cairn_arch_thread_pointer();
	if (cairn_arch_call(SYS_get_robust_list, 0, (uintptr_t)&list, (uintptr_t)&length) != 0)
		return pointer != 0;
	return pointer != 0 && list != 0 && list - pointer + descriptor_most < 2 * descriptor_most;
}

#endif
