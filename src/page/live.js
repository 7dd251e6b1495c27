// @ts-check
/* live.js - the page of a process that runs: it follows, can be stopped at any moment, and goes on by itself when the server, the service
 * or the network were away.
 *
 * Everything a person chooses is in the address, by names and times, so that it outlives refreshes and restarts.
 * Longer than other files: one class follows the server and holds what is shown, so that a moment is never half of one answer and half
 * of the next.
 * SPDX-License-Identifier: Apache-2.0 */

class Live {
	constructor() {
		this.server = new LiveServer(location.search);
		/** @type {LiveProcess[]} */
		this.processes = [];
		/** Instances and services of a store, and processes of folders, that the list has no room for. */
		this.unlisted = [0, 0, 0];
		this.history = new LiveHistory();
		/** What the picture shows: the ids of its dumps. */
		this.shownAt = 0;
		this.shownBase = 0;
		/** What was asked for to show that; empty when it has to be asked for again. */
		this.asked = "";
		/** The key of the process that the history is of. */
		this.key = "";
		/** Since when nothing was heard; 0 while all is well. */
		this.lostSince = 0;
		this.skew = 0;
		this.cpu = false;
		this.heard = {date: Date.now(), running: performance.now()};
		/** There are no events, so memory is what each list of processes says. */
		this.polls = false;
		/** Since when nobody can see the page; 0 while somebody can. One that is opened out of sight waits at once. */
		this.hiddenSince = document.hidden ? 1 : 0;
		/** Ends the wait of a page that nobody sees. @type {() => void} */
		this.wake = () => {};
		this.busy = false;
		this.again = false;
		this.serverStart = 0;
		this.doctorKey = "";
		/** When it is asked again, after it did not answer. */
		this.doctorAgain = Infinity;
		/** What a tab shows: fetched again when that changes. @type {Map<string, string>} */
		this.filled = new Map();
		/** What is being fetched for it. @type {Map<string, string>} */
		this.filling = new Map();
		this.chart = new LiveChart(element("live-chart"), {
			moment: (id) => this.chooseMoment(id),
			range: (from, to) => this.go({base: new Date(from).toISOString(), at: new Date(to).toISOString()}),
			select: (leaf) => shownPage?.choose(shownPage.byName.get(leaf) ?? 0, {}),
		});
	}

	/** @returns {State} */
	get state() {
		return shownPage ? shownPage.state : this.early;
	}

