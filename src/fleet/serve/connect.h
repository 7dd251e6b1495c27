/* connect.h - messages of the Connect protocol, as protobuf or as JSON.
 *
 * The content type of a request says which of the two the client uses: protobuf for Grafana's data source, JSON for curl and pages. A
 * message is written field by field, each with its number and its JSON name, for both. 64-bit integers are texts in JSON. Fields that are
 * not set are 0 or empty in both.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_CONNECT_H
#define CAIRN_FLEET_SERVE_CONNECT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

enum { CAIRN_CONNECT_DEPTH = 4,
       CAIRN_CONNECT_TEXTS = 32 };

/* Reading. */

enum cairn_connect_kind {
	CAIRN_CONNECT_TEXT,   /* const char * */
	CAIRN_CONNECT_SEVERAL, /* struct cairn_connect_texts */
	CAIRN_CONNECT_WHOLE,  /* int64_t */
	CAIRN_CONNECT_REAL,   /* double */
	CAIRN_CONNECT_MESSAGE, /* struct cairn_bytes, to be read in turn */
};

struct cairn_connect_texts {
	const char *items[CAIRN_CONNECT_TEXTS];
	size_t count; /* further texts are ignored */
};

/* A field that a message may have. JSON may use either spelling of its name. Tables end with a field whose name is NULL. */
struct cairn_connect_field {
	uint32_t number;
	const char *name, *proto_name;
	enum cairn_connect_kind kind;
	size_t offset; /* of its value in the struct that the message is read into */
};

/* Reads MESSAGE into VALUES, which is all zeroes; texts live as long as ARENA. Skips fields that are not in FIELDS. Fails if MESSAGE is
 * malformed. */
bool cairn_connect_read(struct cairn_bytes message, bool binary, const struct cairn_connect_field *fields, void *values,
			struct cairn_arena *arena, struct cairn_error *error);

/* Writing. */

struct cairn_connect {
	bool binary;
	struct cairn_buffer *out;
	struct cairn_json json;
	struct {
		struct cairn_buffer buffer;
		uint32_t number;
	} open[CAIRN_CONNECT_DEPTH]; /* nested messages, whose length precedes them */
	size_t depth;
};

/* Begin the outermost message in OUT, and end it. */
struct cairn_connect cairn_connect_begin(struct cairn_buffer *out, bool binary);
void cairn_connect_end(struct cairn_connect *connect);

/* Begin and end a repeated field. The fields between them have the same number and no name. */
void cairn_connect_list(struct cairn_connect *connect, const char *name);
void cairn_connect_list_end(struct cairn_connect *connect);

/* NAME is NULL within a list. */
void cairn_connect_open(struct cairn_connect *connect, uint32_t number, const char *name);
void cairn_connect_close(struct cairn_connect *connect);
void cairn_connect_text(struct cairn_connect *connect, uint32_t number, const char *name, struct cairn_bytes text);
void cairn_connect_whole(struct cairn_connect *connect, uint32_t number, const char *name, int64_t value);
void cairn_connect_real(struct cairn_connect *connect, uint32_t number, const char *name, double value);
/* Writes a repeated field of integers. */
void cairn_connect_wholes(struct cairn_connect *connect, uint32_t number, const char *name, const int64_t *values, size_t count);

#endif
