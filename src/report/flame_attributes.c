/* flame_attributes.c - reads the attributes, and writes start tags.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/flame_attributes.h"

#include "base/array.h"
#include "base/strings.h"
#include "base/text.h"
#include "base/xml.h"

#include <stdlib.h>

struct cairn_flame_attributes {
	struct cairn_strings names;
	struct cairn_flame_attribute *items; /* by name id - 1 */
	size_t capacity;
};

/* Removes the part before the next SEPARATOR, or everything, from REST. */
static struct cairn_bytes take_until(struct cairn_bytes *rest, char separator)
{
	const char *mark = rest->length ? memchr(rest->data, separator, rest->length) : NULL;
	size_t length = mark ? (size_t)(mark - rest->data) : rest->length;
	struct cairn_bytes taken = {rest->data, length};
	*rest = cairn_bytes_skip(*rest, length + 1);
	return taken;
}

static void set_pair(struct cairn_flame_attribute *attribute, struct cairn_bytes value)
{
	static const struct {
		const char *name;
		size_t offset;
	} known[] = {
		{"title", offsetof(struct cairn_flame_attribute, title)},
		{"href", offsetof(struct cairn_flame_attribute, href)},
		{"target", offsetof(struct cairn_flame_attribute, target)},
		{"class", offsetof(struct cairn_flame_attribute, class)},
		{"id", offsetof(struct cairn_flame_attribute, id)},
	};
	struct cairn_bytes name = take_until(&value, '=');
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (cairn_bytes_equal(name, cairn_bytes_of(known[i].name)))
			*(struct cairn_bytes *)((char *)attribute + known[i].offset) = value;
}

struct cairn_flame_attributes *cairn_flame_attributes_read(struct cairn_bytes text, struct cairn_error *error)
{
	struct cairn_flame_attributes *attributes = cairn_array_zero(1, sizeof *attributes);
	struct cairn_bytes line;
	for (size_t number = 1; cairn_text_line(&text, &line, NULL); number++) {
		size_t before = attributes->names.count;
		if (!memchr(line.data, '\t', line.length)) {
			cairn_flame_attributes_free(attributes);
			cairn_fail(error, "line %zu: a function, a tab and name=value were expected", number);
			return NULL;
		}
		uint32_t id = cairn_strings_add(&attributes->names, take_until(&line, '\t'));
		if (!id)
			continue;
		attributes->items = cairn_array_reserve(attributes->items, &attributes->capacity, id, sizeof *attributes->items);
		if (attributes->names.count > before)
			attributes->items[id - 1] = (struct cairn_flame_attribute){0};
		while (line.length > 0)
			set_pair(&attributes->items[id - 1], take_until(&line, '\t'));
	}
	return attributes;
}

void cairn_flame_attributes_free(struct cairn_flame_attributes *attributes)
{
	if (!attributes)
		return;
	cairn_strings_free(&attributes->names);
	free(attributes->items);
	free(attributes);
}

const struct cairn_flame_attribute *cairn_flame_attributes_find(const struct cairn_flame_attributes *attributes, struct cairn_bytes name)
{
	uint32_t id = attributes ? cairn_strings_find(&attributes->names, name) : CAIRN_NONE;
	return id == CAIRN_NONE || id == 0 ? NULL : &attributes->items[id - 1];
}

/* A link must lead to the web or to a place beside the picture; anything else, such as a script, is rejected. */
static bool is_safe_link(struct cairn_bytes link)
{
	size_t scheme = 0;
	while (scheme < link.length && !strchr(":/?#", link.data[scheme]))
		scheme++;
	return link.length > 0 && (scheme == link.length || link.data[scheme] != ':' || cairn_bytes_start_with(link, "http:") ||
				   cairn_bytes_start_with(link, "https:"));
}

static void add_pair(struct cairn_buffer *out, const char *name, struct cairn_bytes value)
{
	if (value.length == 0)
		return;
	cairn_buffer_format(out, " %s=\"", name);
	cairn_xml_text(out, value);
	cairn_buffer_byte(out, '"');
}

const char *cairn_flame_attributes_open(const struct cairn_flame_attribute *attribute, struct cairn_buffer *out)
{
	if (!attribute) {
		cairn_buffer_text(out, "<g>");
		return "g";
	}
	bool link = is_safe_link(attribute->href);
	cairn_buffer_text(out, link ? "<a" : "<g");
	if (link) {
		add_pair(out, "xlink:href", attribute->href);
		add_pair(out, "target", attribute->target.length ? attribute->target : cairn_bytes_of("_top"));
	}
	add_pair(out, "id", attribute->id);
	add_pair(out, "class", attribute->class);
	cairn_buffer_byte(out, '>');
	return link ? "a" : "g";
}
