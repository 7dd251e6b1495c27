// @ts-check
/* main.js - the page: its state, which lives in the address, and everything a person can do to it.
 *
 * Every action changes the state and shows it; the back button shows an earlier one. Names are only ever written as text.
 * SPDX-License-Identifier: Apache-2.0 */

/**
 * @typedef {object} State
 * @property {"calls" | "leaves" | "around"} view
 * @property {number} selected a function, 0 for none
 * @property {number[]} zoom functions from the outermost box to the one that is zoomed
 * @property {string} search
 * @property {Filter[]} filters
 * @property {"change" | "now"} widths
 * @property {"functions" | "threads" | "sizes"} tab
 * @property {string} sort
 * @property {Span | null} range of a film; null for the whole
 */

/** @template {HTMLElement} [T=HTMLElement] @param {string} id @returns {T} */
const element = (id) => /** @type {T} */ (document.getElementById(id));

/** @param {string} text @returns {Filter} */
function readFilter(text) {
	const colon = text.indexOf(":");
	return {kind: /** @type {Filter["kind"]} */ (text.slice(0, colon)), text: text.slice(colon + 1)};
}

/** The range "3-17", or the one dump "3", within the dumps there are. @param {string | null} text @returns {Span | null} */
function readRange(text) {
	const last = (facts.film?.seconds.length ?? 0) - 1, match = /^(\d+)(?:-(\d+))?$/.exec(text ?? "");
	if (!match || last < 0)
		return null;
	const from = Math.min(last, Number(match[1])), to = Math.min(last, Number(match[2] ?? match[1]));
	return {from: Math.min(from, to), to: Math.max(from, to)};
}

/** @returns {State} */
function readState() {
	const query = new URLSearchParams(location.hash.slice(1)), view = query.get("view"), tab = query.get("tab");
	const kinds = ["focus", "ignore", "hide", "thread", "size"];
	return {
		view: view === "leaves" || view === "around" ? view : "calls",
		selected: Number(query.get("fn")) || 0,
		zoom: (query.get("zoom") ?? "").split(".").filter(Boolean).map(Number),
		search: query.get("q") ?? "",
		filters: query.getAll("f").map(readFilter).filter((filter) => kinds.includes(filter.kind) && filter.text),
		widths: query.get("widths") === "now" ? "now" : "change",
		tab: tab === "threads" || tab === "sizes" ? tab : "functions",
		sort: query.get("sort") ?? "self",
		range: readRange(query.get("range")),
	};
}

/** @param {State} state */
function writeState(state) {
	const query = new URLSearchParams();
	if (state.view !== "calls")
		query.set("view", state.view);
	if (state.selected)
		query.set("fn", String(state.selected));
	if (state.zoom.length)
		query.set("zoom", state.zoom.join("."));
	if (state.search)
		query.set("q", state.search);
	state.filters.forEach((filter) => query.append("f", filter.kind + ":" + filter.text));
	if (state.widths !== "change")
		query.set("widths", state.widths);
	if (state.tab !== "functions")
		query.set("tab", state.tab);
	if (state.sort !== "self")
		query.set("sort", state.sort);
	if (state.range)
		query.set("range", state.range.from === state.range.to ? String(state.range.to) : state.range.from + "-" + state.range.to);
	return "#" + query.toString();
}

class Page {
	/** @param {Data} data @param {Film | null} film */
	constructor(data, film) {
		this.data = data;
		this.film = film;
		this.rangeKey = film ? "" : "all";
		this.state = readState();
		this.shown = /** @type {string | null} */ (null);
		this.split = /** @type {Split | null} */ (null);
		this.tree = refine(data, null, [], true);
		this.treeKey = "[]change" + this.rangeKey;
		this.found = /** @type {Uint8Array | null} */ (null);
		this.searchKey = this.treeKey;
		this.wholeSums = this.sumUp();
		this.sums = this.wholeSums;
		this.chart = facts.film ? new Chart(facts.film, (range) => this.go({range, zoom: []}), (leaf) => this.selectNamed(leaf)) : null;
		this.menuBox = /** @type {Box | null} */ (null);
		this.box = /** @type {Box} */ (callsBox(this.tree));
		this.boxKey = "";
		this.root = this.box;
		this.up = /** @type {Box | null} */ (null);
		this.rest = this.box;
		this.restKey = "";
		this.picture = new Picture(element("scroller"), element("sheet"), element("picture"), data.functions, {
			zoom: (box) => this.zoom(box),
			point: (box) => this.detail(box ?? this.resting()),
			menu: (box, x, y) => this.openMenu(box, x, y),
			name: (box) => this.name(box),
		});
		this.table = new FunctionTable(element("functions"), element("more"), data.functions, {
			select: (func) => this.go({selected: func, zoom: this.state.view === "around" ? [] : this.state.zoom}),
			around: (func) => this.go({selected: func, view: "around", zoom: []}),
			point: (func) => {
				this.picture.pointed = func > 0 ? new Box(this.tree, null, func) : null;
				this.picture.paint();
			},
			sort: (key) => this.go({sort: key}),
		});
		this.listen();
	}

