// @ts-check
/* live_data.mjs - the requests of a live page to its server, and the answers (doc/live-page.md).
 *
 * A cookie that no script can read stands for the token; the server sets it when the printed address is opened. Events are read with fetch,
 * which says why it was refused; the browser's own EventSource does not.
 * SPDX-License-Identifier: Apache-2.0 */
import {Reader} from "./data.mjs";
/** @import {Facts} from "./data.mjs" */

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
 * @property {string} forecast
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

/**
 * The processes to list. While the server still reads its folders or its store (`loading`), it does not know yet what it will say of those
 * that it knows by their dumps.
 * @param {{processes: LiveProcess[], loading?: boolean}} answer to /api/processes @returns {LiveProcess[]}
 */
export function listedProcesses({processes, loading}) {
	return processes.map((process) => loading && process.state === "dumps" ? {...process, kind: "nothing", sentence: "Loading …", forecast: ""}
		: process);
}

/**
 * The process to show: that with the key WANTED, or if none is asked for the first, which is known once everything is read.
 * @param {LiveProcess[]} processes @param {string} wanted @param {boolean} loading @returns {LiveProcess | undefined}
 */
export function chooseProcess(processes, wanted, loading) {
	if (!wanted)
		return loading ? undefined : processes[0];
	return processes.find((process) => process.process === wanted) ?? processes.find((process) => process.keys.includes(wanted));
}

/** A failure with the server's explanation. */
export class ServerError extends Error {
	/** @param {number} status @param {string} message */
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

export class LiveServer {
	/** @param {string} [query] of the page's address: an agent has pages of other processes of its tree at ?pid= */
	constructor(query = "") {
		this.pid = new URLSearchParams(query).get("pid") ?? "";
		/** The last tree, with its tag: it is only sent again if it changed. @type {{url: string, tag: string, bytes: Uint8Array} | null} */
		this.tree = null;
	}

	/** @param {string} path @param {RequestInit} [options] */
	async ask(path, options = {}) {
		/* A lost connection is not always reported: without a limit, the page might wait for an answer for ever. */
		const signal = options.signal ?? AbortSignal.timeout(options.method === "POST" ? 90000 : 20000);
		const url = this.pid ? path + (path.includes("?") ? "&" : "?") + new URLSearchParams({pid: this.pid}) : path;
		const response = await fetch(url, {...options, signal, cache: "no-store", credentials: "same-origin"});
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
export class EventParser {
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
export function splitBlocks(bytes) {
	const reader = new Reader(bytes);
	const block = () => {
		const length = reader.number(), start = reader.at;
		reader.at += length;
		return bytes.subarray(start, start + length);
	};
	const next = /** @type {Facts} */ (JSON.parse(new TextDecoder().decode(block())));
	return {facts: next, tree: block(), split: block()};
}
