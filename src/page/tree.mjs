// @ts-check
/* tree.mjs - one weighted call tree, its filters, and the boxes of a picture.
 *
 * A caller always has a lower number than its callees, so one pass from the highest number to the lowest adds everything up. Boxes are made
 * when they are drawn: a picture of a million stacks has only as many as fit on the screen.
 * SPDX-License-Identifier: Apache-2.0 */
import {addWeights, emptyWeights, isNoise, mapWeights, spread, weightsOf} from "./data.mjs";
import {present} from "./units.mjs";
/** @import {Data, Facts, Func, Split, Weights} from "./data.mjs" */

/** @typedef {{kind: "focus" | "ignore" | "hide" | "thread" | "size" | "age", text: string}} Filter */

export class Tree {
	/**
	 * @param {Int32Array} parent
	 * @param {Int32Array} func
	 * @param {Weights} self
	 * @param {boolean} byChange sizes are changes, not current values
	 * @param {Int32Array | null} order by function: the order of siblings; null if the largest comes first
	 */
	constructor(parent, func, self, byChange, order) {
		this.metric = self.metric;
		this.order = order;
		this.count = parent.length;
		this.parent = parent;
		this.func = func;
		this.self = self;
		this.size = new Float64Array(this.count);
		this.total = mapWeights(self, (column) => column.slice());
		this.firstChild = new Int32Array(this.count).fill(-1);
		this.nextSibling = new Int32Array(this.count).fill(-1);
		for (let i = 0; i < this.count; i++) {
			const value = self.value[i], now = present(value, self.base[i], this.metric.unit);
			this.size[i] = byChange || !this.metric.base ? Math.abs(value) : now > 0 ? now : self.base[i];
		}
		this.selfSize = this.size.slice();
		for (let i = this.count - 1; i > 0; i--) {
			const above = parent[i];
			addWeights(this.total, above, this.total, i);
			this.size[above] += this.size[i];
			this.nextSibling[i] = this.firstChild[above];
			this.firstChild[above] = i;
		}
	}

	/**
	 * Calls ENTER for each node on the way down and LEAVE on the way up.
	 * @param {(node: number) => void} enter
	 * @param {(node: number) => void} leave
	 */
	walk(enter, leave) {
		for (let node = 0; node >= 0;) {
			enter(node);
			if (this.firstChild[node] >= 0) {
				node = this.firstChild[node];
				continue;
			}
			for (;;) {
				leave(node);
				if (this.nextSibling[node] >= 0) {
					node = this.nextSibling[node];
					break;
				}
				node = this.parent[node];
				if (node < 0)
					return;
			}
		}
	}

	/** Self and total of each function; a stack counts once for a function, however often that occurs in it. @param {number} functionCount */
	sums(functionCount) {
		const {metric} = this, self = emptyWeights(metric, functionCount), total = emptyWeights(metric, functionCount), active = new Int32Array(functionCount);
		this.walk((node) => {
			const func = this.func[node];
			addWeights(self, func, this.self, node);
			if (active[func]++ === 0)
				addWeights(total, func, this.total, node);
		}, (node) => { active[this.func[node]]--; });
		return {self, total};
	}

	/** The size of all stacks with a WANTED function, and the number of nodes that match. @param {Uint8Array} wanted */
	matched(wanted) {
		const inside = new Uint8Array(this.count);
		let size = 0, nodes = 0;
		for (let i = 1; i < this.count; i++) {
			const above = inside[this.parent[i]], own = wanted[this.func[i]];
			inside[i] = above | own;
			if (inside[i] && !above)
				size += this.size[i];
			if (own && this.size[i] > 0)
				nodes++;
		}
		return {size, nodes};
	}

	/** The nodes whose function is WANTED, the largest first and callers before callees. @param {Uint8Array} wanted */
	matches(wanted) {
		/** @type {number[]} */
		const nodes = [];
		for (let i = 1; i < this.count; i++)
			if (wanted[this.func[i]] && this.size[i] > 0)
				nodes.push(i);
		return nodes.sort((a, b) => this.size[b] - this.size[a] || a - b);
	}

	/** The functions from the root to NODE. @param {number} node */
	path(node) {
		/** @type {number[]} */
		const path = [];
		for (let at = node; at > 0; at = this.parent[at])
			path.push(this.func[at]);
		return path.reverse();
	}

