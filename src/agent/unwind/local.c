/* local.c - thread-local memory of the library.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/local.h"

#include "arch/arch.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

_Thread_local struct cairn_local cairn_local_memory __attribute__((tls_model("initial-exec")));

/* The kernel puts AT_RANDOM's bytes there in the first thread, glibc the thread's descriptor in all others. */
uintptr_t cairn_local_stack_top(void)
{
	return getpid() == cairn_arch_call(SYS_gettid, 0) ? getauxval(AT_RANDOM) : (uintptr_t)pthread_self();
}
