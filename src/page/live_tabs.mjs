// @ts-check
/* live_tabs.mjs - the tables that only a live page has: growth, the allocator, source code, and health.
 *
 * Text that comes from a service is only ever inserted as text, never as markup.
 * SPDX-License-Identifier: Apache-2.0 */
import {make} from "./dom.mjs";
import {plainTable} from "./tabs.mjs";
import {clockTime, human, humanBytes, humanCount, humanDuration, humanRate, humanTime, percent} from "./units.mjs";
/** @import {Facts} from "./data.mjs" */
/** @import {Run} from "./course.mjs" */
/** @import {LiveProcess} from "./live_data.mjs" */

/** Draws values over time as a small line. @param {number[]} values @param {boolean} grows */
function sparkline(values, grows) {
	const width = 84, height = 20, most = Math.max(...values, 1), space = "http://www.w3.org/2000/svg";
	const picture = document.createElementNS(space, "svg"), line = document.createElementNS(space, "polyline");
	picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
	picture.setAttribute("class", grows ? "spark grows" : "spark");
	picture.setAttribute("aria-hidden", "true");
	/** @param {number} value @param {number} i */
	const place = (value, i) => [(i / Math.max(1, values.length - 1)) * (width - 2) + 1, height - 2 - (value / most) * (height - 4)]
		.map((number) => number.toFixed(1)).join(",");
	line.setAttribute("points", values.map(place).join(" "));
	picture.append(line);
	return picture;
}

/** Shows what grows, then all else that was judged. @param {HTMLElement} panel @param {any} leaks @param {(name: string) => void} pick */
export function showGrowing(panel, leaks, pick) {
	const rows = /** @type {any[]} */ (leaks.rows ?? []).filter((row) => row.verdict === "growing" || row.now > 0);
	if (!rows.length) {
		panel.replaceChildren(make("p", "empty", leaks.sentence || "There is nothing to judge yet."));
		return;
	}
	const summary = leaks.growing
		? `${leaks.growing} of ${humanCount(leaks.paths)} call paths ${leaks.growing === 1 ? "grows" : "grow"}: ${humanRate(leaks.bytes_per_hour)}.`
		: `None of ${humanCount(leaks.paths)} call paths grows for sure.`;
	const retention = leaks.retention ? [make("p", "panel-sentence", `${leaks.retention[0].toUpperCase()}${leaks.retention.slice(1)}.`)] : [];
	panel.replaceChildren(...retention, make("p", "caption", `${summary} ${leaks.dumps} dumps in ${humanTime(leaks.hours * 3600)}.`),
		plainTable(["Rate", "Verdict", "Sure", "Now", "Course", "Call path"], rows.map((row) => ({
			cells: [
				{text: row.verdict === "growing" ? "+" + humanRate(row.bytes_per_hour) : "–", className: row.verdict === "growing" ? "up" : ""},
				{text: row.verdict}, {text: row.sure ?? ""}, {text: humanBytes(row.now)},
				{text: "", node: sparkline(row.course, row.verdict === "growing")},
				{text: row.name, title: row.stack.join("\n")},
			],
			pick: () => pick(row.name),
		})), "Call paths by growth"));
}

/**
 * Shows the lines of a function, with the memory of each.
 * @param {HTMLElement} panel @param {any} source @param {string} name @param {string} unit of the values
 */
export function showSource(panel, source, name, unit) {
	/** @type {HTMLElement[]} */
	const parts = [];
	for (const routine of /** @type {any[]} */ (source.routines)) {
		parts.push(make("p", "caption", routine.name + (routine.file ? " · " + routine.file : "")
			+ (routine.newer ? " · the file is newer than the program" : routine.found ? "" : " · the file is not here")));
		parts.push(plainTable(["Self", "Total", "Line", "Code"], /** @type {any[]} */ (routine.lines).map((line) => ({
			cells: [{text: line.flat ? human(line.flat, unit) : ""}, {text: line.cum ? human(line.cum, unit) : ""},
				{text: line.line ? String(line.line) : ""}, {text: line.code ?? "", className: "code"}],
		})), "Source of " + routine.name));
	}
	panel.replaceChildren(...(parts.length ? parts : [make("p", "empty", "No source lines are known for " + name + ".")]));
}

