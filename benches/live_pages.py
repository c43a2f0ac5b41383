"""How soon open pages learn of an event, and whether pages that stall hold up the others."""

import json
import selectors
import socket
import threading
import time

from embedded import port_of, start
from evolution import INSTANCE
from processes import MeasurementError, end, eventually, memory_kib, tail
from searches import TOKEN, Client

# A message of a customer: the page is told of it when it is stored.
KIND = "message.created"
PAUSE_SECONDS = 0.2
LATEST_SECONDS = 20
RECEIVE_BUFFER = 4096
# More messages than the receive buffer of a page that reads nothing holds: the rest waits at the server.
FLOOD = 400
# A server closes a connection whose client took in nothing for 75 s.
DROPPED_SECONDS = 95


class Pages:
    """Open streams, which one thread reads."""

    def __init__(self, port, count, kind=KIND):
        self.selector = selectors.DefaultSelector()
        self.arrived = {}
        self.read_bytes = 0
        self.ends = False
        self.sockets = [open_stream(port, kind) for _ in range(count)]
        for page in self.sockets:
            page.setblocking(False)
            self.selector.register(page, selectors.EVENT_READ, bytearray())
        self.reader = threading.Thread(target=self.read_on, daemon=True)
        self.reader.start()

    def read_on(self):
        while not self.ends:
            for key, _ in self.selector.select(0.1):
                piece = key.fileobj.recv(65536)
                now = time.perf_counter()
                self.read_bytes += len(piece)
                key.data.extend(piece)
                *whole, rest = bytes(key.data).split(b"\n\n")
                key.data[:] = rest
                for one in whole:
                    self.note_event(one, now)

    def note_event(self, text, now):
        """Notes when an event came, under the message that it tells of."""
        lines = [line for line in text.splitlines() if line.startswith(b"data:")]
        if lines:
            event = json.loads(lines[0][5:])
            self.arrived.setdefault(event["id"], []).append(now)

    def close(self):
        self.ends = True
        self.reader.join()
        for page in self.sockets:
            page.close()


def open_stream(port, kind, receive_buffer=None):
    """Opens a stream of events of this kind, or of all, and reads the head of its answer."""
    page = socket.socket()
    if receive_buffer:
        page.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    page.settimeout(30)
    page.connect(("127.0.0.1", port))
    query = f"?kind={kind}" if kind else ""
    asked = f"GET /v1/events/stream{query} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nAccept: text/event-stream\r\n\r\n"
    page.sendall(asked.encode())
    head = b""
    while b"\r\n\r\n" not in head:
        piece = page.recv(1)
        if not piece:
            raise MeasurementError("a stream was closed at once")
        head += piece
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise MeasurementError(f"a stream was refused: {head[:80]!r}")
    return page


def measure_live(binary, scratch, pages, stalled, events):
    """Has a customer write while pages are open: first alone, then beside pages that read nothing, until these are dropped."""
    log = scratch / "serve.log"
    server = start(binary, scratch, log)
    try:
        port = port_of(server, log)
        client, opened = Client(port), Pages(port, pages)
        try:
            times = {"alone": write_and_wait(client, opened, events, 0)}
            before, _ = memory_kib(server.pid)
            sleepers = [open_stream(port, None, RECEIVE_BUFFER) for _ in range(stalled)] if stalled else []
            times["beside"] = write_and_wait(client, opened, events, events)
            if sleepers:
                for number in range(FLOOD):
                    write_message(client, number)
                time.sleep(DROPPED_SECONDS)
            grown = (memory_kib(server.pid)[0] - before) / 1024
            dropped = sum(is_dropped(one) for one in sleepers)
            return {"times": times, "bytes": opened.read_bytes // max(1, pages), "dropped": dropped, "grown_mib": grown}
        finally:
            opened.close()
    except MeasurementError as error:
        raise MeasurementError(f"{error}\n{tail(log)}") from None
    finally:
        end(server)


def write_and_wait(client, opened, events, already):
    """Has a customer write `events` messages. Returns the milliseconds from each request to each page."""
    began = []
    for number in range(events):
        began.append(time.perf_counter())
        write_message(client, already + number)
        time.sleep(PAUSE_SECONDS)
    wanted = len(opened.sockets)
    complete = lambda: sum(len(came) == wanted for came in opened.arrived.values()) >= already + events
    if not eventually(complete, LATEST_SECONDS):
        told = sorted(len(came) for came in opened.arrived.values())
        raise MeasurementError(f"not every page was told of every message: {told}")
    # One customer's messages are stored in the order in which they were written.
    came = sorted(opened.arrived.values(), key=min)[already:]
    return [(at - start) * 1000 for start, arrivals in zip(began, came) for at in arrivals]


def write_message(client, number):
    body = {"instance_id": INSTANCE, "from": "+55 11 90000-0001", "name": "Ana", "text": f"Mensagem {number}"}
    client.ask("POST", "/simulator/messages", body)


def is_dropped(page):
    """Whether the server closed a stream that nobody read: behind what lies in its buffer, the end comes."""
    page.settimeout(1)
    try:
        while page.recv(65536):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True
    finally:
        page.close()
