// @ts-check
/* link.mjs - short forms of names and of paths through the tree, for addresses that fit into a chat or a ticket.
 *
 * A short form is "~" and a hash of the name, or of all names of a path, so it works with another profile of the same program. The form of a path
 * also has hashes of the path without its last frames: where the whole path does not exist, the longest of them that does is taken.
 * SPDX-License-Identifier: Apache-2.0 */
/** @import {Func} from "./data.mjs" */
/** @import {Tree} from "./tree.mjs" */

/** The longest name or path that an address has in full, as it is encoded there. */
const longest = 72;

/** @param {string} text */
function isLong(text) {
	return encodeURIComponent(text).length > longest;
}

/** Joins names with semicolons, which names may contain as well. @param {string[]} names */
export function joinNames(names) {
	return names.map((name) => name.replace(/[\\;]/g, "\\$&")).join(";");
}

/** @param {string} text */
export function splitNames(text) {
	const names = text.match(/(?:\\.|[^;\\])+/gs) ?? [];
	return names.map((name) => name.replace(/\\(.)/gs, "$1"));
}

/** One of the two halves of a hash, with NEXT added. @param {number} hash @param {number} next */
function mix(hash, next) {
	let mixed = Math.imul(hash ^ next, 0x85ebca6b);
	mixed ^= mixed >>> 13;
	mixed = Math.imul(mixed, 0xc2b2ae35);
	return mixed ^ (mixed >>> 16);
}

/** The two halves of a hash, of 53 bits in all. @typedef {[number, number]} Hash */

/** @param {string} text @returns {Hash} */
function hashName(text) {
	let one = 0x811c9dc5, other = 0x9e3779b9;
	for (let i = 0; i < text.length; i++) {
		one = mix(one, text.charCodeAt(i));
		other = mix(other, text.charCodeAt(i) + 0x10000);
	}
	return [one, other];
}

/** @param {Hash} hash */
function digits([one, other]) {
	return ((other & 0x1fffff) * 0x100000000 + (one >>> 0)).toString(36);
}

/** NAME, or its hash if it is long. @param {string} name */
export function shortName(name) {
	return isLong(name) ? "~" + digits(hashName(name)) : name;
}

/** The path of NAMES, or if that is long its lengths and hashes: of all of it, and without its last 1, 2, 4 and so on. @param {string[]} names */
export function shortPath(names) {
	const text = joinNames(names);
	if (!isLong(text))
		return text;
	/** @type {string[]} */
	const hashes = [""];
	let hash = /** @type {Hash} */ ([0, 0]);
	for (const name of names) {
		const [one, other] = hashName(name);
		hash = [mix(hash[0], one), mix(hash[1], other)];
		hashes.push(digits(hash));
	}
	const most = 4, parts = [`${names.length}.${hashes[names.length]}`];
	for (let less = 1; less < names.length && parts.length < most; less *= 2)
		parts.push(`${names.length - less}.${hashes[names.length - less]}`);
	return "~" + parts.join("~");
}

/** Whether TEXT is a short form. @param {string} text */
export function isShort(text) {
	return /^~[0-9a-z.~]+$/.test(text);
}

/** The function that a short form of its name stands for; undefined if there is none. @param {Func[]} functions @param {string} text */
export function findName(functions, text) {
	return functions.find(({name}, func) => func > 0 && isLong(name) && shortName(name) === text)?.name;
}

/**
 * The functions on the longest path that a short form has and the tree too: from the root down or, INVERTED, from where memory is allocated up.
 * @param {Tree} tree @param {Func[]} functions @param {string} text @param {boolean} inverted @returns {number[]}
 */
export function findPath(tree, functions, text, inverted) {
	const wanted = new Map(text.slice(1).split("~").map((part) => /** @type {[number, string]} */ ([parseInt(part, 10), part.slice(part.indexOf(".") + 1)])));
	const names = functions.map(({name}) => hashName(name)), longestWanted = Math.min(Math.max(0, ...wanted.keys()), tree.count);
	/** @type {number[]} */
	let best = [];
	/** The functions from NODE on, COUNT of them, towards the root. @param {number} node @param {number} count */
	const up = (node, count) => {
		/** @type {number[]} */
		const path = [];
		for (let at = node; path.length < count; at = tree.parent[at])
			path.push(tree.func[at]);
		return path;
	};
	if (inverted) {
		for (let start = 1; start < tree.count; start++) {
			let hash = /** @type {Hash} */ ([0, 0]);
			for (let at = start, length = 1; tree.selfSize[start] > 0 && at > 0 && length <= longestWanted; at = tree.parent[at], length++) {
				const [one, other] = names[tree.func[at]];
				hash = [mix(hash[0], one), mix(hash[1], other)];
				if (length > best.length && wanted.has(length) && wanted.get(length) === digits(hash))
					best = up(start, length);
			}
		}
		return best;
	}
	const ones = new Int32Array(tree.count), others = new Int32Array(tree.count), depth = new Int32Array(tree.count);
	for (let node = 1; node < tree.count; node++) {
		const above = tree.parent[node], [one, other] = names[tree.func[node]];
		depth[node] = depth[above] + 1;
		ones[node] = mix(ones[above], one);
		others[node] = mix(others[above], other);
		if (depth[node] > best.length && wanted.has(depth[node]) && wanted.get(depth[node]) === digits([ones[node], others[node]]))
			best = up(node, depth[node]).reverse();
	}
	return best;
}
