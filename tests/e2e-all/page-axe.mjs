// page-axe.mjs CHROMIUM COUNT NAME=URL...: looks at every tab and dialog of the pages with axe-core, in both themes and three sizes. Prints TAP.
import {chromium} from "playwright-core";
import {createRequire} from "node:module";
import {readFileSync} from "node:fs";

const [executablePath, before, ...named] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({executablePath, args: ["--no-sandbox"]});
let count = Number(before);

/** What is wrong with the page as it is now, each kind once for an element. */
const violations = async (page) => {
	const {violations: list} = await page.evaluate(() => axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}));
	return list.flatMap(({id, nodes}) => nodes.map(({target}) => `${id} ${target.join(" ")}`));
};
for (const [name, url] of named.map((text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)]))
	for (const colorScheme of ["light", "dark"])
		for (const [width, height] of [[1366, 768], [1920, 1080], [390, 844]]) {
			const context = await browser.newContext({viewport: {width, height}, colorScheme, bypassCSP: true}), page = await context.newPage();
			await page.goto(url);
			await page.waitForSelector("html[data-shown], html[data-ready]", {timeout: 60000});
			await page.addScriptTag({content: axe});
			const found = new Set(await violations(page)), add = async () => (await violations(page)).forEach((one) => found.add(one));
			for (const tab of await page.locator('[role="tab"]:visible').evaluateAll((tabs) => tabs.map((tab) => tab.id))) {
				await page.locator("#" + tab).click();
				await page.waitForFunction((id) => document.getElementById(id.replace("tab-", "panel-")).innerText.trim(), tab, {timeout: 3000}).catch(() => undefined);
				await add();
			}
			await page.locator("#functions tbody button, #panel-bill").first().evaluate((button) => button.click());
			await page.locator("#search").fill("a");
			await add();
			await page.locator("#search").fill("");
			await page.locator("#download-button").click();
			await add();
			await page.keyboard.press("Escape");
			await page.locator("#help-button").click();
			await add();
			console.log(`${found.size ? "not ok" : "ok"} ${++count} - ${name}, ${width} by ${height}, ${colorScheme}: axe-core finds nothing`);
			for (const one of found)
				console.log("#   " + one);
			await context.close();
		}
console.log("1.." + count);
await browser.close();
