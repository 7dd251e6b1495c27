/* data.h - the call tree of a view, cut to what one file can hold, in the form the page reads.
 *
 * The nodes that matter stay; stacks of the others end in a node "smaller stacks" below the last one that stays, so that every total
 * is whole. Three blocks of unsigned LEB128 numbers, all columns one after the other (`data.js` reads them):
 *
 * weights, of COUNT things: for each value the page has (bytes and objects; live, allocated, at the peak, slack and so on) COUNT numbers
 * and, with a base, COUNT more: what they were in the base. tree: the strings (count, lengths, bytes); the functions (count; columns name,
 * file, line, module: numbers of strings); the nodes (count; columns: how many levels each is above a child of the one before; function
 * plus one, 0 for the root and for smaller stacks; the weights of what each holds itself). Nodes come in the order of a walk, callers
 * first. Then, where errors are known and wanted, the weight of one sample of each node (profile/unsample.h) times 16. Then, where there
 * are smaller stacks, the functions' own sums: the weights of self, then of total. split: groups (count; columns thread, size class, age
 * class plus one; 0 where not known); of each node how many of the groups have a part of it; those (column group, and weights). film: how
 * many units make one step; how many nodes hold something at any point; of each of those how many nodes it is after the one before, and
 * what it holds itself at each point in steps: how much more than at the point before, zigzag coded.
 *
 * Of a change, numbers that may be negative are zigzag coded: all but those of the base.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PAGE_DATA_H
#define CAIRN_PAGE_DATA_H

#include "report/view.h"

/* Adds the value of SAMPLE of the view's profile at each point of a film to VALUES. */
typedef void cairn_page_cells(const void *context, uint32_t sample, double *values);

struct cairn_page_thread {
	struct cairn_bytes name; /* both borrowed from the profile; either may be empty */
	struct cairn_bytes id;
};

enum { CAIRN_PAGE_COLUMNS = 10 };

struct cairn_page_data {
	struct cairn_buffer tree;
	struct cairn_buffer split;
	struct cairn_buffer film;
	size_t node_count;
	uint32_t columns[CAIRN_PAGE_COLUMNS]; /* value types of the profile; the first is the view's */
	size_t column_count;
	bool is_change;  /* something may be negative */
	bool is_cut;     /* there are smaller stacks */
	bool has_errors; /* the nodes have weights */
	double folded;  /* the absolute value of smaller stacks */
	struct cairn_page_thread *threads;
	size_t thread_count, thread_capacity;
};

/* The source of a film's cells. */
struct cairn_page_cells_source {
	cairn_page_cells *add;
	const void *context;
	size_t point_count;
};

/* Makes the blocks, with at most about NODE_MOST nodes. CELLS is NULL for a page that is not a film; a film has no split. */
void cairn_page_data_make(struct cairn_page_data *data, struct cairn_view *view, size_t node_most,
			  const struct cairn_page_cells_source *cells);
void cairn_page_data_free(struct cairn_page_data *data);

#endif
