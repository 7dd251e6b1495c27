// @ts-check
/* picture.mjs - boxes on a canvas: layout, painting, and finding the box at the pointer or for a key.
 *
 * Layout makes a rectangle only for boxes that are wide enough to be seen, so its cost depends on the size of the screen, not of the
 * profile. Only the rows in view are painted. Names reach the canvas as text only.
 * SPDX-License-Identifier: Apache-2.0 */
import {isGone} from "./color.mjs";
import {make} from "./dom.mjs";
import {takeWheel, Viewport} from "./viewport.mjs";
/** @import {Palette} from "./color.mjs" */
/** @import {Box} from "./tree.mjs" */

/** One rectangle; STEM is the number of frames that it stands for, if that is more than one.
 * @typedef {{box: Box, x: number, width: number, row: number, dim: boolean, stem?: number}} Rect */

/**
 * The callbacks of the picture to the page.
 * @typedef {object} PictureEvents
 * @property {(box: Box) => void} zoom
 * @property {(box: Box | null, x: number, y: number) => void} point the box under the pointer, and its position
 * @property {(box: Box) => void} visit the box that the keyboard has reached
 * @property {(box: Box, x: number, y: number) => void} menu
 * @property {(box: Box) => string} name
 * @property {() => void} viewed another part of the width is in view
 */

export class Picture {
	/**
	 * @param {HTMLElement} scroller
	 * @param {HTMLElement} sheet
	 * @param {HTMLCanvasElement} canvas
	 * @param {Palette} palette
	 * @param {PictureEvents} events
	 */
	constructor(scroller, sheet, canvas, palette, events) {
		this.scroller = scroller;
		this.sheet = sheet;
		this.canvas = canvas;
		this.palette = palette;
		this.events = events;
		this.pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
		/** Frames that nearly everything goes through are one box, unless they were opened. */
		this.stemOpen = false;
		this.rowHeight = matchMedia("(pointer: coarse)").matches ? 24 : 18; /* a finger needs more room */
		this.width = 0;
		/** The part of the width of the zoomed box that is in view. */
		this.view = new Viewport(1e-7);
		/** Where the pointer pressed, and whether it has moved on from there since. */
		this.pressed = {x: 0, y: 0, moved: false};
		this.zoomRow = 0;
		/** @type {Rect[][]} */
		this.rows = [];
		/** @type {Box | null} */
		this.zoomed = null;
		/** @type {Box | null} */
		this.up = null;
		/** @type {Uint8Array | null} */
		this.found = null;
		this.selected = -1;
		/** The next picture replaces the current one without scrolling. */
		this.keepPlace = false;
		/** @type {Box | null} */
		this.pointed = null;
		/** @type {Rect | null} */
		this.cursor = null;
		this.ink = this.surface = this.accent = this.foundColor = this.muted = this.font = "";
		this.readColors();
		this.listen();
	}

	/** Reads the colours of the style, which depend on the theme. */
	readColors() {
		const probe = make("span");
		document.body.append(probe);
		/** @param {string} name */
		const color = (name) => {
			probe.style.color = `var(${name})`;
			return getComputedStyle(probe).color;
		};
		this.ink = color("--frame-ink");
		this.surface = color("--surface");
		this.accent = color("--accent");
		this.foundColor = color("--found");
		this.muted = color("--muted");
		this.font = "12px " + getComputedStyle(document.documentElement).fontFamily;
		probe.remove();
	}