	/** Self and total of each function, of everything: as the page says it, where its tree does not hold every stack. */
	sumUp() {
		const {sums} = this.data;
		if (sums && !this.film && !facts.errors)
			return sums;
		const own = this.tree.sums(this.data.functions.length);
		return sums && !this.film ? {self: {...sums.self, variance: own.self.variance, skew: own.self.skew}, total: sums.total} : own;
	}

	/** @param {string} name of a function */
	selectNamed(name) {
		const func = this.data.functions.findIndex((at, i) => i > 0 && at.name === name);
		if (func > 0)
			this.go({selected: func, view: "around", zoom: []});
	}

	/** @param {Box} box */
	name(box) {
		return box.func || box.above ? this.data.functions[box.func].name : facts.change ? "all changes" : "everything";
	}

	/* State. */

	/** @param {Partial<State>} changes @param {boolean} [replace] without a step for the back button */
	go(changes, replace) {
		const next = {...this.state, ...changes}, address = writeState(next);
		if (address === (location.hash || "#"))
			return;
		if (replace)
			history.replaceState(null, "", address);
		else
			history.pushState(null, "", address);
		this.show(next);
	}

	/** @param {State} state */
	async show(state) {
		this.state = state;
		const wanted = writeState(state);
		const needsSplit = state.tab !== "functions" || state.filters.some((filter) => filter.kind === "thread" || filter.kind === "size");
		if (needsSplit && !this.split)
			this.split = await readSplit(this.data.parent.length);
		if (wanted !== writeState(this.state))
			return;
		this.showRange();
		this.showTree();
		this.showPicture();
		this.showSearch();
		this.showControls();
		this.showTable();
	}

	/** Makes the page one of what is chosen on the chart. */
	showRange() {
		const {film, chart, data} = this;
		if (!film || !chart)
			return;
		const range = this.state.range ?? {from: 0, to: film.points - 1}, key = range.from + "-" + range.to;
		chart.show(range);
		if (key === this.rangeKey)
			return;
		this.rangeKey = key;
		facts.base = facts.change = range.from !== range.to;
		film.fill(range, data.self);
		spread(data.self, data.sample);
		this.tree = refine(data, null, [], this.state.widths === "change");
		this.treeKey = "[]" + this.state.widths + key;
		this.sums = this.wholeSums = this.sumUp();
		showTotal(this);
	}

	showTree() {
		const {state} = this, key = JSON.stringify(state.filters) + state.widths + this.rangeKey;
		if (key === this.treeKey)
			return;
		this.treeKey = key;
		this.tree = refine(this.data, this.split, state.filters, state.widths === "change");
		this.sums = state.filters.length ? this.tree.sums(this.data.functions.length) : this.wholeSums;
	}

	showPicture() {
		const {state} = this, around = state.view === "around" && state.selected > 0;
		const boxKey = this.treeKey + state.view + (around ? state.selected : "");
		const fresh = boxKey !== this.boxKey;
		if (fresh) {
			this.boxKey = boxKey;
			this.up = null;
			if (around) {
				const {down, up} = aroundBoxes(this.tree, state.selected);
				this.root = down;
				this.up = up;
			} else {
				this.root = state.view === "leaves" ? leavesBox(this.tree) : callsBox(this.tree);
			}
		}
		let box = this.root;
		if (!around)
			for (const func of state.zoom) {
				const next = box.children().find((child) => child.func === func);
				if (!next)
					break;
				box = next;
			}
		this.picture.selected = state.selected;
		if (fresh || box !== this.box || this.shown === null)
			this.picture.show(box, this.up);
		else
			this.picture.paint();
		this.box = box;
		this.shown = boxKey;
		const nothing = element("nothing");
		nothing.hidden = this.root.size > 0;
		nothing.textContent = state.filters.length ? "The filters leave nothing. Remove one of them to see more."
			: facts.change ? "Nothing changed in between." : "There is no memory in this profile.";
		this.detail(this.resting());
	}

