// live_data.test.mjs - the parts of the live page that need no browser: events, blocks, histories, numbers. Run by `node --test`.
import {test} from "node:test";
import assert from "node:assert/strict";
import {chooseProcess, EventParser, listedProcesses, LiveServer, splitBlocks} from "../../../src/page/live_data.mjs";
import {Course, thinned} from "../../../src/page/course.mjs";
import {humanRate} from "../../../src/page/units.mjs";

test("events come in pieces, and wrong ones are passed over", () => {
	const events = [], parser = new EventParser((event, data) => events.push([event, data]));
	for (const piece of ["retry: 2000\n\nevent: he", "llo\ndata: {\"a\":1}\n", "\nid: 2\nevent: rss\ndata: {not json}\n\nevent: rss\ndata: {\"b\":", "2}\n\ndata: {\"c\":3}"])
		parser.add(piece);
	assert.deepEqual((events), [["hello", {a: 1}], ["rss", {b: 2}]]);
	parser.add("\n\n");
	assert.deepEqual((events.at(-1)), ["message", {c: 3}]);
});

test("nothing is said of a store before all of it is read, and no process is the first", () => {
	const process = (key, state, kind = "steady") => ({process: key, keys: [key + "-before"], state, kind, sentence: "Steady for 24 hours", forecast: "never"});
	const answer = {loading: true, processes: [process("one", "dumps"), process("two", "sampling"), process("three", "ended", "ended")]};
	const some = listedProcesses(answer), all = listedProcesses({...answer, loading: false});
	assert.deepEqual(some.map(({kind, sentence, forecast}) => [kind, sentence, forecast]),
		[["nothing", "Loading …", ""], ["steady", "Steady for 24 hours", "never"], ["ended", "Steady for 24 hours", "never"]]);
	assert.deepEqual(all, answer.processes);
	assert.equal(chooseProcess(some, "", true), undefined);
	assert.equal(chooseProcess(some, "two", true)?.process, "two");
	assert.equal(chooseProcess(all, "", false)?.process, "one");
	assert.equal(chooseProcess(all, "three-before", false)?.process, "three");
	assert.equal(chooseProcess(all, "gone", false), undefined);
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
	const history = new Course(), point = (id) => ({id, total: id, objects: 1, resident: 2 * id, limit: 0, run: 0});
	const series = (points, epoch = 0) => ({now: 9, epoch, limit: 100, points, resident: points.map(({id}) => [id, 2 * id]), marks: [{time: 1, kind: "end", text: ""}], layers: null});
	history.add(series([point(1), point(2)]), 0);
	history.add(series([point(2), point(3)]), 2);
	assert.deepEqual((history.points.map(({id}) => id)), [1, 2, 3]);
	assert.equal(history.marks.length, 1);
	assert.equal(history.nearest(2.4).id, 2);
	assert.equal(history.weightAt(2.5), 4);
	history.add(series([point(5)], 1), 0);
	assert.deepEqual((history.points.map(({id}) => id)), [5]);
	assert.equal(new Course().nearest(1), null);
});

test("a history lets go of what the server keeps no longer", () => {
	const history = new Course(), point = (id) => ({id, total: id, objects: 1, resident: 2 * id, limit: 0, run: 0});
	const series = (points, first) => ({now: 9, epoch: 0, limit: 100, first, points, resident: points.map(({id}) => [id, 2 * id]), marks: [], layers: null});
	history.add({...series([point(1), point(2), point(3)], 1), marks: [{time: 1, kind: "dump", text: ""}, {time: 3, kind: "dump", text: ""}]}, 0);
	history.add(series([point(4)], 3), 3);
	assert.deepEqual((history.points.map(({id}) => id)), [3, 4]);
	assert.deepEqual((history.marks.map(({time}) => time)), [3]);
	assert.deepEqual((history.resident.map(([time]) => time)), [1, 2, 3, 4]);
	assert.equal(history.nearest(1).id, 3);
});

test("a page of a child asks for the child, and a tree says which dumps it is of", async () => {
	const asked = [];
	globalThis.fetch = async (url) => {
		asked.push(url);
		return {ok: true, status: 200, headers: new Headers({ETag: "x", "X-Cairn-Dumps": "17 5"}), arrayBuffer: async () => new ArrayBuffer(2), json: async () => 1};
	};
	const server = new LiveServer("?pid=42&x=y");
	await server.json("api/processes");
	const {bytes, at, base} = await server.fetchTree("api/tree?at=1");
	await new LiveServer("").json("api/processes");
	assert.deepEqual((asked), ["api/processes?pid=42", "api/tree?at=1&pid=42", "api/processes"]);
	assert.deepEqual([bytes.length, at, base], [2, 17, 5]);
});

test("requests come with the cookie, and nowhere else than to their own server", async () => {
	const asked = [];
	globalThis.fetch = async (url, {credentials, headers}) => {
		asked.push([url, credentials, new Headers(headers).get("Authorization")]);
		return {ok: true, status: 200, json: async () => 1};
	};
	const server = new LiveServer("");
	await server.json("api/processes");
	await server.post("api/dump");
	assert.deepEqual(asked, [["api/processes", "same-origin", null], ["api/dump", "same-origin", null]]);
});

test("a page that is open for days keeps a bounded history, the newest in full", () => {
	const history = new Course();
	for (let second = 0; second < 200000; second++)
		history.addResident(second * 1000 + 1, second, 0);
	assert.ok(history.resident.length <= history.most && history.resident.length > history.most / 4, String(history.resident.length));
	assert.equal(history.resident.at(-1)[1], 199999);
	assert.equal(history.resident.at(-2)[1], 199998);
	assert.equal(history.resident[0][1], 0);
	assert.deepEqual((thinned([1, 2, 3, 4, 5, 6], 5)), [1, 3, 4, 5, 6]);
});

test("rates have the unit of time that suits", () => {
	assert.equal(humanRate(10.5 * 1048576 * 3600), "10.5 MiB/s");
	assert.equal(humanRate(3 * 1048576 * 60), "180.0 MiB/h");
	assert.equal(humanRate(200 * 1024), "200.0 KiB/h");
});
