/* route_test.c - the table of routes: every row can be reached, and refusals are the contract's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/admission.h"
#include "agent/route/route.h"
#include "agent/route/symbols.h"
#include "agent/work/agent.h"
#include "base/pages.h"
#include "http/tcp.h"
#include "tap.h"

#include <stdlib.h>

static void test_match(void)
{
	struct cairn_bytes rest;
	static const struct {
		const char *pattern, *path;
		bool matches;
	} cases[] = {
		{"/a", "/a", true}, {"/a", "/a/", false}, {"/a", "/ab", false}, {"/a", "", false},
		{"{,/x}/p", "/p", true}, {"{,/x}/p", "/x/p", true}, {"{,/x}/p", "/y/p", false},
		{"/{heap,heapy}", "/heapy", true}, {"/a/*", "/a/", true}, {"/a/*", "/a", false}, {"/a/{b,c}/{d,e}", "/a/c/e", true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ok(cairn_route_match(cases[i].pattern, cairn_bytes_of(cases[i].path), &rest) == cases[i].matches, "%s %s %s",
		   cases[i].pattern, cases[i].matches ? "matches" : "does not match", cases[i].path);
	cairn_route_match("/a/*", cairn_bytes_of("/a/b/c"), &rest);
	ok(cairn_bytes_equal(rest, cairn_bytes_of("b/c")), "the rest is what the star stands for");
}

/* PATTERN with the first of its alternatives and an empty rest. */
static void example_path(const char *pattern, char *out)
{
	for (; *pattern && *pattern != '*'; pattern++) {
		if (*pattern == '{') {
			size_t length = strcspn(pattern + 1, ",}");
			memcpy(out, pattern + 1, length);
			out += length;
			pattern = strchr(pattern, '}');
		} else {
			*out++ = *pattern;
		}
	}
	*out = 0;
}

static void test_rows(void)
{
	struct cairn_response response = {.body = cairn_pages(4096)};
	struct cairn_bytes rest;
	for (size_t i = 0; i < cairn_routes_count; i++) {
		const struct cairn_route *route = &cairn_routes[i];
		char path[128];
		example_path(route->path, path);
		char method[16];
		snprintf(method, sizeof method, "%.*s", route->methods ? (int)strcspn(route->methods, " ") : 3,
			 route->methods ? route->methods : "PUT");
		ok(cairn_route_find(cairn_bytes_of(method), cairn_bytes_of(path), &rest, &response) == route, "%s %s is reached", method,
		   path);
	}
	response.headers[0] = 0;
	ok(!cairn_route_find(cairn_bytes_of("GET"), cairn_bytes_of("/debug/prof/mem"), &rest, &response) && response.status == 405,
	   "GET on a POST route");
	is_text(response.headers, "Allow: POST\r\n", "405 says what is allowed");
	response.headers[0] = 0;
	cairn_route_find(cairn_bytes_of("PUT"), cairn_bytes_of("/debug/prof/mem/gdump"), &rest, &response);
	is_text(response.headers, "Allow: GET, POST\r\n", "of all rows");
	ok(cairn_route_find(cairn_bytes_of("HEAD"), cairn_bytes_of("/cairn/status"), &rest, &response), "HEAD goes where GET goes");
	ok(!cairn_route_find(cairn_bytes_of("ET"), cairn_bytes_of("/cairn/status"), &rest, &response), "a piece of a method is none");
	cairn_route_find(cairn_bytes_of("GET"), cairn_bytes_of("/service/jemalloc/prof/enable"), &rest, &response);
	ok(response.status == 405 && memcmp(response.body.data, "Unsupported method for this command: GET\n", 41) == 0, "userver's words");
	cairn_response_free(&response);
}

static int admit(const char *host, const char *origin, const char *authorization, const char *site, bool local)
{
	struct cairn_request request = {0};
	struct cairn_response response = {.body = cairn_pages(4096)};
	request.host = host ? cairn_bytes_of(host) : request.host;
	request.origin = origin ? cairn_bytes_of(origin) : request.origin;
	request.authorization = authorization ? cairn_bytes_of(authorization) : request.authorization;
	request.fetch_site = site ? cairn_bytes_of(site) : request.fetch_site;
	int status = cairn_admission_check(&cairn_agent, &request, local, &response) ? 200 : response.status;
	cairn_response_free(&response);
	return status;
}