	/** What the details are of while nothing is pointed at: the zoomed box, or the function that was selected elsewhere. */
	resting() {
		const {selected} = this.state, key = this.treeKey + selected;
		if (!selected || this.box.func === selected)
			return this.box;
		if (this.restKey !== key) {
			this.restKey = key;
			this.rest = aroundBoxes(this.tree, selected).down;
		}
		return this.rest;
	}

	showSearch() {
		const {search} = this.state, input = /** @type {HTMLInputElement} */ (element("search"));
		if (input.value !== search)
			input.value = search;
		if (search + this.treeKey === this.searchKey)
			return;
		this.searchKey = search + this.treeKey;
		this.found = search ? matching(this.data.functions, search) : null;
		this.picture.found = this.found;
		this.picture.paint();
		const size = this.found ? this.tree.matched(this.found) : 0, whole = this.tree.size[0];
		element("matched").textContent = this.found ? `${percent(size, whole)} matched, ${human(size)}` : "";
		element("search-actions").hidden = !this.found;
	}

	showControls() {
		const {state} = this;
		/** @param {string} attribute @param {string} value */
		const press = (attribute, value) => document.querySelectorAll(`button[data-${attribute}]`).forEach((button) => {
			const pressed = button.getAttribute("data-" + attribute) === value;
			button.setAttribute(attribute === "tab" ? "aria-selected" : "aria-pressed", String(pressed));
		});
		press("view", state.view === "around" && !state.selected ? "calls" : state.view);
		press("widths", state.widths);
		press("tab", state.tab);
		const around = /** @type {HTMLButtonElement} */ (document.querySelector('[data-view="around"]'));
		around.disabled = !state.selected;
		around.title = state.selected ? "All callers and callees of " + this.data.functions[state.selected]?.name : "Select a function first";
		element("reset").hidden = state.zoom.length === 0;
		for (const tab of ["functions", "threads", "sizes"])
			element("panel-" + tab).hidden = tab !== state.tab;
		const pills = element("pills");
		pills.hidden = state.filters.length === 0;
		pills.replaceChildren(...state.filters.map((filter) => this.makePill(filter)));
	}

	/** @param {Filter} filter */
	makePill(filter) {
		const words = {focus: "only", ignore: "without", hide: "hidden", thread: "thread", size: "objects"}[filter.kind];
		const text = filter.kind === "thread" ? this.threadName(Number(filter.text)) : filter.kind === "size" ? sizeName(Number(filter.text))
			: filter.text.replace(/^\^(.*)\$$/, "$1").replace(/\\(.)/g, "$1");
		const item = make("li", "pill"), remove = make("button", "", "×");
		remove.setAttribute("aria-label", `Remove the filter: ${words} ${text}`);
		remove.addEventListener("click", () => this.go({filters: this.state.filters.filter((other) => other !== filter)}));
		item.append(make("span", "kind", words), make("span", "text", text), remove);
		return item;
	}

	/** @param {number} thread */
	threadName(thread) {
		const at = facts.threads[thread] ?? {name: "", id: ""};
		return at.name ? at.name + (at.id ? " (" + at.id + ")" : "") : at.id ? "number " + at.id : "not known";
	}

	showTable() {
		const {state} = this;
		if (state.tab === "functions") {
			this.table.show(this.sums, this.tree.size[0], this.found, state.sort, state.selected);
			return;
		}
		const kind = state.tab === "threads" ? "thread" : "size", parts = this.parts(kind);
		fillParts(element(state.tab), parts.map(({key, value, objects}) => ({
			label: kind === "thread" ? this.threadName(key) : sizeName(key), value, objects,
			active: state.filters.some((filter) => filter.kind === kind && filter.text === String(key)),
			pick: () => this.toggle({kind, text: String(key)}),
		})), kind === "thread" ? "The profile does not say which thread allocated what." : "The profile does not say how large objects are.");
	}

