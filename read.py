import json, statistics, sys
def widths(name):
    D = json.load(open(name))
    if "rows" in D:
        return statistics.median(r["flat_high"] - r["flat_low"] for r in D["rows"] if r["flat"])
    rows = [r for s in ("grown", "shrunk") for r in D[s]["rows"]]
    return statistics.median(r["change_high"] - r["change_low"] for r in rows)
W = {(k, u): widths(f"{k}-{u}") for k in ("one", "merged", "within", "across", "normalised") for u in ("bytes", "objects")}
near = lambda a, b: abs(a / b - 1) < 0.06
print(W)
sys.exit(not eval(sys.argv[1]))
