// @ts-check
/* start.js - starts the page in one file, which contains all its data.
 * SPDX-License-Identifier: Apache-2.0 */

async function startFile() {
	checkBrowser();
	useFacts(JSON.parse(document.getElementById("facts")?.textContent ?? "{}"));
	const data = readTree(await readBlock("tree")), film = facts.film ? await readFilm(facts.film) : null;
	element("timeline").hidden = !film && !facts.course;
	showTabs();
	shownPage = new Page(data, film, () => readBlock("split"));
	showHead(shownPage);
	await shownPage.show(shownPage.state);
	document.documentElement.dataset.ready = "yes";
}

startFile().catch((error) => {
	const notice = make("p", "notice", String(error instanceof Error ? error.message : error));
	document.body.prepend(notice);
});