	listen() {
		const {canvas} = this;
		/** @param {MouseEvent} event */
		const at = (event) => this.find(event.offsetX, event.offsetY);
		canvas.addEventListener("pointerdown", (event) => {
			this.pressed = {x: event.clientX, y: event.clientY, moved: false};
		});
		canvas.addEventListener("pointermove", (event) => {
			if (event.pointerType === "touch") /* which scrolls */
				return;
			if (event.buttons & 1)
				this.drag(event);
			else
				this.point(at(event)?.box ?? null, event.clientX, event.clientY);
		});
		canvas.addEventListener("pointerleave", () => this.point(null, 0, 0));
		canvas.addEventListener("click", (event) => {
			const rect = this.pressed.moved ? null : at(event);
			this.pressed.moved = false;
			if (rect)
				this.enter(rect);
		});
		takeWheel(canvas, (event) => {
			/* Upwards leads back to the first row before it zooms; with Ctrl it always zooms. */
			const above = this.sheet.getBoundingClientRect().top < Math.max(0, this.scroller.getBoundingClientRect().top) - 1;
			if (above && this.view.isWhole && event.deltaY < 0 && !event.ctrlKey)
				return false;
			return this.view.wheel(event, this.place(event.offsetX), this.width) && this.viewed();
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
		this.scroller.addEventListener("scroll", () => {
			this.point(null, 0, 0);
			this.paint();
		}, {passive: true});
		new ResizeObserver(() => this.resize()).observe(this.scroller);
	}

	/** The place at X in the width of the zoomed box, from 0 to 1. @param {number} x */
	place(x) {
		return this.view.from + (x / this.width) * this.view.length;
	}

	/** Moves what is in view with the pointer. @param {PointerEvent} event */
	drag(event) {
		const {pressed} = this, x = event.clientX - pressed.x, y = event.clientY - pressed.y;
		if (!pressed.moved && Math.hypot(x, y) < 5)
			return;
		this.canvas.setPointerCapture(event.pointerId);
		this.pressed = {x: event.clientX, y: event.clientY, moved: true};
		this.scroller.scrollTop -= y;
		if (this.view.move((-x / this.width) * this.view.length))
			this.viewed();
	}

	/** Another part is in view. */
	viewed() {
		this.point(null, 0, 0);
		this.cursor = null;
		this.layout();
		this.paint();
		this.events.viewed();
		return true;
	}

	/** Shows the whole width again. */
	showWhole() {
		return this.view.reset() && this.viewed();
	}

	/** Zooms, or opens the common stem; the box that everything is in closes it again. @param {Rect} rect */
	enter(rect) {
		this.cursor = rect;
		if (!rect.stem && (!this.stemOpen || rect.box.above)) {
			this.events.zoom(rect.box);
			return;
		}
		this.stemOpen = !!rect.stem;
		this.cursor = null;
		if (!rect.stem)
			this.events.zoom(rect.box);
		this.layout();
		this.paint();
	}

	/** What is written into a rectangle. @param {Rect} rect */
	label(rect) {
		return rect.stem ? `${rect.stem} frames that everything goes through, from ${this.events.name(rect.box)} on` : this.events.name(rect.box);
	}

	/** The frames below the box of everything that nearly all of it goes through, but for the last one, where it branches; none if they are
	 * few, if they were opened, or if one of them is zoomed into. @returns {Box[]} */
	findStem() {
		const few = 8, nearly = 0.99;
		let root = /** @type {Box} */ (this.zoomed);
		while (root.above)
			root = root.above;
		/** @type {Box[]} */
		const stem = [];
		for (let box = /** @type {Box | undefined} */ (root); box; ) {
			box = box.children().find((child) => child.size >= nearly * root.size);
			if (box)
				stem.push(box);
		}
		stem.pop();
		return this.stemOpen || this.up || stem.length < few || stem.includes(/** @type {Box} */ (this.zoomed)) ? [] : stem;
	}

	/**
	 * Shows the box ZOOMED over the whole width, with its path above or, with UP, the tree of its callers.
	 * @param {Box} zoomed
	 * @param {Box | null} up
	 */
	show(zoomed, up) {
		this.zoomed = zoomed;
		this.up = up;
		this.pointed = null;
		this.cursor = null;
		if (!this.keepPlace)
			this.view.reset();
		this.layout();
		if (this.keepPlace) {
			this.paint();
			return;
		}
		const keep = 2, row = this.zoomRow;
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
		const above = [], stem = this.findStem(), [first] = stem, folded = new Set(stem);
		let row = 0;
		if (this.up)
			this.spread(this.up, above, 0, -1, this.up, folded);
		else
			for (let box = this.zoomed.above; box; box = box.above)
				if (box === first || !folded.has(box))
					above.push({box, x: 0, width: this.width, row: --row, dim: true, ...(box === first && {stem: stem.length})});
		/** @type {Rect[]} */
		const below = [];
		this.spread(this.zoomed, below, 0, 1, null, folded);
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
	 * Makes the rectangles of START and all boxes beyond it.
	 * @param {Box} start
	 * @param {Rect[]} rects
	 * @param {number} row
	 * @param {number} step
	 * @param {Box | null} leftOut
	 * @param {Set<Box>} folded the first of these stands for all
	 */
	spread(start, rects, row, step, leftOut, folded) {
		const least = 0.7, {view} = this, whole = this.width / view.length, scale = whole / (start.size || 1);
		/** @type {Rect[]} */
		const open = [{box: start, x: -view.from * whole, width: whole, row, dim: false}];
		for (let rect = open.pop(); rect; rect = open.pop()) {
			const hidden = folded.has(rect.box) && folded.has(/** @type {Box} */ (rect.box.above));
			if (folded.has(rect.box) && !hidden)
				rect.stem = folded.size;
			const left = Math.max(0, rect.x), right = Math.min(this.width, rect.x + rect.width);
			if (rect.box !== leftOut && !hidden)
				rects.push({...rect, x: left, width: right - left});
			let x = rect.x;
			for (const box of rect.box.children()) {
				const width = box.size * scale;
				if (width < least && !start.tree.order)
					break;
				if (width >= least && x < this.width && x + width > 0)
					open.push({box, x, width, row: rect.row + (folded.has(box) && folded.has(rect.box) ? 0 : step), dim: false});
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
		pen.font = this.font;
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
		pen.fillStyle = this.found?.[rect.box.func] ? this.foundColor : this.palette.color(rect.box);
		if (rect.width > 6) {
			pen.beginPath();
			pen.roundRect(rect.x, y, width, height, 2.5);
			pen.fill();
		} else {
			pen.fillRect(rect.x, y, width, height);
		}
		if (rect.box.func === 0 && rect.box.above)
			this.hatch(rect.x, y, width, height, this.muted);
		else if (isGone(rect.box))
			this.hatch(rect.x, y, width, height, this.surface);
		if (rect.width > 30) {
			pen.globalAlpha = rect.dim ? 0.7 : 1;
			pen.fillStyle = this.found?.[rect.box.func] ? "#2b1d00" : this.palette.inkOf(rect.box) || this.ink;
			pen.fillText(this.fit(this.label(rect), rect.width - 12), rect.x + 6, y + height / 2 + 0.5);
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

	/** Draws rings around the selected function, the box under the pointer, and the box that the keyboard has reached. @param {number} top */
	paintMarks(top) {
		const {pen, rowHeight} = this;
		/** @param {Rect} rect @param {number} width */
		const ring = (rect, width) => {
			pen.lineWidth = width;
			pen.strokeStyle = this.accent;
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
		if (this.cursor && (document.activeElement === this.canvas || this.found))
			ring(this.cursor, 3);
	}

	/** NAME cut to WIDTH: its last parts if they say enough, otherwise its beginning. @param {string} name @param {number} width */
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

	/** @param {Box | null} box @param {number} x @param {number} y */
	point(box, x, y) {
		this.events.point(box, x, y);
		if (box === this.pointed)
			return;
		this.pointed = box;
		this.canvas.style.cursor = box ? "pointer" : "default";
		this.paint();
	}

	/** All rectangles that are wide enough to be seen. */
	rects() {
		return this.rows.flatMap((row) => row ?? []);
	}

	/** The rectangle of a box, if it is drawn. @param {Box} box */
	rectOf(box) {
		return this.rects().find((rect) => rect.box === box);
	}

	/** The widest rectangle of a function, if one is drawn. @param {number} func */
	widest(func) {
		return this.rects().filter((rect) => rect.box.func === func).sort((a, b) => b.width - a.width)[0];
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		const here = this.cursor ?? this.rows[this.zoomRow]?.[0];
		const step = {ArrowUp: -1, ArrowDown: 1}[event.key];
		if (this.view.key(event.key)) {
			this.viewed();
		} else if (event.key === "Enter" && here) {
			this.enter(here);
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
		this.cursor = rect;
		this.reveal(rect);
		this.events.visit(rect.box);
		this.paint();
	}

	/** Scrolls to a rectangle. @param {Rect} rect */
	reveal(rect) {
		const {scroller, rowHeight} = this, y = rect.row * rowHeight;
		if (y < scroller.scrollTop)
			scroller.scrollTop = y;
		else if (y + rowHeight > scroller.scrollTop + scroller.clientHeight)
			scroller.scrollTop = y + rowHeight - scroller.clientHeight;
	}
}
