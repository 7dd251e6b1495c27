/* route.h - the table of all routes of the agent.
 *
 * A path is matched as it is sent. `{a,b}` in a route's path stands for any of the alternatives, and a `*` at its end for any rest. The
 * first row whose path and method match answers; a path that matches only with another method is a 405.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ROUTE_ROUTE_H
#define CAIRN_AGENT_ROUTE_ROUTE_H

#include "agent/work/call.h"

enum cairn_route_flags {
	CAIRN_ROUTE_WORK = 1,    /* takes time: answered by a worker */
	CAIRN_ROUTE_USERVER = 2, /* refuses other methods and long bodies in userver's words */
	CAIRN_ROUTE_LAST = 4,    /* matches what no other row of its family does; not in the index */
	CAIRN_ROUTE_EFFECT = 8,  /* a GET that changes something: refused if a browser sends it for another page or a link */
	CAIRN_ROUTE_LOCAL = 16,  /* taken from the agent's own socket only, for whichever process of a tree it is */
};

struct cairn_route {
	const char *methods; /* separated by spaces; GET also answers HEAD; NULL is any */
	const char *path;
	void (*handle)(struct cairn_call *call);
	unsigned flags;
	size_t body_maximum;
	const char *about;
};

extern const struct cairn_route cairn_routes[];
extern const size_t cairn_routes_count;

/* Whether PATTERN matches PATH; *REST is then the part for its `*`. */
bool cairn_route_match(const char *pattern, struct cairn_bytes path, struct cairn_bytes *rest);

/* The row for METHOD and PATH, or NULL after filling in the refusal: 404, or 405 with Allow. */
const struct cairn_route *cairn_route_find(struct cairn_bytes method, struct cairn_bytes path, struct cairn_bytes *rest,
					   struct cairn_response *response);

/* The handlers, by the file they are in. */
void cairn_greptime_dump(struct cairn_call *call);
void cairn_greptime_activate(struct cairn_call *call);
void cairn_greptime_deactivate(struct cairn_call *call);
void cairn_greptime_status(struct cairn_call *call);
void cairn_greptime_gdump_status(struct cairn_call *call);
void cairn_greptime_gdump(struct cairn_call *call);
void cairn_greptime_symbol(struct cairn_call *call);

void cairn_databend_home(struct cairn_call *call);
void cairn_databend_profile(struct cairn_call *call);

void cairn_userver_stat(struct cairn_call *call);
void cairn_userver_enable(struct cairn_call *call);
void cairn_userver_disable(struct cairn_call *call);
void cairn_userver_dump(struct cairn_call *call);
void cairn_userver_set_threads(struct cairn_call *call);
void cairn_userver_start_threads(struct cairn_call *call);
void cairn_userver_stop_threads(struct cairn_call *call);
void cairn_userver_heap(struct cairn_call *call);
void cairn_userver_symbol(struct cairn_call *call);
void cairn_userver_unknown(struct cairn_call *call);
/* Refusals in its own words, for the table's checks. */
void cairn_userver_wrong_method(struct cairn_response *response, struct cairn_bytes method);
void cairn_userver_long_body(struct cairn_response *response, uint64_t length, size_t maximum);

void cairn_risingwave_dump(struct cairn_call *call);
void cairn_risingwave_list(struct cairn_call *call);
void cairn_risingwave_analyze(struct cairn_call *call);

void cairn_pprof_heap(struct cairn_call *call);
void cairn_pprof_symbol(struct cairn_call *call);
void cairn_pprof_symbol_count(struct cairn_call *call);
void cairn_pprof_cmdline(struct cairn_call *call);
void cairn_pprof_missing(struct cairn_call *call);

void cairn_go_index(struct cairn_call *call);
void cairn_go_empty(struct cairn_call *call);
void cairn_go_heap(struct cairn_call *call);
void cairn_go_allocs(struct cairn_call *call);

void cairn_cpu_greptime(struct cairn_call *call);
void cairn_cpu_pprof(struct cairn_call *call);
void cairn_cpu_gperftools(struct cairn_call *call);

void cairn_tikv_activate(struct cairn_call *call);
void cairn_tikv_deactivate(struct cairn_call *call);
void cairn_tikv_list(struct cairn_call *call);
/* `heap?name=` and `heap?jeprof=true`, which share their path with Go's heap; returns false if the request is neither. */
bool cairn_tikv_heap(struct cairn_call *call);

void cairn_control_status(struct cairn_call *call);
void cairn_control_activate(struct cairn_call *call);
void cairn_control_deactivate(struct cairn_call *call);
void cairn_control_detach(struct cairn_call *call);
void cairn_control_reset(struct cairn_call *call);
void cairn_control_gdump(struct cairn_call *call);
void cairn_control_snapshot(struct cairn_call *call);
void cairn_control_dump(struct cairn_call *call);
void cairn_control_memory(struct cairn_call *call);
void cairn_control_remedy(struct cairn_call *call);
void cairn_control_inside(struct cairn_call *call);
void cairn_dumps_list(struct cairn_call *call);
void cairn_dumps_fetch(struct cairn_call *call);
void cairn_dumps_remove(struct cairn_call *call);
void cairn_dumps_thin(struct cairn_call *call);
void cairn_report(struct cairn_call *call);
void cairn_live_page(struct cairn_call *call);
void cairn_live_part(struct cairn_call *call);
void cairn_live_events(struct cairn_call *call);
void cairn_live_effect(struct cairn_call *call);
void cairn_control_stats(struct cairn_call *call);
void cairn_control_metrics(struct cairn_call *call);
void cairn_control_index(struct cairn_call *call);

#endif
