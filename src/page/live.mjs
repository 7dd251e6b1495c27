// @ts-check
/* live.mjs - the page of a process that runs: it follows, can be stopped at any moment, and goes on by itself when the server, the service
 * or the network were away.
 *
 * Everything a person chooses is in the address, by names and times, so that it outlives refreshes and restarts.
 * Longer than other files: one class follows the server and holds what is shown, so that a moment is never half of one answer and half
 * of the next.
 * SPDX-License-Identifier: Apache-2.0 */
import {Chart} from "./chart.mjs";
import {PathColors} from "./color.mjs";
import {Comparison, rangeTitle} from "./compare.mjs";
import {Course} from "./course.mjs";
import {readTree} from "./data.mjs";
import {element, make, say} from "./dom.mjs";
import {takeDrops} from "./drop.mjs";
import {download} from "./export.mjs";
import {chooseProcess, listedProcesses, LiveServer, ServerError, splitBlocks} from "./live_data.mjs";
import {showAllocator, showFix, showGrowing, showHealth, showRuns, showSource} from "./live_tabs.mjs";
import {checkBrowser, Page} from "./page.mjs";
import {readState, writeState} from "./state.mjs";
import {showBill, showChurn} from "./tabs.mjs";
import {Ranks} from "./tree.mjs";
import {clockTime, humanBytes, humanObjects, humanRate, humanTime, percent} from "./units.mjs";
/** @import {LiveSeries} from "./course.mjs" */
/** @import {LiveProcess} from "./live_data.mjs" */
/** @import {State} from "./state.mjs" */

/** The question before an action, what it does, and the two answers. @type {Record<string, string[]>} */
const questions = {
	deactivate: ["Stop sampling in the service?",
		"What the service allocates while sampling is stopped is never seen, by anybody. Samples so far stay. Pause holds only this page still.",
		"Go on sampling", "Stop sampling"],
	reset: ["Discard all samples?",
		"The profile of the service then covers only what is allocated from now on. What this page has kept stays.", "Keep them", "Discard"],
};

class Live {
	constructor() {
		/** What shows the dump; null until the first is there. @type {Page | null} */
		this.page = null;
		/** The process whose first tab was chosen. */
		this.opened = "";
		/** What was chosen before. @type {State} */
		this.early = readState(location.hash, null);
		this.server = new LiveServer(location.search);
		/** @type {LiveProcess[]} */
		this.processes = [];
		/** Instances and services of a store, and processes of folders, that the list has no room for. */
		this.unlisted = [0, 0, 0];
		/** The server has not read all of its folders, or of its store, yet. */
		this.loading = false;
		this.history = new Course();
		/** What the picture shows: the ids of its dumps. */
		this.shownAt = 0;
		this.shownBase = 0;
		/** The other range that is shown beside it. @type {Comparison | null} */
		this.comparison = null;
		this.otherRange = [0, 0];
		/** What was asked for to show that. */
		this.askedOther = "";
		/** What was asked for to show that; empty when it has to be asked for again. */
		this.asked = "";
		/** The key of the process that the history is of. */
		this.key = "";
		/** Since when nothing was heard; 0 while all is well. */
		this.lostSince = 0;
		this.skew = 0;
		/** What is shown in place of a dump, in words: a CPU profile, or a file that was dropped; empty for none. */
		this.aside = "";
		this.heard = {date: Date.now(), running: performance.now()};
		/** There are no events, so memory is what each list of processes says. */
		this.polls = false;
		/** Since when nobody can see the page; 0 while somebody can. One that is opened out of sight waits at once. */
		this.hiddenSince = document.hidden ? 1 : 0;
		/** Ends the wait of a page that nobody sees. @type {() => void} */
		this.wake = () => {};
		this.busy = false;
		this.again = false;
		/** Events that were not taken over yet. @type {any[]} */
		this.news = [];
		this.serverStart = 0;
		/** When the whole list was asked for. */
		this.listedAt = 0;
		this.doctorKey = "";
		/** When it is asked again, after it did not answer. */
		this.doctorAgain = Infinity;
		/** What a tab shows: fetched again when that changes. @type {Map<string, string>} */
		this.filled = new Map();
		/** What is being fetched for it. @type {Map<string, string>} */
		this.filling = new Map();
		this.paths = new PathColors();
		this.chart = new Chart(this.paths, {
			moment: (id) => this.chooseMoment(id),
			range: (from, to) => this.go({base: new Date(from).toISOString(), at: new Date(to).toISOString()}),
			select: (leaf) => this.page?.choose(this.page.byName.get(leaf) ?? 0, {}),
		}, {unit: "bytes", fixed: false, clock: clockTime, zone: ""});
	}

	/** @returns {State} */
	get state() {
		return this.page ? this.page.state : this.early;
	}

	/** @param {Partial<State>} changes */
	go(changes) {
		if (this.page) {
			this.page.go(changes);
		} else {
			this.early = {...this.early, ...changes};
			history.replaceState(null, "", writeState(this.early));
			this.refresh();
		}
	}

