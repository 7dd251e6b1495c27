// @ts-check
/* data.js - reading what the page carries: the facts, and the columns that page_data.h describes.
 *
 * The tree is read when the page opens; how it splits by thread and size only when somebody asks.
 * SPDX-License-Identifier: Apache-2.0 */

/**
 * @typedef {object} Facts
 * @property {string} version
 * @property {string} title
 * @property {string} process
 * @property {number} pid
 * @property {string} format
 * @property {string} type
 * @property {string} unit
 * @property {number} period
 * @property {boolean} mixedPeriods
 * @property {number} samples
 * @property {number} time
 * @property {number} total
 * @property {number} shown
 * @property {number} unnamed
 * @property {boolean} objects
 * @property {boolean} change
 * @property {boolean} base
 * @property {boolean} errors how far numbers may be off is known
 * @property {number} folded
 * @property {{name: string, id: string}[]} threads
 * @property {string[]} warnings
 * @property {string[]} filters
 * @property {Series} [series] where the page was made from several dumps
 * @property {FilmFacts} [film] where it holds every one of them
 */

/** @typedef {{name: string, caller: string, perHour: number, share: number, confidence: number, now: number}} Growth */
/** @typedef {{seconds: number[], totals: number[], growth: Growth[]}} Series */

/** @typedef {{name: string, leaf: string, values: number[]}} Layer */
/** @typedef {{start: number, seconds: number[], totals: number[], resident: number[], limit: number[], runs: number[], layers: Layer[]}} FilmFacts */

/**
 * What nodes, functions or parts of them hold: one number for each, by index. Variance and skew say how far the value may be off
 * (profile/unsample.h); all 0 where that is not known.
 * @typedef {{value: Float64Array, objects: Float64Array, base: Float64Array, variance: Float64Array, skew: Float64Array}} Weights
 */

/** @typedef {{name: string, file: string, line: number, module: string}} Func */

/**
 * How the nodes' own weights split: the parts of node n are first[n] up to first[n + 1].
 * @typedef {{thread: Int32Array, size: Int32Array, first: Int32Array, group: Int32Array, weights: Weights}} Split
 */

/** What functions hold themselves, and with all they call. @typedef {{self: Weights, total: Weights}} Sums */

/** SAMPLE is the weight of one sample at each node. @typedef {{functions: Func[], parent: Int32Array, func: Int32Array, self: Weights, sample: Float64Array, sums: Sums | null}} Data */

const facts = /** @type {Facts} */ (JSON.parse(document.getElementById("facts")?.textContent ?? "{}"));

/** @param {number} count @returns {Weights} */
function emptyWeights(count) {
	const column = () => new Float64Array(count);
	return {value: column(), objects: column(), base: column(), variance: column(), skew: column()};
}

/** @param {Weights} weights @param {(column: Float64Array) => Float64Array} change @returns {Weights} */
function mapWeights({value, objects, base, variance, skew}, change) {
	return {value: change(value), objects: change(objects), base: change(base), variance: change(variance), skew: change(skew)};
}

/** Adds what MORE has at FROM to what SUM has at TO. @param {Weights} sum @param {number} to @param {Weights} more @param {number} from */
function addWeights(sum, to, more, from) {
	sum.value[to] += more.value[from];
	sum.objects[to] += more.objects[from];
	sum.base[to] += more.base[from];
	sum.variance[to] += more.variance[from];
	sum.skew[to] += more.skew[from];
}

/** Fills in how far values may be off, by the weight of one sample of each. @param {Weights} weights @param {Float64Array} sample */
function spread({value, base, variance, skew}, sample) {
	for (let i = 0; i < sample.length; i++) {
		variance[i] = (value[i] + 2 * base[i]) * sample[i];
		skew[i] = variance[i] * sample[i];
	}
}

/**
 * Where the truth of a value is with a chance of 95 %, as profile/unsample.c has it.
 * @param {number} value @param {number} variance @param {number} skew @returns {[number, number]}
 */
