/* palette.c - the palettes as a table of ranges, and the numbers that select a colour within a range.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/palette.h"

#include "base/array.h"
#include "base/text.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>

const char *const cairn_palette_names[] = {
	[CAIRN_PALETTE_HOT] = "hot",       [CAIRN_PALETTE_MEM] = "mem",       [CAIRN_PALETTE_IO] = "io",
	[CAIRN_PALETTE_RED] = "red",       [CAIRN_PALETTE_GREEN] = "green",   [CAIRN_PALETTE_BLUE] = "blue",
	[CAIRN_PALETTE_YELLOW] = "yellow", [CAIRN_PALETTE_PURPLE] = "purple", [CAIRN_PALETTE_AQUA] = "aqua",
	[CAIRN_PALETTE_ORANGE] = "orange", [CAIRN_PALETTE_WAKEUP] = "wakeup", [CAIRN_PALETTE_CHAIN] = "chain",
	[CAIRN_PALETTE_JAVA] = "java",     [CAIRN_PALETTE_JS] = "js",         [CAIRN_PALETTE_PERL] = "perl",
	[CAIRN_PALETTE_MODULE] = "module", [CAIRN_PALETTE_DIFF] = "diff",   NULL,
};

enum { palette_count = sizeof cairn_palette_names / sizeof *cairn_palette_names - 1 };

/* Each of red, green and blue is base + spread * v; those marked in FIRST use the first number for v, the others the second. */
static const struct range {
	unsigned char base[3], spread[3];
	bool first[3];
} ranges[] = {
	[CAIRN_PALETTE_HOT] = {{205, 0, 0}, {50, 230, 55}, {false, true, false}},
	[CAIRN_PALETTE_MEM] = {{0, 190, 0}, {0, 50, 210}, {false, false, true}},
	[CAIRN_PALETTE_IO] = {{80, 80, 190}, {60, 60, 55}, {true, true, false}},
	[CAIRN_PALETTE_RED] = {{200, 50, 50}, {55, 80, 80}, {true, true, true}},
	[CAIRN_PALETTE_GREEN] = {{50, 200, 50}, {60, 55, 60}, {true, true, true}},
	[CAIRN_PALETTE_BLUE] = {{80, 80, 205}, {60, 60, 50}, {true, true, true}},
	[CAIRN_PALETTE_YELLOW] = {{175, 175, 50}, {55, 55, 20}, {true, true, true}},
	[CAIRN_PALETTE_PURPLE] = {{190, 80, 190}, {65, 60, 65}, {true, true, true}},
	[CAIRN_PALETTE_AQUA] = {{50, 165, 165}, {60, 55, 55}, {true, true, true}},
	[CAIRN_PALETTE_ORANGE] = {{190, 90, 0}, {65, 65, 0}, {true, true, true}},
};

bool cairn_palette_find(const char *name, enum cairn_palette_kind *kind, struct cairn_error *error)
{
	struct cairn_buffer known = cairn_buffer(300);
	for (int i = 0; i < palette_count; i++) {
		if (strcmp(name, cairn_palette_names[i]) == 0) {
			*kind = (enum cairn_palette_kind)i;
			cairn_buffer_free(&known);
			return true;
		}
		cairn_buffer_format(&known, "%s%s", i ? ", " : "", cairn_palette_names[i]);
	}
	cairn_fail_usage(error, "no palette '%s'; there are %.*s", name, (int)known.length, known.data);
	cairn_buffer_free(&known);
	return false;
}

static bool is_java(struct cairn_bytes name)
{
	static const char *const packages[] = {"java/", "javax/", "jdk/", "net/", "org/", "com/", "io/", "sun/"};
	struct cairn_bytes bare = cairn_bytes_start_with(name, "L") ? cairn_bytes_skip(name, 1) : name;
	for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
		if (cairn_bytes_start_with(bare, packages[i]))
			return true;
	return cairn_bytes_contain(name, ":::");
}

static enum cairn_palette_kind java_kind(struct cairn_bytes name)
{
	if (cairn_bytes_end_with(name, "_[j]"))
		return CAIRN_PALETTE_GREEN;
	if (cairn_bytes_end_with(name, "_[i]"))
		return CAIRN_PALETTE_AQUA;
	if (is_java(name))
		return CAIRN_PALETTE_GREEN;
	if (cairn_bytes_contain(name, "::"))
		return CAIRN_PALETTE_YELLOW;
	return cairn_bytes_end_with(name, "_[k]") ? CAIRN_PALETTE_ORANGE : CAIRN_PALETTE_RED;
}

