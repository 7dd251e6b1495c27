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

/* Asks STATEMENT, which is freed. */
static void ask(struct cairn_selection *selection, struct cairn_store *store, struct cairn_buffer *statement,
		const struct cairn_column *columns, void *row, struct cairn_error *error)
{
	cairn_buffer_byte(statement, 0);
	cairn_selection_begin(selection, store, statement->data, columns, row, error);
	cairn_buffer_free(statement);
}

/* Which table, whose rows, and of when. */
static void list_question(struct cairn_buffer *out, const struct cairn_hourly_question *question)
{
	cairn_buffer_format(out, " FROM %s WHERE ", cairn_tables[question->hours ? CAIRN_TABLE_HOURLY : CAIRN_TABLE_SAMPLES].name);
	if (question->hours) {
		cairn_statement_list(out, "cohort", question->cohorts, question->cohort_count);
		cairn_buffer_text(out, " AND ");
		cairn_statement_list(out, "hour", question->hours, question->hour_count);
	} else {
		cairn_statement_list(out, "time_ns", question->times, question->time_count);
	}
	cairn_buffer_text(out, " AND ");
	/* Of a cohort at one hour most instances are asked about: looking for each would take longer than passing over the others. */
	cairn_statement_list(out, question->hours ? "instance + 0" : "instance", question->instances, question->instance_count);
}

bool cairn_hourly_size(struct cairn_store *store, const struct cairn_hourly_question *question, size_t *rows, struct cairn_error *error)
{
	struct answer {
		uint64_t count;
	} row = {0};
	static const struct cairn_column columns[] = {CAIRN_COLUMN_AS(struct answer, count, "count(*)"), {0}};
	struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
	struct cairn_selection selection;
	cairn_columns_select(columns, &statement);
	list_question(&statement, question);
	ask(&selection, store, &statement, columns, &row, error);
	cairn_selection_next(&selection);
	*rows = (size_t)row.count;
	return cairn_selection_end(&selection);
}

bool cairn_hourly_sums(struct cairn_store *store, const struct cairn_hourly_question *question, struct cairn_hourly_sum **sums,
		       size_t *count, struct cairn_error *error)
{
#define C(member) CAIRN_COLUMN(struct cairn_hourly_sum, member)
	static const struct cairn_column columns[] = {C(stack), C(bytes), C(shares), C(squares), C(most), {0}};
#undef C
	struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
	struct cairn_selection selection;
	struct cairn_hourly_sum sum;
	size_t capacity = 0;
	const char *share = question->hours ? "bytes * 1.0 / total" : "bytes";
	cairn_buffer_format(&statement, "SELECT stack, sum(bytes) * 1.0, sum(%s), sum(%s * %s), max(%s)", share, share, share, share);
	list_question(&statement, question);
	cairn_buffer_text(&statement, " GROUP BY stack ORDER BY stack");
	ask(&selection, store, &statement, columns, &sum, error);
	*sums = NULL;
	*count = 0;
	while (cairn_selection_next(&selection)) {
		cairn_array_room(*sums, *count, capacity);
		(*sums)[(*count)++] = sum;
	}
	return cairn_selection_end(&selection);
}

bool cairn_hourly_rows(struct cairn_store *store, const struct cairn_hourly_question *question,
		       void (*visit)(void *context, const struct cairn_hourly_row *row), void *context, struct cairn_error *error)
{
#define C(member) CAIRN_COLUMN(struct cairn_hourly_row, member)
	static const struct cairn_column columns[] = {C(instance), C(stack), C(time_ns), C(bytes), C(size), {0}};
#undef C
	struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
	struct cairn_selection selection;
	struct cairn_hourly_row row;
	if (question->stack_count == 0)
		return true;
	cairn_buffer_format(&statement, "SELECT instance, stack, time_ns, bytes * 1.0, %s",
			    question->hours ? "size" : "CASE WHEN objects > 0 THEN bytes / objects ELSE 0.0 END");
	list_question(&statement, question);
	cairn_buffer_text(&statement, " AND ");
	/* In samples the stack is of no use for finding rows, and SQLite must not try each of them at each time. */
	cairn_statement_list(&statement, question->hours ? "stack" : "stack + 0", question->stacks, question->stack_count);
	ask(&selection, store, &statement, columns, &row, error);
	while (cairn_selection_next(&selection))
		visit(context, &row);
	return cairn_selection_end(&selection);
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