	/** The outermost nodes of a function. @param {number} func */
	outermost(func) {
		const inside = new Uint8Array(this.count);
		/** @type {number[]} */
		const nodes = [];
		for (let i = 1; i < this.count; i++) {
			const above = inside[this.parent[i]], own = this.func[i] === func ? 1 : 0;
			inside[i] = above | own;
			if (own && !above)
				nodes.push(i);
		}
		return nodes;
	}
}

/** TEXT as a regular expression, or as plain text if it is not a valid one. @param {string} text */
function pattern(text) {
	try {
		return new RegExp(text, "i");
	} catch {
		return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
	}
}

/** Finds the functions that TEXT matches, by name, file or module. @param {Func[]} functions @param {string} text */
export function matching(functions, text) {
	const wanted = new Uint8Array(functions.length), expression = pattern(text);
	for (let i = 1; i < functions.length; i++) {
		const at = functions[i];
		wanted[i] = expression.test(at.name) || expression.test(at.file) || expression.test(at.module) ? 1 : 0;
	}
	return wanted;
}

/** The name of a thread in a link, by which it can be found in another profile. @param {Facts} facts @param {number} thread */
export function threadKey(facts, thread) {
	const {name, id} = facts.threads[thread] ?? {name: "", id: ""};
	return name + "/" + id;
}

/** The thread with that key: by name and number, or else by name; -1 for none. @param {Facts} facts @param {string} key */
export function threadOf(facts, key) {
	const exact = facts.threads.findIndex((_, thread) => threadKey(facts, thread) === key), name = key.slice(0, key.lastIndexOf("/"));
	return exact >= 0 ? exact : name ? facts.threads.findIndex((thread) => thread.name === name) : -1;
}

/** The text of a filter that matches exactly this function. @param {string} name */
export function exactly(name) {
	return "^" + name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";
}

/**
 * The data that pass FILTERS, as weights and, if frames are hidden, a new tree.
 * @param {Data} data @param {Split | null} split @param {Filter[]} filters @param {boolean} byChange @param {Int32Array | null} [order]
 */
export function refine(data, split, filters, byChange, order = null) {
	const of = (/** @type {Filter["kind"]} */ kind) => filters.filter((filter) => filter.kind === kind);
	const hide = of("hide").map((filter) => matching(data.functions, filter.text));
	if (filters.length === 0)
		return new Tree(data.parent, data.func, data.self, byChange, order);
	const self = split && filters.some(isSplit) ? chosen(data, split, filters)
		: mapWeights(data.self, (column) => column.slice());
	const passed = passing(data, filters);
	for (let i = 0; i < passed.length; i++)
		if (!passed[i])
			self.value[i] = self.other[i] = self.base[i] = self.variance[i] = self.skew[i] = 0;
	return hide.length ? without(data, self, hide, byChange, order) : new Tree(data.parent, data.func, self, byChange, order);
}

/** The nodes whose stacks match every focus and nothing that is ignored. @param {Data} data @param {Filter[]} filters */
export function passing(data, filters) {
	const of = (/** @type {Filter["kind"]} */ kind) =>
		filters.filter((filter) => filter.kind === kind).map((filter) => matching(data.functions, filter.text));
	const focus = of("focus"), ignore = of("ignore");
	const met = new Int32Array(data.parent.length), passed = new Uint8Array(met.length), all = 2 ** focus.length - 1, dead = -1;
	for (let i = 0; i < met.length; i++) {
		let state = i ? met[data.parent[i]] : 0;
		if (i && state !== dead) {
			focus.forEach((wanted, bit) => { state |= wanted[data.func[i]] << bit; });
			if (ignore.some((unwanted) => unwanted[data.func[i]]))
				state = dead;
		}
		met[i] = state;
		passed[i] = state === all ? 1 : 0;
	}
	return passed;
}

/** Whether a filter needs the split. @param {Filter} filter */
export function isSplit({kind}) {
	return kind === "thread" || kind === "size" || kind === "age";
}

/**
 * Whether a filter's text selects an age class: "3" selects one class, "3+" also all older ones.
 * @param {string} text @param {number} age
 */
function isOfAge(text, age) {
	return text.endsWith("+") ? age >= parseInt(text, 10) : age === Number(text);
}

/**
 * The groups of a split that pass the filters by thread, size and age. Filters of one kind are alternatives; without any, all pass.
 * @param {Facts} facts @param {Split} split @param {Filter[]} filters @returns {boolean[]}
 */
