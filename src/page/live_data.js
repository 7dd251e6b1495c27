// @ts-check
/* live_data.js - the requests of a live page to its server, and the answers (doc/live-page.md).
 *
 * The token comes in the fragment of the address and is kept for the tab, so that it is there after a reload. Events are read with fetch,
 * which can send the token; the browser's own EventSource cannot.
 * SPDX-License-Identifier: Apache-2.0 */

/**
 * One process in the answer to /api/processes. Times are milliseconds since 1970.
 * @typedef {object} LiveProcess
 * @property {string} process its key
 * @property {string} program
 * @property {string} command
 * @property {number} pid
 * @property {string} host
 * @property {boolean} live
 * @property {"waiting" | "sampling" | "paused" | "stopped" | "silent" | "ended" | "dumps"} state
 * @property {string} why
 * @property {number} since
 * @property {number} sampling_since
 * @property {string} engine
 * @property {number} period
 * @property {string} kind of the verdict
 * @property {string} sentence
 * @property {number} bytes_per_hour
 * @property {number} limit_at
 * @property {number} resident
 * @property {number} limit
 * @property {string} limit_of
 * @property {number} total
 * @property {number} dumps
 * @property {number} last
 * @property {number} next_in
 * @property {number} cost
 * @property {boolean} churn
 * @property {number} runs the number of runs of the program, one after the other
 * @property {string[]} keys other names that it may have in an address
 */

/** @typedef {{id: number, total: number, objects: number, resident: number, limit: number, run: number}} LivePoint */
/** @typedef {{time: number, kind: string, text: string}} LiveMark */
/** @typedef {{name: string, leaf: string, verdict: string, values: number[]}} LiveLayer */
/** @typedef {{ids: number[], items: LiveLayer[]}} LiveLayers */
/** @typedef {{pid: number, first: number, last: number, dumps: number, total: number, ended: string}} LiveRun */
/**
 * @typedef {object} LiveSeries
 * @property {number} now
 * @property {number} epoch
 * @property {number} limit
 * @property {number} first the oldest dump that is kept
 * @property {LivePoint[]} points
 * @property {[number, number][]} resident
 * @property {LiveMark[]} marks
 * @property {LiveLayers | null} layers
 * @property {LiveRun[]} runs the newest first
 */

/** A failure with the server's explanation. */
class ServerError extends Error {
	/** @param {number} status @param {string} message */
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

class LiveServer {
	/** @param {string} [query] of the page's address: an agent has pages of other processes of its tree at ?pid= */
	constructor(query = "") {
		this.token = "";
		try {
			this.token = sessionStorage.getItem("cairn-token") ?? "";
		} catch {
			/* A browser may have no storage: then a reload needs the address with the token again. */
		}
		this.pid = new URLSearchParams(query).get("pid") ?? "";
		/** The last tree, with its tag: it is only sent again if it changed. @type {{url: string, tag: string, bytes: Uint8Array} | null} */
		this.tree = null;
	}

	/** Removes the token from the address. @param {string} hash @returns {string} the rest of it */
	takeToken(hash) {
		const query = new URLSearchParams(hash.slice(1));
		this.token = query.get("token") ?? this.token;
		query.delete("token");
		try {
			sessionStorage.setItem("cairn-token", this.token);
		} catch {
			/* As above. */
		}
		return query.size ? "#" + query.toString() : "";
	}

	/** @param {string} path @param {RequestInit} [options] */
	async ask(path, options = {}) {
		const headers = new Headers(options.headers);
		if (this.token)
			headers.set("Authorization", "Bearer " + this.token);
		/* A lost connection is not always reported: without a limit, the page might wait for an answer for ever. */
		const signal = options.signal ?? AbortSignal.timeout(options.method === "POST" ? 90000 : 20000);
		const url = this.pid ? path + (path.includes("?") ? "&" : "?") + new URLSearchParams({pid: this.pid}) : path;
		const response = await fetch(url, {...options, signal, headers, cache: "no-store", credentials: "omit"});
		if (!response.ok && response.status !== 304) {
			const text = await response.text();
			let message = text.trim();
			try {
				message = JSON.parse(text).error ?? message;
			} catch {
				/* Not JSON: it is plain text. */
			}
			throw new ServerError(response.status, message || `The server answers ${response.status}`);
		}
		return response;
	}

	/** @param {string} path @returns {Promise<any>} */
	async json(path) {
		return (await this.ask(path)).json();
	}

	/** A request that changes something, with a header that pages of other sites cannot send. @param {string} path */
	post(path) {
		return this.ask(path, {method: "POST", headers: {"X-Cairn": "1"}});
	}

