# large.sh - sourced by tests of a store with many instances: two services, of a day and of a few hours, in which function 0 of release 2 leaks.
# The caller has `store` and `cairn`.
fleet() { "$cairn" fleet "$@" --store "$store"; }
growing='[(x["name"], x["instances"], x["of"], x["version"], x["new_in_version"]) for x in r["rows"] if x["verdict"] == "growing"]'

# check_large ENGINE PLACE: fills the store and asks
check_large() {
	python3 tests/bench/make-fleet.py rows day 60 400 24 3600 "$1" "$2" samples || broken 'the store is not filled'
	python3 tests/bench/make-fleet.py rows short 60 400 3 600 "$1" "$2" samples || broken 'the store is not filled'
	for service in day short; do
		fleet leaks --service $service --json >"$scratch/$1-$service.json" || broken 'no answer'
		is "$(of_json "$growing" <"$scratch/$1-$service.json")" "[('function_0', 30, 30, '2', True)]" "$service: what leaks, where, and since when"
		# The instances of release 2 have a load of 2 on average.
		is "$(of_json 'abs(r["rows"][0]["bytes_per_hour"] / 4e6 - 1) < 0.1' <"$scratch/$1-$service.json")" True "$service: at its rate"
		is "$(of_json 'r["instances"], r["left_out"], r["paths"], len(r["rows"]) < 100' <"$scratch/$1-$service.json")" "(60, 0, 400, True)" \
			"$service: of all call paths, some are looked at"
	done
	like "$(fleet leaks --service day)" '*function_0 keeps growing on 30 of 30 instances, by * each, new in release 2*of 400 call paths rose most*' 'in words'
	is "$(fleet leaks --service day --version 1 --json | of_json "$growing")" '[]' 'nothing leaks in release 1'
	is "$(fleet leaks --service day --instance host-1 --json | of_json "(r['paths'], len(r['rows']), $growing)")" \
		"(400, 400, [('function_0', 1, 1, '2', False)])" 'of one instance, everything is looked at'
}
