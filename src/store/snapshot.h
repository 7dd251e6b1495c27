/* snapshot.h - between profiles and rows.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_SNAPSHOT_H
#define CAIRN_STORE_SNAPSHOT_H

#include "store/rows.h"
#include "store/store.h"

/* So long are these of a frame at most; more is cut off, since a small profile may have a long one at many addresses. */
enum { CAIRN_STORE_PATH = 4096, CAIRN_STORE_BUILD_ID = 128, CAIRN_STORE_NAMES = 16 << 10 };

/* The number by which TENANT is known. */
uint64_t cairn_store_tenant(struct cairn_bytes tenant);

/* The number by which the instances of one release of a service are known together. */
uint64_t cairn_store_cohort(uint64_t tenant, struct cairn_bytes service, struct cairn_bytes version);

/* The number of the process that SNAPSHOT is of, among all that ever were. */
uint64_t cairn_snapshot_instance(const struct cairn_store_snapshot *snapshot);

/* The number of the frame at OFFSET in the file of BUILD_ID, of the TENANT with that number. */
uint64_t cairn_frame_id(uint64_t tenant, struct cairn_bytes build_id, uint64_t offset);

/* Appends the rows of the locations of PROFILE that have a build-id and names. Returns how many. */
size_t cairn_frames_write(const struct cairn_profile *profile, uint64_t tenant, struct cairn_buffer *rows);

/* How many bytes the rows of all frames of PROFILE take at most. */
size_t cairn_frames_size(const struct cairn_profile *profile);

/* Which frames and stacks were written to the same rows before, and their numbers: snapshots of one program have most of them in common,
 * and to number one takes three SHA-256 sums. All zeroes is none. */
struct cairn_numbered {
	struct cairn_map at; /* by a hash of what they are, which nobody else knows (base/hash.h), an index in `ids` */
	uint64_t *ids;
	size_t count, capacity;
};
void cairn_numbered_free(struct cairn_numbered *numbered);

/* Appends the rows of SNAPSHOT, a whole one, to each table its own but for hourly, which it has none of, and frames and stacks that are
 * NUMBERED already; *COHORT says whose it is. False for what cairn_store_accepts refuses. */
bool cairn_snapshot_write(const struct cairn_store_snapshot *snapshot, struct cairn_numbered *numbered,
			  struct cairn_buffer rows[CAIRN_TABLES], uint64_t *cohort);

/* What is known of the stacks and frames that samples refer to; each is fetched from the store once. All zeroes is nothing. */
struct cairn_dictionary {
	struct cairn_map stacks; /* id to an index in `lists` */
	struct cairn_map frames; /* id to an index in `places` */
	struct cairn_bytes *lists; /* frame ids, 8 bytes each */
	size_t list_count, list_capacity;
	size_t learned; /* so many of the lists have had their frames fetched */
	struct cairn_place {
		struct cairn_bytes build_id, module, names;
		uint64_t offset;
	} *places;
	size_t place_count, place_capacity;
	struct cairn_arena arena;
};

/* Takes in rows of the two tables. */
void cairn_dictionary_add_stacks(struct cairn_dictionary *dictionary, struct cairn_bytes rows);
void cairn_dictionary_add_frames(struct cairn_dictionary *dictionary, struct cairn_bytes rows);
void cairn_dictionary_free(struct cairn_dictionary *dictionary);

/* One sample, as the store has it. */
struct cairn_stored_sample {
	uint64_t stack;
	double bytes, objects, sampled, allocated_bytes, allocated_objects;
};

/* Takes one off ROWS, from `stack` on. */
struct cairn_stored_sample cairn_stored_sample_take(struct cairn_cursor *rows);

/* Makes PROFILE, an initialised one, what PROCESS held at POINT; of stacks that the dictionary lacks, one frame says so. */
void cairn_snapshot_read(struct cairn_profile *profile, const struct cairn_dictionary *dictionary,
			 const struct cairn_store_process *process, const struct cairn_store_point *point,
			 const struct cairn_stored_sample *samples, size_t count);

#endif
