// @ts-check
/* page.mjs - the page: its state, which is kept in the address, and all actions of the reader.
 *
 * Every action changes the state and shows it; the back button shows an earlier one. Names are only ever inserted as text.
 * Longer than other files: every action, by mouse, keyboard or address, ends in the same few functions that show the state.
 * SPDX-License-Identifier: Apache-2.0 */
import {hsl, Palette} from "./color.mjs";
import {metricOf, readSplit, spread, weightsOf} from "./data.mjs";
import {element, make, say} from "./dom.mjs";
import {copyText, download, foldedText, pictureSvg} from "./export.mjs";
import {showTotal} from "./head.mjs";
import {joinNames} from "./link.mjs";
import {Picture} from "./picture.mjs";
import {gzip, pprofBytes} from "./pprof.mjs";
import {expandNames, expandZoom, readState, writeState} from "./state.mjs";
import {fillParts, FunctionTable} from "./table.mjs";
import {Theme} from "./theme.mjs";
import {makeFigures, moreFigures, placeOf, Tip} from "./tip.mjs";
import {aroundBoxes, Box, callsBox, exactly, follow, isSplit, leavesBox, matching, passing, refine, threadKey, threadOf, UpBox, wantedGroups} from "./tree.mjs";
import {ageName, human, humanCount, percent, sizeName} from "./units.mjs";
/** @import {ColorMode, PathColors} from "./color.mjs" */
/** @import {Data, Split, Sums} from "./data.mjs" */
/** @import {Film} from "./film.mjs" */
/** @import {Rect} from "./picture.mjs" */
/** @import {Exported} from "./pprof.mjs" */
/** @import {State} from "./state.mjs" */
/** @import {Filter, Ranks} from "./tree.mjs" */

export class Page {
	/**
	 * @param {Data} data @param {Film | null} film @param {() => Promise<Uint8Array>} splitBytes how the tree splits by thread and size
	 * @param {PathColors} paths the colours of call paths
	 * @param {Ranks | null} [ranks] which keep the order of siblings; null if the largest comes first
	 */
	constructor(data, film, splitBytes, paths, ranks = null) {
		const {facts} = data;
		this.data = data;
		this.ranks = ranks;
		this.film = film;
		this.splitBytes = splitBytes;
		/** @type {Map<string, number>} */
		this.byName = new Map();
		data.functions.forEach(({name}, func) => func > 0 && this.byName.set(name, func));
		/** How often the data was replaced. */
		this.generation = 0;
		/** Called with every state that is shown. @type {(state: State) => void} */
		this.shown = () => {};
		this.rangeKey = film ? "" : "all";
		this.state = readState(location.hash.length > 1 ? location.hash : facts.state ?? "", facts);
		this.split = /** @type {Split | null} */ (null);
		this.tree = refine(data, null, [], true);
		this.treeKey = "";
		this.shownKey = "";
		this.found = /** @type {Uint8Array | null} */ (null);
		this.foundNodes = 0;
		this.searchKey = "";
		/** The matches to step through, and the current one. @type {{key: string, at: number, items: (number | Rect)[]}} */
		this.matches = {key: "", at: -1, items: []};
		this.wholeSums = this.sumUp();
		this.sums = this.wholeSums;
		this.rank();
		this.menuBox = /** @type {Box | null} */ (null);
		this.box = /** @type {Box} */ (callsBox(this.tree));
		this.boxKey = "";
		this.root = this.box;
		this.up = /** @type {Box | null} */ (null);
		this.rest = this.box;
		this.restKey = "";
		this.palette = new Palette(data.functions, paths);
		this.palette.assign(this.wholeSums.self.value);
		this.tip = new Tip(element("tip"), data.functions);
		this.picture = new Picture(element("scroller"), element("sheet"), element("picture"), this.palette, {
			zoom: (box) => this.zoom(box),
			point: (box, x, y) => box && element("menu").hidden ? this.tip.show(box, this.name(box), this.tree.size[0], x, y) : this.tip.hide(),
			visit: (box) => this.detail(box),
			menu: (box, x, y) => this.openMenu(box, x, y),
			name: (box) => this.name(box),
			viewed: () => this.showReset(),
		});
		this.table = new FunctionTable(element("functions"), element("more"), data.functions, {
			select: (func) => this.lookAt(func),
			around: (func) => this.choose(func, {view: "around", zoom: []}),
			point: (func) => {
				this.picture.pointed = func > 0 ? new Box(this.tree, null, func) : null;
				this.picture.paint();
			},
			sort: (key) => this.go({sort: key}),
		});
		this.theme = new Theme(() => {
			this.picture.readColors();
			this.palette.dark = this.theme.isDark();
			this.picture.paint();
			this.showLegend();
		});
		this.palette.dark = this.theme.isDark();
		this.listen();
	}

