// @ts-check
/* compare.mjs - a second flame graph beside that of the page: the change in another range of time. It shows the same function, filters and
 * value, and what is zoomed in one is zoomed in both.
 * SPDX-License-Identifier: Apache-2.0 */
import {Palette} from "./color.mjs";
import {metricOf, readSplit, readTree, spread, weightsOf} from "./data.mjs";
import {element} from "./dom.mjs";
import {Picture} from "./picture.mjs";
import {Tip} from "./tip.mjs";
import {aroundBoxes, callsBox, follow, isSplit, leavesBox, matching, refine} from "./tree.mjs";
import {clockTime, human, humanRate, signed} from "./units.mjs";
/** @import {PathColors} from "./color.mjs" */
/** @import {Facts} from "./data.mjs" */
/** @import {Page} from "./page.mjs" */
/** @import {Box, Tree} from "./tree.mjs" */

/** What a range shows, in words: when, its change, and the rate of that. @param {string} name @param {Tree} tree @param {number} from @param {number} to */
export function rangeTitle(name, tree, from, to) {
	const {metric} = tree, change = tree.total.value[0], hours = (to - from) / 3600000;
	const rate = hours > 0 && metric.unit !== "nanoseconds" ? `, ${change < 0 ? "−" : ""}${humanRate(Math.abs(change) / hours, metric.unit)}` : "";
	return `${name}: ${clockTime(from)} to ${clockTime(to)}, ${signed(change, metric)}${rate}, to ${human(tree.total.base[0] + change, metric.unit)}`;
}

export class Comparison {
	/** @param {Page} page whose picture this stands beside @param {{facts: Facts, tree: Uint8Array, split: Uint8Array}} blocks @param {PathColors} paths */
	constructor(page, blocks, paths) {
		this.page = page;
		this.data = readTree(blocks.facts, blocks.tree);
		this.split = readSplit(blocks.facts, blocks.split, this.data.parent.length);
		const {functions} = this.data, tip = new Tip(element("tip"), functions), name = (/** @type {Box} */ box) => box.func || box.above ? functions[box.func].name : "all changes";
		this.palette = new Palette(functions, paths);
		this.root = /** @type {Box | null} */ (null);
		const canvas = element("other-picture"), fresh = /** @type {HTMLElement} */ (canvas.cloneNode(false));
		canvas.replaceWith(fresh); /* without the listeners of an earlier comparison */
		this.picture = new Picture(element("other-scroller"), element("other-sheet"), /** @type {HTMLCanvasElement} */ (fresh), this.palette, {
			zoom: (box) => page.go({...(page.state.view === "around" ? {} : {zoom: box.path().map((func) => functions[func].name)}),
				selected: box.func ? functions[box.func].name : page.state.selected}),
			point: (box, x, y) => box ? tip.show(box, name(box), this.picture.zoomed?.tree.size[0] ?? 1, x, y) : tip.hide(),
			visit: () => {}, menu: () => {}, viewed: () => {}, name,
		});
	}

	/** Shows what the page shows. @returns {Tree} */
	draw() {
		const {page, data, palette, picture} = this, {state} = page, {functions, facts} = data;
		const number = (/** @type {string} */ name) => name ? functions.findIndex((func, i) => i > 0 && func.name === name) : -1;
		data.self = weightsOf(data.columns, metricOf(facts, Math.max(0, facts.columns.findIndex(({type}) => type === page.metric.type))));
		spread(data.self, data);
		const tree = refine(data, state.filters.some(isSplit) ? this.split : null, state.filters, state.widths === "change"), selected = number(state.selected);
		palette.dark = page.palette.dark;
		palette.mode = page.palette.mode;
		palette.hues = new Map(page.palette.hues);
		palette.assign(tree.sums(functions.length).self.value);
		const root = state.view === "around" && selected > 0 ? aroundBoxes(tree, selected) : {down: state.view === "leaves" ? leavesBox(tree) : callsBox(tree), up: null};
		picture.readColors();
		picture.selected = selected;
		picture.found = state.search ? matching(functions, state.search) : null;
		picture.show(follow(root.down, root.up ? [] : state.zoom.map(number)), root.up);
		element("other-nothing").hidden = root.down.size > 0;
		return tree;
	}
}
