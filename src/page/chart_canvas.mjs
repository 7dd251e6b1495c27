// @ts-check
/* chart_canvas.mjs - draws memory over time on a canvas: the scales, the layers, the lines and marks, and the range.
 * SPDX-License-Identifier: Apache-2.0 */
import {Course} from "./course.mjs";
import {make} from "./dom.mjs";
import {human, humanBytes} from "./units.mjs";
import {Viewport} from "./viewport.mjs";
/** @import {PathColors} from "./color.mjs" */
/** @import {Layer} from "./course.mjs" */

/**
 * What is particular to one page.
 * @typedef {object} ChartOptions
 * @property {string} unit of the values
 * @property {boolean} fixed for reading only: there is nothing to select
 * @property {(time: number, seconds?: boolean) => string} clock writes a time
 * @property {string} zone the name of its time zone; empty for that of the reader
 */

/** The lowest strip of the plot, of what was allocated in each second. */
const stripHeight = 16;

export class ChartCanvas {
	/** @param {HTMLCanvasElement} canvas @param {PathColors} paths @param {ChartOptions} options */
	constructor(canvas, paths, options) {
		this.canvas = canvas;
		this.paths = paths;
		this.options = options;
		this.pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
		this.course = new Course();
		this.view = new Viewport(1000);
		/** The dumps that are shown; the same if it is one, 0 for none. */
		this.from = 0;
		this.to = 0;
		/** The ends of another range that is shown beside; empty for none. @type {number[]} */
		this.other = [];
		/** Where the pointer was pressed; -1 while it is not. */
		this.anchor = -1;
		this.moved = -1;
		/** What it does: selects, moves the view, or moves one end of the range, of which this is the other end. @type {"select" | "pan" | number} */
		this.does = "select";
		this.hover = -1;
		/** The name of the layer in the legend that has the pointer. */
		this.lit = "";
		this.colors = {ink: "", muted: "", alarm: "", accent: "", surface: "", font: ""};
		this.space = {left: 64, right: 12, top: 16, bottom: 20};
		this.readColors();
		new ResizeObserver(() => this.paint()).observe(canvas);
	}

	/** The layers from the bottom: all others, then the named ones, the first to appear on top; without those that were always 0. */
	layers() {
		const place = (/** @type {Layer} */ layer) => layer.leaf ? -this.paths.place(layer.name) : -Infinity;
		return (this.course.layers?.items ?? []).filter((layer) => !layer.leaf || this.paths.place(layer.name) >= 0)
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
		this.colors = {ink: color("--ink"), muted: color("--muted"), alarm: color("--grew"), accent: color("--accent"), surface: color("--surface"),
			font: "11px " + getComputedStyle(document.documentElement).fontFamily};
		probe.remove();
	}

	/** @param {number} value */
	number(value) {
		return human(value, this.options.unit);
	}

	get inBytes() {
		return this.options.unit === "bytes";
	}

	/* Scales. */

	/** The width of the plot. */
	get width() {
		return Math.max(1, this.canvas.clientWidth - this.space.left - this.space.right);
	}

	/** Where the plot ends; below it are the strip and the axis. */
	get floor() {
		return this.canvas.clientHeight - this.space.bottom - (this.course.seconds.length ? stripHeight + 4 : 0);
	}

	/** @param {number} time */
	x(time) {
		return this.space.left + ((time - this.view.from) / this.view.length) * this.width;
	}

	/** @param {number} x */
	time(x) {
		return this.view.from + ((x - this.space.left) / this.width) * this.view.length;
	}

