/* tikv.c - TiKV's heap_activate, heap_deactivate, heap_list and heap?name=, all of them GET.
 *
 * With an interval, its dumps are `000001.heap` and so on in the dump folder, written by a call that puts itself back into the queue
 * until it is stopped. heap_deactivate removes those that this process wrote.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/answer.h"
#include "agent/work/dump_writer.h"
#include "base/date.h"
#include "base/descriptor.h"
#include "base/text.h"
#include "base/time.h"
#include "dump/name.h"
#include "process/clock.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { list_maximum = 256 };

/* The call belongs to the round in which it was made. */
static bool is_over(const struct cairn_call *call)
{
	return (uintptr_t)call->owner != atomic_load(&call->agent->tikv_round);
}

static void write_regularly(struct cairn_call *call)
{
	struct cairn_agent *agent = call->agent;
	struct cairn_error error;
	unsigned seconds = atomic_load(&agent->tikv_interval);
	call->arrived_ns = cairn_clock_ns();
	if (seconds == 0 || is_over(call))
		return;
	struct cairn_snapshot *snapshot = cairn_answer_take(call, &error);
	if (snapshot) {
		if (!is_over(call))
			cairn_dumps_write_counted(agent, snapshot, &error);
		cairn_snapshot_release(snapshot);
	}
	call->due_ns = cairn_clock_ns() + seconds * CAIRN_SECOND_NS;
}

static void finish_regular(struct cairn_call *call)
{
	cairn_call_free(&call->agent->work, call);
}

/* Ends the regular dumps, no matter who stopped sampling. Returns their interval; 0 if there were none. */
static unsigned stop_regular(struct cairn_agent *agent)
{
	unsigned seconds = atomic_exchange(&agent->tikv_interval, 0);
	atomic_fetch_add(&agent->tikv_round, 1);
	cairn_work_withdraw(&agent->work, write_regularly);
	return seconds;
}

/* Replaces the present ones, if any; 0 seconds for none. */
static bool start_regular(struct cairn_agent *agent, unsigned seconds)
{
	stop_regular(agent);
	if (seconds == 0)
		return true;
	struct cairn_call *call = cairn_call_new(&agent->work, CAIRN_CALL_OWN);
	if (!call)
		return false;
	call->agent = agent;
	call->handle = write_regularly;
	call->finish = finish_regular;
	call->owner = (void *)(uintptr_t)atomic_load(&agent->tikv_round);
	call->due_ns = cairn_clock_ns() + seconds * CAIRN_SECOND_NS;
	atomic_store(&agent->tikv_interval, seconds);
	if (cairn_call_enqueue(&agent->work, call))
		return true;
	cairn_call_free(&agent->work, call);
	return false;
}

void cairn_tikv_activate(struct cairn_call *call)
{
	struct cairn_error error;
	char text[32] = "0";
	uint64_t seconds;
	cairn_query_get(call->request->query, "interval", text, sizeof text);
	struct cairn_bytes rest = cairn_bytes_of(text);
	if (!cairn_text_decimal(&rest, &seconds) || rest.length > 0 || seconds > 1000000) {
		cairn_response_text(call->response, 400, CAIRN_TEXT, "invalid interval: use a number of seconds");
		return;
	}
	enum cairn_profiler_state state = cairn_answer_state(call, &error);
	if (state == CAIRN_PROFILER_ACTIVE)
		cairn_response_text(call->response, 500, CAIRN_TEXT, "Already in Profiling");
	else if (state < CAIRN_PROFILER_INACTIVE)
		cairn_response_text(call->response, 500, CAIRN_TEXT, "%s", error.text);
	else if (!cairn_profiler_activate(&call->agent->profiler, true, &error))
		cairn_response_text(call->response, 500, CAIRN_TEXT, "%s", error.text);
	else if (!start_regular(call->agent, (unsigned)seconds))
		cairn_response_text(call->response, 503, CAIRN_TEXT, "too much is under way");
	else
		cairn_response_text(call->response, 200, CAIRN_TEXT, "activate heap profile success");
}

/* The numbered dumps, newest first; if there are too many, only the newest. */
struct found {
	struct cairn_folder folder;
	size_t count;
	struct {
		char name[12];
		int64_t time;
	} files[list_maximum];
};

