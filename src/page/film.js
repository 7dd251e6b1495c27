// @ts-check
/* film.js - a page with many dumps: the chart of all memory over time, where the reader selects a dump or a range.
 *
 * The chart itself comes with the page. This draws what lies over it: the range, its two ends, and the values under the pointer.
 * SPDX-License-Identifier: Apache-2.0 */

/** From and to are numbers of dumps; equal for a single dump. @typedef {{from: number, to: number}} Span */

class Film {
	/** @param {number} points @param {Int32Array} nodes @param {Int32Array | Float64Array} steps @param {number} step */
	constructor(points, nodes, steps, step) {
		this.points = points;
		this.nodes = nodes;
		this.steps = steps;
		this.step = step;
	}

	/** Fills WEIGHTS with the values of the nodes at one dump, or their changes in a range. @param {Span} range @param {Weights} weights */
	fill({from, to}, weights) {
		const {points, nodes, steps, step} = this;
		weights.value.fill(0);
		weights.base.fill(0);
		for (let i = 0; i < nodes.length; i++) {
			const before = from === to ? 0 : steps[i * points + from] * step;
			weights.base[nodes[i]] = before;
			weights.value[nodes[i]] = steps[i * points + to] * step - before;
		}
	}
}

/** @param {FilmFacts} film @returns {Promise<Film>} */
async function readFilm(film) {
	const reader = new Reader(await readBlock("film")), points = film.seconds.length, step = reader.number(), count = reader.number();
	const nodes = new Int32Array(count), row = new Float64Array(points);
	const steps = step > 1 ? new Int32Array(count * points) : new Float64Array(count * points);
	for (let i = 0, node = 0; i < count; i++) {
		nodes[i] = node += reader.number();
		reader.column(row, true);
		for (let p = 0, value = 0; p < points; p++)
			steps[i * points + p] = value += row[p];
	}
	return new Film(points, nodes, steps, step);
}

/** The time of a dump. @param {FilmFacts} film @param {number} point */
function timeOf(film, point) {
	const text = new Date(film.start + film.seconds[point] * 1000).toISOString().slice(0, 19).replace("T", " ");
	return (film.seconds.at(-1) ?? 0) < 86400 && text.slice(0, 10) === new Date(film.start).toISOString().slice(0, 10) ? text.slice(11) : text;
}

/** The chart, and how the reader uses it. */
class Chart {
	/**
	 * Without CHOOSE, the range is fixed, and the chart is for reading only.
	 * @param {FilmFacts} film @param {((range: Span) => void) | null} choose @param {(leaf: string) => void} select
	 */
	constructor(film, choose, select) {
		this.film = film;
		this.choose = choose ?? (() => {});
		this.fixed = !choose;
		this.last = film.seconds.length - 1;
		/** @type {Span} */
		this.range = {from: 0, to: this.last};
		/** The dump at which the pointer was pressed; -1 while it is not. */
		this.anchor = -1;
		this.sheet = element("chart-sheet");
		/**
		 * Resident memory that was not measured is 0.
		 * @type {{name: string, values: number[], gaps: boolean, button: HTMLElement, amount: HTMLElement, more: HTMLElement}[]}
		 */
		this.legend = [];
		const chart = element("chart"), width = Number(chart.dataset.width);
		this.left = Number(chart.dataset.left) / width;
		this.right = Number(chart.dataset.right) / width;
		element("range-clip").style.inset = `0 ${100 * (1 - this.right)}% ${100 * Number(chart.dataset.axis)}% ${100 * this.left}%`;
		this.fillLegend(select);
		element("timeline").classList.toggle("fixed", this.fixed);
		this.listen();
		/* In a narrow window the chart scrolls; people want to see the newest dump. */
		if (this.sheet.parentElement)
			this.sheet.parentElement.scrollLeft = this.sheet.parentElement.scrollWidth;
	}

	/** The position of a dump, as a fraction of the chart's width. @param {number} point */
	place(point) {
		return this.left + (this.right - this.left) * (this.film.seconds[point] / (this.film.seconds[this.last] || 1));
	}

