/* suspects.c - notes of the builds that are being read, and file names that take builds out of use.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/suspects.h"

#include "base/descriptor.h"
#include "base/note.h"
#include "base/path.h"
#include "base/text.h"
#include "fleet/collect/uploads.h"
#include "process/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char note_name[] = ".working", suspect_ending[] = ".suspect", refused_ending[] = ".refused";

bool cairn_suspects_has(const char *path)
{
	char aside[CAIRN_UPLOAD_PATH + 16];
	snprintf(aside, sizeof aside, "%s%s", path, refused_ending);
	if (access(aside, F_OK) == 0)
		return true;
	snprintf(aside, sizeof aside, "%s%s", path, suspect_ending);
	return access(aside, F_OK) == 0;
}

/* Changes the ending of the files of BUILD_ID in FOLDER from FROM to TO, each one of those above or "". Returns false if there are none. */
static bool rename_build(const char *folder, const char *build_id, const char *from, const char *to)
{
	char path[CAIRN_UPLOAD_PATH], old[CAIRN_UPLOAD_PATH + 16], new[CAIRN_UPLOAD_PATH + 16];
	bool renamed = false;
	for (int program = 0; program < 2; program++) {
		if (!cairn_uploads_file(folder, build_id, program, path))
			continue;
		snprintf(old, sizeof old, "%s%s", path, from);
		snprintf(new, sizeof new, "%s%s", path, to);
		renamed |= rename(old, new) == 0;
	}
	return renamed;
}

/* Takes a build out of use. LINE is from a note: the folder, the build-id, and whether it was a suspect already. */
static void take_out(struct cairn_uploads *uploads, struct cairn_bytes line)
{
	enum { folder_digits = 16 };
	char folder[CAIRN_UPLOAD_PATH], path[CAIRN_UPLOAD_PATH], name[folder_digits + 1], build_id[CAIRN_UPLOAD_BUILD], trial;
	if (line.length >= 200 || sscanf(line.data, "%16[0-9a-f] %128[0-9a-f] %c", name, build_id, &trial) != 3 ||
	    strlen(name) != folder_digits || !cairn_build_id_valid(build_id))
		return;
	snprintf(folder, sizeof folder, "%.4000s/%s", uploads->path, name);
	bool again = trial == '1';
	if (!rename_build(folder, build_id, "", again ? refused_ending : suspect_ending) ||
	    !cairn_uploads_file(folder, build_id, true, path))
		return;
	uploads->suspects.refused += again;
	if (again)
		cairn_note("reading the uploaded files of build %s failed twice; they are no longer used (%s*%s)", build_id, path,
			   refused_ending);
	else
		cairn_note("reading the uploaded files of build %s, among others, failed; each is tried alone", build_id);
	uploads->suspects.waiting |= !again;
}

/* Takes out what the file NOTE names; it is read from its start. */
static void take_out_all(struct cairn_uploads *uploads, int note)
{
	char text[1 << 16];
	ssize_t length = pread(note, text, sizeof text - 1, 0);
	struct cairn_bytes rest = {text, length > 0 ? (size_t)length : 0}, line;
	text[rest.length] = 0; /* for sscanf */
	while (cairn_text_line(&rest, &line, NULL))
		take_out(uploads, line);
}

/* The note of a live collector is locked, so any other note is a dead one's. */
void cairn_suspects_recover(struct cairn_uploads *uploads)
{
	DIR *entries = opendir(uploads->path);
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		struct stat status;
		if (strncmp(entry->d_name, note_name, sizeof note_name - 1) != 0)
			continue;
		int note = openat(dirfd(entries), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		bool is_file = note >= 0 && fstat(note, &status) == 0 && S_ISREG(status.st_mode);
		if (is_file && flock(note, LOCK_EX | LOCK_NB) == 0) {
			take_out_all(uploads, note);
			unlinkat(dirfd(entries), entry->d_name, 0);
		}
		if (note >= 0)
			close(note);
	}
	if (entries)
		closedir(entries);
}

void cairn_suspects_begin(struct cairn_uploads *uploads, struct cairn_bytes lines)
{
	struct cairn_suspects *suspects = &uploads->suspects;
	cairn_suspects_done(uploads);
	suspects->tried = true;
	snprintf(suspects->note_path, sizeof suspects->note_path, "%.4000s/%s.%d.%lld", uploads->path, note_name, (int)getpid(),
		 (long long)cairn_clock_wall_ns());
	suspects->note = open(suspects->note_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (suspects->note >= 0 && flock(suspects->note, LOCK_EX | LOCK_NB) == 0)
		cairn_descriptor_write_all(suspects->note, &lines); /* if that fails, as on a full disk, there is no protection */
}

void cairn_suspects_done(struct cairn_uploads *uploads)
{
	struct cairn_suspects *suspects = &uploads->suspects;
	if (suspects->note < 0)
		return;
	unlink(suspects->note_path);
	close(suspects->note);
	suspects->note = -1;
}

void cairn_suspects_blame(struct cairn_uploads *uploads)
{
	if (uploads->suspects.note >= 0)
		take_out_all(uploads, uploads->suspects.note);
	cairn_suspects_done(uploads);
}

/* The first suspect after AFTER in PATH, the folder of the build-ids that begin with the two DIGITS. */
static bool find_suspect(const char *path, const char *digits, const char *after, char build_id[CAIRN_UPLOAD_BUILD])
{
	DIR *entries = opendir(path);
	bool found = false;
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		size_t length = strspn(entry->d_name, "0123456789abcdef");
		const char *rest = entry->d_name + length;
		char name[CAIRN_UPLOAD_BUILD];
		rest += strncmp(rest, ".debug", 6) == 0 ? 6 : 0;
		if (length + 3 > sizeof name || strcmp(rest, suspect_ending) != 0)
			continue;
		snprintf(name, sizeof name, "%.2s%.*s", digits, (int)length, entry->d_name);
		if (!cairn_build_id_valid(name) || strcmp(name, after) <= 0 || (found && strcmp(name, build_id) >= 0))
			continue;
		snprintf(build_id, CAIRN_UPLOAD_BUILD, "%s", name);
		found = true;
	}
	if (entries)
		closedir(entries);
	return found;
}

bool cairn_suspects_next(struct cairn_uploads *uploads, struct cairn_bytes tenant, char build_id[CAIRN_UPLOAD_BUILD])
{
	char folder[CAIRN_UPLOAD_PATH], path[CAIRN_UPLOAD_PATH], after[CAIRN_UPLOAD_BUILD];
	if (!cairn_uploads_has_any(uploads, tenant))
		return false;
	cairn_uploads_folder(uploads, tenant, folder);
	snprintf(after, sizeof after, "%s", build_id);
	bool found = false;
	for (unsigned first = 0; first < 256 && !found; first++) {
		char digits[3];
		snprintf(digits, sizeof digits, "%02x", first);
		found = cairn_uploads_file(folder, digits, true, path) && find_suspect(path, digits, after, build_id);
	}
	uploads->suspects.trial = found && rename_build(folder, build_id, suspect_ending, "");
	uploads->suspects.tried = false;
	return uploads->suspects.trial;
}

void cairn_suspects_end(struct cairn_uploads *uploads, struct cairn_bytes tenant, const char *build_id)
{
	char folder[CAIRN_UPLOAD_PATH];
	cairn_uploads_folder(uploads, tenant, folder);
	if (!uploads->suspects.tried)
		rename_build(folder, build_id, "", suspect_ending);
	uploads->suspects.trial = false;
}
