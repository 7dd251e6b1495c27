/* process.c - keeps what is known about one process, and sends news to open pages.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/process.h"

#include "base/array.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/path.h"
#include "dump/trailer.h"
#include "fleet/serve/route.h"
#include "live/rss/account.h"
#include "live/why/why.h"
#include "process/clock.h"
#include "profile/live.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t usual_memory = 256 << 20;

const char *cairn_serve_state_name(enum cairn_serve_state state)
{
	static const char *const names[] = {
		[CAIRN_SERVE_WAITING] = "waiting",
		[CAIRN_SERVE_SAMPLING] = "sampling",
		[CAIRN_SERVE_PAUSED] = "paused",
		[CAIRN_SERVE_STOPPED] = "stopped",
		[CAIRN_SERVE_SILENT] = "silent",
		[CAIRN_SERVE_ENDED] = "ended",
		[CAIRN_SERVE_FOLDER] = "dumps",
	};
	static_assert(sizeof names / sizeof *names == CAIRN_SERVE_FOLDER + 1, "every state has a name");
	return names[state];
}

struct cairn_serve_process *cairn_serve_process_new(struct cairn_serve *serve, const char *key)
{
	assert(cairn_lock_is_held(&serve->lock));
	if (serve->process_count == CAIRN_SERVE_PROCESSES)
		return NULL;
	struct cairn_serve_process *process = cairn_array_zero(1, sizeof *process);
	process->serve = serve;
	snprintf(process->key, sizeof process->key, "%s", key);
	process->bytes_most = serve->options->memory ? serve->options->memory : usual_memory;
	process->pidfd = -1;
	process->keeper = cairn_keeper();
	process->since_ms = cairn_clock_wall_ns() / CAIRN_MILLISECOND_NS;
	process->rows = cairn_array_zero(CAIRN_SERVE_ROWS, sizeof *process->rows);
	process->leaks = process->layers = process->bill = process->status = process->newest = cairn_buffer(SIZE_MAX);
	pthread_mutex_init(&process->heavy, NULL);
	serve->processes[serve->process_count++] = process;
	snprintf(process->verdict.sentence, sizeof process->verdict.sentence, "no dump yet");
	process->verdict.kind = CAIRN_VERDICT_NOTHING;
	return process;
}

void cairn_serve_process_drop(struct cairn_serve_process *process, struct cairn_serve_dropped *dropped)
{
	assert(cairn_lock_is_held(&process->serve->lock));
	struct cairn_serve *serve = process->serve;
	size_t kept = 0;
	for (size_t i = 0; i < serve->process_count; i++)
		if (serve->processes[i] != process)
			serve->processes[kept++] = serve->processes[i];
	serve->process_count = kept;
	cairn_array_room(dropped->items, dropped->count, dropped->capacity);
	dropped->items[dropped->count++] = process;
}

static void free_process(struct cairn_serve_process *process)
{
	struct cairn_buffer *buffers[] = {&process->leaks, &process->layers, &process->bill, &process->status, &process->newest};
	for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
		cairn_buffer_free(buffers[i]);
	if (process->archive.started)
		cairn_archive_close(&process->archive);
	pthread_mutex_destroy(&process->heavy);
	free(process->runs);
	free(process->rows);
	free(process->points);
	free(process);
}

void cairn_serve_dropped_free(struct cairn_serve_dropped *dropped)
{
	size_t kept = 0;
	for (size_t i = 0; i < dropped->count; i++) {
		struct cairn_serve_process *process = dropped->items[i];
		pthread_mutex_lock(&process->serve->lock);
		bool used = process->users > 0;
		pthread_mutex_unlock(&process->serve->lock);
		if (used)
			dropped->items[kept++] = process;
		else
			free_process(process);
	}
	dropped->count = kept;
}

void cairn_serve_process_state(struct cairn_serve_process *process, enum cairn_serve_state state, const char *why)
{
	struct cairn_serve *serve = process->serve;
	pthread_mutex_lock(&serve->lock);
	bool news = process->state != state || strcmp(process->why, why) != 0;
	if (process->state != state)
		process->since_ms = cairn_clock_wall_ns() / CAIRN_MILLISECOND_NS;
	process->state = state;
	snprintf(process->why, sizeof process->why, "%s", why);
	if (news)
		cairn_serve_tell_news(process, state == CAIRN_SERVE_ENDED ? "gone" : "state", NULL);
	pthread_mutex_unlock(&serve->lock);
}

/* Copies what pages ask for often to where it can be read without the heavy lock. Under both locks. */
static void summarize(struct cairn_serve_process *process)
{
	assert(cairn_lock_is_held(&process->serve->lock));
	assert(cairn_lock_is_held(&process->heavy));
	const struct cairn_archive *archive = &process->archive;
	process->points = cairn_array_reserve(process->points, &process->point_capacity, archive->count + 1, sizeof *process->points);
	process->point_count = archive->count;
	process->epoch = archive->epoch;
	for (size_t i = 0; i < archive->count; i++) {
		const struct cairn_archive_point *from = &archive->points[i];
		struct cairn_serve_point *to = &process->points[i];
		*to = (struct cairn_serve_point){
			.id = from->id,
			.total = from->total,
			.objects = from->objects,
			.resident = from->resident,
			.limit = from->limit,
			.process_id = from->origin.process_id,
			.build = from->build,
			.run = i == 0 ? 0 : process->points[i - 1].run + !cairn_origin_same(archive->points[i - 1].origin, from->origin),
		};
		memcpy(to->reason, from->reason, sizeof to->reason);
		memcpy(to->ended, from->ended, sizeof to->ended);
	}
}

