// @ts-check
/* table.js - the functions as a table that sorts, and threads and sizes as bars.
 * SPDX-License-Identifier: Apache-2.0 */

/** @param {string} tag @param {string} [className] @param {string} [text] @returns {HTMLElement} */
function make(tag, className, text) {
	const element = document.createElement(tag);
	if (className)
		element.className = className;
	if (text !== undefined)
		element.textContent = text;
	return element;
}

/** A bar under a number: SHARE of 1. @param {number} share @param {boolean} [grows] */
function makeBar(share, grows = facts.change) {
	const bar = make("span", share < 0 ? "bar shrank" : grows ? "bar grew" : "bar");
	bar.style.width = Math.max(0, Math.min(100, Math.abs(share) * 100)).toFixed(1) + "%";
	bar.setAttribute("aria-hidden", "true");
	return bar;
}

/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} title
 * @property {string} hint
 * @property {(func: number) => number} of
 * @property {(value: number) => string} text
 * @property {boolean} [bar]
 */

/**
 * What the table tells the page; -1 is no function.
 * @typedef {object} TableEvents
 * @property {(func: number) => void} select
 * @property {(func: number) => void} around
 * @property {(func: number) => void} point
 * @property {(key: string) => void} sort
 */

/** @typedef {{label: string, value: number, objects: number, active: boolean, pick: () => void}} Part */

class FunctionTable {
	/**
	 * @param {HTMLTableElement} table
	 * @param {HTMLButtonElement} more
	 * @param {Func[]} functions
	 * @param {TableEvents} events
	 */
	constructor(table, more, functions, events) {
		this.table = table;
		this.more = more;
		this.functions = functions;
		this.events = events;
		this.limit = 60;
		this.selected = -1;
		/** @type {Sums} */
		this.sums = {self: emptyWeights(0), total: emptyWeights(0)};
		this.whole = 1;
		this.key = "self";
		/** @type {Uint8Array | null} */
		this.found = null;
		more.addEventListener("click", () => {
			this.limit *= 4;
			this.fill();
		});
	}

	/** @returns {Column[]} */
	columns() {
		const {self, total} = this.sums;
		/** @param {number} func */
		const mean = (func) => self.objects[func] ? self.value[func] / self.objects[func] : 0;
		/** @type {Column[]} */
		const columns = facts.change ? [
			{key: "self", title: "Change", hint: "what the function itself holds more or less than before", of: (f) => self.value[f], text: signed,
				bar: true},
			{key: "total", title: "With callees", hint: "the change of all stacks that pass through it", of: (f) => total.value[f], text: signed},
		] : [
			{key: "self", title: "Self", hint: "what the function itself holds", of: (f) => self.value[f], text: human, bar: true},
			{key: "total", title: "Total", hint: "what it and all it calls hold", of: (f) => total.value[f], text: human},
		];
		if (facts.base)
			columns.push(
				{key: "now", title: "Now", hint: "what the function itself holds", of: (f) => present(self.value[f], self.base[f]), text: human},
				{key: "before", title: "Before", hint: "what it held in the base", of: (f) => self.base[f], text: human});
		if (facts.objects)
			columns.push(
				{key: "objects", title: "Objects", of: (f) => self.objects[f],
					hint: facts.change ? "objects more or fewer than before" : "how many objects the function itself holds",
					text: (value) => (facts.change && value > 0 ? "+" : "") + humanCount(value)},
				{key: "mean", title: "Mean size", hint: "of one object", of: mean, text: (value) => value > 0 ? humanBytes(value) : "–"});
		return columns;
	}

	/**
	 * @param {Sums} sums
	 * @param {number} whole
	 * @param {Uint8Array | null} found
	 * @param {string} key
	 * @param {number} selected
	 */
	show(sums, whole, found, key, selected) {
		const same = this.sums === sums && this.whole === whole && this.found === found && this.key === key;
		this.sums = sums;
		this.whole = whole;
		this.found = found;
		this.key = key;
		this.selected = selected;
		if (same)
			this.table.querySelectorAll("tbody tr").forEach((row) =>
				row.classList.toggle("selected", Number(row.getAttribute("data-func")) === selected));
		else
			this.fill();
	}

	/** The functions that have something, as the table is sorted. */
	rows() {
		const {self, total} = this.sums, columns = this.columns(), up = this.key.startsWith("-"), key = this.key.replace("-", "");
		const column = columns.find((at) => at.key === key), direction = up ? -1 : 1;
		/** @type {number[]} */
		const rows = [];
		for (let func = 1; func < self.value.length; func++)
			if ((total.value[func] || total.base[func] || self.value[func]) && (!this.found || this.found[func]))
				rows.push(func);
		if (!column)
			return rows.sort((a, b) => direction * this.functions[a].name.localeCompare(this.functions[b].name));
		const size = Float64Array.from(self.value, (_, func) => column.of(func));
		return rows.sort((a, b) => direction * (size[b] - size[a]) || Math.abs(total.value[b]) - Math.abs(total.value[a]));
	}

