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
/** Whether it comes to show the words: threads and sizes are unpacked when they are first asked for. */
const shows = (page, selector, words) => page.locator(selector, {hasText: words}).waitFor().then(() => true, () => false);
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
	ok(await shows(page, "#threads", "worker"), "threads are listed", await text(page, "#threads"));
	await page.locator("#threads .part", {hasText: "worker"}).click();
	ok((await shows(page, "#detail-figures", "2.0 KiB")) && (await shows(page, "#pills", "worker")), "and choosing one shows its part", await text(page, "#detail-figures"));
	await page.locator("#tab-sizes").click();
	ok(await shows(page, "#sizes", "up to 1 KiB"), "sizes are listed", await text(page, "#sizes"));
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
	const page = await open("film");
	const chart = async () => page.locator("#chart-sheet").boundingBox();
	/** Where a dump is on the screen. */
	const at = async (point) => {
		const box = await chart(), part = await page.evaluate((wanted) => livePage.chart.place(wanted), point);
		return {x: box.x + box.width * part, y: box.y + box.height / 2 - 60};
	};
	const total = () => page.evaluate(() => livePage.root.value);
	const dump = (point) => page.evaluate((wanted) => facts.film.totals[wanted], point);
	/** Within what telling values in steps leaves. */
	const near = async (got, wanted) => Math.abs((await got) - wanted) < 40 * 524288 / 32;
	ok(await near(total(), await dump(23) - await dump(0)), "a film opens with what changed in all its time", [await total(), await dump(0), await dump(23)]);
	ok((await text(page, "#total")).startsWith("+") && (await text(page, "#glance-title")) === "What grew most", "and says so", await text(page, "#total"));
	const from = await at(5), to = await at(15);
	await page.mouse.move(from.x, from.y);
	await page.mouse.down();
	await page.mouse.move((from.x + to.x) / 2, to.y);
	await page.mouse.move(to.x, to.y);
	await page.mouse.up();
	ok((await hash(page)).includes("range=5-15"), "dragging over the chart chooses a range", await hash(page));
	ok(await near(total(), await dump(15) - await dump(5)), "the picture is of that range", await total());
	ok((await page.locator("#functions tbody tr").first().innerText()).includes("+"), "and so is the table", await page.locator("#functions tbody tr").first().innerText());
	ok((await text(page, "#range-text")).includes("11 dumps"), "in words too", await text(page, "#range-text"));
	ok((await text(page, "#chart-tip")).includes("All live memory"), "the pointer tells what there was", await text(page, "#chart-tip"));
	ok((await text(page, "#functions")).includes("~"), "what sampling may explain is marked in the table");
	const noisy = await page.evaluate(() => livePage.picture.rows.flat().find((rect) => rect.box.func && rect.box.above && rect.box.isNoise() && rect.width > 12)?.box.func ?? 0);
	const name = await page.evaluate((func) => livePage.data.functions[func].name, noisy), grey = await color(page, name);
	ok(noisy > 0 && Math.max(...grey) - Math.min(...grey) < 25, "and grey in the picture", grey);
	const one = await at(10);
	await page.mouse.click(one.x, one.y);
	ok((await hash(page)).includes("range=10") && await near(total(), await dump(10)), "a click chooses one dump", [await hash(page), await total()]);
	ok((await text(page, "#glance-title")) === "Who holds most" && !(await text(page, "#total")).startsWith("+"), "which shows what there was", await text(page, "#total"));
	await page.goBack();
	ok(await near(total(), await dump(15) - await dump(5)), "the back button shows the range again", await hash(page));
	await page.locator("#range-to").focus();
	await page.keyboard.press("ArrowRight");
	ok((await hash(page)).includes("range=5-16"), "arrow keys move one end", await hash(page));
	await page.keyboard.press("Home");
	ok((await hash(page)).includes("range=0"), "as far as to one dump", await hash(page));
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("ArrowRight");
	ok((await hash(page)).includes("range=0-2") && (await page.locator("#range-to").getAttribute("aria-valuenow")) === "2", "and those who cannot see are told", await hash(page));
	await page.locator("#range-last").click();
	ok(await near(total(), await dump(23)), "a button shows the last dump", await total());
	await page.keyboard.press("/");
	await page.locator("#search").fill("0x2000");
	await page.locator('#search-actions [data-kind="focus"]').click();
	const kept = await total();
	await page.locator("#range-whole").click();
	ok((await text(page, "#pills")).includes("0x2000") && (await total()) > 0 && Math.abs((await total()) - kept) < kept, "filters stay while the range changes", [kept, await total()]);
	await page.locator("#pills button").click();
	await page.locator("#layers button", {hasText: "0x1000"}).click();
	ok((await text(page, "#detail-name")) === "0x1000", "a layer of the legend leads to its function", await text(page, "#detail-name"));
	await page.reload();
	await page.waitForSelector("html[data-ready]");
	ok((await text(page, "#detail-name")) === "0x1000" && (await page.locator("#tab-threads").isHidden()), "a film has its address, and no threads");
	ok(page.problems.length === 0, "nothing went wrong", page.problems);
	await page.context().close();
	const phone = await open("film", {viewport: {width: 360, height: 740}, deviceScaleFactor: 3, hasTouch: true, isMobile: true});
	ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "a film fits on a phone", await phone.evaluate(() => document.documentElement.scrollWidth));
	await phone.context().close();
	const hostile = await open("hostile-film");
	ok((await hostile.evaluate(() => typeof pwned)) === "undefined" && (await text(hostile, "#layers")).includes("<script>") && hostile.problems.length === 0,
		"hostile names are names on the chart too", hostile.problems);
	await hostile.context().close();
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
