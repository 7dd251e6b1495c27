/* cpu_profile.c - CPU profiles, for the clients of GreptimeDB, Go and Databend, and for jeprof.
 *
 * A handler is called several times for one request: first it begins the run, then it empties the ring ten times a second, and at the end
 * it answers. If the client leaves or the agent stops, the run ends with the call.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu/cpu.h"
#include "agent/route/answer.h"
#include "base/pages.h"
#include "base/text.h"
#include "base/time.h"
#include "process/clock.h"
#include "process/proc.h"

#include <stdio.h>

enum { seconds_most = 3600, look_ms = 100, profile_maximum = 512 << 20 };

struct request {
	uint64_t seconds, frequency;
	char output[16];
};

static bool read_number(struct cairn_call *call, const char *key, uint64_t most, uint64_t *value)
{
	char text[32];
	uint64_t number;
	if (!cairn_query_get(call->request->query, key, text, sizeof text))
		return true;
	struct cairn_bytes rest = cairn_bytes_of(text);
	if (!cairn_text_decimal(&rest, &number) || rest.length > 0 || number == 0 || number > most)
		return false;
	*value = number;
	return true;
}

static void free_run(void *held)
{
	cairn_cpu_free(held);
}

enum progress { FAILED, BUSY, GOING_ON, OVER };

/* Begins the run of CALL or continues it. When it is OVER, the profile is in PROFILE. */
static enum progress sample(struct cairn_call *call, const struct request *request, struct cairn_buffer *profile, struct cairn_error *error)
{
	int64_t now = cairn_clock_ns();
	if (!call->held) {
		bool busy;
		bool inside = !call->agent->beside || cairn_fail(error, "CPU profiles are taken by an agent inside the process, which this one "
									"cannot have: 'perf record -p %d' takes one", cairn_proc_own());
		call->held = inside ? cairn_cpu_start((unsigned)request->frequency, &busy, error) : NULL;
		if (!call->held)
			return busy ? BUSY : FAILED;
		call->release = free_run;
		call->arrived_ns = now + request->seconds * CAIRN_SECOND_NS; /* from now on: when it ends */
	} else {
		cairn_cpu_collect(call->held);
	}
	/* Over TCP, a client that has left looks like one that has only closed its sending side. The host's threads are not interrupted
	 * for a client that has most likely left. */
	if (call->half_closed && atomic_load(call->half_closed)) {
		cairn_fail(error, "the client closed its side of the connection; a CPU profile needs it open");
		return FAILED;
	}
	if (now < call->arrived_ns) {
		int64_t next = now + look_ms * CAIRN_MILLISECOND_NS;
		call->due_ns = next < call->arrived_ns ? next : call->arrived_ns;
		return GOING_ON;
	}
	cairn_cpu_stop(call->held);
	cairn_cpu_write(call->held, profile);
	cairn_call_release(call); /* the next run does not have to wait until this one is drawn */
	if (!profile->failed)
		return OVER;
	call->busy = "the profile does not fit in the remaining memory for answers (`memory` in CAIRN_CONF)";
	cairn_fail(error, "%s", call->busy);
	return FAILED;
}

/* Sends PROFILE as converted by the cairn command. */
static int render(struct cairn_call *call, const char *output, const struct cairn_buffer *profile, struct cairn_error *error)
{
	static const char *const pprof[] = {"pprof", "--uncompressed", "-", NULL};
	static const char *const flame[] = {"flame", "-", NULL}, *const text[] = {"collapsed", "-", NULL};
	bool is_flame = strcmp(output, "flamegraph") == 0, is_text = strcmp(output, "text") == 0;
	const char *type = call->agent->config.old_contract ? CAIRN_OCTETS : is_flame ? CAIRN_SVG : is_text ? CAIRN_TEXT : CAIRN_OCTETS;
	return cairn_answer_render_text(call, is_flame ? flame : is_text ? text : pprof, cairn_buffer_bytes(profile), type, error);
}

/* Old clients know one status for every failure. */
static int busy_status(struct cairn_call *call)
{
	return call->agent->config.old_contract ? 500 : 409;
}