	fill() {
		const columns = this.columns(), rows = this.rows(), {self} = this.sums;
		const most = rows.reduce((largest, func) => Math.max(largest, Math.abs(self.value[func])), 0) || 1;
		const body = make("tbody");
		for (const func of rows.slice(0, this.limit))
			body.append(this.makeRow(func, columns, most));
		if (rows.length === 0) {
			const cell = make("td", "empty", this.found ? "No function matches the search." : "Nothing is left. Remove a filter to see more.");
			cell.setAttribute("colspan", String(columns.length + 1));
			const row = make("tr");
			row.append(cell);
			body.append(row);
		}
		this.table.replaceChildren(this.makeHead(columns), body);
		this.more.hidden = rows.length <= this.limit;
		this.more.textContent = `Show more of ${humanCount(rows.length)} functions`;
	}

	/** @param {Column[]} columns */
	makeHead(columns) {
		const head = make("thead"), row = make("tr"), key = this.key.replace("-", "");
		for (const column of [{key: "name", title: "Function", hint: "by name"}, ...columns]) {
			const cell = make("th", column.key === "name" ? "name" : ""), button = make("button", "", column.title);
			button.title = column.hint;
			cell.setAttribute("scope", "col");
			if (column.key === key) {
				const up = this.key.startsWith("-") !== (key === "name");
				cell.setAttribute("aria-sort", up ? "ascending" : "descending");
				button.append(make("span", "arrow", up ? "↑" : "↓"));
			}
			button.addEventListener("click", () => this.events.sort(this.key === column.key ? "-" + column.key : column.key));
			cell.append(button);
			row.append(cell);
		}
		head.append(row);
		return head;
	}

	/** @param {number} func @param {Column[]} columns @param {number} most */
	makeRow(func, columns, most) {
		const {name, file, line} = this.functions[func], row = make("tr", func === this.selected ? "selected" : "");
		const cell = make("th", "name"), button = make("button", "", name);
		row.setAttribute("data-func", String(func));
		cell.setAttribute("scope", "row");
		button.title = name + (file ? "\n" + file + (line ? ":" + line : "") : "");
		cell.append(button);
		if (file)
			cell.append(make("span", "file", file.slice(file.lastIndexOf("/") + 1) + (line ? ":" + line : "")));
		row.append(cell);
		for (const column of columns) {
			const value = column.of(func), number = make("td", value ? "" : "blank");
			const text = column.text(value), noise = column.bar && isNoise(value, this.sums.self.variance[func], this.sums.self.skew[func]);
			number.append(value ? make("span", noise ? "noise" : facts.change && column.bar ? (value < 0 ? "down" : "up") : "", (noise ? "~ " : "") + text) : make("span", "none", "–"));
			number.setAttribute("data-title", column.title);
			if (column.bar && value) {
				number.title = percent(value, this.whole) + (noise ? ", within the noise of sampling" : "");
				number.append(makeBar(value / most));
			}
			row.append(number);
		}
		button.addEventListener("click", () => this.events.select(func));
		row.addEventListener("dblclick", () => this.events.around(func));
		row.addEventListener("mouseenter", () => this.events.point(func));
		row.addEventListener("mouseleave", () => this.events.point(-1));
		return row;
	}
}

/**
 * A list of bars: how much is of which thread, or of which size.
 * @param {HTMLElement} list @param {Part[]} parts @param {string} empty
 */
function fillParts(list, parts, empty) {
	const most = parts.reduce((largest, part) => Math.max(largest, Math.abs(part.value)), 0) || 1;
	const whole = parts.reduce((sum, part) => sum + Math.abs(part.value), 0);
	if (parts.length === 0) {
		list.replaceChildren(make("p", "empty", empty));
		return;
	}
	list.replaceChildren(...parts.map((part) => {
		const row = make("button", part.active ? "part active" : "part");
		row.setAttribute("aria-pressed", String(part.active));
		const track = make("span", "track");
		track.append(makeBar(part.value / most));
		row.append(make("span", "label", part.label), track, make("span", "number", signed(part.value)),
			make("span", "number share", percent(Math.abs(part.value), whole)),
			make("span", "number objects", facts.objects ? humanObjects(part.objects) : ""));
		row.addEventListener("click", part.pick);
		return row;
	}));
}
