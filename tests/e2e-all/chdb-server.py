"""chdb-server.py PORT FOLDER: today's ClickHouse, as chdb from PyPI has it in a library, behind as much of ClickHouse's HTTP interface as Cairn
uses: statements in the body, rows to insert in a body compressed by gzip with the statement in `query`, settings as parameters, errors as status
500. It answers one request after the other."""
import gzip
import http.server
import os
import sys
import urllib.parse

from chdb import session

port, folder = int(sys.argv[1]), sys.argv[2]
os.makedirs(folder, exist_ok=True)
engine = session.Session(os.path.join(folder, "data"))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, b"Ok.\n")

    def do_POST(self):
        options = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        statement = options.pop("query", None)
        database = options.pop("database", "default")
        options.pop("query_id", None)
        try:
            engine.query(f"USE {database}")
            for name, value in options.items():
                engine.query(f"SET {name} = {value}")
            if statement is None:
                statement = body.decode()
            else: # INSERT INTO table FORMAT RowBinary
                table, form = statement.split()[2], statement.split()[4]
                path = os.path.join(folder, "rows")
                with open(path, "wb") as file:
                    file.write(body)
                columns = engine.query(f"SELECT name || ' ' || type FROM system.columns WHERE database = '{database}' AND table = '{table}' ORDER BY position", "TabSeparatedRaw")
                structure = ", ".join(str(columns.bytes().decode()).split("\n")[:-1])
                statement = f"INSERT INTO {table} SELECT * FROM file('{path}', '{form}', '{structure}')"
            result = engine.query(statement, "TabSeparated")
            self.answer(200, bytes(result.bytes() or b""))
        except Exception as error: # whatever the engine says is the answer
            self.answer(500, str(error).encode())

    def log_message(self, *arguments):
        pass


http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
