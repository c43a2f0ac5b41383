"""Stand-ins of the providers: Evolution API, Meta's Graph API, and 360dialog. Each keeps what it was asked to send."""
import base64
import itertools
import time
from dataclasses import dataclass, field

from harness.web import StandIn


# Answers of Evolution that say for certain that nothing was sent: one is tried again, one is final.
BUSY = 503, {"error": "503 Service Temporarily Unavailable: no server is available"}
NOT_ON_WHATSAPP = 400, {"status": 400, "error": "Bad Request", "response": {"message": [{"exists": False}]}}


@dataclass
class Sent:
    """A request to send. `status` is what the provider answered, 0 where it cut the connection."""
    line: str
    number: str
    text: str
    body: dict
    path: str
    id: str
    headers: dict
    status: int = 0
    at: float = field(default_factory=time.monotonic)


class Line:
    """A number at a provider, as a case sets it up: its connection, and what it answers to a send.

    `respond` gets each request to send and returns None to accept it, a status, a pair of status and body, or "cut". `on_request`
    gets every other request and returns an answer, or None for the usual one."""

    def __init__(self):
        self.state = "open"
        self.respond = lambda sent: None
        self.on_request = lambda received: None
        self.stored = []
        self.others = []

    def fail(self, times, what):
        """Answers the next sends with `what`, so many times, and accepts those after them."""
        left = iter(range(times))
        self.respond = lambda sent: what if next(left, None) is not None else None


class Provider(StandIn):
    """What the three have in common: lines by their name, files by their id, and the list of all that was sent."""

    def __init__(self, port=0):
        self.sent, self.lines, self.files, self.refused_files = [], {}, {}, {}
        self.numbers = itertools.count(1)
        super().__init__(port)

    def line(self, name):
        return self.lines.setdefault(name, Line())

    def take(self, received, line, number, text, id):
        """Keeps a request to send; returns it, and the answer that its line gives in place of the usual one."""
        sent = Sent(line, str(number).lstrip("+").split("@")[0], text or "", received.json(), received.path, id, received.headers)
        response = self.line(line).respond(sent)
        sent.status = 0 if response == "cut" else response if isinstance(response, int) else response[0] if response else 200
        self.sent.append(sent)
        if response is None:
            return sent, None
        return sent, None if response == "cut" else (response, {"error": "refused"}) if isinstance(response, int) else response

    def to(self, number, line=None):
        """What was accepted for a number, in the order in which it came."""
        return [one for one in self.attempts(number, line) if 200 <= one.status < 300]

    def attempts(self, number, line=None):
        return [one for one in list(self.sent) if one.number == number and line in (None, one.line)]


class Evolution(Provider):
    def answer(self, received):
        parts = received.parts
        line = self.line(parts[-1])
        if parts[0] == "message":
            return self.send(received, parts)
        line.others.append(received)
        if (said := line.on_request(received)) is not None:
            return said
        if parts[:2] == ["instance", "connectionState"]:
            return 200, {"instance": {"instanceName": parts[-1], "state": line.state}}
        if parts[:2] == ["chat", "getBase64FromMediaMessage"]:
            return self.file(received)
        if parts[:2] == ["chat", "findMessages"]:
            return self.find_messages(received, line)
        if parts[:2] == ["chat", "fetchProfilePictureUrl"]:
            return 200, {"wuid": received.json().get("number"), "profilePictureUrl": None}
        return (200, []) if parts[0] in ("instance", "webhook", "settings") else (200, {})

    def send(self, received, parts):
        asked = received.json()
        text = asked.get("text") or asked.get("caption")
        number = asked.get("number")
        sent, refusal = self.take(received, parts[-1], number, text, f"3EB0{next(self.numbers):018X}")
        if sent.status != 200:
            return refusal
        jid = number if "@" in str(number) else f"{number}@s.whatsapp.net"
        sent.status = 201
        self.line(parts[-1]).stored.append(sent)
        return 201, {"key": {"remoteJid": jid, "fromMe": True, "id": sent.id}, "status": "PENDING",
                     "message": {"conversation": text}, "messageType": "conversation", "messageTimestamp": int(time.time())}

    def file(self, received):
        id = received.json().get("message", {}).get("key", {}).get("id")
        if self.refused_files.get(id, 0) > 0:
            self.refused_files[id] -= 1
            return 400, {"status": 400, "error": "Bad Request", "response": {"message": ["Message not found"]}}
        if id not in self.files:
            return 400, {"status": 400, "error": "Bad Request", "response": {"message": ["Message not found"]}}
        data, kind, name = self.files[id]
        return 201, {"mediaType": "documentMessage", "fileName": name, "mimetype": kind, "size": {"fileLength": str(len(data))},
                     "base64": base64.b64encode(data).decode()}

    @staticmethod
    def find_messages(received, line):
        """Answers as Evolution 2 does for messages that it keeps: those that were accepted here under their ids."""
        where = received.json().get("where", {}).get("key", {})
        found = [{"key": {"id": one.id, "fromMe": True, "remoteJid": f"{one.number}@s.whatsapp.net"}, "messageType": "conversation",
                  "message": {"conversation": one.text}, "messageTimestamp": int(time.time()), "MessageUpdate": []}
                 for one in line.stored
                 if where.get("id") in (None, one.id) and where.get("remoteJid", one.number).startswith(one.number)]
        return 200, {"messages": {"total": len(found), "pages": 1, "currentPage": 1, "records": found}}


class Graph(Provider):
    """Meta's Graph API, and 360dialog, which has the same bodies and no number in its paths."""

    def answer(self, received):
        parts = received.parts
        name = parts[-2] if len(parts) > 1 else "360dialog"
        line = self.line(name)
        if received.method == "POST" and parts[-1] == "messages":
            return self.send(received, name, line)
        line.others.append(received)
        if (said := line.on_request(received)) is not None:
            return said
        if received.method == "GET" and parts[0] == "bytes" and parts[1] in self.files:
            data, kind, _ = self.files[parts[1]]
            return 200, data, {"Content-Type": kind}
        if received.method == "GET" and parts[-1] in self.files:
            data, kind, _ = self.files[parts[-1]]
            return 200, {"url": f"http://{received.headers['host']}/bytes/{parts[-1]}", "mime_type": kind, "file_size": len(data),
                         "id": parts[-1], "messaging_product": "whatsapp"}
        return 404, {"error": {"message": "nothing is here", "code": 100}}

    def send(self, received, name, line):
        asked = received.json()
        if asked.get("status") == "read":
            line.others.append(received)
            return 200, {"success": True}
        number = asked.get("to") or asked.get("recipient")
        sent, refusal = self.take(received, name, number, asked.get("text", {}).get("body"), f"wamid.S{next(self.numbers):020d}")
        if sent.status != 200:
            return refusal
        return 200, {"messaging_product": "whatsapp", "contacts": [{"input": number, "wa_id": sent.number}],
                     "messages": [{"id": sent.id}]}
