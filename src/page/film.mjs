// @ts-check
/* film.mjs - a page with many dumps, of which the reader selects one or a range: what each of them has, and in words which ones are shown.
 * SPDX-License-Identifier: Apache-2.0 */
import {Reader, readBlock} from "./data.mjs";
import {humanTime} from "./units.mjs";
/** @import {FilmFacts, Weights} from "./data.mjs" */

/** From and to are numbers of dumps; equal for a single dump. @typedef {{from: number, to: number}} Span */

export class Film {
	/** @param {number} points @param {Int32Array} nodes @param {Int32Array | Float64Array} steps @param {number} step */
	constructor(points, nodes, steps, step) {
		this.points = points;
		this.nodes = nodes;
		this.steps = steps;
		this.step = step;
	}

	/** Fills WEIGHTS with the values of the nodes at one dump, or their changes in a range. @param {Span} range @param {Weights} weights */
	fill({from, to}, weights) {
		const {points, nodes, steps, step} = this;
		weights.value.fill(0);
		weights.base.fill(0);
		for (let i = 0; i < nodes.length; i++) {
			const before = from === to ? 0 : steps[i * points + from] * step;
			weights.base[nodes[i]] = before;
			weights.value[nodes[i]] = steps[i * points + to] * step - before;
		}
	}
}

/** @param {FilmFacts} film @returns {Promise<Film>} */
export async function readFilm(film) {
	const reader = new Reader(await readBlock("film")), points = film.seconds.length, step = reader.number(), count = reader.number();
	const nodes = new Int32Array(count), row = new Float64Array(points);
	const steps = step > 1 ? new Int32Array(count * points) : new Float64Array(count * points);
	for (let i = 0, node = 0; i < count; i++) {
		nodes[i] = node += reader.number();
		reader.column(row, true);
		for (let p = 0, value = 0; p < points; p++)
			steps[i * points + p] = value += row[p];
	}
	return new Film(points, nodes, steps, step);
}

/** The time of a dump. @param {FilmFacts} film @param {number} point */
function timeOf(film, point) {
	const text = new Date(film.start + film.seconds[point] * 1000).toISOString().slice(0, 19).replace("T", " ");
	return (film.seconds.at(-1) ?? 0) < 86400 && text.slice(0, 10) === new Date(film.start).toISOString().slice(0, 10) ? text.slice(11) : text;
}

/** The range in words. FIXED: the page holds nothing else. @param {FilmFacts} film @param {Span} range @param {boolean} fixed */
export function rangeText(film, {from, to}, fixed) {
	const last = film.seconds.length - 1, restarts = film.runs[to] - film.runs[from];
	if (fixed)
		return `${last + 1} dumps in ${humanTime(film.seconds[last])}; this page holds ` + (from === to ? `the one of ${timeOf(film, to)} UTC`
			: `what changed from ${timeOf(film, from)} to ${timeOf(film, to)} UTC`);
	return from === to ? `One dump, ${timeOf(film, to)} UTC: what there was`
		: `${timeOf(film, from)} to ${timeOf(film, to)} UTC, ${humanTime(film.seconds[to] - film.seconds[from])}, ${to - from + 1} dumps: what changed`
			+ (restarts ? ` (with ${restarts === 1 ? "a restart" : restarts + " restarts"} in between)` : "");
}
