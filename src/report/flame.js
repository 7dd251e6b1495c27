// @ts-check
/* flame.js - what a flame graph does in a browser: the width of the window, zoom, search, keyboard, and the address that remembers both.
 *
 * The drawing is complete without it. Each frame is a <g> with a <title>, a <rect> that carries its start and weight
 * (fg:x, fg:w), and a <text> where there was room for one. Names are only ever written through textContent.
 * SPDX-License-Identifier: Apache-2.0 */
(function () {
	"use strict";

	const FG = "http://github.com/jonhoo/inferno";
	const SVG = "http://www.w3.org/2000/svg";
	const HTML = "http://www.w3.org/1999/xhtml";

	/**
	 * @typedef {object} Frame
	 * @property {SVGGElement} group
	 * @property {SVGRectElement} rect
	 * @property {SVGTextElement | null} text
	 * @property {string} name
	 * @property {string} title
	 * @property {number} start
	 * @property {number} weight
	 * @property {number} depth
	 */

	const script = /** @type {SVGScriptElement} */ (/** @type {unknown} */ (document.currentScript));
	const svg = /** @type {SVGSVGElement} */ (script.ownerSVGElement);

	/** @param {string} id */
	const part = (id) => /** @type {SVGElement} */ (svg.querySelector("#" + id));
	const canvas = part("frames"), details = part("details"), matched = part("matched");
	const searchButton = part("search"), resetButton = part("unzoom");

	/** @param {Element} element @param {string} name */
	const number = (element, name) => Number(element.getAttributeNS(FG, name));
	const left = number(canvas, "left"), row = number(canvas, "row"), height = Number(svg.getAttribute("height"));
	/* A picture that nobody gave a width is as wide as the window. */
	const fluid = number(canvas, "fluid") === 1 && svg.parentNode === document;
	let width = number(canvas, "width");
	const letter = number(canvas, "letter"), upward = number(canvas, "inverted") === 0;
	const kind = canvas.getAttributeNS(FG, "kind") || "";

	/** @type {Frame[]} */
	const frames = [];
	/** @type {Map<string, Frame>} */
	const byPlace = new Map();
	/** @type {Map<Element | null, Frame>} */
	const byGroup = new Map();
	/** Frames of each depth, from left to right. @type {Frame[][]} */
	const levels = [];

	/* The root is the first frame that is drawn. */
	const ground = Number(canvas.querySelector("rect")?.getAttribute("y"));
	for (const group of canvas.children) {
		const rect = group.querySelector("rect"), title = group.querySelector("title")?.textContent ?? "";
		if (!rect)
			continue;
		const y = Number(rect.getAttribute("y"));
		const frame = {
			group: /** @type {SVGGElement} */ (group), rect, text: group.querySelector("text"), title,
			name: /^([^]*) \([^()]*%[^()]*\)/.exec(title)?.[1] ?? title,
			start: number(rect, "x"), weight: number(rect, "w"),
			depth: Math.round(Math.abs(ground - y) / row),
		};
		frames.push(frame);
		byGroup.set(group, frame);
		byPlace.set(frame.start + "." + frame.depth, frame);
		(levels[frame.depth] ??= []).push(frame);
	}
	levels.forEach((level) => level.sort((a, b) => a.start - b.start));
	const whole = levels[0][0];

	let zoomed = whole;
	let term = "";
	/** @type {Frame | null} */
	let focused = null;

	/** What fits in COUNT letters: the name, its last parts, or its beginning. @param {string} name @param {number} count */
	function shorten(name, count) {
		const letters = [...name];
		if (letters.length <= count)
			return name;
		if (count < 6)
			return "";
		let nesting = 0, own = 0;
		for (let i = 0; i < letters.length; i++) {
			if ("<([{".includes(letters[i]))
				nesting++;
			else if (">)]}".includes(letters[i]))
				nesting--;
			else if (nesting === 0 && letters[i] === ":" && letters[i + 1] === ":") {
				own = i + 2;
				if (letters.length - own + 2 <= count)
					return ".." + letters.slice(own).join("");
			}
		}
		return letters.slice(own, own + count - 2).join("") + "..";
	}

	/** @param {Frame} frame @param {number} x @param {number} wide */
	function place(frame, x, wide) {
		frame.rect.setAttribute("x", x.toFixed(1));
		frame.rect.setAttribute("width", wide.toFixed(1));
		const label = shorten(frame.name.replace(/_\[[kwij]\]$/, ""), Math.floor((wide - 6) / letter));
		if (label && !frame.text) {
			frame.text = document.createElementNS(SVG, "text");
			frame.text.setAttribute("y", String(Number(frame.rect.getAttribute("y")) + row - 5));
			frame.group.append(frame.text);
		}
		if (frame.text) {
			frame.text.setAttribute("x", (x + 3).toFixed(1));
			frame.text.textContent = label;
		}
	}

	function drawZoom() {
		const from = zoomed.start, to = zoomed.start + zoomed.weight, scale = width / (zoomed.weight || 1);
		for (const frame of frames) {
			const caller = frame.depth < zoomed.depth && frame.start <= from && frame.start + frame.weight >= to;
			const shown = caller || (frame.depth >= zoomed.depth && frame.start >= from && frame.start + frame.weight <= to);
			frame.group.classList.toggle("hide", !shown);
			frame.group.classList.toggle("parent", caller);
			if (caller)
				place(frame, left, width);
			else if (shown)
				place(frame, left + (frame.start - from) * scale, frame.weight * scale);
		}
		resetButton.classList.toggle("hide", zoomed === whole);
	}

	/** Gives the picture the width of the window. */
	function fit() {
		const room = Math.max(300, Math.round(svg.getBoundingClientRect().width)) - 2 * left;
		if (!fluid || room === width)
			return;
		width = room;
		svg.setAttribute("viewBox", `0 0 ${width + 2 * left} ${height}`);
		for (const [id, x] of /** @type {const} */ ([["title", left + width / 2], ["subtitle", left + width / 2], ["search", left + width],
			["matched", left + width]]))
			svg.querySelector("#" + id)?.setAttribute("x", String(x));
		for (const id of ["title", "subtitle"]) {
			const text = /** @type {SVGTextElement | null} */ (svg.querySelector("#" + id));
			text?.style.removeProperty("font-size");
			const most = width - (id === "title" ? 2 * 90 : 0), length = text?.getComputedTextLength() ?? 0;
			if (text && length > most)
				text.style.fontSize = (parseFloat(getComputedStyle(text).fontSize) * most) / length + "px";
		}
		drawZoom();
	}

	/** Lower-case terms find both cases; what is no regular expression is looked for as it is. @returns {(name: string) => boolean} */
	function matcher() {
		try {
			const pattern = new RegExp(term, term === term.toLowerCase() ? "i" : "");
			return (name) => pattern.test(name);
		} catch {
			return (name) => name.includes(term);
		}
	}

	function drawSearch() {
		const matches = term ? matcher() : () => false;
		const from = zoomed.start, to = zoomed.start + zoomed.weight;
		/** @type {Frame[]} */
		const found = [];
		for (const frame of frames) {
			const hit = frame !== whole && matches(frame.name);
			frame.group.classList.toggle("match", hit);
			if (hit)
				found.push(frame);
		}
		found.sort((a, b) => a.start - b.start || b.weight - a.weight);
		let sum = 0, end = from;
		for (const frame of found) {
			const first = Math.max(frame.start, end), last = Math.min(frame.start + frame.weight, to);
			if (last > first) {
				sum += last - first;
				end = last;
			}
		}
		searchButton.classList.toggle("show", term !== "");
		searchButton.textContent = term ? "Reset search" : "Search";
		matched.textContent = term ? "Matched: " + (100 * sum / (zoomed.weight || 1)).toFixed(1) + "% in " + found.length + " frames" : "";
	}

	/** Draws zoom and search; the focus leaves a frame that is not shown any more. */
	function draw() {
		drawZoom();
		drawSearch();
		if (focused?.group.classList.contains("hide"))
			focus(zoomed);
	}

	/** @param {Frame | null} frame */
	function show(frame) {
		details.textContent = frame ? (kind && kind + " ") + frame.title.split("\n").join(" \u00b7 ") : "";
	}

	/* The address: #zoom=START.DEPTH&search=TERM. */

	function address() {
		const state = new URLSearchParams();
		if (zoomed !== whole)
			state.set("zoom", zoomed.start + "." + zoomed.depth);
		if (term)
			state.set("search", term);
		return "#" + state;
	}

	/** Shows what the address says, which is drawn already if the picture itself has just changed the address. */
	function readAddress() {
		const state = new URLSearchParams(location.hash.slice(1));
		const frame = byPlace.get(state.get("zoom") ?? "") ?? whole, text = state.get("search") ?? "";
		if (frame === zoomed && text === term)
			return;
		zoomed = frame;
		term = text;
		draw();
	}

	/** @param {Frame} frame */
	function zoom(frame) {
		if (frame === zoomed)
			return;
		zoomed = frame;
		draw();
		location.hash = address();
	}

	/** @param {string} text @param {boolean} remember */
	function search(text, remember) {
		term = text;
		if (remember)
			location.hash = address();
		else
			history.replaceState(null, "", address());
		drawSearch();
	}

	/** @type {SVGForeignObjectElement | null} */
	let box = null;

	/** Removing it takes the focus from it, which closes it: then it is closed already. */
	function closeBox() {
		const open = box;
		box = null;
		open?.remove();
	}

	function openBox() {
		if (box)
			return;
		const input = /** @type {HTMLInputElement} */ (document.createElementNS(HTML, "input"));
		box = document.createElementNS(SVG, "foreignObject");
		for (const [name, value] of [["x", left + width - 300], ["y", 6], ["width", 300], ["height", 28]])
			box.setAttribute(String(name), String(value));
		input.setAttribute("id", "term");
		input.setAttribute("placeholder", "function name or regular expression");
		input.setAttribute("aria-label", "Search");
		input.style.cssText = "width:290px;font:inherit;color-scheme:light dark";
		input.value = term;
		input.addEventListener("input", () => search(input.value, false));
		input.addEventListener("keydown", (event) => {
			event.stopPropagation();
			if (event.key === "Escape")
				search("", false);
			if (event.key === "Enter" || event.key === "Escape")
				closeBox();
		});
		input.addEventListener("blur", closeBox);
		box.append(input);
		svg.append(box);
		input.focus();
	}

	/** @param {Frame} frame */
	function focus(frame) {
		focused?.group.removeAttribute("tabindex");
		focused = frame;
		frame.group.setAttribute("tabindex", "0");
		frame.group.setAttribute("role", "button");
		frame.group.setAttribute("aria-label", frame.title);
		frame.group.focus({preventScroll: false});
		show(frame);
	}

	/** @param {Frame} frame */
	const visible = (frame) => !frame.group.classList.contains("hide");

	/** The frame next to FRAME in that direction, or undefined. @param {Frame} frame @param {string} key */
	function neighbour(frame, key) {
		const level = (levels[frame.depth] ?? []).filter(visible), at = level.indexOf(frame);
		if (key === "ArrowLeft" || key === "ArrowRight")
			return level[at + (key === "ArrowLeft" ? -1 : 1)];
		if ((key === "ArrowUp") === upward)
			return (levels[frame.depth + 1] ?? [])
				.filter((other) => visible(other) && other.start >= frame.start && other.start + other.weight <= frame.start + frame.weight)
				.sort((a, b) => b.weight - a.weight)[0];
		return (levels[frame.depth - 1] ?? []).find((other) => other.start <= frame.start && other.start + other.weight >= frame.start
			+ frame.weight);
	}

	/** The frame that the search found after the focused one, or with STEP -1 before it. @param {number} step */
	function nextMatch(step) {
		const found = frames.filter((frame) => visible(frame) && frame.group.classList.contains("match")), at = focused
			? found.indexOf(focused) : -1;
		return found[at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length];
	}

	/** @param {Event} event */
	const frameAt = (event) => byGroup.get(/** @type {Element} */ (event.target).closest("#frames > *")) ?? null;

	canvas.addEventListener("click", (event) => {
		const frame = frameAt(event);
		if (frame)
			zoom(frame);
	});
	canvas.addEventListener("mouseover", (event) => show(frameAt(event)));
	canvas.addEventListener("mouseout", () => show(focused));

	const toggleSearch = () => (term ? search("", true) : openBox());
	for (const [button, act] of /** @type {[SVGElement, () => void][]} */ ([[searchButton, toggleSearch], [resetButton, () => zoom(whole)]])) {
		button.setAttribute("tabindex", "0");
		button.setAttribute("role", "button");
		button.addEventListener("click", act);
		button.addEventListener("keydown", (event) => {
			if (event.key === "Enter" || event.key === " ") {
				event.stopPropagation();
				act();
			}
		});
	}

	svg.addEventListener("keydown", (event) => {
		const find = event.key === "/" || event.key === "F3" || (event.key === "f" && (event.ctrlKey || event.metaKey));
		if (find)
			openBox();
		else if (event.key === "Escape")
			term ? search("", true) : zoom(whole);
		else if ((event.key === "n" || event.key === "N") && term && !event.ctrlKey && nextMatch(1))
			focus(nextMatch(event.key === "n" ? 1 : -1));
		else if (event.key === "Enter" && focused)
			zoom(focused);
		else if (event.key.startsWith("Arrow") && (!focused || neighbour(focused, event.key)))
			focus(focused ? /** @type {Frame} */ (neighbour(focused, event.key)) : zoomed);
		else
			return;
		event.preventDefault();
	});
	window.addEventListener("hashchange", readAddress);
	if (fluid) {
		svg.setAttribute("width", "100%");
		fit();
		window.addEventListener("resize", fit);
	}
	whole.group.setAttribute("tabindex", "0");
	whole.group.addEventListener("focus", () => focused ?? focus(whole), {once: true});
	if (location.hash.length > 1)
		readAddress();
})();
