// @ts-check
/* course.mjs - memory over time, as the chart draws it: of a live process, which goes on; of the dumps of a file; of the last hour that a
 * ledger has.
 * SPDX-License-Identifier: Apache-2.0 */
/** @import {FilmFacts, HistoryFacts} from "./data.mjs" */

/**
 * One dump. LOW and HIGH are the ends of the interval of TOTAL, where it is known; memory that was not measured is 0. A stretch ends where
 * the process or sampling begins anew.
 * @typedef {{id: number, total: number, objects: number, resident: number, limit: number, run: number, low?: number, high?: number}} Point
 */
/** @typedef {{time: number, kind: string, text: string}} Mark */
/** @typedef {{name: string, leaf: string, verdict: string, values: number[]}} Layer */
/** @typedef {{ids: number[], items: Layer[]}} Layers */
/** @typedef {{pid: number, first: number, last: number, dumps: number, total: number, ended: string}} Run */
/** A second of the ledger's history: what was allocated in it. @typedef {{time: number, rate: number, usage: number}} Second */
/**
 * What the server says of a process over time (doc/live-page.md).
 * @typedef {object} LiveSeries
 * @property {number} now
 * @property {number} epoch
 * @property {number} limit
 * @property {string} [limit_of]
 * @property {number} first the oldest dump that is kept
 * @property {Point[]} points
 * @property {[number, number][]} resident
 * @property {Mark[]} marks
 * @property {Layers | null} layers
 * @property {Run[]} runs the newest first
 */

/** All that a page knows about one process over time. Ids of dumps are the times at which they were taken, in milliseconds. */
export class Course {
	constructor() {
		/** @type {Point[]} */
		this.points = [];
		/** @type {[number, number][]} */
		this.resident = [];
		/** @type {Mark[]} */
		this.marks = [];
		/** @type {Layers | null} */
		this.layers = null;
		/** @type {Run[]} */
		this.runs = [];
		/** @type {Second[]} */
		this.seconds = [];
		this.limit = 0;
		/** Whose limit it is: cgroup, machine or machines. */
		this.limitOf = "";
		this.epoch = -1;
		this.now = 0;
		/** The most numbers to keep; beyond that, every second one of the older half is dropped. */
		this.most = 8192;
	}

	/** The time from which to ask for more. */
	get since() {
		return this.points.at(-1)?.id ?? 0;
	}

	/** When it begins and ends. @returns {[number, number]} */
	get span() {
		const {points, resident} = this, first = Math.min(points[0]?.id ?? Infinity, resident[0]?.[0] ?? Infinity);
		return Number.isFinite(first) ? [first, Math.max(points.at(-1)?.id ?? 0, resident.at(-1)?.[0] ?? 0)] : [0, 0];
	}

	/** @param {LiveSeries} series @param {number} since */
	add(series, since) {
		if (!since || series.epoch !== this.epoch) {
			this.points = since ? [] : series.points;
			this.resident = series.resident;
			this.marks = series.marks;
		} else {
			const last = this.since, seen = this.resident.at(-1)?.[0] ?? 0;
			this.points.push(...series.points.filter((point) => point.id > last));
			this.resident.push(...series.resident.filter(([time]) => time > seen));
			this.marks.push(...series.marks.filter((mark) => !this.marks.some((known) => known.time === mark.time && known.kind === mark.kind)));
		}
		if (series.first) { /* nobody can see what the server does not keep any more */
			this.points = this.points.filter((point) => point.id >= series.first);
			this.marks = this.marks.filter((mark) => mark.time >= series.first);
		}
		this.epoch = series.epoch;
		this.layers = series.layers ?? this.layers;
		this.runs = series.runs ?? this.runs;
		this.limit = series.limit;
		this.limitOf = series.limit_of ?? this.limitOf;
		this.now = series.now;
		this.thin();
	}

	/** @param {number} time @param {number} resident @param {number} limit */
	addResident(time, resident, limit) {
		if (time > (this.resident.at(-1)?.[0] ?? 0))
			this.resident.push([time, resident]);
		this.now = Math.max(this.now, time);
		this.limit = limit || this.limit;
		this.thin();
	}

	thin() {
		this.points = thinned(this.points, this.most);
		this.resident = thinned(this.resident, this.most);
		this.marks = this.marks.slice(-500);
	}

	/** The number of the dump nearest to a time; -1 if there is none. @param {number} time */
	indexOf(time) {
		const {points} = this, after = points.findIndex((point) => point.id >= time);
		return after <= 0 ? after < 0 ? points.length - 1 : 0 : points[after].id - time <= time - points[after - 1].id ? after : after - 1;
	}

	/** The dump nearest to a time; null if there is none. @param {number} time */
	nearest(time) {
		return this.points[this.indexOf(time)] ?? null;
	}

	/** Resident memory at a time, as it was last measured; live memory if it never was. @param {number} time */
	weightAt(time) {
		const rows = this.resident.length ? this.resident : this.points.map((point) => /** @type {[number, number]} */ ([point.id,
			point.resident || point.total]));
		let value = rows[0]?.[1] ?? 0;
		for (const row of rows) {
			if (row[0] > time)
				break;
			value = row[1] || value;
		}
		return value;
	}

	/** The values of the layers at the dump nearest to a time: the number of the column. @param {number} time */
	layerIndex(time) {
		const ids = this.layers?.ids ?? [];
		let index = 0;
		ids.forEach((id, i) => { index = Math.abs(id - time) < Math.abs(ids[index] - time) ? i : index; });
		return index;
	}
}

/** The course of the dumps in a file. @param {FilmFacts} film */
export function filmCourse(film) {
	const course = new Course(), ids = film.seconds.map((seconds) => film.start + seconds * 1000);
	course.points = ids.map((id, i) => ({id, total: film.totals[i], objects: 0, resident: film.resident[i], limit: film.limit[i],
		run: film.stretches[i], low: film.low?.[i], high: film.high?.[i]}));
	course.resident = course.points.map(({id, resident}) => [id, resident]);
	course.layers = {ids, items: film.layers};
	course.limit = film.limit.at(-1) ?? 0;
	course.limitOf = film.limit_of;
	course.marks = ids.flatMap((id, i) => i && film.stretches[i] !== film.stretches[i - 1] ? [{time: (ids[i - 1] + id) / 2, kind: "restart",
		text: film.runs[i] !== film.runs[i - 1] ? "restart" : "sampling began"}] : []);
	return course;
}

/** Adds the seconds of a ledger, and its live memory where there are no dumps. @param {Course} course @param {HistoryFacts} history */
export function addHistory(course, history) {
	const ids = history.seconds.map((seconds) => history.start + seconds * 1000);
	course.resident = ids.map((id, i) => /** @type {[number, number]} */ ([id, history.resident[i]]));
	course.seconds = ids.map((id, i) => ({time: id, rate: history.rate[i], usage: history.usage[i]}));
	course.limit = history.limit.at(-1) ?? course.limit;
	course.limitOf = course.seconds.some(({usage}) => usage > 0) ? "cgroup" : "machine";
	if (course.points.length)
		return;
	course.points = ids.map((id, i) => ({id, total: history.live[i], objects: 0, resident: history.resident[i], limit: history.limit[i], run: 0}));
	course.layers = {ids, items: [{name: "live memory", leaf: "", verdict: "", values: history.live}]};
}

/** Drops every second item of the older half of too long a list. @template T @param {T[]} list @param {number} most @returns {T[]} */
export function thinned(list, most) {
	if (list.length <= most)
		return list;
	const half = list.length >> 1;
	return list.filter((_, i) => i >= half || i % 2 === 0);
}
