/* target.c - finding agents and asking them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/target.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/json_read.h"
#include "base/path.h"
#include "base/room.h"
#include "base/text.h"
#include "http/client.h"
#include "http/peer.h"
#include "live/attach/subject.h"
#include "live/core/companion.h"
#include "live/endpoint.h"
#include "live/enter.h"
#include "live/ledger_snapshot.h"
#include "live/restart.h"
#include "process/life.h"
#include "process/proc.h"
#include "profile/read.h"
#include "protocol/attached.h"
#include "symbol/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { answer_seconds = 120, status_seconds = 5, snapshot_maximum = 1 << 30, status_maximum = 4 << 20, memory_maximum = 32 << 20 };
/* Of answers that are put into files: a second of an agent's time is much, and one that takes a minute keeps others waiting. */
enum { spool_seconds = 60, spool_share = 4 };

bool cairn_target_has_port(const char *name)
{
	const char *host = *name == '[' ? strchr(name, ']') : name;
	const char *colon = host ? strchr(host, ':') : NULL, *slash = strchr(name, '/');
	if (!colon || colon == name || *name == '.' || (slash && slash < colon))
		return false;
	size_t digits = strspn(colon + 1, "0123456789");
	return digits > 0 && digits < 6 && (!colon[1 + digits] || colon[1 + digits] == '/');
}

const char *cairn_target_host(const char *url)
{
	const char *scheme = strstr(url, "://");
	return scheme ? scheme + 3 : url;
}

static bool is_url(const char *name)
{
	struct stat status;
	if (strncmp(name, "http://", 7) == 0 || strncmp(name, "https://", 8) == 0)
		return true;
	return cairn_target_has_port(name) && stat(name, &status) != 0;
}

int cairn_target_pid(const char *name)
{
	struct cairn_bytes text = cairn_bytes_of(name);
	uint64_t number;
	return cairn_text_decimal(&text, &number) && text.length == 0 && number <= INT_MAX ? (int)number : 0;
}

static bool is_socket(const char *name)
{
	struct stat status;
	return stat(name, &status) == 0 && S_ISSOCK(status.st_mode);
}

bool cairn_target_is(const char *name)
{
	struct stat status;
	return is_url(name) || is_socket(name) || (cairn_target_pid(name) > 0 && stat(name, &status) != 0);
}

static bool read_proc(int pid, const char *name, struct cairn_file *file)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	return cairn_file_read(file, path, NULL);
}

/* A connection to be tried, and who answers. */
struct trial {
	const char *path;
	struct cairn_peer peer;
	int code;
};

static void try_connection(void *context)
{
	struct trial *trial = context;
	int descriptor = cairn_enter_connect(trial->path);
	trial->code = descriptor < 0 ? errno : ECONNREFUSED;
	if (descriptor < 0)
		return;
	trial->peer = cairn_peer_of(descriptor);
	close(descriptor);
}

/* Who answers on the socket at PATH, in the network of process INSIDE unless that is 0; PID 0 for nobody, with errno. */
static struct cairn_peer answering(const char *path, int inside)
{
	struct trial trial = {.path = path};
	if (!inside)
		try_connection(&trial);
	else if (!cairn_enter(inside, try_connection, &trial))
		return (struct cairn_peer){0};
	errno = trial.code;
	return trial.peer;
}

static bool is_forbidden(int code)
{
	return code == EACCES || code == EPERM;
}

/* Whether the process answers on TARGET->socket, or the one that stands beside it. */
static bool answers(struct cairn_target *target)
{
	struct cairn_peer peer = answering(target->socket, target->inside ? target->pid : 0);
	target->forbidden = target->forbidden || (!peer.pid && is_forbidden(errno));
	bool found = peer.pid == target->pid || (peer.pid && cairn_companion_is_of(peer.pid, target->pid));
	if (!found || cairn_proc_runs_as(target->pid, peer.user))
		return found;
	/* The number was used again, and the socket is of a process that had it before. */
	target->foreign = true;
	target->foreign_user = peer.user;
	return false;
}