	/** What the numbers mean. */
	get metric() {
		return this.data.self.metric;
	}

	/** Orders siblings as before, and new ones after them. */
	rank() {
		if (this.ranks)
			this.tree.order = this.ranks.add(this.data.functions, this.wholeSums.total.value);
	}

	/** Self and total of each function over everything; from the page's own sums if its tree does not contain every stack. @returns {Sums} */
	sumUp() {
		const {sums} = this.data, {metric} = this, own = sums && !this.film && !metric.errors ? null : this.tree.sums(this.data.functions.length);
		if (!sums || this.film)
			return /** @type {Sums} */ (own);
		const self = weightsOf(sums.self, metric), total = weightsOf(sums.total, metric);
		return own ? {self: {...self, variance: own.self.variance, skew: own.self.skew}, total} : {self, total};
	}

	/**
	 * Replaces the data by those of the same program at another time. Selections are kept, by name.
	 * @param {Data} data @param {() => Promise<Uint8Array>} splitBytes @param {boolean} [keepColors]
	 */
	async replace(data, splitBytes, keepColors = true) {
		const {pointed} = this.picture;
		this.data = data;
		this.splitBytes = splitBytes;
		this.split = null;
		this.generation++;
		this.byName = new Map();
		data.functions.forEach(({name}, func) => func > 0 && this.byName.set(name, func));
		this.shownKey = this.treeKey = this.restKey = "";
		this.searchKey = "\n";
		this.showData();
		this.palette.update(data.functions, this.wholeSums.self.value, keepColors);
		this.tip.functions = data.functions;
		this.table.replace(data.functions);
		this.picture.pointed = null;
		this.picture.keepPlace = true;
		await this.show(this.state);
		this.picture.keepPlace = false;
		if (!pointed)
			this.tip.hide();
	}

	/** The function that is selected; 0 for none, or if it is not in this profile. */
	get selected() {
		return this.byName.get(this.state.selected) ?? 0;
	}

	/** Selects a function. @param {number} func @param {Partial<State>} [changes] */
	choose(func, changes) {
		if (func > 0)
			this.go({...changes, selected: this.data.functions[func].name});
	}

	/** Shows the callers of a function and what it allocated: little of what is freed again is live memory. @param {string} name */
	chooseFreed(name) {
		const value = "alloc_space", other = this.data.facts.columns.some(({type}, i) => i > 0 && type === value);
		this.choose(this.byName.get(name) ?? 0, {view: "around", zoom: [], ...(other ? {value} : {})});
	}

	/** Selects a function of the table and shows it in the picture. @param {number} func */
	lookAt(func) {
		const around = this.state.view === "around";
		this.choose(func, around ? {zoom: []} : {});
		if (!around && !this.picture.widest(func) && this.state.zoom.length)
			this.go({zoom: []}, true);
		this.picture.showWhole();
		const rect = this.picture.widest(func), calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
		if (rect)
			this.picture.reveal(rect);
		const place = element("scroller").getBoundingClientRect();
		if (place.top < 0 || place.bottom > innerHeight)
			element("picture-part").scrollIntoView({block: "start", behavior: calm ? "auto" : "smooth"});
	}

