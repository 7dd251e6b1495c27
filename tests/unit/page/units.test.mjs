// units.test.mjs - a rate has the same unit on the page and in the words of series/words.c, whose test reads the same list. Run by `node --test`.
import {test} from "node:test";
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {humanRate} from "../../../src/page/units.mjs";

test("rates are written as the list says", () => {
	const list = readFileSync(new URL("../../fixtures/rates.txt", import.meta.url), "utf8").split("\n").filter((line) => line && !line.startsWith("#"));
	assert.ok(list.length >= 10);
	for (const line of list) {
		const space = line.indexOf(" ");
		assert.equal(humanRate(Number(line.slice(0, space))), line.slice(space + 1));
	}
});