	/** @param {Partial<State>} changes */
	go(changes) {
		if (shownPage) {
			shownPage.go(changes);
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

	/** The process to show: the first if none is asked for. The list may not have it any more. @returns {LiveProcess | undefined} */
	get process() {
		const wanted = this.wantedKey;
		return wanted ? this.processes.find((process) => process.process === wanted)
			?? this.processes.find((process) => process.keys.includes(wanted)) : this.processes[0];
	}

	get following() {
		return !this.state.at && !this.cpu;
	}

	async start() {
		checkBrowser();
		this.takeAddress();
		this.listen();
		setInterval(() => this.tick(), 1000);
		this.connect();
		await this.refresh();
		document.documentElement.dataset.ready = "yes";
	}

	/** Takes the token out of the address, and what to show from it. */
	takeAddress() {
		const rest = this.server.takeToken(location.hash);
		history.replaceState(null, "", rest || location.pathname + location.search);
		this.early = readState(rest);
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
				this.history = new LiveHistory();
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
			this.refresh();
		}
	}

	/** Asks for whatever may have changed. Of several calls while one is under way, one more follows. */
	async refresh() {
		if (this.busy) {
			this.again = true;
			return;
		}
		this.busy = true;
		try {
			do {
				this.again = false;
				await this.load();
			} while (this.again);
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

	async load() {
		const list = await this.server.json("api/processes");
		this.processes = list.processes;
		this.unlisted = [list.unlisted_instances, list.unlisted_services, list.unlisted_processes];
		this.version = list.cairn;
		this.skew = Date.now() - list.now;
		const process = this.process;
		this.showHead();
		this.showList();
		if (!process) {
			const wanted = this.wantedKey;
			this.showProblem(!wanted ? "No dump yet. The page shows the first one that is written."
				: `${wanted} is not listed any more${wanted === this.key ? "; this is the last that is known of it" : ""}.`);
			return;
		}
		if (process.process !== this.key) {
			this.key = process.process;
			this.history = new LiveHistory();
			this.chart.clear();
			this.server.tree = null;
			this.filled.clear();
			this.shownAt = 0;
			this.asked = "";
			this.showList();
		}
		/* The first picture need not wait for the course of things. */
		const early = !this.history.points.length && !this.state.at && !this.state.base && process.dumps > 0 && !this.cpu;
		await Promise.all([this.loadSeries(process), early ? this.loadTree(process, {at: process.last}) : null]);
		if (this.polls && process.live)
			this.history.addResident(list.now, process.resident, process.limit);
		if (process.dumps > 0 && !this.cpu)
			await this.loadTree(process);
		/* A panel that cannot be filled does not mean that the connection is lost. It is asked for again with the next load. */
		await Promise.allSettled([this.loadBill(process), this.loadTab(process), this.loadDoctor(process)]);
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
		if (url === this.asked && shownPage)
			return;
		const {bytes, at, base} = await this.server.fetchTree(url);
		this.asked = url;
		this.shownAt = at || wanted.at;
		this.shownBase = at ? base : wanted.base ?? 0;
		if (bytes && process.process === this.key && !this.cpu)
			await this.showBytes(bytes);
		this.drawChart();
	}

	/** @param {Uint8Array} bytes */
	async showBytes(bytes) {
		const blocks = splitBlocks(bytes), split = () => Promise.resolve(blocks.split);
		if (shownPage) {
			await shownPage.replace(blocks.facts, () => readTree(blocks.tree), split);
		} else {
			performance.mark("tree");
			useFacts(blocks.facts);
			nameRanks = new Map();
			const data = readTree(blocks.tree);
			shownPage = new Page(data, null, split);
			shownPage.state = this.early ?? shownPage.state;
			rankSiblings(data.functions, shownPage.wholeSums.total.value);
			shownPage.shown = (state) => this.stateShown(state);
			element("picture").addEventListener("pointerdown", () => this.freeze());
			await shownPage.show(shownPage.state);
			performance.measure("update", "tree"); /* only the first: the browser keeps them all */
		}
		document.documentElement.dataset.shown = String(this.shownAt);
	}

	/** What was chosen may ask for another moment, process or tab. @param {State} state */
	stateShown(state) {
		if (this.process?.process !== this.key || this.url("tree", this.wanted()) !== this.asked)
			this.refresh();
		if (this.process)
			this.loadTab(this.process).catch(() => {});
		this.showMoment();
		this.drawChart();
	}

	/** @param {LiveProcess} process */
	async loadBill(process) {
		await this.fill("bill", String(process.last), () => this.server.json(this.url("bill")), ({bill}) => {
			element("tab-bill").hidden = !bill;
			this.bill = bill;
			this.showBillTile();
			if (bill)
				showBill(element("panel-bill"), bill);
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
		const pick = (/** @type {string} */ name) => shownPage?.choose(shownPage.byName.get(name) ?? 0, {view: "around", zoom: []});
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
			await this.fill(tab, version, ask("churn"), (churn) => showChurn(panel, churn, (name) => shownPage?.chooseFreed(name)));
		else if (tab === "health")
			await this.fill(tab, version, ask("health"), (health) => showHealth(panel, health, process));
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
				source ? showSource(panel, source, name) : show("Select a function, in the picture or in a table, to see its lines."));
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
		const words = {waiting: "waiting", sampling: "sampling", paused: "paused", stopped: "stopped", silent: "no answer", ended: "ended",
			dumps: "dumps"};
		const since = process.state === "sampling" && process.sampling_since ? process.sampling_since : process.since;
		const parts = [process.pid ? `PID ${process.pid}` : "", process.host, words[process.state] + (process.state === "dumps" ? ""
			: process.state === "ended" ? ` ${process.why}` : ` since ${clockTime(since, false)}`),
			process.last ? `data ${ago < 120 ? ago + " s" : humanTime(ago)} old` : "",
			[process.engine, process.period > 1 ? humanBytes(process.period, true) : ""].filter(Boolean).join(", "),
			process.cost ? `snapshot ${Math.round(process.cost * 1000)} ms` : ""];
		const line = element("state");
		line.textContent = parts.filter(Boolean).join(" · ");
		line.title = process.command;
		line.dataset.state = this.lostSince ? "lost" : process.state;
		const verdict = element("verdict"), lost = this.lostSince ? Math.round((Date.now() - this.lostSince) / 1000) : 0;
		const sentence = lost > 2 ? `No connection to the server for ${lost} s; trying again. Before: ${process.sentence}` : process.sentence;
		if (verdict.textContent !== sentence)
			verdict.textContent = sentence;
		verdict.dataset.kind = lost > 2 ? "lost" : process.state === "ended" ? "ended" : process.state === "silent" ? "lost" : process.kind;
		const pause = /** @type {HTMLButtonElement} */ (element("pause"));
		pause.textContent = process.state === "paused" ? "Start" : "Pause";
		pause.title = process.state === "paused" ? "Start sampling in the service" : "Stop sampling in the service; samples stay";
		for (const [id, on] of /** @type {const} */ ([["pause", process.live && process.state !== "silent"], ["snapshot", process.live],
			["set-base", process.dumps > 0], ["save", process.dumps > 0]]))
			/** @type {HTMLButtonElement} */ (element(id)).disabled = !on || this.lostSince > 0;
		element("more-button").hidden = !process.live;
		element("footer").textContent = `Cairn ${this.version ?? ""}. The page loads nothing from other servers.`;
		this.showMoment();
	}

	/** @param {string} text */
	showProblem(text) {
		element("verdict").textContent = text;
		element("verdict").dataset.kind = "lost";
	}

	showMoment() {
		const behind = this.shownAt ? Math.max(0, Math.round((Date.now() - this.skew - this.shownAt) / 1000)) : 0, {base} = this.state;
		const process = this.process, what = this.shownBase ? `What changed from ${clockTime(this.shownBase)} to ${clockTime(this.shownAt)}`
			: this.shownAt ? `Memory at ${clockTime(this.shownAt)}` : "No dump yet";
		const first = this.history.points[0]?.id ?? 0, gone = [base, this.state.at].map((time) => Date.parse(time))
			.filter((time) => time < first).map((time) => clockTime(time)).join(" and ");
		const old = gone && this.shownAt ? `; ${gone} is before the oldest dump that is kept` : "";
		const text = this.cpu ? "CPU time of ten seconds" : base && !this.shownBase && this.following
			? `The base is ${clockTime(Date.parse(base))}; the next dump shows what changed`
			: this.following ? process?.live ? what + ", following" : what
			: `${what}, ${behind < 120 ? behind + " s" : humanTime(behind)} behind`;
		const all = this.cpu ? text : text + old;
		if (element("moment").textContent !== all)
			element("moment").textContent = all;
		element("follow").hidden = this.following;
		element("clear-base").hidden = !base || this.cpu;
		element("set-base").setAttribute("aria-pressed", String(Boolean(base)));
		element("tab-functions").textContent = this.shownBase ? "Change" : "Now";
		const slider = element("live-chart"), {points} = this.history;
		slider.setAttribute("aria-valuemax", String(Math.max(0, points.length - 1)));
		slider.setAttribute("aria-valuenow", String(Math.max(0, points.findIndex((point) => point.id === this.shownAt))));
		slider.setAttribute("aria-valuetext", all);
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
			+ (process.limit_of === "machine" ? " in the machine" : "") : "", share > 0.9 ? "alarm" : "");
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
			seconds > 0 ? liveRate((change / seconds) * 3600) + " resident" : "", change > 0.02 * (resident || 1) ? "up" : "");
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
			part.style.background = layerColors[i % layerColors.length];
			part.title = `${line.name}: ${humanBytes(line.bytes)}`;
			return part;
		}));
		words?.replaceChildren(lines.slice(0, 2).map((line) => `${percent(line.bytes, bill.total)} ${line.name}`).join(", "));
	}

	drawChart() {
		this.chart.show(this.history, this.following ? 0 : this.shownAt, this.shownBase);
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
				button.addEventListener("click", () => this.go({process: process.process, at: "", base: "", zoom: [], selected: ""}));
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
		this.leaveCpu();
		this.go({at: id === last && !this.state.base ? "" : new Date(id).toISOString()});
	}

	/** Keeps what is shown, whatever comes. */
	freeze() {
		if (this.following && this.shownAt && this.process?.live)
			shownPage.go({at: new Date(this.shownAt).toISOString()}, true);
	}

	resume() {
		this.leaveCpu();
		this.go({at: ""});
		this.refresh();
	}

	leaveCpu() {
		if (this.cpu) {
			this.cpu = false;
			this.shownAt = 0;
			this.asked = "";
			this.server.tree = null;
		}
	}

	toggleBase() {
		this.leaveCpu();
		if (this.state.base)
			this.go({base: "", at: ""});
		else if (this.shownAt)
			this.go({base: new Date(this.shownAt).toISOString(), at: ""});
	}

	/** @param {string} what */
	async act(what) {
		try {
			await this.server.post(this.url(what));
			say({activate: "Sampling", deactivate: "Paused; samples stay", dump: "The service has written a dump",
				reset: "All samples are discarded", snapshot: "Snapshot taken", attach: "Attached; the first snapshot follows"}[what] ?? "Done");
			this.refresh();
		} catch (error) {
			say(error instanceof Error ? error.message : String(error));
		}
	}

	async profileCpu() {
		say("Profiling the CPU for ten seconds …");
		try {
			const bytes = new Uint8Array(await (await this.server.post(this.url("cpu", {seconds: 10}))).arrayBuffer());
			this.cpu = true;
			this.shownBase = 0;
			await this.showBytes(bytes);
			this.showMoment();
			this.drawChart();
		} catch (error) {
			say(error instanceof Error ? error.message : String(error));
		}
	}

	/** What is on the screen, as one file. */
	async save() {
		try {
			const state = writeState({...this.state, process: "", at: "", base: "", tab: "functions"});
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
		if (this.process && (this.process.kind === "early" || this.process.kind === "nothing" || this.process.state === "silent") && !this.busy
			&& !document.hidden)
			this.refresh();
	}

	listen() {
		/** @param {string} id @param {() => void} act */
		const on = (id, act) => element(id).addEventListener("click", act);
		on("pause", () => this.act(this.process?.state === "paused" ? "activate" : "deactivate"));
		on("snapshot", () => this.act("snapshot"));
		on("set-base", () => this.toggleBase());
		on("clear-base", () => this.toggleBase());
		on("save", () => this.save());
		on("follow", () => this.resume());
		on("tile-bill", () => this.go({tab: "bill"}));
		on("more-button", () => this.openMore(element("more-menu").hidden));
		const items = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("button[data-live]"));
		items.forEach((button) => button.addEventListener("click", () => {
			this.openMore(false);
			const what = button.dataset.live ?? "";
			if (what === "reset")
				/** @type {HTMLDialogElement} */ (element("confirm")).showModal();
			else if (what === "cpu")
				this.profileCpu();
			else
				this.act(what);
		}));
		element("confirm").addEventListener("close", () => {
			if (/** @type {HTMLDialogElement} */ (element("confirm")).returnValue === "yes")
				this.act("reset");
			/** @type {HTMLDialogElement} */ (element("confirm")).returnValue = "";
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
		addEventListener("hashchange", () => { /* an address with a token, opened in this tab, loads nothing */
			if (new URLSearchParams(location.hash.slice(1)).has("token")) {
				this.takeAddress();
				this.refresh();
			}
		});
		document.addEventListener("keydown", (event) => this.press(event));
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

/** The live page, for those who look at it from outside: a person at the console, a test. */
const live = new Live();

live.start().catch((error) => live.showProblem(String(error instanceof Error ? error.message : error)));
