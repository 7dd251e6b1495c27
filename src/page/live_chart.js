// @ts-check
/* live_chart.js - memory over time on a canvas: call paths as layers, resident memory, the limit, marks, and the moments that are shown.
 *
 * Layers keep their colours and their order as long as they are shown, even if their sizes change.
 * SPDX-License-Identifier: Apache-2.0 */

/**
 * The callbacks of the chart to the page.
 * @typedef {object} LiveChartEvents
 * @property {(id: number) => void} moment one dump was selected
 * @property {(from: number, to: number) => void} range
 * @property {(leaf: string) => void} select
 */

/** Colours of the layers, which can be told apart on white and on black (series/hue.h). */
const layerColors = ["#d1604a", "#e0a33e", "#3f9c8c", "#5b8ec9", "#8d78c2", "#93a747", "#4fb0c6", "#c9719a"];

class LiveChart {
	/** @param {HTMLCanvasElement} canvas @param {LiveChartEvents} events */
	constructor(canvas, events) {
		this.canvas = canvas;
		this.events = events;
		this.pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
		this.history = new LiveHistory();
		/** The moments that are shown; 0 for none. */
		this.at = 0;
		this.base = 0;
		/** Names of layers, in the order in which they first appeared. @type {string[]} */
		this.known = [];
		this.anchor = -1;
		this.moved = -1;
		this.hover = -1;
		this.colors = {ink: "", muted: "", alarm: "", accent: "", font: ""};
		this.readColors();
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolor());
		element("theme-button").addEventListener("click", () => setTimeout(() => this.recolor()));
		this.space = {left: 64, right: 12, top: 16, bottom: 20};
		this.listen();
		new ResizeObserver(() => this.paint()).observe(canvas);
	}

	recolor() {
		this.readColors();
		this.paint();
	}

	/** Forgets the process that was shown. */
	clear() {
		this.known = [];
		this.history = new LiveHistory();
	}

	/** @param {LiveHistory} history @param {number} at @param {number} base */
	show(history, at, base) {
		this.history = history;
		this.at = at;
		this.base = base;
		/* The layer that grew most comes last, and has the first colour. */
		for (const {name, leaf, values} of [...history.layers?.items ?? []].reverse())
			if (leaf && !this.known.includes(name) && values.some((value) => value > 0))
				this.known.push(name);
		this.paint();
		this.showLegend();
	}

	/** @param {string} name */
	color(name) {
		const at = this.known.indexOf(name);
		return at < 0 ? "#8a8f98" : layerColors[at % layerColors.length];
	}

	/** The layers from the bottom: all others, then the named ones, the first to appear on top; without those that were always 0. */
	layers() {
		const place = (/** @type {LiveLayer} */ layer) => layer.leaf ? -this.known.indexOf(layer.name) : -Infinity;
		return (this.history.layers?.items ?? []).filter((layer) => !layer.leaf || this.known.includes(layer.name))
			.sort((a, b) => place(a) - place(b));
	}

	/** Reads the colours of the style, which depend on the theme. */
	readColors() {
		const probe = make("span");
		this.canvas.parentElement?.append(probe);
		const color = (/** @type {string} */ name) => {
			probe.style.color = `var(${name})`;
			return getComputedStyle(probe).color;
		};
		this.colors = {ink: color("--ink"), muted: color("--muted"), alarm: color("--grew"), accent: color("--accent"),
			font: "11px " + getComputedStyle(document.documentElement).fontFamily};
		probe.remove();
	}

	/* Scales. */

	get from() {
		const {points, resident} = this.history, first = Math.min(points[0]?.id ?? Infinity, resident[0]?.[0] ?? Infinity);
		return Number.isFinite(first) ? first : Date.now();
	}

	get to() {
		const {points, resident} = this.history;
		return Math.max(points.at(-1)?.id ?? 0, resident.at(-1)?.[0] ?? 0, this.from + 10000);
	}

	/** @param {number} time */
	x(time) {
		const {left, right} = this.space, width = this.canvas.clientWidth - left - right;
		return left + ((time - this.from) / (this.to - this.from)) * width;
	}

	/** @param {number} x */
	time(x) {
		const {left, right} = this.space, width = this.canvas.clientWidth - left - right;
		return this.from + ((x - left) / width) * (this.to - this.from);
	}

	/** The upper end of the scale. It includes the limit if memory is not far from it. */
	top() {
		const {points, resident, limit} = this.history;
		let most = 1;
		for (const point of points)
			most = Math.max(most, point.total, point.resident);
		for (const row of resident)
			most = Math.max(most, row[1]);
		return (limit && limit < 2.5 * most ? Math.max(limit, most) : most) * 1.08;
	}

	/* Painting. */

	paint() {
		const {pen, canvas, space} = this, ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
		if (!width || !height)
			return;
		if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(height * ratio);
		}
		const {ink, muted, alarm, accent, font} = this.colors;
		pen.setTransform(ratio, 0, 0, ratio, 0, 0);
		pen.clearRect(0, 0, width, height);
		pen.font = font;
		const top = this.top(), floor = height - space.bottom;
		const y = (/** @type {number} */ value) => floor - (value / top) * (floor - space.top);
		this.paintAxes(width, floor, top, y, ink, muted);
		if (!this.history.points.length && !this.history.resident.length)
			return;
		this.paintLayers(y, floor);
		this.paintLines(y, ink, alarm, width);
		this.paintMarks(floor, ink, alarm);
		this.paintMoments(floor, accent, width);
	}

	/**
	 * @param {number} width @param {number} floor @param {number} top @param {(value: number) => number} y @param {string} ink
	 * @param {string} muted
	 */
	paintAxes(width, floor, top, y, ink, muted) {
		const {pen, space} = this;
		pen.textBaseline = "middle";
		pen.textAlign = "right";
		let step = 2 ** Math.ceil(Math.log2(top / 4));
		if (top / step > 4)
			step *= 2;
		for (let value = 0; value <= top; value += step) {
			pen.globalAlpha = 0.12;
			pen.fillStyle = ink;
			pen.fillRect(space.left, Math.round(y(value)), width - space.left - space.right, 1);
			pen.globalAlpha = 1;
			pen.fillStyle = muted;
			pen.fillText(value ? humanBytes(value, true) : "0", space.left - 8, y(value));
		}
		const span = this.to - this.from, day = 86400000, wanted = Math.max(2, Math.floor(width / 130));
		const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((s) => s * 1000);
		const tick = steps.find((length) => span / length <= wanted) ?? Math.ceil(span / wanted / day) * day;
		pen.textAlign = "center";
		pen.textBaseline = "alphabetic";
		for (let time = Math.ceil(this.from / tick) * tick; time <= this.to; time += tick)
			if (this.x(time) > space.left + 20 && this.x(time) < width - 34)
				pen.fillText(clockTime(time, tick < 60000), this.x(time), floor + 14);
	}

	/** @param {(value: number) => number} y @param {number} floor */
	paintLayers(y, floor) {
		const {pen} = this, ids = this.history.layers?.ids ?? [];
		if (!ids.length)
			return;
		const below = new Float64Array(ids.length);
		for (const layer of this.layers()) {
			pen.beginPath();
			ids.forEach((id, i) => pen[i ? "lineTo" : "moveTo"](this.x(id), y(below[i] + layer.values[i])));
			for (let i = ids.length - 1; i >= 0; i--)
				pen.lineTo(this.x(ids[i]), Math.min(floor, y(below[i])));
			pen.closePath();
			pen.globalAlpha = 0.85;
			pen.fillStyle = this.color(layer.leaf ? layer.name : "");
			pen.fill();
			pen.globalAlpha = 1;
			ids.forEach((_, i) => { below[i] += layer.values[i]; });
		}
	}

	/** @param {(value: number) => number} y @param {string} ink @param {string} limitColor @param {number} width */
	paintLines(y, ink, limitColor, width) {
		const {pen, history, space} = this;
		const rows = history.resident.length > 1 ? history.resident
			: history.points.filter((point) => point.resident).map((point) => /** @type {[number, number]} */ ([point.id, point.resident]));
		pen.strokeStyle = ink;
		pen.lineWidth = 1.6;
		pen.beginPath();
		rows.forEach(([time, value], i) => i ? pen.lineTo(this.x(time), y(value)) : pen.moveTo(this.x(time), y(value)));
		pen.stroke();
		if (!history.limit)
			return;
		pen.fillStyle = limitColor;
		pen.textAlign = "right";
		pen.textBaseline = "bottom";
		if (history.limit <= this.top()) {
			pen.strokeStyle = limitColor;
			pen.setLineDash([8, 5]);
			pen.beginPath();
			pen.moveTo(space.left, y(history.limit));
			pen.lineTo(width - space.right, y(history.limit));
			pen.stroke();
			pen.setLineDash([]);
			pen.fillText("limit " + humanBytes(history.limit), width - space.right - 4, y(history.limit) - 2);
		} else {
			pen.fillText(`↑ limit ${humanBytes(history.limit)}`, width - space.right - 4, space.top - 2);
		}
	}

	/** @param {number} floor @param {string} ink @param {string} alarm */
	paintMarks(floor, ink, alarm) {
		const {pen, history, space} = this;
		pen.globalAlpha = 0.5;
		pen.fillStyle = ink;
		for (const point of history.points)
			pen.fillRect(this.x(point.id) - 0.5, floor, 1, 4);
		pen.globalAlpha = 1;
		pen.textAlign = "left";
		pen.textBaseline = "top";
		const letters = /** @type {Record<string, string>} */ ({dump: "▾", restart: "↻", deployment: "⬆", end: "✕"});
		for (const mark of history.marks) {
			const x = this.x(mark.time), color = mark.kind === "end" ? alarm : ink;
			pen.fillStyle = pen.strokeStyle = color;
			if (mark.kind !== "dump") {
				pen.lineWidth = 1;
				pen.setLineDash([3, 3]);
				pen.beginPath();
				pen.moveTo(x, space.top);
				pen.lineTo(x, floor);
				pen.stroke();
				pen.setLineDash([]);
			}
			pen.fillText(letters[mark.kind] ?? "•", x - 4, 2);
		}
	}

	/** @param {number} floor @param {string} color @param {number} width */
	paintMoments(floor, color, width) {
		const {pen, space} = this, last = this.history.points.at(-1)?.id ?? 0;
		const moments = this.anchor >= 0 && this.moved >= 0 ? [this.time(this.anchor), this.time(this.moved)]
			: [this.base, this.at].filter(Boolean);
		pen.fillStyle = pen.strokeStyle = color;
		const end = this.at || (this.base ? last : 0);
		const [from, to] = moments.length > 1 ? moments : [this.base, end];
		if (from && to && from !== to) {
			pen.globalAlpha = 0.14;
			pen.fillRect(Math.min(this.x(from), this.x(to)), space.top, Math.abs(this.x(to) - this.x(from)), floor - space.top);
			pen.globalAlpha = 1;
		}
		pen.lineWidth = 2;
		for (const time of moments) {
			const x = Math.max(space.left, Math.min(width - space.right, this.x(time)));
			pen.beginPath();
			pen.moveTo(x, space.top - 4);
			pen.lineTo(x, floor);
			pen.stroke();
		}
		if (this.hover >= 0 && this.anchor < 0) {
			pen.globalAlpha = 0.4;
			pen.lineWidth = 1;
			pen.beginPath();
			pen.moveTo(this.hover, space.top);
			pen.lineTo(this.hover, floor);
			pen.stroke();
			pen.globalAlpha = 1;
		}
	}

	/* Text. */

	showLegend() {
		const list = element("live-legend"), last = (this.history.layers?.ids.length ?? 0) - 1, layers = this.layers().reverse();
		const names = [...list.querySelectorAll("li")].map((item) => item.dataset.name ?? "").join("\n");
		const verdicts = /** @type {Record<string, string>} */ ({growing: "↗", filling: "⤴", sawtooth: "∿", shrinking: "↘"});
		if (names !== layers.map((layer) => layer.name).join("\n"))
			list.replaceChildren(...layers.map((layer) => {
				const item = make("li"), button = make("button"), swatch = make("span", "key");
				swatch.style.background = this.color(layer.leaf ? layer.name : "");
				item.dataset.name = layer.name;
				button.append(swatch, make("span", "name", layer.name), make("span", "amount"));
				button.title = layer.name;
				if (layer.leaf)
					button.addEventListener("click", () => this.events.select(layer.leaf));
				else
					/** @type {HTMLButtonElement} */ (button).disabled = true;
				item.append(button);
				return item;
			}));
		layers.forEach((layer, i) => {
			const amount = list.children[i]?.querySelector(".amount");
			if (amount)
				amount.textContent = (verdicts[layer.verdict] ?? "") + " " + humanBytes(layer.values[last] ?? 0);
		});
	}

	/** Shows the values under the pointer. @param {number} x */
	tell(x) {
		const tip = element("live-tip"), {history} = this;
		this.hover = x;
		const time = this.time(x), point = x < 0 ? null : history.nearest(time);
		tip.hidden = !point;
		if (!point) {
			this.paint();
			return;
		}
		const place = this.x(point.id), width = this.canvas.clientWidth;
		const near = history.marks.filter((mark) => Math.abs(this.x(mark.time) - x) < 6);
		tip.style.left = place < width / 2 ? place + 14 + "px" : "auto";
		tip.style.right = place < width / 2 ? "auto" : width - place + 14 + "px";
		/** @param {string} name @param {number} value @param {string} [color] */
		const row = (name, value, color) => {
			const item = make("div"), swatch = make("span", "key");
			swatch.style.background = color ?? "none";
			item.append(swatch, make("span", "name", name), make("span", "number", humanBytes(value)));
			return item;
		};
		const ids = history.layers?.ids ?? [];
		let index = 0;
		ids.forEach((id, i) => { index = Math.abs(id - point.id) < Math.abs(ids[index] - point.id) ? i : index; });
		const rows = this.layers().reverse().filter((layer) => layer.values[index] > 0)
			.map((layer) => row(layer.name, layer.values[index], this.color(layer.leaf ? layer.name : "")));
		rows.push(row("Live memory", point.total), row("Resident memory", history.weightAt(point.id)));
		tip.replaceChildren(make("p", "", clockTime(point.id)), ...near.map((mark) => make("p", "mark", mark.text)), ...rows);
		this.paint();
	}

	/* Selecting. */

	listen() {
		const {canvas} = this;
		canvas.addEventListener("pointerdown", (event) => {
			if (event.button !== 0 || !this.history.points.length)
				return;
			canvas.setPointerCapture(event.pointerId);
			this.anchor = event.offsetX;
			this.moved = -1;
		});
		canvas.addEventListener("pointermove", (event) => {
			if (this.anchor >= 0 && (this.moved >= 0 || Math.abs(event.offsetX - this.anchor) > 4))
				this.moved = event.offsetX;
			this.tell(event.offsetX);
		});
		canvas.addEventListener("pointerup", (event) => {
			const from = this.history.nearest(this.time(this.anchor)), to = this.history.nearest(this.time(event.offsetX));
			if (this.anchor >= 0 && from && to) {
				if (this.moved >= 0 && from !== to)
					this.events.range(Math.min(from.id, to.id), Math.max(from.id, to.id));
				else
					this.events.moment(to.id);
			}
			this.anchor = this.moved = -1;
			this.paint();
		});
		canvas.addEventListener("pointercancel", () => { this.anchor = this.moved = -1; });
		canvas.addEventListener("pointerleave", () => this.tell(-1));
		canvas.addEventListener("keydown", (event) => {
			const {points} = this.history, here = this.at ? points.findIndex((point) => point.id >= this.at) : points.length - 1;
			const to = {ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: points.length - 1, PageUp: here - 10,
				PageDown: here + 10}[event.key];
			if (to === undefined || event.ctrlKey || event.metaKey || event.altKey || !points.length)
				return;
			this.events.moment(points[Math.max(0, Math.min(points.length - 1, to))].id);
			event.preventDefault();
			event.stopPropagation();
		});
	}
}
