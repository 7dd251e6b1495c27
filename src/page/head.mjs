// @ts-check
/* head.mjs - the part above the picture: the facts, and the functions that matter most.
 * SPDX-License-Identifier: Apache-2.0 */
import {isNoise} from "./data.mjs";
import {element, make} from "./dom.mjs";
import {makeBar} from "./table.mjs";
import {showBill, showChurn} from "./tabs.mjs";
import {aroundBoxes} from "./tree.mjs";
import {human, humanBytes, humanCount, humanDate, humanObjects, humanRate, humanTime, percent, present, signed} from "./units.mjs";
/** @import {Data, Facts} from "./data.mjs" */
/** @import {Page} from "./page.mjs" */

/** Shows the tabs for which the page has data. @param {Facts} facts */
export function showTabs(facts) {
	element("tab-threads").hidden = element("tab-sizes").hidden = facts.film !== undefined;
	element("tab-bill").hidden = !facts.bill;
	element("tab-churn").hidden = !facts.churn;
	element("tab-sizes").textContent = facts.aged ? "Sizes and ages" : "Object sizes";
}

/** @param {Page} page */
export function showHead(page) {
	const {tree} = page, {facts} = page.data, {film} = facts, process = facts.process.slice(facts.process.lastIndexOf("/") + 1);
	element("title").textContent = facts.title || process || (/space|objects/.test(facts.type) ? "Memory profile" : "Profile");
	/** @type {[string, string][]} */
	const list = [["Process", [facts.process, facts.pid].filter(Boolean).join(", ")], ["Format", facts.format]];
	const {unit} = facts.columns[0], period = facts.unit === "bytes" || /space|objects/.test(facts.type) ? humanBytes(facts.period, true)
		: human(facts.period, unit);
	if (facts.period > 1)
		list.push(["Sampling", `one sample per ${period}${facts.mixed_periods ? ", several periods" : ""}`]);
	if (facts.samples && !film)
		list.push(["Samples", "about " + humanCount(facts.samples)]);
	if (film)
		list.push(["Dumps", `${film.seconds.length} in ${humanTime(film.seconds.at(-1) ?? 0)}` + (film.runs.at(-1)
			? `, ${(film.runs.at(-1) ?? 0) + 1} runs` : "")],
			["First taken", humanDate(film.start) + " UTC"]);
	else if (facts.time)
		list.push(["Taken", humanDate(facts.time) + " UTC"]);
	if (facts.shown !== facts.total && !film)
		list.push(["Shown", `${human(facts.shown, unit)} of ${human(facts.total, unit)}`]);
	const unnamed = percent(facts.unnamed, film ? facts.total : tree.size[0]);
	list.push(["Without a name", !facts.unnamed ? "none" : film ? unnamed : `${human(facts.unnamed, unit)} (${unnamed})`]);
	if (facts.folded)
		list.push(["Smaller stacks", percent(facts.folded, film ? facts.total : tree.size[0]) + " merged"]);
	facts.filters.forEach((text) => list.push(["Filter", text]));
	element("facts-list").append(...list.filter(([, value]) => value).map(([name, value]) => {
		const item = make("div");
		item.append(make("dt", "", name), make("dd", "", value));
		return item;
	}));
	const notices = [...(facts.ended ? [`The last moment of the process: ${facts.ended}.`] : []), ...facts.warnings];
	if (facts.partial)
		notices.unshift(coverageText(facts));
	element("warnings").hidden = notices.length === 0;
	element("warnings").append(...notices.map((text) => make("p", "notice", text)));
	element("help-film").hidden = !film;
	if (facts.bill)
		showBill(element("panel-bill"), facts.bill);
	if (facts.churn)
		showChurn(element("panel-churn"), facts.churn, (name) => page.chooseFreed(name));
	element("footer").textContent = `Made by Cairn ${facts.version}. This file is complete: it loads nothing from the network.`;
}

/** What is missing from the profile, in the words of the commands. @param {Facts} facts */
function coverageText(facts) {
	const since = `${humanDate((facts.sampled_since ?? 0) * 1000)} UTC`;
	if (facts.allocated)
		return `${humanBytes(facts.total)} sampled since ${since}, of ${humanBytes(facts.allocated)} live. `
			+ "Earlier allocations are not in this profile.";
	return `Sampling began at ${since}; ` + (facts.allocated_before
		? `${humanBytes(facts.allocated_before)} were resident by then and are not in this profile (cairn rss explains them).`
		: "what was allocated before is not in this profile.");
}

