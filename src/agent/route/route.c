/* route.c - the table of routes and the search in it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/route.h"

#include <stdio.h>

enum { small = 64 << 10, symbols = 1 << 20, addresses = 16 << 20, upload = 64 << 20 };
enum { work = CAIRN_ROUTE_WORK, effect = CAIRN_ROUTE_EFFECT };

/* The bases that jeprof may be given: it appends /pprof/PAGE to them. */
#define BASES "{,/debug/mem,/debug/prof/mem,/cairn}"
#define USERVER "/service/jemalloc/{prof,pprof}/"

const struct cairn_route cairn_routes[] = {
	/* GreptimeDB */
	{"POST", "/debug/prof/mem", cairn_greptime_dump, work, small, "the heap profile; ?output=text|proto|flamegraph"},
	{"POST", "/debug/prof/mem/activate", cairn_greptime_activate, 0, small, "start sampling"},
	{"POST", "/debug/prof/mem/deactivate", cairn_greptime_deactivate, 0, small, "stop sampling"},
	{"GET", "/debug/prof/mem/status", cairn_greptime_status, 0, small, "is it sampling?"},
	{"GET", "/debug/prof/mem/gdump", cairn_greptime_gdump_status, 0, small, "is gdump on?"},
	{"POST", "/debug/prof/mem/gdump", cairn_greptime_gdump, 0, small, "switch gdump; activate=true|false in a form"},
	{"POST", "/debug/prof/mem/symbol", cairn_greptime_symbol, work, upload, "a flame graph of the dump in the body"},
	{"POST", "/debug/prof/cpu", cairn_cpu_greptime, work, small, "a CPU profile; ?seconds=5&frequency=99&output=proto|text|flamegraph"},
	/* Databend */
	{"GET", "/debug/home", cairn_databend_home, 0, small, "a page of links"},
	{"GET", "/debug/mem/pprof/profile", cairn_databend_profile, work, small, "the heap profile"},
	/* userver */
	{"GET POST", USERVER "stat", cairn_userver_stat, work | CAIRN_ROUTE_USERVER, small, "the allocator's statistics"},
	{"POST", USERVER "enable", cairn_userver_enable, CAIRN_ROUTE_USERVER, small, "start sampling"},
	{"POST", USERVER "disable", cairn_userver_disable, CAIRN_ROUTE_USERVER, small, "stop sampling"},
	{"POST", USERVER "dump", cairn_userver_dump, work | CAIRN_ROUTE_USERVER, small, "write a dump to prof_prefix"},
	{"POST", USERVER "bg_threads_set_max", cairn_userver_set_threads, work | CAIRN_ROUTE_USERVER, small, "?count=N"},
	{"POST", USERVER "bg_threads_enable", cairn_userver_start_threads, work | CAIRN_ROUTE_USERVER, small, "start background threads"},
	{"POST", USERVER "bg_threads_disable", cairn_userver_stop_threads, work | CAIRN_ROUTE_USERVER, small, "stop them"},
	{"GET", USERVER "heap", cairn_userver_heap, work | CAIRN_ROUTE_USERVER, small, "the heap profile"},
	{"GET", USERVER "symbol", cairn_pprof_symbol_count, CAIRN_ROUTE_USERVER, small, "can addresses be named?"},
	{"POST", USERVER "symbol", cairn_userver_symbol, work | CAIRN_ROUTE_USERVER, symbols, "names of the addresses in the body"},
	{"GET", USERVER "cmdline", cairn_pprof_cmdline, CAIRN_ROUTE_USERVER, small, "the command line"},
	{NULL, USERVER "*", cairn_userver_unknown, CAIRN_ROUTE_LAST, small, NULL},
	/* RisingWave */
	{"GET", "/api/monitor/dump_heap_profile/*", cairn_risingwave_dump, work | effect, small, "write a dump to the dump folder"},
	{"GET", "/api/monitor/list_heap_profile/*", cairn_risingwave_list, work, small, "the dumps there"},
	{"GET", "/api/monitor/analyze/*", cairn_risingwave_analyze, work, small, "a dump as collapsed stacks"},
	/* TiKV */
	{"GET", "/debug/pprof/heap_activate", cairn_tikv_activate, effect, small, "start sampling; ?interval=SECONDS dumps regularly"},
	{"GET", "/debug/pprof/heap_deactivate", cairn_tikv_deactivate, work | effect, small, "stop sampling and remove these dumps"},
	{"GET", "/debug/pprof/heap_list", cairn_tikv_list, work, small, "list these dumps; heap?name=N fetches one"},
	/* Go */
	{"GET", "/debug/pprof/", cairn_go_index, 0, small, "a page of links"},
	{"GET", "/debug/pprof/heap", cairn_go_heap, work, small,
	 "the heap profile for pprof; ?seconds=N&max_samples=N&max_bytes=N, ?debug=1"},
	{"GET", "/debug/pprof/allocs", cairn_go_allocs, work, small, "the same, showing all allocations first"},
	{"GET", "/debug/pprof/profile", cairn_cpu_pprof, work, small, "a CPU profile for pprof; ?seconds=5&frequency=99"},
	{"GET", "/debug/pprof/{goroutine,mutex,block}", cairn_go_empty, 0, small, "a profile without samples, for scrapers"},
	{"GET", "/debug/pprof/cmdline", cairn_pprof_cmdline, 0, small, "the command line"},
	{"GET", "/debug/pprof/symbol", cairn_pprof_symbol_count, 0, small, "can addresses be named?"},
	{"POST", "/debug/pprof/symbol", cairn_pprof_symbol, work, addresses, "names of the addresses in the body"},
	/* jeprof and gperftools */
	{"GET", BASES "/pprof/{heap,growth}", cairn_pprof_heap, work, small, "the heap profile for jeprof"},
	{"GET", "/debug/prof/mem/pprof/profile", cairn_pprof_heap, work, small, "the same: what jeprof asks of a URL without a page"},
	{"GET", "{,/cairn}/pprof/profile", cairn_cpu_gperftools, work, small, "a CPU profile for jeprof; ?seconds=30&frequency=99"},
	{"GET", BASES "/pprof/cmdline", cairn_pprof_cmdline, 0, small, "the command line"},
	{"GET", BASES "/pprof/symbol", cairn_pprof_symbol_count, 0, small, "can addresses be named?"},
	{"POST", BASES "/pprof/symbol", cairn_pprof_symbol, work, addresses, "names of the addresses in the body"},
	{"GET", BASES "/pprof/{contention,pmuprofile,wall,filteredprofile,censusprofile}", cairn_pprof_missing, CAIRN_ROUTE_LAST, small,
	 NULL},
	/* Cairn */
	{"GET", "/cairn/status", cairn_control_status, 0, small, "everything about the profiler and the agent, in JSON; ?format=text"},
	{"POST", "/cairn/activate", cairn_control_activate, 0, small, "start sampling"},
	{"POST", "/cairn/detach", cairn_control_detach, CAIRN_ROUTE_LOCAL, small, "end the agent; only through its own socket"},
	{"POST", "/cairn/deactivate", cairn_control_deactivate, 0, small, "stop sampling"},
	{"POST", "/cairn/reset", cairn_control_reset, work, small, "discard all samples; ?period=BYTES"},
	{"POST", "/cairn/gdump", cairn_control_gdump, 0, small, "?activate=true|false"},
	{"GET", "/cairn/snapshot", cairn_control_snapshot, work, small, "the heap profile with its trailer"},
	{"POST", "/cairn/dump", cairn_control_dump, work, small, "write it to the dump folder"},
	{"GET", "/cairn/memory", cairn_control_memory, work, small, "the process's memory figures: the trailer alone"},
	{"POST", "/cairn/remedy", cairn_control_remedy, work | CAIRN_ROUTE_LOCAL, small,
	 "what 'cairn why --try' does: ?call=trim|purge|decay|arenas|mmap-threshold|thp|restore&value=N; only through its own socket"},
	{"POST", "/cairn/inside", cairn_control_inside, work | CAIRN_ROUTE_LOCAL, symbols,
	 "for 'cairn attach': maps the body's code at ?address=N, or looks again; only through its own socket"},
	{"GET", "/cairn/dumps", cairn_dumps_list, work, small, "the dumps there, in JSON; ?format=text"},
	{"POST", "/cairn/dumps", cairn_dumps_thin, work, small, "thin them; ?keep_count=N&keep_bytes=SIZE&keep_age=TIME"},
	{"GET", "/cairn/dumps/*", cairn_dumps_fetch, work, small, "one of them, by its name"},
	{"DELETE", "/cairn/dumps/*", cairn_dumps_remove, work, small, "remove one"},
	{"GET", "/cairn/report/*", cairn_report, work, small,
	 "a report of the cairn command: top, churn, leaks, rss, flame, html, …; ?older=10m, ?peak=true and so on, ?format=text"},
	{"GET", "/cairn/", cairn_live_page, work, small, "the live page of this process, made by the cairn command"},
	{"GET", "/cairn/{page.js,favicon.ico}", cairn_live_part, work, small, NULL},
	{"GET", "/cairn/api/events", cairn_live_events, 0, small, NULL},
	{"GET", "/cairn/api/*", cairn_live_part, work, small, NULL},
	{"POST", "/cairn/api/*", cairn_live_effect, work, small, NULL},
	{"GET", "/cairn/stats", cairn_control_stats, work, small, "the allocator's statistics; ?format=json"},
	{"GET", "/metrics", cairn_control_metrics, work, small, "for Prometheus"},
	{"GET", "/", cairn_control_index, 0, small, "this page"},
};
const size_t cairn_routes_count = sizeof cairn_routes / sizeof *cairn_routes;

