/* packed.c - a ring of the trees made last, each with a count of its users.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/packed.h"

#include "base/array.h"
#include "base/error.h"
#include "base/unpack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kept_most = 12 };

struct cairn_packed {
	atomic_uint users;
	size_t length;
	char *data;
};

static struct {
	pthread_mutex_t lock;
	struct {
		char tag[CAIRN_PACKED_TAG];
		struct cairn_packed *packed;
	} items[kept_most];
	size_t next;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

void cairn_packed_release(void *owner)
{
	struct cairn_packed *packed = owner;
	if (atomic_fetch_sub(&packed->users, 1) == 1) {
		free(packed->data);
		free(packed);
	}
}

void cairn_packed_answer(struct cairn_response *response, struct cairn_packed *packed)
{
	atomic_fetch_add(&packed->users, 1);
	cairn_response_start(response, 200, "application/octet-stream");
	response->content = (struct cairn_bytes){packed->data, packed->length};
	response->owner = packed;
	response->release = cairn_packed_release;
	cairn_response_header(response, "Content-Encoding", "gzip");
}

struct cairn_packed *cairn_packed_make(struct cairn_bytes bytes)
{
	struct cairn_packed *packed = cairn_array_zero(1, sizeof *packed);
	atomic_store(&packed->users, 1);
	packed->data = cairn_pack_gzip(bytes, &packed->length);
	if (!packed->data)
		cairn_out_of_memory(bytes.length);
	return packed;
}

bool cairn_packed_find(struct cairn_response *response, const char *tag)
{
	bool found = false;
	pthread_mutex_lock(&kept.lock);
	for (size_t i = 0; i < kept_most && !found; i++)
		if (kept.items[i].packed && strcmp(kept.items[i].tag, tag) == 0) {
			cairn_packed_answer(response, kept.items[i].packed);
			found = true;
		}
	pthread_mutex_unlock(&kept.lock);
	return found;
}

void cairn_packed_keep(struct cairn_packed *packed, const char *tag)
{
	pthread_mutex_lock(&kept.lock);
	size_t at = kept.next++ % kept_most;
	if (kept.items[at].packed)
		cairn_packed_release(kept.items[at].packed);
	kept.items[at].packed = packed;
	snprintf(kept.items[at].tag, sizeof kept.items[at].tag, "%s", tag);
	pthread_mutex_unlock(&kept.lock);
}
