// @ts-check
/* data.mjs - reads the data in the page: the facts, and the columns that data.h describes.
 *
 * Nothing here is shared: data carry their facts, and weights their metric. The tree is read when the page opens; its split by thread, size and age only when it is needed. A live page reads both repeatedly.
 * SPDX-License-Identifier: Apache-2.0 */

/** @import {Layer} from "./course.mjs" */
/** @import {Span} from "./film.mjs" */

/** A value that the profile counts, such as inuse_space in bytes. @typedef {{type: string, unit: string, title: string}} ValueType */

/**
 * @typedef {object} Facts
 * @property {string} version
 * @property {string} title
 * @property {string} process
 * @property {number} pid
 * @property {string} format
 * @property {string} type
 * @property {string} unit
 * @property {ValueType[]} columns the values in the tree; the first is shown first
 * @property {{kind: string, label: string, hint: string}[]} kinds what the columns are of: the part of their types before "_"
 * @property {number} period
 * @property {boolean} mixed_periods
 * @property {number} samples
 * @property {number} time
 * @property {number} total
 * @property {number} shown
 * @property {number} unnamed
 * @property {number} [allocated] live bytes as the allocator itself counts them
 * @property {number} [allocated_before] bytes that were resident by then; it is not known which of them live
 * @property {number} [sampled_since] when sampling began, in seconds
 * @property {boolean} [partial] a part of the live memory was allocated before that
 * @property {boolean} change
 * @property {boolean} base
 * @property {boolean} errors the errors of values are known
 * @property {boolean} cut there are smaller stacks
 * @property {number} folded
 * @property {{name: string, id: string}[]} threads
 * @property {string[]} ages the names of the age classes, the youngest first
 * @property {boolean} [aged] the ages of objects are known
 * @property {any} [churn] what is freed again, as `cairn churn --json` prints it
 * @property {any} [bill] the resident memory, as `cairn rss --json` prints it
 * @property {string[]} warnings
 * @property {string[]} filters
 * @property {string} [ended] how the process ended, if this is its last moment
 * @property {Series} [series] if the page was made from several dumps, or from one with ages
 * @property {FilmFacts} [film] if it contains all of several dumps
 * @property {FilmFacts & Span} [course] if it contains one of several dumps, or the change between two: the dumps before and after
 * @property {HistoryFacts} [history] memory up to the end of the process, as its ledger has it
 * @property {string} [state] what the page shows by default, if its address does not say
 */

/** @typedef {{name: string, caller: string, per_hour: number, share: number, words: string, sure: string, now: number}} Growth */
/** @typedef {{summary: string, observed: number, dumps: number, seconds: number, growth: Growth[]}} Series */

/**
 * All columns are by second. @typedef {{start: number, seconds: number[], live: number[], resident: number[], usage: number[], limit: number[],
 * rate: number[]}} HistoryFacts
 */
/**
 * All columns are by dump.
 * @typedef {object} FilmFacts
 * @property {number} start
 * @property {number[]} seconds
 * @property {number[]} totals
 * @property {number[]} resident
 * @property {number[]} limit
 * @property {string} limit_of whose limit it is: cgroup, machine, machines, or empty
 * @property {number[]} [low] the interval of the total, where it is known
 * @property {number[]} [high]
 * @property {number[]} runs the number of the process
 * @property {number[]} stretches counts where the process or sampling begins anew
 * @property {Layer[]} layers
 */

/** All values of a list of things, by column and then by thing. @typedef {{values: Float64Array[], bases: Float64Array[]}} Columns */

/**
 * One of the columns: the values of nodes, functions or parts of them, by index, and what they mean. OTHER is its partner: objects for
 * bytes, bytes for objects. Variance and skew describe the error of the value (profile/unsample.h); all 0 if it is unknown.
 * @typedef {{metric: Metric, value: Float64Array, base: Float64Array, other: Float64Array, variance: Float64Array, skew: Float64Array}} Weights
 */

/** @typedef {{name: string, file: string, line: number, module: string}} Func */

/**
 * The split of the nodes' own weights: the parts of node n are first[n] up to first[n + 1]. Size and age are classes, from 1; 0 is unknown.
 * @typedef {{thread: Int32Array, size: Int32Array, age: Int32Array, first: Int32Array, group: Int32Array, columns: Columns}} Split
 */

/** The values of functions: their own, and with all they call. @typedef {{self: Weights, total: Weights}} Sums */

/**
 * SELF is the column that is shown. SAMPLE is the weight of one sample at each node, in the first column.
 * @typedef {object} Data
 * @property {Facts} facts
 * @property {Func[]} functions
 * @property {Int32Array} parent
 * @property {Int32Array} func
 * @property {Columns} columns
 * @property {Weights} self
 * @property {Float64Array} sample
 * @property {{self: Columns, total: Columns} | null} sums of the functions, if the tree does not contain every stack
 */

/**
 * What numbers mean: one column, now or as a change.
 * @typedef {object} Metric
 * @property {number} column
 * @property {number} partner the column that counts the same in the other unit; -1 for none
 * @property {string} partnerUnit
 * @property {string} type
 * @property {string} title
 * @property {string} unit
 * @property {boolean} change
 * @property {boolean} base
 * @property {boolean} errors
 */

/** The column of FACTS that counts the same memory as TYPE in the other unit; -1 for none. @param {Facts} facts @param {string} type */
function partnerOf(facts, type) {
	const wanted = type.endsWith("_space") ? type.replace("_space", "_objects") : type.replace("_objects", "_space");
	return facts.columns.findIndex((column) => column.type === wanted && wanted !== type);
}