function interval(value, variance, skew) {
	const sigmas = 1.959964, weight = variance > 0 ? skew / variance : 0;
	if (facts.base) {
		const reach = sigmas * Math.sqrt(variance + weight * weight);
		return [value - reach, value + reach];
	}
	const count = weight > 0 ? variance / (weight * weight) : Infinity, reach = sigmas * Math.sqrt(variance);
	if (count > 1e8)
		return [value - reach, value + reach];
	const quantile = (/** @type {number} */ at) => {
		const shape = count + 0.5, root = 1 - 1 / (9 * shape) + at / (3 * Math.sqrt(shape));
		return root > 0 ? shape * root ** 3 : 0;
	};
	return [Math.max(0, value + weight * (quantile(-sigmas) - count)), value + weight * (quantile(sigmas) - count)];
}

/** Whether a change may be due to sampling alone. @param {number} value @param {number} variance @param {number} skew */
function isNoise(value, variance, skew) {
	const [low, high] = interval(value, variance, skew);
	return facts.base && facts.errors && value !== 0 && low <= 0 && high >= 0;
}

/** Numbers of seven bits a byte, the lowest first. */
class Reader {
	/** @param {Uint8Array} bytes */
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	number() {
		const bytes = this.bytes;
		let byte = bytes[this.at++], value = byte & 127;
		for (let scale = 128; byte > 127; scale *= 128) {
			byte = bytes[this.at++];
			value += (byte & 127) * scale;
		}
		return value;
	}

	/** @template {Int32Array | Float64Array} T @param {T} column @param {boolean} [signed] @returns {T} */
	column(column, signed) {
		for (let i = 0; i < column.length; i++) {
			const value = this.number();
			column[i] = !signed ? value : value % 2 ? -(value + 1) / 2 : value / 2;
		}
		return column;
	}

	/** @param {number} count @returns {Weights} */
	weights(count) {
		const weights = emptyWeights(count);
		this.column(weights.value, facts.change);
		this.column(weights.objects, facts.change);
		if (facts.base)
			this.column(weights.base);
		return weights;
	}

	strings() {
		const lengths = this.column(new Int32Array(this.number())), decoder = new TextDecoder();
		/** @type {string[]} */
		const strings = [];
		for (const length of lengths) {
			strings.push(decoder.decode(this.bytes.subarray(this.at, this.at + length)));
			this.at += length;
		}
		return strings;
	}
}