	/** The key of the process that the address asks for, else of the one that is shown; "" for none yet. */
	get wantedKey() {
		return this.state.process || this.key;
	}

	/** The process to show. The list may not have it yet, or not any more. @returns {LiveProcess | undefined} */
	get process() {
		return chooseProcess(this.processes, this.wantedKey, this.loading);
	}

	/** Why there is no process to show. */
	get absence() {
		const wanted = this.wantedKey, {length} = this.processes;
		if (this.loading)
			return length ? `Loading … ${length} so far.` : "Loading …";
		return wanted ? `${wanted} is not listed any more${wanted === this.key ? "; this is the last that is known of it" : ""}.`
			: "No dump yet. The page shows the first one that is written.";
	}

	get following() {
		return !this.state.at && !this.aside;
	}

	async start() {
		checkBrowser();
		this.listen();
		setInterval(() => this.tick(), 1000);
		this.connect();
		await this.refresh();
		document.documentElement.dataset.ready = "yes";
	}

	/* Talking to the server. */

	/** Notes a sign of life of the server. */
	hear() {
		this.heard = {date: Date.now(), running: performance.now()};
	}

	/** For how long nothing was heard. One clock stands still while a laptop sleeps, and somebody may set the other. */
	silence() {
		return Math.max(Date.now() - this.heard.date, performance.now() - this.heard.running);
	}

	/** Whether nobody has seen the page for a while. A browser has few connections to one server, and all its tabs share them. */
	get asleep() {
		return this.hiddenSince > 0 && Date.now() - this.hiddenSince > 5000;
	}

	/** Waits until somebody sees the page again, and asks now and then meanwhile, for the title. */
	async sleep() {
		while (this.asleep) {
			await new Promise((resolve) => {
				this.wake = () => resolve(null);
				setTimeout(resolve, 30000);
			});
			await this.refresh();
		}
	}

	/** Listens for events, for ever. Where the server has none, as an agent, asks again and again instead. */
	async connect() {
		const longest = 15000, pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
		for (let wait = 500; ; wait = Math.min(wait * 2, 10000)) {
			const abort = new AbortController();
			if (this.asleep)
				await this.sleep();
			this.hear();
			if (this.polls) {
				await pause(2000);
				wait = 500;
				this.refresh();
				continue;
			}
			/* A laptop that slept, or a network that is gone, does not say so. */
			const guard = setInterval(() => (this.silence() > longest || this.asleep) && abort.abort(), 1000);
			try {
				await this.server.events((event, data) => {
					wait = 500;
					this.take(event, data);
				}, () => this.hear(), abort.signal);
			} catch (error) {
				if (error instanceof ServerError && error.status === 401)
					this.showProblem(error.message);
				this.polls = error instanceof ServerError && error.status === 501;
			}
			clearInterval(guard);
			if (this.polls || this.asleep) {
				wait = 500;
				continue;
			}
			if (!this.lostSince)
				this.lostSince = Date.now();
			this.showHead();
			await pause(wait);
			this.refresh();
		}
	}

	/** @param {string} event @param {any} data */
	take(event, data) {
		this.lostSince = 0;
		if (event === "hello" && data.started !== this.serverStart) {
			if (this.serverStart) { /* another server: what is known of the old one may be wrong */
				this.history = new Course();
				this.server.tree = null;
			}
			this.serverStart = data.started;
			this.refresh();
		} else if (event === "rss") {
			const process = this.processes.find((at) => at.process === data.process);
			if (process) {
				process.resident = data.resident;
				process.limit = data.limit;
			}
			this.skew = Date.now() - data.time;
			if (data.process === this.key) {
				this.history.addResident(data.time, data.resident, data.limit);
				this.drawChart();
				this.showTiles();
			}
		} else if (event !== "hello") {
			this.refresh(data);
		}
	}

	/**
	 * Takes over the news of an event, if they are all that has changed, or asks for whatever may have changed. Of several calls while one is
	 * under way, one more follows.
	 * @param {any} [news]
	 */
	async refresh(news) {
		if (news)
			this.news.push(news);
		else
			this.again = true;
		if (this.busy)
			return;
		this.busy = true;
		try {
			while (this.again || this.news.length) {
				const next = this.again ? undefined : this.news.shift();
				if (next && this.follows(next)) {
					await this.apply(next);
					continue;
				}
				this.again = false;
				this.news = []; /* the answers have them */
				await this.load();
			}
			this.lostSince = 0;
		} catch (error) {
			if (error instanceof ServerError && error.status === 401)
				this.showProblem(error.message);
			else if (!(error instanceof ServerError) && !this.lostSince)
				this.lostSince = Date.now();
		} finally {
			this.busy = false;
		}
		this.showHead();
	}