void cairn_cpu_greptime(struct cairn_call *call)
{
	struct request request = {.seconds = 5, .frequency = 99, .output = "proto"};
	cairn_query_get(call->request->query, "output", request.output, sizeof request.output);
	const char *wrong =
		!read_number(call, "seconds", seconds_most, &request.seconds) ? "seconds: a number from 1 to 3600 is expected"
		: !read_number(call, "frequency", CAIRN_CPU_FREQUENCY_MOST, &request.frequency)
			? "frequency: a number from 1 to 10000 is expected"
		: strcmp(request.output, "proto") != 0 && strcmp(request.output, "text") != 0 && strcmp(request.output, "flamegraph") != 0
			? "output: unknown variant, expected one of `proto`, `text`, `flamegraph`"
			: NULL;
	if (wrong) {
		cairn_response_text(call->response, 400, CAIRN_TEXT, "Failed to deserialize query string: %s", wrong);
		return;
	}
	struct cairn_buffer profile = cairn_pages_of(call->quota, profile_maximum);
	struct cairn_error error, message;
	enum progress progress = sample(call, &request, &profile, &error);
	int status = progress == OVER ? render(call, request.output, &profile, &error) : progress == BUSY ? busy_status(call) : 500;
	if (progress != GOING_ON && status != 200) {
		cairn_fail(&message, "Pprof error: %.480s", error.text);
		cairn_answer_error(call, status, message.text, NULL);
	}
	cairn_buffer_free(&profile);
}

/* Databend uses its defaults for whatever it cannot read. */
void cairn_cpu_pprof(struct cairn_call *call)
{
	struct request request = {.seconds = 5, .frequency = 99};
	read_number(call, "seconds", seconds_most, &request.seconds);
	read_number(call, "frequency", CAIRN_CPU_FREQUENCY_MOST, &request.frequency);
	struct cairn_pprof_limits limits;
	if (!cairn_pprof_limits(call, &limits))
		return;
	struct cairn_buffer profile = cairn_pages_of(call->quota, profile_maximum);
	struct cairn_error error;
	/* The profile itself does not say when it was taken, and whoever stores it must know. */
	char taken[24];
	snprintf(taken, sizeof taken, "%lld", (long long)(cairn_clock_wall_ns() / CAIRN_SECOND_NS));
	const char *arguments[10] = {"pprof", "--uncompressed", "--taken", taken};
	arguments[cairn_pprof_limit_arguments(&limits, arguments, 4)] = "-";
	enum progress progress = sample(call, &request, &profile, &error);
	int status = progress == OVER	? cairn_answer_render_text(call, arguments, cairn_buffer_bytes(&profile), CAIRN_OCTETS, &error)
		     : progress == BUSY ? busy_status(call)
					: 500;
	if (progress != GOING_ON && status != 200)
		cairn_response_text(call->response, status, CAIRN_TEXT, "%s\n", error.text);
	cairn_buffer_free(&profile);
}

/* The profile as it is. */
void cairn_cpu_gperftools(struct cairn_call *call)
{
	struct request request = {.seconds = 30, .frequency = 99};
	if (!read_number(call, "seconds", seconds_most, &request.seconds) ||
	    !read_number(call, "frequency", CAIRN_CPU_FREQUENCY_MOST, &request.frequency)) {
		cairn_response_text(call->response, 400, CAIRN_TEXT, "seconds takes 1 to %d, frequency 1 to %d\n", seconds_most,
				    CAIRN_CPU_FREQUENCY_MOST);
		return;
	}
	struct cairn_buffer profile = cairn_pages_of(call->quota, profile_maximum);
	struct cairn_error error;
	enum progress progress = sample(call, &request, &profile, &error);
	if (progress == OVER) {
		cairn_response_start(call->response, 200, CAIRN_OCTETS);
		cairn_buffer_append(&call->response->body, profile.data, profile.length);
	} else if (progress != GOING_ON) {
		cairn_response_text(call->response, progress == BUSY ? 409 : 500, CAIRN_TEXT, "%s\n", error.text);
	}
	cairn_buffer_free(&profile);
}