static void find_numbered(void *context, const char *name)
{
	struct found *found = context;
	char path[340];
	struct stat status;
	bool full = found->count == list_maximum;
	if (!cairn_dump_name_is_counted(name) || (full && strcmp(found->files[list_maximum - 1].name, name) > 0))
		return;
	snprintf(path, sizeof path, "%s/%s", found->folder.path, name);
	if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode))
		return;
	size_t at = full ? list_maximum - 1 : found->count++;
	for (; at > 0 && strcmp(found->files[at - 1].name, name) < 0; at--)
		found->files[at] = found->files[at - 1];
	snprintf(found->files[at].name, sizeof found->files[at].name, "%s", name);
	found->files[at].time = status.st_mtime;
}

/* Those that this process wrote: a file with such a name may also belong to another service, or to the host. */
static void remove_numbered(struct cairn_agent *agent)
{
	struct cairn_folder folder;
	struct cairn_life own;
	cairn_dumps_folder(agent, &folder);
	if (cairn_life_of(agent->owner, &own))
		cairn_folder_remove_own(&folder, &own, CAIRN_DUMPS_COUNTED_REASON, cairn_dump_name_is_counted);
}

void cairn_tikv_deactivate(struct cairn_call *call)
{
	struct cairn_error error;
	struct cairn_agent *agent = call->agent;
	bool active = cairn_profiler_state(&agent->profiler) == CAIRN_PROFILER_ACTIVE, dumping = stop_regular(agent) > 0;
	if (!active && !dumping) {
		cairn_response_text(call->response, 200, CAIRN_TEXT, "no heap profile is running");
		return;
	}
	if (active && !cairn_profiler_activate(&agent->profiler, false, &error)) {
		cairn_response_text(call->response, 500, CAIRN_TEXT, "%s", error.text);
		return;
	}
	if (dumping)
		remove_numbered(agent);
	cairn_response_text(call->response, 200, CAIRN_TEXT, "deactivate heap profile success");
}

void cairn_tikv_list(struct cairn_call *call)
{
	struct cairn_error error;
	struct found found = {0};
	cairn_dumps_folder(call->agent, &found.folder);
	if (!cairn_folder_visit(&found.folder, find_numbered, &found, &error)) {
		cairn_response_text(call->response, 500, CAIRN_TEXT, "%s", error.text);
		return;
	}
	cairn_response_start(call->response, 200, CAIRN_TEXT);
	for (size_t i = 0; i < found.count; i++) {
		struct tm date = cairn_date(found.files[i].time + call->agent->utc_offset);
		cairn_buffer_format(&call->response->body, "%s%s\t\t%04d-%02d-%02d %02d:%02d:%02d", i ? "\n" : "", found.files[i].name,
				    date.tm_year + 1900, date.tm_mon + 1, date.tm_mday, date.tm_hour, date.tm_min, date.tm_sec);
	}
}

bool cairn_tikv_heap(struct cairn_call *call)
{
	struct cairn_error error = {0};
	char name[64], picture[8] = "";
	bool named = cairn_query_get(call->request->query, "name", name, sizeof name);
	cairn_query_get(call->request->query, "jeprof", picture, sizeof picture);
	bool drawn = strcmp(picture, "true") == 0;
	if (!named && !drawn)
		return false;
	static const char *const flame[] = {"flame", "-", NULL};
	struct cairn_folder folder;
	cairn_dumps_folder(call->agent, &folder);
	enum cairn_profiler_state state;
	bool taken = !named && cairn_answer_can_profile(call, &state, &error);
	struct cairn_snapshot *snapshot = taken ? cairn_answer_take(call, &error) : NULL;
	int descriptor = named ? cairn_folder_open_file(&folder, name, &error) : snapshot ? snapshot->descriptor : -1;
	int status = descriptor < 0 ? 500 : 200;
	if (status == 200 && drawn) {
		status = cairn_answer_render(call, flame, descriptor, -1, CAIRN_SVG, &error);
	} else if (status == 200) {
		cairn_answer_file(call, descriptor);
		descriptor = -1;
	}
	if (status != 200)
		cairn_response_text(call->response, status, CAIRN_TEXT, "%s", error.text);
	if (named)
		cairn_descriptor_close(descriptor);
	if (snapshot)
		cairn_snapshot_release(snapshot);
	return true;
}
