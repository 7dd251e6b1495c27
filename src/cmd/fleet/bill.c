/* bill.c - `cairn fleet bill`: what the resident memory of a service is, release by release.
 *
 * An instance counts with its newest snapshot. Where that has a bill (series/bill.h), its lines are added up. Of others, such as pprof, the
 * store knows how much is resident and the live objects: those are one line, and everything else is another; where the profile estimates
 * more live bytes than are resident, the rest of them was never touched, or is swapped out.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/text.h"
#include "base/time.h"
#include "cmd/command.h"
#include "cmd/fleet/answer.h"
#include "live/store_series.h"
#include "series/bill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bill {
	const char *service, *version;
	size_t instances, unknown; /* those whose resident memory is not known are left out of the sums */
	double resident, untouched;
	double lines[CAIRN_BILL_LINES];
	double other; /* of those whose snapshot has no bill, what is not live objects */
	double limit; /* of those that have one, that of a machine once, */
	double limited; /* and what they have resident */
	double fullest; /* the largest share of a limit that one of them takes */
};

/* The bill of one instance, as far as the store has it. */
struct lines {
	double bytes[CAIRN_BILL_LINES];
	double sum;
};

static void take_line(void *context, size_t process, const char *key, double bytes)
{
	struct lines *lines = (struct lines *)context + process;
	int line = 0;
	while (line < CAIRN_BILL_REST && strcmp(cairn_bill_key((enum cairn_bill_line)line), key) != 0)
		line++; /* one that a later version of the program wrote is unexplained here */
	lines->bytes[line] += bytes;
	lines->sum += bytes;
}

static bool is_of_machine(const struct cairn_store_process *process)
{
	const struct cairn_store_point *last = cairn_store_last(process);
	return last->limit > 0 && !last->limit_of_group;
}

/* Whether another process of the same release that COUNTS, before NUMBER, has the memory of the same machine as its limit. */
static bool shares_machine(const struct cairn_store_processes *processes, const bool *counts, size_t number)
{
	const struct cairn_store_process *its = &processes->items[number];
	for (size_t i = 0; is_of_machine(its) && i < number; i++) {
		const struct cairn_store_process *other = &processes->items[i];
		if (counts[i] && other->cohort == its->cohort && is_of_machine(other) && strcmp(other->host, its->host) == 0)
			return true;
	}
	return false;
}

/* With SHARED, the limit is counted already. */
static void add(struct bill *bill, const struct cairn_store_point *last, const struct lines *lines, bool shared)
{
	double resident = lines->sum > 0 ? lines->sum : last->resident;
	bill->instances++;
	if (resident <= 0) {
		bill->unknown++;
		return;
	}
	bill->resident += resident;
	if (lines->sum > 0) {
		for (int i = 0; i < CAIRN_BILL_LINES; i++)
			bill->lines[i] += lines->bytes[i];
	} else {
		bill->lines[CAIRN_BILL_LIVE] += round(fmin(last->bytes, resident));
		bill->other += resident - round(fmin(last->bytes, resident));
		bill->untouched += fmax(0, last->bytes - resident);
	}
	if (last->limit > 0) {
		bill->limit += shared ? 0 : last->limit;
		bill->limited += resident;
		bill->fullest = fmax(bill->fullest, resident / last->limit);
	}
}

static int by_size(const void *a, const void *b)
{
	const struct bill *one = a, *other = b;
	if (one->resident != other->resident)
		return one->resident < other->resident ? 1 : -1;
	int order = strcmp(one->service, other->service);
	return order ? order : strcmp(one->version, other->version);
}

/* The processes that are there, or, where none is, all of them: as they were last seen. */
static struct bill *make_bills(const struct cairn_store_processes *processes, const struct lines *lines, size_t *count)
{
	struct bill *bills = cairn_array_zero(processes->count, sizeof *bills);
	bool *counts = cairn_array_zero(processes->count, sizeof *counts);
	int64_t newest = 0;
	bool any = false;
	*count = 0;
	for (size_t i = 0; i < processes->count; i++)
		newest =
			cairn_store_last(&processes->items[i])->time_ns > newest ? cairn_store_last(&processes->items[i])->time_ns : newest;
	for (size_t i = 0; i < processes->count; i++)
		any = any || !cairn_fleet_is_gone(&processes->items[i], newest);
	for (size_t i = 0; i < processes->count; i++) {
		const struct cairn_store_process *process = &processes->items[i];
		if (any && cairn_fleet_is_gone(process, newest))
			continue;
		size_t at = 0;
		while (at < *count &&
		       (strcmp(bills[at].service, process->service) != 0 || strcmp(bills[at].version, process->version) != 0))
			at++;
		if (at == *count)
			bills[(*count)++] = (struct bill){.service = process->service, .version = process->version};
		add(&bills[at], cairn_store_last(process), &lines[i], shares_machine(processes, counts, i));
		counts[i] = true;
	}
	free(counts);
	qsort(bills, *count, sizeof *bills, by_size);
	return bills;
}

