/* protobuf.h - the wire format of Protocol Buffers: a message is a run of (number << 3 | wire type) and a value.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_PROTOBUF_H
#define CAIRN_BASE_PROTOBUF_H

#include "base/buffer.h"
#include "base/cursor.h"

enum cairn_wire { CAIRN_WIRE_VARINT = 0, CAIRN_WIRE_FIXED64 = 1, CAIRN_WIRE_BYTES = 2, CAIRN_WIRE_FIXED32 = 5 };

/* A field that is 0 is left out: so the reader takes it to be. */
static inline void cairn_protobuf_number(struct cairn_buffer *to, unsigned field, uint64_t value)
{
	if (value == 0)
		return;
	cairn_buffer_uleb(to, field << 3 | CAIRN_WIRE_VARINT);
	cairn_buffer_uleb(to, value);
}

static inline void cairn_protobuf_bytes(struct cairn_buffer *to, unsigned field, struct cairn_bytes bytes)
{
	cairn_buffer_uleb(to, field << 3 | CAIRN_WIRE_BYTES);
	cairn_buffer_uleb(to, bytes.length);
	cairn_buffer_append(to, bytes.data, bytes.length);
}

/* Moves a finished MESSAGE into TO and empties it. */
static inline void cairn_protobuf_message(struct cairn_buffer *to, unsigned field, struct cairn_buffer *message)
{
	cairn_protobuf_bytes(to, field, cairn_buffer_bytes(message));
	message->length = 0;
}

/* A fixed64. */
static inline void cairn_protobuf_fixed(struct cairn_buffer *to, unsigned field, uint64_t value)
{
	cairn_buffer_uleb(to, field << 3 | CAIRN_WIRE_FIXED64);
	for (unsigned i = 0; i < 8; i++)
		cairn_buffer_byte(to, (char)(value >> (8 * i)));
}

/* Reading: a field and its value, which is either a number or bytes. A repeated number is either packed, with many in one field of bytes,
 * or has a field for each: BYTES are the same run of LEB128 numbers in both cases. */
struct cairn_protobuf_field {
	uint64_t id; /* which field of its message */
	enum cairn_wire wire;
	uint64_t number;
	struct cairn_bytes bytes; /* borrowed; of a varint, as it was encoded; empty for a number of fixed size */
};

/* Takes the next field off MESSAGE. False at the end and at damage, which the cursor tells. */
static inline bool cairn_protobuf_next(struct cairn_cursor *message, struct cairn_protobuf_field *field)
{
	if (cairn_cursor_left(message) == 0)
		return false;
	uint64_t tag = cairn_cursor_uleb(message);
	*field = (struct cairn_protobuf_field){.id = tag >> 3, .wire = (enum cairn_wire)(tag & 7), .bytes = {"", 0}};
	switch (field->wire) {
	case CAIRN_WIRE_VARINT:
		field->bytes.data = (const char *)message->at;
		field->number = cairn_cursor_uleb(message);
		field->bytes.length = (size_t)((const char *)message->at - field->bytes.data);
		break;
	case CAIRN_WIRE_FIXED64: field->number = cairn_cursor_u64(message); break;
	case CAIRN_WIRE_BYTES: field->bytes = cairn_cursor_bytes(message, cairn_cursor_uleb(message)); break;
	case CAIRN_WIRE_FIXED32: field->number = cairn_cursor_u32(message); break;
	default: cairn_cursor_fail(message);
	}
	if (field->id == 0)
		cairn_cursor_fail(message);
	return !message->failed;
}

#endif
