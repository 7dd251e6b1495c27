/* live.c - the live page of the process, and its requests: passed on to the `cairn serve` process that makes it (work/page_child.h).
 *
 * Two requests at most are passed on at a time. What that process asks in turn comes by the local socket, which has a worker of its own.
 * Its stream of events would occupy a worker for as long as a page is open, so the page asks again every two seconds instead.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/answer.h"
#include "agent/route/forward.h"
#include "agent/work/agent.h"
#include "base/descriptor.h"

enum { passing_most = 2 };

/* The page as it is now, once: where the command cannot serve it. */
static void answer_once(struct cairn_call *call)
{
	static const char *const page[] = {"html", "-", NULL};
	struct cairn_error error = {0};
	struct cairn_snapshot *snapshot = cairn_answer_take(call, &error);
	int status = 500;
	if (snapshot) {
		status = cairn_answer_render(call, page, snapshot->descriptor, -1, CAIRN_HTML, &error);
		cairn_snapshot_release(snapshot);
	}
	if (status != 200)
		cairn_response_text(call->response, status, CAIRN_TEXT, "%s\n", error.text);
}

static void answer_problem(struct cairn_call *call, int status, const char *why)
{
	cairn_response_start(call->response, status, CAIRN_JSON);
	struct cairn_json json = cairn_json_answer(&call->response->body);
	cairn_json_text(&json, "error", cairn_bytes_of(why));
	cairn_json_end(&json);
}

static void pass_on(struct cairn_call *call, bool is_page)
{
	struct cairn_page_child *child = &call->agent->page;
	struct cairn_error error = {0};
	struct cairn_bytes path = cairn_bytes_skip(call->request->path, strlen("/cairn"));
	if (atomic_fetch_add(&child->passing, 1) >= passing_most) {
		call->busy = "too many requests for the page are in progress";
	} else {
		int descriptor = cairn_page_child_reach(call->agent, call->gone, &error);
		if (descriptor < 0 && is_page)
			answer_once(call);
		else if (descriptor < 0)
			answer_problem(call, 503, error.text);
		else if (!cairn_forward_exchange(call, descriptor, path))
			answer_problem(call, 502, "the cairn command did not answer");
		cairn_descriptor_close(descriptor);
	}
	atomic_fetch_sub(&child->passing, 1);
}

void cairn_live_page(struct cairn_call *call)
{
	enum cairn_profiler_state state = cairn_profiler_state(&call->agent->profiler);
	struct cairn_error error = {0};
	if (state >= CAIRN_PROFILER_NOT_ENABLED) {
		pass_on(call, true);
		return;
	}
	cairn_profiler_explain(&call->agent->profiler, error.text, sizeof error.text);
	cairn_response_text(call->response, 501, CAIRN_TEXT, "%s\n", error.text);
}

void cairn_live_part(struct cairn_call *call)
{
	pass_on(call, false);
}

void cairn_live_events(struct cairn_call *call)
{
	answer_problem(call, 501, "the agent passes no events on; ask /cairn/api/processes again instead");
}

/* As `cairn serve` asks for it: pages of other sites cannot send the header. */
void cairn_live_effect(struct cairn_call *call)
{
	if (call->request->cairn.data)
		pass_on(call, false);
	else
		answer_problem(call, 403, "requests that change something need the header X-Cairn: 1");
}
