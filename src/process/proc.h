/* proc.h - the files in /proc about one process: the only parsers of stat, statm and status, and of a line of maps.
 *
 * Nothing here allocates. PID 0 stands for the calling process, which is seen through the calling thread: in /proc/self, only the folder
 * task has anything once the first thread has ended. In a process that speaks for another, it stands for that one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_PROC_H
#define CAIRN_PROCESS_PROC_H

#include "base/bytes.h"

enum { CAIRN_PROC_PATH = 64 };

/* From here on, PID 0 stands for process PID. To be called before anything else of this folder, if at all. */
void cairn_proc_speak_for(int pid);

/* The PID of the process that PID 0 stands for. */
int cairn_proc_own(void);

/* The path of NAME ("stat", "map_files") in the folder of process PID, or of its thread TID. Return OUT. */
const char *cairn_proc_path(char out[CAIRN_PROC_PATH], int pid, const char *name);
const char *cairn_proc_task_path(char out[CAIRN_PROC_PATH], int pid, int tid, const char *name);

struct cairn_proc_stat {
	char state; /* a letter as in proc(5): R, S, D, T, t, Z, X */
	int parent;
	uint64_t faults, major_faults; /* page faults; those that had to read from a disk */
	uint64_t child_faults; /* page faults of the children that the process has waited for */
	uint64_t threads;
	uint64_t start_ticks;  /* when it started, in clock ticks since boot */
	uint64_t exit_status;  /* of a zombie, as wait() returns it; 0 for users who may not trace the process */
};

/* Reads /proc/PID/stat. Returns false, with zeroes, if there is no such process, also for 0: a thread has another start. */
bool cairn_proc_stat_read(int pid, struct cairn_proc_stat *stat);

/* The same from the file's text. */
bool cairn_proc_stat_parse(struct cairn_bytes text, struct cairn_proc_stat *stat);

/* The state alone; 0 if there is no such process. */
char cairn_proc_state(int pid);

/* Memory in bytes. Zombies and kernel threads have none. */
struct cairn_proc_statm {
	uint64_t size, resident;
	uint64_t anonymous; /* what of the resident memory is neither a file's nor shared */
};

/* Reads /proc/PID/statm. Returns false, with zeroes, if there is no such process. */
bool cairn_proc_statm_read(int pid, struct cairn_proc_statm *statm);

/* The same from the file's text. */
bool cairn_proc_statm_parse(struct cairn_bytes text, struct cairn_proc_statm *statm);

/* Copies what follows KEY ("State:") in the first line of PATH, a file such as status, that begins with it, without the blanks around it,
 * to OUT, which holds SIZE bytes; what does not fit is cut. Without a key, copies the first line as it is. Lines may have any length, as
 * that of a user's groups. Returns false, with an empty text, if there is no such line with its line end, or the file cannot be read. */
bool cairn_proc_line(const char *path, const char *key, char *out, size_t size);

/* The first number in such a line: decimal, in kilobytes and converted to bytes, or hexadecimal, as masks of signals are. */
bool cairn_proc_number(const char *path, const char *key, uint64_t *number);
bool cairn_proc_kilobytes(const char *path, const char *key, uint64_t *bytes);
bool cairn_proc_mask(const char *path, const char *key, uint64_t *mask);

/* The number that a process or thread has in its own namespace. PATH is that of its status. Returns 0 if it is unknown. */
int cairn_proc_inner_number(const char *path);

/* Whether process PID runs as USER: one of its real, effective, saved and file system users. A process that began to listen as root may
 * have become another user since, so root is taken for all. */
bool cairn_proc_runs_as(int pid, unsigned user);

/* Whether the program got rights from its file when it was started, so that the loader ignores LD_PRELOAD (AT_SECURE in auxv). */
bool cairn_proc_is_secure(int pid);

/* A line of /proc/PID/maps, or the first line of a mapping in smaps. */
struct cairn_proc_map {
	uint64_t start, limit; /* the limit is the first address behind it */
	uint64_t offset;       /* in the file */
	uint64_t inode;
	bool readable, writable, executable, shared;
	bool deleted;            /* the file is gone, or never had a name */
	struct cairn_bytes path; /* or a name in brackets, or empty; borrowed from the line */
};

/* Parses LINE, which has no line end. Returns false if it is not such a line. */
bool cairn_proc_map_parse(struct cairn_bytes line, struct cairn_proc_map *map);

#endif
