// live.mjs CHROMIUM URL: the live page in a browser: the median times to its first paint and to its picture, and the time of the main thread for an
// update and for a key of a search.
import {chromium} from "playwright-core";

const [executablePath, url] = process.argv.slice(2);
const browser = await chromium.launch({executablePath, args: ["--no-sandbox"]});
const median = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
const row = (what, times, wanted) =>
	console.log(what.padEnd(44), median(times).toFixed(0).padStart(9), "ms" + (wanted ? `  (wanted ${wanted}: ${median(times) <= wanted ? "met" : "NOT MET"})` : ""));

const paints = [], pictures = [];
for (let i = 0; i < 7; i++) {
	const page = await (await browser.newContext({viewport: {width: 1366, height: 768}})).newPage();
	await page.goto(url);
	await page.waitForSelector("html[data-shown]");
	await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length);
	const [paint, picture] = await page.evaluate(() => {
		const update = performance.getEntriesByName("update")[0];
		return [performance.getEntriesByName("first-contentful-paint")[0].startTime, update.startTime + update.duration];
	});
	paints.push(paint);
	pictures.push(picture);
	await page.context().close();
}
row("live page: first paint", paints, 300);
row("live page: 18,000 stacks drawn", pictures);
const page = await (await browser.newContext({viewport: {width: 1366, height: 768}})).newPage(), session = await page.context().newCDPSession(page);
await session.send("Performance.enable", {timeDomain: "threadTicks"});
await page.goto(url);
await page.waitForSelector("html[data-shown]");
const used = async () => (await session.send("Performance.getMetrics")).metrics.find(({name}) => name === "TaskDuration").value * 1000;
const cost = async (act, argument) => {
	const start = await used();
	await page.evaluate(act, argument);
	return (await used()) - start;
};
const updates = [], keys = [];
for (let i = 0; i < 9; i++)
	updates.push(await cost(() => cairn.showBytes(cairn.server.tree.bytes)));
for (const search of ["0", "0x", "0x5", "service", "service+0x1", "service+0x12", ""])
	keys.push(await cost((wanted) => cairn.page.go({search: wanted}, true), search));
row("live page: update, main thread", updates, 100);
row("live page: key of a search, main thread", keys, 50);
await browser.close();