static void swap(struct cairn_buffer *kept, struct cairn_buffer *fresh)
{
	struct cairn_buffer old = *kept;
	*kept = *fresh;
	cairn_buffer_free(&old);
}

static void make_bill(struct cairn_serve_process *process, struct cairn_buffer *out)
{
	struct cairn_account *account = cairn_array_zero(1, sizeof *account);
	struct cairn_error error;
	int pid = process->newest_id > 0 && process->name && process->state != CAIRN_SERVE_ENDED ? process->pid : 0;
	if (process->newest.length > 0 &&
	    cairn_account_text(account, cairn_buffer_bytes(&process->newest), "the newest dump", pid, &error)) {
		cairn_why_account(account, cairn_buffer_bytes(&process->newest), "the newest dump");
		cairn_account_json(account, out);
	}
	cairn_account_free(account);
}

struct cairn_bytes cairn_serve_process_newest(const struct cairn_serve_process *process)
{
	const struct cairn_archive *archive = &process->archive;
	bool is_newest = archive->count > 0 && process->newest_id == archive->points[archive->count - 1].id;
	return is_newest ? cairn_buffer_bytes(&process->newest) : (struct cairn_bytes){"", 0};
}

/* How fast the other processes on the list grow that share the memory of one machine with this one. */
static double others_per_hour(const struct cairn_serve_process *process)
{
	struct cairn_serve *serve = process->serve;
	double sum = 0;
	pthread_mutex_lock(&serve->lock);
	for (size_t i = 0; i < serve->process_count; i++) {
		const struct cairn_serve_process *other = serve->processes[i];
		bool shares = other != process && !other->sum && !other->limit_of_group && strcmp(other->host, process->host) == 0;
		sum += shares && other->state != CAIRN_SERVE_ENDED ? other->verdict.per_hour : 0;
	}
	pthread_mutex_unlock(&serve->lock);
	return sum;
}