	/** What each thread or size has, under all filters but those of its own kind. @param {"thread" | "size"} kind */
	parts(kind) {
		const {split, data, state} = this, other = kind === "thread" ? "size" : "thread";
		if (!split)
			return [];
		const passed = passing(data, state.filters);
		const wanted = state.filters.filter((filter) => filter.kind === other).map((filter) => Number(filter.text));
		/** @type {Map<number, {key: number, value: number, objects: number}>} */
		const sums = new Map();
		for (let node = 0; node < passed.length; node++)
			for (let at = split.first[node]; passed[node] && at < split.first[node + 1]; at++) {
				const group = split.group[at], key = split[kind][group];
				if (wanted.length && !wanted.includes(split[other][group]))
					continue;
				const sum = sums.get(key) ?? {key, value: 0, objects: 0};
				sum.value += split.weights.value[at];
				sum.objects += split.weights.objects[at];
				sums.set(key, sum);
			}
		const known = [...sums.values()].filter(({key, value}) =>
			value && (kind === "size" ? key > 0 : facts.threads[key]?.name || facts.threads[key]?.id));
		return known.sort((a, b) => kind === "size" ? a.key - b.key : Math.abs(b.value) - Math.abs(a.value));
	}

	/* Actions. */

	/** @param {Box} box */
	zoom(box) {
		if (this.state.view === "around" && this.state.selected)
			this.go({selected: box.func || this.state.selected});
		else
			this.go({zoom: box.path(), selected: box.func || this.state.selected});
	}

	/** @param {Filter} filter */
	toggle(filter) {
		const {filters} = this.state, same = filters.filter((other) => other.kind !== filter.kind || other.text !== filter.text);
		this.go({filters: same.length < filters.length ? same : [...filters, filter]});
	}

	/** @param {string | null} action @param {number} func @param {Box | null} box */
	act(action, func, box) {
		if (action === "zoom" && box)
			this.zoom(box);
		else if (action === "around")
			this.go({view: "around", selected: func, zoom: []});
		else if (action === "copy" && box)
			this.copy(box);
		else if (action === "focus" || action === "ignore" || action === "hide")
			this.go({filters: [...this.state.filters, {kind: action, text: exactly(this.data.functions[func].name)}], zoom: [],
				selected: action === "focus" ? func : 0, view: this.state.view === "around" && action !== "focus" ? "calls" : this.state.view});
	}

	/** The stack as text, the callee first. @param {Box} box */
	copy(box) {
		const path = this.root.func ? [this.root.func, ...box.path()] : box.path(), names = path.map((func) => this.data.functions[func].name);
		const text = (box instanceof UpBox ? names : names.reverse()).join("\n");
		navigator.clipboard?.writeText(text).catch(() => undefined);
	}

	/** @param {Box} box @param {number} x @param {number} y */
	openMenu(box, x, y) {
		const menu = element("menu");
		this.menuBox = box;
		element("menu-name").textContent = this.name(box);
		menu.hidden = false;
		menu.style.left = Math.max(8, Math.min(x, innerWidth - menu.offsetWidth - 8)) + "px";
		menu.style.top = Math.max(8, Math.min(y, innerHeight - menu.offsetHeight - 8)) + "px";
		menu.querySelector("button")?.focus();
	}

	closeMenu() {
		const menu = element("menu"), inside = menu.contains(document.activeElement);
		menu.hidden = true;
		if (inside)
			element("picture").focus();
	}

	/* Details. */

	/** @param {Box} box */
	detail(box) {
		const func = this.data.functions[box.func], whole = this.tree.size[0], real = box.func > 0;
		element("detail-name").textContent = this.name(box);
		element("detail-place").textContent = real
			? [func.file && func.file + (func.line ? ":" + func.line : ""), func.module].filter(Boolean).join(" · ")
			: box.above ? "Stacks that are too small to be told apart on this page."
				: "Point at a box to see its figures, click to zoom, right-click for more.";
		/** @type {[string, string][]} */
		const figures = facts.change ? [["Change", signed(box.value)], ["Share", percent(box.size, whole)]]
			: [["Total", human(box.value)], ["Share", percent(box.size, whole)]];
		if (facts.base)
			figures.push(["Before", human(box.base)], ["Now", human(present(box.value, box.base))]);
		if (facts.errors && box.variance > 0) {
			const [low, high] = interval(box.value, box.variance, box.skew);
			figures.push(["95 %", `${signed(low)} to ${signed(high)}`]);
			if (box.isNoise())
				figures.push(["Noise", "sampling may explain it"]);
		}
		if (box.selfValue)
			figures.push([facts.change ? "Its own change" : "Self", signed(box.selfValue)]);
		if (facts.objects && box.objects)
			figures.push(["Objects", humanCount(box.objects)],
				["Mean size", box.value / box.objects > 0 ? humanBytes(box.value / box.objects) : "–"]);
		element("detail-figures").replaceChildren(...figures.map(([name, value]) => {
			const item = make("div");
			item.append(make("dt", "", name), make("dd", "", value));
			return item;
		}));
		element("detail-actions").hidden = !this.state.selected;
	}

