/* answer.h - what the questions of `cairn fleet` share: their options, how they begin, and how they print.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_FLEET_ANSWER_H
#define CAIRN_CMD_FLEET_ANSWER_H

#include "base/table.h"
#include "base/time.h"
#include "cmd/option.h"
#include "live/store_source.h"

struct cairn_fleet_answer_options {
	struct cairn_fleet_options fleet;
	const char *rows;
	bool json;
};

/* The groups that go with a struct cairn_fleet_answer_options. */
extern const struct cairn_option_group cairn_fleet_answer_groups[];

/* What a question begins with: checks its options and asks the store, without --from about the last BACK_NS, or everything for 0. Ask about
 * everything with fleet.last_only: all snapshots are too many. Returns the store, and how many rows are wanted in *ROWS (0 for all); NULL
 * with a message if it fails. */
struct cairn_store *cairn_fleet_answer_begin(const struct cairn_fleet_answer_options *options, int64_t back_ns, int operand_count,
					     char **operands, struct cairn_store_processes *processes, size_t *rows,
					     struct cairn_error *error);

/* And what it ends with: prints OUT, which is JSON with AS_JSON, and frees everything. Returns the exit code. */
int cairn_fleet_answer_end(struct cairn_store *store, struct cairn_store_processes *processes, bool as_json, struct cairn_buffer *out);

/* The service that all of PROCESSES are of; NULL, with a sentence, where there are several. */
const char *cairn_fleet_answer_service(const struct cairn_store_processes *processes, struct cairn_error *error);

/* Appends TEXT, made safe to show, and blanks up to WIDTH columns and two more. */
void cairn_fleet_answer_padded(struct cairn_buffer *out, const char *text, int width);

/* Writes the local date and time to OUT, which it returns. */
char *cairn_fleet_answer_time(int64_t time_ns, char out[32]);

/* A table in OUT, or as a member of an answer in JSON; cairn_fleet_answer_table_end ends that. */
struct cairn_fleet_answer_table {
	struct cairn_table table;
	struct cairn_json json;
};
void cairn_fleet_answer_table(struct cairn_fleet_answer_table *answer, bool as_json, struct cairn_buffer *out);
void cairn_fleet_answer_table_end(struct cairn_fleet_answer_table *answer);

/* The time of a point as JSON has it: seconds, to the millisecond. */
static inline double cairn_fleet_answer_seconds(int64_t time_ns)
{
	return (double)(time_ns / CAIRN_MILLISECOND_NS) / 1000;
}

/* The questions. */
int cairn_fleet_answer_services(const void *options, int operand_count, char **operands);
int cairn_fleet_answer_kills(const void *options, int operand_count, char **operands);
int cairn_fleet_answer_leaks(const void *options, int operand_count, char **operands);
int cairn_fleet_answer_bill(const void *options, int operand_count, char **operands);
int cairn_fleet_answer_timeline(const void *options, int operand_count, char **operands);

/* This one has options of its own. */
extern const struct cairn_option_group cairn_fleet_diff_groups[];
struct cairn_fleet_diff_options {
	struct cairn_fleet_answer_options answer;
	const char *load;
	bool cum;
};
int cairn_fleet_answer_diff(const void *options, int operand_count, char **operands);

#endif