	/** The dump nearest to the pointer. @param {PointerEvent} event */
	nearest(event) {
		const box = this.sheet.getBoundingClientRect(), wanted = (event.clientX - box.left) / box.width;
		let best = 0;
		for (let i = 1; i <= this.last; i++)
			if (Math.abs(this.place(i) - wanted) < Math.abs(this.place(best) - wanted))
				best = i;
		return best;
	}

	/** @param {(leaf: string) => void} select */
	fillLegend(select) {
		const {film} = this, areas = document.querySelectorAll("#chart [data-layer]");
		/** @param {string} kind @param {string} name @param {number[]} values */
		const entry = (kind, name, values) => {
			const item = make("li"), button = make("button"), swatch = make("span", "key " + kind), amount = make("span", "amount"),
				more = make("span", "more");
			button.append(swatch, make("span", "name", name), amount, more);
			item.append(button);
			this.legend.push({name, values, gaps: kind === "resident", button, amount, more});
			return {item, button, swatch};
		};
		const items = film.layers.map((layer, i) => {
			const {item, button, swatch} = entry("layer", layer.name, layer.values), area = areas[i];
			swatch.style.background = area?.getAttribute("fill") ?? "";
			button.addEventListener("click", () => select(layer.leaf));
			for (const [event, lit] of /** @type {const} */ ([["mouseenter", true], ["focus", true], ["mouseleave", false], ["blur", false]]))
				button.addEventListener(event, () => areas.forEach((other) => other.classList.toggle("dim", lit && other !== area)));
			return item;
		}).reverse();
		const lines = [entry("total", "All live memory", film.totals)];
		if (film.resident.some((value) => value > 0) && metric.unit === "bytes")
			lines.push(entry("resident", "Resident memory", film.resident));
		for (const {item, button} of lines) {
			/* Not a button: there is no function to select. */
			button.replaceWith(...[make("div", "line")].map((line) => (line.append(...button.childNodes), line)));
			items.push(item);
		}
		element("layers").replaceChildren(...items);
	}

	/** The legend shows the values at the end of the range, and the change since its start. @param {Span} range */
	showLegend({from, to}) {
		const {film} = this;
		for (const {name, values, gaps, button, amount, more} of this.legend) {
			const unknown = gaps && !values[to], change = from === to || unknown || gaps && !values[from] ? 0 : values[to] - values[from];
			amount.textContent = unknown ? "not measured" : human(values[to]);
			more.textContent = change ? (change > 0 ? "+" : "") + human(change) : "";
			more.className = change > 0 ? "more up" : change < 0 ? "more down" : "more";
			/** @param {number} point */
			const figure = (point) => `${gaps && !values[point] ? "not measured" : human(values[point])} at ${timeOf(film, point)}`;
			button.title = from === to ? `${name}: ${figure(to)}` : `${name}: ${figure(from)}, ${figure(to)}`;
		}
	}

	/* Selecting. */

	listen() {
		const {sheet} = this;
		sheet.addEventListener("pointerleave", () => this.tell(-1));
		if (this.fixed) {
			sheet.addEventListener("pointermove", (event) => this.tell(this.nearest(event)));
			return;
		}
		sheet.addEventListener("pointerdown", (event) => {
			if (event.button !== 0 || event.target instanceof HTMLButtonElement)
				return;
			sheet.setPointerCapture(event.pointerId);
			this.anchor = this.nearest(event);
			this.show({from: this.anchor, to: this.anchor});
			event.preventDefault();
		});
		sheet.addEventListener("pointermove", (event) => {
			const at = this.nearest(event);
			if (this.anchor >= 0)
				this.show({from: Math.min(this.anchor, at), to: Math.max(this.anchor, at)});
			this.tell(at);
		});
		sheet.addEventListener("pointerup", () => {
			if (this.anchor >= 0)
				this.choose(this.range);
			this.anchor = -1;
		});
		sheet.addEventListener("pointercancel", () => { this.anchor = -1; });
		for (const end of /** @type {const} */ (["from", "to"])) {
			const handle = element("range-" + end);
			handle.addEventListener("keydown", (event) => this.key(event, end));
			handle.addEventListener("pointerdown", (event) => {
				this.anchor = this.range[end === "from" ? "to" : "from"];
				sheet.setPointerCapture(event.pointerId);
			});
		}
		element("range-whole").addEventListener("click", () => this.choose({from: 0, to: this.last}));
		element("range-last").addEventListener("click", () => this.choose({from: this.last, to: this.last}));
	}

