/* newest.c - the churn and the bill of the newest dump.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/newest.h"

#include "base/lock.h"
#include "profile/read.h"
#include "report/churn.h"

#include <assert.h>

static bool write_churn(const struct cairn_serve_process *process, struct cairn_bytes dump, struct cairn_buffer *out,
			struct cairn_error *error)
{
	struct cairn_profile profile;
	struct cairn_view view = {0};
	const struct cairn_read_options reading = {.with_freed = true};
	cairn_profile_init(&profile);
	bool good = (dump.length > 0 || cairn_fail(error, "no dump yet")) &&
		    cairn_profile_read(&profile, dump, "the newest dump", &reading, error) &&
		    (profile.freed ||
		     cairn_fail(error, "the dump does not say what was freed; dumps of Cairn's own engine do (engine:cairn)"));
	if (good) {
		cairn_source_name(&profile, &process->serve->options->source);
		good = cairn_view_make(&view, &profile, &(struct cairn_view_options){.fold_wrappers = true}, error);
	}
	if (good && !cairn_churn_page(&view, out))
		cairn_buffer_text(out, "{\"version\":1,\"seconds\":null,\"rows\":[]}");
	cairn_view_free(&view);
	cairn_profile_free(&profile);
	return good;
}

bool cairn_newest_churn(struct cairn_serve_process *process, struct cairn_buffer *out, struct cairn_error *error)
{
	/* Naming may take long, so it works on a copy, without the lock. */
	struct cairn_buffer dump = cairn_buffer(SIZE_MAX);
	pthread_mutex_lock(&process->heavy);
	cairn_buffer_append(&dump, process->newest.data, process->newest.length);
	pthread_mutex_unlock(&process->heavy);
	bool good = write_churn(process, cairn_buffer_bytes(&dump), out, error);
	cairn_buffer_free(&dump);
	return good;
}

void cairn_newest_describe(struct cairn_serve_process *process, int64_t at, int64_t base, struct cairn_buffer *churn,
			   struct cairn_buffer *bill)
{
	assert(cairn_lock_is_held(&process->heavy));
	const struct cairn_archive *archive = &process->archive;
	struct cairn_error error;
	if (base || archive->count == 0 || at != archive->points[archive->count - 1].id)
		return;
	pthread_mutex_lock(&process->serve->lock);
	bool has_freed = process->has_freed;
	cairn_buffer_append(bill, process->bill.data, process->bill.length);
	pthread_mutex_unlock(&process->serve->lock);
	if (has_freed)
		write_churn(process, cairn_buffer_bytes(&process->newest), churn, &error);
}
