// page.mjs CHROMIUM FOLDER COUNT: drives the pages of FOLDER as a person would, and prints TAP after COUNT tests that were before.
import {chromium} from "playwright-core";

const [executablePath, folder, before] = process.argv.slice(2);
const browser = await chromium.launch({executablePath, args: ["--no-sandbox"]});
let count = Number(before);

/** @param {unknown} good @param {string} name @param {unknown} [got] */
function ok(good, name, got) {
	console.log(`${good ? "ok" : "not ok"} ${++count} - ${name}`);
	if (!good && got !== undefined)
		console.log("#   got " + JSON.stringify(got));
}

async function open(name, options = {}, hash = "") {
	const context = await browser.newContext({viewport: {width: 1280, height: 900}, ...options});
	const page = await context.newPage();
	page.problems = [];
	page.on("pageerror", (error) => page.problems.push(error.message));
	page.on("console", (message) => message.type() === "error" && page.problems.push(message.text()));
	page.on("request", (request) => request.url().startsWith("file:") || page.problems.push("asked for " + request.url()));
	await page.goto(`file://${folder}/${name}.html${hash}`);
	await page.waitForSelector("html[data-ready]");
	return page;
}
const text = (page, selector) => page.locator(selector).innerText();
const hash = (page) => page.evaluate(() => decodeURIComponent(location.hash));
/** The middle of the first box of a function, as the picture has it. */
const place = (page, name) => page.evaluate((wanted) => {
	const canvas = document.getElementById("picture"), at = canvas.getBoundingClientRect();
	for (const row of livePage.picture.rows)
		for (const rect of row ?? [])
			if (livePage.name(rect.box) === wanted)
				return {x: at.x + rect.x + rect.width / 2, y: at.y + rect.row * livePage.picture.rowHeight - livePage.picture.scroller.scrollTop + 10, width: rect.width};
	return null;
}, name);
const click = async (page, name, options) => { const at = await place(page, name); await page.mouse.click(at.x, at.y, options); };
/** The colour of a box, beside its text. */
const color = async (page, name) => {
	const at = await place(page, name);
	return page.evaluate(({x, y, width}) => {
		const canvas = document.getElementById("picture"), box = canvas.getBoundingClientRect(), ratio = devicePixelRatio;
		return [...canvas.getContext("2d").getImageData((x - box.x + width / 2 - 8) * ratio, (y - box.y) * ratio, 1, 1).data].slice(0, 3);
	}, at);
};

