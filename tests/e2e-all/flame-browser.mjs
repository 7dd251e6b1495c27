// Flame graphs in a real browser: flame-browser.mjs CHROMIUM FOLDER, where FOLDER has the pictures that flame-browser.t makes.
// Prints TAP.
// SPDX-License-Identifier: Apache-2.0
import {chromium} from "playwright-core";

const [executablePath, folder] = process.argv.slice(2);
let count = 0;
const ok = (good, name, detail = "") => console.log(`${good ? "" : "not "}ok ${++count} - ${name}${good ? "" : "\n#   " + JSON.stringify(detail)}`);
const is = (got, want, name) => ok(JSON.stringify(got) === JSON.stringify(want), name, {got, want});
/** Waits until READ returns WANT: after back and forward, the browser says that the address has changed when it gets to it. */
const becomes = async (read, want, name) => {
	const until = Date.now() + 20000;
	let got = await read();
	for (; JSON.stringify(got) !== JSON.stringify(want) && Date.now() < until; got = await read())
		await page.waitForTimeout(20);
	is(got, want, name);
};

const browser = await chromium.launch({executablePath, args: ["--no-sandbox"]});
const context = await browser.newContext({viewport: {width: 1300, height: 800}, colorScheme: "light"});
const page = await context.newPage();
const problems = [];
page.on("pageerror", (error) => problems.push(String(error)));
page.on("dialog", (dialog) => (problems.push("dialog"), dialog.dismiss()));
page.on("request", (request) => request.url().startsWith("file:") || problems.push(request.url()));

const frame = (name) => page.locator("#frames > g").filter({has: page.locator("title", {hasText: new RegExp("^" + name + " \\(")})});
const width = (name) => frame(name).locator("rect").evaluate((rect) => Number(rect.getAttribute("width")));
const hidden = (name) => frame(name).evaluate((group) => group.classList.contains("hide"));
const text = (id) => page.locator("#" + id).textContent();
const labels = () => page.locator("#frames text").allTextContents();
const hash = () => page.evaluate(() => location.hash);

await page.goto(`file://${folder}/small.svg`);
const whole = await width("all"), first = await width("beta"), drawn = await labels();
ok(first < whole, "a frame is narrower than the whole", {first, whole});
await frame("beta").click();
is(await width("beta"), whole, "a click zooms: the frame is as wide as the whole");
is(await hidden("delta"), true, "what is beside it is gone");
ok(await frame("alpha").evaluate((group) => group.classList.contains("parent")), "its caller is faded");
ok((await hash()).startsWith("#zoom="), "the address says where", await hash());
ok(await page.locator("#unzoom").isVisible(), "there is a way out");
const shared = page.url();
await page.goBack();
await becomes(() => width("beta"), first, "the back button leads out");
is(await labels(), drawn, "and every label is as it was drawn");
await page.goForward();
await becomes(() => width("beta"), whole, "and forward in again");
await page.locator("#unzoom").click();
is([await width("beta"), await hidden("delta")], [first, false], "so does Reset zoom");
await frame("gamma").hover();
ok((await text("details")).includes("gamma (5 samples, 31.25%)"), "the line below tells what is under the pointer", await text("details"));

await page.keyboard.press("/");
await page.keyboard.type("gam|del");
is(await page.locator("#frames > .match").count(), 2, "search marks what it found");
is(await text("matched"), "Matched: 50.0% in 2 frames", "and says how much that is");
ok((await hash()).includes("search=gam"), "the address remembers the search", await hash());
await page.keyboard.press("Enter");
await frame("gamma").click();
is(await text("matched"), "Matched: 100.0% in 2 frames", "zoomed, the part is of what is shown");
await page.keyboard.press("Escape");
is([await page.locator("#frames > .match").count(), await text("matched")], [0, ""], "Escape ends the search");
await page.keyboard.press("Escape");
is(await width("beta"), first, "and then the zoom");
await page.keyboard.press("/");
await page.keyboard.type("(");
ok(problems.length === 0, "half a regular expression is no error", problems);
await page.keyboard.press("Escape");

await page.goto("about:blank");
await page.goto(`file://${folder}/small.svg`);
for (let i = 0; i < 4 && !(await page.evaluate(() => document.activeElement?.closest("#frames"))); i++)
	await page.keyboard.press("Tab");
const focused = () => page.evaluate(() => document.activeElement?.querySelector("title")?.textContent.split(" (")[0]);
is(await focused(), "all", "Tab reaches the frames");
await page.keyboard.press("ArrowUp");
is(await focused(), "alpha", "an arrow goes to the widest callee");
await page.keyboard.press("ArrowUp");
await page.keyboard.press("ArrowRight");
is(await focused(), "delta", "and to the side");
await page.keyboard.press("Enter");
is(await width("delta"), whole, "Enter zooms");
await page.keyboard.press("ArrowDown");
is(await focused(), "alpha", "and down to the caller");
await page.keyboard.press("Escape");
await page.keyboard.press("ArrowUp");
await page.keyboard.press("ArrowUp");
is(await focused(), "gamma", "out of the zoom and up again");
/* In one turn of the browser, in which it reports no change of the address. */
const at_once = await frame("delta").evaluate((group) => {
	group.dispatchEvent(new MouseEvent("click", {bubbles: true}));
	return Number(group.querySelector("rect").getAttribute("width"));
});
is([at_once, await focused()], [whole, "delta"], "a zoom is drawn at once, and the focus leaves a frame that it hides");

await page.goto("about:blank");
await page.goto(shared);
is(await width("beta"), whole, "a link opens where it was taken");