/* The agent keeps the folder of its socket open, so it can be reached through that folder even if the process has changed its root or
 * mounts. */
static bool try_folder(struct cairn_target *target, const char *path)
{
	char fds[64], folder[108];
	size_t inside = cairn_path_folder(path), above;
	if (inside == 0)
		return false;
	snprintf(folder, sizeof folder, "%.*s", (int)inside - 1, path);
	above = cairn_path_folder(folder);
	const char *slash = path + inside - 1, *last = above > 0 ? folder + above - 1 : NULL; /* both begin with a slash */
	snprintf(fds, sizeof fds, "/proc/%d/fd", target->pid);
	DIR *list = last ? opendir(fds) : NULL;
	bool found = false;
	for (const struct dirent *entry; list && !found && (entry = readdir(list));) {
		char link[128], place[4096];
		snprintf(link, sizeof link, "%s/%.20s", fds, entry->d_name);
		ssize_t length = readlink(link, place, sizeof place);
		size_t wanted = strlen(last);
		if (length < (ssize_t)wanted || memcmp(place + length - wanted, last, wanted) != 0)
			continue;
		snprintf(target->socket, sizeof target->socket, "%s%s", link, slash);
		found = answers(target);
	}
	if (list)
		closedir(list);
	return found;
}

/* Tries the socket at PATH as the process sees it, as we see it if we may not look through its root, and through its folder. An abstract
 * name is in our network or in that of the process. */
static bool try_path(struct cairn_target *target, const char *path)
{
	bool found = false;
	if (path[0] == '@') {
		snprintf(target->socket, sizeof target->socket, "%.200s", path);
		for (int inside = 0; inside < 2 && !found; inside++) {
			target->inside = inside;
			found = answers(target);
		}
	} else {
		snprintf(target->socket, sizeof target->socket, "/proc/%d/root%.200s", target->pid, path);
		found = answers(target);
		if (!found) {
			snprintf(target->socket, sizeof target->socket, "%.200s", path);
			found = answers(target);
		}
		found = found || try_folder(target, path);
	}
	if (!found) {
		target->socket[0] = 0;
		target->inside = false;
	}
	return found;
}

/* Whether PATH is an agent's socket for process INNER: /…/cairn…/INNER.sock or @cairn/INNER.sock, or INNER-2.sock and so on. */
static bool is_agent_path(struct cairn_bytes path, int inner)
{
	uint64_t number;
	const char *slash = path.length ? memrchr(path.data, '/', path.length) : NULL;
	if (!slash || (path.data[0] == '@' ? !cairn_bytes_start_with(path, "@cairn/")
					   : path.data[0] != '/' || !memmem(path.data, (size_t)(slash - path.data), "/cairn", 6)))
		return false;
	struct cairn_bytes name = cairn_bytes_skip(path, (size_t)(slash - path.data) + 1);
	if (!cairn_text_decimal(&name, &number) || number != (uint64_t)inner)
		return false;
	if (cairn_text_take(&name, "-") && !cairn_text_decimal(&name, &number))
		return false;
	return cairn_bytes_equal(name, cairn_bytes_of(".sock"));
}

/* Finds the agent's socket in the kernel's list of unix sockets of process WHOSE, which does not depend on the process's environment. NUMBER
 * is the PID in the socket's name. */