/* Under the heavy lock. */
static void judge(struct cairn_serve_process *process)
{
	assert(cairn_lock_is_held(&process->heavy));
	struct cairn_verdict_summary verdict;
	struct cairn_buffer leaks = cairn_buffer(SIZE_MAX), layers = leaks, bill = leaks;
	cairn_verdict_make(&process->archive, cairn_serve_process_newest(process), others_per_hour(process), &verdict, &leaks, &layers);
	make_bill(process, &bill);
	bool freed = cairn_bytes_contain(cairn_buffer_bytes(&process->newest), "\n# cairn freed ");
	pthread_mutex_lock(&process->serve->lock);
	/* The verdict on a sum is over its instances (cairn_serve_process_conclude). */
	bool news = !process->sum && strcmp(verdict.sentence, process->verdict.sentence) != 0;
	if (!process->sum)
		process->verdict = verdict;
	process->has_freed = freed;
	swap(&process->leaks, &leaks);
	swap(&process->layers, &layers);
	swap(&process->bill, &bill);
	summarize(process);
	if (news)
		cairn_serve_tell_news(process, "verdict", NULL);
	pthread_mutex_unlock(&process->serve->lock);
}

void cairn_serve_process_judge(struct cairn_serve_process *process)
{
	pthread_mutex_lock(&process->heavy);
	if (process->archive.started)
		judge(process);
	pthread_mutex_unlock(&process->heavy);
}

void cairn_serve_process_conclude(struct cairn_serve_process *process, const struct cairn_verdict_summary *verdict)
{
	pthread_mutex_lock(&process->serve->lock);
	bool news = strcmp(verdict->sentence, process->verdict.sentence) != 0;
	process->verdict = *verdict;
	if (news)
		cairn_serve_tell_news(process, "verdict", NULL);
	pthread_mutex_unlock(&process->serve->lock);
}

static void describe(struct cairn_serve_process *process, const struct cairn_profile *part, struct cairn_bytes dump)
{
	struct cairn_trailer trailer;
	/* The files of a folder come in any order; the newest describes the process. */
	if (!process->name && part->facts.time_ns / CAIRN_MILLISECOND_NS < process->newest_id)
		return;
	bool known = cairn_trailer_read(dump, &trailer);
	const char *path = cairn_profile_string(part, part->facts.process);
	pthread_mutex_lock(&process->serve->lock);
	/* The command says more than the file, which may have several names. */
	struct cairn_bytes program = known ? cairn_path_program(trailer.command) : (struct cairn_bytes){"", 0};
	if (program.length == 0)
		program = cairn_bytes_of(cairn_base_name(path));
	if (program.length > 0)
		snprintf(process->program, sizeof process->program, "%.*s", (int)(program.length < 127 ? program.length : 127),
			 program.data);
	if (known && trailer.host.length)
		snprintf(process->host, sizeof process->host, "%.*s", (int)(trailer.host.length < 64 ? trailer.host.length : 64),
			 trailer.host.data);
	if (known && trailer.command.length)
		snprintf(process->command, sizeof process->command, "%.*s",
			 (int)(trailer.command.length < 255 ? trailer.command.length : 255), trailer.command.data);
	if (!process->sum && (!process->pid || !process->name))
		process->pid = (int)part->facts.process_id;
	process->period = part->period;
	if (!process->sum && part->facts.limit_bytes > 0) {
		process->limit = part->facts.limit_bytes;
		process->limit_of_group = part->facts.limit_of_group;
	}
	pthread_mutex_unlock(&process->serve->lock);
}

static void start_archive(struct cairn_serve_process *process)
{
	const struct cairn_serve *serve = process->serve;
	cairn_archive_open(&process->archive, &serve->options->source, process->bytes_most,
			   serve->keep_ns ? serve->keep_ns : process->usual_keep_ns);
}

void cairn_serve_process_limit(struct cairn_serve_process *process, uint64_t bytes_most)
{
	pthread_mutex_lock(&process->heavy);
	process->bytes_most = bytes_most;
	if (process->archive.started) {
		cairn_archive_limit(&process->archive, bytes_most);
		pthread_mutex_lock(&process->serve->lock);
		summarize(process);
		pthread_mutex_unlock(&process->serve->lock);
	}
	pthread_mutex_unlock(&process->heavy);
}

