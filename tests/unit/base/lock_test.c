/* lock_test.c - a lock is held by the thread that has locked it, and by no other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

#include "tap.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool seen_by_other, has_looked;

static void *look(void *context)
{
	(void)context;
	seen_by_other = cairn_lock_is_held(&lock);
	return NULL;
}

static void *wake(void *context)
{
	(void)context;
	pthread_mutex_lock(&lock);
	has_looked = true;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	ok(!cairn_lock_is_held(&lock), "nobody holds it at first");
	pthread_mutex_lock(&lock);
	ok(cairn_lock_is_held(&lock), "who locks it holds it");
	pthread_create(&thread, NULL, look, NULL);
	pthread_join(thread, NULL);
	ok(!seen_by_other, "and no other thread does");
	pthread_create(&thread, NULL, wake, NULL);
	while (!has_looked)
		pthread_cond_wait(&changed, &lock);
	ok(cairn_lock_is_held(&lock), "it is held again after a wait");
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	ok(!cairn_lock_is_held(&lock), "and nobody holds it at the end");
	return tap_done();
}
