// @ts-check
/* color.mjs - the colour of a box: by module, by function or by change, in the light and the dark theme.
 *
 * A colour belongs to a name, not to a place in the profile, so that two profiles of one program look alike. Boxes are light in the light
 * theme and dark in the dark one, and keep a contrast of 4.5 to 1 with their text (WCAG AA).
 * SPDX-License-Identifier: Apache-2.0 */
import {present} from "./units.mjs";
/** @import {Layer} from "./course.mjs" */
/** @import {Func} from "./data.mjs" */
/** @import {Rect} from "./picture.mjs" */
/** @import {Box} from "./tree.mjs" */

/** @typedef {"path" | "module" | "function" | "change"} ColorMode */

/** @param {string} text */
function hashText(text) {
	let value = 2166136261;
	for (let i = 0; i < text.length; i++)
		value = Math.imul(value ^ text.charCodeAt(i), 16777619);
	return value >>> 0;
}

/**
 * As #rrggbb, which every image viewer knows.
 * @param {number} hue degrees @param {number} saturation percent @param {number} lightness percent
 */
export function hsl(hue, saturation, lightness) {
	const light = lightness / 100, reach = (saturation / 100) * Math.min(light, 1 - light);
	/** @param {number} at */
	const part = (at) => {
		const place = (at + hue / 30) % 12;
		return Math.round(255 * (light - reach * Math.max(-1, Math.min(place - 3, 9 - place, 1)))).toString(16).padStart(2, "0");
	};
	return "#" + part(0) + part(8) + part(4);
}