	/** Whether NEWS go on where this page is: nothing was missed, and the order of the list is not old. @param {any} news */
	follows(news) {
		const known = this.processes.some(({process}) => process === news.entry?.process), listed = this.processes.length > 1 ? 15000 : Infinity;
		if (!known || this.loading || Date.now() - this.listedAt > listed)
			return false;
		const isDump = news.id !== undefined && news.process === this.key;
		return !isDump || (news.series && news.since === this.history.since && news.series.epoch === this.history.epoch);
	}

	/** Shows what NEWS say: the tree is all that is asked for, and only if it is in view. @param {any} news */
	async apply(news) {
		const process = /** @type {LiveProcess} */ (news.entry);
		this.processes = this.processes.map((at) => at.process === process.process ? process : at);
		this.skew = Date.now() - news.now;
		this.showHead();
		this.showList();
		if (process.process !== this.key || this.process !== process)
			return;
		if (news.series) {
			this.history.add(news.series, news.since);
			this.history.limitOf = process.limit_of;
			this.drawChart();
		}
		this.showTiles();
		if (news.series)
			await this.loadShown(process, {bill: news.bill});
		else
			await Promise.allSettled([this.loadTab(process), this.loadDoctor(process)]);
	}

	async load() {
		const list = await this.server.json("api/processes");
		this.loading = list.loading ?? false;
		this.processes = listedProcesses(list);
		this.listedAt = Date.now();
		this.unlisted = [list.unlisted_instances, list.unlisted_services, list.unlisted_processes];
		this.version = list.cairn;
		this.skew = Date.now() - list.now;
		const process = this.process;
		this.showHead();
		this.showList();
		if (!process) {
			this.showProblem(this.absence, this.loading ? "nothing" : "lost");
			return;
		}
		if (process.process !== this.key) {
			this.key = process.process;
			this.history = new Course();
			this.chart.clear();
			this.server.tree = null;
			this.filled.clear();
			this.shownAt = 0;
			this.asked = "";
			this.showList();
		}
		/* The first picture need not wait for the course of things. */
		const early = !this.history.points.length && !this.state.at && !this.state.base && process.dumps > 0 && !this.aside;
		await Promise.all([this.loadSeries(process), early ? this.loadTree(process, {at: process.last}) : null]);
		this.history.limitOf = process.limit_of;
		if (this.polls && process.live)
			this.history.addResident(list.now, process.resident, process.limit);
		await this.loadShown(process);
	}

	/** Loads what depends on the newest dump. @param {LiveProcess} process @param {{bill: any}} [bill] if it is known already */
	async loadShown(process, bill) {
		if (process.dumps > 0 && !this.aside) {
			await this.loadTree(process);
			await this.loadOther();
		}
		/* A panel that cannot be filled does not mean that the connection is lost. It is asked for again with the next load. */
		await Promise.allSettled([this.loadBill(process, bill), this.loadTab(process), this.loadDoctor(process)]);
	}

	/** @param {string} name @param {Record<string, string | number>} [more] */
	url(name, more = {}) {
		return "api/" + name + "?" + new URLSearchParams({process: this.key, ...Object.fromEntries(Object.entries(more).map(([key, value]) =>
			[key, String(value)]))});
	}

	/** @param {LiveProcess} process */
	async loadSeries(process) {
		let since = this.history.since, series = /** @type {LiveSeries} */ (await this.server.json(this.url("series", {since})));
		if (since && series.epoch !== this.history.epoch) {
			since = 0;
			series = await this.server.json(this.url("series", {since}));
		}
		this.history.add(series, since);
		if (process.process === this.key)
			this.drawChart();
		this.showTiles();
	}

	/** The ids of the dumps that the address asks for; the oldest stands for those before it. @returns {Record<string, number>} */
	wanted() {
		const {at, base} = this.state, last = this.history.points.at(-1)?.id ?? 0;
		/** @param {string} time @param {number} usual */
		const nearest = (time, usual) => time ? this.history.nearest(Date.parse(time))?.id ?? usual : usual;
		const wanted = {at: nearest(at, last), base: nearest(base, 0)};
		return wanted.base && wanted.base !== wanted.at ? wanted : {at: wanted.at};
	}

	/** @param {LiveProcess} process @param {Record<string, number>} [wanted] */
	async loadTree(process, wanted = this.wanted()) {
		const url = this.url("tree", wanted);
		if (url === this.asked && this.page)
			return;
		const {bytes, at, base} = await this.server.fetchTree(url);
		this.asked = url;
		this.shownAt = at || wanted.at;
		this.shownBase = at ? base : wanted.base ?? 0;
		if (bytes && process.process === this.key && !this.aside)
			await this.showBytes(bytes);
		this.drawChart();
	}