void cairn_serve_process_add(struct cairn_serve_process *process, struct cairn_profile *part, struct cairn_bytes dump, bool judge_now)
{
	struct cairn_error error;
	if (process->name && process->pid)
		part->facts.process_id = (uint64_t)process->pid; /* in our PID namespace */
	describe(process, part, dump);
	pthread_mutex_lock(&process->heavy);
	if (!process->archive.started)
		start_archive(process);
	/* A target is asked for one dump after the other: what is later than the newest is from before its clock was set back. */
	if (process->name && cairn_archive_drop_later(&process->archive, part->facts.time_ns))
		process->newest_id = 0;
	const struct cairn_archive_point *point = cairn_archive_add(&process->archive, part, dump, &error);
	if (point && point->id >= process->newest_id) {
		process->newest_id = point->id;
		process->newest.length = 0;
		cairn_buffer_append(&process->newest, dump.data, dump.length);
	}
	if (point && judge_now)
		judge(process);
	if (point) {
		pthread_mutex_lock(&process->serve->lock);
		if (!judge_now)
			summarize(process);
		for (size_t i = process->point_count; i-- > 0;)
			if (process->points[i].id == point->id) {
				cairn_serve_tell_news(process, "dump", &process->points[i]);
				break;
			}
		pthread_mutex_unlock(&process->serve->lock);
	}
	pthread_mutex_unlock(&process->heavy);
}

bool cairn_serve_process_dump(struct cairn_serve_process *process, struct cairn_bytes dump, const char *name, struct cairn_error *error)
{
	struct cairn_profile part;
	bool good = cairn_archive_read(&part, &process->serve->options->source, dump, name, cairn_clock_wall_ns(), error);
	if (good)
		cairn_serve_process_add(process, &part, dump, true);
	cairn_profile_free(&part);
	return good;
}

/* Memory over time. */

static void add_row(struct cairn_serve_process *process, struct cairn_serve_row row)
{
	while (process->row_count > 0 && process->rows[process->row_count - 1].time_ms > row.time_ms) /* the clock was set back */
		process->row_count--;
	if (process->row_count == CAIRN_SERVE_ROWS) { /* drops every second one of the older half */
		size_t kept = 0, half = CAIRN_SERVE_ROWS / 2;
		for (size_t i = 0; i < half; i += 2)
			process->rows[kept++] = process->rows[i];
		memmove(process->rows + kept, process->rows + half, (CAIRN_SERVE_ROWS - half) * sizeof *process->rows);
		process->row_count = kept + CAIRN_SERVE_ROWS - half;
	}
	process->rows[process->row_count++] = row;
}

bool cairn_serve_process_weigh(struct cairn_serve_process *process, int64_t now_ms, struct cairn_serve_row *row)
{
	assert(cairn_lock_is_held(&process->serve->lock));
	struct cairn_memory_reading reading;
	if (!process->memory_open || !cairn_memory_read(&process->memory, cairn_clock_ns(), &reading))
		return false;
	process->reading = reading;
	*row = (struct cairn_serve_row){now_ms, (double)reading.resident, (double)reading.anonymous};
	process->limit = (double)reading.limit;
	process->limit_of_group = reading.limit_of_group;
	add_row(process, *row);
	return true;
}

void cairn_serve_process_attend(struct cairn_serve_process *process, int pid)
{
	assert(cairn_lock_is_held(&process->serve->lock));
	cairn_serve_process_leave(process);
	process->pid = pid;
	process->reading = (struct cairn_memory_reading){0};
	process->memory_open = cairn_memory_open(&process->memory, "", pid, NULL);
}

void cairn_serve_process_leave(struct cairn_serve_process *process)
{
	assert(cairn_lock_is_held(&process->serve->lock));
	if (process->memory_open)
		cairn_memory_close(&process->memory);
	process->memory_open = false;
}