/**
 * The metric of a column. For a film, RANGE says whether it is a change.
 * @param {Facts} facts @param {number} column @param {boolean} [range] @returns {Metric}
 */
export function metricOf(facts, column, range) {
	const {type, title, unit} = facts.columns[column], partner = partnerOf(facts, type);
	return {column, partner, partnerUnit: facts.columns[partner]?.unit ?? "", type, title, unit, change: range ?? facts.change,
		base: range ?? facts.base, errors: facts.errors && (column === 0 || partner === 0)};
}

/** @param {Metric} metric @param {number} count @returns {Weights} */
export function emptyWeights(metric, count) {
	const column = () => new Float64Array(count);
	return {metric, value: column(), base: column(), other: column(), variance: column(), skew: column()};
}

/** @param {Weights} weights @param {(column: Float64Array) => Float64Array} change @returns {Weights} */
export function mapWeights({metric, value, base, other, variance, skew}, change) {
	return {metric, value: change(value), base: change(base), other: change(other), variance: change(variance), skew: change(skew)};
}

/** The weights of one of COLUMNS. @param {Columns} columns @param {Metric} metric @returns {Weights} */
export function weightsOf({values, bases}, metric) {
	const value = values[metric.column], nothing = () => new Float64Array(value.length);
	return {metric, value, base: bases[metric.column], other: values[metric.partner] ?? nothing(), variance: nothing(), skew: nothing()};
}

/** Adds item FROM of MORE to item TO of SUM. @param {Weights} sum @param {number} to @param {Weights} more @param {number} from */
export function addWeights(sum, to, more, from) {
	sum.value[to] += more.value[from];
	sum.base[to] += more.base[from];
	sum.other[to] += more.other[from];
	sum.variance[to] += more.variance[from];
	sum.skew[to] += more.skew[from];
}

/** Fills in the errors of values, from the weight of one sample of each. @param {Weights} weights @param {Data} data */
export function spread({metric, value, base, variance, skew}, {sample, columns}) {
	const first = columns.values[0], before = columns.bases[0];
	for (let i = 0; i < sample.length && metric.errors; i++) {
		let weight = sample[i];
		if (metric.column !== 0) {
			const whole = first[i] + 2 * before[i];
			weight *= whole > 0 ? Math.max(0, columns.values[metric.column][i] + 2 * columns.bases[metric.column][i]) / whole : 0;
		}
		variance[i] = (value[i] + 2 * base[i]) * weight;
		skew[i] = variance[i] * weight;
	}
}

/**
 * The 95 % confidence interval of a value, as profile/unsample.c has it.
 * @param {Metric} metric @param {number} value @param {number} variance @param {number} skew @returns {[number, number]}
 */
export function interval(metric, value, variance, skew) {
	const sigmas = 1.959964, weight = variance > 0 ? skew / variance : 0;
	if (metric.base) {
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

/**
 * Whether a change may be due to sampling alone.
 * @param {Metric} metric @param {number} value @param {number} variance @param {number} skew
 */
export function isNoise(metric, value, variance, skew) {
	if (!metric.base || !metric.errors || value === 0)
		return false;
	const [low, high] = interval(metric, value, variance, skew);
	return low <= 0 && high >= 0;
}

/** Reads numbers in unsigned LEB128. */
export class Reader {
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

	/** @param {Facts} facts @param {number} count @param {number} [room] the number of zeroes to put first @returns {Columns} */
	columns(facts, count, room = 0) {
		/** @type {Columns} */
		const columns = {values: [], bases: []};
		const nothing = new Float64Array(room + count);
		/** @param {boolean} signed */
		const read = (signed) => {
			const column = new Float64Array(room + count);
			this.column(column.subarray(room), signed);
			return column;
		};
		for (let i = 0; i < facts.columns.length; i++) {
			columns.values.push(read(facts.change));
			columns.bases.push(facts.base ? read(false) : facts.film ? new Float64Array(count) : nothing);
		}
		return columns;
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
export async function readBlock(id) {
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

/** @param {Facts} facts @param {Uint8Array} bytes @returns {Data} */
export function readTree(facts, bytes) {
	const reader = new Reader(bytes);
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
	const func = reader.column(new Int32Array(count)), columns = reader.columns(facts, count);
	const sample = facts.errors ? reader.column(new Float64Array(count)).map((weight) => weight / 16) : new Float64Array(count);
	/* Function 0 stands for smaller stacks, and has no sum. */
	const sums = facts.cut ? {self: reader.columns(facts, functionCount, 1), total: reader.columns(facts, functionCount, 1)} : null;
	const data = {facts, functions, parent, func, columns, self: weightsOf(columns, metricOf(facts, 0)), sample, sums};
	spread(data.self, data);
	return data;
}

/** @param {Facts} facts @param {Uint8Array} bytes @param {number} nodeCount @returns {Split} */
export function readSplit(facts, bytes, nodeCount) {
	const reader = new Reader(bytes), groupCount = reader.number();
	const [thread, size, age] = [0, 1, 2].map(() => reader.column(new Int32Array(groupCount)));
	const counts = reader.column(new Int32Array(nodeCount)), first = new Int32Array(nodeCount + 1);
	for (let i = 0; i < nodeCount; i++)
		first[i + 1] = first[i] + counts[i];
	const group = reader.column(new Int32Array(first[nodeCount]));
	return {thread, size, age, first, group, columns: reader.columns(facts, first[nodeCount])};
}