	/** The other range, if there is one to compare with. */
	async loadOther() {
		const ids = this.state.other.map((time) => this.history.nearest(Date.parse(time))?.id ?? 0), url = ids.length && this.shownBase && ids[0] !== ids[1]
			? this.url("tree", {at: ids[1], base: ids[0]}) : "";
		if (url === this.askedOther || !this.page)
			return;
		this.askedOther = url;
		const bytes = url ? new Uint8Array(await (await this.server.ask(url)).arrayBuffer()) : null;
		if (url !== this.askedOther)
			return;
		this.otherRange = ids;
		this.comparison = bytes ? new Comparison(this.page, splitBlocks(bytes), this.paths) : null;
		document.documentElement.toggleAttribute("data-pair", bytes !== null);
		element("other").hidden = element("this-title").hidden = !bytes;
		this.showOther();
		this.drawChart();
	}

	/** Draws the other range as the page is drawn, and says what both are. */
	showOther() {
		if (!this.comparison || !this.page || !this.shownBase)
			return;
		const tree = this.comparison.draw(), [from, to] = this.otherRange;
		element("other-title").textContent = rangeTitle("A", tree, from, to);
		element("this-title").textContent = rangeTitle("B", this.page.tree, this.shownBase, this.shownAt);
	}

	/** @param {Uint8Array} bytes */
	async showBytes(bytes) {
		const blocks = splitBlocks(bytes), split = () => Promise.resolve(blocks.split);
		if (this.page) {
			await this.page.replace(readTree(blocks.facts, blocks.tree), split);
		} else {
			performance.mark("tree");
			this.page = new Page(readTree(blocks.facts, blocks.tree), null, split, this.paths, new Ranks());
			this.page.state = this.early;
			this.page.shown = (state) => this.stateShown(state);
			element("picture").addEventListener("pointerdown", () => this.freeze());
			await this.page.show(this.page.state);
			performance.measure("update", "tree"); /* only the first: the browser keeps them all */
		}
		document.documentElement.dataset.shown = String(this.shownAt);
	}

	/** What was chosen may ask for another moment, process or tab. @param {State} state */
	stateShown(state) {
		if (this.process?.process !== this.key || this.url("tree", this.wanted()) !== this.asked)
			this.refresh();
		else
			this.loadOther().catch(() => { this.askedOther = ""; });
		this.showOther();
		if (this.process)
			this.loadTab(this.process).catch(() => {});
		this.showMoment();
		this.drawChart();
	}

	/** @param {LiveProcess} process @param {{bill: any}} [known] */
	async loadBill(process, known) {
		await this.fill("bill", String(process.last), () => known ?? this.server.json(this.url("bill")), ({bill}) => {
			element("tab-bill").hidden = !bill;
			this.bill = bill;
			this.showBillTile();
			if (bill)
				showBill(element("panel-bill"), bill, process.limit_of);
			/* Where memory is not what the heap profile shows, this tab comes first, and is the one that opens. */
			element("tab-bill").style.order = bill?.outside ? "-1" : "";
			if (bill?.outside && this.opened !== process.process && this.state.tab === "functions")
				this.go({tab: "bill"});
			this.opened = bill ? process.process : this.opened;
		});
	}

	/**
	 * Shows what is fetched for NAME, unless it shows VERSION already. An answer that comes after another process or version was asked for
	 * is not shown, and one that fails is asked for again.
	 * @param {string} name @param {string} version @param {() => any} get @param {(answer: any) => void} show
	 */
	async fill(name, version, get, show) {
		const {key} = this, wanted = key + " " + version;
		if (this.filled.get(name) === wanted)
			this.filling.delete(name); /* what is still under way for another is no longer wanted */
		if (this.filled.get(name) === wanted || this.filling.get(name) === wanted)
			return;
		this.filling.set(name, wanted);
		try {
			const answer = await get();
			if (this.key !== key || this.filling.get(name) !== wanted)
				return;
			this.filled.set(name, wanted);
			show(answer);
		} finally {
			if (this.filling.get(name) === wanted)
				this.filling.delete(name);
		}
	}

	/** @param {LiveProcess} process */
	async loadTab(process) {
		if (process.process !== this.key) /* the one that was chosen is loaded first */
			return;
		const {tab} = this.state;
		const pick = (/** @type {string} */ name) => this.page?.choose(this.page.byName.get(name) ?? 0, {view: "around", zoom: []});
		element("tab-churn").hidden = !process.churn;
		element("tab-runs").hidden = this.history.runs.length < 2;
		element("tab-health").hidden = !process.live;
		element("tab-allocator").hidden = !(process.live && process.engine === "jemalloc");
		const panel = element("panel-" + tab), version = String(process.last);
		const ask = (/** @type {string} */ name) => () => this.server.json(this.url(name));
		if (tab === "growing")
			await this.fill(tab, version + process.sentence, ask("leaks"), (leaks) => showGrowing(panel, leaks, pick));
		else if (tab === "runs")
			await this.fill(tab, version + process.state, () => this.history.runs, (runs) =>
				showRuns(panel, runs, (run) => this.chooseMoment(run.last)));
		else if (tab === "churn")
			await this.fill(tab, version, ask("churn"), (churn) => showChurn(panel, churn, (name) => this.page?.chooseFreed(name)));
		else if (tab === "health")
			await this.fill(tab, version, ask("health"), (health) => showHealth(panel, health, process, this.page?.data.facts));
		else if (tab === "allocator")
			await this.fill(tab, version, ask("allocator"), (allocator) => showAllocator(panel, allocator));
		else if (tab === "source")
			await this.loadSource(panel, this.state.selected);
	}

