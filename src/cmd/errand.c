/* errand.c - dumps and numbers from an agent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/errand.h"

#include "agent/clock.h"
#include "base/text.h"
#include "cmd/own_dumps.h"
#include "cmd/target.h"
#include "profile/trailer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const int64_t second = 1000000000, young = 5 * (int64_t)1000000000;
enum { names_tried = 1000, lists_read = 4 };

/* The agent of the process as it is now. One that has just begun may not have it yet; and the kernel's list of sockets leaves
 * some out that are there when many come and go while it is read, so it is read a few times. */
static bool find_agent(struct cairn_errand *errand, struct cairn_target *target)
{
	char pid[16];
	snprintf(pid, sizeof pid, "%d", errand->life.pid);
	for (int i = 0; i < lists_read; i++) {
		if (cairn_target_find(target, errand->life.pid ? pid : errand->name, errand->watch->token, &errand->error)) {
			errand->error.text[0] = 0;
			return true;
		}
		nanosleep(&(struct timespec){0, 50000000}, NULL);
	}
	errand->early = errand->life.pid && cairn_clock_wall_ns() - cairn_life_start_ns(&errand->life) < young;
	errand->hopeless = !errand->early && cairn_life_goes_on(&errand->life);
	if (errand->hopeless)
		cairn_own_dumps_mention(errand->life.pid, &errand->error);
	return false;
}

/* Sends GET PATH, and gives up on one that wants another token: it will not change its mind. */
static int ask(struct cairn_errand *errand, const struct cairn_target *target, const char *path,
	       struct cairn_buffer *body, struct cairn_error *error)
{
	int status = cairn_target_status(target, "GET", path, body, error);
	errand->hopeless = status == 401 || status == 403;
	return status;
}

/* Whether a profile can be had from TARGET at all. A server that is no agent does not say, and is only asked for the profile. */
static bool check_state(struct cairn_errand *errand, const struct cairn_target *target)
{
	struct cairn_buffer body = cairn_buffer(0);
	char state[32] = "", why[400] = "";
	struct cairn_error error;
	if (ask(errand, target, "/cairn/status?format=text", &body, &error) == 200) {
		cairn_target_field(cairn_buffer_bytes(&body), "state", state, sizeof state);
		cairn_target_field(cairn_buffer_bytes(&body), "why", why, sizeof why);
	}
	cairn_buffer_free(&body);
	if (errand->hopeless) {
		errand->error = error;
		return false;
	}
	if (strcmp(state, "inactive") == 0)
		cairn_fail(&errand->error, "%s: sampling is off, so its dumps show nothing new; 'cairn activate %s' turns it on",
			   errand->name, errand->name);
	if (!state[0] || strcmp(state, "inactive") == 0 || strcmp(state, "active") == 0)
		return true;
	errand->hopeless = true;
	return cairn_fail(&errand->error, "%s: %s", errand->name, why[0] ? why : state);
}

/* Writes the profile into the folder, under the first name that is free. What is no heap profile is written as it came. */
static bool write_dump(struct cairn_errand *errand, struct cairn_bytes body)
{
	const struct cairn_watch *watch = errand->watch;
	char reason[140], path[600];
	struct cairn_template_facts names = {errand->time, errand->program, watch->host, cairn_trigger_name(errand->reason), errand->life.pid};
	struct cairn_folder_facts facts = {errand->life, (int64_t)errand->time * second, errand->reading.anonymous, reason};
	bool heap = cairn_bytes_start_with(body, "heap_v2/"), good = false;
	struct cairn_error error;
	snprintf(reason, sizeof reason, "%s: %s", names.reason, errand->why);
	errno = EEXIST;
	for (unsigned number = 1; !good && errno == EEXIST && number < names_tried; number++) {
		cairn_template_name(watch->pattern, &names, number, errand->file);
		snprintf(path, sizeof path, "%s/%s", watch->folder.path, errand->file);
		good = heap ? cairn_folder_write(&watch->folder, errand->file, body, &facts, &error) : cairn_folder_write_file(path, body, &error);
	}
	errand->bytes = body.length;
	if (!good)
		errand->error = error;
	return good;
}

