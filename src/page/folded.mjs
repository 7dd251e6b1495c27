// @ts-check
/* folded.mjs - reads folded text, one line "outer;inner COUNT" for each stack, that a reader of the page has dropped on it.
 *
 * Whatever is in the file is bounded: its size, the number of boxes, and the depth of a stack. Names are only ever inserted as text.
 * SPDX-License-Identifier: Apache-2.0 */
import {metricOf, weightsOf} from "./data.mjs";
/** @import {Data, Facts, Func} from "./data.mjs" */

/** The largest file that a page takes, in bytes. */
export const fileMost = 32 << 20;
const nodeMost = 400000, depthMost = 4096;

/** A tree of the stacks in TEXT, of which NAME is the file. @param {string} text @param {string} name @param {Facts} like facts of another profile, for what is the same in all @returns {Data} */
export function readFolded(text, name, like) {
	/** @type {{func: number, size: number, below: Map<number, number>}[]} */
	const nodes = [{func: 0, size: 0, below: new Map()}];
	/** @type {Func[]} */
	const functions = [{name: "smaller stacks", file: "", line: 0, module: ""}];
	/** @type {Map<string, number>} */
	const numbers = new Map();
	let lines = 0, total = 0;
	for (const match of text.matchAll(/[^\r\n]+/g)) {
		const [, stack, size] = /^(.*\S)\s+(\d{1,15})$/s.exec(match[0]) ?? [];
		lines++;
		if (!stack)
			throw new Error(`${name} is not folded text: line ${lines} is not "outer;inner COUNT". 'cairn html ${name}' makes a page of any profile.`);
		const frames = stack.split(";", depthMost + 1);
		if (frames.length > depthMost)
			throw new Error(`${name}: the stack of line ${lines} has more than ${depthMost} frames`);
		let at = 0;
		for (const frame of frames) {
			let func = numbers.get(frame);
			if (func === undefined) {
				numbers.set(frame, func = functions.length);
				functions.push({name: frame || "(no name)", file: "", line: 0, module: ""});
			}
			let next = nodes[at].below.get(func);
			if (next === undefined) {
				if (nodes.length === nodeMost)
					throw new Error(`${name} has more than ${nodeMost} boxes; 'cairn html' makes a page of it`);
				nodes[at].below.set(func, next = nodes.length);
				nodes.push({func, size: 0, below: new Map()});
			}
			at = next;
		}
		nodes[at].size += Number(size);
		total += Number(size);
	}
	if (!total)
		throw new Error(`${name} has no stacks.`);
	const parent = new Int32Array(nodes.length).fill(-1), size = Float64Array.from(nodes, (node) => node.size), nothing = new Float64Array(nodes.length);
	nodes.forEach(({below}, i) => below.forEach((child) => { parent[child] = i; }));
	/** @type {Facts} */
	const facts = {version: like.version, ages: like.ages, title: name, process: "", pid: 0, format: "folded text", type: "samples", unit: "count", total, shown: total,
		columns: [{type: "samples", unit: "count", title: "samples"}], kinds: [], period: 0, mixed_periods: false, samples: 0, time: 0, unnamed: 0, change: false,
		base: false, errors: false, cut: false, folded: 0, threads: [{name: "", id: ""}], warnings: [], filters: []};
	const columns = {values: [size], bases: [nothing]};
	return {facts, functions, parent, func: Int32Array.from(nodes, ({func}) => func), columns, self: weightsOf(columns, metricOf(facts, 0)), sample: nothing, sums: null};
}
