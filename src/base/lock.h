/* lock.h - lets a function assert what its comment says: "under the lock".
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_LOCK_H
#define CAIRN_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether this thread has locked LOCK, for an assert. glibc notes the owner in every mutex; with another libc it is always true. */
static inline bool cairn_lock_is_held(const pthread_mutex_t *lock)
{
#ifdef __GLIBC__
	return lock->__data.__owner == syscall(SYS_gettid);
#else
	(void)lock;
	return true;
#endif
}

#endif