	/** @param {HTMLElement} panel @param {string} name */
	async loadSource(panel, name) {
		const show = (/** @type {string} */ text) => panel.replaceChildren(make("p", "empty", text)), {key, shownAt} = this;
		try {
			await this.fill("source", shownAt + name, () => name && this.server.json(this.url("source", {function: name, at: shownAt})), (source) =>
				source ? showSource(panel, source, name, this.page?.data.facts.columns[0].unit ?? "bytes") : show("Select a function, in the picture or in a table, to see its lines."));
		} catch (error) {
			if (key === this.key && name === this.state.selected) {
				this.filled.delete("source");
				show(error instanceof Error ? error.message : String(error));
			}
		}
	}

	/** Nothing to see has a reason, and mostly a line that changes it. @param {LiveProcess} process */
	async loadDoctor(process) {
		const box = element("fix"), trouble = process.live && (process.state === "silent" || process.state === "paused"
			|| (process.dumps > 0 && process.total === 0)), key = trouble ? process.process + process.state : "";
		if (key === this.doctorKey && Date.now() < this.doctorAgain)
			return;
		if (key !== this.doctorKey)
			box.hidden = true;
		this.doctorKey = key;
		this.doctorAgain = Infinity;
		if (!trouble || process.state === "paused")
			return;
		try {
			const fix = await this.server.json(this.url("doctor"));
			if (key === this.doctorKey)
				showFix(box, fix, (what) => this.act(what));
		} catch { /* The sentence says what is known. */
			this.doctorAgain = Date.now() + 10000;
		}
	}

	/* What stands above the picture. */

	showHead() {
		const process = this.process;
		if (!process)
			return;
		const ago = Math.max(0, Math.round((Date.now() - this.skew - process.last) / 1000));
		element("title").textContent = process.program || process.process;
		document.title = (process.kind === "growing" ? "↗ " : "") + (process.program || process.process) + " · Cairn";
		const words = {waiting: "waiting", sampling: "sampling", paused: "sampling paused", stopped: "stopped", silent: "no answer", ended: "ended",
			dumps: "dumps"};
		const since = process.state === "sampling" && process.sampling_since ? process.sampling_since : process.since;
		const parts = [process.pid ? `PID ${process.pid}` : "", process.host, words[process.state] + (process.state === "dumps" ? ""
			: process.state === "ended" ? ` ${process.why}` : ` since ${clockTime(since, false)}`),
			process.last ? `updated ${ago < 120 ? ago + " s" : humanTime(ago)} ago` : "",
			[process.engine === "cairn" ? "Cairn's engine" : process.engine, process.period > 1 ? `a sample every ${humanBytes(process.period, true)}` : ""]
				.filter(Boolean).join(", "),
			["early", "nothing"].includes(process.kind) && process.next_in > 0 ? `next in ${Math.ceil(process.next_in)} s` : ""];
		const line = element("state");
		line.textContent = parts.filter(Boolean).join(" · ");
		line.title = process.command;
		line.dataset.state = this.lostSince ? "lost" : process.state;
		const verdict = element("verdict"), lost = this.lostSince ? Math.round((Date.now() - this.lostSince) / 1000) : 0;
		const sentence = lost > 2 ? `no connection to the server for ${lost} s; trying again; until then: ${process.sentence}` : process.sentence;
		if (verdict.textContent !== sentence)
			verdict.textContent = sentence;
		element("forecast").textContent = lost > 2 ? "" : process.forecast;
		element("forecast").hidden = lost > 2 || !process.forecast;
		verdict.dataset.kind = lost > 2 ? "lost" : process.state === "ended" ? "ended" : process.state === "silent" ? "lost" : process.kind;
		const sampling = element("sampling"), paused = process.state === "paused";
		sampling.textContent = paused ? "Start sampling" : "Stop sampling …";
		sampling.dataset.live = paused ? "activate" : "deactivate";
		for (const [id, on] of /** @type {const} */ ([["pause", process.live && process.dumps > 0], ["snapshot", process.live],
			["set-base", process.dumps > 0], ["save", process.dumps > 0], ["sampling", process.state !== "silent"]]))
			/** @type {HTMLButtonElement} */ (element(id)).disabled = !on || this.lostSince > 0;
		element("more-button").hidden = !process.live;
		element("footer").textContent = `Cairn ${this.version ?? ""}. The page loads nothing from other servers.`;
		this.showMoment();
	}

	/** @param {string} text @param {string} [kind] */
	showProblem(text, kind = "lost") {
		element("verdict").textContent = text;
		element("verdict").dataset.kind = kind;
	}

