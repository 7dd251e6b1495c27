/* uploads.h - programs and debug files that were uploaded to a collector, by build-id.
 *
 * A file comes in pieces, each appended to a draft, so that memory holds one piece at a time and an interrupted upload can continue. It is
 * used once it is complete, has the SHA-256 sum that was announced, and is an ELF file with a build-id. That build-id is its name here
 * (`.build-id/xx/yyyy`, and `.build-id/xx/yyyy.debug` for a file without code); no other name comes from outside.
 *
 * Each tenant has a folder of its own, with a cache of names in it: who may upload can give any file any build-id, and must not be able to
 * name the code of others. Debug information may refer to further files by path, so the folder's name is a hash of the tenant and a secret:
 * nobody can refer to the folder of another tenant.
 *
 * The total size of a tenant's files is limited; the least recently used are removed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_UPLOADS_H
#define CAIRN_FLEET_COLLECT_UPLOADS_H

#include "base/bytes.h"
#include "base/sha256.h"
#include "fleet/collect/build_file.h"
#include "fleet/collect/suspects.h"
#include "profile/profile.h"
#include "symbol/symbolize.h"

#include <pthread.h>
#include <stdatomic.h>

enum { CAIRN_UPLOAD_PIECE = 4 << 20, CAIRN_UPLOAD_SUM = CAIRN_SHA256_DIGITS };

struct cairn_uploads {
	const char *path; /* borrowed */
	uint64_t largest, total; /* of one file, and of those of one tenant */
	pthread_mutex_t lock;
	bool has_secret; /* there is one once a file has ever been uploaded */
	char secret[32];
	_Atomic uint64_t arrived, removed; /* files, since it was opened */
	struct cairn_suspects suspects;
};

/* Opens the folder PATH, which is created if missing: now, or with LATER at the first upload. Several collectors may share a folder. */
bool cairn_uploads_open(struct cairn_uploads *uploads, const char *path, uint64_t largest, uint64_t total, bool later,
			struct cairn_error *error);

/* The result of a request. */
struct cairn_upload_state {
	int status; /* of the HTTP answer: 200 unless the request failed */
	bool complete; /* the collector has the file, or a better one */
	uint64_t received; /* the offset from which to continue */
	struct cairn_build_file file; /* set if this request completed it */
};

/* Finds out whether TENANT's file with the sum SUM is wanted. FILE is its description by the sender, which is only used to look for a file
 * that is as good. Fails, with a status, if the file can never be accepted. */
bool cairn_uploads_ask(struct cairn_uploads *uploads, struct cairn_bytes tenant, const char *sum, const struct cairn_build_file *file,
		       struct cairn_upload_state *state, struct cairn_error *error);

/* Takes PIECE, at OFFSET of a file with the sum SUM and SIZE bytes. Fails with a status. */
bool cairn_uploads_take(struct cairn_uploads *uploads, struct cairn_bytes tenant, const char *sum, uint64_t size, uint64_t offset,
			struct cairn_bytes piece, struct cairn_upload_state *state, struct cairn_error *error);

/* Whether SUM is 64 lower-case hexadecimal digits. */
bool cairn_upload_sum_valid(const char *sum);

/* Adds the files that TENANT has uploaded for the modules of PROFILE to OPTIONS, and marks them as used. The additions live in ARENA. Call
 * cairn_suspects_done once the files have been read. */
void cairn_uploads_find(struct cairn_uploads *uploads, struct cairn_bytes tenant, const struct cairn_profile *profile,
			struct cairn_arena *arena, struct cairn_symbolize_options *options);

/* Whether TENANT has uploaded the program of BUILD_ID itself, not only a debug file. */
bool cairn_uploads_has_program(struct cairn_uploads *uploads, struct cairn_bytes tenant, const char *build_id);

/* The folder of TENANT. */
void cairn_uploads_folder(const struct cairn_uploads *uploads, struct cairn_bytes tenant, char out[CAIRN_UPLOAD_PATH]);

/* The path in FOLDER of the program with BUILD_ID, or of its debug file. Returns false if the path is too long. */
bool cairn_uploads_file(const char *folder, const char *build_id, bool program, char out[CAIRN_UPLOAD_PATH]);

/* Whether TENANT has uploaded anything. */
bool cairn_uploads_has_any(struct cairn_uploads *uploads, struct cairn_bytes tenant);

#endif
