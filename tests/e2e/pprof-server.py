"""A server with the pages that jeprof fetches from, and some that go wrong: pprof-server.py PORT HEAP NAMES

HEAP is the dump it serves; NAMES has lines of "0xaddress name" for /pprof/symbol. Requests are written to standard output.
"""
import http.server, sys, threading, time

heap = open(sys.argv[2], "rb").read()
names = dict(line.split(None, 1) for line in open(sys.argv[3]) if line.strip())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        print(self.command, self.path, flush=True)

    def answer(self, body, status=200, kind="text/plain", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, limit, pause=0.0):
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        block = b"heap_v2/524288\n" * 4096
        try:
            for _ in range(limit):
                self.wfile.write(block)
                time.sleep(pause)
        except OSError:
            pass

    def do_GET(self):
        path = self.path.split("?")[0]
        if path in ("/pprof/heap", "/debug/mem/pprof/profile", "/pprof/profile", "/pprof/growth", "/base/pprof/heap"):
            self.answer(heap, kind="application/octet-stream")
        elif path.endswith("/pprof/symbol") and not path.startswith("/nosymbol"):
            self.answer(b"num_symbols: 1\n" if not path.startswith("/stripped") else b"num_symbols: 0\n")
        elif path.endswith("/pprof/cmdline"):
            self.answer(b"/opt/service/bin/thing\0--flag\0")
        elif path in ("/stripped/pprof/heap", "/nosymbol/pprof/heap"):
            self.answer(heap)
        elif path == "/page/pprof/heap":
            self.answer(b"<html><body>Welcome</body></html>", kind="text/html")
        elif path == "/error/pprof/heap":
            self.answer(b"profiling is off\n", status=503)
        elif path == "/moved/pprof/heap":
            self.answer(b"", status=302, Location="/pprof/heap")
        elif path == "/loop/pprof/heap":
            self.answer(b"", status=302, Location="/loop/pprof/heap")
        elif path == "/file/pprof/heap":
            self.answer(b"", status=302, Location="file:///etc/passwd")
        elif path == "/empty/pprof/heap":
            self.answer(b"")
        elif path == "/hang/pprof/heap":
            time.sleep(20)
        elif path == "/endless/pprof/heap":
            self.stream(10**9)
        elif path == "/cut/pprof/heap":
            self.send_response(200)
            self.send_header("Content-Length", str(len(heap) * 2))
            self.end_headers()
            self.wfile.write(heap)
            self.close_connection = True
        else:
            self.answer(b"not found\n", status=404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        known = "".join(f"{a}\t{names[a].strip()}\n" for a in body.split("+") if a in names)
        self.answer(known.encode())


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
server.daemon_threads = True
server.serve_forever()
