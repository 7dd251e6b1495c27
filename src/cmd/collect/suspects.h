/* suspects.h - builds whose uploaded files may end the collector.
 *
 * Reading a file may end the collector, whatever is done against it. So builds are noted on disk before their files are read, and a
 * collector that starts takes what a dead one has noted out of use: each is a *suspect*, to be tried alone, and one that ends the collector
 * again is refused for good. Their files have these words at the end of their names.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_COLLECT_SUSPECTS_H
#define CAIRN_CMD_COLLECT_SUSPECTS_H

#include "base/bytes.h"

enum { CAIRN_UPLOAD_PATH = 4096, CAIRN_UPLOAD_BUILD = 129 };

struct cairn_uploads;

/* Of the thread that reads the files. */
struct cairn_suspects {
	_Atomic uint64_t refused; /* builds, since the uploads were opened */
	int note;                 /* of what it works with; -1 for none */
	char note_path[CAIRN_UPLOAD_PATH];
	bool trial, tried; /* that is a suspect, and has been read */
};

/* Takes out of use what collectors that are dead have noted. */
void cairn_suspects_recover(struct cairn_uploads *uploads);

/* Whether the file that would lie at PATH is there, but not in use. */
bool cairn_suspects_has(const char *path);

/* Notes on disk that the builds in LINES are being read: "FOLDER BUILD-ID TRIAL". They have been read, and did no harm. */
void cairn_suspects_begin(struct cairn_uploads *uploads, struct cairn_bytes lines);
void cairn_suspects_done(struct cairn_uploads *uploads);

/* Takes the next suspect of TENANT behind BUILD_ID, which is empty at first, into use for a trial: nothing else may be looked for until the
 * trial is over. False where there is none. One that was not read during its trial stays a suspect. */
bool cairn_suspects_next(struct cairn_uploads *uploads, struct cairn_bytes tenant, char build_id[CAIRN_UPLOAD_BUILD]);
void cairn_suspects_end(struct cairn_uploads *uploads, struct cairn_bytes tenant, const char *build_id);

#endif
