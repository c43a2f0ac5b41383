"""HTTP on both sides: requests to the program, and servers that stand in for its partners."""
import http.client
import json
import threading
import time
import traceback
import urllib.parse
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """What a server answered. The names of headers are in lower case."""
    status: int
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)

    def text(self):
        return self.body.decode(errors="replace")


def request(base_url, method, path, body=None, headers=None, seconds=60, source=None):
    """Sends one request. A body that is a dictionary or a list is sent as JSON, a text as it is. `source` is the address of loopback
    from which it comes, for what counts against an address."""
    headers = dict(headers or {})
    if isinstance(body, (dict, list)):
        body = json.dumps(body, ensure_ascii=False).encode()
        headers.setdefault("Content-Type", "application/json")
    elif isinstance(body, str):
        body = body.encode()
    parts = urllib.parse.urlsplit(base_url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=seconds,
                      source_address=(source, 0) if source and parts.hostname == "127.0.0.1" else None)
    try:
        connection.request(method, parts.path + path + (f"?{parts.query}" if parts.query else ""), body, headers)
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, named, answer.read())
    finally:
        connection.close()


@dataclass
class Received:
    """A request that a stand-in received. `at` is of the monotonic clock, in seconds."""
    method: str
    path: str
    query: dict
    headers: dict
    body: bytes
    at: float = field(default_factory=time.monotonic)

    def json(self):
        return json.loads(self.body) if self.body else {}

    @property
    def parts(self):
        return [urllib.parse.unquote(part) for part in self.path.strip("/").split("/")]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    allow_reuse_address = True

    def handle_error(self, request, client_address):
        """A client that hung up is no error of a test."""


class StandIn:
    """A server on loopback. Subclasses answer requests with (status, body) or (status, body, headers); None cuts the connection."""

    def __init__(self, port=0):
        self.received = []
        self.server = Server(("127.0.0.1", port), self._handler())
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True).start()

    def answer(self, received):
        raise NotImplementedError

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def find(self, method, text):
        """The requests of a method whose path holds a text, in the order in which they came."""
        return [one for one in list(self.received) if one.method == method and text in one.path]

    def _handler(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                """Nothing is printed for each request."""

            def take(self):
                path, _, query = self.path.partition("?")
                headers = {name.lower(): value for name, value in self.headers.items()}
                received = Received(self.command, path, dict(urllib.parse.parse_qsl(query)), headers, read_body(self))
                outer.received.append(received)
                try:
                    answer = outer.answer(received)
                except Exception:  # A case's own script failed: say so, and let the program see an error.
                    traceback.print_exc()
                    answer = 500, {"error": "the stand-in failed"}
                respond(self, answer)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = take

        return Handler


def read_body(handler):
    if (handler.headers.get("transfer-encoding") or "").lower() != "chunked":
        return handler.rfile.read(int(handler.headers.get("content-length") or 0))
    body = b""
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        body += handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()
    return body


def respond(handler, answer):
    try:
        if answer is None:
            handler.close_connection = True
            handler.connection.close()
            return
        status, body, *more = answer
        headers = {"Content-Type": "application/json", **(more[0] if more else {})}
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(raw)))
        handler.end_headers()
        handler.wfile.write(raw)
    except OSError:
        pass  # The program did not wait for the answer.
