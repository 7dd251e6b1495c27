// page.mjs CHROMIUM PAGE: the median times to open the page, to zoom, to invert it, and to search in it.
import {chromium} from "playwright-core";

const [executablePath, file] = process.argv.slice(2);
const browser = await chromium.launch({executablePath, args: ["--no-sandbox"]});
const page = await (await browser.newContext({viewport: {width: 1600, height: 1000}})).newPage();
const median = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
const row = (what, times, wanted) =>
	console.log(what.padEnd(44), median(times).toFixed(0).padStart(9), "ms" + (wanted ? `  (wanted ${wanted}: ${median(times) <= wanted ? "met" : "NOT MET"})` : ""));

const opening = [];
for (let i = 0; i < 5; i++) {
	await page.goto("about:blank");
	const start = Date.now();
	await page.goto("file://" + file);
	await page.waitForSelector("html[data-ready]");
	opening.push(Date.now() - start);
}
row("Chromium: open", opening);
const times = await page.evaluate(async () => {
	const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
	const measure = async (act) => {
		const start = performance.now();
		act();
		await painted();
		return performance.now() - start;
	};
	const result = {zoom: [], invert: [], search: []};
	for (let i = 0; i < 21; i++) {
		let box = cairn.page.root;
		for (let depth = 0; depth <= i % 5 && box.children().length; depth++)
			box = box.children()[i % box.children().length];
		result.zoom.push(await measure(() => cairn.page.zoom(box)));
	}
	for (let i = 0; i < 5; i++) {
		result.search.push(await measure(() => cairn.page.go({search: "service.*" + i})));
		result.invert.push(await measure(() => cairn.page.go({view: i % 2 ? "calls" : "leaves", zoom: [], search: ""})));
	}
	return result;
});
row("Chromium: zoom", times.zoom, 100);
row("Chromium: search", times.search);
row("Chromium: invert, and back", times.invert);
await browser.close();
