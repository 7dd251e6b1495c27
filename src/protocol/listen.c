/* listen.c - makes the listening sockets.
 * SPDX-License-Identifier: Apache-2.0 */
#include "protocol/listen.h"

#include "base/descriptor.h"
#include "base/entries.h"
#include "base/text.h"
#include "base/time.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { backlog = 64 };

static bool is_ours_alone(const char *path)
{
	struct stat status;
	return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & 077) == 0 &&
	       access(path, W_OK | X_OK) == 0;
}

/* Whether what is created in PATH is safe: only this user and root can write there. XDG_RUNTIME_DIR of another user, which sudo may pass
 * on, is not such a folder. */
static bool is_own_folder(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && (status.st_uid == geteuid() || status.st_uid == 0) &&
	       (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Whether PATH is a folder of this user that nobody else can enter; creates it if necessary. */
static bool claim_folder(const char *path)
{
	if (mkdir(path, 0700) == 0)
		chmod(path, 0700); /* whatever the umask was */
	return is_ours_alone(path);
}

enum { folders_most = 4, folder_size = sizeof((struct cairn_listen *)0)->folder };

/* The folders for the socket, in order of preference; "" for one that is not possible. */
static void list_folders(const char *runtime, char folders[folders_most][folder_size])
{
	memset(folders, 0, (size_t)folders_most * folder_size);
	if (runtime && runtime[0] == '/' && strlen(runtime) <= 60 &&
	    is_own_folder(runtime)) /* with the socket's name it has to fit into an address */
		snprintf(folders[0], folder_size, "%s/cairn", runtime);
	if (geteuid() == 0)
		snprintf(folders[1], folder_size, "/run/cairn");
	snprintf(folders[2], folder_size, "/tmp/cairn-%u", geteuid());
	snprintf(folders[3], folder_size, "/dev/shm/cairn-%u", geteuid()); /* writable where nothing else is */
}

void cairn_listen_folder(struct cairn_listen *place, const char *runtime)
{
	char tried[folders_most][folder_size];
	list_folders(runtime, tried);
	for (int i = 0; i < folders_most; i++)
		if (tried[i][0] && claim_folder(tried[i])) {
			if (strcmp(place->folder, tried[i]) != 0)
				memcpy(place->folder, tried[i], sizeof place->folder);
			return;
		}
	place->folder[0] = 0;
	snprintf(place->local_problem, sizeof place->local_problem, "no folder for a socket: %s is not ours alone or cannot be made",
		 tried[2]);
}

static bool answers(const char *path)
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

/* Removes the sockets of processes that were killed, and nothing else. A socket that another agent has just bound and does not listen on
 * yet looks the same, so the folder is locked while an agent does that, and not swept. */
static void sweep(const char *path_of_folder, int folder)
{
	struct cairn_entries entries;
	if (flock(folder, LOCK_EX | LOCK_NB) != 0)
		return;
	cairn_entries_start(&entries, folder);
	for (const struct dirent64 *entry; (entry = cairn_entries_next(&entries));) {
		char path[108 + 256];
		snprintf(path, sizeof path, "%s/%s", path_of_folder, entry->d_name);
		if (entry->d_type == DT_SOCK && strlen(path) < 108 && !answers(path))
			unlinkat(folder, entry->d_name, 0);
	}
}

void cairn_listen_tidy(const char *runtime)
{
	char folders[folders_most][folder_size];
	list_folders(runtime, folders);
	for (int i = 0; i < folders_most; i++) {
		int folder = folders[i][0] && is_ours_alone(folders[i]) ? open(folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
		if (folder < 0)
			continue;
		sweep(folders[i], folder);
		close(folder);
	}
}

/* Keeps other processes from sweeping the folder. Sweeping takes milliseconds; a process that was stopped while it swept is not waited
 * for. */
static void hold(int folder)
{
	for (int i = 0; i < 50 && flock(folder, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
		nanosleep(&(struct timespec){.tv_nsec = 10 * CAIRN_MILLISECOND_NS}, NULL);
}

/* Without a folder, the socket has an abstract name, which anybody in the network namespace can connect to; the server checks who
 * connects. */
static int listen_abstract(struct cairn_listen *place)
{
	int descriptor = cairn_descriptor_adopt(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	bool bound = false;
	for (int i = 0; i < 16 && descriptor >= 0 && !bound; i++) {
		snprintf(place->name, sizeof place->name, i ? "%d-%d.sock" : "%d.sock", getpid(), i + 1);
		int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "cairn/%s", place->name);
		bound = bind(descriptor, (struct sockaddr *)&address,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0;
	}
	if (!bound || listen(descriptor, backlog) != 0) {
		cairn_descriptor_close(descriptor); /* the problem is the missing folder, which has been reported */
		return -1;
	}
	snprintf(place->path, sizeof place->path, "@%s", address.sun_path + 1);
	place->local_problem[0] = 0;
	return descriptor;
}

int cairn_listen_local(struct cairn_listen *place)
{
	if (!place->folder[0])
		return listen_abstract(place);
	int folder = cairn_descriptor_adopt(
		open(place->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)); /* a child must not inherit the lock */
	if (folder >= 0) {
		sweep(place->folder, folder);
		hold(folder);
	}
	int descriptor = cairn_descriptor_adopt(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	bool bound = false;
	/* A live process of another PID namespace that shares the folder may have the name. */
	for (int i = 0; i < 16 && descriptor >= 0 && !bound; i++) {
		snprintf(place->name, sizeof place->name, i ? "%d-%d.sock" : "%d.sock", getpid(), i + 1);
		snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", place->folder, place->name);
		fchmod(descriptor, 0600); /* before bind: there is no moment at which others could connect */
		bound = bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0;
		if (!bound && errno != EADDRINUSE)
			break;
	}
	bool listening = bound && listen(descriptor, backlog) == 0;
	int code = errno;
	cairn_descriptor_close(folder);
	if (!listening) {
		snprintf(place->local_problem, sizeof place->local_problem, "%s: %s", address.sun_path, cairn_errno_text(code));
		cairn_descriptor_close(descriptor);
		return listen_abstract(place);
	}
	snprintf(place->path, sizeof place->path, "%s", address.sun_path);
	place->local_problem[0] = 0;
	place->folder_descriptor = cairn_descriptor_adopt(open(place->folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
	return descriptor;
}

void cairn_listen_remove(struct cairn_listen *place)
{
	if (!place->path[0] || place->path[0] == '@') {
		place->path[0] = 0;
		return;
	}
	if (place->folder_descriptor < 0 || unlinkat(place->folder_descriptor, place->name, 0) != 0)
		unlink(place->path);
	place->path[0] = 0;
}

bool cairn_listen_parse(const char *text, char *host, size_t size, unsigned *port)
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
	if (length >= size || !cairn_text_decimal(&number, &value) || number.length > 0 || value == 0 || value > 65535)
		return false;
	snprintf(host, size, "%.*s", (int)length, text);
	if (length == 0 || strcasecmp(host, "localhost") == 0)
		snprintf(host, size, "127.0.0.1");
	*port = (unsigned)value;
	return true;
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Accepts numeric addresses only: resolving names would bring the host's resolver, its files and its malloc into our thread. */
static socklen_t make_address(union address *address, const char *host, unsigned port, bool *loopback)
{
	*address = (union address){0};
	if (inet_pton(AF_INET, strcmp(host, "*") == 0 ? "0.0.0.0" : host, &address->v4.sin_addr) == 1) {
		address->v4.sin_family = AF_INET;
		address->v4.sin_port = htons((uint16_t)port);
		*loopback = (ntohl(address->v4.sin_addr.s_addr) >> 24) == 127;
		return sizeof address->v4;
	}
	*address = (union address){0};
	if (inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1) {
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = htons((uint16_t)port);
		*loopback = IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
		return sizeof address->v6;
	}
	return 0;
}

struct endpoint {
	char host[64];
	unsigned port;
	union address address;
	socklen_t size;
	bool loopback;
};

/* Returns what is wrong with TEXT, or NULL after filling in ENDPOINT. */
static const char *read_endpoint(const char *text, struct endpoint *endpoint)
{
	if (!cairn_listen_parse(text, endpoint->host, sizeof endpoint->host, &endpoint->port))
		return "not address:port";
	endpoint->size = make_address(&endpoint->address, endpoint->host, endpoint->port, &endpoint->loopback);
	return endpoint->size ? NULL : "use a numeric address or localhost";
}

const char *cairn_listen_check(const char *text)
{
	return read_endpoint(text, &(struct endpoint){0});
}

/* A page of any site can reach this machine as 0.0.0.0 or the like, a name that belongs to nobody. */
static bool is_unspecified(const union address *address)
{
	if (address->any.sa_family == AF_INET)
		return ntohl(address->v4.sin_addr.s_addr) >> 24 == 0;
	const struct in6_addr *v6 = &address->v6.sin6_addr;
	return IN6_IS_ADDR_UNSPECIFIED(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 0);
}

static int refuse_tcp(struct cairn_listen *place, const char *address, const char *why)
{
	snprintf(place->tcp_problem, sizeof place->tcp_problem, "%.100s: %s", address, why);
	return -1;
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

int cairn_listen_tcp(struct cairn_listen *place, const struct cairn_config *config)
{
	struct endpoint endpoint;
	place->tcp_shown[0] = 0;
	if (!config->listen[0])
		return -1;
	const char *wrong = read_endpoint(config->listen, &endpoint);
	if (wrong)
		return refuse_tcp(place, config->listen, wrong);
	if (config->token_unusable)
		return refuse_tcp(place, config->listen, "the token cannot be used");
	place->tcp_needs_token = !endpoint.loopback && !config->token[0];
	if (place->tcp_needs_token)
		return refuse_tcp(place, config->listen, "not a loopback address; set a token to listen there");
	int descriptor = cairn_descriptor_adopt(socket(endpoint.address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (descriptor < 0)
		return refuse_tcp(place, config->listen, cairn_errno_text(errno));
	setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	prepare_for_strangers(descriptor);
	if (bind(descriptor, &endpoint.address.any, endpoint.size) != 0 || listen(descriptor, backlog) != 0) {
		refuse_tcp(place, config->listen, cairn_errno_text(errno));
		cairn_descriptor_close(descriptor);
		return -1;
	}
	place->tcp_problem[0] = 0;
	snprintf(place->tcp_shown, sizeof place->tcp_shown, strchr(endpoint.host, ':') ? "[%s]:%u" : "%s:%u", endpoint.host, endpoint.port);
	return descriptor;
}

static bool equals(struct cairn_bytes a, const char *b, size_t length)
{
	return a.length == length && strncasecmp(a.data, b, length) == 0;
}

bool cairn_listen_host_is_ours(struct cairn_bytes host, const char *extra)
{
	char name[64] = "";
	union address address;
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