static void put_line(struct cairn_buffer *out, double bytes, double total, const char *name)
{
	char size[24];
	cairn_buffer_format(out, "%12s  %5.1f%%  %s\n", cairn_text_human(bytes, size), 100 * bytes / fmax(1, total), name);
}

static void write_text(const struct bill *bill, struct cairn_buffer *out)
{
	char size[24];
	size_t known = bill->instances - bill->unknown;
	cairn_fleet_answer_padded(out, bill->service, 0);
	cairn_fleet_answer_padded(out, bill->version, 0);
	cairn_buffer_format(out, "%zu instance%s\n", bill->instances, bill->instances == 1 ? "" : "s");
	if (known == 0) {
		cairn_buffer_text(out, "their snapshots do not say how much is resident\n\n");
		return;
	}
	cairn_buffer_format(out, "%s resident", cairn_text_human(bill->resident, size));
	cairn_buffer_format(out, ", %s each", cairn_text_human(bill->resident / (double)known, size));
	if (bill->limit > 0)
		cairn_buffer_format(out, "; %.1f %% of the limits, the fullest %.1f %%", 100 * bill->limited / bill->limit,
				    100 * bill->fullest);
	cairn_buffer_text(out, "\n\n");
	for (int i = 0; i < CAIRN_BILL_LINES; i++)
		if (bill->lines[i] > 0)
			put_line(out, bill->lines[i], bill->resident, cairn_bill_name((enum cairn_bill_line)i));
	if (bill->other > 0)
		put_line(out, bill->other, bill->resident, "everything else: the allocator's own and free memory, stacks, files, code");
	if (bill->untouched > 0)
		cairn_buffer_format(out, "%12s          live objects that are not resident\n", cairn_text_human(bill->untouched, size));
	if (bill->unknown)
		cairn_buffer_format(out, "note: %zu of them do not say how much is resident, and are left out\n", bill->unknown);
	cairn_buffer_byte(out, '\n');
}

static void write_json(const struct bill *bills, size_t count, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json_answer(out);
	cairn_json_open(&json, "bills", '[');
	for (size_t i = 0; i < count; i++) {
		const struct bill *bill = &bills[i];
		cairn_json_open(&json, NULL, '{');
		cairn_json_text(&json, "service", cairn_bytes_of(bill->service));
		cairn_json_text(&json, "version", cairn_bytes_of(bill->version));
		cairn_json_integer(&json, "instances", (int64_t)bill->instances);
		cairn_json_integer(&json, "left_out", (int64_t)bill->unknown);
		cairn_json_number(&json, "resident", round(bill->resident));
		cairn_json_open(&json, "lines", '{');
		for (int k = 0; k < CAIRN_BILL_LINES; k++)
			if (bill->lines[k] > 0 || k == CAIRN_BILL_LIVE)
				cairn_json_number(&json, cairn_bill_key((enum cairn_bill_line)k), round(bill->lines[k]));
		if (bill->other > 0)
			cairn_json_number(&json, "other", round(bill->other));
		cairn_json_close(&json, '}');
		cairn_json_number(&json, "untouched", round(bill->untouched));
		cairn_json_number(&json, "limit", round(bill->limit));
		cairn_json_number(&json, "fullest", bill->fullest);
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_json_end(&json);
}

int cairn_fleet_answer_bill(const void *values, int operand_count, char **operands)
{
	const struct cairn_fleet_answer_options *options = values;
	struct cairn_error error;
	struct cairn_store_processes processes;
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	size_t rows, count;
	struct cairn_store *store = cairn_fleet_answer_begin(options, CAIRN_HOUR_NS, operand_count, operands, &processes, &rows, &error);
	if (!store)
		return cairn_say_failure(&error);
	struct lines *lines = cairn_array_zero(processes.count, sizeof *lines);
	if (!cairn_store_bills(store, &processes, take_line, lines, &error)) {
		free(lines);
		cairn_fleet_answer_end(store, &processes, options->json, &out);
		return cairn_say_failure(&error);
	}
	struct bill *bills = make_bills(&processes, lines, &count);
	free(lines);
	count = rows && rows < count ? rows : count;
	if (options->json)
		write_json(bills, count, &out);
	for (size_t i = 0; !options->json && i < count; i++)
		write_text(&bills[i], &out);
	free(bills);
	return cairn_fleet_answer_end(store, &processes, options->json, &out);
}
