// folded.test.mjs - folded text that a reader drops on the page. Run by `node --test`.
import {test} from "node:test";
import assert from "node:assert/strict";
import {readFolded} from "../../../src/page/folded.mjs";
import {refine} from "../../../src/page/tree.mjs";

const read = (text) => readFolded(text, "x.folded", {version: "1", ages: []});

test("folded text is a tree, whatever the names are", () => {
	const data = read("main;serve;cache 600\r\nmain;serve;session 300\nmain 5\n\n<img src=x>;a b 7\n"), tree = refine(data, null, [], true);
	assert.deepEqual([tree.total.value[0], data.facts.total, data.facts.title], [912, 912, "x.folded"]);
	assert.deepEqual(data.functions.slice(1).map(({name}) => name), ["main", "serve", "cache", "session", "<img src=x>", "a b"]);
	const sums = tree.sums(data.functions.length);
	assert.deepEqual([sums.total.value[1], sums.self.value[1], sums.total.value[2]], [905, 5, 900]);
});

test("what is no folded text is refused in a sentence, at once", () => {
	for (const text of ["heap_v2/524288\n  t*: 1: 2 [0: 0]\n", "\u007fELF\u0000\u0001", "a;b\n", "a -5\n", "a 99999999999999999999\n", "", "a 0\n"])
		assert.throws(() => read(text), /^Error: x\.folded /);
	assert.throws(() => read("a;".repeat(5000) + "b 1"), /more than 4096 frames/);
	assert.throws(() => read(Array.from({length: 500}, (_, i) => `${i};`.repeat(1000) + "x 1").join("\n")), /more than 400000 boxes/);
});