	showMoment() {
		const behind = this.shownAt ? Math.max(0, Math.round((Date.now() - this.skew - this.shownAt) / 1000)) : 0, {state} = this, {base} = state;
		const process = this.process, what = this.shownBase ? `What changed from ${clockTime(this.shownBase)} to ${clockTime(this.shownAt)}`
			: this.shownAt ? `Memory at ${clockTime(this.shownAt)}` : "No dump yet";
		const first = this.history.points[0]?.id ?? 0, gone = [base, this.state.at].map((time) => Date.parse(time))
			.filter((time) => time < first).map((time) => clockTime(time)).join(" and ");
		const old = gone && this.shownAt ? `; ${gone} is before the oldest dump that is kept` : "";
		const same = state.other.length && !this.aside && state.other[0] === state.base && Math.abs(Date.parse(state.other[1]) - this.shownAt) < 1;
		const text = same ? "This range is A. Drag over the chart to choose B" : this.aside ? this.aside : base && !this.shownBase && this.following
			? `The base is ${clockTime(Date.parse(base))}; the next dump shows what changed`
			: this.following ? process?.live ? what + ", following" : what
			: `${what}, ${behind < 120 ? behind + " s" : humanTime(behind)} behind`;
		const all = this.aside ? text : text + old;
		if (element("moment").textContent !== all)
			element("moment").textContent = all;
		element("follow").hidden = this.following;
		element("pause").textContent = this.following ? "Pause" : "Resume";
		element("pause").title = this.following ? "Hold this page still; the service goes on (Space)" : "Follow again (Space)";
		element("clear-base").hidden = !base || !!this.aside;
		element("compare").hidden = !this.shownBase || !!this.aside;
		element("compare").textContent = state.other.length ? "End comparison" : "Compare with another range";
		element("set-base").setAttribute("aria-pressed", String(Boolean(base)));
		element("tab-functions").textContent = this.shownBase ? "Change" : "Now";
	}

	/** @param {string} id @param {string} number @param {string} more @param {string} [kind] */
	tile(id, number, more, kind = "") {
		const tile = element(id), strong = tile.querySelector("strong"), words = tile.querySelector(".tile-more");
		if (strong && strong.textContent !== number)
			strong.textContent = number;
		if (words && words.textContent !== more)
			words.textContent = more;
		tile.dataset.kind = kind;
	}

	showTiles() {
		const process = this.process, {history} = this, last = history.points.at(-1);
		if (!process)
			return;
		const resident = process.resident || last?.resident || 0, limit = process.limit || history.limit, share = limit ? resident / limit : 0;
		this.tile("tile-resident", resident ? humanBytes(resident) : "–", limit ? `${percent(resident, limit)} of ${humanBytes(limit)}`
			+ (process.limit_of.startsWith("machine") ? ` in the ${process.limit_of}` : "") : "", share > 0.9 ? "alarm" : "");
		const bar = /** @type {HTMLElement | null} */ (document.querySelector("#tile-resident .bar"));
		if (bar)
			bar.style.width = Math.min(100, 100 * share).toFixed(1) + "%";
		this.tile("tile-total", last ? humanBytes(last.total) : "–", last ? (last.objects ? humanObjects(last.objects) : "")
			+ (resident ? `, ${percent(last.total, resident)} of resident` : "") : "");
		const end = history.now || last?.id || 0, begin = Math.max(history.resident[0]?.[0] ?? history.points[0]?.id ?? end, end - 300000);
		const change = history.weightAt(end) - history.weightAt(begin), seconds = (end - begin) / 1000;
		element("tile-growth").querySelector(".tile-name")?.replaceChildren(seconds >= 299 || seconds <= 0 ? "Last five minutes"
			: `Last ${humanTime(seconds)}`);
		this.tile("tile-growth", seconds > 0 ? (change > 0 ? "+" : "") + humanBytes(change) : "–",
			seconds > 0 ? humanRate((change / seconds) * 3600) + " resident" : "", change > 0.02 * (resident || 1) ? "up" : "");
	}

	/** The bill as one bar. */
	showBillTile() {
		const bar = element("bill-bar"), words = element("tile-bill").querySelector(".tile-more"), {bill} = this;
		/** @type {HTMLButtonElement} */ (element("tile-bill")).disabled = !bill;
		if (!bill) {
			bar.replaceChildren();
			words?.replaceChildren("–");
			return;
		}
		const lines = /** @type {any[]} */ (bill.lines).filter((line) => line.bytes > 0).sort((a, b) => b.bytes - a.bytes);
		bar.replaceChildren(...lines.map((line, i) => {
			const part = make("span");
			part.style.width = (100 * line.share).toFixed(2) + "%";
			part.style.background = `color-mix(in srgb, var(--accent) ${Math.max(12, 88 - 19 * i)}%, var(--well))`;
			part.title = `${line.name}: ${humanBytes(line.bytes)}`;
			return part;
		}));
		words?.replaceChildren(bill.sentence || lines.slice(0, 2).map((line) => `${percent(line.bytes, bill.total)} ${line.name}`).join(", "));
	}

