"""A bill in JSON on standard input against the kernel: check-bill.py PID LEAST-MEGABYTES [LINE=LEAST-MB[-MOST-MB]]...

Adds it up, and holds every line asked for against what the service is known to have. Prints what is wrong.
SPDX-License-Identifier: Apache-2.0"""
import json
import sys

pid, least, *expected = sys.argv[1:]
bill = json.load(sys.stdin)
lines = {line["key"]: line["bytes"] for line in bill["lines"]}
problems = []
if sum(lines.values()) != bill["total"]:
    problems.append("the lines do not add up to the total")
problems += [f"{key} is negative" for key, value in lines.items() if value < 0]
if bill["unexplained"] > bill["total"] * 0.05:
    problems.append(f"{bill['unexplained'] / bill['total']:.1%} are unexplained")
if bill["total"] < int(least) << 20:
    problems.append(f"only {bill['total'] >> 20} MB are resident")
if pid != "-":
    with open(f"/proc/{pid}/status") as status:
        resident = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS:"))
    if abs(resident - bill["total"]) > max(resident * 0.02, 1 << 20):
        problems.append(f"the kernel says {resident}, the bill {bill['total']}")
for item in expected:
    key, _, span = item.partition("=")
    low, _, high = span.partition("-")
    value = (lines | bill["not_resident"])[key] / (1 << 20)
    if value < float(low) or (high and value > float(high)):
        problems.append(f"{key} is {value:.1f} MB, not {span}")
print("; ".join(problems) if problems else f"{bill['total'] >> 20} MB, {bill['unexplained'] / bill['total']:.2%} unexplained")
sys.exit(bool(problems))