	/* Listening. */

	listen() {
		/** @param {string} selector @param {(button: HTMLElement) => void} act */
		const each = (selector, act) => document.querySelectorAll(selector).forEach((button) =>
			button.addEventListener("click", () => act(/** @type {HTMLElement} */ (button))));
		each("[data-view]", (button) => this.go({view: /** @type {State["view"]} */ (button.dataset.view), zoom: []}));
		each("[data-widths]", (button) => this.go({widths: /** @type {State["widths"]} */ (button.dataset.widths)}));
		each("[data-tab]", (button) => this.go({tab: /** @type {State["tab"]} */ (button.dataset.tab)}));
		each("#detail-actions [data-action]", (button) => this.act(button.dataset.action ?? null, this.state.selected, null));
		each("#menu [data-action]", (button) => {
			const box = this.menuBox;
			this.closeMenu();
			if (box)
				this.act(button.dataset.action ?? null, box.func, box);
		});
		each("#search-actions [data-kind]", (button) => this.go({search: "", zoom: [],
			filters: [...this.state.filters, {kind: /** @type {Filter["kind"]} */ (button.dataset.kind), text: this.state.search}]}));
		each("#reset", () => this.go({zoom: []}));
		each("#help-button", () => /** @type {HTMLDialogElement} */ (element("help")).showModal());
		const input = /** @type {HTMLInputElement} */ (element("search"));
		input.addEventListener("input", () => this.go({search: input.value}, true));
		addEventListener("popstate", () => this.show(readState()));
		document.addEventListener("pointerdown", (event) => {
			if (!element("menu").hidden && !element("menu").contains(/** @type {Node} */ (event.target)))
				this.closeMenu();
		});
		document.addEventListener("keydown", (event) => this.key(event));
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const target = /** @type {HTMLElement} */ (event.target), typing = target instanceof HTMLInputElement, menu = element("menu");
		if (event.ctrlKey || event.metaKey || event.altKey || /** @type {HTMLDialogElement} */ (element("help")).open)
			return;
		if (event.key === "Escape") {
			if (!menu.hidden)
				this.closeMenu();
			else if (this.state.search)
				this.go({search: ""});
			else if (this.state.zoom.length)
				this.go({zoom: this.state.zoom.slice(0, -1)});
			else
				return;
		} else if (!menu.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
			const items = [...menu.querySelectorAll("button")], at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
			items[(at + (event.key === "ArrowDown" ? 1 : items.length - 1)) % items.length].focus();
		} else if (typing) {
			return;
		} else if (event.key === "/") {
			element("search").focus();
		} else if (event.key === "?") {
			/** @type {HTMLDialogElement} */ (element("help")).showModal();
		} else if (["1", "2", "3"].includes(event.key)) {
			const view = /** @type {const} */ (["calls", "leaves", "around"])[Number(event.key) - 1];
			if (view !== "around" || this.state.selected)
				this.go({view, zoom: []});
		} else {
			return;
		}
		event.preventDefault();
	}
}

/** The page, for those who look at it from outside: a person at the console, a test. @type {Page} */
let livePage;

async function start() {
	if (typeof DecompressionStream === "undefined")
		throw new Error("This page needs a browser of 2023 or later.");
	const data = await readTree(), film = facts.film ? await readFilm(facts.film) : null;
	element("timeline").hidden = !film;
	livePage = new Page(data, film);
	showHead(livePage);
	showTotal(livePage);
	await livePage.show(livePage.state);
	document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
	const notice = make("p", "notice", String(error instanceof Error ? error.message : error));
	document.body.prepend(notice);
});