	/** @param {Box} box */
	name(box) {
		return box.func || box.above ? this.data.functions[box.func].name : this.metric.change ? "all changes" : "everything";
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
		this.state = state = expandNames(state, this.data.functions);
		const wanted = writeState(state);
		const needsSplit = state.tab === "threads" || state.tab === "sizes" || state.filters.some(isSplit);
		if (needsSplit && !this.split && !this.film)
			this.split = readSplit(this.data.facts, await this.splitBytes(), this.data.parent.length);
		if (wanted !== writeState(this.state))
			return;
		if (!this.picture.keepPlace)
			this.tip.hide();
		this.showData();
		this.showTree();
		this.state = expandZoom(this.state, this.tree, this.data.functions);
		this.showPicture();
		this.showSearch();
		this.showControls();
		this.showTable();
		this.shown(this.state);
	}

	/** Shows the data of the selected value and range. */
	showData() {
		const {film, data, state} = this, {facts} = data;
		const range = film ? state.range ?? {from: 0, to: film.points - 1} : null;
		const rangeKey = range ? range.from + "-" + range.to : "all" + this.generation;
		const column = Math.max(0, facts.columns.findIndex(({type}) => type === state.value)), key = column + " " + rangeKey;
		if (key === this.shownKey) {
			return;
		}
		this.shownKey = key;
		this.rangeKey = key;
		data.self = weightsOf(data.columns, metricOf(facts, column, range ? range.from !== range.to : undefined));
		if (film && range) {
			film.fill(range, data.self);
		}
		spread(data.self, data);
		this.tree = refine(data, null, [], state.widths === "change");
		this.treeKey = "[]" + state.widths + key;
		this.sums = this.wholeSums = this.sumUp();
		this.rank();
		showTotal(this);
	}

	showTree() {
		const {state} = this, key = JSON.stringify(state.filters) + state.widths + this.rangeKey;
		if (key === this.treeKey)
			return;
		this.treeKey = key;
		this.tree = refine(this.data, this.split, state.filters, state.widths === "change", this.tree.order);
		this.sums = state.filters.length ? this.tree.sums(this.data.functions.length) : this.wholeSums;
	}

	showPicture() {
		const {state, selected} = this, around = state.view === "around" && selected > 0;
		const boxKey = this.treeKey + state.view + (around ? selected : ""), fresh = boxKey !== this.boxKey;
		if (fresh) {
			this.boxKey = boxKey;
			this.up = null;
			if (around) {
				const {down, up} = aroundBoxes(this.tree, selected);
				this.root = down;
				this.up = up;
			} else {
				this.root = state.view === "leaves" ? leavesBox(this.tree) : callsBox(this.tree);
			}
		}
		const box = around ? this.root : this.follow(state.zoom.map((name) => this.byName.get(name) ?? 0));
		this.picture.selected = selected;
		this.palette.mode = this.colorMode();
		if (fresh || box !== this.box)
			this.picture.show(box, this.up);
		else
			this.picture.paint();
		this.box = box;
		const nothing = element("nothing");
		nothing.hidden = this.root.size > 0;
		nothing.textContent = this.table.empty = this.whyEmpty();
		this.detail(this.resting());
	}

	/** Why there is nothing to show. */
	whyEmpty() {
		const {metric, state} = this;
		if (state.filters.length)
			return "The filters leave nothing. Remove one of them to see more.";
		if (metric.change)
			return "Nothing changed in between.";
		if (!metric.type.startsWith("inuse"))
			return "There is no memory in this profile.";
		return "No sampled memory is live." + (element("tab-bill").hidden ? "" : " The tab RSS says what is resident.");
	}

	/** The box at the end of a path of functions, or the last one that exists on it. @param {number[]} path */
	follow(path) {
		return follow(this.root, path);
	}

	/** @returns {ColorMode} */
	colorMode() {
		const {color} = this.state, {change} = this.metric;
		return color && (color !== "change" || change) && (color !== "path" || this.palette.paths.known.length) ? color : change ? "change"
			: this.palette.paths.known.length ? "path" : "module";
	}

	/** What the details show while the pointer is elsewhere: the zoomed box, or the selected function. */
	resting() {
		const {selected} = this, key = this.treeKey + selected;
		if (!selected || this.box.func === selected)
			return this.box;
		if (this.restKey !== key) {
			this.restKey = key;
			this.rest = aroundBoxes(this.tree, selected).down;
		}
		return this.rest;
	}

	/* Search. */

