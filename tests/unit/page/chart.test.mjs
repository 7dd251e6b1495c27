// chart.test.mjs - what the chart is made of: the part in view, the courses of files, and the colours of call paths. Run by `node --test`.
import {test} from "node:test";
import assert from "node:assert/strict";
import {PathColors} from "../../../src/page/color.mjs";
import {addHistory, Course, filmCourse} from "../../../src/page/course.mjs";
import {Viewport} from "../../../src/page/viewport.mjs";

test("a view zooms around a place, moves, and stays within the line", () => {
	const view = new Viewport(10);
	view.cover(0, 1000);
	assert.ok(view.isWhole);
	assert.ok(view.zoom(0.5, 250));
	assert.deepEqual([view.from, view.to], [125, 625]);
	assert.ok(view.move(-500));
	assert.deepEqual([view.from, view.to], [0, 500]);
	assert.ok(!view.move(-1));
	view.zoom(0.0001, 100);
	assert.equal(view.length, 10);
	assert.ok(view.zoom(1e9, 100) && view.isWhole && !view.zoom(2, 100));
});

test("a view of the end moves on with it, a view of all of it grows, and another one stays", () => {
	const view = new Viewport(10);
	view.cover(0, 1000);
	view.cover(0, 1100);
	assert.deepEqual([view.from, view.to], [0, 1100]);
	view.set(1000, 1100);
	view.cover(0, 1200);
	assert.deepEqual([view.from, view.to], [1100, 1200]);
	view.set(100, 200);
	view.cover(0, 1300);
	assert.deepEqual([view.from, view.to], [100, 200]);
	view.cover(150, 1300);
	assert.deepEqual([view.from, view.to], [150, 250]);
});

test("the wheel zooms, sideways or with Shift it moves, and says whether anything changed", () => {
	const view = new Viewport(10), turn = (more) => ({deltaMode: 0, deltaX: 0, deltaY: 0, shiftKey: false, ...more});
	view.cover(0, 1000);
	assert.ok(!view.wheel(turn({deltaY: 100}), 500, 100));
	assert.ok(view.wheel(turn({deltaY: -250}), 500, 100));
	assert.deepEqual([view.from, view.to], [250, 750]);
	assert.ok(view.wheel(turn({deltaX: 10}), 500, 100));
	assert.deepEqual([view.from, view.to], [300, 800]);
	assert.ok(view.wheel(turn({deltaY: -10, shiftKey: true}), 500, 100));
	assert.deepEqual([view.from, view.to], [250, 750]);
	assert.ok(view.key("w") && view.length < 500 && view.key("s") && Math.abs(view.length - 500) < 1e-6 && !view.key("x"));
});

test("a film is a course, with a mark where a process or sampling begins anew", () => {
	const course = filmCourse({start: 1000, seconds: [0, 10, 20, 30], totals: [1, 2, 3, 4], resident: [5, 6, 0, 8], limit: [0, 0, 0, 9], limit_of: "machine", runs: [0, 0, 1, 1],
		stretches: [0, 1, 2, 2], layers: [{name: "f", leaf: "f", verdict: "growing", values: [1, 2, 3, 4]}]});
	assert.deepEqual(course.marks, [{time: 6000, kind: "restart", text: "sampling began"}, {time: 16000, kind: "restart", text: "restart"}]);
	assert.deepEqual(course.span, [1000, 31000]);
	assert.deepEqual([course.limit, course.limitOf], [9, "machine"]);
	assert.deepEqual([course.indexOf(0), course.indexOf(15999), course.indexOf(16000), course.indexOf(1e9)], [0, 1, 2, 3]);
	assert.equal(course.weightAt(21000), 6);
	assert.equal(new Course().indexOf(5), -1);
});

test("the seconds of a ledger are a course of their own, or lines in that of dumps", () => {
	const history = {start: 0, seconds: [0, 1], live: [10, 20], resident: [30, 0], usage: [0, 50], limit: [0, 100], rate: [0, 7]}, alone = new Course();
	addHistory(alone, history);
	assert.deepEqual([alone.points.length, alone.limit, alone.limitOf, alone.layers.items[0].values], [2, 100, "cgroup", [10, 20]]);
	const beside = filmCourse({start: 0, seconds: [0], totals: [1], resident: [5], limit: [0], limit_of: "", runs: [0], stretches: [0], layers: []});
	addHistory(beside, history);
	assert.deepEqual([beside.points.length, beside.resident], [1, [[0, 30], [1000, 0]]]);
});

test("a call path has one colour for as long as it is shown, the one that grew most the first", () => {
	const colors = new PathColors(), layer = (name, leaf, ...values) => ({name, leaf, verdict: "", values}), functions = ["", "a", "b", "x", "y"].map((name) => ({name}));
	colors.learn([layer("all others", "", 1), layer("b", "b", 1, 2), layer("a ← x", "a", 1, 5)]);
	const [first, second, others] = ["a ← x", "b", "all others"].map((name) => colors.color(name));
	colors.learn([layer("a ← x", "a", 1), layer("c", "c", 0, 0), layer("b", "b", 9)]);
	assert.deepEqual(["a ← x", "b", "all others"].map((name) => colors.color(name)), [first, second, others]);
	assert.equal(new Set([first, second, others, colors.color("c")]).size, 3);
	const box = (func, above) => ({func, above}), root = box(0, null);
	assert.equal(colors.pathOf(box(1, box(3, root)), functions), "a ← x");
	assert.equal(colors.pathOf(box(1, box(4, root)), functions), "");
	assert.equal(colors.pathOf(box(2, root), functions), "b");
});