bool cairn_route_match(const char *pattern, struct cairn_bytes path, struct cairn_bytes *rest)
{
	for (; *pattern; pattern++) {
		if (*pattern == '*') {
			*rest = path;
			return true;
		}
		if (*pattern == '{') {
			const char *end = strchr(pattern, '}');
			for (const char *at = pattern + 1; at <= end;) {
				size_t length = strcspn(at, ",}");
				if (length <= path.length && memcmp(at, path.data, length) == 0 &&
				    cairn_route_match(end + 1, cairn_bytes_skip(path, length), rest))
					return true;
				at += length + 1;
			}
			return false;
		}
		if (path.length == 0 || path.data[0] != *pattern)
			return false;
		path = cairn_bytes_skip(path, 1);
	}
	*rest = path;
	return path.length == 0;
}

static bool has_method(const char *methods, struct cairn_bytes method)
{
	if (!methods)
		return true;
	if (cairn_bytes_equal(method, cairn_bytes_of("HEAD")))
		method = cairn_bytes_of("GET");
	const char *at = memmem(methods, strlen(methods), method.data, method.length);
	return at && method.length > 0 && (at == methods || at[-1] == ' ') && (at[method.length] == 0 || at[method.length] == ' ');
}

const struct cairn_route *cairn_route_find(struct cairn_bytes method, struct cairn_bytes path, struct cairn_bytes *rest,
					   struct cairn_response *response)
{
	const struct cairn_route *other = NULL;
	char allow[32] = "";
	for (size_t i = 0; i < cairn_routes_count; i++) {
		const struct cairn_route *route = &cairn_routes[i];
		if (!cairn_route_match(route->path, path, rest) || ((route->flags & CAIRN_ROUTE_LAST) && other))
			continue;
		if (has_method(route->methods, method))
			return route;
		other = route;
		size_t used = strlen(allow);
		bool both = strcmp(route->methods, "GET POST") == 0;
		snprintf(allow + used, sizeof allow - used, "%s%s", used ? ", " : "", both ? "GET, POST" : route->methods);
	}
	if (!other) {
		cairn_response_text(response, 404, CAIRN_TEXT, "not found; GET / lists the endpoints\n");
		return NULL;
	}
	if (other->flags & CAIRN_ROUTE_USERVER)
		cairn_userver_wrong_method(response, method);
	else
		cairn_response_text(response, 405, CAIRN_TEXT, "%.*s answers %s, not %.*s\n", (int)(path.length < 200 ? path.length : 200),
				    path.data, allow, (int)(method.length < 20 ? method.length : 20), method.data);
	cairn_response_header(response, "Allow", allow);
	return NULL;
}
