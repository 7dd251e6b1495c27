// serve-moments.mjs CHROMIUM COUNT NAME=URL...: live pages of dumps that are kept for a few seconds, of a child at its parent's port, of a server whose
// answers fail or come late, and in many tabs. Prints TAP after COUNT tests that were before.
import {chromium} from "playwright-core";
const {clockTime} = await import(process.cwd() + "/src/page/units.mjs");

const [executablePath, before, ...named] = process.argv.slice(2);
const urls = Object.fromEntries(named.map((text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)]));
const browser = await chromium.launch({executablePath, args: ["--no-sandbox"]});
let count = Number(before);

/** @param {unknown} good @param {string} name @param {unknown} [got] */
function ok(good, name, got) {
	console.log(`${good ? "ok" : "not ok"} ${++count} - ${name}`);
	if (!good && got !== undefined)
		console.log("#   got " + JSON.stringify(got));
}
/** The address of a request of the server whose page is at ADDRESS, with its token. @param {string} address @param {string} path */
function apiUrl(address, path) {
	const to = new URL(path, address.split("?")[0]);
	to.searchParams.set("token", new URL(address).searchParams.get("token"));
	return to.href;
}
const text = (page, selector) => page.locator(selector).innerText();
const until = (page, condition, argument, timeout = 60000) => page.waitForFunction(condition, argument, {timeout}).then(() => true, () => false);
async function open(url, context = null) {
	const page = await (context ?? await browser.newContext({viewport: {width: 1366, height: 768}})).newPage();
	page.problems = [];
	page.on("pageerror", (error) => page.problems.push(error.message));
	await page.goto(url);
	await page.waitForSelector("html[data-shown]", {timeout: 60000});
	return page;
}

{
	/* Dumps are kept for six seconds: a base, and a moment, that are gone. */
	const page = await open(urls.kept);
	let dumps = [];
	page.on("response", (response) => response.url().includes("/api/tree") && (dumps = (response.headers()["x-cairn-dumps"] ?? "").split(" ").map(Number)));
	await until(page, () => cairn.history.points.length >= 2);
	const base = await page.evaluate(() => {
		cairn.toggleBase();
		return Date.parse(cairn.state.base);
	});
	ok(await until(page, () => cairn.shownBase > 0), "a base is set", await text(page, "#moment"));
	ok(await until(page, (old) => cairn.history.points[0].id > old && cairn.shownBase > old, base), "when its dump is gone, the oldest one takes its place",
		await page.evaluate(() => [cairn.shownBase, cairn.history.points.map(({id}) => id)]));
	/* What is shown changes with every dump; it is looked at between two. */
	const agree = await page.waitForFunction(() => cairn.busy ? null : [cairn.shownAt, cairn.shownBase]).then((handle) => handle.jsonValue());
	ok(await until(page, () => !cairn.busy && /before the oldest dump that is kept/.test(document.getElementById("moment").textContent)), "the page says so", await text(page, "#moment"));
	ok(agree[0] > agree[1] && agree[1] > base && dumps[1] > base, "and shows the times of the dumps that the server took", [agree, dumps, base]);
	const [words, ...times] = await page.evaluate(() => [document.getElementById("moment").textContent, cairn.shownBase, Date.parse(cairn.state.base)]), said = [words, ...times.map((time) => clockTime(time))];
	ok(said[0].startsWith("What changed from " + said[1]) && said[0].includes(`; ${said[2]} is before`), "in words", said);
	await page.evaluate(() => {
		cairn.toggleBase();
		cairn.freeze();
	});
	const frozen = await page.evaluate(() => Date.parse(cairn.state.at));
	ok(await until(page, (old) => cairn.history.points[0].id > old && cairn.shownAt > old && Number(document.documentElement.dataset.shown) === cairn.shownAt, frozen),
		"a moment that is gone makes way for the oldest one, too", await page.evaluate(() => [cairn.shownAt, cairn.state.at]));
	ok(/^Memory at .* behind; .* is before the oldest dump that is kept$/.test(await text(page, "#moment")), "which is said as well", await text(page, "#moment"));
	ok(page.problems.length === 0, "without complaints", page.problems);
	await page.context().close();
}

{
	/* A child, through the port of its parent. */
	const page = await open(urls.child), pid = new URL(urls.child).searchParams.get("pid");
	ok(await until(page, (wanted) => document.getElementById("state").textContent.startsWith(`PID ${wanted} `), pid), "the page of a child is of the child", await text(page, "#state"));
	ok(new URL(page.url()).searchParams.get("pid") === pid, "and stays so in the address", page.url());
	await page.evaluate(() => cairn.page.go({search: "x"}));
	ok(new URL(page.url()).searchParams.get("pid") === pid, "whatever is chosen", page.url());
	const posted = page.waitForResponse((response) => response.request().method() === "POST");
	await page.locator("#snapshot").click();
	ok((await posted).url().includes("pid=" + pid), "what it does is done to the child", (await posted).url());
	await page.context().close();
}

