// @ts-check
/* graph.js - what a call graph does in a browser: it fills the window, and can be moved, zoomed and walked through with the keyboard.
 *
 * The drawing is Graphviz's and complete without this. Only the place of the whole is changed, never what it says.
 * SPDX-License-Identifier: Apache-2.0 */
(function () {
	"use strict";

	const SVG = "http://www.w3.org/2000/svg";
	const script = /** @type {SVGScriptElement} */ (/** @type {unknown} */ (document.currentScript));
	const svg = /** @type {SVGSVGElement} */ (script.ownerSVGElement), graph = /** @type {SVGGElement} */ (svg.querySelector(".graph"));
	if (svg.parentNode !== document || !graph)
		return;
	const own = graph.getAttribute("transform") ?? "", sheet = svg.viewBox.baseVal, size = {width: sheet.width, height: sheet.height};
	const place = {x: 0, y: 0, scale: 1};
	/** Fingers and mouse, where they are down. @type {Map<number, {x: number, y: number}>} */
	const held = new Map();

	svg.removeAttribute("viewBox");
	svg.setAttribute("width", "100%");
	svg.setAttribute("height", "100%");
	svg.setAttribute("tabindex", "0");
	svg.setAttribute("aria-label", "Call graph. Drag or arrow keys move it, the wheel or plus and minus zoom, 0 shows all of it.");

	function draw() {
		graph.setAttribute("transform", `translate(${place.x.toFixed(2)} ${place.y.toFixed(2)}) scale(${place.scale.toFixed(5)}) ${own}`);
	}

	/** All of it, in the middle; a small one no larger than it was drawn. */
	function fit() {
		const window_ = svg.getBoundingClientRect();
		place.scale = Math.min(window_.width / size.width, window_.height / size.height, 1.4);
		place.x = (window_.width - size.width * place.scale) / 2;
		place.y = (window_.height - size.height * place.scale) / 2;
		draw();
	}

	/** As wide as the window, or as drawn, from the top: names can be read. */
	function start() {
		const window_ = svg.getBoundingClientRect();
		fit();
		if (place.scale >= 0.6)
			return;
		place.scale = Math.min(1, Math.max(0.6, window_.width / size.width));
		place.x = (window_.width - size.width * place.scale) / 2;
		place.y = 0;
		draw();
	}

	/** @param {number} factor @param {number} x @param {number} y what stays where it is */
	function zoom(factor, x, y) {
		const scale = Math.max(0.02, Math.min(20, place.scale * factor)), by = scale / place.scale;
		place.x = x - (x - place.x) * by;
		place.y = y - (y - place.y) * by;
		place.scale = scale;
		draw();
	}

	/** @param {number} factor */
	function zoomMiddle(factor) {
		const {width, height} = svg.getBoundingClientRect();
		zoom(factor, width / 2, height / 2);
	}

	/** @param {number} x @param {number} y */
	function move(x, y) {
		place.x += x;
		place.y += y;
		draw();
	}

	svg.addEventListener("wheel", (event) => {
		event.preventDefault();
		if (event.shiftKey)
			move(-event.deltaY - event.deltaX, 0);
		else
			zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX, event.clientY);
	}, {passive: false});
	svg.addEventListener("pointerdown", (event) => {
		if (event.button !== 0 || /** @type {Element} */ (event.target).closest(".control"))
			return;
		held.set(event.pointerId, {x: event.clientX, y: event.clientY});
		svg.setPointerCapture(event.pointerId);
	});
	svg.addEventListener("pointermove", (event) => {
		const before = held.get(event.pointerId), other = [...held].find(([id]) => id !== event.pointerId)?.[1];
		if (!before)
			return;
		const now = {x: event.clientX, y: event.clientY};
		held.set(event.pointerId, now);
		if (other) {
			const distance = (/** @type {{x: number, y: number}} */ at) => Math.max(1, Math.hypot(at.x - other.x, at.y - other.y));
			zoom(distance(now) / distance(before), other.x, other.y);
		} else {
			move(now.x - before.x, now.y - before.y);
		}
	});
	for (const end of /** @type {const} */ (["pointerup", "pointercancel"]))
		svg.addEventListener(end, (event) => held.delete(event.pointerId));
	svg.addEventListener("dblclick", (event) => zoom(event.shiftKey ? 0.5 : 2, event.clientX, event.clientY));
	svg.addEventListener("keydown", (event) => {
		/** @type {Record<string, () => void>} */
		const keys = {
			ArrowLeft: () => move(60, 0), ArrowRight: () => move(-60, 0), ArrowUp: () => move(0, 60), ArrowDown: () => move(0, -60),
			"+": () => zoomMiddle(1.25), "=": () => zoomMiddle(1.25), "-": () => zoomMiddle(0.8), "0": fit, Home: start,
		};
		const act = keys[event.key];
		if (!act || event.ctrlKey || event.metaKey || event.altKey)
			return;
		act();
		event.preventDefault();
	});

	/* Three buttons in the corner, for those who have neither wheel nor keyboard. */
	const controls = document.createElementNS(SVG, "g");
	for (const [i, [label, name, act]] of /** @type {[string, string, () => void][]} */ ([
		["+", "Zoom in", () => zoomMiddle(1.4)], ["−", "Zoom out", () => zoomMiddle(1 / 1.4)], ["Fit", "Show all of it", fit],
	]).entries()) {
		const button = document.createElementNS(SVG, "g"), box = document.createElementNS(SVG, "rect"), text = document.createElementNS(SVG,
			"text");
		for (const [attribute, value] of Object.entries({x: 12 + 42 * i, y: 12, width: 36, height: 30, rx: 8}))
			box.setAttribute(attribute, String(value));
		text.setAttribute("x", String(30 + 42 * i));
		text.setAttribute("y", "32");
		text.textContent = label;
		button.setAttribute("class", "control");
		button.setAttribute("tabindex", "0");
		button.setAttribute("role", "button");
		button.setAttribute("aria-label", name);
		button.append(box, text);
		button.addEventListener("click", act);
		button.addEventListener("dblclick", (event) => event.stopPropagation());
		button.addEventListener("keydown", (event) => {
			if (event.key === "Enter" || event.key === " ") {
				act();
				event.preventDefault();
			}
		});
		controls.append(button);
	}
	svg.append(controls);
	start();
	window.addEventListener("resize", start);
})();
