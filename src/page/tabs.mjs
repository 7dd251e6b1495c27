// @ts-check
/* tabs.mjs - the tables that both pages have besides that of functions: the bill and churn.
 *
 * Text that comes from a service is only ever inserted as text, never as markup.
 * SPDX-License-Identifier: Apache-2.0 */
import {make} from "./dom.mjs";
import {humanBytes, humanCount, humanDuration, percent} from "./units.mjs";

/** @typedef {{text: string, className?: string, title?: string, node?: Element}} PlainCell */

/**
 * A table of rows that can be clicked. @param {string[]} head @param {{cells: PlainCell[], pick?: () => void}[]} rows @param {string} label
 */
export function plainTable(head, rows, label) {
	const wide = make("div", "wide"), table = make("table", "plain"), first = make("thead"), body = make("tbody"), line = make("tr");
	table.setAttribute("aria-label", label);
	head.forEach((title, i) => {
		const cell = make("th", i === head.length - 1 ? "name" : "", title);
		cell.setAttribute("scope", "col");
		line.append(cell);
	});
	first.append(line);
	for (const {cells, pick} of rows) {
		const row = make("tr");
		cells.forEach(({text, className, title, node}, i) => {
			const last = i === cells.length - 1, cell = make(last ? "th" : "td", (last ? "name " : "") + (className ?? ""));
			if (last && pick) {
				cell.setAttribute("scope", "row");
				const button = make("button", "", text);
				button.title = title ?? text;
				button.addEventListener("click", pick);
				cell.append(button);
			} else {
				cell.textContent = text;
			}
			if (node)
				cell.append(node);
			if (title)
				cell.title = title;
			row.append(cell);
		});
		body.append(row);
	}
	table.append(first, body);
	wide.append(table);
	return wide;
}

/** Shows the resident memory, line by line. LIMITOF is cgroup, machine, or unknown. @param {HTMLElement} panel @param {any} bill @param {string} [limitOf] */
export function showBill(panel, bill, limitOf) {
	const lines = /** @type {any[]} */ (bill.lines).filter((line) => line.bytes > 0).sort((a, b) => b.bytes - a.bytes);
	const {not_resident: beside} = bill, limit = bill.limit
		? limitOf === "machine" ? ` of ${humanBytes(bill.limit)} in the machine` : `, of a ${humanBytes(bill.limit)} limit` : "";
	const notes = /** @type {string[]} */ (bill.notes);
	const extra = [[beside.retained, "kept by the allocator as address space"], [beside.untouched, "reserved by the allocator but never written"],
		[beside.swap, "swapped out"]].filter(([bytes]) => bytes > 0).map(([bytes, text]) => `${humanBytes(Number(bytes))} ${text}`);
	panel.replaceChildren(...(bill.sentence ? [make("p", "panel-sentence", bill.sentence)] : []),
		make("p", "caption", `${humanBytes(bill.total)} resident${limit}`),
		plainTable(["Size", "Share", "Part", "What it is"], lines.map((line) => {
			const track = make("span", "track"), bar = make("span", line.allocator ? "bar allocator" : "bar");
			bar.style.width = (100 * line.share).toFixed(1) + "%";
			track.append(bar);
			return {cells: [{text: humanBytes(line.bytes)}, {text: percent(line.bytes, bill.total)}, {text: "", node: track, className: "wide-cell"},
				{text: line.name}]};
		}), "Resident memory"), ...(extra.length ? [make("p", "caption", "Not resident: " + extra.join(", ") + ".")] : []),
		...notes.map((text) => make("p", "caption", text)));
}

/** How a number of each kind is shown (base/table.h). @type {Record<string, (value: number) => string>} */
const kinds = {bytes: (value) => humanBytes(value), rate: (value) => humanBytes(value) + "/s", count: (value) => humanCount(value),
	number: (value) => humanCount(value), seconds: (value) => humanDuration(value * 1e9), share: (value) => percent(value, 1)};

/**
 * A table whose columns come with its rows. @param {{columns: {key: string, title: string, kind: string}[], rows: any[]}} answer
 * @param {string} label @param {(row: any) => void} pick
 */
export function listedTable({columns, rows}, label, pick) {
	return plainTable(columns.map(({title}) => title), rows.map((row) => ({
		cells: columns.map(({key, kind}) => ({text: kinds[kind] ? row[key] === null ? "–" : kinds[kind](row[key]) : String(row[key]),
			title: key === "name" && row.stack ? row.stack.join("\n") : undefined})),
		pick: () => pick(row),
	})), label);
}

/**
 * Shows what is freed again: how much, how soon, and by whom.
 * @param {HTMLElement} panel @param {any} churn @param {(name: string) => void} pick
 */
export function showChurn(panel, churn, pick) {
	panel.replaceChildren(make("p", "caption", "What is allocated and freed again, by call path."),
		listedTable(churn, "Churn", (row) => pick(row.name)));
}