const shade = () => page.locator(".from").evaluate((stop) => getComputedStyle(stop).stopColor);
const light = await shade();
await page.emulateMedia({colorScheme: "dark"});
const dark = await shade();
ok(light !== dark && dark === "rgb(30, 31, 34)", "dark where the viewer wants it", {light, dark});
await page.emulateMedia({colorScheme: "light"});

await page.goto(`file://${folder}/change.svg`);
const fill = async (name) => (await frame(name).locator("rect").evaluate((rect) => getComputedStyle(rect).fill)).match(/\d+/g).map(Number);
const [grown, gone] = [await fill("grow"), await fill("gone")];
ok(grown[0] > grown[2] && gone[2] > gone[0], "grown is red, shrunk is blue, and what vanished is there", {grown, gone});

is(await page.locator("#legend text").allTextContents(), ["grew", "shrank", "unchanged"], "a legend says what the colours mean");
const swatches = await page.locator("#legend rect").evaluateAll((all) => all.map((rect) => getComputedStyle(rect).fill.match(/\d+/g).map(Number)));
ok(swatches[0][0] > swatches[0][2] && swatches[1][2] > swatches[1][0], "in those colours", swatches);
await frame("grow").hover();
ok((await text("details")).includes("Total 100 samples before, 700 samples now"), "before and now", await text("details"));

await page.goto(`file://${folder}/sizes.svg`);
const sizes = await page.locator("#frames title").allTextContents();
ok(sizes.some((title) => title.startsWith("0x2001 (31.9 MiB, 100.00%)") && title.includes("Self 1.0 KiB")), "sizes are in MiB", sizes);
for (const size of [1300, 1900, 700]) {
	await page.setViewportSize({width: size, height: 800});
	await page.waitForFunction((wanted) => document.querySelector("#frames rect").getBoundingClientRect().width === wanted - 20, size, {timeout: 3000}).catch(() => undefined);
	const box = await page.locator("#frames rect").first().boundingBox(), search = await page.locator("#search").boundingBox();
	ok(Math.abs(box.width - (size - 20)) < 1 && Math.abs(search.x + search.width - (size - 10)) < 2, `in a window of ${size} it is as wide as that`, {box, search});
}
await page.goto(`file://${folder}/fixed.svg`);
is((await page.locator("#frames rect").first().boundingBox()).width, 880, "a width that was asked for stays");
await page.setViewportSize({width: 1300, height: 800});

await page.goto(`file://${folder}/graph.svg`);
const node = (name) => page.locator(".node", {has: page.locator("text", {hasText: name})}).first();
const grow = async () => { const box = await node("grow").boundingBox(); return {x: box.x + box.width / 2, y: box.y + box.height / 2, width: box.width}; };
const at = await grow();
await page.mouse.move(640, 700);
await page.mouse.down();
await page.mouse.move(700, 650, {steps: 4});
await page.mouse.up();
const moved = await grow();
ok(Math.abs(moved.x - at.x - 60) < 1 && Math.abs(moved.y - at.y + 50) < 1, "a call graph is moved by dragging", {at, moved});
await page.mouse.move(moved.x, moved.y);
await page.mouse.wheel(0, -400);
await page.waitForTimeout(50);
const near = await grow();
ok(near.width > 1.5 * moved.width && Math.abs(near.x - moved.x) < 2 && Math.abs(near.y - moved.y) < 2, "the wheel zooms at the pointer", {moved, near});
await page.locator(".control", {hasText: "Fit"}).click();
const fit = await page.locator(".graph").boundingBox();
ok(fit.x >= -6 && fit.y >= -6 && fit.x + fit.width <= 1306 && fit.y + fit.height <= 806, "a button shows all of it", fit);
const before = await grow();
await page.keyboard.press("ArrowRight");
ok(Math.abs((await grow()).x - before.x + 60) < 1, "arrow keys move it", [before, await grow()]);
await page.keyboard.press("+");
ok((await grow()).width > before.width * 1.2, "and plus zooms");
/** The contrast of a name with its box. */
const contrast = () => node("grow").evaluate((group) => {
	const light = (color) => color.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
		.reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
	const [a, b] = [group.querySelector("text"), group.querySelector("path, polygon")].map((shape) => light(getComputedStyle(shape).fill)).sort((x, y) => y - x);
	return (a + 0.05) / (b + 0.05);
});
const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
const [day, dayContrast] = [await paper(), await contrast()];
await page.emulateMedia({colorScheme: "dark"});
ok(day === "rgb(255, 255, 255)" && (await paper()) === "rgb(27, 30, 34)" && dayContrast >= 4.5 && (await contrast()) >= 4.5, "it has dark colours, and names can be read in both", [day, await paper(), dayContrast, await contrast()]);
await page.emulateMedia({colorScheme: "light"});

await page.goto(`file://${folder}/hostile.svg`);
await page.locator("#frames > g").first().click();
await page.keyboard.press("/");
await page.keyboard.type("script");
ok(await page.locator("#frames > .match").count() > 0, "hostile names are only text");
ok(await page.evaluate(() => !("pwned" in window)), "and nothing of them runs");

await page.goto("about:blank");
await page.goto(`file://${folder}/large.svg`);
const [total, milliseconds, callers] = await page.evaluate(async () => {
	const groups = document.querySelectorAll("#frames > g");
	const start = performance.now();
	groups[Math.floor(groups.length / 100)].dispatchEvent(new MouseEvent("click", {bubbles: true}));
	await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
	return [groups.length, performance.now() - start, document.querySelectorAll("#frames > .parent").length];
});
console.log(`# ${total} frames, a zoom takes ${milliseconds.toFixed(0)} ms`);
ok(total > 1000 && callers > 0, "a picture of thousands of frames is zoomed", [total, callers]);
is(problems, [], "no error, no dialog, no network");
console.log(`1..${count}`);
await browser.close();
