// @ts-check
/* table.mjs - functions in a sortable table, and threads, sizes and ages as bars.
 * SPDX-License-Identifier: Apache-2.0 */
import {isNoise} from "./data.mjs";
import {make} from "./dom.mjs";
import {human, humanBytes, humanCount, humanObjects, meanSize, percent, present, signed} from "./units.mjs";
/** @import {Func, Metric, Sums, Weights} from "./data.mjs" */

/** A bar under a number; SHARE is from 0 to 1. @param {number} share @param {boolean} grows */
export function makeBar(share, grows) {
	const bar = make("span", share < 0 ? "bar shrank" : grows ? "bar grew" : "bar");
	bar.style.width = Math.max(0, Math.min(100, Math.abs(share) * 100)).toFixed(1) + "%";
	bar.setAttribute("aria-hidden", "true");
	return bar;
}

/**
 * @typedef {object} Column
 * @property {string} key
 * @property {string} group the common heading of several columns; empty for none
 * @property {string} title
 * @property {string} hint
 * @property {(func: number) => number} of
 * @property {(value: number) => string} text
 * @property {boolean} [bar]
 * @property {boolean} [signed] a change has its sign and colour
 */

/**
 * The callbacks of the table to the page; -1 is no function.
 * @typedef {object} TableEvents
 * @property {(func: number) => void} select
 * @property {(func: number) => void} around
 * @property {(func: number) => void} point
 * @property {(key: string) => void} sort
 */

/** A choice that can be on. @typedef {{label: string, active: boolean, pick: () => void}} Choice */
/** @typedef {Choice & {value: number, other: number, more?: Choice}} Part */