/** The bytes of a block of the page. @param {string} id @returns {Promise<Uint8Array>} */
async function readBlock(id) {
	const text = (document.getElementById(id)?.textContent ?? "").trim();
	/** @type {Uint8Array} */
	let packed;
	const native = /** @type {{fromBase64?: (text: string) => Uint8Array}} */ (/** @type {unknown} */ (Uint8Array));
	if (native.fromBase64) {
		packed = native.fromBase64(text);
	} else {
		const binary = atob(text);
		packed = new Uint8Array(binary.length);
		for (let i = 0; i < binary.length; i++)
			packed[i] = binary.charCodeAt(i);
	}
	const stream = new Blob([/** @type {BlobPart} */ (packed)]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @returns {Promise<Data>} */
async function readTree() {
	const reader = new Reader(await readBlock("tree"));
	const strings = reader.strings(), functionCount = reader.number();
	const [names, files, lines, modules] = [0, 1, 2, 3].map(() => reader.column(new Int32Array(functionCount)));
	/** @type {Func[]} */
	const functions = [{name: "smaller stacks", file: "", line: 0, module: ""}];
	for (let i = 0; i < functionCount; i++)
		functions.push({name: strings[names[i]] || "(no name)", file: strings[files[i]], line: lines[i], module: strings[modules[i]]});
	const count = reader.number(), parent = new Int32Array(count);
	const steps = reader.column(new Int32Array(count)), path = new Int32Array(count + 1);
	for (let i = 1, depth = 0; i < count; i++) {
		depth += 1 - steps[i];
		parent[i] = path[depth - 1];
		path[depth] = i;
	}
	parent[0] = -1;
	const func = reader.column(new Int32Array(count)), self = reader.weights(count);
	const sample = facts.errors ? reader.column(new Float64Array(count)).map((weight) => weight / 16) : new Float64Array(count);
	spread(self, sample);
	const sums = facts.folded > 0 ? {self: shifted(reader.weights(functionCount)), total: shifted(reader.weights(functionCount))} : null;
	return {functions, parent, func, self, sample, sums};
}

/** The same weights one place further on: function 0 is that of smaller stacks. @param {Weights} weights @returns {Weights} */
function shifted(weights) {
	return mapWeights(weights, (from) => {
		const to = new Float64Array(from.length + 1);
		to.set(from, 1);
		return to;
	});
}

/** @param {number} nodeCount @returns {Promise<Split>} */
async function readSplit(nodeCount) {
	const reader = new Reader(await readBlock("split")), groupCount = reader.number();
	const thread = reader.column(new Int32Array(groupCount)), size = reader.column(new Int32Array(groupCount));
	const counts = reader.column(new Int32Array(nodeCount)), first = new Int32Array(nodeCount + 1);
	for (let i = 0; i < nodeCount; i++)
		first[i + 1] = first[i] + counts[i];
	const group = reader.column(new Int32Array(first[nodeCount]));
	return {thread, size, first, group, weights: reader.weights(first[nodeCount])};
}

/** The longest size of a size class, in words. @param {number} size */
function sizeName(size) {
	return size === 0 ? "size not known" : "up to " + humanBytes(2 ** (size - 1), true);
}

/* Numbers as people read them. */

/** @param {number} bytes @param {boolean} [whole] without a digit after the point where there is none */
function humanBytes(bytes, whole) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let size = Math.abs(bytes), unit = 0;
	while (size >= 1024 && unit < units.length - 1) {
		size /= 1024;
		unit++;
	}
	if (unit > 0 && size < 10 && size.toFixed(1) === "10.0")
		size = 10;
	const digits = unit === 0 || (whole && Number.isInteger(size)) ? 0 : 1;
	const sign = bytes < 0 && Number(size.toFixed(digits)) !== 0 ? "−" : "";
	return sign + size.toFixed(digits) + " " + units[unit];
}

/** @param {number} count */
function humanCount(count) {
	const text = Math.round(Math.abs(count)).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
	return (count < 0 && text !== "0" ? "−" : "") + text;
}

/** @param {number} nanoseconds */
function humanDuration(nanoseconds) {
	const units = /** @type {const} */ ([["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]]), size = Math.abs(nanoseconds);
	const [name, length] = units.find((unit) => size >= unit[1]) ?? units[3];
	return (nanoseconds < 0 ? "−" : "") + (size / length).toFixed(length > 1 ? 2 : 0) + " " + name;
}

/** A value of the profile. @param {number} value */
function human(value) {
	return facts.unit === "bytes" ? humanBytes(value) : facts.unit === "nanoseconds" ? humanDuration(value) : humanCount(value);
}

/** The same with a sign where it is of a change. @param {number} value */
function signed(value) {
	const text = human(value);
	return facts.change && value > 0 && !/^0(\.0+)? /.test(text) && text !== "0" ? "+" + text : text;
}

/** What is there now; value and base were rounded one by one. @param {number} value @param {number} base */
function present(value, base) {
	return Math.abs(value + base) < 3 ? 0 : value + base;
}

/** @param {number} seconds */
function humanTime(seconds) {
	const units = /** @type {const} */ ([["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]]);
	const [name, length] = units.find((unit) => seconds >= 2 * unit[1]) ?? units[3];
	const count = Math.round(seconds / length);
	return count + " " + name + (count === 1 ? "" : "s");
}

/** A rate in the unit of time that suits how long was watched. @param {number} perHour @param {number} seconds */
function humanRate(perHour, seconds) {
	return seconds < 300 ? human(perHour / 3600) + "/s" : seconds < 18000 ? human(perHour / 60) + "/min" : human(perHour) + "/h";
}

/** @param {number} count */
function humanObjects(count) {
	return humanCount(count) + (Math.abs(Math.round(count)) === 1 ? " object" : " objects");
}

/** @param {number} value @param {number} whole */
function percent(value, whole) {
	const share = whole ? (100 * value) / whole : 0;
	return (Math.abs(share) >= 99.95 ? share.toFixed(0) : Math.abs(share) < 0.05 ? "0" : share.toFixed(1)).replace("-", "−") + " %";
}
