/* uploads.h - the programs and debug files that builds have uploaded to a collector, by build-id.
 *
 * A file comes in pieces, each to the end of a draft, so that memory holds one piece at a time and an upload that broke off goes on where
 * it was. It is in use once it is complete, has the SHA-256 sum that it was announced with, and is an ELF file with a build-id: the one
 * inside it, which is also its name here (`.build-id/xx/yyyy`, and `.build-id/xx/yyyy.debug` for a file without code). No other name comes
 * from outside.
 *
 * Each tenant has a folder of its own, and a cache of names in it: whoever may upload can give any file any build-id, and must not
 * name the code of others. Debug information may refer to further files by their path, so the folder's own name is a hash of the tenant and
 * a secret: nobody can refer to the folder of another.
 *
 * A tenant's files take a limited room; those that went unused for longest make way.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_COLLECT_UPLOADS_H
#define CAIRN_CMD_COLLECT_UPLOADS_H

#include "base/bytes.h"
#include "base/sha256.h"
#include "cmd/collect/build_file.h"
#include "cmd/collect/suspects.h"
#include "profile/profile.h"
#include "symbol/symbolize.h"

#include <pthread.h>
#include <stdatomic.h>

enum { CAIRN_UPLOAD_PIECE = 4 << 20, CAIRN_UPLOAD_SUM = CAIRN_SHA256_DIGITS };

struct cairn_uploads {
	const char *path; /* borrowed */
	uint64_t largest, total; /* of one file, and of those of one tenant */
	pthread_mutex_t lock;
	bool has_secret; /* once a file has been uploaded, ever */
	char secret[32];
	_Atomic uint64_t arrived, removed; /* files, since it was opened */
	struct cairn_suspects suspects;
};

/* Opens the folder PATH, which is made if it is not there: now, or with the first upload if it may come LATER. Several collectors may share
 * one. */
bool cairn_uploads_open(struct cairn_uploads *uploads, const char *path, uint64_t largest, uint64_t total, bool later,
			struct cairn_error *error);

/* What became of a question or a piece. */
struct cairn_upload_state {
	int status; /* of the answer: 200, or what a failure is to be answered with */
	bool complete; /* it is there, or was already */
	uint64_t received; /* from where on it is to be sent */
	struct cairn_build_file file; /* when it has just become complete */
};

/* Whether TENANT's file with the sum SUM is wanted; FILE is what its owner says about it, of which nothing is believed but what to look
 * for. False with a status and a sentence where it can never be. */
bool cairn_uploads_ask(struct cairn_uploads *uploads, struct cairn_bytes tenant, const char *sum, const struct cairn_build_file *file,
		       struct cairn_upload_state *state, struct cairn_error *error);

/* Takes PIECE of a file with the sum SUM and SIZE bytes, from OFFSET on. False with a status and a sentence. */
bool cairn_uploads_take(struct cairn_uploads *uploads, struct cairn_bytes tenant, const char *sum, uint64_t size, uint64_t offset,
			struct cairn_bytes piece, struct cairn_upload_state *state, struct cairn_error *error);

/* Whether SUM is 64 lower-case hexadecimal digits. */
bool cairn_upload_sum_valid(const char *sum);

/* Adds what TENANT has uploaded for the modules of PROFILE to OPTIONS, and marks it as used. What is added lives in ARENA. Once it has been
 * read, call cairn_suspects_done. */
void cairn_uploads_find(struct cairn_uploads *uploads, struct cairn_bytes tenant, const struct cairn_profile *profile,
			struct cairn_arena *arena, struct cairn_symbolize_options *options);

/* Whether TENANT has uploaded the program of BUILD_ID itself, not only a debug file. */
bool cairn_uploads_has_program(struct cairn_uploads *uploads, struct cairn_bytes tenant, const char *build_id);

/* The folder of TENANT, and the path of the file of BUILD_ID in it, the program itself or its debug file; false where that does not fit. */
void cairn_uploads_folder(const struct cairn_uploads *uploads, struct cairn_bytes tenant, char out[CAIRN_UPLOAD_PATH]);
bool cairn_uploads_file(const char *folder, const char *build_id, bool program, char out[CAIRN_UPLOAD_PATH]);

/* Whether TENANT has uploaded anything. */
bool cairn_uploads_has_any(struct cairn_uploads *uploads, struct cairn_bytes tenant);

#endif
