/* data.h - the call tree of a view, cut to what one file can hold, in the form the page reads.
 *
 * The nodes that matter stay; stacks of the others end in a node "smaller stacks" below the last one that stays, so that every total
 * is whole.
 *
 * The page has three blocks of unsigned LEB128 numbers, which data.js and film.js read. A column is one number for each thing, and all
 * columns come one after the other.
 *
 *     block  field      numbers
 *     tree   strings    count; column of lengths; the bytes of all strings
 *            functions  count; columns of name (number of a string), file (the same), line, module (number of a string)
 *            nodes      count, in the order of a walk, callers first; then these columns:
 *              level      how many levels the node is above a child of the node before it
 *              function   its number plus one; 0 for the root and for smaller stacks
 *              self       weights of what the node holds itself
 *              sample     if has_errors: the weight of one sample of the node (profile/unsample.h) times 16
 *            sums       if is_cut: weights of what each function holds itself; weights of its total
 *     split  groups     count; columns of thread (number in `threads`), size class and age class plus one (0 where not known)
 *            nodes      column: how many groups have a part of the node
 *            parts      columns of all parts, node after node: the number of the group; weights
 *     film   step       how many units make one step
 *            nodes      count of those that hold something at any point; then for each of them:
 *              number     how many nodes it is after the one before
 *              points     what it holds itself at each point, in steps: how much more than at the point before, zigzag coded
 *
 * Weights are columns: for each value that the page has (`columns`: bytes and objects; live, allocated, at the peak, slack and so on) what
 * it is, zigzag coded if is_change, and, with a base, what it was in the base. A page has a split or a film.
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

enum { CAIRN_PAGE_COLUMNS = 2 * (CAIRN_SHOWN_COUNT + 1) }; /* the bytes and objects of each view (dump/shown.h) */

struct cairn_page_data {
	struct cairn_buffer tree;
	struct cairn_buffer split;
	struct cairn_buffer film;
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