export function wantedGroups(facts, split, filters) {
	const of = (/** @type {Filter["kind"]} */ kind) => filters.filter((filter) => filter.kind === kind).map(({text}) => text);
	const threads = of("thread").map((key) => threadOf(facts, key)), sizes = of("size").map(Number), ages = of("age");
	return Array.from(split.thread, (thread, group) => (!threads.length || threads.includes(thread))
		&& (!sizes.length || sizes.includes(split.size[group]))
		&& (!ages.length || ages.some((text) => isOfAge(text, split.age[group]))));
}

/**
 * The nodes' own weights in the groups that pass the filters by thread, size and age.
 * @param {Data} data @param {Split} split @param {Filter[]} filters
 */
function chosen(data, split, filters) {
	const {metric} = data.self, self = emptyWeights(metric, data.parent.length), parts = weightsOf(split.columns, metric);
	const wanted = wantedGroups(data.facts, split, filters);
	for (let i = 0; i < data.parent.length; i++)
		for (let at = split.first[i]; at < split.first[i + 1]; at++)
			if (wanted[split.group[at]])
				addWeights(self, i, parts, at);
	spread(self, data);
	return self;
}

/**
 * The tree without the hidden functions: their callees become callees of their callers.
 * @param {Data} data
 * @param {Weights} self
 * @param {Uint8Array[]} hide
 * @param {boolean} byChange
 * @param {Int32Array | null} order
 */
function without(data, self, hide, byChange, order) {
	const count = data.parent.length, place = new Int32Array(count);
	/** @type {Map<number, number>} */
	const known = new Map();
	const parent = [-1], func = [0], kept = emptyWeights(self.metric, count);
	for (let i = 0; i < count; i++) {
		if (i) {
			const above = place[data.parent[i]];
			if (hide.some((hidden) => hidden[data.func[i]])) {
				place[i] = above;
			} else {
				const key = above * data.functions.length + data.func[i];
				let node = known.get(key);
				if (node === undefined) {
					node = parent.length;
					known.set(key, node);
					parent.push(above);
					func.push(data.func[i]);
				}
				place[i] = node;
			}
		}
		addWeights(kept, place[i], self, i);
	}
	const length = parent.length;
	return new Tree(Int32Array.from(parent), Int32Array.from(func),
		mapWeights(kept, (column) => column.subarray(0, length)), byChange, order);
}

/* Boxes. */

/** The order that siblings keep while their sizes change, by name. */
export class Ranks {
	constructor() {
		/** The place of every name seen so far. @type {Map<string, number>} */
		this.places = new Map();
	}

	/**
	 * Gives new names their places after those that have one, the largest first. Returns the order by function.
	 * @param {Func[]} functions @param {Float64Array} sizes
	 */
	add(functions, sizes) {
		const {places} = this, fresh = [...functions.keys()].filter((func) => !places.has(functions[func].name));
		fresh.sort((a, b) => Math.abs(sizes[b] ?? 0) - Math.abs(sizes[a] ?? 0)).forEach((func) => {
			if (!places.has(functions[func].name))
				places.set(functions[func].name, places.size);
		});
		return Int32Array.from(functions, ({name}) => places.get(name) ?? 0);
	}
}

/** One function on one path of calls, downwards or upwards. It merges several nodes. */
export class Box {
	/** @param {Tree} tree @param {Box | null} above @param {number} func */
	constructor(tree, above, func) {
		this.tree = tree;
		this.above = above;
		this.func = func;
		/** @type {number} */
		this.depth = above ? above.depth + 1 : 0;
		this.size = this.value = this.other = this.base = this.variance = this.skew = 0;
		/** Its own value (or change) and base, if `hasSelf`. */
		this.selfValue = this.selfBase = 0;
		this.hasSelf = false;
		/** @type {Box[] | null} */
		this.below = null;
	}

	/** @param {Weights} weights @param {number} node */
	addWeight(weights, node) {
		this.value += weights.value[node];
		this.other += weights.other[node];
		this.base += weights.base[node];
		this.variance += weights.variance[node];
		this.skew += weights.skew[node];
	}

	/** Whether its change may be due to sampling alone. */
	isNoise() {
		return isNoise(this.tree.metric, this.value, this.variance, this.skew);
	}