/** Shows the total of the value that is selected, or its change. @param {Page} page */
export function showTotal(page) {
	const {tree} = page, {metric} = tree, base = tree.total.base[0], shown = tree.total.value[0], other = tree.total.other[0], parts = [];
	const name = metric.title;
	parts.push(metric.base ? ` change of ${name}, from ${human(base, metric.unit)} to ${human(base + shown, metric.unit)}` : ` ${name}`);
	if (metric.partner >= 0 && !metric.change)
		parts.push(metric.unit !== "bytes" ? ` of ${humanBytes(other)}` : metric.type.startsWith("mapped")
			? ` in ${humanCount(other)} ${Math.round(other) === 1 ? "piece" : "pieces"}` : ` in ${humanObjects(other)}`);
	element("total").replaceChildren(make("strong", metric.change ? (shown < 0 ? "down" : "up") : "", signed(shown, metric)), ...parts);
	element("widths").hidden = !metric.base;
	element("help-change").hidden = !metric.change;
	if (document.getElementById("glance"))
		showGlance(page, page.data);
}

/** @typedef {{func: number, name: string, amount: string, share: number, more: string[]}} Glance */

/** Shows what keeps growing over several dumps, or else what grew most or holds most. @param {Page} page @param {Data} data */
function showGlance(page, data) {
	const {metric} = page.tree, {series} = data.facts, growth = metric.column === 0 ? series?.growth ?? [] : [], glances = growth.length ? growingGlances(data)
		: largestGlances(page, data);
	element("glance").hidden = glances.length === 0 && !series;
	const dumps = series?.dumps ?? 0, watched = dumps > 1
		? `${dumps} dumps in ${humanTime(series?.seconds ?? 0)}` : `the ages of live objects after ${humanTime(series?.observed ?? 0)}`;
	element("glance-verdict").hidden = !series || metric.column !== 0;
	element("glance-verdict").textContent = series ? series.summary.replace(/^(nothing|too) /, (word) => word.charAt(0).toUpperCase() + word.slice(1)) + "." : "";
	element("glance-title").textContent = growth.length ? "What keeps growing, by " + watched
		: metric.change ? "What grew most" : metric.unit === "nanoseconds" ? "Where most time is spent"
			: metric.type.startsWith("alloc") ? "Who allocates most" : metric.type.startsWith("mapped") ? "Who mapped most" : "Who holds most";
	element("glance-list").replaceChildren(...glances.map((glance) => {
		const item = make("li"), button = make("button");
		button.append(make("span", "name", glance.name), make("span", growth.length || metric.change ? "amount up" : "amount", glance.amount),
			make("span", "share", percent(glance.share, 1) + (growth.length ? " of the growth" : "")),
			make("span", "more", glance.more.filter(Boolean).join(" · ")), makeBar(glance.share, growth.length > 0 || metric.change));
		button.addEventListener("click", () => page.choose(glance.func, {view: "around", zoom: []}));
		item.append(button);
		return item;
	}));
}

/** @param {Data} data @returns {Glance[]} */
function growingGlances(data) {
	const {unit} = data.facts.columns[0];
	return (data.facts.series?.growth ?? []).map((growth) => ({
		func: Math.max(0, data.functions.findIndex((func, i) => i > 0 && func.name === growth.name)), name: growth.name,
		amount: "+" + humanRate(growth.per_hour, unit), share: growth.share,
		more: [`${human(growth.now, unit)} now`, growth.caller && `called from ${growth.caller}`,
			`${growth.words}, ${growth.sure} sure`],
	}));
}

/** @param {Page} page @param {Data} data @returns {Glance[]} */
function largestGlances(page, data) {
	const {self} = page.wholeSums, {metric} = self, {unit} = metric, most = 3, worth = 0.02, whole = page.tree.size[0];
	const order = Array.from(self.value.keys()).slice(1)
		.filter((func) => self.value[func] > worth * whole && !isNoise(metric, self.value[func], self.variance[func], self.skew[func]))
		.sort((a, b) => self.value[b] - self.value[a]).slice(0, most);
	return order.map((func) => {
		const value = self.value[func], other = self.other[func], caller = aroundBoxes(page.tree, func).up.children()[0];
		return {func, name: data.functions[func].name, amount: signed(value, metric), share: value / whole, more: [
			metric.base ? `${human(self.base[func], unit)} before, ${human(present(value, self.base[func], unit), unit)} now`
				: other > 0 ? (unit === "bytes" ? `${humanObjects(other)} of ${humanBytes(value / other)}`
					: `${humanBytes(other)}, ${humanBytes(other / value)} each`) : "",
			caller && caller.func ? `called from ${data.functions[caller.func].name}` : "",
		]};
	});
}
