/* serve.c - `cairn serve`: the live page.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/condition.h"
#include "base/descriptor.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/time.h"
#include "cmd/command.h"
#include "fleet/serve/pyroscope.h"
#include "fleet/serve/route.h"
#include "fleet/serve/store.h"
#include "fleet/serve/work.h"
#include "http/tcp.h"
#include "live/page_dump.h"
#include "live/service.h"
#include "process/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT(member) offsetof(struct cairn_serve_options, member)

static const struct cairn_option table[] = {
	{0, "listen", "ADDRESS", "listen on HOST:PORT, or on a unix socket at PATH (default: 127.0.0.1:0, any free port)",
	 CAIRN_OPTION_TEXT, AT(listen), 0},
	{0, "every", "TIME", "time between two snapshots (default: 5s, and at least 20 times what a snapshot costs)", CAIRN_OPTION_TEXT,
	 AT(every), 0},
	{0, "keep", "TIME", "keep dumps for this long (default: 2h for processes, 1d of a store, all dumps of a folder)", CAIRN_OPTION_TEXT,
	 AT(keep), 0},
	{0, "keep-memory", "SIZE",
	 "keep dumps in at most this much memory per process (default: 256M); all of a store together (default: 512M)", CAIRN_OPTION_SIZE,
	 AT(memory), 0},
	{0, "idle", "TIME", "exit after this time without a request (default: never)", CAIRN_OPTION_TEXT, AT(idle), 0},
	{0, "service", "NAME", "follow a systemd service, or a program of that name, across restarts; can be repeated",
	 CAIRN_OPTION_LIST, AT(services), 0},
	{0, "store", "STORE", "show the services and instances of a store: sqlite:PATH or clickhouse://HOST:PORT/DATABASE",
	 CAIRN_OPTION_TEXT, AT(store), 0},
	{0, "tenant", "NAME", "with --store: ask as this tenant", CAIRN_OPTION_TEXT, AT(tenant), 0},
	{0, "open", NULL, "open the page in a browser", CAIRN_OPTION_FLAG, AT(open), 0},
	{0, "token", "TOKEN", "ask for this token (default: $CAIRN_PAGE_TOKEN, or else a random one)", CAIRN_OPTION_TEXT, AT(token), 0},
	{0, "no-token", NULL, "on loopback: ask for none, so that every user of this machine may do what you may", CAIRN_OPTION_FLAG,
	 AT(no_token), 0},
	{0, "source-path", "FOLDERS",
	 "folders to search for source files, separated by colons (default: the current folder, for processes of this user)",
	 CAIRN_OPTION_TEXT, AT(source_path), 0},
	{0},
};

static const struct cairn_option names_table[] = {
	{0, "binary", "FILE", "use this program or library, which has moved since", CAIRN_OPTION_LIST, AT(source.binary), 0},
	{0, "symbols", "FOLDER", "also search this folder for debug files: .debug, .dwo, .dwp", CAIRN_OPTION_LIST, AT(source.symbols), 0},
	{0, "sysroot", "FOLDER", "root folder with the files of the profiled machine", CAIRN_OPTION_TEXT, AT(source.sysroot), 0},
	{0, "debuginfod", NULL, "fetch debug files from the servers in DEBUGINFOD_URLS", CAIRN_OPTION_FLAG, AT(source.debuginfod), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	{"symbols", names_table, 0},
	{0},
};

enum { names_most = 64,
       request_seconds = 10,
       response_most = 512 << 20,
       answers_most = 768 << 20,
       least_every_ns = 100 * CAIRN_MILLISECOND_NS };
static const int64_t usual_every_ns = 5 * CAIRN_SECOND_NS, usual_keep_ns = 2 * CAIRN_HOUR_NS;

static struct cairn_serve serve;

static void stop(int signal)
{
	(void)signal;
	atomic_store(&serve.stop, true);
}

/* Where to listen. */

