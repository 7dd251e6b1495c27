/* hourly.c - statements on the table `hourly`, or on whole snapshots in `samples`.
 *
 * Sums only select the call paths that are worth a look, so neither rows that were put twice and are not merged yet nor the order in which
 * fractions are added matter; callers that read rows count each once. So no statement has to ask for the latest rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/hourly.h"

#include "base/array.h"
#include "store/handle.h"

#include <stdlib.h>

bool cairn_hourly_reaches(const struct cairn_store *store, int64_t from_ns)
{
	return store->hourly_since_ns <= from_ns;
}

static void list(struct cairn_buffer *out, const char *column, const uint64_t *items, size_t count)
{
	cairn_buffer_format(out, "%s IN (", column);
	for (size_t i = 0; i < count; i++)
		cairn_buffer_format(out, "%s%llu", i ? "," : "", (unsigned long long)items[i]);
	cairn_buffer_byte(out, ')');
}

/* Asks STATEMENT, which is freed. */
static void ask(struct cairn_selection *selection, struct cairn_store *store, struct cairn_buffer *statement, const char *types,
		struct cairn_error *error)
{
	cairn_buffer_byte(statement, 0);
	cairn_selection_begin(selection, store, statement->data, types, error);
	cairn_buffer_free(statement);
}

static void list_times(struct cairn_buffer *out, const char *column, const int64_t *items, size_t count)
{
	cairn_buffer_format(out, "%s IN (", column);
	for (size_t i = 0; i < count; i++)
		cairn_buffer_format(out, "%s%lld", i ? "," : "", (long long)items[i]);
	cairn_buffer_text(out, ") AND ");
}

/* Which table, whose rows, and of when. */
static void list_question(struct cairn_buffer *out, const struct cairn_hourly_question *question)
{
	cairn_buffer_format(out, " FROM %s WHERE ", cairn_tables[question->hours ? CAIRN_TABLE_HOURLY : CAIRN_TABLE_SAMPLES].name);
	if (question->hours) {
		list(out, "cohort", question->cohorts, question->cohort_count);
		cairn_buffer_text(out, " AND ");
		list_times(out, "hour", question->hours, question->hour_count);
	} else {
		list_times(out, "time_ns", question->times, question->time_count);
	}
	/* Of a cohort at one hour most instances are asked about: looking for each would take longer than passing over the others. */
	list(out, question->hours ? "instance + 0" : "instance", question->instances, question->instance_count);
}

bool cairn_hourly_size(struct cairn_store *store, const struct cairn_hourly_question *question, size_t *rows, struct cairn_error *error)
{
	struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
	struct cairn_selection selection;
	cairn_buffer_text(&statement, "SELECT count(*)");
	list_question(&statement, question);
	ask(&selection, store, &statement, "n", error);
	*rows = cairn_selection_next(&selection) ? (size_t)cairn_row_take_number(&selection.row) : 0;
	return cairn_selection_end(&selection, error);
}

bool cairn_hourly_sums(struct cairn_store *store, const struct cairn_hourly_question *question, struct cairn_hourly_sum **sums,
		       size_t *count, struct cairn_error *error)
{
	struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
	struct cairn_selection selection;
	struct cairn_cursor *row = &selection.row;
	size_t capacity = 0;
	const char *share = question->hours ? "bytes * 1.0 / total" : "bytes";
	cairn_buffer_format(&statement, "SELECT stack, sum(bytes) * 1.0, sum(%s), sum(%s * %s), max(%s)", share, share, share, share);
	list_question(&statement, question);
	cairn_buffer_text(&statement, " GROUP BY stack ORDER BY stack");
	ask(&selection, store, &statement, "nrrrr", error);
	*sums = NULL;
	*count = 0;
	while (cairn_selection_next(&selection)) {
		struct cairn_hourly_sum sum = {.stack = cairn_row_take_number(row)};
		sum.bytes = cairn_row_take_real(row);
		sum.shares = cairn_row_take_real(row);
		sum.squares = cairn_row_take_real(row);
		sum.most = cairn_row_take_real(row);
		cairn_array_room(*sums, *count, capacity);
		(*sums)[(*count)++] = sum;
	}
	return cairn_selection_end(&selection, error);
}

bool cairn_hourly_rows(struct cairn_store *store, const struct cairn_hourly_question *question,
		       void (*visit)(void *context, const struct cairn_hourly_row *row), void *context, struct cairn_error *error)
{
	struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
	struct cairn_selection selection;
	if (question->stack_count == 0)
		return true;
	cairn_buffer_format(&statement, "SELECT instance, stack, time_ns, bytes * 1.0, %s",
			    question->hours ? "size" : "CASE WHEN objects > 0 THEN bytes / objects ELSE 0.0 END");
	list_question(&statement, question);
	cairn_buffer_text(&statement, " AND ");
	/* In samples the stack is of no use for finding rows, and SQLite must not try each of them at each time. */
	list(&statement, question->hours ? "stack" : "stack + 0", question->stacks, question->stack_count);
	ask(&selection, store, &statement, "nnnrr", error);
	while (cairn_selection_next(&selection)) {
		struct cairn_hourly_row row = {.instance = cairn_row_take_number(&selection.row)};
		row.stack = cairn_row_take_number(&selection.row);
		row.time_ns = (int64_t)cairn_row_take_number(&selection.row);
		row.bytes = cairn_row_take_real(&selection.row);
		row.size = cairn_row_take_real(&selection.row);
		if (!selection.row.failed)
			visit(context, &row);
	}
	return cairn_selection_end(&selection, error);
}

bool cairn_hourly_profile(struct cairn_store *store, const uint64_t *stacks, const double *bytes, size_t count,
			  struct cairn_profile *profile, struct cairn_error *error)
{
	static const struct cairn_store_process nobody = {.service = "", .version = "", .host = "", .program = ""};
	static const struct cairn_store_point never = {.ended = ""};
	struct cairn_stored_sample *samples = cairn_array_zero(count, sizeof *samples);
	for (size_t i = 0; i < count; i++) {
		samples[i].stack = stacks[i];
		samples[i].bytes = bytes[i];
	}
	bool good = cairn_store_learn(store, samples, count, error);
	if (good)
		cairn_snapshot_read(profile, &store->dictionary, &nobody, &never, samples, count);
	free(samples);
	return good;
}