/* Whether DUMP says itself that it is whole and of the process, whose number may be another in a container. */
static bool is_whole(struct cairn_bytes dump, const struct cairn_life *life)
{
	struct cairn_trailer trailer;
	struct cairn_life of;
	return cairn_trailer_read(dump, &trailer) && trailer.complete && cairn_life_parse(cairn_trailer_value(&trailer, "process"), &of) &&
	       of.ticks == life->ticks && of.boot == life->boot;
}

static bool take_dump(struct cairn_errand *errand)
{
	struct cairn_target target;
	struct cairn_buffer body = cairn_buffer(0);
	struct cairn_error error;
	errand->time = time(NULL);
	if (!find_agent(errand, &target) || (errand->first && !check_state(errand, &target)))
		return false;
	bool good = cairn_target_snapshot(&target, &body, &error);
	if (good && body.length == 0)
		good = cairn_fail(&error, "%s: the answer is empty", errand->name);
	/* The number may be another's by now; what came in time from the one that is meant is the most wanted of all. */
	if (good && errand->life.pid && !cairn_life_goes_on(&errand->life) && !is_whole(cairn_buffer_bytes(&body), &errand->life))
		good = cairn_fail(&error, "process %d ended before its dump was whole", errand->life.pid);
	if (!good)
		errand->error = error;
	good = good && write_dump(errand, cairn_buffer_bytes(&body));
	cairn_buffer_free(&body);
	return good;
}

/* The value of the gauge or counter NAME in Prometheus's text; 0 when it is not there. */
static uint64_t metric(struct cairn_bytes text, const char *name)
{
	struct cairn_bytes line;
	char number[64];
	while (cairn_text_line(&text, &line, NULL)) {
		const char *blank = line.length ? memrchr(line.data, ' ', line.length) : NULL;
		if (!blank || !cairn_text_take(&line, name) || (line.data[0] != ' ' && line.data[0] != '{'))
			continue;
		snprintf(number, sizeof number, "%.*s", (int)(line.data + line.length - blank), blank);
		double value = strtod(number, NULL);
		return value > 0 && value < 0x1p63 ? (uint64_t)value : 0;
	}
	return 0;
}

/* Of a process elsewhere: what its allocator holds. GreptimeDB itself says so as an agent does. */
static bool ask_elsewhere(struct cairn_errand *errand, struct cairn_target *target)
{
	struct cairn_buffer body = cairn_buffer(0);
	char origin[300];
	const char *host = cairn_target_host(errand->name);
	snprintf(origin, sizeof origin, "%.*s", (int)(host - errand->name) + (int)strcspn(host, "/"), errand->name);
	target->url = origin;
	bool good = ask(errand, target, "/metrics", &body, &errand->error) == 200;
	errand->reading.anonymous = good ? metric(cairn_buffer_bytes(&body), "sys_jemalloc_resident") : 0;
	errand->reading.allocated = good ? metric(cairn_buffer_bytes(&body), "jemalloc_allocated_bytes_total") : 0;
	if (good && errand->reading.anonymous == 0)
		good = cairn_fail(&errand->error, "%s: /metrics there has no sys_jemalloc_resident, so its memory is not known", errand->name);
	cairn_buffer_free(&body);
	return good;
}

static bool ask_numbers(struct cairn_errand *errand)
{
	struct cairn_buffer body = cairn_buffer(0);
	struct cairn_target target;
	char total[32] = "";
	if (!find_agent(errand, &target))
		return false;
	if (!errand->life.pid)
		return ask_elsewhere(errand, &target);
	bool good = cairn_target_ask(&target, "GET", "/cairn/status?format=text", &body, &errand->error);
	if (good)
		cairn_target_field(cairn_buffer_bytes(&body), "allocated in all", total, sizeof total);
	errand->reading.allocated = strtoull(total, NULL, 10);
	cairn_buffer_free(&body);
	return good;
}

static void *run_errand(void *context)
{
	struct cairn_errand *errand = context;
	int back = errand->watch->back;
	errand->good = errand->kind == CAIRN_ERRAND_DUMP ? take_dump(errand) : ask_numbers(errand);
	while (write(back, &errand, sizeof errand) < 0 && errno == EINTR)
		;
	return NULL;
}

bool cairn_errand_send(struct cairn_errand *errand)
{
	return pthread_create(&errand->thread, NULL, run_errand, errand) == 0;
}

void cairn_errand_end(struct cairn_errand *errand)
{
	pthread_join(errand->thread, NULL);
}