	drawChart() {
		const last = this.history.points.at(-1)?.id ?? 0, at = this.shownAt || last, moves = this.shownBase > 0 || !this.following;
		const known = this.paths.known.length;
		this.chart.other = this.comparison ? this.otherRange : [];
		this.chart.show(this.history, moves ? this.shownBase || at : 0, moves ? at : 0);
		if (this.paths.known.length !== known)
			this.page?.recolor();
	}

	showList() {
		const list = element("process-list"), several = this.processes.length > (this.process ? 1 : 0);
		element("processes").hidden = !several;
		if (!several)
			return;
		const keys = this.processes.map((process) => process.process).join("\n");
		if (list.dataset.keys !== keys) {
			const active = /** @type {HTMLElement | null} */ (document.activeElement), focused = list.contains(active) && active?.dataset.process;
			list.dataset.keys = keys;
			list.replaceChildren(...this.processes.map((process) => {
				const item = make("li"), button = make("button", "process");
				button.dataset.process = process.process;
				button.append(make("span", "name"), make("span", "number"), make("span", "sentence"));
				button.addEventListener("click", () => this.go({process: process.process, at: "", base: "", other: [], zoom: [], selected: ""}));
				item.append(button);
				return item;
			}));
			if (focused)
				/** @type {HTMLElement | null} */ (list.querySelector(`[data-process="${CSS.escape(focused)}"]`))?.focus();
		}
		this.processes.forEach((process, i) => {
			const button = /** @type {HTMLElement} */ (list.children[i].firstElementChild), [name, number, sentence] = button.children;
			name.textContent = `${process.program || process.process} ${process.runs > 1 ? process.runs + " runs" : process.pid || ""}`;
			number.textContent = process.resident ? humanBytes(process.resident) : humanBytes(process.total);
			sentence.textContent = process.sentence;
			button.dataset.kind = process.kind;
			button.setAttribute("aria-current", String(process.process === this.key));
		});
		const [instances, services, processes] = this.unlisted, more = element("unlisted"), words = [];
		if (services)
			words.push(`${services} more service${services > 1 ? "s" : ""}`);
		if (instances)
			words.push(`${instances} more instance${instances > 1 ? "s" : ""}, further from their limits`);
		if (processes)
			words.push(`${processes} more process${processes > 1 ? "es" : ""}, with older dumps`);
		more.hidden = words.length === 0;
		more.textContent = `Not listed: ${words.join("; ")}.`;
	}

	/* Actions. */

	/** @param {number} id */
	chooseMoment(id) {
		const last = this.history.points.at(-1)?.id;
		this.leaveAside();
		this.go({at: id === last && !this.state.base ? "" : new Date(id).toISOString()});
	}

	/** Keeps what is shown, whatever comes. */
	freeze() {
		if (this.following && this.shownAt && this.process?.live)
			this.page?.go({at: new Date(this.shownAt).toISOString()}, true);
	}

	resume() {
		this.leaveAside();
		this.go({at: ""});
		this.refresh();
	}

	leaveAside() {
		if (this.aside) {
			this.aside = "";
			this.shownAt = 0;
			this.asked = "";
			this.server.tree = null;
		}
	}

	toggleBase() {
		this.leaveAside();
		if (this.state.base)
			this.go({base: "", at: "", other: []});
		else if (this.shownAt)
			this.go({base: new Date(this.shownAt).toISOString(), at: ""});
	}

	/** Keeps the range that is shown, to see another one beside it. */
	toggleComparison() {
		const range = [this.shownBase, this.shownAt].map((id) => new Date(id).toISOString()).sort();
		this.go(this.state.other.length ? {other: []} : {other: range, base: range[0], at: range[1]});
	}

	/** @param {string} what */
	async act(what) {
		try {
			await this.server.post(this.url(what));
			say({activate: "Sampling", deactivate: "Sampling is stopped; samples stay", dump: "The service has written a dump",
				reset: "All samples are discarded", snapshot: "Snapshot taken", attach: "Attached; the first snapshot follows"}[what] ?? "Done");
			this.refresh();
		} catch (error) {
			say(error instanceof Error ? error.message : String(error));
		}
	}

	/** What changes the profile for everybody is done after a question. @param {string} what */
	askFirst(what) {
		const dialog = /** @type {HTMLDialogElement} */ (element("confirm"));
		["title", "text", "no", "yes"].forEach((part, i) => element("confirm-" + part).textContent = questions[what][i]);
		dialog.dataset.what = what;
		dialog.showModal();
	}

	async profileCpu() {
		say("Profiling the CPU for ten seconds …");
		try {
			const bytes = new Uint8Array(await (await this.server.post(this.url("cpu", {seconds: 10}))).arrayBuffer());
			await this.showAside("CPU time of ten seconds", bytes);
		} catch (error) {
			say(error instanceof Error ? error.message : String(error));
		}
	}

