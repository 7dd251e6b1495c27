// @ts-check
/* chart.mjs - memory over time, with its legend, and how the reader selects dumps and what part of the time to see.
 *
 * Layers keep their colours and their order as long as they are shown, even if their sizes change. Two handles over the canvas stand for the
 * ends of the range, for the keyboard and for those who cannot see the canvas.
 * SPDX-License-Identifier: Apache-2.0 */
import {ChartCanvas} from "./chart_canvas.mjs";
import {Course} from "./course.mjs";
import {element, make} from "./dom.mjs";
import {humanBytes} from "./units.mjs";
import {takeWheel, Viewport} from "./viewport.mjs";
/** @import {ChartOptions} from "./chart_canvas.mjs" */
/** @import {PathColors} from "./color.mjs" */
/** @import {Layer} from "./course.mjs" */

/**
 * The callbacks of the chart to the page.
 * @typedef {object} ChartEvents
 * @property {(id: number) => void} moment one dump was selected
 * @property {(from: number, to: number) => void} range
 * @property {(leaf: string) => void} select a call path was selected, by the function that holds it
 */

export class Chart extends ChartCanvas {
	/** @param {PathColors} paths @param {ChartEvents} events @param {ChartOptions} options */
	constructor(paths, events, options) {
		super(/** @type {HTMLCanvasElement} */ (element("chart")), paths, options);
		this.events = events;
		/** How much is in view, in milliseconds, up to the end; 0 if the reader chose otherwise or sees everything. */
		this.span = 0;
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolor());
		element("theme-button").addEventListener("click", () => setTimeout(() => this.recolor()));
		this.listen();
	}

	recolor() {
		this.readColors();
		this.paint();
	}

	/** Forgets the process that was shown. */
	clear() {
		this.paths.clear();
		this.course = new Course();
		this.view = new Viewport(1000);
		this.choose(0);
	}

	/** Shows COURSE, and that the dumps FROM and TO of it are shown elsewhere. @param {Course} course @param {number} from @param {number} to */
	show(course, from, to) {
		this.course = course;
		this.from = from;
		this.to = to;
		this.paths.learn(course.layers?.items ?? []);
		const [first, last] = course.span;
		this.view.cover(first, Math.max(last, first + 10 * this.view.least));
		if (this.span)
			this.view.set(this.view.last - this.span, this.view.last);
		this.paint();
		this.showLegend();
		this.showSpans();
	}

	/* Text. */

	/** The entries of the legend, and of what stands beside the pointer, from the top. @param {number} id @returns {{name: string, kind: string, value: number, layer?: Layer}[]} */
	entries(id) {
		const {course} = this, index = course.layerIndex(id), point = course.nearest(id);
		const rows = this.layers().reverse().map((layer) => ({name: layer.name, kind: "layer", value: layer.values[index] ?? 0, layer}));
		if (rows.length && point && (course.layers?.items.length !== 1 || rows[0].layer.leaf))
			rows.push(/** @type {any} */ ({name: "Live memory", kind: "total", value: point.total}));
		if (this.inBytes && course.resident.some(([, value]) => value > 0))
			rows.push(/** @type {any} */ ({name: "Resident memory", kind: "resident", value: point && !point.resident && course.resident.length === course.points.length
				? 0 : course.weightAt(id)}));
		if (course.seconds.some(({usage}) => usage > 0))
			rows.push(/** @type {any} */ ({name: "Control group", kind: "usage", value: course.seconds.findLast(({time, usage}) => time <= id && usage)?.usage ?? 0}));
		return rows;
	}

	/** @param {string} kind @param {Layer} [layer] */
	swatch(kind, layer) {
		const swatch = make("span", "key " + kind);
		if (layer)
			swatch.style.background = this.paths.color(layer.leaf ? layer.name : "");
		return swatch;
	}

	/** The legend shows the values at the end of the range, and the change since its start. */
	showLegend() {
		const list = element("layers"), {course} = this, end = this.to || (course.points.at(-1)?.id ?? 0), rows = this.entries(end);
		const before = this.from && this.from !== end ? this.entries(this.from) : [], key = rows.map(({name, kind}) => kind + name).join("\n");
		const verdicts = /** @type {Record<string, string>} */ ({growing: "↗", filling: "⤴", sawtooth: "∿", shrinking: "↘"});
		if (list.dataset.key !== key) {
			list.dataset.key = key;
			list.replaceChildren(...rows.map(({name, kind, layer}) => {
				const item = make("li"), line = make(layer?.leaf ? "button" : "div", "line");
				line.append(this.swatch(kind, layer), make("span", "name", name), make("span", "amount"), make("span", "more"));
				line.title = name;
				if (layer?.leaf) {
					line.addEventListener("click", () => this.events.select(layer.leaf));
					for (const [event, lit] of /** @type {const} */ ([["mouseenter", name], ["focus", name], ["mouseleave", ""], ["blur", ""]]))
						line.addEventListener(event, () => {
							this.lit = lit;
							this.paint();
						});
				}
				item.append(line);
				return item;
			}));
		}
		rows.forEach(({value, kind, layer}, i) => {
			const [amount, more] = ["amount", "more"].map((name) => /** @type {HTMLElement} */ (list.children[i].querySelector("." + name)));
			const old = before.find((entry) => entry.kind === kind && entry.name === rows[i].name)?.value ?? 0;
			const unknown = kind !== "layer" && kind !== "total" && !value, change = before.length && !unknown && (old || kind === "layer") ? value - old : 0;
			amount.textContent = unknown ? "not measured" : ((layer && verdicts[layer.verdict]) ?? "") + " " + this.number(value);
			more.textContent = change ? (change > 0 ? "+" : "") + this.number(change) : "";
			more.className = change > 0 ? "more up" : change < 0 ? "more down" : "more";
		});
	}

	/** Shows the values under the pointer. @param {number} x */
	tell(x) {
		const tip = element("chart-tip"), {course} = this, point = x < this.space.left ? null : course.nearest(this.time(x));
		this.hover = x;
		tip.hidden = !point;
		if (point) {
			const place = this.x(point.id), width = this.canvas.clientWidth, near = course.marks.filter((mark) => Math.abs(this.x(mark.time) - x) < 6);
			tip.style.left = place < width / 2 ? Math.max(place, 0) + 14 + "px" : "auto";
			tip.style.right = place < width / 2 ? "auto" : Math.max(0, width - place) + 14 + "px";
			const rows = this.entries(point.id).filter(({value}) => value > 0).map(({name, kind, value, layer}) => {
				const item = make("div");
				item.append(this.swatch(kind, layer), make("span", "name", name), make("span", "number", this.number(value)));
				return item;
			});
			const second = course.seconds.findLast(({time}) => time <= this.time(x)), rate = second?.rate ? `allocating ${humanBytes(second.rate)}/s` : "";
			tip.replaceChildren(make("p", "", this.options.clock(point.id) + (this.options.zone && " " + this.options.zone)),
				...near.map((mark) => make("p", "mark", mark.text)), ...rows, ...(rate ? [make("p", "", rate)] : []));
		}
		this.paint();
	}

	/** Puts the handles at the ends of the range: the first is there only if there are two. @override */
	painted() {
		const {points} = this.course, last = points.length - 1, end = this.to || (points[last]?.id ?? 0), {left, right} = this.space;
		for (const [name, id, shown] of /** @type {const} */ ([["from", this.from, this.from > 0 && this.from !== end], ["to", end, end > 0]])) {
			const handle = element("range-" + name), x = this.x(id), at = this.course.indexOf(id);
			handle.hidden = !shown || this.options.fixed;
			handle.style.left = Math.max(left, Math.min(this.canvas.clientWidth - right, x)) + "px";
			handle.classList.toggle("outside", x < left - 1 || x > this.canvas.clientWidth - right + 1);
			for (const [key, value] of [["valuemin", 0], ["valuemax", Math.max(0, last)], ["valuenow", Math.max(0, at)]])
				handle.setAttribute("aria-" + key, String(value));
			if (points[at])
				handle.setAttribute("aria-valuetext", `${this.options.clock(id)}, ${this.number(points[at].total)}`);
		}
	}

	/* Selecting. */

	/** Shows the last SECONDS of the course; 0 for all of it. @param {number} seconds */
	choose(seconds) {
		this.span = seconds * 1000;
		if (this.span)
			this.view.set(this.view.last - this.span, this.view.last);
		else
			this.view.reset();
		this.paint();
		this.showSpans();
	}

	/** Which of the buttons for spans can be used, and which one is in use. */
	showSpans() {
		const whole = (this.view.last - this.view.first) / 1000;
		for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-span]"))) {
			const seconds = Number(button.dataset.span);
			button.disabled = seconds >= whole;
			button.setAttribute("aria-pressed", String(seconds ? this.span === 1000 * seconds : this.view.isWhole));
		}
	}

	/** The reader has zoomed or moved the view. */
	changed() {
		this.span = 0;
		this.paint();
		this.showSpans();
	}

	listen() {
		const {canvas} = this;
		takeWheel(canvas, (event) => {
			if (!this.view.wheel(event, this.time(event.offsetX), this.width))
				return false;
			this.changed();
			return true;
		});
		for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-span]")))
			button.addEventListener("click", () => this.choose(Number(button.dataset.span)));
		canvas.addEventListener("pointerdown", (event) => {
			if (event.button !== 0 || !this.course.points.length)
				return;
			canvas.setPointerCapture(event.pointerId);
			this.anchor = event.offsetX;
			this.moved = -1;
			this.does = this.options.fixed || event.shiftKey || event.offsetY > this.floor ? "pan" : "select";
		});
		canvas.addEventListener("pointermove", (event) => {
			if (this.anchor >= 0 && this.does === "pan") {
				if (this.view.move(this.time(this.moved < 0 ? this.anchor : this.moved) - this.time(event.offsetX)))
					this.changed();
				this.moved = event.offsetX;
				return;
			}
			if (this.anchor >= 0 && (this.moved >= 0 || Math.abs(event.offsetX - this.anchor) > 4))
				this.moved = event.offsetX;
			this.tell(event.offsetX);
		});
		canvas.addEventListener("pointerup", (event) => {
			const {does} = this, from = this.course.nearest(typeof does === "number" ? does : this.time(this.anchor)), to = this.course.nearest(this.time(event.offsetX));
			const acts = this.anchor >= 0 && does !== "pan" && (does === "select" || this.moved >= 0), single = this.moved < 0 || from === to;
			this.anchor = this.moved = -1;
			if (acts && from && to)
				this.select(single ? to.id : from.id, to.id);
			this.paint();
		});
		canvas.addEventListener("pointercancel", () => { this.anchor = this.moved = -1; });
		canvas.addEventListener("pointerleave", () => this.tell(-1));
		for (const end of /** @type {const} */ (["from", "to"])) {
			const handle = element("range-" + end);
			handle.addEventListener("keydown", (event) => this.key(event, end));
			handle.addEventListener("pointerdown", (event) => {
				if (event.button !== 0)
					return;
				const last = this.course.points.at(-1)?.id ?? 0, single = !this.from || this.from === (this.to || last);
				this.anchor = this.x(this[end] || last);
				this.does = single ? "select" : end === "from" ? this.to || last : this.from;
				canvas.setPointerCapture(event.pointerId);
			});
		}
	}

	/** @param {number} one @param {number} other */
	select(one, other) {
		if (one === other)
			this.events.moment(one);
		else
			this.events.range(Math.min(one, other), Math.max(one, other));
	}

	/**
	 * Arrow keys move one end of the range; past the other end they move both. With Shift, one dump becomes a range.
	 * @param {KeyboardEvent} event @param {"from" | "to"} end
	 */
	key(event, end) {
		const {points} = this.course, last = points.length - 1;
		const step = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity}[event.key];
		if (event.ctrlKey || event.metaKey || event.altKey || !points.length)
			return;
		if (step === undefined) {
			if (!this.view.key(event.key))
				return;
			this.changed();
		} else {
			const to = this.course.indexOf(this.to || points[last].id), from = this.from ? this.course.indexOf(this.from) : to;
			const at = Math.max(0, Math.min(last, (end === "from" ? from : to) + step));
			const [one, other] = from === to ? [at, event.shiftKey ? from : at] : end === "from" ? [at, Math.max(at, to)] : [Math.min(at, from), at];
			this.select(points[one].id, points[other].id);
		}
		event.preventDefault();
		event.stopPropagation();
	}
}
