/* inside.c - accepting processes and starting helpers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/run/inside.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "live/attach/spawn.h"
#include "live/inside/agent.h"
#include "live/run/listen.h"
#include "process/proc.h"
#include "process/tree.h"
#include "protocol/inside_ask.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void cairn_run_inside_open(struct cairn_run_inside *inside, const char *name)
{
	char address[100];
	snprintf(address, sizeof address, "%s%s", name, CAIRN_INSIDE_ASK_SUFFIX);
	*inside = (struct cairn_run_inside){.listener = cairn_run_listen(address)};
}

void cairn_run_inside_close(struct cairn_run_inside *inside)
{
	if (inside->listener >= 0)
		close(inside->listener);
	inside->listener = -1;
}

bool cairn_run_inside_is_ready(const struct cairn_run_inside *inside)
{
	bool ready = false;
	for (int i = 0; i < CAIRN_RUN_INSIDE_HELPERS && inside->listener >= 0; i++)
		ready |= !inside->helpers[i].pid;
	return ready;
}

/* Of all code that process PID has mapped from files. */
static uint64_t hash_code(int pid)
{
	char path[CAIRN_PROC_PATH];
	struct cairn_file file;
	struct cairn_bytes line, rest;
	struct cairn_proc_map map;
	uint64_t hash = 0;
	if (!cairn_file_read(&file, cairn_proc_path(path, pid, "maps"), NULL))
		return 0;
	for (rest = file.bytes; cairn_text_line(&rest, &line, NULL);)
		if (cairn_proc_map_parse(line, &map) && map.executable && map.inode)
			hash = cairn_hash_mix(hash ^ cairn_hash_text(map.path) ^ cairn_hash_mix(map.inode ^ (map.limit - map.start)));
	cairn_file_close(&file);
	return hash;
}

static bool identify(int pid, struct cairn_run_program *program)
{
	char path[CAIRN_PROC_PATH];
	struct stat status;
	if (stat(cairn_proc_path(path, pid, "exe"), &status) != 0)
		return false;
	*program = (struct cairn_run_program){status.st_dev, status.st_ino, status.st_mtim, hash_code(pid)};
	return true;
}

static bool is_plain(const struct cairn_run_inside *inside, const struct cairn_run_program *program)
{
	size_t count = inside->plain_count < CAIRN_RUN_INSIDE_PROGRAMS ? inside->plain_count : CAIRN_RUN_INSIDE_PROGRAMS;
	for (size_t i = 0; i < count; i++)
		if (inside->plain[i].device == program->device && inside->plain[i].inode == program->inode &&
		    inside->plain[i].code == program->code && memcmp(&inside->plain[i].changed, &program->changed, sizeof program->changed) == 0)
			return true;
	return false;
}

/* Anybody on this machine may connect; only processes of the tree are seen to. Who is left alone goes on when the connection ends. */
bool cairn_run_inside_accept(struct cairn_run_inside *inside)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	struct cairn_run_program program;
	int i = 0, descriptor = accept4(inside->listener, NULL, NULL, SOCK_CLOEXEC);
	if (descriptor < 0)
		return false;
	while (i < CAIRN_RUN_INSIDE_HELPERS - 1 && inside->helpers[i].pid)
		i++;
	bool good = !inside->helpers[i].pid && getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
		    cairn_tree_has(getpid(), peer.pid) && identify(peer.pid, &program) && !is_plain(inside, &program);
	if (good) {
		inside->helpers[i].pid = cairn_attach_spawn_inside(peer.pid, descriptor);
		inside->helpers[i].program = program;
	}
	close(descriptor);
	return true;
}

void cairn_run_inside_reap(struct cairn_run_inside *inside, pid_t pid, int status)
{
	for (int i = 0; i < CAIRN_RUN_INSIDE_HELPERS; i++) {
		if (inside->helpers[i].pid != pid)
			continue;
		inside->helpers[i].pid = 0;
		if (WIFEXITED(status) && WEXITSTATUS(status) == CAIRN_AGENT_START_NOTHING)
			inside->plain[inside->plain_count++ % CAIRN_RUN_INSIDE_PROGRAMS] = inside->helpers[i].program;
	}
}