static bool find_listed(struct cairn_target *target, int whose, int number, char *tried, size_t size)
{
	struct cairn_file file;
	bool found = false;
	if (!read_proc(whose, "net/unix", &file))
		return false;
	struct cairn_bytes rest = file.bytes, line;
	while (!found && cairn_text_line(&rest, &line, NULL)) {
		size_t columns = 0; /* before the path there are numbers, which contain neither */
		while (columns < line.length && line.data[columns] != '/' && line.data[columns] != '@')
			columns++;
		struct cairn_bytes path = cairn_bytes_skip(line, columns);
		char text[108];
		if (path.length >= sizeof text || !is_agent_path(path, number))
			continue;
		snprintf(text, sizeof text, "%.*s", (int)path.length, path.data);
		found = try_path(target, text);
		snprintf(tried, size, "%s", text);
	}
	cairn_file_close(&file);
	return found;
}

bool cairn_target_has_loaded(int pid)
{
	struct cairn_file file;
	if (!read_proc(pid, "maps", &file))
		return false;
	bool loaded = memmem(file.bytes.data, file.bytes.length, "/libcairn.so", 12) ||
		      memmem(file.bytes.data, file.bytes.length, "/memfd:libcairn.so", 18);
	cairn_file_close(&file);
	return loaded;
}

static bool fail_foreign(const struct cairn_target *target, const char *path, unsigned user, struct cairn_error *error)
{
	return cairn_fail(error, "process %d: the socket %s is answered as user %u, which is neither root nor a user of the process; it is not "
			  "asked", target->pid, path, user);
}

/* Whether the agent that PID has loaded was detached: it is there, and nothing runs. */
static bool was_detached(int pid)
{
	struct cairn_subject subject;
	struct cairn_attach agent = {.version = 0};
	struct cairn_ledger_header header;
	if (cairn_ledger_header_of(pid, &header) || !cairn_subject_open(&subject, pid, NULL))
		return false;
	const struct cairn_subject_module *library = cairn_subject_find(&subject, CAIRN_SUBJECT_AGENT);
	uint64_t address = library ? cairn_subject_symbol(library, "cairn_attached") : 0;
	bool detached = address && cairn_subject_read(&subject, address, &agent, sizeof agent) == sizeof agent &&
			agent.version == CAIRN_ATTACH_VERSION && agent.state == CAIRN_ATTACH_DETACHED;
	cairn_subject_close(&subject);
	return detached;
}

static bool find_process(struct cairn_target *target, struct cairn_error *error)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d", target->pid);
	if (stat(path, &status) != 0)
		return cairn_fail(error, "no process %d", target->pid);
	char state = cairn_proc_state(target->pid);
	if (state == 'Z')
		return cairn_fail(error, "process %d has ended and is a zombie: its parent has not waited for it yet", target->pid);
	if (state == 'T')
		return cairn_fail(error, "process %d is stopped, so nothing in it can answer; 'kill -CONT %d' resumes it", target->pid,
				  target->pid);
	char tried[108] = "";
	bool found = find_listed(target, target->pid, cairn_live_inner_pid(target->pid), tried, sizeof tried) ||
		     find_listed(target, getpid(), target->pid, tried, sizeof tried); /* an agent beside it is in no container with it */
	bool stranger = geteuid() != 0 && geteuid() != status.st_uid;
	if (found && !(stranger && target->socket[0] == '@')) { /* anybody can connect to an abstract name, but is not heard */
		target->forbidden = false;
		return true;
	}
	if ((found || target->forbidden) && geteuid() != 0)
		return cairn_fail(
			error,
			!stranger ? "process %d has an agent, but you may not open its socket %s: the process created it as another user; "
				    "ask as root (sudo cairn …)"
				  : "process %d belongs to another user; its agent answers on %s only to that user and root (sudo cairn …)",
			target->pid, tried);
	if (target->foreign)
		return fail_foreign(target, tried, target->foreign_user, error);
	target->loaded = cairn_target_has_loaded(target->pid);
	if (target->loaded && was_detached(target->pid))
		return cairn_fail(error, "no agent runs in process %d: it was detached; 'cairn attach %d' starts it again", target->pid,
				  target->pid);
	if (target->loaded)
		return cairn_fail(error,
				  "process %d has loaded the agent, which does not answer; 'cairn doctor %d' explains why. If it has not "
				  "started yet, 'cairn attach %d' starts it",
				  target->pid, target->pid, target->pid);
	struct cairn_arena arena = {0};
	const char *line = cairn_restart_line(&arena, target->pid, "cairn run --");
	cairn_fail(error, "process %d has no agent; 'cairn attach %d' gives it one now, or start it with '%.300s'", target->pid,
		   target->pid, line && strlen(line) < 300 ? line : "cairn run -- COMMAND");
	cairn_arena_free(&arena);
	return false;
}