	/** Shows a tree that is of no dump of the process. @param {string} what @param {Uint8Array} bytes */
	async showAside(what, bytes) {
		this.aside = what;
		this.shownBase = 0;
		this.go({other: []});
		await this.showBytes(bytes);
		this.showMoment();
		this.drawChart();
	}

	/** Shows a file that was dropped, which the server reads. @param {File} file */
	async openFile(file) {
		const answer = await this.server.ask("api/open?" + new URLSearchParams({name: file.name}), {method: "POST", headers: {"X-Cairn": "1"}, body: file});
		await this.showAside(`The file ${file.name}, not this process`, new Uint8Array(await answer.arrayBuffer()));
	}

	/** What is on the screen, as one file. */
	async save() {
		try {
			const state = writeState({...this.state, process: "", at: "", base: "", other: [], tab: "functions"});
			const more = /** @type {Record<string, string | number>} */ ({at: this.shownAt, state});
			if (this.shownBase)
				more.base = this.shownBase;
			const blob = await (await this.server.ask(this.url("page", more))).blob(), process = this.process;
			const name = `${process?.program ?? "cairn"}-${process?.pid ?? ""}-${new Date(this.shownAt).toISOString().slice(0, 19)}`;
			download(blob, name.replace(/[^\w.-]+/g, "-") + ".html");
			say("Saved");
		} catch (error) {
			say(error instanceof Error ? error.message : String(error));
		}
	}

	/** @param {boolean} open */
	openMore(open) {
		element("more-menu").hidden = !open;
		element("more-button").setAttribute("aria-expanded", String(open));
		if (open)
			element("more-menu").querySelector("button")?.focus();
	}

	/** Once a second: ages go on, and the sentence counts down. */
	tick() {
		this.showHead();
		const waits = this.process ? ["early", "nothing"].includes(this.process.kind) || this.process.state === "silent" : this.loading;
		if (waits && !this.busy && !document.hidden)
			this.refresh();
	}

	listen() {
		/** @param {string} id @param {() => void} act */
		const on = (id, act) => element(id).addEventListener("click", act);
		on("pause", () => this.following ? this.freeze() : this.resume());
		on("full-width", () => {
			const wide = document.documentElement.toggleAttribute("data-wide");
			element("full-width").setAttribute("aria-pressed", String(wide));
		});
		on("snapshot", () => this.act("snapshot"));
		on("set-base", () => this.toggleBase());
		on("clear-base", () => this.toggleBase());
		on("compare", () => this.toggleComparison());
		on("save", () => this.save());
		on("follow", () => this.resume());
		on("tile-bill", () => this.go({tab: "bill"}));
		on("more-button", () => this.openMore(element("more-menu").hidden));
		const items = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("button[data-live]"));
		items.forEach((button) => button.addEventListener("click", () => {
			this.openMore(false);
			const what = button.dataset.live ?? "";
			if (what in questions)
				this.askFirst(what);
			else if (what === "cpu")
				this.profileCpu();
			else
				this.act(what);
		}));
		element("confirm").addEventListener("close", () => {
			const dialog = /** @type {HTMLDialogElement} */ (element("confirm"));
			if (dialog.returnValue === "yes")
				this.act(dialog.dataset.what ?? "");
			dialog.returnValue = "";
		});
		document.addEventListener("pointerdown", (event) => {
			const target = /** @type {Node} */ (event.target);
			if (!element("more-menu").contains(target) && !element("more-button").contains(target))
				this.openMore(false);
		});
		document.addEventListener("visibilitychange", () => {
			this.hiddenSince = document.hidden ? Date.now() : 0;
			if (!document.hidden) {
				this.wake();
				this.refresh();
			}
		});
		addEventListener("online", () => this.refresh());
		document.addEventListener("keydown", (event) => this.press(event));
		takeDrops((file) => this.openFile(file));
	}

	/** @param {KeyboardEvent} event */
	press(event) {
		const target = /** @type {HTMLElement} */ (event.target);
		if (event.ctrlKey || event.metaKey || event.altKey || target instanceof HTMLInputElement || document.querySelector("dialog[open]"))
			return;
		if (event.key === "Escape" && !element("more-menu").hidden) {
			this.openMore(false);
			element("more-button").focus();
		} else if (event.key === " " && !(target instanceof HTMLButtonElement)) {
			if (this.following)
				this.freeze();
			else
				this.resume();
		} else if (event.key === "b" || event.key === "B") {
			this.toggleBase();
		} else {
			return;
		}
		event.preventDefault();
	}
}

const live = new Live();

/* For those who look at it from outside: a person at the console, a test. */
Object.defineProperty(window, "cairn", {value: live});

live.start().catch((error) => live.showProblem(String(error instanceof Error ? error.message : error)));