{
	const page = await open("small");
	ok((await text(page, "#total")).includes("1 000".replace(" ", "\u202f")), "the total is at the top", await text(page, "#total"));
	ok((await text(page, "#glance")).includes("cache"), "and who holds most", await text(page, "#glance"));
	const whole = (await place(page, "everything")).width;
	ok(Math.abs((await place(page, "cache")).width / whole - 0.6) < 0.01, "a box is as wide as its share");
	await page.mouse.move((await place(page, "session")).x, (await place(page, "session")).y);
	ok((await text(page, "#detail")).includes("session") && (await text(page, "#detail-figures")).includes("30.0 %"), "pointing shows the figures", await text(page, "#detail"));
	await click(page, "parse");
	ok(Math.abs((await place(page, "parse")).width - whole) < 2 && (await place(page, "cache")) === null, "a click zooms");
	ok((await hash(page)).includes("zoom="), "the address remembers it", await hash(page));
	await page.goBack();
	ok((await place(page, "cache")) !== null, "the back button leads out again");
	await page.goForward();
	ok((await place(page, "cache")) === null, "and forward in");
	await page.locator("#reset").click();
	ok((await place(page, "cache")) !== null, "so does the button");

	await page.keyboard.press("/");
	await page.keyboard.type("buffer");
	ok((await text(page, "#matched")).startsWith("10.0 %"), "a search says how much matched", await text(page, "#matched"));
	ok((await page.locator("#functions tbody tr").count()) === 1, "and the table shows what matched");
	ok((await color(page, "buffer"))[2] < 150, "and it is marked in the picture", await color(page, "buffer"));
	await page.locator('#search-actions [data-kind="focus"]').click();
	ok((await text(page, "#pills")).includes("only") && (await place(page, "cache")) === null, "a search becomes a filter", await text(page, "#pills"));
	ok((await page.evaluate(() => livePage.root.value)) === 100, "what is left is the whole", await page.evaluate(() => livePage.root.value));
	await page.locator("#pills button").click();
	ok((await place(page, "cache")) !== null && (await page.locator("#pills").isHidden()), "the pill takes it away");
	await page.keyboard.press("/");
	await page.locator("#search").fill("serve");
	await page.locator('#search-actions [data-kind="hide"]').click();
	ok((await place(page, "serve")) === null && (await place(page, "cache")) !== null, "hidden frames go, what they call stays");
	await page.reload();
	await page.waitForSelector("html[data-ready]");
	ok((await place(page, "serve")) === null && (await text(page, "#pills")).includes("serve"), "a filter is in the address");
	await page.goBack();
	await page.goBack();
	ok(!(await hash(page)).includes("hide"), "and the back button undoes it", await hash(page));

	await page.goto(`file://${folder}/small.html`);
	await page.waitForSelector("html[data-ready]");
	await page.locator('[data-view="leaves"]').click();
	ok(Math.abs((await place(page, "buffer")).width / whole - 0.1) < 0.01, "inverted: what is allocated in two places is one box");
	await page.locator("#functions tbody button", {hasText: "buffer"}).click();
	ok((await text(page, "#detail-name")) === "buffer" && (await text(page, "#detail-figures")).includes("10.0 %"), "a function chosen in the table has its figures over all callers", await text(page, "#detail"));
	await page.keyboard.press("3");
	const up = await place(page, "parse"), down = await place(page, "buffer");
	ok(up && down && up.y < down.y && Math.abs(up.width / down.width - 0.8) < 0.01, "callers stand above, with their shares", [up, down]);
	await click(page, "serve");
	ok((await text(page, "#detail-name")) === "serve" && (await place(page, "cache")) !== null, "a click goes to the next function", await text(page, "#detail-name"));

	const order = async () => (await page.locator("#functions tbody th button").allInnerTexts()).join();
	await page.locator("#functions thead button", {hasText: "Total"}).click();
	ok((await order()).startsWith("main,serve"), "the table sorts by total", await order());
	await page.locator("#functions thead button", {hasText: "Function"}).click();
	ok((await order()).startsWith("buffer,cache"), "and by name", await order());
	ok((await page.locator('th[aria-sort="ascending"]').innerText()).includes("Function"), "and says so to those who cannot see");
	ok(page.problems.length === 0, "nothing went wrong", page.problems);

	await page.goto(`file://${folder}/small.html#`);
	await page.reload();
	await page.waitForSelector("html[data-ready]");
	await page.locator("#picture").focus();
	for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"])
		await page.keyboard.press(key);
	ok((await text(page, "#detail-name")) === "session", "arrow keys go from box to box", await text(page, "#detail-name"));
	await page.keyboard.press("Enter");
	ok((await place(page, "cache")) === null, "Enter zooms");
	await page.keyboard.press("Escape");
	ok((await place(page, "cache")) !== null, "Escape goes one step out");
	await page.locator("#picture").focus();
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("m");
	ok(await page.evaluate(() => document.activeElement?.closest("#menu") !== null), "M opens the menu, and the keyboard is in it");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Enter");
	ok((await text(page, "#pills")).includes("without"), "the menu filters", await text(page, "#pills"));
	await page.locator("#pills button").focus();
	await page.keyboard.press("Enter");
	await click(page, "session", {button: "right"});
	ok(await page.locator("#menu").isVisible(), "a right click opens it too");
	await page.context().close();
}
{
	const light = await open("small"), dark = await open("small", {colorScheme: "dark"});
	const brightness = async (page) => (await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);
	const box = async (page) => (await color(page, "cache")).reduce((a, b) => a + b, 0);
	ok((await brightness(light)) > 600 && (await brightness(dark)) < 150, "light and dark follow the viewer's setting");
	ok((await box(light)) > (await box(dark)) + 100, "and so do the boxes", [await box(light), await box(dark)]);
	await light.context().close();
	await dark.context().close();
}
{
	const page = await open("change");
	const [grown, gone] = [await color(page, "session"), await color(page, "old")];
	ok(grown[0] > grown[2] + 40, "what grew is red", grown);
	ok(gone[2] > gone[0] + 20, "what vanished is there, and blue", gone);
	ok((await place(page, "same")) === null, "what did not change has no width");
	ok((await text(page, "#glance")).includes("session") && (await text(page, "#glance-title")) === "What grew most", "what grew most is named first");
	await page.locator('[data-widths="now"]').click();
	const [same, cache] = [await color(page, "same"), await place(page, "cache")];
	ok(Math.abs(same[0] - same[2]) < 25, "by size it is there, in grey", same);
	ok(Math.abs(cache.width / (await place(page, "everything") ?? await place(page, "all changes")).width - 600 / 1050) < 0.01, "and widths are of what there is now");
	ok(page.problems.length === 0, "nothing went wrong", page.problems);
	await page.context().close();
}
{
	const page = await open("threads");
	await page.locator("#tab-threads").click();
	ok((await text(page, "#threads")).includes("worker"), "threads are listed", await text(page, "#threads"));
	await page.locator("#threads .part", {hasText: "worker"}).click();
	ok((await text(page, "#detail-figures")).includes("2.0 KiB") && (await text(page, "#pills")).includes("worker"), "and choosing one shows its part", await text(page, "#detail-figures"));
	await page.locator("#tab-sizes").click();
	ok((await text(page, "#sizes")).includes("up to 1 KiB"), "sizes are listed", await text(page, "#sizes"));
	await page.context().close();
}
for (const [what, options] of Object.entries({
	"on a phone": {viewport: {width: 360, height: 740}, deviceScaleFactor: 3, hasTouch: true, isMobile: true},
	"at twice the size": {viewport: {width: 640, height: 450}, deviceScaleFactor: 2},
})) {
	const page = await open("change", options);
	ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} nothing sticks out`, await page.evaluate(() => document.documentElement.scrollWidth));
	await click(page, "session");
	ok((await text(page, "#detail-name")) === "session", `${what} a tap zooms`, await text(page, "#detail-name"));
	ok(await page.locator("#functions thead button", {hasText: "Now"}).isVisible(), `${what} the table can be sorted`);
	await page.context().close();
}
{
	const page = await open("hostile");
	ok(await page.evaluate(() => typeof pwned === "undefined") && page.problems.length === 0, "hostile names do not run", page.problems);
	await page.locator("#search").fill("<script>");
	ok((await page.locator("#functions tbody tr").count()) === 2, "they are names like any other");
	ok((await page.locator("img").count()) === 0 && (await text(page, "#title")).startsWith("<img"), "a hostile title is a title");
	const safe = await page.evaluate(() => {
		const script = document.createElement("script");
		script.textContent = "window.smuggled = 1";
		document.body.append(script);
		return typeof smuggled === "undefined";
	});
	ok(safe, "and the policy would stop a script that got in");
	await page.context().close();
}
{
	const page = await open("deep");
	ok((await page.evaluate(() => livePage.picture.rows.length)) === 4001, "a stack 4,000 deep has all its rows");
	await page.evaluate(() => { document.getElementById("scroller").scrollTop = 1e9; });
	await page.waitForTimeout(100);
	await click(page, "f3999");
	ok((await text(page, "#detail-name")) === "f3999" && page.problems.length === 0, "and its end can be reached", page.problems);
	await page.context().close();
}
{
	const page = await open("million");
	const median = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
	const zooms = await page.evaluate(async () => {
		const times = [];
		for (let i = 0; i < 15; i++) {
			let box = livePage.root;
			for (let depth = 0; depth <= i % 5 && box.children().length; depth++)
				box = box.children()[i % box.children().length];
			const start = performance.now();
			livePage.zoom(box);
			await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
			times.push(performance.now() - start);
		}
		return times;
	});
	ok(median(zooms) < 100, `a million stacks: a zoom is on the screen in ${median(zooms).toFixed(0)} ms`, zooms);
	const opening = [];
	for (let i = 0; i < 3; i++) {
		await page.goto("about:blank");
		const start = Date.now();
		await page.goto(`file://${folder}/million.html`);
		await page.waitForSelector("html[data-ready]");
		opening.push(Date.now() - start);
	}
	ok(median(opening) < 3000, `and the page is there in ${median(opening)} ms`, opening);
	await page.context().close();
}
console.log(`1..${count}`);
await browser.close();
