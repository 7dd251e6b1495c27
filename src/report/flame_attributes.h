/* flame_attributes.h - user-defined attributes of functions in a picture: another title, a link.
 *
 * The file has one line for each function: its name, a tab, and name=value pairs separated by tabs. `title`, `href`, `target`, `class`
 * and `id` are used.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_FLAME_ATTRIBUTES_H
#define CAIRN_REPORT_FLAME_ATTRIBUTES_H

#include "base/buffer.h"
#include "base/error.h"

struct cairn_flame_attribute {
	struct cairn_bytes title, href, target, class, id; /* empty if not given; borrowed from the text that was read */
};

struct cairn_flame_attributes;

/* Borrows TEXT. Fails with a message at a line without a tab. */
struct cairn_flame_attributes *cairn_flame_attributes_read(struct cairn_bytes text, struct cairn_error *error);
void cairn_flame_attributes_free(struct cairn_flame_attributes *attributes);

/* The attributes of NAME, or NULL. ATTRIBUTES may be NULL. */
const struct cairn_flame_attribute *cairn_flame_attributes_find(const struct cairn_flame_attributes *attributes, struct cairn_bytes name);

/* Writes the start tag of a frame: a link if it has one, else a group. Returns the name for the end tag. ATTRIBUTE may be NULL. */
const char *cairn_flame_attributes_open(const struct cairn_flame_attribute *attribute, struct cairn_buffer *out);

#endif
