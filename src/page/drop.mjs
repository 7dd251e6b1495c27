// @ts-check
/* drop.mjs - a file that is dropped on the page.
 * SPDX-License-Identifier: Apache-2.0 */
import {say} from "./dom.mjs";
import {fileMost} from "./folded.mjs";

/** Has OPEN take files that are dropped anywhere on the page, and says why it cannot. @param {(file: File) => Promise<void>} open */
export function takeDrops(open) {
	/** @param {DragEvent} event */
	const hasFile = (event) => event.dataTransfer?.types.includes("Files") ?? false;
	addEventListener("dragover", (event) => {
		if (!hasFile(event))
			return;
		event.preventDefault();
		document.documentElement.toggleAttribute("data-drop", true);
	});
	addEventListener("dragleave", (event) => !event.relatedTarget && document.documentElement.removeAttribute("data-drop"));
	addEventListener("drop", async (event) => {
		if (!hasFile(event))
			return;
		event.preventDefault(); /* the browser would leave the page */
		document.documentElement.removeAttribute("data-drop");
		const file = event.dataTransfer?.files[0];
		try {
			if (!file)
				throw new Error("That is not a file.");
			if (file.size > fileMost)
				throw new Error(`${file.name} is larger than ${fileMost >> 20} MiB; 'cairn html' makes a page of it.`);
			await open(file);
		} catch (error) {
			say(error instanceof Error ? error.message : String(error));
		}
	});
}