/** The module of a function: its namespace, crate or package, or else its library or program, or else its file. @param {Func} func */
function moduleOf({name, file, module}) {
	const scope = /^[<&*(]*(?:dyn |impl )?([A-Za-z_]\w*)::/.exec(name)?.[1] ?? /^((?:[\w.-]+\/)+[\w-]+|[a-z]\w*)\.[\w(*]/.exec(name)?.[1];
	const from = scope ?? (module || file);
	return scope ?? (from.slice(from.lastIndexOf("/") + 1) || "other");
}

/** Colours of call paths, which can be told apart on white and on black, with dark letters on them (series/hue.h). */
const pathHues = ["#d1604a", "#e0a33e", "#3f9c8c", "#5b8ec9", "#8d78c2", "#93a747", "#4fb0c6", "#c9719a"];
const otherPaths = "#a9a59d", pathInk = "#15171a";

/** The colours of the chart's call paths: one for each, in the chart, in its legend and in the picture. They stay while a path is shown. */
export class PathColors {
	constructor() {
		/** Names in the order in which they first appeared, and the functions that hold them. @type {{name: string, leaf: string, caller: string}[]} */
		this.known = [];
	}

	clear() {
		this.known = [];
	}

	/** Takes the layers of a chart. The one that grew most is the last of them, and has the first colour. @param {Layer[]} layers */
	learn(layers) {
		for (const {name, leaf, values} of [...layers].reverse())
			if (leaf && this.place(name) < 0 && values.some((value) => value > 0))
				this.known.push({name, leaf, caller: name === leaf ? "" : name.slice(name.lastIndexOf("← ") + 2)});
	}

	/** The place of a path among them; -1 for another. @param {string} name */
	place(name) {
		return this.known.findIndex((path) => path.name === name);
	}

	/** The colour of a path; all others together have one. @param {string} name */
	color(name) {
		const at = this.place(name);
		return at < 0 ? otherPaths : pathHues[at % pathHues.length];
	}

	/** The path that ends in BOX; "" for none. @param {Box} box @param {Func[]} functions */
	pathOf(box, functions) {
		const {name} = functions[box.func];
		/** @param {Box | null} at @param {string} caller */
		const below = (at, caller) => {
			for (; at; at = at.above)
				if (functions[at.func].name === caller)
					return true;
			return false;
		};
		return this.known.find((path) => path.leaf === name && (!path.caller || below(box.above, path.caller)))?.name ?? "";
	}
}

export class Palette {
	/** @param {Func[]} functions @param {PathColors} paths */
	constructor(functions, paths) {
		this.paths = paths;
		this.functions = functions;
		this.dark = false;
		/** @type {ColorMode} */
		this.mode = "module";
		this.modules = functions.map(moduleOf);
		this.shades = functions.map(({name}) => (hashText(name) % 7) - 3);
		/** @type {Map<string, number>} */
		this.hues = new Map();
	}

	/** Replaces the functions. Modules keep their colours. @param {Func[]} functions @param {Float64Array} weights @param {boolean} keep */
	update(functions, weights, keep) {
		this.functions = functions;
		this.modules = functions.map(moduleOf);
		this.shades = functions.map(({name}) => (hashText(name) % 7) - 3);
		if (!keep)
			this.hues.clear();
		this.assign(weights);
	}

	/**
	 * Gives each module without a hue one: the hue for its name, or the next one that no larger module has.
	 * @param {Float64Array} weights of the functions
	 */
	assign(weights) {
		const hues = [28, 205, 152, 330, 262, 92, 180, 52, 232, 0], taken = new Set([...this.hues.values()].map((hue) => hues.indexOf(hue)));
		for (const [name] of this.largest(weights)) {
			if (this.hues.has(name))
				continue;
			let at = hashText(name) % hues.length;
			for (let tries = 0; taken.size < hues.length && taken.has(at) && tries < hues.length; tries++)
				at = (at + 1) % hues.length;
			taken.add(at);
			this.hues.set(name, hues[at]);
		}
	}

	/** The modules and their sizes, the largest first. @param {Float64Array} weights @returns {[string, number][]} */
	largest(weights) {
		/** @type {Map<string, number>} */
		const sums = new Map();
		for (let func = 1; func < this.functions.length; func++)
			sums.set(this.modules[func], (sums.get(this.modules[func]) ?? 0) + Math.abs(weights[func]));
		return [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
	}

	/** The modules that are drawn, those with the largest area first. @param {Rect[]} rects */
	drawn(rects) {
		/** @type {Map<string, number>} */
		const sums = new Map();
		for (const {box, width, dim} of rects)
			if (box.func && !dim)
				sums.set(this.modules[box.func], (sums.get(this.modules[box.func]) ?? 0) + width);
		return [...sums].sort((a, b) => b[1] - a[1]).map(([module]) => module);
	}

	/** The call paths of the chart that are drawn, those with the largest area first. @param {Rect[]} rects */
	drawnPaths(rects) {
		/** @type {Map<string, number>} */
		const sums = new Map();
		for (const {box, width, dim} of rects) {
			const path = box.func && !dim ? this.paths.pathOf(box, this.functions) : "";
			if (path)
				sums.set(path, (sums.get(path) ?? 0) + width);
		}
		return [...sums].sort((a, b) => b[1] - a[1]).map(([path]) => path);
	}

	/** @param {string} module */
	moduleColor(module, shade = 0) {
		const hue = this.hues.get(module) ?? 40;
		return this.dark ? hsl(hue, 30, 30 + shade) : hsl(hue, 52, 81 + shade);
	}

	/** @param {Box} box */
	color(box) {
		const {dark} = this;
		if (box.func === 0)
			return dark ? hsl(40, 5, 30) : hsl(40, 9, 87);
		if (this.mode === "change")
			return this.changeColor(box);
		if (this.mode === "path")
			return this.pathColor(box);
		if (this.mode === "module")
			return this.moduleColor(this.modules[box.func], this.shades[box.func]);
		const hash = hashText(this.functions[box.func].name);
		return dark ? hsl(12 + (hash % 42), 40, 28 + ((hash >> 8) % 5)) : hsl(12 + (hash % 42), 74, 76 + ((hash >> 8) % 9));
	}

	/** The colour of the chart for a box that is a call path of it; the others are grey. @param {Box} box */
	pathColor(box) {
		const path = this.paths.pathOf(box, this.functions), shade = this.shades[box.func];
		return path ? this.paths.color(path) : this.dark ? hsl(40, 4, 31 + shade / 2) : hsl(40, 12, 88 + shade / 2);
	}

	/** The colour of the letters on a box; "" for the usual one. @param {Box} box */
	inkOf(box) {
		return this.mode === "path" && box.func && this.paths.pathOf(box, this.functions) ? pathInk : "";
	}

	/** Red for growth, blue for shrinkage; the larger the part that is new or gone, the stronger the colour. @param {Box} box */
	changeColor(box) {
		const most = Math.max(Math.abs(box.value + box.base), Math.abs(box.base), 1), strength = Math.min(1, Math.abs(box.value) / most);
		const hue = box.value < 0 ? 213 : 8, shade = this.shades[box.func];
		if (strength < 0.02 || box.isNoise())
			return this.dark ? hsl(40, 4, 29 + shade) : hsl(40, 10, 88 + shade / 2);
		return this.dark ? hsl(hue, 20 + 40 * strength, 30 + shade / 2 + 8 * strength) : hsl(hue, 45 + 40 * strength, 91
			+ shade / 2 - 18 * strength);
	}
}

/** Whether all memory of a box is gone. @param {Box} box */
export function isGone(box) {
	const {base, unit} = box.tree.metric;
	return base && box.base > 0 && present(box.value, box.base, unit) === 0;
}
