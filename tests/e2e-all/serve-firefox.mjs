// serve-firefox.mjs FIREFOX FOLDER LIVE-URL LARGE-URL: opens live pages in Firefox and looks whether they are drawn, follow, and can be used. Says what is
// wrong and fails, or prints one line.
import puppeteer from "puppeteer-core";
import assert from "node:assert/strict";

const [executablePath, folder, liveUrl, largeUrl] = process.argv.slice(2);
const browser = await puppeteer.launch({browser: "firefox", executablePath, headless: true, userDataDir: folder + "/firefox-profile"});
/** How many colours a canvas has. */
const colors = (page, id) => page.evaluate((wanted) => {
	const canvas = document.getElementById(wanted), {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), found = new Set();
	for (let i = 0; i < data.length; i += 16)
		found.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
	return found.size;
}, id);
try {
	const page = await browser.newPage(), problems = [];
	page.on("pageerror", (error) => problems.push(error.message));
	await page.setViewport({width: 1366, height: 768});
	await page.goto(liveUrl);
	await page.waitForSelector("html[data-shown]", {timeout: 60000});
	const first = await page.evaluate(() => document.documentElement.dataset.shown);
	await page.waitForFunction((old) => Number(document.documentElement.dataset.shown) > Number(old) + 2000, {timeout: 60000}, first);
	assert.match(await page.$eval("#state", (element) => element.textContent), /PID \d+ .* sampling since/);
	assert.ok((await page.$eval("#verdict", (element) => element.textContent)).length > 8, "there is a verdict");
	assert.ok(await colors(page, "chart") > 3, "the timeline is drawn");
	assert.ok(await colors(page, "picture") > 3, "the picture is drawn");
	const box = await (await page.$("#picture")).boundingBox();
	await page.mouse.click(box.x + 40, box.y + 60);
	await page.waitForFunction(() => /at=2/.test(location.hash) && /zoom=/.test(location.hash), {timeout: 10000});
	assert.equal(await page.$eval("#follow", (element) => element.hidden), false, "a click freezes the picture");
	await page.goto(largeUrl);
	await page.waitForSelector("html[data-shown]", {timeout: 60000});
	await page.setViewport({width: 390, height: 844});
	assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 390, "it fits a telephone");
	await page.screenshot({path: folder + "/firefox.png"});
	assert.deepEqual(problems, [], "nothing went wrong");
	console.log(await browser.version());
} finally {
	await browser.close();
}
