// @ts-check
/* state.mjs - what the reader has selected, and the address that keeps it.
 *
 * Functions and threads are named, never numbered, so that an address works with another profile of the same program. Long names have a short
 * form (link.mjs), for which `expandNames` and `expandZoom` put the names.
 * SPDX-License-Identifier: Apache-2.0 */
import {findName, findPath, isShort, shortName, shortPath, splitNames} from "./link.mjs";
import {exactly} from "./tree.mjs";
/** @import {Facts, Func} from "./data.mjs" */
/** @import {Span} from "./film.mjs" */
/** @import {Filter, Tree} from "./tree.mjs" */

/**
 * @typedef {object} State
 * @property {"calls" | "leaves" | "around"} view
 * @property {string} selected the name of a function, empty for none
 * @property {string[]} zoom names from the outermost box to the one that is zoomed, or the short form of that path alone
 * @property {string} search
 * @property {Filter[]} filters
 * @property {string} value a type of value, empty for the first
 * @property {"change" | "now"} widths
 * @property {"" | "path" | "module" | "function" | "change"} color empty for the default
 * @property {string} tab one of the page's tabs
 * @property {string} sort
 * @property {Span | null} range of a film; null for all of it
 * @property {string} process of a live page; empty for the first
 * @property {string} at of a live page, the moment that is shown; empty to follow
 * @property {string} base of a live page, the moment to compare with; empty for none
 * @property {string[]} other of a live page, the two moments of another range to show beside that; empty for none
 */

/** @param {string} text @returns {Filter} */
function readFilter(text) {
	const colon = text.indexOf(":");
	return {kind: /** @type {Filter["kind"]} */ (text.slice(0, colon)), text: text.slice(colon + 1)};
}

/**
 * Reads the range "3-17" or the single dump "3", limited to existing dumps.
 * @param {string | null} text @param {Facts | null} facts @returns {Span | null}
 */
function readRange(text, facts) {
	const last = (facts?.film?.seconds.length ?? 0) - 1, match = /^(\d+)(?:-(\d+))?$/.exec(text ?? "");
	if (!match || last < 0)
		return null;
	const from = Math.min(last, Number(match[1])), to = Math.min(last, Number(match[2] ?? match[1]));
	return {from: Math.min(from, to), to: Math.max(from, to)};
}

/** Reads a time such as 2026-11-15T04:10:02.000Z; empty if TEXT is not a time. @param {string | null} text */
function readMoment(text) {
	const time = Date.parse(text ?? "");
	return Number.isNaN(time) ? "" : new Date(time).toISOString();
}

/** Reads two times as `writeMoments` writes them, the earlier first; none if they are not two. @param {string | null} text */
function readMoments(text) {
	const most = 8.64e15, times = (text ?? "").split("~").map((part) => parseInt(part, 36)).filter((time) => Math.abs(time) <= most).sort((a, b) => a - b);
	return times.length === 2 && times[0] !== times[1] ? times.map((time) => new Date(time).toISOString()) : [];
}

/** @param {string[]} times */
function writeMoments(times) {
	return times.map((time) => Date.parse(time).toString(36)).join("~");
}

/** A tab that the page has, or that a live page may get later. @param {string} name */
function readTab(name) {
	const tab = /** @type {HTMLElement | null} */ (document.querySelector(`[data-tab="${CSS.escape(name)}"]`));
	return tab && (!tab.hidden || document.documentElement.dataset.live !== undefined) ? name : "functions";
}

/** @template {string} T @param {string | null} text @param {readonly T[]} known @param {T} usual @returns {T} */
export function oneOf(text, known, usual) {
	return known.find((value) => value === text) ?? usual;
}

/** @param {string} hash of the address @param {Facts | null} facts null if they come later @returns {State} */
export function readState(hash, facts) {
	const query = new URLSearchParams(hash.slice(1)), value = query.get("value");
	const kinds = ["focus", "ignore", "hide", "thread", "size", "age"];
	return {
		view: oneOf(query.get("view"), ["calls", "leaves", "around"], "calls"),
		selected: query.get("fn") ?? "",
		zoom: splitNames(query.get("zoom") ?? ""),
		search: query.get("q") ?? "",
		filters: query.getAll("f").map(readFilter).filter((filter) => kinds.includes(filter.kind) && filter.text),
		value: !facts || facts.columns.some((column, i) => i > 0 && column.type === value) ? value ?? "" : "",
		widths: oneOf(query.get("widths"), ["change", "now"], "change"),
		color: oneOf(query.get("color"), ["path", "module", "function", "change"], ""),
		tab: readTab(query.get("tab") ?? ""),
		sort: query.get("sort") ?? "self",
		range: readRange(query.get("range"), facts),
		process: query.get("process") ?? "",
		at: readMoment(query.get("at")),
		base: readMoment(query.get("base")),
		other: readMoments(query.get("other")),
	};
}

/** @param {State} state */
export function writeState(state) {
	const query = new URLSearchParams();
	/** @param {string} name @param {string} value @param {string} [usual] */
	const put = (name, value, usual = "") => value !== usual && query.set(name, value);
	put("view", state.view, "calls");
	put("fn", shortName(state.selected));
	put("zoom", shortPath(state.zoom));
	put("q", state.search);
	state.filters.forEach((filter) => query.append("f", filter.kind + ":" + shortFilter(filter.text)));
	put("value", state.value);
	put("widths", state.widths, "change");
	put("color", state.color);
	put("tab", state.tab, "functions");
	put("sort", state.sort, "self");
	if (state.range)
		put("range", state.range.from === state.range.to ? String(state.range.to) : state.range.from + "-" + state.range.to);
	put("process", state.process);
	put("at", state.at);
	put("base", state.base);
	put("other", writeMoments(state.other));
	return "#" + query.toString();
}

/** A filter's text as the address has it. @param {string} text */
function shortFilter(text) {
	const name = text.replace(/^\^(.*)\$$/s, "$1").replace(/\\(.)/gs, "$1");
	return exactly(name) === text && shortName(name) !== name ? shortName(name) : text;
}

/**
 * STATE with names for the short forms of those that the profile has. The others stay as they are: they match nothing.
 * @param {State} state @param {Func[]} functions @returns {State}
 */
export function expandNames(state, functions) {
	/** @param {string} text */
	const name = (text) => isShort(text) ? findName(functions, text) : undefined;
	return {...state, selected: name(state.selected) ?? state.selected, filters: state.filters.map((filter) => {
		const found = name(filter.text);
		return found ? {...filter, text: exactly(found)} : filter;
	})};
}

/** STATE with the path that the short form of one stands for, if TREE has any of it. @param {State} state @param {Tree} tree @param {Func[]} functions @returns {State} */
export function expandZoom(state, tree, functions) {
	const [text] = state.zoom;
	if (state.zoom.length !== 1 || !isShort(text))
		return state;
	const path = findPath(tree, functions, text, state.view === "leaves").map((func) => functions[func].name);
	return path.length ? {...state, zoom: path} : state;
}