	/** The largest first, or in the tree's order. @returns {Box[]} */
	children() {
		const {order} = this.tree;
		this.below ??= this.expand().filter((box) => box.size > 0)
			.sort((a, b) => order ? order[a.func] - order[b.func] : b.size - a.size);
		return this.below;
	}

	/** @returns {Box[]} */
	expand() {
		return [];
	}

	/** The functions from the outermost box to this one. */
	path() {
		/** @type {number[]} */
		const path = [];
		let box = /** @type {Box} */ (this);
		for (; box.above; box = box.above)
			path.push(box.func);
		return path.reverse();
	}
}

/** Goes from callers to callees. */
class DownBox extends Box {
	/** @param {Tree} tree @param {Box | null} above @param {number} func */
	constructor(tree, above, func) {
		super(tree, above, func);
		/** @type {number[]} */
		this.nodes = [];
	}

	/** @param {number} node */
	add(node) {
		const {tree} = this;
		this.nodes.push(node);
		this.size += tree.size[node];
		this.addWeight(tree.total, node);
		this.selfValue += tree.self.value[node];
		this.selfBase += tree.self.base[node];
		this.hasSelf = node > 0;
	}

	/** @override */
	expand() {
		const {tree} = this;
		/** @type {Map<number, DownBox>} */
		const boxes = new Map();
		for (const node of this.nodes)
			for (let child = tree.firstChild[node]; child >= 0; child = tree.nextSibling[child]) {
				if (tree.size[child] <= 0)
					continue;
				const func = tree.func[child];
				let box = boxes.get(func);
				if (!box)
					boxes.set(func, box = new DownBox(tree, this, func));
				box.add(child);
			}
		return [...boxes.values()];
	}
}

/** Goes from callees to callers: for each of its nodes, NEXT is the next caller. */
export class UpBox extends Box {
	/**
	 * @param {Tree} tree
	 * @param {Box | null} above
	 * @param {number} func
	 * @param {boolean} ofSelf counts the nodes' own values
	 */
	constructor(tree, above, func, ofSelf) {
		super(tree, above, func);
		this.ofSelf = ofSelf;
		/** @type {number[]} */
		this.nodes = [];
		/** @type {number[]} */
		this.next = [];
	}

	/** @param {number} node @param {number} next */
	add(node, next) {
		const {tree} = this;
		this.nodes.push(node);
		this.next.push(next);
		this.size += (this.ofSelf ? tree.selfSize : tree.size)[node];
		this.addWeight(this.ofSelf ? tree.self : tree.total, node);
	}

	/** @override */
	expand() {
		const {tree} = this;
		/** @type {Map<number, UpBox>} */
		const boxes = new Map();
		this.nodes.forEach((node, i) => {
			const next = this.next[i];
			if (next <= 0)
				return;
			const func = tree.func[next];
			let box = boxes.get(func);
			if (!box)
				boxes.set(func, box = new UpBox(tree, this, func, this.ofSelf));
			box.add(node, tree.parent[next]);
		});
		const list = [...boxes.values()];
		if (this.ofSelf && this.depth === 0)
			list.forEach((box) => {
				box.selfValue = box.value;
				box.selfBase = box.base;
				box.hasSelf = true;
			});
		return list;
	}
}

/** From the roots of all stacks downwards. @param {Tree} tree */
export function callsBox(tree) {
	const box = new DownBox(tree, null, 0);
	box.add(0);
	return box;
}

/** From where memory is allocated upwards. @param {Tree} tree */
export function leavesBox(tree) {
	const box = new UpBox(tree, null, 0, true);
	for (let i = 0; i < tree.count; i++)
		if (tree.selfSize[i] > 0)
			box.add(i, i);
	return box;
}

/** A function with its callees below and its callers above. @param {Tree} tree @param {number} func */
export function aroundBoxes(tree, func) {
	const down = new DownBox(tree, null, func), up = new UpBox(tree, null, func, false);
	for (const node of tree.outermost(func)) {
		down.add(node);
		up.add(node, tree.parent[node]);
	}
	return {down, up};
}

/** The box at the end of a path of functions from ROOT on, or the last one that exists on it. @param {Box} root @param {number[]} path */
export function follow(root, path) {
	let box = root;
	for (const func of path) {
		const next = func > 0 && box.children().find((child) => child.func === func);
		if (!next)
			break;
		box = next;
	}
	return box;
}
