// link.test.mjs - short forms of names and paths in addresses. Run by `node --test`.
import {test} from "node:test";
import assert from "node:assert/strict";
import {findName, findPath, isShort, joinNames, shortName, shortPath, splitNames} from "../../../src/page/link.mjs";
import {expandNames, expandZoom, readState, writeState} from "../../../src/page/state.mjs";
import {exactly} from "../../../src/page/tree.mjs";

const long = (text) => `core::ops::function::FnOnce<${text}>::call_once::h${"0123456789abcdef".repeat(4)}`;
const names = ["a", "b", ...Array.from({length: 60}, (_, i) => long("frame" + i))];

/** A tree of one path of all NAMES, and beside its end one of another name; the functions in another order if REVERSED. */
function treeOf(reversed) {
	const order = reversed ? [...names, "other"].reverse() : [...names, "other"], functions = [{name: ""}, ...order.map((name) => ({name}))];
	const number = (name) => 1 + order.indexOf(name), func = [0, ...names.map(number), number("other")], parent = func.map((_, i) => i - 1);
	parent[func.length - 1] = func.length - 3;
	return {functions, tree: {count: func.length, func: Int32Array.from(func), parent: Int32Array.from(parent), selfSize: new Float64Array(func.length).fill(1)}};
}
const named = ({functions}, path) => path.map((func) => functions[func].name);

test("short names stay as they are, long ones are a hash that finds them again", () => {
	const {functions} = treeOf(true);
	assert.equal(shortName("main"), "main");
	assert.ok(isShort(shortName(names[5])) && shortName(names[5]).length < 16);
	assert.equal(findName(functions, shortName(names[5])), names[5]);
	assert.equal(findName(functions, "~nothing"), undefined);
	assert.deepEqual(splitNames(joinNames(["a;b", "c\\"])), ["a;b", "c\\"]);
});

test("a long path is found again in another profile, from both ends", () => {
	const text = shortPath(names), other = treeOf(true), up = [...names].reverse().slice(0, 40);
	assert.ok(isShort(text) && text.length < 80);
	assert.equal(shortPath(["a", "b"]), "a;b");
	assert.deepEqual(named(other, findPath(other.tree, other.functions, text, false)), names);
	assert.deepEqual(named(other, findPath(other.tree, other.functions, shortPath(up), true)), up);
});

test("of a path whose end is gone, what is left of it is found", () => {
	const gone = [...names.slice(0, 50), long("gone"), long("too")], {tree, functions} = treeOf(false);
	assert.deepEqual(named({functions}, findPath(tree, functions, shortPath(gone), false)), names.slice(0, 50));
	assert.deepEqual(findPath(tree, functions, shortPath([long("x"), long("y")]), false), []);
	assert.deepEqual(findPath(tree, functions, "~99999999999.x~-1.y~e5", true), []);
});

test("an address has everything in less than 300 characters", () => {
	globalThis.document = {querySelector: () => null, documentElement: {dataset: {}}};
	globalThis.CSS = {escape: (text) => text};
	const {tree, functions} = treeOf(true), filters = [{kind: "ignore", text: exactly(long("frame3"))}];
	const state = {...readState("", null), zoom: names, selected: names[40], filters, process: "api-server-0-26645", at: "2026-11-15T04:10:02.000Z", base: "2026-11-15T04:00:02.000Z",
		other: ["2026-11-15T03:00:02.000Z", "2026-11-15T03:10:02.000Z"]};
	const address = writeState(state), read = expandZoom(expandNames(readState(address, null), functions), tree, functions);
	assert.ok(address.length < 300, `${address.length}: ${address}`);
	assert.deepEqual([read.zoom, read.selected, read.filters, read.at, read.other], [state.zoom, state.selected, filters, state.at, state.other]);
	const unknown = expandZoom(expandNames(readState(address, null), [{name: ""}]), {count: 1, func: [0], parent: [-1], selfSize: [0]}, [{name: ""}]);
	assert.equal(writeState(unknown), address);
	for (const text of ["#other=~", "#other=zzzzzzzzzzzzzz~1", "#other=1~1", "#other=<img>~1"])
		assert.deepEqual(readState(text, null).other, []);
});
