# browser.sh - for tests that drive headless Chromium by Node: sourced after tests/e2e/lib.sh.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip_all 'no chromium here'
modules=$PWD/${CAIRN_BUILD:-build}/node # where scripts are copied to, so that they find their modules

# node_modules NAME@VERSION...: fetches those that are not there; one test at a time
node_modules() {
	local module missing=
	mkdir -p "$modules"
	(
		flock 9
		for module; do
			[ -d "$modules/node_modules/${module%@*}" ] || missing=1
		done
		[ -z "$missing" ] || (cd "$modules" && npm install --silent --no-fund --no-audit "$@" >/dev/null 2>&1)
	) 9>"$modules/.lock" || skip_all "npm cannot fetch $*"
}
