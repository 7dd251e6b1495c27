/* access.c - the rules, and the table of what each server allows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/access.h"

#include "http/tcp.h"

static const struct rules {
	bool own_pages;   /* pages that the server itself served may ask; otherwise no page may */
	bool by_header;   /* what changes something needs the header X-Cairn, which a page of another site cannot send */
	bool by_browser;  /* what changes something must come from no browser, or from one that says that its user meant it */
	struct cairn_refusal host, origin, site, token, change;
} table[] = {
	[CAIRN_ACCESS_AGENT] = {
		.own_pages = true,
		.by_browser = true,
		.host = {403, "unknown Host; use an address or localhost, or add the name to `hosts`"},
		.origin = {403, "requests from other origins are not answered"},
		.site = {403, "requests from other sites are not answered"},
		.token = {401, "the token is missing or wrong; cairn takes it from --token TOKEN or CAIRN_TOKEN, other clients send "
			       "Authorization: Bearer TOKEN"},
		.change = {403, "this request changes something, and the browser does not show that you made it; use curl or the cairn "
				"command"},
	},
	[CAIRN_ACCESS_SERVE] = {
		.own_pages = true,
		.by_header = true,
		.host = {403, "unknown Host; use the address that 'cairn serve' printed"},
		.origin = {403, "requests from pages of other sites are not answered"},
		.site = {403, "requests from other sites are not answered"},
		.token = {401, "the token is missing or wrong; open the address that 'cairn serve' printed, or send Authorization: Bearer "
			       "TOKEN"},
		.change = {403, "requests that change something need the header X-Cairn: 1"},
	},
	[CAIRN_ACCESS_COLLECTOR] = { /* its senders are no browsers */
		.host = {403, "this collector answers neither browsers nor requests for another host name"},
		.origin = {403, "this collector answers neither browsers nor requests for another host name"},
		.site = {403, "this collector answers neither browsers nor requests for another host name"},
		.token = {401, "the token is missing or wrong; cairn takes it from CAIRN_COLLECTOR_TOKEN, other clients send Authorization: "
			       "Bearer TOKEN"},
	},
};

/* Whether the request was typed, bookmarked or sent by a page of this origin, according to the browser. */
static bool is_direct(const struct cairn_request *request)
{
	struct cairn_bytes site = request->fetch_site;
	return cairn_bytes_equal(site, cairn_bytes_of("none")) || cairn_bytes_equal(site, cairn_bytes_of("same-origin"));
}

/* Whether a page of the same host sent it. A server with a token may be behind one that adds TLS. */
static bool is_own_origin(const struct cairn_access *access, const struct cairn_request *request)
{
	struct cairn_bytes origin = request->origin;
	size_t scheme = cairn_bytes_start_with(origin, "http://")			    ? 7
			: access->asks_token && cairn_bytes_start_with(origin, "https://") ? 8
											    : 0;
	return scheme && request->host.data && cairn_bytes_equal(cairn_bytes_skip(origin, scheme), request->host);
}

const struct cairn_refusal *cairn_access_check(const struct cairn_access *access, const struct cairn_request *request)
{
	const struct rules *rules = &table[access->server];
	if (access->hosts && request->host.data && !cairn_tcp_host_is_ours(request->host, access->hosts))
		return &rules->host;
	if (request->origin.data && !(rules->own_pages && is_own_origin(access, request)))
		return &rules->origin;
	if (access->is_open)
		return NULL;
	if (request->fetch_site.data && !access->visits && !is_direct(request))
		return &rules->site;
	if (access->asks_token && !access->has_token(access->context, request))
		return &rules->token;
	return NULL;
}

const struct cairn_refusal *cairn_access_check_change(enum cairn_access_server server, const struct cairn_request *request)
{
	const struct rules *rules = &table[server];
	bool by_browser = request->fetch_site.data ? is_direct(request) : !cairn_bytes_start_with(request->user_agent, "Mozilla/");
	if ((rules->by_header && !request->cairn.data) || (rules->by_browser && !by_browser))
		return &rules->change;
	return NULL;
}

void cairn_access_refuse(const struct cairn_refusal *refusal, struct cairn_response *response)
{
	if (refusal->status == 401)
		cairn_response_header(response, "WWW-Authenticate", "Bearer");
	cairn_response_text(response, refusal->status, CAIRN_TEXT, "%s\n", refusal->why);
}
