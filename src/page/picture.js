// @ts-check
/* picture.js - boxes on a canvas: layout, painting, and finding the box under a finger or a key.
 *
 * Layout makes a rectangle for each box that is wide enough to be seen and stops there, so it costs what the screen shows and not
 * what the profile holds. Only the rows that are scrolled into sight are painted. Names reach the canvas as text only.
 * SPDX-License-Identifier: Apache-2.0 */

/** @typedef {{box: Box, x: number, width: number, row: number, dim: boolean}} Rect */

/**
 * What the picture tells and asks the page.
 * @typedef {object} PictureEvents
 * @property {(box: Box) => void} zoom
 * @property {(box: Box | null) => void} point
 * @property {(box: Box, x: number, y: number) => void} menu
 * @property {(box: Box) => string} name
 */

class Picture {
	/**
	 * @param {HTMLElement} scroller
	 * @param {HTMLElement} sheet
	 * @param {HTMLCanvasElement} canvas
	 * @param {Func[]} functions
	 * @param {PictureEvents} events
	 */
	constructor(scroller, sheet, canvas, functions, events) {
		this.scroller = scroller;
		this.sheet = sheet;
		this.canvas = canvas;
		this.functions = functions;
		this.events = events;
		this.pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
		this.rowHeight = 22;
		/** @type {Rect[][]} */
		this.rows = [];
		/** @type {Box | null} */
		this.zoomed = null;
		/** @type {Box | null} */
		this.up = null;
		/** @type {Uint8Array | null} */
		this.found = null;
		this.selected = -1;
		/** @type {Box | null} */
		this.pointed = null;
		/** @type {Rect | null} */
		this.cursor = null;
		this.hues = /** @type {Map<string, number>} */ (new Map());
		this.readColors();
		this.listen();
	}

	readColors() {
		const style = getComputedStyle(document.documentElement);
		/** @param {string} name */
		const color = (name) => style.getPropertyValue(name).trim();
		this.dark = matchMedia("(prefers-color-scheme: dark)").matches;
		this.ink = color("--frame-ink");
		this.surface = color("--surface");
		this.accent = color("--accent");
		this.foundColor = color("--found");
		this.muted = color("--muted");
		this.font = "12px " + (color("--font") || "sans-serif");
	}