bool cairn_target_find(struct cairn_target *target, const char *name, const char *token, struct cairn_error *error)
{
	*target = (struct cairn_target){.token = token ? token : getenv("CAIRN_TOKEN")};
	if (is_url(name)) {
		target->url = name;
		return true;
	}
	if (is_socket(name)) {
		if (strlen(name) >= sizeof target->socket)
			return cairn_fail(error, "%s: too long for a socket", name);
		snprintf(target->socket, sizeof target->socket, "%s", name);
		return true;
	}
	struct stat status;
	if (strchr(name, '/') && stat(name, &status) != 0 && errno == EACCES) {
		target->forbidden = true;
		return cairn_fail(error, "%s: you may not open it; an agent's socket is for its user and root (sudo cairn …)", name);
	}
	target->pid = cairn_target_pid(name);
	if (!target->pid)
		return cairn_fail_usage(error, "%s: not a TARGET: give a PID, an agent's socket, or a URL", name);
	return find_process(target, error);
}

int cairn_target_process(const struct cairn_target *target)
{
	return target->pid ? target->pid : target->socket[0] ? answering(target->socket, 0).pid : 0;
}

/* How many seconds the agent may be silent: USUAL, unless configured. A snapshot of a large heap takes time. */
static unsigned patience(unsigned usual)
{
	return getenv("CAIRN_HTTP_TIMEOUT") ? cairn_http_silence_ms() / 1000 : usual;
}

/* Whether an agent answers PATH at once. */
static bool is_quick(const char *path)
{
	return strncmp(path, "/cairn/status", 13) == 0;
}

struct asking {
	const struct cairn_target *target;
	const struct cairn_http_call *call;
	struct cairn_http_answer *answer;
	struct cairn_error *error;
	bool came;
};

/* Whether whoever answers on the target's socket may: it may be another by now than when it was found. */
static bool approve(void *context, int descriptor, struct cairn_error *error)
{
	const struct cairn_target *target = ((const struct asking *)context)->target;
	struct cairn_peer peer = cairn_peer_of(descriptor);
	struct stat status;
	if (target->pid && peer.pid != target->pid && !(cairn_companion_is_of(peer.pid, target->pid) && cairn_proc_runs_as(target->pid, peer.user)))
		return cairn_fail(error, "process %d does not answer on %s any more; process %d does", target->pid, target->socket, peer.pid);
	if (target->pid)
		return cairn_proc_runs_as(target->pid, peer.user) || fail_foreign(target, target->socket, peer.user, error);
	return peer.user == 0 || (stat(target->socket, &status) == 0 && peer.user == status.st_uid) ||
	       cairn_fail(error, "%s is answered as user %u, which is neither root nor its owner; it is not asked", target->socket, peer.user);
}

static void ask(void *context)
{
	struct asking *asking = context;
	asking->came = cairn_http_ask(asking->call, asking->answer, asking->error);
}

/* Where an answer is kept while it arrives, and how many bytes it may have. What is put into files is a quarter of what is free on their
 * disk at most, since some come at once; where that is little, the folder's dumps have to make place for others, and memory is used. Returns
 * the file, or -1. */
