/* listen.c - makes the listening sockets.
 * SPDX-License-Identifier: Apache-2.0 */
#include "protocol/listen.h"

#include "base/descriptor.h"
#include "base/entries.h"
#include "base/text.h"
#include "base/time.h"
#include "http/tcp.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
		if (entry->d_type == DT_SOCK && strlen(path) < 108 && !cairn_unix_answers(path))
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
		snprintf(place->name, sizeof place->name, i ? "%d-%d.sock" : "%d.sock", cairn_proc_own(), i + 1);
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
		snprintf(place->name, sizeof place->name, i ? "%d-%d.sock" : "%d.sock", cairn_proc_own(), i + 1);
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

static int refuse_tcp(struct cairn_listen *place, const char *address, const char *why)
{
	snprintf(place->tcp_problem, sizeof place->tcp_problem, "%.100s: %s", address, why);
	return -1;
}

int cairn_listen_tcp(struct cairn_listen *place, const struct cairn_config *config)
{
	struct cairn_tcp tcp;
	place->tcp_shown[0] = 0;
	if (!config->listen[0])
		return -1;
	const char *wrong = cairn_tcp_read(&tcp, config->listen, false);
	if (wrong)
		return refuse_tcp(place, config->listen, wrong);
	if (config->token_unusable)
		return refuse_tcp(place, config->listen, "the token cannot be used");
	if (!tcp.loopback && !config->token[0])
		return refuse_tcp(place, config->listen, "not a loopback address; set a token to listen there");
	int descriptor = cairn_tcp_listen(&tcp);
	if (descriptor < 0)
		return refuse_tcp(place, config->listen, cairn_errno_text(errno));
	place->tcp_problem[0] = 0;
	cairn_tcp_show(&tcp, place->tcp_shown);
	return descriptor;
}

const char *cairn_listen_check(const char *text)
{
	return strcmp(text, CAIRN_LISTEN_UNIX) == 0 ? NULL : cairn_tcp_read(&(struct cairn_tcp){0}, text, false);
}