static void test_admission(void)
{
	snprintf(cairn_agent.config.hosts, sizeof cairn_agent.config.hosts, "db.example other.example");
	is_int(admit("127.0.0.1:4000", NULL, NULL, NULL, false), 200, "an address");
	is_int(admit("[::1]:4000", NULL, NULL, NULL, false), 200, "an IPv6 address");
	is_int(admit("LocalHost", NULL, NULL, NULL, false), 200, "localhost");
	is_int(admit("other.example:1", NULL, NULL, NULL, false), 200, "a name from the configuration");
	is_int(admit("evil.example", NULL, NULL, NULL, false), 403, "a rebound name");
	is_int(admit("*", NULL, NULL, NULL, false), 403, "a star is no address");
	static const char *const nobody[] = {"0.0.0.0", "0.0.0.0:4000", "0.1.2.3", "[::]", "[::]:4000",
					     "[0:0::0]", "[::ffff:0.0.0.0]", "0", "[::", ""};
	for (size_t i = 0; i < sizeof nobody / sizeof *nobody; i++)
		is_int(admit(nobody[i], NULL, NULL, NULL, false), 403, "'%s' is nobody's address", nobody[i]);
	is_int(admit("evil.example", NULL, NULL, NULL, true), 200, "the unix socket needs none of it");
	is_int(admit("localhost:1", "http://evil.example", NULL, NULL, false), 403, "another origin");
	is_int(admit("localhost:1", "null", NULL, NULL, false), 403, "an opaque origin");
	is_int(admit("localhost:1", "http://localhost:1", NULL, NULL, false), 200, "our own page");
	is_int(admit("localhost:1", NULL, NULL, "cross-site", false), 403, "a link from another site");
	is_int(admit("localhost:1", NULL, NULL, "same-site", false), 403, "a link from another port of this machine");
	is_int(admit("localhost:1", NULL, NULL, "", false), 403, "a browser that says nothing");
	is_int(admit("localhost:1", NULL, NULL, "same-origin", false), 200, "a link from a page of ours");
	is_int(admit("localhost:1", NULL, NULL, "none", false), 200, "an address that was typed");
	snprintf(cairn_agent.config.token, sizeof cairn_agent.config.token, "secret");
	is_int(admit("localhost", NULL, NULL, NULL, false), 401, "no token");
	is_int(admit("localhost", NULL, "Bearer secre", NULL, false), 401, "a short token");
	is_int(admit("localhost", NULL, "Bearer secretx", NULL, false), 401, "a long token");
	is_int(admit("localhost", NULL, "Basic secret", NULL, false), 401, "another scheme");
	is_int(admit("any.example", NULL, "Bearer secret", NULL, false), 200, "the token, under any name");
	is_int(admit("any.example", NULL, "bearer secret", NULL, false), 200, "with the scheme in any case");
}

static int admit_exchange(const char *path, const char *site, const char *user_agent, bool local)
{
	struct cairn_exchange exchange = {.local = local, .response.body = cairn_pages(4096)};
	size_t maximum;
	exchange.request = (struct cairn_request){.method = cairn_bytes_of("GET"),
						  .path = cairn_bytes_of(path),
						  .host = cairn_bytes_of("localhost"),
						  .user_agent = cairn_bytes_of(user_agent)};
	if (site)
		exchange.request.fetch_site = cairn_bytes_of(site);
	int status = cairn_admission_admit(&cairn_agent, &exchange, &maximum) ? 200 : exchange.response.status;
	cairn_response_free(&exchange.response);
	return status;
}

