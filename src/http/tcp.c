/* tcp.c - addresses, and sockets that listen.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/tcp.h"

#include "base/descriptor.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { backlog = 64 };

bool cairn_tcp_parse(const char *text, char *host, size_t size, bool any_port, unsigned *port)
{
	const char *colon = strrchr(text, ':');
	struct cairn_bytes number = cairn_bytes_of(colon ? colon + 1 : text);
	size_t length = colon ? (size_t)(colon - text) : 0;
	if (length > 0 && text[0] == '[') {
		if (text[length - 1] != ']')
			return false;
		text++;
		length -= 2;
	} else if (length > 0 && memchr(text, ':', length)) {
		return false; /* an IPv6 address needs its brackets */
	}
	uint64_t value;
	if (length >= size || !cairn_text_decimal(&number, &value) || number.length > 0 || (value == 0 && !any_port) || value > 65535)
		return false;
	snprintf(host, size, "%.*s", (int)length, text);
	if (length == 0 || strcasecmp(host, "localhost") == 0)
		snprintf(host, size, "127.0.0.1");
	*port = (unsigned)value;
	return true;
}

static socklen_t make_address(union cairn_tcp_address *address, const char *host, unsigned port, bool *loopback)
{
	*address = (union cairn_tcp_address){0};
	if (inet_pton(AF_INET, strcmp(host, "*") == 0 ? "0.0.0.0" : host, &address->v4.sin_addr) == 1) {
		address->v4.sin_family = AF_INET;
		address->v4.sin_port = htons((uint16_t)port);
		*loopback = (ntohl(address->v4.sin_addr.s_addr) >> 24) == 127;
		return sizeof address->v4;
	}
	*address = (union cairn_tcp_address){0};
	if (inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1) {
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = htons((uint16_t)port);
		*loopback = IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
		return sizeof address->v6;
	}
	return 0;
}

const char *cairn_tcp_read(struct cairn_tcp *tcp, const char *text, bool any_port)
{
	if (!cairn_tcp_parse(text, tcp->host, sizeof tcp->host, any_port, &tcp->port))
		return "not address:port";
	tcp->size = make_address(&tcp->address, tcp->host, tcp->port, &tcp->loopback);
	return tcp->size ? NULL : "use a numeric address or localhost";
}

char *cairn_tcp_show(const struct cairn_tcp *tcp, char out[CAIRN_TCP_SHOWN])
{
	snprintf(out, CAIRN_TCP_SHOWN, strchr(tcp->host, ':') ? "[%s]:%u" : "%s:%u", tcp->host, tcp->port);
	return out;
}

/* Options that every connection inherits: a client whose machine has vanished is noticed while its call waits, and the kernel buffers
 * little for a client that does not read, or that we do not read from. */
static void prepare_for_strangers(int listener)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1}, {IPPROTO_TCP, TCP_KEEPIDLE, 15}, {IPPROTO_TCP, TCP_KEEPINTVL, 5},
		{IPPROTO_TCP, TCP_KEEPCNT, 3}, {SOL_SOCKET, SO_SNDBUF, 256 << 10}, {SOL_SOCKET, SO_RCVBUF, 128 << 10},
	};
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		setsockopt(listener, options[i].level, options[i].name, &options[i].value, sizeof options[i].value);
}

/* Listens on DESCRIPTOR, which is BOUND; closes it and keeps errno if that fails. */
static int start(int descriptor, bool bound)
{
	if (bound && listen(descriptor, backlog) == 0)
		return descriptor;
	int code = errno;
	cairn_descriptor_close(descriptor);
	errno = code;
	return -1;
}

int cairn_tcp_listen(struct cairn_tcp *tcp)
{
	int descriptor = cairn_descriptor_adopt(socket(tcp->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (descriptor < 0)
		return -1;
	setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	prepare_for_strangers(descriptor);
	descriptor = start(descriptor, bind(descriptor, &tcp->address.any, tcp->size) == 0);
	union cairn_tcp_address bound;
	socklen_t size = sizeof bound;
	if (descriptor >= 0 && getsockname(descriptor, &bound.any, &size) == 0) /* v6 has the port in the same place */
		tcp->port = ntohs(bound.v4.sin_port);
	return descriptor;
}

bool cairn_unix_answers(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int socket_descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (socket_descriptor < 0)
		return true; /* cannot tell, so leave it alone */
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	bool refused = connect(socket_descriptor, (struct sockaddr *)&address, sizeof address) != 0 && errno == ECONNREFUSED;
	close(socket_descriptor);
	return !refused;
}

int cairn_unix_listen(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat status;
	size_t length = strlen(path);
	bool abstract = path[0] == '@';
	errno = ENAMETOOLONG;
	if (length >= sizeof address.sun_path)
		return -1;
	memcpy(address.sun_path, path, length + 1);
	if (abstract)
		address.sun_path[0] = 0;
	else if (stat(path, &status) == 0 && S_ISSOCK(status.st_mode) && !cairn_unix_answers(path))
		unlink(path);
	int descriptor = cairn_descriptor_adopt(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (descriptor < 0)
		return -1;
	fchmod(descriptor, 0600); /* before bind: there is no moment at which others could connect */
	size_t size = abstract ? offsetof(struct sockaddr_un, sun_path) + length : sizeof address;
	return start(descriptor, bind(descriptor, (struct sockaddr *)&address, (socklen_t)size) == 0);
}

/* A page of any site can reach this machine as 0.0.0.0 or the like, a name that belongs to nobody. */
static bool is_unspecified(const union cairn_tcp_address *address)
{
	if (address->any.sa_family == AF_INET)
		return ntohl(address->v4.sin_addr.s_addr) >> 24 == 0;
	const struct in6_addr *v6 = &address->v6.sin6_addr;
	return IN6_IS_ADDR_UNSPECIFIED(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 0);
}

static bool equals(struct cairn_bytes a, const char *b, size_t length)
{
	return a.length == length && strncasecmp(a.data, b, length) == 0;
}

bool cairn_tcp_host_is_ours(struct cairn_bytes host, const char *extra)
{
	char name[64] = "";
	union cairn_tcp_address address;
	bool loopback;
	if (host.length > 0 && host.data[0] == '[') {
		const char *end = memchr(host.data, ']', host.length);
		if (!end)
			return false;
		host = (struct cairn_bytes){host.data + 1, (size_t)(end - host.data) - 1};
	} else {
		const char *colon = host.length ? memchr(host.data, ':', host.length) : NULL;
		if (colon)
			host.length = (size_t)(colon - host.data);
	}
	if (host.length == 0 || host.length >= sizeof name)
		return false;
	memcpy(name, host.data, host.length);
	if (name[0] != '*' && make_address(&address, name, 1, &loopback))
		return !is_unspecified(&address);
	if (equals(host, "localhost", 9) || (gethostname(name, sizeof name - 1) == 0 && equals(host, name, strlen(name))))
		return true;
	for (size_t length; *extra; extra += length + strspn(extra + length, " ")) {
		length = strcspn(extra, " ");
		if (length > 0 && equals(host, extra, length))
			return true;
	}
	return false;
}