static enum cairn_palette_kind js_kind(struct cairn_bytes name)
{
	if (cairn_bytes_end_with(name, "_[j]"))
		return cairn_bytes_contain(name, "/") ? CAIRN_PALETTE_GREEN : CAIRN_PALETTE_AQUA;
	if (cairn_bytes_contain(name, "::"))
		return CAIRN_PALETTE_YELLOW;
	const char *slash = memchr(name.data, '/', name.length);
	if (slash && cairn_bytes_contain(cairn_bytes_skip(name, (size_t)(slash - name.data)), ".js"))
		return CAIRN_PALETTE_GREEN;
	if (cairn_bytes_contain(name, ":"))
		return CAIRN_PALETTE_AQUA;
	if (cairn_bytes_equal(name, cairn_bytes_of(" ")))
		return CAIRN_PALETTE_GREEN;
	return cairn_bytes_contain(name, "_[k]") ? CAIRN_PALETTE_ORANGE : CAIRN_PALETTE_RED;
}

static enum cairn_palette_kind perl_kind(struct cairn_bytes name)
{
	if (cairn_bytes_contain(name, "::"))
		return CAIRN_PALETTE_YELLOW;
	if (cairn_bytes_contain(name, "Perl") || cairn_bytes_contain(name, ".pl"))
		return CAIRN_PALETTE_GREEN;
	return cairn_bytes_end_with(name, "_[k]") ? CAIRN_PALETTE_ORANGE : CAIRN_PALETTE_RED;
}

/* The palettes that select one of the plain palettes by name. */
static enum cairn_palette_kind plain_kind(enum cairn_palette_kind kind, struct cairn_bytes name)
{
	switch (kind) {
	case CAIRN_PALETTE_JAVA:
		return java_kind(name);
	case CAIRN_PALETTE_JS:
		return js_kind(name);
	case CAIRN_PALETTE_PERL:
		return perl_kind(name);
	case CAIRN_PALETTE_WAKEUP:
		return CAIRN_PALETTE_AQUA;
	case CAIRN_PALETTE_CHAIN:
		return cairn_bytes_contain(name, "_[w]") ? CAIRN_PALETTE_AQUA : CAIRN_PALETTE_BLUE;
	default:
		return kind;
	}
}

/* The first number of drand48's 48-bit generator, seeded with the sum of the characters. */
static double sum_number(struct cairn_bytes name)
{
	uint32_t sum = 0;
	while (name.length > 0) {
		const unsigned char *at = (const unsigned char *)name.data;
		size_t length = cairn_utf8_length(name);
		uint32_t character = *at;
		if (length > 1) {
			character = *at & (0xffu >> (length + 1));
			for (size_t i = 1; i < length; i++)
				character = character << 6 | (at[i] & 0x3fu);
		}
		sum += character;
		name = cairn_bytes_skip(name, length ? length : 1);
	}
	uint64_t state = (uint64_t)sum << 16 | 0x330e;
	state = (state * 0x5deece66du + 0xb) & 0xffffffffffffu;
	return (double)state * 0x1p-48;
}

/* A number from the first three characters, counted from either end, each with less weight than the one before. */
static double prefix_number(struct cairn_bytes name, bool from_end)
{
	double sum = 0, most = 1, weight = 1;
	for (size_t i = 0; i < 3 && i < name.length; i++) {
		unsigned char byte = (unsigned char)name.data[from_end ? name.length - 1 - i : i];
		unsigned modulus = 10 + (unsigned)i;
		sum += (double)(byte % modulus) / (modulus - 1) * weight;
		most += weight;
		weight *= 0.7;
	}
	return 1 - sum / most;
}

/* NAME without the module before a backquote. */
static struct cairn_bytes without_module(struct cairn_bytes name)
{
	const char *mark = name.length > 1 ? memchr(name.data + 1, '`', name.length - 1) : NULL;
	return mark ? cairn_bytes_skip(name, (size_t)(mark - name.data) + 1) : name;
}

/* The module before a backquote, if there is one: the part that prefix_number reads from the end. */
static struct cairn_bytes without_function(struct cairn_bytes name)
{
	const char *mark = name.length > 1 ? memrchr(name.data, '`', name.length - 1) : NULL;
	return mark ? (struct cairn_bytes){name.data, (size_t)(mark - name.data)} : name;
}

static uint32_t pack(unsigned red, unsigned green, unsigned blue)
{
	return red << 16 | green << 8 | blue;
}

static uint32_t pick(const struct range *range, double first, double second)
{
	unsigned channel[3];
	for (int i = 0; i < 3; i++)
		channel[i] = range->base[i] + (unsigned)(range->spread[i] * (range->first[i] ? first : second));
	return pack(channel[0], channel[1], channel[2]);
}

/* The outermost namespace or package of a name without a module. */
static struct cairn_bytes name_space(struct cairn_bytes name)
{
	size_t end = 0;
	while (end < name.length && !strchr("<( ", name.data[end])) {
		if (strchr("`!/.", name.data[end]) || (name.data[end] == ':' && end + 1 < name.length && name.data[end + 1] == ':'))
			return (struct cairn_bytes){name.data, end};
		end++;
	}
	return (struct cairn_bytes){"", 0};
}