	/** The upper end of the scale, of what is in view. It includes the limit if memory is not far from it. */
	top() {
		const {points, resident, limit, seconds} = this.course, {from, to} = this.view, slack = 0.05 * this.view.length;
		const inView = (/** @type {number} */ time) => time >= from - slack && time <= to + slack;
		let most = 1;
		for (const point of points)
			if (inView(point.id))
				most = Math.max(most, point.high ?? point.total, this.inBytes ? point.resident : 0);
		for (const [time, value] of this.inBytes ? resident : [])
			if (inView(time))
				most = Math.max(most, value);
		for (const {time, usage} of seconds)
			if (inView(time))
				most = Math.max(most, usage);
		return (this.inBytes && limit && limit < 2 * most ? Math.max(limit, most) : most) * 1.08;
	}

	/* Painting. */

	/** Called when all is painted. */
	painted() {}

	paint() {
		const {pen, canvas, space} = this, ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
		if (!width || !height)
			return;
		if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(height * ratio);
		}
		pen.setTransform(ratio, 0, 0, ratio, 0, 0);
		pen.clearRect(0, 0, width, height);
		pen.font = this.colors.font;
		const top = this.top(), {floor} = this, y = (/** @type {number} */ value) => floor - (value / top) * (floor - space.top);
		if (this.course.points.length || this.course.resident.length) {
			pen.save();
			pen.beginPath();
			pen.rect(space.left - 0.5, 0, this.width + 1, height);
			pen.clip();
			this.paintLayers(y);
			this.paintError(y);
			this.paintLines(y);
			this.paintSeconds(height - space.bottom);
			this.paintMarks(floor);
			pen.restore();
		}
		this.paintAxes(width, height - space.bottom, top, y);
		this.paintLimit(y, width);
		this.paintRange(width);
		this.painted();
	}

	/** @param {number} width @param {number} floor @param {number} top @param {(value: number) => number} y */
	paintAxes(width, floor, top, y) {
		const {pen, space, view} = this, {ink, muted} = this.colors;
		pen.textBaseline = "middle";
		pen.textAlign = "right";
		let step = this.inBytes ? 2 ** Math.ceil(Math.log2(top / 4)) : 10 ** Math.floor(Math.log10(top / 2));
		if (top / step > 4)
			step *= this.inBytes ? 2 : 5;
		for (let value = 0; value <= top; value += step) {
			pen.globalAlpha = 0.12;
			pen.fillStyle = ink;
			pen.fillRect(space.left, Math.round(y(value)), width - space.left - space.right, 1);
			pen.globalAlpha = 1;
			pen.fillStyle = muted;
			pen.fillText(!value ? "0" : this.inBytes ? humanBytes(value, true) : this.number(value), space.left - 8, y(value));
		}
		const span = view.length, day = 86400000, wanted = Math.max(2, Math.floor(width / 130));
		const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((s) => s * 1000);
		const tick = steps.find((length) => span / length <= wanted) ?? Math.ceil(span / wanted / day) * day;
		const last = width - 34 - 7 * this.options.zone.length;
		pen.textAlign = "center";
		pen.textBaseline = "alphabetic";
		for (let time = Math.ceil(view.from / tick) * tick; time <= view.to; time += tick)
			if (this.x(time) > space.left + 20 && this.x(time) < last)
				pen.fillText(this.options.clock(time, tick < 60000), this.x(time), floor + 14);
		pen.textAlign = "right";
		pen.fillText(this.options.zone, width - space.right, floor + 14);
	}

	/** The places, from one beside the view to one beside it, at which IDS are drawn. @param {number[]} ids @returns {[number, number]} */
	visible(ids) {
		let first = ids.findIndex((id) => id >= this.view.from), end = ids.findIndex((id) => id > this.view.to);
		first = first < 0 ? ids.length : first;
		end = end < 0 ? ids.length : end;
		return [Math.max(0, first - 1), Math.min(ids.length, end + 1)];
	}

	/** The pieces of IDS in view that are of one run each: [start, end) by number. @param {number[]} ids @returns {[number, number][]} */
	stretches(ids) {
		const [first, end] = this.visible(ids), runs = ids.slice(first, end).map((id) => this.course.nearest(id)?.run);
		/** @type {[number, number][]} */
		const pieces = [];
		for (let at = first; at < end; at++)
			if (at === first || runs[at - first] !== runs[at - 1 - first])
				pieces.push([at, at + 1]);
			else
				pieces[pieces.length - 1][1] = at + 1;
		return pieces;
	}

	/**
	 * The outline of what lies between LOW and HIGH at IDS. A run of one dump is a bar just wide enough to be seen.
	 * @param {number[]} ids @param {[number, number]} piece @param {(i: number) => number} low @param {(i: number) => number} high
	 */
	outline(ids, [start, end], low, high) {
		const {pen} = this, wide = end - start === 1 ? 1.5 : 0;
		pen.moveTo(this.x(ids[start]) - wide, high(start));
		for (let i = start; i < end; i++)
			pen.lineTo(this.x(ids[i]) + wide, high(i));
		for (let i = end - 1; i >= start; i--)
			pen.lineTo(this.x(ids[i]) + wide, low(i));
		pen.lineTo(this.x(ids[start]) - wide, low(start));
		pen.closePath();
	}

	/** @param {(value: number) => number} y */
	paintLayers(y) {
		const {pen, floor} = this, ids = this.course.layers?.ids ?? [], pieces = this.stretches(ids), below = new Float64Array(ids.length);
		for (const layer of this.layers()) {
			pen.beginPath();
			for (const piece of pieces)
				this.outline(ids, piece, (i) => Math.min(floor, y(below[i])), (i) => y(below[i] + Math.max(0, layer.values[i])));
			pen.globalAlpha = this.lit && this.lit !== layer.name ? 0.3 : 1;
			pen.fillStyle = this.paths.color(layer.leaf ? layer.name : "");
			pen.fill();
			pen.globalAlpha = 1;
			ids.forEach((_, i) => { below[i] += Math.max(0, layer.values[i]); });
		}
	}

	/** The interval of all live memory, where it is known. @param {(value: number) => number} y */
	paintError(y) {
		const {pen} = this, {points} = this.course, ids = points.map(({id}) => id);
		if (points[0]?.low === undefined)
			return;
		pen.beginPath();
		for (const piece of this.stretches(ids))
			this.outline(ids, piece, (i) => y(points[i].low ?? 0), (i) => y(points[i].high ?? 0));
		pen.globalAlpha = 0.22;
		pen.fillStyle = this.colors.ink;
		pen.fill();
		pen.globalAlpha = 1;
	}

	/** A line through ROWS, with a gap where a value is not known. @param {[number, number][]} rows @param {(value: number) => number} y */
	line(rows, y) {
		const {pen} = this, [first, end] = this.visible(rows.map(([time]) => time));
		let draws = false;
		pen.beginPath();
		for (const [time, value] of rows.slice(first, end)) {
			if (value > 0)
				pen[draws ? "lineTo" : "moveTo"](this.x(time), y(value));
			draws = value > 0;
		}
		pen.stroke();
	}

	/** @param {(value: number) => number} y */
	paintLines(y) {
		const {pen, course} = this;
		if (!this.inBytes)
			return;
		const rows = course.resident.length > 1 ? course.resident : course.points.map((point) => /** @type {[number, number]} */ ([point.id, point.resident]));
		pen.strokeStyle = this.colors.ink;
		pen.lineWidth = 1.6;
		this.line(rows, y);
		if (course.seconds.length) {
			pen.strokeStyle = this.colors.muted;
			pen.setLineDash([5, 3]);
			this.line(course.seconds.map(({time, usage}) => [time, usage]), y);
			pen.setLineDash([]);
		}
	}

	/** The strip of what was allocated in each second. @param {number} ground */
	paintSeconds(ground) {
		const {pen} = this, {seconds} = this.course, most = seconds.reduce((largest, {rate}) => Math.max(largest, rate), 0);
		if (!most)
			return;
		pen.fillStyle = this.colors.muted;
		pen.globalAlpha = 0.5;
		for (let i = 1; i < seconds.length; i++) {
			const x = this.x(seconds[i - 1].time), height = (stripHeight * seconds[i].rate) / most;
			pen.fillRect(x, ground - height, Math.max(1, this.x(seconds[i].time) - x), height);
		}
		pen.globalAlpha = 1;
	}

	/** @param {(value: number) => number} y @param {number} width */
	paintLimit(y, width) {
		const {pen, space} = this, {limit, limitOf} = this.course, name = limitOf.startsWith("machine") ? `memory of the ${limitOf}` : "limit";
		if (!limit || !this.inBytes)
			return;
		pen.fillStyle = this.colors.alarm;
		pen.textAlign = "right";
		pen.textBaseline = "bottom";
		if (y(limit) < space.top - 1) {
			pen.fillText(`↑ ${name} ${humanBytes(limit)}`, width - space.right - 4, space.top - 2);
			return;
		}
		pen.strokeStyle = this.colors.alarm;
		pen.setLineDash([8, 5]);
		pen.beginPath();
		pen.moveTo(space.left, y(limit));
		pen.lineTo(width - space.right, y(limit));
		pen.stroke();
		pen.setLineDash([]);
		pen.fillText(`${name} ${humanBytes(limit)}`, width - space.right - 4, y(limit) - 2);
	}

	/** @param {number} floor */
	paintMarks(floor) {
		const {pen, course, space} = this;
		pen.globalAlpha = 0.5;
		pen.fillStyle = this.colors.ink;
		for (const point of course.points)
			pen.fillRect(this.x(point.id) - 0.5, floor, 1, 4);
		pen.globalAlpha = 1;
		pen.textAlign = "left";
		pen.textBaseline = "top";
		const letters = /** @type {Record<string, string>} */ ({dump: "▾", restart: "↻", deployment: "⬆", end: "✕"});
		for (const mark of course.marks) {
			const x = this.x(mark.time), color = mark.kind === "end" ? this.colors.alarm : this.colors.ink;
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

	/** What is shown of the chart elsewhere, and where the pointer is. @param {number} width */
	paintRange(width) {
		const {pen, space, floor} = this, {accent} = this.colors;
		const ends = this.anchor >= 0 && this.moved >= 0 && this.does !== "pan" ? [typeof this.does === "string" ? this.anchor : this.x(this.does), this.moved]
			: [this.from, this.to].filter(Boolean).map((time) => this.x(time));
		const [from, to] = [Math.min(...ends), Math.max(...ends)].map((x) => Math.max(space.left, Math.min(width - space.right, x)));
		if (ends.length && to > from) { /* what is outside fades; the colours inside stay what they are */
			pen.globalAlpha = 0.66;
			pen.fillStyle = this.colors.surface;
			pen.fillRect(space.left, space.top, from - space.left, floor - space.top);
			pen.fillRect(to, space.top, width - space.right - to, floor - space.top);
			pen.globalAlpha = 1;
		}
		if (this.other.length) {
			const [first, last] = this.other.map((time) => Math.max(space.left, Math.min(width - space.right, this.x(time))));
			pen.fillStyle = accent;
			pen.fillRect(first, space.top - 6, Math.max(2, last - first), 4);
			pen.textAlign = "left";
			pen.textBaseline = "bottom";
			pen.fillText("A", first, space.top - 5);
		}
		pen.strokeStyle = accent;
		pen.lineWidth = 2;
		for (const x of new Set(ends)) {
			if (x < space.left - 1 || x > width - space.right + 1)
				continue;
			pen.beginPath();
			pen.moveTo(x, space.top - 4);
			pen.lineTo(x, floor);
			pen.stroke();
		}
		if (this.hover >= space.left && this.anchor < 0) {
			pen.globalAlpha = 0.4;
			pen.lineWidth = 1;
			pen.beginPath();
			pen.moveTo(this.hover, space.top);
			pen.lineTo(this.hover, floor);
			pen.stroke();
			pen.globalAlpha = 1;
		}
	}
}
