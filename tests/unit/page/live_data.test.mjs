// live_data.test.mjs - the parts of the live page that need no browser: events, blocks, histories, numbers. Run by `node --test`.
import {readFileSync} from "node:fs";
import {test} from "node:test";
import assert from "node:assert/strict";
import vm from "node:vm";

const context = {};

/** The scripts of the page are one script; here they share one context. */
function load(...names) {
	Object.assign(context, {URLSearchParams, TextDecoder, Headers, Date, Math, AbortSignal, Uint8Array});
	vm.createContext(context);
	const text = names.map((name) => readFileSync(new URL("../../../src/page/" + name, import.meta.url), "utf8")).join("\n");
	vm.runInContext(text + "\nthis.all = {EventParser, LiveHistory, LiveServer, splitBlocks, thinned, liveRate, humanBytes, Reader};", context);
	return context.all;
}
const {EventParser, LiveHistory, LiveServer, splitBlocks, thinned, liveRate} = load("data.js", "units.js", "live_data.js");
const plain = (value) => JSON.parse(JSON.stringify(value));

test("events come in pieces, and wrong ones are passed over", () => {
	const events = [], parser = new EventParser((event, data) => events.push([event, data]));
	for (const piece of ["retry: 2000\n\nevent: he", "llo\ndata: {\"a\":1}\n", "\nid: 2\nevent: rss\ndata: {not json}\n\nevent: rss\ndata: {\"b\":", "2}\n\ndata: {\"c\":3}"])
		parser.add(piece);
	assert.deepEqual(plain(events), [["hello", {a: 1}], ["rss", {b: 2}]]);
	parser.add("\n\n");
	assert.deepEqual(plain(events.at(-1)), ["message", {c: 3}]);
});

test("a tree is three blocks with their lengths", () => {
	const facts = new TextEncoder().encode(JSON.stringify({title: "x".repeat(200)})), bytes = new Uint8Array(2 + facts.length + 1 + 3 + 1);
	bytes.set([(facts.length & 127) | 128, facts.length >> 7]);
	bytes.set(facts, 2);
	bytes.set([3, 7, 8, 9, 0], 2 + facts.length);
	const blocks = splitBlocks(bytes);
	assert.equal(blocks.facts.title.length, 200);
	assert.deepEqual([...blocks.tree], [7, 8, 9]);
	assert.equal(blocks.split.length, 0);
});

test("a history takes what is new, once, and begins anew with another epoch", () => {
	const history = new LiveHistory(), point = (id) => ({id, total: id, objects: 1, resident: 2 * id, limit: 0, run: 0});
	const series = (points, epoch = 0) => ({now: 9, epoch, limit: 100, points, resident: points.map(({id}) => [id, 2 * id]), marks: [{time: 1, kind: "end", text: ""}], layers: null});
	history.add(series([point(1), point(2)]), 0);
	history.add(series([point(2), point(3)]), 2);
	assert.deepEqual(plain(history.points.map(({id}) => id)), [1, 2, 3]);
	assert.equal(history.marks.length, 1);
	assert.equal(history.nearest(2.4).id, 2);
	assert.equal(history.weightAt(2.5), 4);
	history.add(series([point(5)], 1), 0);
	assert.deepEqual(plain(history.points.map(({id}) => id)), [5]);
	assert.equal(new LiveHistory().nearest(1), null);
});

test("a history lets go of what the server keeps no longer", () => {
	const history = new LiveHistory(), point = (id) => ({id, total: id, objects: 1, resident: 2 * id, limit: 0, run: 0});
	const series = (points, first) => ({now: 9, epoch: 0, limit: 100, first, points, resident: points.map(({id}) => [id, 2 * id]), marks: [], layers: null});
	history.add({...series([point(1), point(2), point(3)], 1), marks: [{time: 1, kind: "dump", text: ""}, {time: 3, kind: "dump", text: ""}]}, 0);
	history.add(series([point(4)], 3), 3);
	assert.deepEqual(plain(history.points.map(({id}) => id)), [3, 4]);
	assert.deepEqual(plain(history.marks.map(({time}) => time)), [3]);
	assert.deepEqual(plain(history.resident.map(([time]) => time)), [1, 2, 3, 4]);
	assert.equal(history.nearest(1).id, 3);
});

test("a page of a child asks for the child, and a tree says which dumps it is of", async () => {
	const asked = [];
	context.fetch = async (url) => {
		asked.push(url);
		return {ok: true, status: 200, headers: new Headers({ETag: "x", "X-Cairn-Dumps": "17 5"}), arrayBuffer: async () => new ArrayBuffer(2), json: async () => 1};
	};
	const server = new LiveServer("?pid=42&x=y");
	await server.json("api/processes");
	const {bytes, at, base} = await server.fetchTree("api/tree?at=1");
	await new LiveServer("").json("api/processes");
	assert.deepEqual(plain(asked), ["api/processes?pid=42", "api/tree?at=1&pid=42", "api/processes"]);
	assert.deepEqual([bytes.length, at, base], [2, 17, 5]);
});

test("the token is taken out of the address, and is there after a reload", async () => {
	const kept = new Map(), asked = [];
	context.sessionStorage = {getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value)};
	context.fetch = async (url, {headers}) => {
		asked.push(headers.get("Authorization"));
		return {ok: true, status: 200, json: async () => 1};
	};
	const server = new LiveServer(""), again = () => new LiveServer("");
	assert.equal(server.takeToken("#token=one&tab=bill"), "#tab=bill");
	await server.json("api/processes");
	const reloaded = again();
	assert.equal(reloaded.takeToken("#tab=bill"), "#tab=bill");
	await reloaded.json("api/processes");
	reloaded.takeToken("#token=two");
	await again().json("api/processes");
	delete context.sessionStorage;
	const without = again();
	assert.equal(without.takeToken("#token=three"), "");
	await without.json("api/processes");
	assert.deepEqual(asked, ["Bearer one", "Bearer one", "Bearer two", "Bearer three"]);
});

test("a page that is open for days keeps a bounded history, the newest in full", () => {
	const history = new LiveHistory();
	for (let second = 0; second < 200000; second++)
		history.addResident(second * 1000 + 1, second, 0);
	assert.ok(history.resident.length <= history.most && history.resident.length > history.most / 4, String(history.resident.length));
	assert.equal(history.resident.at(-1)[1], 199999);
	assert.equal(history.resident.at(-2)[1], 199998);
	assert.equal(history.resident[0][1], 0);
	assert.deepEqual(plain(thinned([1, 2, 3, 4, 5, 6], 5)), [1, 3, 4, 5, 6]);
});

test("the token leaves the address", () => {
	const server = new LiveServer();
	assert.equal(server.takeToken("#token=abc&zoom=a%3Bb"), "#zoom=a%3Bb");
	assert.equal(server.token, "abc");
	assert.equal(server.takeToken(""), "");
	assert.equal(server.token, "abc");
});

test("rates have the unit of time that suits", () => {
	assert.equal(liveRate(10.5 * 1048576 * 3600), "10.5 MiB/s");
	assert.equal(liveRate(3 * 1048576 * 60), "3.0 MiB/min");
	assert.equal(liveRate(200 * 1024), "200.0 KiB/h");
});
