// @ts-check
/* pprof.mjs - writes what the page shows as a profile for `go tool pprof` and other readers of its format.
 *
 * The format is profile.proto of github.com/google/pprof: fields are varints, or bytes preceded by their length. Each function is one
 * location.
 * SPDX-License-Identifier: Apache-2.0 */
/** @import {Facts, Func, ValueType} from "./data.mjs" */

/** Writes a protocol buffer. */
class Proto {
	constructor() {
		this.bytes = new Uint8Array(64);
		this.length = 0;
	}

	/** @param {number} more */
	room(more) {
		if (this.length + more <= this.bytes.length)
			return;
		const larger = new Uint8Array(Math.max(2 * this.bytes.length, this.length + more));
		larger.set(this.bytes.subarray(0, this.length));
		this.bytes = larger;
	}

	/** Writes an integer; negative ones take ten bytes, as an int64 does. @param {number} value */
	varint(value) {
		this.room(10);
		if (value < 0) {
			for (let rest = BigInt.asUintN(64, BigInt(Math.round(value))), i = 0; i < 10; i++, rest >>= 7n)
				this.bytes[this.length++] = Number(rest & 127n) | (i < 9 ? 128 : 0);
			return;
		}
		let rest = Math.round(value);
		for (; rest > 127; rest = Math.floor(rest / 128))
			this.bytes[this.length++] = (rest % 128) | 128;
		this.bytes[this.length++] = rest;
	}

	/** @param {number} field @param {number} value */
	number(field, value) {
		if (value === 0)
			return;
		this.varint(8 * field);
		this.varint(value);
	}

	/** @param {number} field @param {Uint8Array} data */
	data(field, data) {
		this.varint(8 * field + 2);
		this.varint(data.length);
		this.room(data.length);
		this.bytes.set(data, this.length);
		this.length += data.length;
	}

	/** @param {number} field @param {(part: Proto) => void} fill */
	message(field, fill) {
		const part = new Proto();
		fill(part);
		this.data(field, part.bytes.subarray(0, part.length));
	}

	/** @param {number} field @param {Iterable<number>} values */
	packed(field, values) {
		this.message(field, (part) => {
			for (const value of values)
				part.varint(value);
		});
	}
}

/**
 * What is exported: the nodes of a tree, with their own values of each of TYPES.
 * @typedef {{facts: Facts, functions: Func[], parent: Int32Array, func: Int32Array, types: ValueType[], values: Float64Array[]}} Exported
 */

/** @param {Exported} exported @returns {Uint8Array} */
export function pprofBytes({facts, functions, parent, func, types, values}) {
	const profile = new Proto(), encoder = new TextEncoder();
	/** @type {Map<string, number>} */
	const strings = new Map([["", 0]]);
	/** @param {string} text */
	const string = (text) => {
		const known = strings.get(text);
		if (known !== undefined)
			return known;
		strings.set(text, strings.size);
		return strings.size - 1;
	};
	for (const {type, unit} of types)
		profile.message(1, (part) => {
			part.number(1, string(type));
			part.number(2, string(unit));
		});
	const used = new Uint8Array(functions.length), path = new Int32Array(parent.length);
	for (let node = 1; node < parent.length; node++) {
		if (values.every((column) => Math.round(column[node]) === 0))
			continue;
		let depth = 0;
		for (let at = node; at > 0; at = parent[at]) {
			path[depth++] = func[at] + 1;
			used[func[at]] = 1;
		}
		profile.message(2, (part) => {
			part.packed(1, path.subarray(0, depth));
			part.packed(2, values.map((column) => column[node]));
		});
	}
	/** @type {Map<string, number>} */
	const modules = new Map();
	functions.forEach(({module}, i) => used[i] && module && !modules.has(module) && modules.set(module, modules.size + 1));
	for (const [module, id] of modules)
		profile.message(3, (part) => {
			part.number(1, id);
			/* Mappings that do not overlap, marked as having all names, so that no tool looks for names again. */
			part.number(2, id * 4096);
			part.number(3, (id + 1) * 4096);
			part.number(5, string(module));
			[7, 8, 9, 10].forEach((field) => part.number(field, 1));
		});
	functions.forEach(({module, line}, i) => used[i] && profile.message(4, (part) => {
		part.number(1, i + 1);
		part.number(2, modules.get(module) ?? 0);
		part.message(4, (at) => {
			at.number(1, i + 1);
			at.number(2, line);
		});
	}));
	functions.forEach(({name, file, line}, i) => used[i] && profile.message(5, (part) => {
		part.number(1, i + 1);
		part.number(2, string(name));
		part.number(3, string(name));
		part.number(4, string(file));
		part.number(5, line);
	}));
	if (facts.period > 0 && types[0])
		profile.message(11, (part) => {
			part.number(1, string("space"));
			part.number(2, string("bytes"));
		});
	profile.number(9, facts.time * 1e6);
	profile.number(12, facts.period);
	profile.number(14, string(types[0]?.type ?? ""));
	for (const text of strings.keys())
		profile.data(6, encoder.encode(text));
	return profile.bytes.subarray(0, profile.length);
}

/** @param {Uint8Array} bytes @returns {Promise<Blob>} */
export function gzip(bytes) {
	return new Response(new Blob([/** @type {BlobPart} */ (bytes)]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
}