/* Resolves the host in TEXT, which stands for its first address, and adds the port. */
static bool resolve(const char *text, struct cairn_tcp *tcp, struct cairn_error *error)
{
	char host[256], where[320];
	unsigned port;
	struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	if (!cairn_tcp_parse(text, host, sizeof host, true, &port))
		return cairn_fail_usage(error, "--listen takes HOST:PORT or the path of a socket, not '%.80s'", text);
	int code = getaddrinfo(host, NULL, &hints, &found);
	if (code != 0)
		return cairn_fail(error, "--listen %.80s: %s", text, gai_strerror(code));
	getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(found);
	snprintf(where, sizeof where, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
	const char *wrong = cairn_tcp_read(tcp, where, true);
	return !wrong || cairn_fail_usage(error, "--listen %.80s: %s", text, wrong);
}

static int listen_tcp(const char *text, struct cairn_error *error)
{
	struct cairn_tcp tcp;
	char shown[CAIRN_TCP_SHOWN], name[128];
	if (!resolve(text, &tcp, error))
		return -1;
	int listener = cairn_tcp_listen(&tcp);
	serve.loopback = tcp.loopback;
	bool any = strcmp(tcp.host, "0.0.0.0") == 0 || strcmp(tcp.host, "::") == 0;
	if (any && gethostname(name, sizeof name) == 0) /* on all addresses: by the name of the machine */
		snprintf(serve.authority, sizeof serve.authority, "%.120s:%u", name, tcp.port);
	else
		snprintf(serve.authority, sizeof serve.authority, "%s", cairn_tcp_show(&tcp, shown));
	snprintf(serve.address, sizeof serve.address, "http://%s/", serve.authority);
	return listener;
}

static int listen_unix(const char *path)
{
	serve.loopback = true;
	snprintf(serve.address, sizeof serve.address, "unix:%s", path);
	return cairn_unix_listen(path);
}

/* Derives the value of the cookie from the token, so that browsers stay welcome after a restart with the same token. Whoever learns the
 * cookie, which a browser sends to all ports of a host, does not learn the token. */
static void make_cookie(void)
{
	struct cairn_sha256 sum;
	cairn_sha256_begin(&sum);
	cairn_sha256_add(&sum, cairn_bytes_of("cookie of cairn serve: "));
	cairn_sha256_add(&sum, cairn_bytes_of(serve.token));
	cairn_sha256_hex(&sum, serve.cookie);
}

static bool make_random(char out[CAIRN_SERVE_TOKEN], struct cairn_error *error)
{
	unsigned char random[16];
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return cairn_fail_errno(error, "cannot get random numbers for a token");
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(out + 2 * i, 3, "%02x", random[i]);
	return true;
}

static bool choose_token(struct cairn_error *error)
{
	const char *given = serve.options->token ? serve.options->token : getenv("CAIRN_PAGE_TOKEN");
	if (serve.options->no_token) {
		if (serve.options->token)
			return cairn_fail_usage(error, "--no-token does not go with --token");
		return serve.loopback || cairn_fail_usage(error, "--no-token goes with a loopback address or a unix socket only");
	}
	if (given) {
		if (!*given || strlen(given) >= sizeof serve.token ||
		    given[strspn(given, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~-")])
			return cairn_fail_usage(error, "--token and CAIRN_PAGE_TOKEN take up to %zu letters, digits and . _ ~ -",
						sizeof serve.token - 1);
		snprintf(serve.token, sizeof serve.token, "%s", given);
		serve.any_host = true;
		make_cookie();
		return true;
	}
	serve.any_host = !serve.loopback;
	if (!make_random(serve.token, error))
		return false;
	make_cookie();
	return true;
}

static bool open_server(struct cairn_error *error)
{
	const char *where = serve.options->listen ? serve.options->listen : "127.0.0.1:0";
	bool local = strncmp(where, "unix:", 5) == 0 || strchr(where, '/');
	*error = (struct cairn_error){{0}};
	int listener = local ? listen_unix(strncmp(where, "unix:", 5) == 0 ? where + 5 : where) : listen_tcp(where, error);
	if (listener < 0 && !error->text[0])
		return cairn_fail_errno(error, "cannot listen on %.80s", where);
	if (listener < 0 || !choose_token(error) || (serve.options->open && serve.token[0] && !make_random(serve.ticket, error)))
		return false;
	/* A client that requests many pages without reading them gets the next one only when there is room. */
	static struct cairn_quota answers = {.limit = answers_most};
	struct cairn_server_options options = {
		.quota = &answers,
		.local_quota = &answers,
		.connections = CAIRN_SERVE_CONNECTIONS,
		.seconds = request_seconds,
		.body_maximum = CAIRN_PYROSCOPE_BODY,
		.response_maximum = response_most,
		.admit = cairn_serve_admit,
		.handle = cairn_serve_handle,
		.tick = cairn_serve_tick,
		.context = &serve,
		.stop = &serve.stop,
	};
	serve.server = cairn_server_open(&options, error);
	if (!serve.server || !cairn_server_listen(serve.server, listener, local, error))
		return false;
	/* Without it, commands take their own dumps. */
	char name[CAIRN_PAGE_DUMP_NAME];
	int beside = cairn_unix_listen(cairn_page_dump_name(getpid(), name));
	return beside < 0 || cairn_server_listen(serve.server, beside, true, error);
}

/* What to show. */

static bool spawn(void *(*run)(void *), void *context, struct cairn_error *error)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, context) != 0)
		return cairn_fail(error, "cannot start a thread");
	pthread_detach(thread);
	return true;
}

/* The key of the target NAME. Long names may differ at their ends only, so one that is cut ends with a hash of all of it. */
static void make_key(char key[CAIRN_SERVE_KEY], const char *name)
{
	size_t length = 0;
	for (const char *at = name; *at && length + 1 < CAIRN_SERVE_KEY; at++)
		key[length++] = strchr("<>&\"'\\ ", *at) || (unsigned char)*at <= ' ' ? '_' : *at;
	key[length] = 0;
	if (name[length]) {
		enum { hash_length = 1 + 16 };
		struct cairn_sha256 sum;
		char digits[CAIRN_SHA256_DIGITS + 1];
		cairn_sha256_begin(&sum);
		cairn_sha256_add(&sum, cairn_bytes_of(name));
		cairn_sha256_hex(&sum, digits);
		snprintf(key + length - hash_length, hash_length + 1, "-%.16s", digits);
	}
}

static bool follow(const char *name, bool service, struct cairn_error *error)
{
	char key[CAIRN_SERVE_KEY];
	make_key(key, name);
	pthread_mutex_lock(&serve.lock);
	struct cairn_serve_process *process = cairn_serve_process_new(&serve, key);
	if (process) {
		process->name = name;
		process->usual_keep_ns = usual_keep_ns;
		process->service = service;
	}
	pthread_mutex_unlock(&serve.lock);
	return process ? spawn(cairn_serve_follow, process, error) : cairn_fail(error, "more than %d processes", CAIRN_SERVE_PROCESSES);
}

/* Adds what an operand names. A service must be running; with --service, it may start later. */
static bool add(const char *name, struct cairn_error *error)
{
	struct stat status;
	struct cairn_target target;
	if (!*name)
		return cairn_fail_usage(error, "an empty name: give a PID, socket, URL, service or folder");
	if (cairn_target_is(name)) {
		/* The process must exist, but need not answer: it may get an agent later, or be stopped for the moment. */
		if (!cairn_target_find_ledger(&target, name, NULL, error)) {
			if (target.pid == 0 || (kill(target.pid, 0) != 0 && errno == ESRCH))
				return false;
			cairn_note("%s", error->text);
		}
		return follow(name, false, error);
	}
	if (stat(name, &status) == 0 || strchr(name, '/')) {
		struct cairn_serve_folder *folder = cairn_array_zero(1, sizeof *folder);
		return cairn_serve_folder_open(folder, &serve, name, error) && spawn(cairn_serve_folder_run, folder, error);
	}
	if (!cairn_service_process(name, true, error)) /* it may get an agent later */
		return cairn_fail(error, "%.100s: no such folder, and no service of that name runs", name);
	return follow(name, true, error);
}

static bool read_time(const char *text, const char *option, int64_t least, int64_t *ns, struct cairn_error *error)
{
	if (text && (!cairn_text_duration(text, ns) || *ns < least))
		return cairn_fail_usage(error, "--%s takes a time such as 5s, 10m or 2h, not '%.40s'", option, text);
	return true;
}

static void open_browser(const char *address)
{
	pid_t child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_RDWR);
		if (null >= 0)
			for (int i = 0; i < 3; i++)
				dup2(null, i);
		if (fork() == 0)
			execlp("xdg-open", "xdg-open", address, (char *)NULL);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

/* Prints how to reach a page on loopback from the machine that this session comes from. */
static void announce_tunnel(void)
{
	char host[64];
	unsigned door;
	const char *session = getenv("SSH_CONNECTION"), *user = getenv("USER"), *port = strrchr(serve.authority, ':');
	if (!serve.loopback || !port || !session || sscanf(session, "%*s %*s %63s %u", host, &door) != 2)
		return;
	cairn_print(stderr, "cairn: on your own machine: ssh -L %s:%s ", port + 1, serve.authority);
	if (door != 22)
		cairn_print(stderr, "-p %u ", door);
	cairn_print(stderr, "%s%s%s; then open the address there\n", user ? user : "", user ? "@" : "", host);
}

static void announce(void)
{
	char address[sizeof serve.address + sizeof serve.token + 16];
	const char *query = serve.token[0] && serve.authority[0] ? "?token=" : "";
	snprintf(address, sizeof address, "%s%s%s", serve.address, query, *query ? serve.token : "");
	cairn_print(stdout, "%s\n", address);
	fflush(stdout);
	announce_tunnel();
	/* Every user can read the browser's command line, for as long as it runs: what is in it is good for one visit. */
	snprintf(address, sizeof address, "%s%s%s", serve.address, query, *query ? serve.ticket : "");
	if (serve.options->open && serve.authority[0])
		open_browser(address);
}

static bool start(int count, char **operands, struct cairn_error *error)
{
	pthread_mutex_init(&serve.lock, NULL);
	cairn_condition_init(&serve.changed);
	serve.events = cairn_buffer(SIZE_MAX);
	serve.started_ms = cairn_clock_wall_ns() / CAIRN_MILLISECOND_NS;
	serve.every_ns = usual_every_ns;
	serve.looked_ns = cairn_clock_ns();
	if (!read_time(serve.options->every, "every", least_every_ns, &serve.every_ns, error) ||
	    !read_time(serve.options->keep, "keep", CAIRN_SECOND_NS, &serve.keep_ns, error) ||
	    !read_time(serve.options->idle, "idle", CAIRN_SECOND_NS, &serve.idle_ns, error) || !open_server(error) ||
	    !cairn_serve_work_start(&serve, error))
		return false;
	for (int i = 0; i < count; i++)
		if (!add(operands[i], error))
			return false;
	for (size_t i = 0; i < serve.options->services.count; i++)
		if (!follow(serve.options->services.items[i], true, error))
			return false;
	if (serve.options->store) {
		struct cairn_serve_store *store = cairn_array_zero(1, sizeof *store);
		return cairn_serve_store_open(store, &serve, serve.options->store, error) && spawn(cairn_serve_store_run, store, error);
	}
	return true;
}

static int run(const void *values, int count, char **operands)
{
	struct cairn_serve_options options = *(const struct cairn_serve_options *)values;
	struct cairn_error error = {0};
	sigset_t set, before;
	if (count == 0 && options.services.count == 0 && !options.store)
		return cairn_say_usage("missing TARGET or FOLDER: a PID, socket, URL or service, or a folder of dumps; or --store");
	if (count > names_most)
		return cairn_say_usage("too many targets");
	options.source.quiet = true;
	serve.options = &options;
	/* Only the main thread gets signals, and stops the server. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	signal(SIGPIPE, SIG_IGN);
	if (!start(count, operands, &error))
		return cairn_say_failure(&error);
	struct sigaction action = {.sa_handler = stop};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	announce();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	bool good = cairn_server_run(serve.server);
	if (strncmp(serve.address, "unix:", 5) == 0)
		unlink(serve.address + 5);
	/* Does not wait for threads that wait for a process. */
	fflush(NULL);
	_exit(good ? CAIRN_EXIT_DONE : CAIRN_EXIT_FAILED);
}

const struct cairn_command cairn_command_serve = {
	.name = "serve",
	.summary = "serve a live page: verdict, timeline, flame graph, breakdown of RSS",
	.arguments = "TARGET|FOLDER...|--service NAME|--store STORE",
	.detail = "TARGET is a PID, an agent's socket, a URL, or the name of a running service. FOLDER is a folder of dumps, which is "
		  "followed.\n"
		  "With --store, the page shows what 'cairn collect' puts there, and Grafana can use the address as a Pyroscope data "
		  "source.\n"
		  "Prints the address of the page and serves it until interrupted. $CAIRN_TOKEN is the token for agents reached over TCP.",
	.groups = groups,
	.options_size = sizeof(struct cairn_serve_options),
	.run = run,
};
