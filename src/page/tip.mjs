// @ts-check
/* tip.mjs - the figures of a box, in the panel of details and in the tooltip at the pointer.
 * SPDX-License-Identifier: Apache-2.0 */
import {interval} from "./data.mjs";
import {make} from "./dom.mjs";
import {human, humanBytes, meanSize, percent, present, signed} from "./units.mjs";
/** @import {Func} from "./data.mjs" */
/** @import {Box} from "./tree.mjs" */

/** The place of a function, as text. @param {Func} func */
export function placeOf({file, line, module}) {
	return [file && file + (line ? ":" + line : ""), module].filter(Boolean).join(" · ");
}

/**
 * One row of figures: for a change the difference, before and now; otherwise the value and its share.
 * @typedef {{name: string, cells: string[], share: string, sign: number}} FigureRow
 */

/** Self and total of a box. @param {Box} box @param {number} whole @returns {FigureRow[]} */
export function figureRows(box, whole) {
	const {metric} = box.tree;
	/** @param {string} name @param {number} value @param {number} base @param {number} size @returns {FigureRow} */
	const row = (name, value, base, size) => ({name, share: percent(size, whole), sign: metric.change ? Math.sign(value) : 0,
		cells: metric.base ? [signed(value, metric), human(base, metric.unit), human(present(value, base, metric.unit), metric.unit)] : [signed(value, metric)]});
	const rows = [row("Total", box.value, box.base, box.size)];
	if (box.hasSelf)
		rows.unshift(row("Self", box.selfValue, box.selfBase, Math.abs(box.selfValue)));
	return rows;
}

/** What else is known about a box: pairs of name and text. @param {Box} box @returns {[string, string][]} */
export function moreFigures(box) {
	/** @type {[string, string][]} */
	const figures = [], {metric} = box.tree;
	if (metric.partner >= 0 && box.other) {
		const mean = meanSize(metric, box.value, box.other);
		figures.push([metric.partnerUnit === "bytes" ? "Bytes" : "Objects", signed(box.other, metric, metric.partnerUnit)]);
		if (mean > 0)
			figures.push(["Mean size", humanBytes(mean)]);
	}
	if (metric.errors && box.variance > 0) {
		const [low, high] = interval(metric, box.value, box.variance, box.skew);
		figures.push(["95 % interval", `${signed(low, metric)} to ${signed(high, metric)}`]);
		if (box.isNoise())
			figures.push(["Noise", "sampling may explain it"]);
	}
	return figures;
}

/** Self and total as a small table. @param {Box} box @param {number} whole */
export function makeFigures(box, whole) {
	const table = make("table", "figures"), body = make("tbody");
	if (box.tree.metric.base) {
		const head = make("thead"), row = make("tr");
		row.append(...["", "Change", "Before", "Now", "Share"].map((text) => make(text ? "th" : "td", "", text)));
		head.append(row);
		table.append(head);
	}
	for (const {name, cells, share, sign} of figureRows(box, whole)) {
		const row = make("tr");
		row.append(make("th", "", name), ...cells.map((text, i) => make("td", i > 0 ? "muted" : sign > 0 ? "strong up" : sign < 0
			? "strong down" : "strong", text)),
			make("td", "muted", share));
		body.append(row);
	}
	table.append(body);
	return table;
}

/** The tooltip at the pointer. */
export class Tip {
	/** @param {HTMLElement} tip @param {Func[]} functions */
	constructor(tip, functions) {
		this.tip = tip;
		this.functions = functions;
		this.box = /** @type {Box | null} */ (null);
	}

	hide() {
		this.tip.hidden = true;
		this.box = null;
	}

	/** @param {Box} box @param {string} name @param {number} whole @param {number} x @param {number} y */
	show(box, name, whole, x, y) {
		const {tip} = this;
		if (box !== this.box) {
			const place = box.func ? placeOf(this.functions[box.func]) : box.above ? "Stacks too small to show separately on this page" : "";
			const more = make("p", "more", moreFigures(box).map(([title, text]) => title + " " + text).join(" · "));
			tip.replaceChildren(make("p", "name", name), ...(place ? [make("p", "place", place)] : []), makeFigures(box, whole),
				...(more.textContent ? [more] : []));
			this.box = box;
		}
		tip.hidden = false;
		const gap = 14, {offsetWidth: width, offsetHeight: height} = tip;
		const left = x + gap + width > innerWidth - 8 ? x - gap - width : x + gap, top = y + gap + height > innerHeight - 8
			? y - gap - height : y + gap;
		tip.style.left = Math.max(8, left) + "px";
		tip.style.top = Math.max(8, top) + "px";
	}
}
