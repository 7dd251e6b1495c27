/* work_tree.c - which tree a request is for, and the trees that were made lately.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/unpack.h"
#include "cmd/serve/work.h"

#include <stdio.h>
#include <stdlib.h>

enum { trees_most = 12 };

/* A tree as it is sent, packed; freed with the last who sends it. */
struct cairn_work_packed {
	atomic_uint users;
	size_t length;
	char *data;
};

/* Those made last, and their tags. */
static struct {
	pthread_mutex_t lock;
	struct {
		char tag[CAIRN_WORK_TAG];
		struct cairn_work_packed *packed;
	} trees[trees_most];
	size_t next;
} made = {.lock = PTHREAD_MUTEX_INITIALIZER};

void cairn_work_release(void *owner)
{
	struct cairn_work_packed *packed = owner;
	if (atomic_fetch_sub(&packed->users, 1) == 1) {
		free(packed->data);
		free(packed);
	}
}

void cairn_work_name(struct cairn_response *response, const struct cairn_work_tree *tree)
{
	char dumps[48];
	snprintf(dumps, sizeof dumps, "%lld %lld", (long long)tree->at, (long long)tree->base);
	cairn_response_header(response, "ETag", tree->tag);
	cairn_response_header(response, "X-Cairn-Dumps", dumps);
}

void cairn_work_answer_packed(struct cairn_response *response, struct cairn_work_packed *packed, const struct cairn_work_tree *tree)
{
	atomic_fetch_add(&packed->users, 1);
	cairn_response_start(response, 200, "application/octet-stream");
	response->content = (struct cairn_bytes){packed->data, packed->length};
	response->owner = packed;
	response->release = cairn_work_release;
	cairn_response_header(response, "Content-Encoding", "gzip");
	if (tree)
		cairn_work_name(response, tree);
}

struct cairn_work_packed *cairn_work_pack(struct cairn_bytes bytes)
{
	struct cairn_work_packed *packed = cairn_array_zero(1, sizeof *packed);
	atomic_store(&packed->users, 1);
	packed->data = cairn_pack_gzip(bytes, &packed->length);
	if (!packed->data)
		cairn_out_of_memory(bytes.length);
	return packed;
}

bool cairn_work_answer(struct cairn_response *response, const struct cairn_work_tree *tree)
{
	bool found = false;
	pthread_mutex_lock(&made.lock);
	for (size_t i = 0; i < trees_most && !found; i++)
		if (made.trees[i].packed && strcmp(made.trees[i].tag, tree->tag) == 0) {
			cairn_work_answer_packed(response, made.trees[i].packed, tree);
			found = true;
		}
	pthread_mutex_unlock(&made.lock);
	return found;
}

void cairn_work_keep(struct cairn_work_packed *packed, const char *tag)
{
	pthread_mutex_lock(&made.lock);
	size_t at = made.next++ % trees_most;
	if (made.trees[at].packed)
		cairn_work_release(made.trees[at].packed);
	made.trees[at].packed = packed;
	snprintf(made.trees[at].tag, sizeof made.trees[at].tag, "%s", tag);
	pthread_mutex_unlock(&made.lock);
}

/* The point nearest to what the query says; the newest where it says nothing. */
static int64_t nearest(const struct cairn_serve_process *process, const char *text)
{
	char *end;
	const long long most = (long long)1 << 52;
	long long wanted = strtoll(text, &end, 10);
	wanted = wanted < 0 ? 0 : wanted > most ? most : wanted;
	const struct cairn_serve_point *best = &process->points[process->point_count - 1];
	for (size_t i = 0; end != text && i < process->point_count; i++)
		if (llabs(process->points[i].id - wanted) < llabs(best->id - wanted))
			best = &process->points[i];
	return best->id;
}

bool cairn_work_tree(const struct cairn_serve_process *process, struct cairn_bytes query, struct cairn_work_tree *tree)
{
	char at[32] = "", base[32] = "";
	*tree = (struct cairn_work_tree){0};
	if (process->point_count == 0)
		return false;
	cairn_query_get(query, "at", at, sizeof at);
	cairn_query_get(query, "value", tree->value, sizeof tree->value);
	tree->at = nearest(process, at);
	if (cairn_query_get(query, "base", base, sizeof base) && base[0])
		tree->base = nearest(process, base);
	if (tree->value[strspn(tree->value, "abcdefghijklmnopqrstuvwxyz_")])
		tree->value[0] = 0;
	snprintf(tree->tag, sizeof tree->tag, "\"%s-%llu-%lld-%lld-%s\"", process->key, (unsigned long long)process->epoch,
		 (long long)tree->at, (long long)tree->base, tree->value);
	return true;
}