/* A GET that changes something is for those who mean it. */
static void test_effects(void)
{
	static const char *const effects[] = {"/debug/pprof/heap_activate", "/debug/pprof/heap_deactivate",
					      "/api/monitor/dump_heap_profile/0"};
	static const char browser[] = "Mozilla/5.0 (X11; Linux x86_64)";
	cairn_agent.config.token[0] = 0;
	for (size_t i = 0; i < sizeof effects / sizeof *effects; i++) {
		is_int(admit_exchange(effects[i], NULL, "curl/8", false), 200, "%s by curl", effects[i]);
		is_int(admit_exchange(effects[i], NULL, browser, false), 403, "%s by a browser that does not say who asked", effects[i]);
		is_int(admit_exchange(effects[i], "none", browser, false), 200, "%s by a browser's user", effects[i]);
		is_int(admit_exchange(effects[i], "same-origin", browser, false), 200, "%s by our own page", effects[i]);
		is_int(admit_exchange(effects[i], "same-site", browser, false), 403, "%s by a neighbour's page", effects[i]);
		is_int(admit_exchange(effects[i], NULL, browser, true), 200, "%s through the unix socket", effects[i]);
	}
	is_int(admit_exchange("/debug/pprof/heap_list", NULL, browser, false), 200, "what only looks is for any browser");
}

/* Whoever asks through the service's own server has not come through the agent's socket. */
static void test_own_socket(void)
{
	static const char *const targets[] = {"/cairn/detach", "/cairn/detach?pid=1"};
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		struct cairn_request request = {.method = cairn_bytes_of("POST")};
		struct cairn_response response = {.body = cairn_pages(4096)};
		cairn_request_target(&request, cairn_bytes_of(targets[i]));
		cairn_admission_answer(&request, &response);
		is_int(response.status, 403, "%s by cairn_answer", targets[i]);
		cairn_response_free(&response);
	}
}

static void test_listen(void)
{
	char host[64];
	unsigned port;
	ok(cairn_tcp_parse("127.0.0.1:4000", host, sizeof host, false, &port) && strcmp(host, "127.0.0.1") == 0 && port == 4000,
	   "address and port");
	ok(cairn_tcp_parse(":80", host, sizeof host, false, &port) && strcmp(host, "127.0.0.1") == 0, "a port alone is loopback");
	ok(cairn_tcp_parse("80", host, sizeof host, false, &port) && strcmp(host, "127.0.0.1") == 0, "with or without its colon");
	ok(cairn_tcp_parse("[::1]:80", host, sizeof host, false, &port) && strcmp(host, "::1") == 0, "IPv6 in brackets");
	ok(!cairn_tcp_parse("::1:80", host, sizeof host, false, &port), "and not without");
	ok(!cairn_tcp_parse("h:0", host, sizeof host, false, &port) && !cairn_tcp_parse("h:65536", host, sizeof host, false, &port) &&
	   !cairn_tcp_parse("h:", host, sizeof host, false, &port) && !cairn_tcp_parse("", host, sizeof host, false, &port), "wrong ports");
}

static void test_symbols(void)
{
	struct cairn_buffer out = cairn_pages(1 << 20);
	is_int(cairn_symbols_parse(cairn_bytes_of("0x10+0x20+0x20"), 10, &out), 3, "three addresses");
	ok(out.length == 10 && memcmp(out.data, "0x10\n0x20\n", 10) == 0, "a repeat is written once");
	static const char *const wrong[] = {"0x", "10", "0x10+", "0x0", "0x10,0x20", "+0x10", "0x10++0x20", "0x11112222333344445"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ok(cairn_symbols_parse(cairn_bytes_of(wrong[i]), 10, &out) == SIZE_MAX, "'%s' is refused", wrong[i]);
	is_int(cairn_symbols_parse(cairn_bytes_of(" \n"), 10, &out), 0, "nothing is none");
	is_int(cairn_symbols_parse(cairn_bytes_of("0x1+0x2+0x3"), 2, &out), 3, "too many");
	cairn_buffer_free(&out);
}

int main(void)
{
	test_match();
	test_rows();
	test_admission();
	test_effects();
	test_own_socket();
	test_listen();
	test_symbols();
	return tap_done();
}
