// @ts-check
/* start.mjs - starts the page in one file, which contains all its data.
 * SPDX-License-Identifier: Apache-2.0 */
import {Chart} from "./chart.mjs";
import {PathColors} from "./color.mjs";
import {addHistory, Course, filmCourse} from "./course.mjs";
import {readBlock, readTree} from "./data.mjs";
import {element, make} from "./dom.mjs";
import {takeDrops} from "./drop.mjs";
import {rangeText, readFilm} from "./film.mjs";
import {readFolded} from "./folded.mjs";
import {showHead, showTabs} from "./head.mjs";
import {checkBrowser, Page} from "./page.mjs";
import {humanTime, utcTime} from "./units.mjs";
/** @import {Facts} from "./data.mjs" */

/** The chart of what the page knows over time, and what shows the range of the state in it. @param {Page} page @param {PathColors} paths */
function makeChart(page, paths) {
	const {facts} = page.data, dumps = facts.film ?? facts.course, course = dumps ? filmCourse(dumps) : new Course();
	if (facts.history)
		addHistory(course, facts.history);
	if (!course.points.length)
		return {chart: null, show: () => {}};
	const last = course.points.length - 1, fixed = !facts.film, ids = course.points.map(({id}) => id);
	/** @param {number} from @param {number} to */
	const go = (from, to) => page.go({range: {from: course.indexOf(from), to: course.indexOf(to)}, zoom: []});
	const day = utcTime(ids[0]).slice(0, 11), oneDay = utcTime(ids[last]).startsWith(day);
	/** The time without the date where that is always the same. @param {number} time @param {boolean} [seconds] */
	const clock = (time, seconds) => utcTime(time, seconds).replace(oneDay ? day : "\n", "");
	element("timeline").hidden = false;
	element("ranges").hidden = fixed;
	const chart = new Chart(paths, {moment: (id) => go(id, id), range: go,
		select: (leaf) => page.choose(page.byName.get(leaf) ?? 0, {view: "around", zoom: []})},
	{unit: facts.columns[0].unit, fixed, clock, zone: "UTC"});
	element("range-whole").addEventListener("click", () => go(ids[0], ids[last]));
	element("range-last").addEventListener("click", () => go(ids[last], ids[last]));
	const show = () => {
		const {from, to} = facts.film ? page.state.range ?? {from: 0, to: last} : facts.course ?? {from: last, to: last};
		chart.show(course, dumps ? ids[from] : 0, dumps ? ids[to] : 0);
		element("moment").textContent = dumps ? rangeText(dumps, {from, to}, fixed)
			: `Memory up to the end: the last ${humanTime((ids[last] - ids[0]) / 1000)}${facts.ended ? ", " + facts.ended : ""}`;
		element("range-whole").setAttribute("aria-pressed", String(from === 0 && to === last));
		element("range-last").setAttribute("aria-pressed", String(from === last && to === last));
	};
	return {chart, show};
}

/** Shows a file that was dropped in place of what the page was made of. @param {Page} page @param {File} file */
async function openFile(page, file) {
	const data = readFolded(await file.text(), file.name, page.data.facts);
	page.film = null;
	page.shown = () => {};
	page.state = {...page.state, value: "", tab: "functions", range: null, filters: [], zoom: [], selected: "", color: ""};
	element("timeline").hidden = true;
	for (const id of ["facts-list", "warnings"])
		element(id).replaceChildren();
	showTabs(data.facts);
	await page.replace(data, () => Promise.resolve(new Uint8Array(1 + data.parent.length)), false);
	showHead(page);
}

async function startFile() {
	checkBrowser();
	const facts = /** @type {Facts} */ (JSON.parse(element("facts").textContent ?? "{}"));
	const data = readTree(facts, await readBlock("tree")), film = facts.film ? await readFilm(facts.film) : null, paths = new PathColors();
	showTabs(facts);
	const page = new Page(data, film, () => readBlock("split"), paths);
	const {chart, show} = makeChart(page, paths);
	/* For those who look at it from outside: a person at the console, a test. */
	Object.defineProperty(window, "cairn", {value: {page, chart}});
	showHead(page);
	page.shown = show;
	show();
	await page.show(page.state);
	takeDrops((file) => openFile(page, file));
	document.documentElement.dataset.ready = "yes";
}

startFile().catch((error) => {
	const notice = make("p", "notice", String(error instanceof Error ? error.message : error));
	document.body.prepend(notice);
});
