"""receiver.py PORT LOG STATUS: stands in for Pyroscope, an OpenTelemetry Collector, Parca and Coroot. Decodes what each of them is sent, by the
numbers in their schemas, checks what they check, and writes a line of JSON to LOG for each request. Answers with the status in the file STATUS,
if there is one."""
import base64, gzip, http.server, json, os, re, struct, sys, urllib.parse

from wire import fields, packed

port, log, status_file = int(sys.argv[1]), sys.argv[2], sys.argv[3]


def all_of(message, number):
    return [value for field, value in message if field == number]


def one_of(message, number, default=0):
    return (all_of(message, number) or [default])[-1]


def read_pprof(data):
    """{"time", "duration", "values": {type: {leaf function: sum}}}, checked as Parca does."""
    message = fields(gzip.decompress(data))
    strings = [value.decode() for value in all_of(message, 6)]
    assert strings[0] == ""
    functions, locations = {}, {}
    for i, raw in enumerate(all_of(message, 5)):
        function = fields(raw)
        assert one_of(function, 1) == i + 1, "function ids in order"
        functions[i + 1] = strings[one_of(function, 2)]
    mappings = [fields(raw) for raw in all_of(message, 3)]
    assert [one_of(m, 1) for m in mappings] == list(range(1, len(mappings) + 1)), "mapping ids in order"
    for i, raw in enumerate(all_of(message, 4)):
        location = fields(raw)
        assert one_of(location, 1) == i + 1 and one_of(location, 2) <= len(mappings), "location ids in order"
        locations[i + 1] = functions[one_of(fields(all_of(location, 4)[0]), 1)]
    types = [strings[one_of(fields(raw), 1)] for raw in all_of(message, 1)]
    assert not any("-" in name for name in types)
    values = {name: {} for name in types}
    for raw in all_of(message, 2):
        sample = fields(raw)
        leaf = locations[packed(one_of(sample, 1, b""))[0]]
        numbers = packed(one_of(sample, 2, b""))
        assert len(numbers) == len(types) and any(numbers), "a value for each type, and not all of them 0"
        for name, number in zip(types, numbers):
            assert number < 1 << 62, "no negative values"
            values[name][leaf] = values[name].get(leaf, 0) + number
    return {"time": one_of(message, 9) / 1e9, "duration": one_of(message, 10) / 1e9, "values": values}


def read_push(body):
    series, = all_of(fields(body), 1)
    series = fields(series)
    labels = {}
    for pair in map(fields, all_of(series, 1)):
        name, value = one_of(pair, 1).decode(), one_of(pair, 2).decode()
        assert name not in labels and re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name), name
        labels[name] = value
    sample = fields(one_of(series, 2))
    assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", one_of(sample, 2).decode()), "a UUID"
    return {"labels": labels, "id": one_of(sample, 2).decode(), **read_pprof(one_of(sample, 1))}


def read_any(message):
    return one_of(message, 1).decode() if all_of(message, 1) else one_of(message, 3)


def read_otlp(body):
    request = fields(body)
    dictionary = fields(one_of(request, 2))
    strings = [value.decode() for value in all_of(dictionary, 5)]
    assert strings[0] == ""
    tables = {number: [fields(raw) for raw in all_of(dictionary, number)] for number in (1, 2, 3, 4, 6, 7)}
    for number, table in tables.items():
        assert number == 4 or table[0] == [], "tables begin with an empty row"
    assert [len(one_of(tables[4][0], n)) for n in (1, 2)] == [16, 8]
    resources = fields(one_of(request, 1))
    labels = {}
    for pair in map(fields, all_of(fields(one_of(resources, 1)), 1)):
        labels[one_of(pair, 1).decode()] = read_any(fields(one_of(pair, 2)))
    scopes = fields(one_of(resources, 2))
    build_ids = set()
    for mapping in tables[1][1:]:
        for index in packed(one_of(mapping, 5, b"")):
            attribute = tables[6][index]
            assert strings[one_of(attribute, 1)] == "process.executable.build_id.gnu"
            build_ids.add(read_any(fields(one_of(attribute, 2))))
    values, spans = {}, {}
    for profile in map(fields, all_of(scopes, 2)):
        name = strings[one_of(fields(one_of(profile, 1)), 1)]
        assert strings[one_of(fields(one_of(profile, 5)), 1)] == "space" and one_of(profile, 6) > 0, "the period"
        values[name], spans[name] = {}, [one_of(profile, 3) / 1e9, one_of(profile, 4) / 1e9]
        for sample in map(fields, all_of(profile, 2)):
            stack = packed(one_of(tables[7][one_of(sample, 1)], 1))
            location = tables[2][stack[0]]
            assert one_of(location, 1) < len(tables[1])
            function = tables[3][one_of(fields(all_of(location, 3)[0]), 1)]
            number, = packed(one_of(sample, 4))
            leaf = strings[one_of(function, 1)]
            values[name][leaf] = values[name].get(leaf, 0) + number
    return {"labels": labels, "values": values, "spans": spans, "build_ids": sorted(build_ids), "first": list(values)[0],
            "scope": one_of(fields(one_of(scopes, 1)), 1).decode()}


def read_parca(body):
    series, = json.loads(body)["series"]
    labels = {label["name"]: label["value"] for label in series["labels"]["labels"]}
    sample, = series["samples"]
    return {"labels": labels, **read_pprof(base64.b64decode(sample["rawProfile"], validate=True))}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        status = int(open(status_file).read()) if os.path.exists(status_file) else 200
        url = urllib.parse.urlsplit(self.path)
        kinds = {"/push.v1.PusherService/Push": ("pyroscope", "application/proto", read_push), "/v1development/profiles": ("otlp", "application/x-protobuf", read_otlp),
                 "/api/profiles/writeraw": ("parca", "application/json", read_parca), "/v1/profiles": ("coroot", "application/octet-stream", None)}
        try:
            kind, wanted, read = kinds[url.path]
            assert self.headers["Content-Type"] == wanted, self.headers["Content-Type"]
            got = read(body) if read else {"labels": dict(urllib.parse.parse_qsl(url.query, strict_parsing=True)), **read_pprof(body)}
        except Exception as problem:
            kind, got, status = "wrong", {"path": self.path, "problem": repr(problem)}, 400
        if status == 200 or kind == "wrong":
            with open(log, "a") as out:
                out.write(json.dumps({"kind": kind, "headers": {k.lower(): v for k, v in self.headers.items()}, **got}) + "\n")
        answer = b"{}" if status == 200 else b'{"message":"not today"}'
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