	listen() {
		const {canvas} = this;
		/** @param {MouseEvent} event */
		const at = (event) => this.find(event.offsetX, event.offsetY);
		canvas.addEventListener("mousemove", (event) => this.point(at(event)?.box ?? null));
		canvas.addEventListener("mouseleave", () => this.point(null));
		canvas.addEventListener("click", (event) => {
			const rect = at(event);
			if (rect) {
				this.cursor = rect;
				this.events.zoom(rect.box);
			}
		});
		canvas.addEventListener("contextmenu", (event) => {
			const rect = at(event);
			if (!rect || rect.box.func === 0)
				return;
			event.preventDefault();
			this.events.menu(rect.box, event.clientX, event.clientY);
		});
		canvas.addEventListener("keydown", (event) => this.key(event));
		canvas.addEventListener("focus", () => this.paint());
		canvas.addEventListener("blur", () => this.paint());
		this.scroller.addEventListener("scroll", () => this.paint(), {passive: true});
		new ResizeObserver(() => this.resize()).observe(this.scroller);
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
			this.readColors();
			this.paint();
		});
	}

	/**
	 * Shows the box ZOOMED over the whole width, its callers above; or, with UP, all who call it.
	 * @param {Box} zoomed
	 * @param {Box | null} up
	 */
	show(zoomed, up) {
		this.zoomed = zoomed;
		this.up = up;
		this.pointed = null;
		this.cursor = null;
		this.layout();
		const keep = 2, row = this.zoomRow ?? 0;
		this.scroller.scrollTop = up ? Math.max(0, (row - 6) * this.rowHeight) : Math.max(0, (row - keep) * this.rowHeight);
		this.paint();
	}

	resize() {
		const width = this.scroller.clientWidth;
		if (width !== this.width && this.zoomed)
			this.layout();
		this.paint();
	}

	layout() {
		if (!this.zoomed)
			return;
		this.width = this.scroller.clientWidth;
		/** @type {Rect[]} */
		const above = [];
		if (this.up)
			this.spread(this.up, above, 0, -1, this.up);
		else
			for (let box = this.zoomed.above; box; box = box.above)
				above.push({box, x: 0, width: this.width, row: box.depth - this.zoomed.depth, dim: true});
		/** @type {Rect[]} */
		const below = [];
		this.spread(this.zoomed, below, 0, 1, null);
		const top = above.reduce((least, rect) => Math.min(least, rect.row), 0);
		this.zoomRow = -top;
		this.rows = [];
		for (const rect of above.concat(below)) {
			rect.row -= top;
			(this.rows[rect.row] ??= []).push(rect);
		}
		this.sheet.style.height = this.rows.length * this.rowHeight + 1 + "px";
	}

	/**
	 * Rectangles of START and what lies beyond it.
	 * @param {Box} start
	 * @param {Rect[]} rects
	 * @param {number} row
	 * @param {number} step
	 * @param {Box | null} leftOut
	 */
	spread(start, rects, row, step, leftOut) {
		const least = 0.7, scale = (this.width ?? 0) / (start.size || 1);
		/** @type {Rect[]} */
		const open = [{box: start, x: 0, width: this.width ?? 0, row, dim: false}];
		for (let rect = open.pop(); rect; rect = open.pop()) {
			if (rect.box !== leftOut)
				rects.push(rect);
			let x = rect.x;
			for (const box of rect.box.children()) {
				const width = box.size * scale;
				if (width < least)
					break;
				open.push({box, x, width, row: rect.row + step, dim: false});
				x += width;
			}
		}
	}

	/* Painting. */

	paint() {
		if (!this.zoomed)
			return;
		const {pen, canvas, rowHeight} = this, ratio = devicePixelRatio || 1;
		const width = this.scroller.clientWidth, height = this.scroller.clientHeight;
		if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(height * ratio);
			canvas.style.width = width + "px";
			canvas.style.height = height + "px";
		}
		const top = this.scroller.scrollTop;
		pen.setTransform(ratio, 0, 0, ratio, 0, 0);
		pen.clearRect(0, 0, width, height);
		pen.font = this.font ?? "12px sans-serif";
		pen.textBaseline = "middle";
		const first = Math.floor(top / rowHeight), last = Math.ceil((top + height) / rowHeight);
		for (let row = first; row <= last; row++)
			for (const rect of this.rows[row] ?? [])
				this.paintRect(rect, row * rowHeight - top);
		this.paintMarks(top);
	}

	/** @param {Rect} rect @param {number} y */
	paintRect(rect, y) {
		const {pen, rowHeight} = this, gap = rect.width > 3 ? 1 : 0, width = Math.max(rect.width - gap, 0.6), height = rowHeight - 1;
		pen.globalAlpha = rect.dim ? 0.55 : this.found && !this.found[rect.box.func] ? 0.38 : 1;
		pen.fillStyle = this.found?.[rect.box.func] ? this.foundColor ?? "" : this.color(rect.box);
		if (rect.width > 6) {
			pen.beginPath();
			pen.roundRect(rect.x, y, width, height, 2.5);
			pen.fill();
		} else {
			pen.fillRect(rect.x, y, width, height);
		}
		if (rect.box.func === 0 && rect.box.above)
			this.hatch(rect.x, y, width, height, this.muted ?? "");
		else if (facts.base && isGone(rect.box))
			this.hatch(rect.x, y, width, height, this.surface ?? "");
		if (rect.width > 30) {
			pen.globalAlpha = rect.dim ? 0.7 : 1;
			pen.fillStyle = this.found?.[rect.box.func] ? "#2b1d00" : this.ink ?? "";
			pen.fillText(this.fit(this.events.name(rect.box), rect.width - 12), rect.x + 6, y + height / 2 + 0.5);
		}
		pen.globalAlpha = 1;
	}

	/** @param {number} x @param {number} y @param {number} width @param {number} height @param {string} color */
	hatch(x, y, width, height, color) {
		const {pen} = this;
		pen.save();
		pen.beginPath();
		pen.rect(x, y, width, height);
		pen.clip();
		pen.globalAlpha *= 0.5;
		pen.strokeStyle = color;
		pen.lineWidth = 1.5;
		pen.beginPath();
		for (let at = x - height; at < x + width; at += 7) {
			pen.moveTo(at, y + height);
			pen.lineTo(at + height, y);
		}
		pen.stroke();
		pen.restore();
	}

	/** Rings around the selected function, what is pointed at, and the keyboard's place. @param {number} top */
	paintMarks(top) {
		const {pen, rowHeight} = this;
		/** @param {Rect} rect @param {number} width */
		const ring = (rect, width) => {
			pen.lineWidth = width;
			pen.strokeStyle = this.accent ?? "";
			pen.beginPath();
			pen.roundRect(rect.x + width / 2, rect.row * rowHeight - top + width / 2,
				Math.max(rect.width - 1 - width, 1), rowHeight - 1 - width, 2.5);
			pen.stroke();
		};
		const first = Math.floor(top / rowHeight), last = Math.ceil((top + this.scroller.clientHeight) / rowHeight);
		for (let row = first; row <= last; row++)
			for (const rect of this.rows[row] ?? []) {
				const same = rect.box.func > 0 && rect.width > 2;
				if (same && rect.box.func === this.selected)
					ring(rect, 2);
				else if (same && this.pointed && rect.box.func === this.pointed.func)
					ring(rect, 1.25);
			}
		if (this.cursor && document.activeElement === this.canvas)
			ring(this.cursor, 3);
	}

	/** @param {Box} box */
	color(box) {
		if (box.func === 0 && box.above)
			return this.dark ? "hsl(40 4% 30%)" : "hsl(40 8% 86%)";
		if (facts.change)
			return this.changeColor(box);
		if (box.func === 0)
			return this.dark ? "hsl(40 5% 32%)" : "hsl(40 12% 88%)";
		const {hue, shade} = this.tone(box.func);
		return this.dark ? `hsl(${hue} 26% ${32 + shade}%)` : `hsl(${hue} 52% ${81 + shade}%)`;
	}

	/** Red grew, blue shrank; the stronger, the larger the part of it that is new or gone. @param {Box} box */
	changeColor(box) {
		const most = Math.max(Math.abs(box.value + box.base), Math.abs(box.base), 1), strength = Math.min(1, Math.abs(box.value) / most);
		const hue = box.value < 0 ? 213 : 8, {shade} = this.tone(box.func);
		if (strength < 0.02 || box.isNoise())
			return this.dark ? `hsl(40 4% ${29 + shade}%)` : `hsl(40 10% ${88 + shade / 2}%)`;
		return this.dark ? `hsl(${hue} ${20 + 40 * strength}% ${30 + shade / 2 + 8 * strength}%)`
			: `hsl(${hue} ${45 + 40 * strength}% ${91 + shade / 2 - 18 * strength}%)`;
	}

	/** One hue for each namespace or file, a shade for each name. @param {number} func */
	tone(func) {
		const {name, file, module} = this.functions[func];
		const outer = /^[\w~]+(?=::)/.exec(name)?.[0] || file || module || "?";
		let hue = this.hues.get(outer);
		if (hue === undefined)
			this.hues.set(outer, hue = [28, 152, 205, 262, 92, 330, 46, 180][hash(outer) % 8] + (hash(outer) >> 8) % 9 - 4);
		return {hue, shade: (hash(name) % 7) - 3};
	}

	/** NAME cut to WIDTH: its last parts where they say enough, else its beginning. @param {string} name @param {number} width */
	fit(name, width) {
		const {pen} = this, most = Math.floor(width / 4) + 1;
		if (name.length <= most && pen.measureText(name).width <= width)
			return name;
		let tail = name;
		for (let cut = tail.indexOf("::"); cut >= 0 && cut < tail.length - 2; cut = tail.indexOf("::")) {
			tail = tail.slice(cut + 2);
			if (tail.length <= most && pen.measureText("…" + tail).width <= width)
				return "…" + tail;
		}
		let low = 0, high = Math.min(name.length, most);
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (pen.measureText(name.slice(0, middle) + "…").width <= width)
				low = middle;
			else
				high = middle - 1;
		}
		return low > 1 ? name.slice(0, low) + "…" : "";
	}

	/* Finding. */

	/** @param {number} x @param {number} y */
	find(x, y) {
		const row = this.rows[Math.floor((y + this.scroller.scrollTop) / this.rowHeight)] ?? [];
		return row.find((rect) => x >= rect.x && x < rect.x + rect.width) ?? null;
	}

	/** @param {Box | null} box */
	point(box) {
		if (box === this.pointed)
			return;
		this.pointed = box;
		this.canvas.style.cursor = box ? "pointer" : "default";
		this.events.point(box);
		this.paint();
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		const here = this.cursor ?? this.rows[this.zoomRow ?? 0]?.[0];
		const step = {ArrowUp: -1, ArrowDown: 1}[event.key];
		if (event.key === "Enter" && here) {
			this.events.zoom(here.box);
		} else if ((event.key === "ContextMenu" || event.key === "m") && here && here.box.func) {
			const place = this.canvas.getBoundingClientRect();
			this.events.menu(here.box, place.left + here.x + 20, place.top + (here.row + 1) * this.rowHeight - this.scroller.scrollTop);
		} else if (step && here) {
			const middle = here.x + Math.min(here.width, 2) / 2, next = this.rows[here.row + step] ?? [];
			this.moveTo(next.find((rect) => middle >= rect.x && middle < rect.x + rect.width) ?? next.find((rect) => rect.box.above === here.box));
		} else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && here) {
			const row = [...this.rows[here.row]].sort((a, b) => a.x - b.x), at = row.indexOf(here);
			this.moveTo(row[at + (event.key === "ArrowLeft" ? -1 : 1)]);
		} else {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	}

	/** @param {Rect | undefined} rect */
	moveTo(rect) {
		if (!rect)
			return;
		const {scroller, rowHeight} = this, y = rect.row * rowHeight;
		this.cursor = rect;
		if (y < scroller.scrollTop)
			scroller.scrollTop = y;
		else if (y + rowHeight > scroller.scrollTop + scroller.clientHeight)
			scroller.scrollTop = y + rowHeight - scroller.clientHeight;
		this.events.point(rect.box);
		this.paint();
	}
}

/** Whether nothing is left of what was there. @param {Box} box */
function isGone(box) {
	return box.base > 0 && present(box.value, box.base) === 0;
}

/** @param {string} text */
function hash(text) {
	let value = 2166136261;
	for (let i = 0; i < text.length; i++)
		value = Math.imul(value ^ text.charCodeAt(i), 16777619);
	return value >>> 0;
}