	/**
	 * Arrow keys move one end of the range; past the other end they move both, so that one can step through single dumps.
	 * @param {KeyboardEvent} event @param {"from" | "to"} end
	 */
	key(event, end) {
		const step = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity,
			End: Infinity}[event.key];
		if (step === undefined || event.ctrlKey || event.metaKey || event.altKey)
			return;
		const at = Math.max(0, Math.min(this.last, this.range[end] + step)), {from, to} = this.range;
		this.choose(end === "from" ? {from: at, to: Math.max(at, to)} : {from: Math.min(at, from), to: at});
		event.preventDefault();
		event.stopPropagation();
	}

	/** Shows RANGE on the chart and in words. @param {Span} range */
	show(range) {
		const {film, last} = this, {from, to} = range;
		this.range = range;
		this.showLegend(range);
		const band = element("range-band");
		const [start, end] = [from, to].map((point) => (100 * (this.place(point) - this.left)) / (this.right - this.left));
		band.style.left = start + "%";
		band.style.width = end - start + "%";
		band.classList.toggle("single", from === to);
		for (const end of /** @type {const} */ (["from", "to"])) {
			const handle = element("range-" + end), point = range[end];
			handle.style.left = 100 * this.place(point) + "%";
			for (const [name, value] of [["valuemin", 0], ["valuemax", last], ["valuenow", point]])
				handle.setAttribute("aria-" + name, String(value));
			handle.setAttribute("aria-valuetext", `${timeOf(film, point)}, ${human(film.totals[point])}`);
		}
		const restarts = film.runs[to] - film.runs[from];
		element("range-text").textContent = from === to
			? `One dump, ${timeOf(film, to)} UTC: what there was`
			: `${timeOf(film, from)} to ${timeOf(film, to)} UTC, ${humanTime(film.seconds[to] - film.seconds[from])}, `
				+ `${to - from + 1} dumps: what changed`
				+ (restarts ? ` (with ${restarts === 1 ? "a restart" : restarts + " restarts"} in between)` : "");
		if (this.fixed)
			element("range-text").textContent = `${last + 1} dumps in ${humanTime(film.seconds[last])}; this page holds ` + (from === to
				? `the one of ${timeOf(film, to)} UTC` : `what changed from ${timeOf(film, from)} to ${timeOf(film, to)} UTC`);
		element("range-whole").setAttribute("aria-pressed", String(from === 0 && to === last));
		element("range-last").setAttribute("aria-pressed", String(from === last && to === last));
	}

	/** Shows the values at the dump under the pointer; -1 for none. @param {number} point */
	tell(point) {
		const {film} = this, tip = element("chart-tip"), line = element("chart-line");
		tip.hidden = line.hidden = point < 0;
		if (point < 0)
			return;
		const place = this.place(point), areas = document.querySelectorAll("#chart [data-layer]");
		line.style.left = 100 * place + "%";
		tip.style.left = place < 0.6 ? `calc(${100 * place}% + 12px)` : "auto";
		tip.style.right = place < 0.6 ? "auto" : `calc(${100 * (1 - place)}% + 12px)`;
		/** @param {string} name @param {number} value @param {string} [color] */
		const row = (name, value, color) => {
			const item = make("div"), swatch = make("span", "key");
			swatch.style.background = color ?? "none";
			item.append(swatch, make("span", "name", name), make("span", "number", human(value)));
			return item;
		};
		const rows = film.layers.map((layer, i) => row(layer.name, layer.values[point], areas[i]?.getAttribute("fill") ?? ""))
			.filter((_, i) => film.layers[i].values[point] > 0).reverse();
		rows.push(row("All live memory", film.totals[point]));
		if (film.resident[point] && metric.unit === "bytes")
			rows.push(row("Resident memory", film.resident[point]));
		if (film.limit[point] && metric.unit === "bytes")
			rows.push(row("Limit", film.limit[point]));
		tip.replaceChildren(make("p", "", timeOf(film, point) + " UTC"), ...rows);
	}
}
