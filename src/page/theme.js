// @ts-check
/* theme.js - light or dark: as the viewer's system has it, or as chosen here, which the browser remembers.
 * SPDX-License-Identifier: Apache-2.0 */

/** @typedef {"auto" | "light" | "dark"} ThemeName */

class Theme {
	/** @param {() => void} changed */
	constructor(changed) {
		this.system = matchMedia("(prefers-color-scheme: dark)");
		/** @type {ThemeName} */
		this.name = "auto";
		try {
			this.name = oneOf(localStorage.getItem("cairn-theme"), ["auto", "light", "dark"], "auto");
		} catch {
			/* A browser may keep nothing for files. */
		}
		this.apply();
		element("theme-button").addEventListener("click", () => {
			this.choose(this.isDark() ? "light" : "dark");
			changed();
		});
		this.system.addEventListener("change", () => {
			this.apply();
			changed();
		});
	}

	isDark() {
		return this.name === "auto" ? this.system.matches : this.name === "dark";
	}

	/** What agrees with the system follows it again. @param {ThemeName} name */
	choose(name) {
		this.name = (name === "dark") === this.system.matches ? "auto" : name;
		try {
			localStorage.setItem("cairn-theme", this.name);
		} catch {
			/* Then it is for this time only. */
		}
		this.apply();
	}

	apply() {
		const button = element("theme-button"), dark = this.isDark();
		document.documentElement.style.colorScheme = this.name === "auto" ? "" : this.name;
		button.setAttribute("aria-pressed", String(dark));
		button.title = dark ? "Switch to light colours" : "Switch to dark colours";
	}
}
