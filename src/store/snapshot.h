/* snapshot.h - turns profiles into rows, and rows into profiles.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_SNAPSHOT_H
#define CAIRN_STORE_SNAPSHOT_H

#include "store/rows.h"
#include "store/store.h"

/* The maximum length of the texts of a frame. Longer ones are cut, since a small profile may have a long one at many addresses. */
enum { CAIRN_STORE_PATH = 4096, CAIRN_STORE_BUILD_ID = 128, CAIRN_STORE_NAMES = 16 << 10 };

/* The number that identifies TENANT. */
uint64_t cairn_store_tenant(struct cairn_bytes tenant);

/* The number that identifies a cohort, all instances of one release of a service. */
uint64_t cairn_store_cohort(uint64_t tenant, struct cairn_bytes service, struct cairn_bytes version);

/* The number that identifies the process of SNAPSHOT among all processes ever stored. */
uint64_t cairn_snapshot_instance(const struct cairn_store_snapshot *snapshot);

/* The number that identifies the frame at OFFSET in the file with BUILD_ID. TENANT is the tenant's number. */
uint64_t cairn_frame_id(uint64_t tenant, struct cairn_bytes build_id, uint64_t offset);

/* Adds the rows of the locations of PROFILE that have a build-id and names. Returns their number. Here and below, rows borrow from the
 * profile. */
size_t cairn_frames_write(const struct cairn_profile *profile, uint64_t tenant, struct cairn_rows *rows);

/* An upper bound for the size of the rows of all frames of PROFILE, in bytes. */
size_t cairn_frames_size(const struct cairn_profile *profile);

/* The frames and stacks that were written to the same rows before, with their numbers: snapshots of one program have most of them in
 * common, and computing a number takes three SHA-256 sums. All zeroes is none. */
struct cairn_numbered {
	struct cairn_map at; /* a secret hash of the content (base/hash.h) to an index in `ids` */
	uint64_t *ids;
	size_t count, capacity;
};
void cairn_numbered_free(struct cairn_numbered *numbered);

/* What a row of the table snapshots does not contain: the number of its rows of samples, and its cohort. */
struct cairn_snapshot_part {
	size_t samples;
	uint64_t cohort;
};

/* How a snapshot was sampled, as one number: UNSAMPLING, and whether its objects have the sizes of classes, as in a profile. Versions that
 * do not know the latter take the number for a method that they do not know. */
uint64_t cairn_sampling_number(enum cairn_unsampling unsampling, bool size_classes);
enum cairn_unsampling cairn_sampling_method(uint64_t number, bool *size_classes);

/* Adds the rows of SNAPSHOT, a whole one, to ROWS, except for frames and stacks that are NUMBERED already; hourly gets none. They borrow
 * from SNAPSHOT. Returns false if cairn_store_accepts refuses it. */
bool cairn_snapshot_write(const struct cairn_store_snapshot *snapshot, struct cairn_numbered *numbered, struct cairn_rows *rows,
			  struct cairn_snapshot_part *part);

/* The stacks and frames that samples refer to; each is fetched from the store once. All zeroes is an empty dictionary. */
struct cairn_dictionary {
	struct cairn_map stacks; /* id to an index in `lists` */
	struct cairn_map frames; /* id to an index in `places` */
	struct cairn_bytes *lists; /* frame ids, 8 bytes each */
	size_t list_count, list_capacity;
	size_t learned; /* the number of lists whose frames were fetched */
	struct cairn_place {
		struct cairn_bytes build_id, module, names;
		uint64_t offset;
	} *places;
	size_t place_count, place_capacity;
	struct cairn_arena arena;
};

/* Adds what a row of one of the two tables says. */
void cairn_dictionary_add_stack(struct cairn_dictionary *dictionary, const struct cairn_row_stack *row);
void cairn_dictionary_add_frame(struct cairn_dictionary *dictionary, const struct cairn_row_frame *row);
void cairn_dictionary_free(struct cairn_dictionary *dictionary);

/* Fills PROFILE, which is initialized, with the memory of PROCESS at POINT. A stack that the dictionary lacks has one frame that says
 * so. */
void cairn_snapshot_read(struct cairn_profile *profile, const struct cairn_dictionary *dictionary,
			 const struct cairn_store_process *process, const struct cairn_store_point *point,
			 const struct cairn_stored_sample *samples, size_t count);

#endif
