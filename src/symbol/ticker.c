/* ticker.c - a thread that sleeps, and then reports the progress.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/ticker.h"

#include "base/condition.h"
#include "process/clock.h"

enum { first_wait_ms = 500, next_wait_ms = 100 };

static void *tell(void *argument)
{
	struct cairn_ticker *ticker = argument;
	bool told = false;
	pthread_mutex_lock(&ticker->lock);
	while (!ticker->stopping) {
		int64_t until_ns = cairn_clock_ns() + (told ? next_wait_ms : first_wait_ms) * CAIRN_MILLISECOND_NS;
		while (!ticker->stopping && cairn_condition_wait(&ticker->changed, &ticker->lock, until_ns))
			;
		if (ticker->stopping)
			break;
		told = true;
		ticker->progress(ticker->context, ticker->done, ticker->total, ticker->what ? ticker->what : "");
	}
	if (told)
		ticker->progress(ticker->context, ticker->total, ticker->total, ticker->what ? ticker->what : "");
	pthread_mutex_unlock(&ticker->lock);
	return NULL;
}

void cairn_ticker_start(struct cairn_ticker *ticker, size_t total, void (*progress)(void *, size_t, size_t, const char *), void *context)
{
	*ticker = (struct cairn_ticker){.progress = progress, .context = context, .total = total};
	if (!progress)
		return;
	pthread_mutex_init(&ticker->lock, NULL);
	cairn_condition_init(&ticker->changed);
	if (pthread_create(&ticker->thread, NULL, tell, ticker) != 0)
		ticker->progress = NULL;
}

void cairn_ticker_say(struct cairn_ticker *ticker, const char *what)
{
	if (!ticker->progress)
		return;
	pthread_mutex_lock(&ticker->lock);
	ticker->what = what;
	pthread_mutex_unlock(&ticker->lock);
}

void cairn_ticker_add(struct cairn_ticker *ticker, size_t done)
{
	if (!ticker->progress)
		return;
	pthread_mutex_lock(&ticker->lock);
	ticker->done += done;
	pthread_mutex_unlock(&ticker->lock);
}

void cairn_ticker_stop(struct cairn_ticker *ticker)
{
	if (!ticker->progress)
		return;
	pthread_mutex_lock(&ticker->lock);
	ticker->stopping = true;
	pthread_cond_signal(&ticker->changed);
	pthread_mutex_unlock(&ticker->lock);
	pthread_join(ticker->thread, NULL);
	pthread_mutex_destroy(&ticker->lock);
	pthread_cond_destroy(&ticker->changed);
}