{
	/* Answers that fail, and answers that come late. */
	const page = await open(urls.two);
	let fail = true;
	await page.route(/\/api\/(leaks|churn)/, (route) => fail ? route.fulfill({status: 503, body: "{\"error\":\"busy\"}"}) : route.continue());
	await page.evaluate(() => cairn.page.go({tab: "growing"}));
	await until(page, () => cairn.filling.size === 0 && !cairn.busy);
	ok((await page.evaluate(() => document.getElementById("panel-growing").innerText.trim())) === "", "a tab whose answer failed is empty");
	fail = false;
	await page.evaluate(() => cairn.refresh());
	ok(await until(page, () => document.getElementById("panel-growing").innerText.trim().length > 10, null, 10000), "and is filled by the next look", await text(page, "#panel-growing"));
	/* The answer for one process comes when another is shown. */
	const keys = await page.evaluate(() => cairn.processes.map(({process}) => process)), asked = [];
	let first = null;
	await page.route(/\/api\/leaks/, async (route) => {
		asked.push(new URL(route.request().url()).searchParams.get("process"));
		if (!first)
			first = route;
		else
			await route.fulfill({status: 200, contentType: "application/json", body: JSON.stringify({version: 1, kind: "early", sentence: "of the second", rows: []})});
	});
	const [a, b] = await page.evaluate((all) => [cairn.key, all.find((key) => key !== cairn.key)], keys);
	await page.evaluate(() => {
		cairn.filled.clear();
		window.late = cairn.loadTab(cairn.process).catch(() => {});
	});
	while (!first)
		await new Promise((resolve) => setTimeout(resolve, 50));
	await page.evaluate((key) => cairn.go({process: key, tab: "growing"}), b);
	await until(page, (key) => cairn.key === key && cairn.filled.has("growing"), b);
	const shown = await text(page, "#panel-growing");
	await first.fulfill({status: 200, contentType: "application/json", body: JSON.stringify({version: 1, kind: "early", sentence: "of the first", rows: []})});
	await page.evaluate(() => window.late);
	ok(asked[0] === a && asked.includes(b) && (await text(page, "#panel-growing")) === shown && !/of the first/.test(shown), "a late answer for one process is not shown for another",
		[asked, await text(page, "#panel-growing"), shown]);
	/* The source of one function fails, or comes late, and then another is selected again. */
	const json = (status, body) => ({status, contentType: "application/json", body: JSON.stringify(body)}), slow = [];
	await page.route(/\/api\/source/, (route) => {
		const name = new URL(route.request().url()).searchParams.get("function");
		if (name === "slow")
			slow.push(route);
		else
			route.fulfill(name === "bad" ? json(404, {error: "no such function"}) : json(200, {routines: []}));
	});
	const select = (name, wait = true) => page.evaluate(async ([selected, whole]) => {
		const panel = document.getElementById("panel-source");
		cairn.state.selected = selected;
		const loading = cairn.loadSource(panel, selected);
		if (whole)
			await loading;
		return panel.textContent;
	}, [name, wait]);
	ok(/known for good\.$/.test(await select("good")) && (await select("bad")) === "no such function", "the source of a function, and of one that has none");
	ok(/known for good\.$/.test(await select("good")), "selecting the first again shows its source again", await text(page, "#panel-source"));
	await select("slow", false);
	while (!slow.length)
		await new Promise((resolve) => setTimeout(resolve, 50));
	await select("good");
	await Promise.all([page.waitForResponse(/function=slow/), slow[0].fulfill(json(200, {routines: []}))]);
	await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
	const last = await page.evaluate(() => document.getElementById("panel-source").textContent);
	ok(/known for good\.$/.test(last), "a late answer for one that is no longer selected is not shown", last);
	ok((await page.evaluate(() => performance.getEntriesByType("mark").length + performance.getEntriesByType("measure").length)) <= 2, "the browser is not made to keep marks");
	await page.context().close();
}

{
	/* Many tabs of one page: those that nobody sees hold no connection. */
	const context = await browser.newContext(), pages = async () => (await (await fetch(apiUrl(urls.kept, "api/processes"))).json()).pages;
	/* Chromium without a screen takes all tabs for visible. */
	await context.addInitScript(() => {
		window.seen = !location.hash.includes("hidden");
		Object.defineProperty(document, "hidden", {get: () => !window.seen});
	});
	const see = (page, seen) => page.evaluate((value) => {
		window.seen = value;
		document.dispatchEvent(new Event("visibilitychange"));
	}, seen);
	const tabs = [];
	for (let i = 0; i < 8; i++) {
		const tab = await context.newPage();
		await tab.goto(urls.kept + (i ? "#hidden" : ""));
		tabs.push(tab);
	}
	const ready = await Promise.all(tabs.map((tab) => tab.waitForSelector("html[data-ready]", {timeout: 60000}).then(() => true, () => false)));
	ok(ready.every(Boolean), "eight tabs are opened, and all have their page", ready);
	ok((await pages()) === 1, "only the one that is seen listens", await pages());
	await see(tabs[0], false);
	const none = Date.now();
	while ((await pages()) > 0 && Date.now() - none < 60000)
		await new Promise((resolve) => setTimeout(resolve, 200));
	ok((await pages()) === 0, "nor does that one once it is out of sight", await pages());
	ok((await tabs[0].evaluate(() => cairn.lostSince)) === 0, "which is no lost connection");
	const old = await tabs[3].evaluate(() => cairn.shownAt);
	await see(tabs[3], true);
	ok(await until(tabs[3], (before) => cairn.shownAt > before, old) && (await pages()) === 1, "a tab that is seen again follows again", [old, await pages()]);
	await context.close();
}
await browser.close();
console.log(`1..${count}`);
