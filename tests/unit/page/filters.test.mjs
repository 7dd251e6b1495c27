// filters.test.mjs - what filters by thread, size and age leave of a split, and what the allocator's tab makes of statistics. Run by `node --test`.
import {test} from "node:test";
import assert from "node:assert/strict";
import {readSplit} from "../../../src/page/data.mjs";
import {binRows} from "../../../src/page/live_tabs.mjs";
import {wantedGroups} from "../../../src/page/tree.mjs";
import {ageName} from "../../../src/page/units.mjs";

const facts = {threads: [{name: "main", id: "1"}, {name: "io", id: "2"}], ages: ["under 1 s", "1 s to 10 s", "10 s to 1 min", "1 day and more"],
	columns: [{type: "inuse_space", unit: "bytes"}], change: false, base: false};
const split = {thread: [0, 0, 1, 1], size: [4, 8, 4, 8], age: [1, 2, 3, 0]};
const left = (...filters) => wantedGroups(facts, split, filters.map(([kind, value]) => ({kind, text: value}))).map(Number).join("");

test("filters of one kind add up, those of several kinds meet", () => {
	assert.equal(left(), "1111");
	assert.equal(left(["thread", "io/2"]), "0011");
	assert.equal(left(["thread", "io/2"], ["thread", "main/1"]), "1111");
	assert.equal(left(["thread", "io/2"], ["size", "4"]), "0010");
	assert.equal(left(["size", "4"], ["size", "8"], ["age", "1"]), "1000");
});

test("an age is one class, or it and all that are older; what has none is in neither", () => {
	assert.equal(left(["age", "2"]), "0100");
	assert.equal(left(["age", "2+"]), "0110");
	assert.equal(left(["age", "1"], ["age", "3"]), "1010");
	assert.equal(left(["age", "nonsense"]), "0000");
	assert.equal(ageName("2", facts), "1 s to 10 s");
	assert.equal(ageName("2+", facts), "1 s and older");
	assert.equal(ageName("1+", facts), "under 1 s and older");
	assert.equal(ageName("99", facts), "age not known");
});

test("a split has a thread, a size and an age for each group", () => {
	/* Two groups; of two nodes the second has both. */
	const read = readSplit(facts, new Uint8Array([2, 0, 1, 4, 8, 1, 3, 0, 2, 0, 1, 10, 20]), 2);
	assert.deepEqual([...read.age], [1, 3]);
	assert.deepEqual([...read.first], [0, 0, 2]);
	assert.deepEqual([...read.columns.values[0]], [10, 20]);
});

test("size classes come by what is free in their slabs", () => {
	const rows = (binRows([{size: 8, nregs: 512}, {size: 1024, nregs: 4}, {size: 64, nregs: 64}], [{curregs: 500, curslabs: 1},
		{curregs: 5, curslabs: 2}, {curregs: 0, curslabs: 0}]));
	assert.deepEqual(rows.map(({size, free}) => [size, free]), [[1024, 3072], [8, 96]]);
	assert.equal(rows[0].share, 5 / 8);
	assert.deepEqual((binRows([{size: 8, nregs: 1}], [])), []);
});