	/**
	 * Fetches a tree, and the dumps that it is made of: the server takes those nearest to the request. The bytes are null if it is the
	 * tree that was fetched last.
	 * @param {string} url @returns {Promise<{bytes: Uint8Array | null, at: number, base: number}>}
	 */
	async fetchTree(url) {
		/** @type {HeadersInit} */
		const headers = this.tree ? {"If-None-Match": this.tree.tag} : {};
		const response = await this.ask(url, {headers});
		const [at = 0, base = 0] = (response.headers.get("X-Cairn-Dumps") ?? "").split(" ").map(Number);
		if (response.status === 304)
			return {bytes: null, at, base};
		const bytes = new Uint8Array(await response.arrayBuffer());
		this.tree = {url, tag: response.headers.get("ETag") ?? "", bytes};
		return {bytes, at, base};
	}

	/**
	 * Reads events until the connection ends, and calls HEARD for every sign of life.
	 * @param {(event: string, data: any) => void} take @param {() => void} heard @param {AbortSignal} signal
	 */
	async events(take, heard, signal) {
		const response = await this.ask("api/events", {signal}), reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
		const parser = new EventParser(take);
		for (;;) {
			const part = await reader?.read();
			if (!part || part.done)
				return;
			heard();
			parser.add(part.value);
		}
	}
}

/** Parses server-sent events from text that comes in pieces. */
class EventParser {
	/** @param {(event: string, data: any) => void} take */
	constructor(take) {
		this.take = take;
		this.rest = "";
	}

	/** @param {string} text */
	add(text) {
		const blocks = (this.rest + text).split("\n\n");
		this.rest = blocks.pop() ?? "";
		for (const block of blocks) {
			let event = "message", data = "";
			for (const line of block.split("\n")) {
				if (line.startsWith("event: "))
					event = line.slice(7);
				else if (line.startsWith("data: "))
					data += line.slice(6);
			}
			if (!data)
				continue;
			try {
				this.take(event, JSON.parse(data));
			} catch (error) {
				if (!(error instanceof SyntaxError))
					throw error;
			}
		}
	}
}

/** The three blocks of a tree: the facts, the tree and its split. @param {Uint8Array} bytes */
function splitBlocks(bytes) {
	const reader = new Reader(bytes);
	const block = () => {
		const length = reader.number(), start = reader.at;
		reader.at += length;
		return bytes.subarray(start, start + length);
	};
	const next = /** @type {Facts} */ (JSON.parse(new TextDecoder().decode(block())));
	return {facts: next, tree: block(), split: block()};
}

/** All that the page knows about one process over time. */
class LiveHistory {
	constructor() {
		/** @type {LivePoint[]} */
		this.points = [];
		/** @type {[number, number][]} */
		this.resident = [];
		/** @type {LiveMark[]} */
		this.marks = [];
		/** @type {LiveLayers | null} */
		this.layers = null;
		/** @type {LiveRun[]} */
		this.runs = [];
		this.limit = 0;
		this.epoch = -1;
		this.now = 0;
		/** The most numbers to keep; beyond that, every second one of the older half is dropped. */
		this.most = 8192;
	}

	/** The time from which to ask for more. */
	get since() {
		return this.points.at(-1)?.id ?? 0;
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

	/** The dump nearest to a time; null if there is none. @param {number} time */
	nearest(time) {
		/** @type {LivePoint | null} */
		let best = null;
		for (const point of this.points)
			if (!best || Math.abs(point.id - time) <= Math.abs(best.id - time))
				best = point;
		return best;
	}

	/** Resident memory at a time, or live memory if that is unknown. @param {number} time */
	weightAt(time) {
		const rows = this.resident.length ? this.resident : this.points.map((point) => /** @type {[number, number]} */ ([point.id,
			point.resident || point.total]));
		let value = rows[0]?.[1] ?? 0;
		for (const row of rows) {
			if (row[0] > time)
				break;
			value = row[1];
		}
		return value;
	}
}

/** Drops every second item of the older half of too long a list. @template T @param {T[]} list @param {number} most @returns {T[]} */
function thinned(list, most) {
	if (list.length <= most)
		return list;
	const half = list.length >> 1;
	return list.filter((_, i) => i >= half || i % 2 === 0);
}

/** The local time of day. @param {number} time @param {boolean} [seconds] */
function clockTime(time, seconds = true) {
	const date = new Date(time), two = (/** @type {number} */ number) => String(number).padStart(2, "0");
	const today = date.toDateString() === new Date().toDateString();
	const day = today ? "" : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `;
	return day + two(date.getHours()) + ":" + two(date.getMinutes()) + (seconds ? ":" + two(date.getSeconds()) : "");
}

/** A rate in the unit of time that is easiest to read. @param {number} perHour */
function liveRate(perHour) {
	const size = Math.abs(perHour), much = 104857.6;
	return size / 3600 >= much ? humanBytes(perHour / 3600) + "/s" : size / 60 >= much ? humanBytes(perHour / 60) + "/min"
		: humanBytes(perHour) + "/h";
}
