/* access_test.c - requests as browsers, tricked browsers and other clients send them, against each of the three servers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/access.h"

#include "tap.h"

static bool has_token(void *context, const struct cairn_request *request)
{
	(void)context;
	return cairn_token_equal(cairn_request_token(request), "secret");
}

static struct cairn_bytes given(const char *text)
{
	return text ? cairn_bytes_of(text) : (struct cairn_bytes){0};
}

/* What a server says to such a request: 0 if it may be answered. */
static int status_of(struct cairn_access access, const char *host, const char *origin, const char *site, const char *token)
{
	struct cairn_request request = {.host = given(host), .origin = given(origin), .fetch_site = given(site), .authorization = given(token)};
	access.has_token = has_token;
	const struct cairn_refusal *refusal = cairn_access_check(&access, &request);
	return refusal ? refusal->status : 0;
}

static void test_check(void)
{
	static const char mine[] = "127.0.0.1:80", token[] = "Bearer secret";
	const struct cairn_access agent = {.server = CAIRN_ACCESS_AGENT, .hosts = "metrics.example"},
		with_token = {.server = CAIRN_ACCESS_AGENT, .asks_token = true}, serve = {.server = CAIRN_ACCESS_SERVE, .hosts = "", .asks_token = true},
		page = {.server = CAIRN_ACCESS_SERVE, .hosts = "", .asks_token = true, .is_open = true},
		visit = {.server = CAIRN_ACCESS_SERVE, .hosts = "", .asks_token = true, .visits = true},
		collector = {.server = CAIRN_ACCESS_COLLECTOR, .hosts = ""};
	const struct {
		const char *what;
		struct cairn_access access;
		const char *host, *origin, *site, *token;
		int status;
	} cases[] = {
		{"curl asks an agent on loopback", agent, mine, NULL, NULL, NULL, 0},
		{"HTTP/1.0 has no Host", agent, NULL, NULL, NULL, NULL, 0},
		{"a name that the agent was told", agent, "metrics.example:80", NULL, NULL, NULL, 0},
		{"a name that a page made up for this address", agent, "evil.example:80", NULL, NULL, NULL, 403},
		{"an address that belongs to nobody", agent, "0.0.0.0:80", NULL, NULL, NULL, 403},
		{"our own page", agent, mine, "http://127.0.0.1:80", "same-origin", NULL, 0},
		{"another port of this host", agent, mine, "http://127.0.0.1:81", NULL, NULL, 403},
		{"a page over TLS, where nothing adds TLS", agent, mine, "https://127.0.0.1:80", NULL, NULL, 403},
		{"a page in a sandbox", agent, mine, "null", NULL, NULL, 403},
		{"a link on another site", agent, mine, NULL, "cross-site", NULL, 403},
		{"a page on another port", agent, mine, NULL, "same-site", NULL, 403},
		{"typed into a browser", agent, mine, NULL, "none", NULL, 0},
		{"an agent with a token, without one", with_token, mine, NULL, NULL, NULL, 401},
		{"with another", with_token, mine, NULL, NULL, "Bearer secre", 401},
		{"with it, by any name", with_token, "agent.internal", NULL, NULL, token, 0},
		{"through a proxy that adds TLS", with_token, "agent.internal", "https://agent.internal", "same-origin", token, 0},
		{"with it, from a page of another site", with_token, mine, "http://evil.example", NULL, token, 403},
		{"serve, without the token", serve, mine, NULL, NULL, NULL, 401},
		{"serve, with it", serve, mine, NULL, "same-origin", token, 0},
		{"serve, with it, by a made-up name", serve, "evil.example", NULL, NULL, token, 403},
		{"the page itself, from a link", page, mine, NULL, "cross-site", NULL, 0},
		{"the page itself, fetched by another", page, mine, "http://evil.example", "cross-site", NULL, 403},
		{"the address with the token, from a chat", visit, mine, NULL, "cross-site", token, 0},
		{"that address with a wrong token", visit, mine, NULL, "cross-site", NULL, 401},
		{"a sender to a collector", collector, mine, NULL, NULL, NULL, 0},
		{"a page of the collector's own host", collector, mine, "http://127.0.0.1:80", NULL, NULL, 403},
		{"any page", collector, mine, NULL, "cross-site", NULL, 403},
		{"another host's name", collector, "evil.example", NULL, NULL, NULL, 403},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		is_int(status_of(cases[i].access, cases[i].host, cases[i].origin, cases[i].site, cases[i].token), cases[i].status, "%s",
		       cases[i].what);
}

static void test_change(void)
{
	const struct {
		const char *what, *site, *agent, *header;
		bool by_agent, by_serve;
	} cases[] = {
		{"curl", NULL, "curl/8", NULL, true, false},
		{"curl with the header", NULL, "curl/8", "1", true, true},
		{"a browser that says nothing", NULL, "Mozilla/5.0", NULL, false, false},
		{"a browser whose user typed it", "none", "Mozilla/5.0", NULL, true, false},
		{"a page of another site", "cross-site", "Mozilla/5.0", NULL, false, false},
		{"our own page", "same-origin", "Mozilla/5.0", "1", true, true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cairn_request request = {
			.fetch_site = given(cases[i].site), .user_agent = given(cases[i].agent), .cairn = given(cases[i].header)};
		is_int(!cairn_access_check_change(CAIRN_ACCESS_AGENT, &request), cases[i].by_agent, "changes an agent: %s", cases[i].what);
		is_int(!cairn_access_check_change(CAIRN_ACCESS_SERVE, &request), cases[i].by_serve, "changes what is served: %s", cases[i].what);
	}
}

int main(void)
{
	test_check();
	test_change();
	return tap_done();
}
