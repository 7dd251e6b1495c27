/* connect.h - messages of the Connect protocol, as protobuf or as JSON.
 *
 * A client says by the type of its content which of the two it speaks: Grafana's data source protobuf, curl and pages JSON. A message is
 * written once, field by field, each with its number and its JSON name; whole numbers of 64 bits are texts in JSON, and what a message does
 * not set is nothing, 0 or empty, in both.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SERVE_CONNECT_H
#define CAIRN_CMD_SERVE_CONNECT_H

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
	size_t count; /* those beyond are left out */
};

/* A field that a message may have. In JSON it may be spelt either way. Tables end with one whose name is NULL. */
struct cairn_connect_field {
	uint32_t number;
	const char *name, *proto_name;
	enum cairn_connect_kind kind;
	size_t offset; /* of its value in the struct that the message is read into */
};

/* Reads MESSAGE into VALUES, which is all zeroes; texts live as long as ARENA. Fields that are not in FIELDS are skipped. False, with a
 * sentence, for what is no message. */
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
	} open[CAIRN_CONNECT_DEPTH]; /* messages within messages, of which the length comes first */
	size_t depth;
};

/* Begins the outermost message in OUT, and ends it. */
struct cairn_connect cairn_connect_begin(struct cairn_buffer *out, bool binary);
void cairn_connect_end(struct cairn_connect *connect);

/* A field that may be there several times begins and ends with these; what is between them has the same number, and no name. */
void cairn_connect_list(struct cairn_connect *connect, const char *name);
void cairn_connect_list_end(struct cairn_connect *connect);

/* NAME is NULL within a list. */
void cairn_connect_open(struct cairn_connect *connect, uint32_t number, const char *name);
void cairn_connect_close(struct cairn_connect *connect);
void cairn_connect_text(struct cairn_connect *connect, uint32_t number, const char *name, struct cairn_bytes text);
void cairn_connect_whole(struct cairn_connect *connect, uint32_t number, const char *name, int64_t value);
void cairn_connect_real(struct cairn_connect *connect, uint32_t number, const char *name, double value);
/* All of a field that is a list of whole numbers. */
void cairn_connect_wholes(struct cairn_connect *connect, uint32_t number, const char *name, const int64_t *values, size_t count);

#endif
