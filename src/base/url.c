/* url.c - escaping what an address has no letters for, and keeping users and passwords apart.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/url.h"

#include "base/arena.h"

#include <strings.h>

/* Whatever the locale calls letters. */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c);
}

void cairn_url_name(struct cairn_buffer *out, const char *name)
{
	for (; *name; name++) {
		if (is_plain(*name))
			cairn_buffer_byte(out, *name);
		else
			cairn_buffer_format(out, "%%%02X", (unsigned char)*name);
	}
}

/* What was set aside for one server. All of it lives as long as the process. */
struct kept {
	struct cairn_bytes origin; /* SCHEME://HOST:PORT */
	const char *credentials;
	struct kept *next;
};
static struct kept *all_kept;
static struct cairn_arena memory;

/* Where the scheme of the URL in TEXT begins, and in *AUTHORITY what follows its ://; NULL where there is no URL. */
static const char *find_url(const char *text, const char **authority)
{
	const char *colon = strstr(text, "://"), *scheme = colon;
	while (colon && scheme > text && is_plain(scheme[-1]))
		scheme--;
	*authority = colon ? colon + 3 : NULL;
	return scheme < colon ? scheme : NULL;
}

static struct cairn_bytes origin_of(const char *url, const char *host)
{
	return (struct cairn_bytes){url, (size_t)(host - url) + strcspn(host, "/?#")};
}

static const struct kept *find_kept(struct cairn_bytes origin)
{
	const struct kept *found = all_kept;
	while (found && !cairn_bytes_equal(found->origin, origin))
		found = found->next;
	return found;
}

bool cairn_url_set_aside(char *text, struct cairn_error *error)
{
	const char *authority, *url = find_url(text, &authority);
	/* An @ that belongs to the password should be escaped, as should all that ends a host, but often is not. */
	const char *at = url ? memrchr(authority, '@', strcspn(authority, "/ ")) : NULL;
	if (!at)
		return true;
	size_t length = (size_t)(at - authority), rest = strlen(at + 1);
	const char *credentials = cairn_arena_text(&memory, (struct cairn_bytes){authority, length});
	char *host = text + (authority - text);
	memmove(host, at + 1, rest);
	memset(host + rest, 0, length + 1);
	struct cairn_bytes origin = origin_of(url, host);
	const struct kept *earlier = find_kept(origin);
	if (earlier)
		return strcmp(earlier->credentials, credentials) == 0 ||
		       cairn_fail_usage(error, "%.*s is given with two users or passwords; give one", (int)origin.length, origin.data);
	struct kept *kept = cairn_arena_alloc(&memory, sizeof *kept);
	*kept = (struct kept){cairn_arena_keep(&memory, origin), credentials, all_kept};
	all_kept = kept;
	return true;
}

const char *cairn_url_credentials(const char *url)
{
	const char *authority, *start = find_url(url, &authority);
	const struct kept *found = start ? find_kept(origin_of(start, authority)) : NULL;
	return found ? found->credentials : NULL;
}

void cairn_url_restore(struct cairn_buffer *out, const char *url)
{
	const char *credentials = cairn_url_credentials(url), *authority = url;
	if (credentials) {
		find_url(url, &authority);
		cairn_buffer_append(out, url, (size_t)(authority - url));
		cairn_buffer_format(out, "%s@", credentials);
	}
	cairn_buffer_text(out, authority);
}

/* HOST:PORT of URL. *SECURE says whether its scheme is https. */
static struct cairn_bytes server_of(const char *url, bool *secure)
{
	size_t scheme = strcspn(url, ":/?#");
	bool given = strncmp(url + scheme, "://", 3) == 0;
	*secure = given && scheme == 5 && strncasecmp(url, "https", 5) == 0;
	const char *host = given ? url + scheme + 3 : url;
	return (struct cairn_bytes){host, strcspn(host, "/?#")};
}

bool cairn_url_same_server(const char *url, const char *other)
{
	bool secure, other_secure;
	struct cairn_bytes server = server_of(url, &secure), other_server = server_of(other, &other_secure);
	return secure == other_secure && server.length == other_server.length &&
	       strncasecmp(server.data, other_server.data, server.length) == 0;
}
