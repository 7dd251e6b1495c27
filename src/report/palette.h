/* palette.h - the colour of a frame, always the same for the same name.
 *
 * The palettes have the names that readers of flame graphs know; "hot" and "mem" give each function exactly the same colour as other
 * tools do, so that old and new pictures can be compared side by side. "module" colours by the file, or the outermost namespace, of the
 * function.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_PALETTE_H
#define CAIRN_REPORT_PALETTE_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/strings.h"

enum cairn_palette_kind {
	CAIRN_PALETTE_HOT,
	CAIRN_PALETTE_MEM,
	CAIRN_PALETTE_IO,
	CAIRN_PALETTE_RED,
	CAIRN_PALETTE_GREEN,
	CAIRN_PALETTE_BLUE,
	CAIRN_PALETTE_YELLOW,
	CAIRN_PALETTE_PURPLE,
	CAIRN_PALETTE_AQUA,
	CAIRN_PALETTE_ORANGE,
	CAIRN_PALETTE_WAKEUP,
	CAIRN_PALETTE_CHAIN,
	CAIRN_PALETTE_JAVA,
	CAIRN_PALETTE_JS,
	CAIRN_PALETTE_PERL,
	CAIRN_PALETTE_MODULE,
	CAIRN_PALETTE_DIFF, /* by change alone; see cairn_palette_change */
};

/* Their names, ending with NULL. */
extern const char *const cairn_palette_names[];

/* The kind called NAME; fails with a message that lists them. */
bool cairn_palette_find(const char *name, enum cairn_palette_kind *kind, struct cairn_error *error);

/* How a name becomes the number that picks its shade. */
enum cairn_palette_spread {
	CAIRN_SPREAD_SUM,    /* from the sum of its characters */
	CAIRN_SPREAD_PREFIX, /* from its first and last characters: names with the same beginning look alike */
	CAIRN_SPREAD_RANDOM, /* different every time */
};

/* Colours are 0xRRGGBB. MODULE may be empty. */
uint32_t cairn_palette_color(enum cairn_palette_kind kind, enum cairn_palette_spread spread, struct cairn_bytes name,
			     struct cairn_bytes module);

/* From red through white at 0 to blue: CHANGE is 1 for the largest growth and -1 for the largest decrease. The shade differs slightly by
 * NAME, so that neighbours can be distinguished. */
uint32_t cairn_palette_change(double change, struct cairn_bytes name);

/* Earlier colours, stored in a file of lines "name->rgb(1,2,3)" so that later pictures use them too. All zeroes is empty. */
struct cairn_palette_map {
	struct cairn_strings names;
	uint32_t *colors; /* by name id - 1 */
	size_t capacity;
};

void cairn_palette_map_read(struct cairn_palette_map *map, struct cairn_bytes text);
/* The colour of NAME, which becomes COLOR if it has none yet. */
uint32_t cairn_palette_map_get(struct cairn_palette_map *map, struct cairn_bytes name, uint32_t color);
/* The lines, sorted by name. */
void cairn_palette_map_write(const struct cairn_palette_map *map, struct cairn_buffer *out);
void cairn_palette_map_free(struct cairn_palette_map *map);

#endif