/* One of twelve hues by module, with a shade by name; grey without a module. */
static uint32_t module_color(struct cairn_bytes name, struct cairn_bytes module)
{
	static const unsigned char hues[][3] = {
		{230, 120, 100}, {235, 155, 85},  {225, 185, 80},  {180, 195, 90},  {120, 195, 105}, {95, 190, 150},
		{95, 185, 200},  {105, 160, 225}, {135, 135, 230}, {175, 125, 220}, {215, 120, 195}, {230, 125, 145},
	};
	if (module.length == 0)
		module = name_space(name);
	double shade = sum_number(name) * 0.22 - 0.11;
	uint64_t hash = 5381;
	for (size_t i = 0; i < module.length; i++)
		hash = hash * 33 ^ (unsigned char)module.data[i];
	const unsigned char grey[3] = {185, 185, 185};
	const unsigned char *hue = module.length ? hues[hash % (sizeof hues / sizeof *hues)] : grey;
	return pack((unsigned)(hue[0] * (1 + shade)), (unsigned)(hue[1] * (1 + shade)), (unsigned)(hue[2] * (1 + shade)));
}

uint32_t cairn_palette_color(enum cairn_palette_kind kind, enum cairn_palette_spread spread, struct cairn_bytes name,
			     struct cairn_bytes module)
{
	if (kind == CAIRN_PALETTE_MODULE)
		return module_color(name, module);
	if (kind == CAIRN_PALETTE_DIFF)
		return cairn_palette_change(0, name);
	double first, second;
	if (spread == CAIRN_SPREAD_RANDOM) {
		first = drand48();
		second = drand48();
	} else if (spread == CAIRN_SPREAD_PREFIX) {
		first = prefix_number(without_module(name), false);
		second = prefix_number(without_function(name), true);
	} else {
		first = second = sum_number(name);
	}
	return pick(&ranges[plain_kind(kind, name)], first, second);
}

uint32_t cairn_palette_change(double change, struct cairn_bytes name)
{
	double size = fmin(fabs(change), 1), shade = size > 0 ? sum_number(name) * 24 : 0;
	unsigned other = (unsigned)(245 - 145 * size - shade), middle = (unsigned)(245 - (change < 0 ? 105 : 145) * size - shade);
	if (change == 0 || isnan(change))
		return pack(240, 240, 240);
	return change < 0 ? pack(other, middle, 255) : pack(255, middle, other);
}

static void map_set(struct cairn_palette_map *map, uint32_t id, uint32_t color)
{
	map->colors = cairn_array_reserve(map->colors, &map->capacity, id, sizeof *map->colors);
	map->colors[id - 1] = color;
}

static bool take_channel(struct cairn_bytes *rest, const char *before, uint64_t *value)
{
	return cairn_text_take(rest, before) && cairn_text_decimal(rest, value) && *value < 256;
}

void cairn_palette_map_read(struct cairn_palette_map *map, struct cairn_bytes text)
{
	struct cairn_bytes line;
	while (cairn_text_line(&text, &line, NULL)) {
		const char *arrow = memmem(line.data, line.length, "->rgb(", 6);
		if (!arrow || arrow == line.data)
			continue;
		struct cairn_bytes name = {line.data, (size_t)(arrow - line.data)}, rest = cairn_bytes_skip(line, name.length);
		uint64_t red, green, blue;
		size_t before = map->names.count;
		if (!take_channel(&rest, "->rgb(", &red) || !take_channel(&rest, ",", &green) || !take_channel(&rest, ",", &blue))
			continue;
		uint32_t id = cairn_strings_add(&map->names, name);
		if (map->names.count > before)
			map_set(map, id, pack((unsigned)red, (unsigned)green, (unsigned)blue));
	}
}

uint32_t cairn_palette_map_get(struct cairn_palette_map *map, struct cairn_bytes name, uint32_t color)
{
	size_t before = map->names.count;
	uint32_t id = cairn_strings_add(&map->names, name);
	if (!id)
		return color;
	if (map->names.count > before)
		map_set(map, id, color);
	return map->colors[id - 1];
}

static int by_name(const void *a, const void *b, void *names)
{
	const struct cairn_bytes *items = names;
	return strcmp(items[*(const uint32_t *)a].data, items[*(const uint32_t *)b].data);
}

void cairn_palette_map_write(const struct cairn_palette_map *map, struct cairn_buffer *out)
{
	size_t count = map->names.count;
	uint32_t *order = cairn_array_new(count + 1, sizeof *order);
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof *order, by_name, map->names.items);
	for (size_t i = 0; i < count; i++) {
		uint32_t color = map->colors[order[i]];
		cairn_buffer_append(out, map->names.items[order[i]].data, map->names.items[order[i]].length);
		cairn_buffer_format(out, "->rgb(%u,%u,%u)\n", color >> 16, color >> 8 & 255, color & 255);
	}
	free(order);
}

void cairn_palette_map_free(struct cairn_palette_map *map)
{
	cairn_strings_free(&map->names);
	free(map->colors);
	*map = (struct cairn_palette_map){0};
}
