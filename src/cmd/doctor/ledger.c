/* ledger.c - whether the last moment of a process will be known, and what a dump says of ages.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/doctor/doctor.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds a descriptor of process PID: the ledger, if WANTED is NULL, which is filled into FOUND; else the same file as WANTED. */
static bool find_descriptor(int pid, const struct stat *wanted, struct stat *found)
{
	char path[64], link[64];
	bool has = false;
	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	DIR *folder = opendir(path);
	for (const struct dirent *entry; folder && !has && (entry = readdir(folder));) {
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, link, sizeof link - 1);
		link[length > 0 ? length : 0] = 0;
		struct stat status;
		if (strncmp(link, "/memfd:cairn-ledger", 19) != 0 || fstatat(dirfd(folder), entry->d_name, &status, 0) != 0)
			continue;
		has = !wanted || (status.st_ino == wanted->st_ino && status.st_dev == wanted->st_dev);
		*found = status;
	}
	if (folder)
		closedir(folder);
	return has;
}

/* The PID of a process other than PID that has the ledger open; 0 for none that can be seen. */
static int find_keeper(int pid, const struct stat *ledger)
{
	int keeper = 0;
	struct stat found;
	DIR *folder = opendir("/proc");
	for (const struct dirent *entry; folder && !keeper && (entry = readdir(folder));) {
		int other = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
		if (other > 0 && other != pid && find_descriptor(other, ledger, &found))
			keeper = other;
	}
	if (folder)
		closedir(folder);
	return keeper;
}

void cairn_check_last_moment(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	char engine[16], file[300], problem[400];
	struct stat ledger;
	cairn_diagnosis_field(diagnosis, "engine.name", engine, sizeof engine);
	if (!diagnosis->has_agent || strcmp(engine, "cairn") != 0)
		return;
	cairn_diagnosis_field(diagnosis, "ledger.file", file, sizeof file);
	cairn_diagnosis_field(diagnosis, "ledger.problem", problem, sizeof problem);
	int keeper = 0;
	if (diagnosis->pid > 0 && find_descriptor(diagnosis->pid, NULL, &ledger))
		keeper = find_keeper(diagnosis->pid, &ledger);
	if (problem[0]) {
		cairn_finding_say(finding, CAIRN_WRONG, "the ledger is not in the file that it should be in: %s", problem);
	} else if (file[0]) {
		cairn_finding_say(finding, CAIRN_RIGHT, "the ledger is in %s: it shows the last moment, however the process ends", file);
	} else if (keeper) {
		cairn_finding_say(finding, CAIRN_RIGHT, "process %d keeps the ledger: the last moment is known, however the process ends",
				  keeper);
	} else if (diagnosis->pid > 0) {
		cairn_finding_say(finding, CAIRN_NOTE,
				  "nobody keeps the ledger: after a SIGKILL or an OOM kill nothing shows what filled the memory");
		finding->advice = "cairn watch with its PID, in another control group, or CAIRN_CONF=ledger:PATH when it is started";
	}
}

void cairn_check_dump_ages(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const struct cairn_profile *profile = &diagnosis->profile;
	if (profile->kind != CAIRN_PROFILE_HEAP)
		return;
	if (profile->has_ages)
		cairn_finding_say(finding, CAIRN_RIGHT, "ages and slack%s%s are known: 'cairn leaks' judges this one dump",
				  profile->has_peak ? ", the peak" : "", profile->has_mapped ? ", and mappings by the service," : "");
	else
		cairn_finding_say(finding, CAIRN_NOTE,
				  "it does not say how old objects are, so that 'cairn leaks' needs several dumps; those of "
				  "Cairn's own engine do (engine:cairn)");
}
