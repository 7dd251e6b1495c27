// page.mjs CHROMIUM FOLDER COUNT: drives the pages of FOLDER as a person would, and prints TAP after COUNT tests that were before.
import {chromium} from "playwright-core";
import {readFileSync} from "node:fs";
const {humanBytes} = await import(process.cwd() + "/src/page/units.mjs");

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
	for (const row of cairn.page.picture.rows)
		for (const rect of row ?? [])
			if (cairn.page.name(rect.box) === wanted)
				return {x: at.x + rect.x + rect.width / 2, y: at.y + rect.row * cairn.page.picture.rowHeight - cairn.page.picture.scroller.scrollTop + 10, width: rect.width};
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
	ok((await text(page, "#tip")).includes("session") && /Total\s+300\s+30.0 %/.test(await text(page, "#tip")), "pointing shows the figures", await text(page, "#tip"));
	const tip = await page.locator("#tip").boundingBox(), pointer = await place(page, "session");
	ok(Math.hypot(tip.x - pointer.x, tip.y - pointer.y) < 30, "at the pointer", [tip, pointer]);
	await page.mouse.move((await place(page, "everything")).x + (await place(page, "everything")).width / 2 - 3, (await place(page, "everything")).y);
	const edge = await page.locator("#tip").boundingBox();
	ok(edge.x >= 0 && edge.x + edge.width <= 1280 && (await text(page, "#tip")).includes("everything"), "and within the window at its edge", edge);
	await page.mouse.move(5, 5);
	ok(await page.locator("#tip").isHidden(), "and goes away with it");
	await click(page, "parse");
	ok(Math.abs((await place(page, "parse")).width - whole) < 2 && (await place(page, "cache")) === null, "a click zooms");
	ok((await hash(page)).includes("zoom=main;serve;parse"), "the address remembers it, by names", await hash(page));
	const link = await page.evaluate(() => location.hash);
	await page.goBack();
	ok((await place(page, "cache")) !== null, "the back button leads out again");
	await page.goForward();
	ok((await place(page, "cache")) === null, "and forward in");
	await page.locator("#reset").click();
	ok((await place(page, "cache")) !== null, "so does the button");

	const wide = async (name) => (await place(page, name))?.width ?? 0, session = await place(page, "session");
	await page.mouse.move(session.x, session.y);
	await page.mouse.wheel(0, -250);
	ok(await page.waitForFunction(() => cairn.page.picture.view.length < 0.6).then(() => true, () => false) && (await wide("session")) > 1.5 * session.width
		&& (await page.locator("#reset").isVisible()), "the wheel zooms at the pointer", [session.width, await wide("session")]);
	const turned = await page.evaluate(() => cairn.page.picture.view.from), address = await hash(page);
	await page.mouse.down();
	await page.mouse.move(session.x + 60, session.y, {steps: 3});
	await page.mouse.up();
	ok((await page.evaluate(() => cairn.page.picture.view.from)) < turned && (await hash(page)) === address, "dragging moves what is in view, and is no click", await hash(page));
	await page.keyboard.press("Escape");
	ok(await page.evaluate(() => cairn.page.picture.view.isWhole) && Math.abs((await wide("session")) - session.width) < 1, "Escape shows everything again");
	await page.locator("#picture").focus();
	await page.keyboard.press("w");
	await page.keyboard.press("d");
	ok(await page.evaluate(() => cairn.page.picture.view.length < 0.8 && cairn.page.picture.view.from > 0.2), "W and D zoom and move");
	await page.locator("#reset").click();
	ok(await page.evaluate(() => cairn.page.picture.view.isWhole), "and the button resets that");

	await page.keyboard.press("/");
	await page.keyboard.type("buffer");
	ok((await text(page, "#matched")).startsWith("10.0 %"), "a search says how much matched", await text(page, "#matched"));
	ok((await page.locator("#functions tbody tr").count()) === 1, "and the table shows what matched");
	ok((await color(page, "buffer"))[2] < 150, "and it is marked in the picture", await color(page, "buffer"));
	await page.locator('#search-actions [data-kind="focus"]').click();
	ok((await text(page, "#pills")).includes("only") && (await place(page, "cache")) === null, "a search becomes a filter", await text(page, "#pills"));
	ok((await page.evaluate(() => cairn.page.root.value)) === 100, "what is left is the whole", await page.evaluate(() => cairn.page.root.value));
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
	const other = await open("other", {}, link);
	ok((await text(other, "#detail-name")) === "parse" && (await place(other, "cache")) === null && Math.abs((await place(other, "parse")).width - whole) < 2,
		"a link shows the same function in another profile", [await text(other, "#detail-name"), await hash(other)]);
	await other.context().close();

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
	await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
	await click(page, "parse", {button: "right"});
	await page.locator('#menu [data-action="copy"]').click();
	ok(await shows(page, "#toast", "Copied") && (await page.evaluate(() => navigator.clipboard.readText())) === "parse\nserve\nmain",
		"a stack is copied, and that is said", await page.evaluate(() => navigator.clipboard.readText()));

	await page.locator("#tab-functions").focus();
	await page.keyboard.press("ArrowRight");
	await page.waitForSelector("#panel-threads", {state: "visible", timeout: 10000}).catch(() => null);
	ok((await page.evaluate(() => document.activeElement?.id)) === "tab-threads" && (await page.locator("#panel-threads").isVisible()), "an arrow key goes to the next tab");
	await page.keyboard.press("End");
	await page.keyboard.press("ArrowRight");
	ok((await page.locator("#panel-functions").isVisible()) && (await page.locator('[role="tab"][tabindex="0"]').count()) === 1, "and round again; one tab is in the order of the keyboard");

	await page.keyboard.press("/");
	await page.keyboard.type("e");
	await page.keyboard.press("Enter");
	const first = await text(page, "#detail-name"), counted = await text(page, "#matched");
	ok(first === "serve" && counted === "1 of 6", "Enter goes to the largest match", [first, counted]);
	await page.locator("#search-next").click();
	ok((await text(page, "#detail-name")) === "cache", "the next is the next in size", await text(page, "#detail-name"));
	await page.locator("#search-previous").click();
	await page.locator("#search-previous").click();
	ok((await text(page, "#detail-name")) === "buffer" && (await text(page, "#matched")) === "6 of 6", "and back, round the end", [await text(page, "#detail-name"), await text(page, "#matched")]);
	await page.keyboard.press("Escape");

	await page.locator('[data-color="function"]').click();
	const [warm, again] = [await color(page, "cache"), await page.evaluate(() => cairn.page.palette.color(cairn.page.root.children()[0].children()[0].children()[0]))];
	ok(warm[0] > warm[2] + 30, "coloured by function", warm);
	await page.locator('[data-color="module"]').click();
	ok((await color(page, "cache")).join() !== warm.join() && (await text(page, "#legend")) === "other", "and by module, with a legend", [again, await text(page, "#legend")]);
	await page.goBack();
	ok((await color(page, "cache")).join() === warm.join(), "the address remembers that");
	await page.context().close();
}
for (const [width, height] of [[1366, 768], [1920, 1080], [390, 844]]) {
	const page = await open("rounding", {viewport: {width, height}});
	const inside = async (selector) => { const box = await page.locator(selector).boundingBox(); return box && box.y >= 0 && box.y + box.height <= height; };
	const top = await page.locator("#detail").isHidden() && (await page.locator("#picture").boundingBox()).y < height - 100;
	ok(top || width < 500, `${width} by ${height}: the picture is on the first screen, and nothing lies over it while nothing is selected`, await page.locator("#picture").boundingBox());
	await page.locator("#functions tbody button").first().click();
	await page.evaluate(() => scrollTo(0, 0));
	const chosen = await inside("#detail");
	await page.evaluate(() => scrollTo(0, 1e6));
	await page.waitForTimeout(100);
	ok(chosen && await inside("#detail") && (await page.evaluate(() => scrollY)) > 100, `${width} by ${height}: the details are in sight, above and at the end of the table`, [chosen, await inside("#detail")]);
	const row = page.locator("#functions tbody tr").last(), name = await row.locator("th button").innerText();
	await row.locator("td").first().click();
	await page.waitForFunction((most) => { const box = document.getElementById("scroller").getBoundingClientRect(); return box.top >= 0 && box.top < most / 2; }, height, {timeout: 5000}).catch(() => undefined);
	const box = await page.locator("#scroller").boundingBox();
	ok(box.y >= 0 && box.y < height / 2 && (await text(page, "#detail-name")) === name, `${width} by ${height}: a row leads to the picture`, [box, name]);
	await page.context().close();
}
{
	const page = await open("values"), wanted = JSON.parse(readFileSync(`${folder}/values.json`, "utf8"));
	for (const [kind, unit] of [["inuse", "space"], ["inuse", "objects"], ["alloc", "space"], ["alloc", "objects"]]) {
		await page.locator(`[data-kind-of="${kind}"]`).click();
		await page.locator(`[data-unit="${unit}"]`).click();
		const {total, rows} = wanted[kind + "_" + unit];
		const {got, most} = await page.evaluate((names) => ({got: cairn.page.root.value,
			most: Math.max(...names.map(([name, self, all]) => {
				const func = cairn.page.byName.get(name), {sums} = cairn.page;
				return func === undefined ? 1e9 : Math.max(Math.abs(sums.self.value[func] - self), Math.abs(sums.total.value[func] - all));
			}))}), rows.map((row) => [row.name, row.flat, row.cum]));
		ok(Math.abs(got - total) <= 8 && rows.length > 3 && most <= 8, `${kind}_${unit}: every function has what cairn top says`, [got, total, most]);
		const [largest] = rows;
		ok((await page.locator("#functions tbody tr").first().innerText()).includes(largest.name), `${kind}_${unit}: the same function is first`, await page.locator("#functions tbody tr").first().innerText());
	}
	ok((await hash(page)).includes("value=alloc_objects") && (await text(page, "#total")).includes("allocated objects"), "the address says which", await hash(page));
	await page.context().close();
}
{
	const page = await open("attached");
	ok((await text(page, "#warnings")).includes("Sampling began at 2023-11-14 22:43:20 UTC; 180.5 MiB were resident by then and are not in this profile"), "a profile of a process that was attached to says what is missing", await text(page, "#warnings"));
	await page.context().close();
}
{
	const page = await open("late");
	ok((await text(page, "#warnings")).includes("300.0 MiB sampled since 2023-11-14 22:43:20 UTC, of 1.3 GiB live"), "a profile that began late says what it covers", await text(page, "#warnings"));
	await page.context().close();
}
{
	const page = await open("rounding"), wanted = JSON.parse(readFileSync(`${folder}/rounding.json`, "utf8"));
	const sizes = await page.evaluate((names) => names.map((name) => cairn.page.sums.self.value[cairn.page.byName.get(name)]), wanted.map(([name]) => name));
	const bad = wanted.map(([, size], i) => [size, humanBytes(sizes[i])]).filter(([size, ours]) => size !== ours);
	ok(wanted.length > 500 && bad.length === 0, `${wanted.length} sizes are rounded as cairn top rounds them`, bad.slice(0, 5));
	await page.context().close();
}
{
	/** The least contrast of text with its box, over all functions and ways to colour. */
	const contrast = (page) => page.evaluate(() => {
		const parse = (color) => color.startsWith("#") ? [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)) : color.match(/\d+/g).slice(0, 3).map(Number);
		const light = (color) => parse(color).map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
			.reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
		const ink = light(cairn.page.picture.ink), all = [];
		for (const mode of ["module", "function"]) {
			cairn.page.palette.mode = mode;
			for (const {box} of cairn.page.picture.rects()) {
				const paper = light(cairn.page.palette.color(box));
				all.push((Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05));
			}
		}
		return Math.min(...all);
	});
	const page = await open("values"), background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
	const [light, readable] = [await background(), await contrast(page)];
	await page.locator("#theme-button").click();
	const [dark, still] = [await background(), await contrast(page)];
	ok(light !== dark && (await page.locator("#theme-button").getAttribute("aria-pressed")) === "true", "a button makes it dark", [light, dark]);
	ok(readable >= 4.5 && still >= 4.5, "text on boxes can be read in both", [readable, still]);
	await page.reload();
	await page.waitForSelector("html[data-ready]");
	ok((await background()) === dark, "and is remembered");
	await page.locator("#theme-button").click();
	ok((await background()) === light, "and light again");

	const keep = async (format, file) => {
		await page.locator("#download-button").click();
		const [file_] = await Promise.all([page.waitForEvent("download"), page.locator(`[data-format="${format}"]`).click()]);
		await file_.saveAs(`${folder}/${file}`);
		return file_.suggestedFilename();
	};
	ok((await keep("folded", "kept.folded")).endsWith(".folded") && (await keep("pprof", "kept.pb.gz")).endsWith(".pb.gz"), "stacks and profile can be kept");
	const drawn = await page.evaluate(() => cairn.page.picture.rects().length);
	ok((await keep("svg", "kept.svg")).endsWith(".svg"), "so can the picture");
	const svg = await page.context().newPage();
	await svg.goto(`file://${folder}/kept.svg`);
	const figures = await svg.evaluate(() => ({boxes: document.querySelectorAll("g rect").length, root: document.documentElement.localName, name: document.querySelector("g title").textContent}));
	ok(figures.root === "svg" && figures.boxes === drawn && figures.name.startsWith("everything: Total"), "which has every box that was drawn", [figures, drawn]);
	await page.keyboard.press("/");
	await page.keyboard.type("remember_session");
	await page.locator('#search-actions [data-kind="focus"]').click();
	await keep("pprof", "kept-filtered.pb.gz");
	ok(page.problems.length === 0, "nothing went wrong", page.problems);
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
	const cells = async (name) => (await page.locator("#functions tbody tr", {hasText: name}).first().locator("td").allInnerTexts()).join(" ");
	ok((await cells("session")) === "+270 30 300 +270 30 300", "self and total, before and now", await cells("session"));
	ok((await cells("serve")) === "– – – +280 620 900", "of callers too", await cells("serve"));
	await page.mouse.move((await place(page, "serve")).x, (await place(page, "serve")).y);
	ok(/Total\s+\+280\s+620\s+900/.test(await text(page, "#tip")), "and at the pointer", await text(page, "#tip"));
	await page.locator('#functions [data-key="total-before"]').click();
	ok((await page.locator("#functions tbody tr").first().innerText()).startsWith("main"), "the table sorts by what there was", await page.locator("#functions tbody tr").first().innerText());
	ok((await text(page, "#legend")).includes("vanished"), "the colours are explained", await text(page, "#legend"));
	await page.locator('[data-widths="now"]').click();
	const [same, cache] = [await color(page, "same"), await place(page, "cache")];
	ok(Math.abs(same[0] - same[2]) < 25, "by size it is there, in grey", same);
	ok(Math.abs(cache.width / (await place(page, "everything") ?? await place(page, "all changes")).width - 600 / 1050) < 0.01, "and widths are of what there is now");
	ok(page.problems.length === 0, "nothing went wrong", page.problems);
	await page.context().close();
}
{
	/* A file that is dropped. */
	const drop = (page, name, content) => page.evaluate(([file, words]) => {
		const data = new DataTransfer();
		data.items.add(new File([words], file));
		dispatchEvent(new DragEvent("drop", {dataTransfer: data, cancelable: true}));
	}, [name, content]);
	for (const name of ["small", "film", "known"]) {
		const page = await open(name);
		await drop(page, "other.folded", "main;<img src=x onerror=pwned=1> 30\nmain;dropped 70\n");
		ok(await shows(page, "#title", "other.folded") && (await text(page, "#total")).includes("100") && (await place(page, "dropped")) !== null
			&& !(await page.locator("#timeline").isVisible()) && !(await page.locator("#tab-bill").isVisible()) && !/Process|PID/.test(await text(page, "#facts-list"))
			&& (await text(page, "#warnings")) === "", `folded text that is dropped on ${name} takes its place`, [await text(page, "#title"), await text(page, "#total"), await text(page, "#facts-list")]);
		await drop(page, "x.heap", "heap_v2/524288\n  t*: 1: 2 [0: 0]\n");
		ok(await shows(page, "#toast", "x.heap is not folded text") && (await text(page, "#title")) === "other.folded", "and what is not is refused in a sentence", await text(page, "#toast"));
		ok((await page.evaluate(() => window.pwned)) === undefined && page.problems.length === 0, "without complaints", page.problems);
		await page.context().close();
	}
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
	ok(await page.locator("#functions thead button", {hasText: "Self Now"}).isVisible(), `${what} the table can be sorted`);
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
	/** Where a dump is on the screen. */
	const at = async (point) => {
		const box = await page.locator("#chart").boundingBox();
		return {x: box.x + await page.evaluate((wanted) => cairn.chart.x(cairn.chart.course.points[wanted].id), point), y: box.y + 60};
	};
	const total = () => page.evaluate(() => cairn.page.root.value);
	const dump = (point) => page.evaluate((wanted) => cairn.page.data.facts.film.totals[wanted], point);
	/** Within what rounding to whole bytes leaves. */
	const near = async (got, wanted) => Math.abs((await got) - wanted) < 40;
	/** The line of the legend, and what it should say. */
	const legend = (name) => page.locator("#layers li", {has: page.getByText(name, {exact: true})}).innerText().then((words) => words.replace(/\s+/g, " "));
	const said = async (name, from, to) => {
		const layer = await page.evaluate((wanted) => cairn.page.data.facts.film.layers.find((at) => at.name === wanted), name);
		const change = layer.values[to] - layer.values[from];
		const arrows = {growing: "↗ ", filling: "⤴ ", sawtooth: "∿ ", shrinking: "↘ "};
		return `${layer.name} ${arrows[layer.verdict] ?? ""}${humanBytes(layer.values[to])}` + (from === to || !change ? "" : ` ${change > 0 ? "+" : ""}${humanBytes(change)}`);
	};
	ok((await legend("0x1000")) === (await said("0x1000", 0, 23)), "the legend is of all the time", [await legend("0x1000"), await said("0x1000", 0, 23)]);
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
	ok((await text(page, "#moment")).includes("11 dumps"), "in words too", await text(page, "#moment"));
	ok((await legend("0x1000")) === (await said("0x1000", 5, 15)) && (await legend("0x1000")) !== (await said("0x1000", 0, 23)), "and in the legend", [await legend("0x1000"), await said("0x1000", 5, 15)]);
	ok((await text(page, "#chart-tip")).includes("Live memory"), "the pointer tells what there was", await text(page, "#chart-tip"));
	ok((await text(page, "#functions")).includes("~"), "what sampling may explain is marked in the table");
	const noisy = await page.evaluate(() => cairn.page.picture.rows.flat().find((rect) => rect.box.func && rect.box.above && rect.box.isNoise() && rect.width > 12)?.box.func ?? 0);
	const name = await page.evaluate((func) => cairn.page.data.functions[func].name, noisy), grey = await color(page, name);
	ok(noisy > 0 && Math.max(...grey) - Math.min(...grey) < 25, "and grey in the picture", grey);
	const one = await at(10);
	await page.mouse.click(one.x, one.y);
	ok((await hash(page)).includes("range=10") && await near(total(), await dump(10)), "a click chooses one dump", [await hash(page), await total()]);
	ok((await legend("0x1000")) === (await said("0x1000", 10, 10)), "of which the legend is then", await legend("0x1000"));
	ok((await text(page, "#glance-title")) === "Who holds most" && !(await text(page, "#total")).startsWith("+"), "which shows what there was", await text(page, "#total"));
	await page.goBack();
	ok(await near(total(), await dump(15) - await dump(5)), "the back button shows the range again", await hash(page));
	await page.locator("#range-to").focus();
	await page.keyboard.press("ArrowRight");
	ok((await hash(page)).includes("range=5-16"), "arrow keys move one end", await hash(page));
	await page.keyboard.press("Home");
	ok(/range=0$/.test(await hash(page)), "as far as to one dump", await hash(page));
	await page.keyboard.press("ArrowRight");
	ok(/range=1$/.test(await hash(page)), "which they move then", await hash(page));
	await page.keyboard.press("ArrowLeft");
	await page.keyboard.press("Shift+ArrowRight");
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
	await page.locator("#layers button", {has: page.getByText("0x1000", {exact: true})}).click();
	ok((await text(page, "#detail-name")) === "0x1000", "a layer of the legend leads to its function", await text(page, "#detail-name"));
	await page.reload();
	await page.waitForSelector("html[data-ready]");
	ok((await text(page, "#detail-name")) === "0x1000" && (await page.locator("#tab-threads").isHidden()), "a film has its address, and no threads");
	ok(page.problems.length === 0, "nothing went wrong", page.problems);
	await page.context().close();
	const phone = await open("film", {viewport: {width: 360, height: 740}, deviceScaleFactor: 3, hasTouch: true, isMobile: true});
	ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "a film fits on a phone", await phone.evaluate(() => document.documentElement.scrollWidth));
	await phone.context().close();
	const ended = await open("ended");
	ok(/Resident memory\s*not measured\s*$/.test(await text(ended, "#layers")), "the legend does not take an unmeasured value for 0", await text(ended, "#layers"));
	await ended.context().close();
	const hostile = await open("hostile-film");
	ok((await hostile.evaluate(() => typeof pwned)) === "undefined" && (await text(hostile, "#layers")).includes("<script>") && hostile.problems.length === 0,
		"hostile names are names on the chart too", hostile.problems);
	await hostile.context().close();
}
{
	/* All that one dump knows. */
	const page = await open("known", {}, "#tab=churn"), cells = (selector) => page.locator(selector).evaluateAll((list) => list.map((cell) => cell.textContent));
	ok((await page.locator("#panel-churn").isVisible()) && (await page.locator("#tab-churn").getAttribute("aria-selected")) === "true", "an address leads to churn");
	const heads = await cells("#panel-churn thead th"), names = await cells("#panel-churn tbody th");
	ok(heads.join() === "Freed again,Objects/s,Median life,<1 ms,Other thread,Call path" && ["open_request", "hand_over", "hold_spike"].every((name) => names.includes(name)),
		"which has a row for each call path that frees", [heads, names]);
	const handed = await page.locator("#panel-churn tbody tr", {hasText: "hand_over"}).locator("td").evaluateAll((list) => list.map((cell) => cell.textContent));
	ok(/[KM]iB\/s$/.test(handed[0]) && / [µm]s$/.test(handed[2]) && /^(9\d\.\d|100) %$/.test(handed[4]), "with rate, lifetime and who freed", handed);
	await page.locator("#panel-churn tbody button", {hasText: "hand_over"}).click();
	ok((await text(page, "#detail-name")) === "hand_over" && (await page.evaluate(() => cairn.page.metric.type)) === "alloc_space" && (await place(page, "main")), "and leads to who allocates there",
		[await text(page, "#detail-name"), await hash(page)]);
	await page.locator("#tab-bill").click();
	ok(/resident/.test(await text(page, "#panel-bill")) && /mapped by the service itself/.test(await text(page, "#panel-bill")) && /the process has ended/.test(await text(page, "#panel-bill")),
		"the bill of the last moment is there", await text(page, "#panel-bill"));
	ok(/last moment of the process: killed by signal 9/.test(await text(page, "#warnings")), "and its cause", await text(page, "#warnings"));
	ok((await page.evaluate(() => cairn.chart.course.seconds.length)) > 2 && /Memory up to the end: the last .*, killed by signal 9/.test(await text(page, "#moment"))
		&& /Resident memory/.test(await text(page, "#layers")), "and memory up to then, as a chart", [await text(page, "#moment"), await text(page, "#layers")]);
	const small = await open("small", {}, "#tab=churn"), ground = (one) => one.evaluate(() => getComputedStyle(document.documentElement).backgroundColor + getComputedStyle(document.body).color);
	ok((await ground(page)) === (await ground(small)), "whose style stays with it", [await ground(page), await ground(small)]);
	ok((await small.locator("#tab-churn").isHidden()) && (await small.locator("#tab-bill").isHidden()) && (await small.locator("#panel-functions").isVisible()),
		"a page that knows nothing of this has no such tabs, and its address shows the functions");
	ok((await text(small, "#tab-sizes")) === "Object sizes" && (await text(page, "#tab-sizes")) === "Sizes and ages", "nor ages");
	await small.context().close();
	await page.goto(page.url().replace(/#.*/, "#tab=sizes"));
	await page.reload();
	await page.waitForSelector("html[data-ready]");
	ok(await shows(page, "#ages", "1 s to 10 s"), "there are ages", await text(page, "#panel-sizes"));
	for (const [kind, name, words] of [["peak", "hold_spike", "live memory at its highest point"], ["slack", "hold_loose", "slack"], ["mapped", "map_cache", "memory mapped by the service itself in 1 piece"]]) {
		await page.locator(`[data-kind-of="${kind}"]`).click();
		const whole = (await place(page, "everything")).width, box = await place(page, name);
		ok(box && box.width > 0.4 * whole && (await text(page, "#total")).includes(words), `the picture shows ${kind}`, [box, whole, await text(page, "#total")]);
	}
	ok((await page.locator('[data-kind-of="fragmentation"]').isHidden()), "what the dump does not know cannot be chosen");
	ok(page.problems.length === 0, "nothing went wrong", page.problems);
	await page.context().close();
	const alive = await open("alive");
	await alive.locator('[data-kind-of="fragmentation"]').click();
	ok((await place(alive, "hold_sparse")).width > 0.8 * (await place(alive, "everything")).width && (await alive.locator("#timeline").isHidden()), "of a process that runs there is fragmentation, and no end");
	await alive.context().close();
	const phone = await open("known", {viewport: {width: 360, height: 740}, deviceScaleFactor: 3, hasTouch: true, isMobile: true}, "#tab=churn");
	ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "all of it fits on a phone", await phone.evaluate(() => document.documentElement.scrollWidth));
	await phone.context().close();
}
{
	const page = await open("deep");
	const rows = () => page.evaluate(() => cairn.page.picture.rows.length);
	ok((await rows()) === 3 && (await place(page, "f3999")) !== null, "frames that everything goes through are one box", await rows());
	await click(page, "f0");
	ok((await rows()) === 4001, "a click opens it: a stack 4,000 deep has all its rows", await rows());
	await click(page, "everything");
	ok((await rows()) === 3, "and one on everything closes it", await rows());
	await click(page, "f0");
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
			let box = cairn.page.root;
			for (let depth = 0; depth <= i % 5 && box.children().length; depth++)
				box = box.children()[i % box.children().length];
			const start = performance.now();
			cairn.page.zoom(box);
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