static int take_room(const struct cairn_target *target, bool quick, uint64_t *limit)
{
	*limit = quick ? status_maximum : target->spool ? memory_maximum : snapshot_maximum;
	int file = target->spool && !quick ? cairn_room_unnamed(target->spool) : -1;
	struct statvfs disk;
	if (file < 0 || fstatvfs(file, &disk) != 0)
		return file;
	uint64_t share = (uint64_t)disk.f_bavail * disk.f_frsize / spool_share;
	if (share > *limit) {
		*limit = share < snapshot_maximum ? share : snapshot_maximum;
		return file;
	}
	close(file);
	return -1;
}

static bool unmap(struct cairn_buffer *buffer, size_t capacity)
{
	if (capacity > 0)
		return false;
	munmap(buffer->data, buffer->capacity);
	buffer->data = NULL;
	buffer->capacity = 0;
	return true;
}

/* The LENGTH bytes of FILE as BODY, which is empty. */
static bool map_answer(int file, uint64_t length, struct cairn_buffer *body, struct cairn_error *error)
{
	void *memory = length ? mmap(NULL, length, PROT_READ, MAP_PRIVATE, file, 0) : NULL;
	if (memory == MAP_FAILED)
		return cairn_fail_errno(error, "the answer cannot be read from disk");
	cairn_buffer_free(body);
	*body = (struct cairn_buffer){.data = memory, .length = length, .capacity = length, .maximum = length, .resize = unmap};
	return true;
}

/* Sends SENT, which may be empty. The status of the answer; 0 if there was none. Any but 200 fails. */
static int exchange_with(const struct cairn_target *target, const char *method, const char *path, struct cairn_bytes sent, unsigned seconds,
			 struct cairn_buffer *body, struct cairn_error *error)
{
	if (target->asleep) {
		cairn_fail(error, "the agent of process %d has not started, so only its profile can be read; 'cairn attach %d' starts it, or "
			   "says why it cannot; CAIRN_CONF=listen:unix starts it with the process", target->pid, target->pid);
		return 0;
	}
	struct cairn_arena arena = {0};
	const char *base = target->url ? target->url : "http://localhost";
	size_t length = strlen(base);
	while (length > 0 && base[length - 1] == '/')
		length--;
	bool quick = is_quick(path);
	const char *const headers[] = {target->url && target->token ? cairn_arena_format(&arena, "Authorization: Bearer %s", target->token) : NULL, NULL};
	struct cairn_http_answer answer = {0};
	uint64_t limit;
	int file = take_room(target, quick, &limit);
	if (target->spool && !getenv("CAIRN_HTTP_TIMEOUT") && seconds > spool_seconds)
		seconds = spool_seconds;
	struct cairn_http_call call = {
		.method = method,
		.body = sent,
		.socket = target->socket[0] ? target->socket : NULL,
		.url = cairn_arena_format(&arena, "%.*s%s", (int)length, base, path),
		.headers = headers,
		.approve = approve,
		.file = file >= 0 ? file : 0,
		.silence_ms = target->patience_ms ? target->patience_ms : 1000 * seconds,
		.total_ms = target->patience_ms ? target->patience_ms : target->spool || quick ? 1000 * seconds : 0,
		.limit_bytes = limit,
	};
	struct asking asking = {target, &call, &answer, error, false};
	call.context = &asking;
	if (!target->inside)
		ask(&asking);
	else if (!cairn_enter(target->pid, ask, &asking))
		cairn_fail_errno(error, "process %d: its network cannot be entered", target->pid);
	int status = asking.came ? answer.status : 0;
	*body = answer.body;
	if (status == 200 && file >= 0 && !map_answer(file, answer.length, body, error))
		status = 0;
	if (file >= 0)
		close(file);
	if (status > 0 && status != 200) {
		char words[1600];
		cairn_http_words(cairn_buffer_bytes(body), words, sizeof words);
		cairn_fail(error, words[0] ? "%s answers %d: %s" : "%s answers %d", target->url ? call.url : target->socket, status, words);
		if (target->pid && words[0])
			cairn_fail(error, "process %d: %s", target->pid, words);
	}
	cairn_arena_free(&arena);
	return status;
}