	showSearch() {
		const {search} = this.state, input = /** @type {HTMLInputElement} */ (element("search"));
		if (input.value !== search)
			input.value = search;
		const key = search && search + "\n" + this.treeKey;
		if (key === this.searchKey)
			return;
		this.searchKey = key;
		this.found = search ? matching(this.data.functions, search) : null;
		this.picture.found = this.found;
		this.picture.cursor = null;
		this.matches = {key: "", at: -1, items: []};
		this.picture.paint();
		const {size, nodes} = this.found ? this.tree.matched(this.found) : {size: 0, nodes: 0}, whole = this.tree.size[0];
		this.foundNodes = nodes;
		element("matched").textContent = this.found ? `${percent(size, whole)} matched, ${human(size, this.metric.unit)}` : "";
		element("search-actions").hidden = element("search-steps").hidden = !this.found;
		for (const id of ["search-next", "search-previous"])
			/** @type {HTMLButtonElement} */ (element(id)).disabled = nodes === 0;
	}

	/** Goes to the next or the previous box that matches the search. The largest comes first. @param {1 | -1} step */
	stepMatch(step) {
		if (!this.found || !this.foundNodes)
			return;
		this.picture.showWhole(); /* a match may be beside what is in view */
		const {view, zoom} = this.state, place = view === "calls" ? "" : this.selected + joinNames(zoom), key = this.searchKey + view + place;
		if (key !== this.matches.key)
			this.matches = {key, at: -1, items: view === "calls" ? this.tree.matches(this.found)
				: this.picture.rects().filter((rect) => this.found?.[rect.box.func]).sort((a, b) => b.width - a.width)};
		const {matches} = this, count = matches.items.length;
		if (!count)
			return;
		matches.at = matches.at < 0 ? (step > 0 ? 0 : count - 1) : (matches.at + step + count) % count;
		const item = matches.items[matches.at], rect = typeof item === "number" ? this.rectOfNode(item) : item;
		this.picture.moveTo(rect);
		element("matched").textContent = `${humanCount(matches.at + 1)} of ${humanCount(count)}`;
	}

	/**
	 * Where a node of the tree is drawn; zooms to its caller if it is too small to be seen.
	 * @param {number} node @returns {Rect | undefined}
	 */
	rectOfNode(node) {
		const least = 3, path = this.tree.path(node), names = path.map((func) => this.data.functions[func].name);
		for (const zoom of [null, names.slice(0, -1), names]) {
			if (zoom)
				this.go({zoom}, true);
			const rect = this.picture.rectOf(this.follow(path));
			if (rect && rect.width >= least)
				return rect;
		}
		return undefined;
	}

	/* Controls. */

	/** The buttons for what the columns are of; those that are there already stay, and keep the focus. */
	showKinds() {
		const {kinds} = this.data.facts, group = element("kinds");
		if ([...group.children].map((button) => button.textContent).join() !== kinds.map(({label}) => label).join())
			group.replaceChildren(...kinds.map(({kind, label, hint}) => {
				const button = make("button", "", label);
				button.dataset.kindOf = kind;
				button.title = hint;
				button.onclick = () => this.chooseValue(kind, this.metric.type.split("_")[1]);
				return button;
			}));
		group.hidden = kinds.length < 2;
	}

