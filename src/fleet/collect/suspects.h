/* suspects.h - builds whose uploaded files may end the process that reads them.
 *
 * Reading a file may end its reader, whatever precautions it takes. So the collector notes builds on disk before its child (namer.h) reads
 * their files. If the child does not answer, these builds are taken out of use: each is a *suspect*, to be tried alone, and one that ends
 * the child again is *refused* for good. A collector that starts does the same with the notes of one that died, in case the child took it
 * along. Their files have these words at the end of their names.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_SUSPECTS_H
#define CAIRN_FLEET_COLLECT_SUSPECTS_H

#include "base/bytes.h"

enum { CAIRN_UPLOAD_PATH = 4096, CAIRN_UPLOAD_BUILD = 129 };

struct cairn_uploads;

/* Belongs to the thread that reads the files. */
struct cairn_suspects {
	_Atomic uint64_t refused; /* builds, since the uploads were opened */
	int note;                 /* the file that names the builds being read; -1 for none */
	char note_path[CAIRN_UPLOAD_PATH];
	bool trial, tried; /* a suspect is in use for a trial, and its files have been read */
	bool waiting;      /* builds were blamed, and not all of them were tried alone since */
};

/* Takes the builds that dead collectors have noted out of use. */
void cairn_suspects_recover(struct cairn_uploads *uploads);

/* Whether the file for PATH exists, but was taken out of use. */
bool cairn_suspects_has(const char *path);

/* Notes on disk that the builds in LINES, each "FOLDER BUILD-ID TRIAL", are being read, in place of any note before. */
void cairn_suspects_begin(struct cairn_uploads *uploads, struct cairn_bytes lines);

/* Removes the note: the builds have been read and did no harm. */
void cairn_suspects_done(struct cairn_uploads *uploads);

/* Takes the builds in the note out of use, and removes the note: their reader has died. */
void cairn_suspects_blame(struct cairn_uploads *uploads);

/* Takes the first suspect of TENANT after BUILD_ID, which is "" for the first call, into use for a trial, and stores its build-id there.
 * Until cairn_suspects_end, nothing else may be looked for. Returns false if there is none. */
bool cairn_suspects_next(struct cairn_uploads *uploads, struct cairn_bytes tenant, char build_id[CAIRN_UPLOAD_BUILD]);

/* Ends the trial of BUILD_ID. It stays a suspect if its files were not read. */
void cairn_suspects_end(struct cairn_uploads *uploads, struct cairn_bytes tenant, const char *build_id);

#endif