export class FunctionTable {
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
		/** @type {Sums | null} */
		this.sums = null;
		this.whole = 1;
		this.key = "self";
		/** @type {Uint8Array | null} */
		this.found = null;
		/** What is said of a table without rows. */
		this.empty = "";
		more.addEventListener("click", () => {
			this.limit *= 4;
			this.fill();
		});
	}

	/** Replaces the functions, whose numbers change. @param {Func[]} functions */
	replace(functions) {
		this.functions = functions;
		this.sums = null;
	}

	/** @param {Sums} sums @returns {Column[]} */
	columns({self, total}) {
		const {metric} = self, {change, base, unit: shown, partnerUnit: unit} = metric;
		/** @type {Column[]} */
		const columns = [];
		/** @param {Weights} weights @param {string} key @param {string} title @param {string} what */
		const add = (weights, key, title, what) => {
			columns.push({key, group: base ? title : "", title: base ? "Change" : title, bar: weights === self, signed: true, text: (value) => signed(value, metric),
				of: (f) => weights.value[f],
				hint: change ? `the change of ${what}` : what});
			if (base)
				columns.push({key: key + "-before", group: title, title: "Before", text: (value) => human(value, shown), hint: what + ", in the base",
					of: (f) => weights.base[f]},
					{key: key + "-now", group: title, title: "Now", text: (value) => human(value, shown), hint: what + ", now",
						of: (f) => present(weights.value[f], weights.base[f], shown)});
		};
		add(self, "self", "Self", `what the function itself ${metric.type.startsWith("alloc") ? "allocated" : "holds"}`);
		add(total, "total", "Total", `what it and all it calls ${metric.type.startsWith("alloc") ? "allocated" : "hold"}`);
		if (metric.partner < 0)
			return columns;
		columns.push({key: "other", group: "", title: unit === "bytes" ? "Bytes" : "Objects", of: (f) => self.other[f],
			signed: true, text: (value) => signed(value, metric, unit),
			hint: `of the function itself${change ? ", more or fewer than before" : ""}`});
		columns.push({key: "mean", group: "", title: "Mean size", hint: "of one object of the function itself",
			text: (value) => value > 0 ? humanBytes(value) : "–",
			of: (f) => meanSize(metric, self.value[f], self.other[f])});
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

	/** The functions with a value that is not 0, in the order of the table. @param {Sums} sums */
	rows(sums) {
		const {self, total} = sums, columns = this.columns(sums), up = this.key.startsWith("-"), key = this.key.replace(/^-/, "");
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
		const {sums} = this;
		if (!sums)
			return;
		const columns = this.columns(sums), rows = this.rows(sums), {self} = sums;
		const most = rows.reduce((largest, func) => Math.max(largest, Math.abs(self.value[func])), 0) || 1;
		const body = make("tbody");
		for (const func of rows.slice(0, this.limit))
			body.append(this.makeRow(func, columns, self, most));
		if (rows.length === 0) {
			const cell = make("td", "empty", this.found ? "No function matches the search." : this.empty);
			cell.setAttribute("colspan", String(columns.length + 1));
			const row = make("tr");
			row.append(cell);
			body.append(row);
		}
		const active = /** @type {HTMLElement | null} */ (this.table.contains(document.activeElement) ? document.activeElement : null);
		const key = active?.dataset.key, name = active && !key ? active.textContent : null;
		this.table.replaceChildren(this.makeHead(columns), body);
		if (active)
			/** @type {HTMLElement | undefined} */ ([...this.table.querySelectorAll("button")].find((button) =>
				key ? button.dataset.key === key : button.textContent === name))?.focus();
		this.more.hidden = rows.length <= this.limit;
		this.more.textContent = `Show more of ${humanCount(rows.length)} functions`;
	}

	/** @param {Column[]} columns */
	makeHead(columns) {
		const head = make("thead"), row = make("tr"), key = this.key.replace(/^-/, "");
		if (columns.some((column) => column.group)) {
			const groups = make("tr", "groups"), spans = /** @type {[string, number][]} */ ([["", 1]]);
			for (const {group} of columns) {
				const last = spans[spans.length - 1];
				if (last[0] === group)
					last[1]++;
				else
					spans.push([group, 1]);
			}
			groups.append(...spans.map(([group, span]) => {
				const cell = make(group ? "th" : "td", "", group);
				cell.setAttribute("colspan", String(span));
				if (group)
					cell.setAttribute("scope", "colgroup");
				return cell;
			}));
			head.append(groups);
		}
		for (const column of [{key: "name", title: "Function", group: "", hint: "by name"}, ...columns]) {
			const cell = make("th", column.key === "name" ? "name" : ""), button = make("button", "");
			if (column.group)
				button.append(make("span", "of", column.group + " "));
			button.append(column.title);
			button.title = column.hint;
			button.dataset.key = column.key;
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

	/** @param {number} func @param {Column[]} columns @param {Weights} self @param {number} most */
	makeRow(func, columns, self, most) {
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
			const text = column.text(value), noise = column.bar && isNoise(self.metric, value, self.variance[func], self.skew[func]);
			number.append(value ? make("span", noise ? "noise" : self.metric.change && column.signed ? (value < 0 ? "down" : "up") : "",
				(noise ? "~ " : "") + text) : make("span", "none", "–"));
			number.setAttribute("data-title", column.group ? column.group + " " + column.title.toLowerCase() : column.title);
			if (column.bar && value) {
				number.title = percent(value, this.whole) + (noise ? ", within the noise of sampling" : "");
				number.append(makeBar(value / most, self.metric.change));
			}
			row.append(number);
		}
		row.addEventListener("click", () => this.events.select(func));
		row.addEventListener("dblclick", () => this.events.around(func));
		row.addEventListener("mouseenter", () => this.events.point(func));
		row.addEventListener("mouseleave", () => this.events.point(-1));
		return row;
	}
}

/**
 * Fills a list of bars: the memory of each thread, size or age.
 * @param {HTMLElement} list @param {Metric} metric @param {Part[]} parts @param {string} empty
 */
export function fillParts(list, metric, parts, empty) {
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
		track.append(makeBar(part.value / most, metric.change));
		row.append(make("span", "label", part.label), track, make("span", "number", signed(part.value, metric)),
			make("span", "number share", percent(Math.abs(part.value), whole)),
			make("span", "number other", metric.partner < 0 ? "" : metric.partnerUnit === "bytes" ? humanBytes(part.other) : humanObjects(part.other)));
		row.addEventListener("click", part.pick);
		if (!part.more)
			return row;
		const both = make("div", "part-line"), more = make("button", "part-more", part.more.label);
		more.setAttribute("aria-pressed", String(part.more.active));
		more.setAttribute("aria-label", `${part.label} ${part.more.label}`);
		more.addEventListener("click", part.more.pick);
		both.append(row, more);
		return both;
	}));
}