	showControls() {
		const {state, selected, metric} = this, {columns} = this.data.facts;
		/** @param {string} attribute @param {string} value */
		const press = (attribute, value) => document.querySelectorAll(`button[data-${attribute}]`).forEach((button) => {
			const pressed = button.getAttribute("data-" + attribute) === value;
			button.setAttribute(attribute === "tab" ? "aria-selected" : "aria-pressed", String(pressed));
			if (attribute === "tab")
				button.setAttribute("tabindex", pressed ? "0" : "-1");
		});
		press("view", state.view === "around" && !selected ? "calls" : state.view);
		press("widths", state.widths);
		press("tab", state.tab);
		press("color", this.colorMode());
		const has = (/** @type {string} */ type) => columns.some((column) => column.type === type);
		const [kind, unit = ""] = metric.type.split("_");
		this.showKinds();
		press("kind-of", kind);
		press("unit", unit);
		for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (element("units").querySelectorAll("button")))
			button.disabled = !has(kind + "_" + button.dataset.unit);
		element("units").hidden = !columns.some(({type}) => type.endsWith("_objects")) || !unit;
		const around = /** @type {HTMLButtonElement} */ (document.querySelector('[data-view="around"]'));
		around.disabled = !selected;
		around.title = selected ? "All callers and callees of " + this.data.functions[selected].name : "Select a function first";
		/** @type {HTMLButtonElement} */ (document.querySelector('[data-color="change"]')).hidden = !metric.change;
		/** @type {HTMLButtonElement} */ (document.querySelector('[data-color="path"]')).hidden = !this.palette.paths.known.length;
		this.showReset();
		document.querySelectorAll('[role="tabpanel"]').forEach((panel) => {
			/** @type {HTMLElement} */ (panel).hidden = panel.id !== "panel-" + state.tab;
		});
		const pills = element("pills");
		pills.hidden = state.filters.length === 0;
		pills.replaceChildren(...state.filters.map((filter) => this.makePill(filter)));
		this.showLegend();
	}

	showReset() {
		element("reset").hidden = this.box === this.root && this.picture.view.isWhole;
	}

	/** Shows the colours of call paths that the chart has only now. */
	recolor() {
		this.palette.mode = this.colorMode();
		this.picture.paint();
		this.showControls();
	}

	/** Shows what the colours mean. */
	showLegend() {
		const legend = element("legend"), mode = this.colorMode(), most = 6;
		/** @param {string} color @param {string} text @param {string} [kind] */
		const entry = (color, text, kind = "") => {
			const item = make("span", "entry"), swatch = make("span", "swatch " + kind);
			swatch.style.backgroundColor = color;
			item.append(swatch, make("span", "", text));
			return item;
		};
		const {dark} = this.palette, grew = dark ? hsl(8, 60, 38) : hsl(8, 85, 73), shrank = dark ? hsl(213, 60, 38) : hsl(213, 85, 73);
		if (mode === "change")
			legend.replaceChildren(entry(grew, "grew"), entry(shrank, "shrank"), entry(shrank, "vanished", "gone"),
				entry(dark ? hsl(40, 4, 29) : hsl(40, 10, 88), this.metric.errors ? "unchanged, or within the noise of sampling" : "unchanged"));
		else if (mode === "path")
			legend.replaceChildren(...this.palette.drawnPaths(this.picture.rects()).slice(0, most).map((name) => entry(this.palette.paths.color(name), name)),
				entry(this.palette.paths.color(""), "others"));
		else if (mode === "module")
			legend.replaceChildren(...this.palette.drawn(this.picture.rects()).slice(0, most)
				.map((module) => entry(this.palette.moduleColor(module), module)));
		else
			legend.replaceChildren(make("span", "entry", "one colour for each function"));
	}

	/** @param {Filter} filter */
	makePill(filter) {
		const words = {focus: "only", ignore: "without", hide: "hidden", thread: "thread", size: "objects", age: "age"}[filter.kind];
		const text = filter.kind === "thread" ? this.threadName(threadOf(this.data.facts, filter.text)) : filter.kind === "size" ? sizeName(Number(filter.text))
			: filter.kind === "age" ? ageName(filter.text, this.data.facts) : filter.text.replace(/^\^(.*)\$$/, "$1").replace(/\\(.)/g, "$1");
		const item = make("li", "pill"), remove = make("button", "", "×");
		remove.setAttribute("aria-label", `Remove the filter: ${words} ${text}`);
		remove.addEventListener("click", () => this.go({filters: this.state.filters.filter((other) => other !== filter)}));
		item.append(make("span", "kind", words), make("span", "text", text), remove);
		return item;
	}

	/** @param {number} thread */
	threadName(thread) {
		const at = this.data.facts.threads[thread] ?? {name: "", id: ""};
		return at.name ? at.name + (at.id ? " (" + at.id + ")" : "") : at.id ? "number " + at.id : "not known";
	}

	showTable() {
		const {state} = this;
		if (state.tab === "functions") {
			this.table.show(this.sums, this.tree.size[0], this.found, state.sort, this.selected);
			return;
		}
		if (state.tab !== "threads" && state.tab !== "sizes")
			return;
		if (state.tab === "threads") {
			this.fillParts("threads", "thread", "The profile has no threads.");
		} else {
			this.fillParts("sizes", "size", "The profile has no object sizes.");
			this.fillParts("ages", "age", "");
			element("ages-title").hidden = !element("ages").children.length;
		}
	}

	/** @param {string} id @param {"thread" | "size" | "age"} kind @param {string} empty */
	fillParts(id, kind, empty) {
		const {filters} = this.state, {facts} = this.data, text = (/** @type {number} */ key) => kind === "thread" ? threadKey(facts, key) : String(key);
		const parts = this.parts(kind), name = (/** @type {number} */ key) => kind === "thread" ? this.threadName(key)
			: kind === "size" ? sizeName(key) : ageName(String(key), facts);
		const isActive = (/** @type {string} */ wanted) => filters.some((filter) => filter.kind === kind && filter.text === wanted);
		fillParts(element(id), this.metric, parts.map(({key, value, other}) => ({
			label: name(key), value, other, active: isActive(text(key)),
			pick: () => this.toggle({kind, text: text(key)}),
			more: kind === "age" && key < facts.ages.length ? {label: "and older", active: isActive(key + "+"),
				pick: () => this.toggle({kind, text: key + "+"})} : undefined,
		})), empty);
	}

	/** The memory of each thread, size or age, under all filters except those of the same kind. @param {"thread" | "size" | "age"} kind */
	parts(kind) {
		const {split, data, state} = this, {threads} = data.facts;
		if (!split)
			return [];
		const passed = passing(data, state.filters), weights = weightsOf(split.columns, this.metric);
		const wanted = wantedGroups(data.facts, split, state.filters.filter((filter) => filter.kind !== kind));
		/** @type {Map<number, {key: number, value: number, other: number}>} */
		const sums = new Map();
		for (let node = 0; node < passed.length; node++)
			for (let at = split.first[node]; passed[node] && at < split.first[node + 1]; at++) {
				const group = split.group[at], key = split[kind][group];
				if (!wanted[group])
					continue;
				const sum = sums.get(key) ?? {key, value: 0, other: 0};
				sum.value += weights.value[at];
				sum.other += weights.other[at];
				sums.set(key, sum);
			}
		const known = [...sums.values()].filter(({key, value}) =>
			value && (kind !== "thread" ? key > 0 : threads[key]?.name || threads[key]?.id));
		return known.sort((a, b) => kind !== "thread" ? a.key - b.key : Math.abs(b.value) - Math.abs(a.value));
	}

	/* Actions. */

	/** @param {Box} box */
	zoom(box) {
		const {functions} = this.data, selected = box.func ? functions[box.func].name : this.state.selected;
		if (this.state.view === "around" && this.selected)
			this.go({selected});
		else
			this.go({zoom: box.path().map((func) => functions[func].name), selected});
	}

	/**
	 * Shows another value: live, allocated, peak and so on, in bytes or objects if the page has both.
	 * @param {string} kind @param {string} unit
	 */
	chooseValue(kind, unit) {
		const {columns} = this.data.facts, type = columns.some((column) => column.type === kind + "_" + unit) ? kind + "_" + unit : kind + "_space";
		this.go({value: type === columns[0].type ? "" : type});
	}

	/** @param {Filter} filter */
	toggle(filter) {
		const {filters} = this.state, same = filters.filter((other) => other.kind !== filter.kind || other.text !== filter.text);
		this.go({filters: same.length < filters.length ? same : [...filters, filter]});
	}

	/** @param {string | null} action @param {number} func @param {Box | null} box */
	act(action, func, box) {
		const {name} = this.data.functions[func];
		if (action === "zoom" && box)
			this.zoom(box);
		else if (action === "around")
			this.choose(func, {view: "around", zoom: []});
		else if (action === "copy" && box)
			this.copy(this.stackText(box));
		else if (action === "copy-name")
			this.copy(name);
		else if (action === "focus" || action === "ignore" || action === "hide")
			this.go({filters: [...this.state.filters, {kind: action, text: exactly(name)}], zoom: [],
				selected: action === "focus" ? name : "", view: this.state.view === "around" && action !== "focus" ? "calls" : this.state.view});
	}

	/** The stack as text, the callee first. @param {Box} box */
	stackText(box) {
		const path = this.root.func ? [this.root.func, ...box.path()] : box.path(), names = path.map((func) => this.data.functions[func].name);
		return (box instanceof UpBox ? names : names.reverse()).join("\n");
	}

	/** @param {string} text */
	async copy(text) {
		say(await copyText(text) ? "Copied" : "The browser did not allow copying");
	}

	/** @param {string | undefined} format */
	async download(format) {
		const name = (element("title").textContent ?? "profile").replace(/[^\w.-]+/g, "-").slice(0, 60) || "profile", {functions} = this.data;
		if (format === "svg") {
			const svg = pictureSvg(this.picture, element("title").textContent ?? "", element("total").textContent ?? "", this.tree.size[0]);
			download(new Blob([svg], {type: "image/svg+xml"}), name + ".svg");
		} else if (format === "folded") {
			download(new Blob([foldedText(this.tree, functions)], {type: "text/plain"}), name + ".folded");
		} else if (format === "pprof") {
			download(await gzip(pprofBytes(this.exported())), name + ".pb.gz");
		}
		say("Downloaded");
	}

	/** All data that pass the filters, with all values. @returns {Exported} */
	exported() {
		const {data, tree, state, metric} = this, {facts, functions} = data;
		const order = [...new Set([metric.column, ...facts.columns.keys()])];
		const values = order.map((column) => {
			if (column === metric.column)
				return tree.self.value;
			const self = weightsOf(data.columns, metricOf(facts, column, this.film ? metric.change : undefined));
			return refine({...data, self}, this.split, state.filters, true).self.value;
		});
		return {facts, functions, parent: tree.parent, func: tree.func, types: order.map((column) => facts.columns[column]), values};
	}

	/** @param {Box} box @param {number} x @param {number} y */
	openMenu(box, x, y) {
		const menu = element("menu");
		this.tip.hide();
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

	/** @param {boolean} open */
	openDownloads(open) {
		element("downloads").hidden = !open;
		element("download-button").setAttribute("aria-expanded", String(open));
		if (open)
			element("downloads").querySelector("button")?.focus();
	}

	/* Details. */

	/** @param {Box} box */
	detail(box) {
		element("detail-name").textContent = this.name(box);
		element("detail-place").textContent = box.func > 0 ? placeOf(this.data.functions[box.func])
			: box.above ? "Stacks too small to show separately on this page." : "What the filters leave.";
		const more = moreFigures(box).map(([name, value]) => {
			const item = make("div");
			item.append(make("dt", "", name), make("dd", "", value));
			return item;
		});
		element("detail-figures").replaceChildren(makeFigures(box, this.tree.size[0]));
		element("detail-more").replaceChildren(...more);
		element("detail-actions").hidden = !this.selected;
		element("detail").hidden = !this.selected && !this.state.filters.length && box === this.root;
	}

	/* Event handlers. */

	listen() {
		/** @param {string} selector @param {(button: HTMLElement) => void} act */
		const each = (selector, act) => document.querySelectorAll(selector).forEach((button) =>
			button.addEventListener("click", () => act(/** @type {HTMLElement} */ (button))));
		each("[data-view]", (button) => this.go({view: /** @type {State["view"]} */ (button.dataset.view), zoom: []}));
		each("[data-widths]", (button) => this.go({widths: /** @type {State["widths"]} */ (button.dataset.widths)}));
		each("[data-color]", (button) => this.go({color: /** @type {State["color"]} */ (button.dataset.color)}));
		each("[data-unit]", (button) => this.chooseValue(this.metric.type.split("_")[0], button.dataset.unit ?? ""));
		each("[data-tab]", (button) => this.go({tab: button.dataset.tab ?? "functions"}));
		each("#detail-actions [data-action]", (button) => this.act(button.dataset.action ?? null, this.selected, null));
		each("#menu [data-action]", (button) => {
			const box = this.menuBox;
			this.closeMenu();
			if (box)
				this.act(button.dataset.action ?? null, box.func, box);
		});
		each("#search-actions [data-kind]", (button) => this.go({search: "", zoom: [],
			filters: [...this.state.filters, {kind: /** @type {Filter["kind"]} */ (button.dataset.kind), text: this.state.search}]}));
		each("#search-next", () => this.stepMatch(1));
		each("#search-previous", () => this.stepMatch(-1));
		each("#reset", () => {
			this.picture.showWhole();
			this.go({zoom: []});
		});
		each("#help-button", () => /** @type {HTMLDialogElement} */ (element("help")).showModal());
		each("#download-button", () => this.openDownloads(element("downloads").hidden));
		each("#downloads [data-format]", (button) => {
			this.openDownloads(false);
			element("download-button").focus();
			this.download(button.dataset.format);
		});
		each("#downloads [data-copy]", () => {
			this.openDownloads(false);
			this.copy(location.href);
		});
		const input = /** @type {HTMLInputElement} */ (element("search"));
		input.addEventListener("input", () => this.go({search: input.value}, true));
		addEventListener("popstate", () => this.show(readState(location.hash, this.data.facts)));
		document.addEventListener("pointerdown", (event) => {
			const target = /** @type {Node} */ (event.target);
			if (!element("menu").hidden && !element("menu").contains(target))
				this.closeMenu();
			if (!element("downloads").contains(target) && !element("download-button").contains(target))
				this.openDownloads(false);
		});
		document.querySelector('[role="tablist"]')?.addEventListener("keydown", (event) => this.tabKey(/** @type {KeyboardEvent} */ (event)));
		document.addEventListener("keydown", (event) => this.key(event));
	}

	/** Arrow keys go from tab to tab. @param {KeyboardEvent} event */
	tabKey(event) {
		const tabs = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[role="tab"]:not([hidden])')]),
			at = tabs.indexOf(/** @type {HTMLElement} */ (event.target));
		const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1}[event.key];
		if (to === undefined || at < 0)
			return;
		const tab = tabs[(to + tabs.length) % tabs.length];
		tab.focus();
		tab.click();
		event.preventDefault();
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const target = /** @type {HTMLElement} */ (event.target), typing = target instanceof HTMLInputElement;
		const menu = element("menu"), downloads = element("downloads"), list = !menu.hidden ? menu : !downloads.hidden ? downloads : null;
		if (event.ctrlKey || event.metaKey || event.altKey || /** @type {HTMLDialogElement} */ (element("help")).open)
			return;
		if (event.key === "Escape") {
			if (!menu.hidden)
				this.closeMenu();
			else if (!downloads.hidden) {
				this.openDownloads(false);
				element("download-button").focus();
			} else if (this.state.search)
				this.go({search: ""});
			else if (!this.picture.view.isWhole)
				this.picture.showWhole();
			else if (this.state.zoom.length)
				this.go({zoom: this.state.zoom.slice(0, -1)});
			else
				return;
		} else if (list && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
			const items = [...list.querySelectorAll("button")], at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
			items[(at + (event.key === "ArrowDown" ? 1 : items.length - 1)) % items.length].focus();
		} else if (typing && event.key === "Enter" && target.id === "search") {
			this.stepMatch(event.shiftKey ? -1 : 1);
		} else if (typing) {
			return;
		} else if ((event.key === "n" || event.key === "N") && this.found) {
			this.stepMatch(event.key === "N" ? -1 : 1);
		} else if (event.key === "/") {
			element("search").focus();
		} else if (event.key === "?") {
			/** @type {HTMLDialogElement} */ (element("help")).showModal();
		} else if (["1", "2", "3"].includes(event.key)) {
			const view = /** @type {const} */ (["calls", "leaves", "around"])[Number(event.key) - 1];
			if (view !== "around" || this.selected)
				this.go({view, zoom: []});
		} else {
			return;
		}
		event.preventDefault();
	}
}

/** Whether this browser can show the page. */
export function checkBrowser() {
	if (typeof DecompressionStream === "undefined" || !CSS.supports("color", "light-dark(red, red)"))
		throw new Error("This page needs a browser of 2024 or later.");
}
