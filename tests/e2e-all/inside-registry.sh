# Makes what programs of the registries need: $python, with polars and pyarrow, and $service, on the mimalloc crate.
made=$PWD/${CAIRN_BUILD:-build}/inside-registry
python=$made/bin/python
[ -x "$python" ] || python3 -m venv "$made" 2>"$scratch/log" || broken "no environment for Python can be made: $(tail -n 1 "$scratch/log")"
"$python" -c 'import polars, pyarrow' 2>/dev/null || "$made/bin/pip" install -q polars pyarrow 2>"$scratch/log" ||
	broken "polars and pyarrow cannot be installed: $(tail -n 1 "$scratch/log")"
cp -r tests/e2e-all/inside-rust "$scratch/rust" && (cd "$scratch/rust" && CARGO_TARGET_DIR=$made/rust cargo build -q --release) 2>"$scratch/log" ||
	broken "the service on mimalloc does not build: $(tail -n 1 "$scratch/log")"
service=$made/rust/release/holds