static int exchange(const struct cairn_target *target, const char *method, const char *path, unsigned seconds, struct cairn_buffer *body,
		    struct cairn_error *error)
{
	return exchange_with(target, method, path, (struct cairn_bytes){"", 0}, seconds, body, error);
}

static bool fetch(const struct cairn_target *target, const char *method, const char *path, unsigned seconds, struct cairn_buffer *body,
		  struct cairn_error *error)
{
	return exchange(target, method, path, seconds, body, error) == 200;
}

int cairn_target_status(const struct cairn_target *target, const char *method, const char *path, struct cairn_buffer *body,
			struct cairn_error *error)
{
	return exchange(target, method, path, patience(is_quick(path) ? status_seconds : answer_seconds), body, error);
}

bool cairn_target_send(const struct cairn_target *target, const char *path, struct cairn_bytes sent, struct cairn_error *error)
{
	struct cairn_buffer body = {0};
	bool done = exchange_with(target, "POST", path, sent, patience(answer_seconds), &body, error) == 200;
	cairn_buffer_free(&body);
	return done;
}

bool cairn_target_ask(const struct cairn_target *target, const char *method, const char *path, struct cairn_buffer *body,
		      struct cairn_error *error)
{
	return cairn_target_status(target, method, path, body, error) == 200;
}

bool cairn_target_snapshot(const struct cairn_target *target, struct cairn_buffer *body, struct cairn_error *error)
{
	if (target->asleep) {
		*body = cairn_buffer(snapshot_maximum);
		return cairn_ledger_snapshot(target->pid, -1, body, error);
	}
	const char *host = target->url ? cairn_target_host(target->url) : "";
	const char *path = strchr(host, '/');
	if (target->url && path && path[1]) {
		int status = exchange(target, "GET", "", patience(answer_seconds), body, error);
		if (status != 405)
			return status == 200;
		cairn_buffer_free(body); /* GreptimeDB takes POST alone */
		return fetch(target, "POST", "", patience(answer_seconds), body, error);
	}
	int status = exchange(target, "GET", "/cairn/snapshot", patience(answer_seconds), body, error);
	bool good = status == 200 && (!target->url || cairn_profile_sniff(cairn_buffer_bytes(body)) != CAIRN_FORMAT_UNKNOWN);
	/* A server without the agent does not know the path, or answers with a web page whatever it is asked. */
	if (good || !target->url || (status != 200 && status != 404 && status != 405))
		return good;
	cairn_buffer_free(body);
	return cairn_endpoint_snapshot(target, body, error);
}

/* Whether process PID has ended, or does so within a moment: its sockets are closed before that. */
static bool is_ending(int pid)
{
	enum { moment_ms = 1000 };
	struct pollfd over = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	bool ending = over.fd >= 0 ? poll(&over, 1, moment_ms) > 0 : cairn_life_has_ended(pid);
	if (over.fd >= 0)
		close(over.fd);
	return ending;
}

bool cairn_target_cpu(const struct cairn_target *target, unsigned seconds, unsigned frequency,
		      struct cairn_buffer *body, struct cairn_error *error)
{
	char path[100];
	snprintf(path, sizeof path, "/cairn/pprof/profile?seconds=%u&frequency=%u", seconds, frequency);
	if (fetch(target, "GET", path, seconds + patience(answer_seconds), body, error))
		return true;
	if (target->pid && is_ending(target->pid))
		cairn_fail(error, "process %d ended before its CPU profile of %u second%s was complete", target->pid, seconds,
			   seconds == 1 ? "" : "s");
	return false;
}

void cairn_target_field(struct cairn_bytes status, const char *path, char *out, size_t size)
{
	cairn_json_copy(cairn_json_find(cairn_json_value(status), path), out, size);
}
