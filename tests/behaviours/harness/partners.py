"""Stand-ins of everybody else: a carrier of e-mails, a calendar, and whatever else is asked over HTTP."""
import itertools

from harness.web import StandIn


class Carrier(StandIn):
    """Resend's API. `responses` has what is answered by address in place of acceptance: a status."""

    def __init__(self, port=0):
        self.mails, self.responses, self.ids = [], {}, itertools.count(1)
        super().__init__(port)

    def answer(self, received):
        mail = received.json()
        address = mail["to"][0] if isinstance(mail["to"], list) else mail["to"]
        response = self.responses.get(address)
        status = response() if callable(response) else response or 200
        self.mails.append((address, mail, received.headers, status))
        return (200, {"id": f"re_{next(self.ids)}"}) if status == 200 else (status, {"name": "error", "message": "no"})

    def to(self, address):
        return [mail for to, mail, _, status in list(self.mails) if to == address and status == 200]

    def attempts(self, address):
        return [(mail, headers, status) for to, mail, headers, status in list(self.mails) if to == address]


class Calendar(StandIn):
    """Google Calendar: each calendar has its `events` by id; `busy` has what other people booked, as pairs of times."""

    def __init__(self, port=0):
        self.events, self.busy, self.tags = {}, {}, itertools.count(1)
        super().__init__(port)

    def answer(self, received):
        parts = received.parts
        if parts[-1] == "token":
            return 200, {"access_token": "token-of-the-calendar", "expires_in": 3600, "token_type": "Bearer"}
        if parts[-1] == "freeBusy":
            asked = received.json()
            name = asked["items"][0]["id"]
            busy = [{"start": start, "end": end} for start, end in self.busy.get(name, [])]
            return 200, {"kind": "calendar#freeBusy", "timeMin": asked["timeMin"], "timeMax": asked["timeMax"],
                         "calendars": {name: {"busy": busy}}}
        at = parts.index("calendars")
        events = self.events.setdefault(parts[at + 1], {})
        if parts[-1] == "events":
            return self.insert(received, events) if received.method == "POST" else (
                200, {"kind": "calendar#events", "accessRole": "writer",
                      "items": [one for one in events.values() if one["status"] != "cancelled"]})
        event = events.get(parts[-1])
        if event is None:
            return 404, {"error": {"code": 404, "message": "Not Found"}}
        if received.method == "PATCH":
            event.update(received.json(), etag=f'"{next(self.tags)}"')
        if received.method == "DELETE":
            event["status"] = "cancelled"
            return 204, b""
        return 200, event

    def insert(self, received, events):
        event = {**received.json(), "status": "confirmed", "etag": f'"{next(self.tags)}"'}
        if event["id"] in events:
            return 409, {"error": {"code": 409, "message": "The requested identifier already exists."}}
        events[event["id"]] = event
        return 200, event

    def booked(self, name):
        return [one for one in self.events.get(name, {}).values() if one["status"] != "cancelled"]


class Host(StandIn):
    """A host of tools, endpoints, agents and alerts. `answers` has a function or a fixed answer by the first part of the path."""

    def __init__(self, port=0):
        self.answers = {}
        super().__init__(port)

    def answer(self, received):
        said = self.answers.get(received.parts[0], (200, {}))
        return said(received) if callable(said) else said

    def requests(self, name):
        return [one for one in list(self.received) if one.parts[0] == name]