/**
 * Size classes of jemalloc, those with the most free memory first. A slab has objects of one size; other sizes cannot use what is free in
 * it.
 * @param {any[]} kinds the classes @param {any[]} counts the counts of each class
 */
export function binRows(kinds, counts) {
	return kinds.map((kind, i) => {
		const bin = counts[i] ?? {}, live = bin.curregs ?? 0, room = (bin.curslabs ?? 0) * kind.nregs;
		return {size: kind.size, live, used: live * kind.size, free: Math.max(0, room - live) * kind.size, share: room ? live / room : 0,
			slabs: bin.curslabs ?? 0};
	}).filter((row) => row.slabs > 0).sort((a, b) => b.free - a.free);
}

/** Shows jemalloc's statistics: pages, arenas, size classes, and free memory in them. @param {HTMLElement} panel @param {any} answer */
export function showAllocator(panel, answer) {
	const {jemalloc = {}} = answer, {stats = {}, arenas = {}} = jemalloc, all = jemalloc["stats.arenas"] ?? {}, merged = all.merged ?? {};
	const page = arenas.page ?? 4096, bins = binRows(arenas.bin ?? [], merged.bins ?? []), list = make("dl", "facts");
	const large = /** @type {any[]} */ (merged.lextents ?? []).reduce((sum, extent, i) =>
		sum + (extent.curlextents ?? 0) * (arenas.lextent?.[i]?.size ?? 0), 0);
	/** @type {[string, string][]} */
	const facts = [
		["Version", jemalloc.version ?? ""],
		["Allocated", stats.allocated ? humanBytes(stats.allocated) : ""],
		["In pages in use", stats.active
			? `${humanBytes(stats.active)}, ${percent(stats.active - stats.allocated, stats.active)} of it free` : ""],
		["Dirty pages", merged.pdirty !== undefined ? `${humanBytes(merged.pdirty * page)}, kept for reuse` : ""],
		["Muzzy pages", merged.pmuzzy ? humanBytes(merged.pmuzzy * page) : ""],
		["Metadata", stats.metadata ? humanBytes(stats.metadata) : ""],
		["Resident, at most", stats.resident ? humanBytes(stats.resident) : ""],
		["Retained address space", stats.retained ? humanBytes(stats.retained) : ""],
		["Arenas", arenas.narenas ? `${humanCount(arenas.narenas)}, ${humanCount(merged.nthreads ?? 0)} threads` : ""],
		["Large objects", large ? humanBytes(large) : ""],
	];
	list.append(...facts.filter(([, value]) => value).flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
	const caption = "Size classes, by what is free in their slabs and serves no other size.";
	panel.replaceChildren(list, ...(bins.length ? [make("p", "caption", caption),
		plainTable(["Free", "Live", "Objects", "Slabs", "Full", "Size class"], bins.slice(0, 40).map((row) => ({
			cells: [{text: humanBytes(row.free)}, {text: humanBytes(row.used)}, {text: humanCount(row.live)}, {text: humanCount(row.slabs)},
				{text: percent(row.share, 1)}, {text: humanBytes(row.size, true)}],
		})), "Size classes")] : []));
}

/**
 * Shows what profiling costs, and how good the profile is.
 * @param {HTMLElement} panel @param {any} health @param {LiveProcess} process @param {Facts | undefined} facts of the profile that is shown
 */
export function showHealth(panel, health, process, facts) {
	const status = health.status ?? {}, cost = status.cost ?? {}, ledger = status.ledger ?? {}, unwinder = status.unwinder ?? {};
	const incomplete = [unwinder.truncated, unwinder.no_code, unwinder.no_rule, unwinder.unreadable]
		.reduce((sum, count) => sum + (count ?? 0), 0);
	/** @type {[string, string][]} */
	const rows = [
		["Engine", [process.engine, status.engine?.allocator ?? status.jemalloc?.version].filter(Boolean).join(", ")],
		["Sampling period", process.period > 1 ? `one sample per ${humanBytes(process.period, true)}` : ""],
		["Samples", status.samples !== undefined ? humanCount(status.samples) : ""],
		["Cost of sampling", cost.cpu_share !== undefined ? `${percent(cost.cpu_share, 1)} of one core`
			+ (cost.budget ? `, of a budget of ${percent(cost.budget, 1)}` : "") : ""],
		["Time per stack", unwinder.ns_per_stack ? humanDuration(unwinder.ns_per_stack) : ""],
		["Memory of the profiler", cost.memory_bytes ? humanBytes(cost.memory_bytes) : ""],
		["Dropped samples", ledger.dropped !== undefined ? humanCount(ledger.dropped) : ""],
		["Incomplete stacks", unwinder.stacks !== undefined ? `${humanCount(incomplete)} of ${humanCount(unwinder.stacks)}` : ""],
		["Without a name", facts ? `${human(facts.unnamed, facts.columns[0].unit)} (${percent(facts.unnamed, facts.total)})` : ""],
		["Coverage", facts?.allocated ? `${percent(Math.min(facts.total, facts.allocated), facts.allocated)} of the allocator's `
			+ humanBytes(facts.allocated) : ""],
		["One snapshot", health.snapshot ? `${humanDuration(health.snapshot * 1e9)} in the service, ${humanDuration(health.cost * 1e9)} in all`
			: ""],
		["Snapshots", `${humanCount(health.snapshots)} taken, ${humanCount(health.failures)} failed`],
		["Invalid settings", status.config_problems ? String(status.config_problems) : ""],
	];
	const list = make("dl", "facts");
	list.append(...rows.filter(([, value]) => value).flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
	panel.replaceChildren(list);
}

/**
 * Shows the runs of the program, and how each ended. A click shows its last moment.
 * @param {HTMLElement} panel @param {Run[]} runs @param {(run: Run) => void} pick
 */
export function showRuns(panel, runs, pick) {
	const ended = runs.filter((run) => run.ended).length;
	const caption = `${runs.length} runs; ` + (ended ? `the end of ${ended} was recorded. Select one to see its last moment.` : "no end was recorded.");
	panel.replaceChildren(make("p", "caption", caption),
		plainTable(["PID", "Dumps", "Live", "Last moment", "How it ended"], runs.map((run, i) => ({
			cells: [{text: run.pid ? String(run.pid) : "–"}, {text: humanCount(run.dumps)}, {text: humanBytes(run.total)},
				{text: clockTime(run.last, false), title: `from ${clockTime(run.first)} to ${clockTime(run.last)}`},
				{text: run.ended || (i ? "not known" : "newest run"), className: run.ended ? "up" : ""}],
			pick: () => pick(run),
		})), "Runs"));
}

/** Fixes that the page can make with one click, by the command that the doctor suggests. */
const fixButtons = [
	{command: /^cairn activate \d+$/, what: "activate", text: "Start sampling"},
	{command: /^cairn attach \d+$/, what: "attach", text: "Attach to the process"},
];

/**
 * Shows what the doctor found: a sentence, and the fix.
 * @param {HTMLElement} box @param {any} doctor @param {(what: string) => void} act
 */
export function showFix(box, doctor, act) {
	const findings = /** @type {any[]} */ (doctor?.findings ?? []), first = findings.find((finding) => finding.level === "wrong")
		?? findings.find((finding) => finding.fix);
	box.hidden = !first;
	if (!first)
		return;
	/** @param {any} finding */
	const buttonOf = (finding) => fixButtons.find(({command}) => command.test((finding.fix ?? "").trim()));
	/** @param {string} text */
	const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
	const easy = findings.find(buttonOf), shown = easy ?? first, offer = easy && buttonOf(easy);
	const parts = [make("p", "", [first, ...(easy && easy !== first ? [easy] : [])].map(({text}) => sentence(text)).join(" "))];
	if (offer) {
		const button = /** @type {HTMLButtonElement} */ (make("button", "", offer.text));
		button.addEventListener("click", () => {
			button.disabled = true;
			act(offer.what);
		});
		parts.push(button);
	}
	if (shown.fix || shown.advice)
		parts.push(make("code", "", shown.fix ?? shown.advice));
	box.replaceChildren(...parts);
}
