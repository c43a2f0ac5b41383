"""The recorded run: contacts write while the disk is well, full, slow and failing, and while the program stops and starts."""
import concurrent.futures
import itertools
import json
import random
import re
import time
import zlib
from http.client import HTTPException

from harness.bodies import evolution
from harness.installation import Partners, Program
from harness.phones import Evolution, Sent
from harness.tenant import Tenant
from harness.waiting import until

CONTACTS = 10
WORDS = re.compile(r"[mc]-\d+-\d+")
SETTINGS = {
    "RECADO_UNKNOWN_WAIT_SECONDS": "1", "RECADO_WEBHOOK_DEADLINE_SECONDS": "2", "RUST_LOG": "warn,recado=info",
    # A kept recording can be played again for a week.
    "RECADO_STALE_SECONDS": "604800",
}
FILE_URL = "https://files.example/1"
DOCUMENT = """
[[tenants]]
id = "home"

[[agents]]
id = "ana"
tenant = "home"
model = "claude-sonnet-4-5"
system_prompt = "You answer for the tenant home."
limits = { turns_per_hour = 0, end_loops = false }

[[instances]]
id = "front-desk"
tenant = "home"
agent = "ana"
provider = "evolution"
external_id = "front-desk"
debounce_seconds = 0
rate = { per_second = 100.0, burst = 100 }
"""


def words_of(text):
    """The words by which a message is known in every text about it, or None."""
    found = WORDS.findall(text or "")
    return found[-1] if found else None


def file_of(id):
    """The bytes of the file that a contact sent with the message `id`: a voice note, of which nothing is read."""
    return b"ID3\x03" + random.Random(zlib.crc32(id.encode())).randbytes(20_000)


class NotedEvolution(Evolution):
    """Evolution, which notes in the journal what it accepted, before it answers. Each contact's file is by the message's id."""

    marks = None

    def take(self, received, *more):
        received.sent, refusal = super().take(received, *more)
        return received.sent, refusal

    def send(self, received, parts):
        answer = super().send(received, parts)
        if self.marks and received.sent in self.line(parts[-1]).stored:
            self.marks.note("sent", number=received.sent.number, text=received.sent.text, id=received.sent.id)
        return answer

    def lose_some_answers(self):
        """Accepts every ninth message, and cuts the connection before the answer."""
        line = self.line("front-desk")

        def respond(sent):
            if next(self.numbers) % 9 == 0:
                line.stored.append(sent)
                return "cut"
            return None

        line.respond = respond

    def file(self, received):
        id = received.json().get("message", {}).get("key", {}).get("id")
        self.files[id] = file_of(id), "audio/mpeg", "file"
        return super().file(received)

    def restore(self, marks):
        """Sets what was sent by the marks of an earlier run."""
        self.received, self.numbers = [], itertools.count(max([0, *(int(one["id"][4:], 16) for one in marks)]) + 1000)
        self.sent = [Sent("front-desk", one["number"], one["text"], {}, "", one["id"], {}, 201) for one in marks]
        self.line("front-desk").stored = list(self.sent)


class NotedPartners(Partners):
    KINDS = {**Partners.KINDS, "evolution": NotedEvolution}


class Machine(Program):
    """A program whose data folder `prepare` makes before its first start."""

    DOCUMENT = DOCUMENT

    def __init__(self, binary, partners, prepare, settings=None):
        self.prepare = prepare
        super().__init__(binary, partners, {**SETTINGS, **(settings or {})})

    def start(self):
        if self.prepare:
            prepare, self.prepare = self.prepare, None
            self.settings |= prepare(self.folder / "data") or {}
        return super().start()


class HomeTenant(Tenant):
    """The tenant of the document above."""

    def __init__(self, recado):
        self.recado, self.provider = recado, "evolution"
        self.id, self.agent, self.instance, self.external = "home", "ana", "front-desk", "front-desk"
        self.phones, self.model, self._secret = recado.partners.evolution, recado.partners.anthropic, None
        self.model.scripts[self.id] = lambda asked: f"Answer to {words_of(asked.last)}"


def number_of(contact):
    return f"55119000{contact:05d}"


def body_of(contact, place):
    """The webhook of a contact's message. Some bring a file, some are too large to travel along in a queue."""
    text, id = f"m-{contact}-{place}", f"ID{contact:04d}{place:04d}"
    message = text
    if place % 5 == 2 and contact % 3 == 0:
        message = {"documentMessage": {"mimetype": "audio/mpeg", "fileName": "a.mp3", "url": FILE_URL, "caption": text}}
    elif place % 5 == 3 and contact % 4 == 1:
        message = text + " and so on" * 12_000
    return evolution("front-desk", number_of(contact), message, id=id)


def post_until_taken(tenant, body, seconds=60):
    """Posts as a provider does: again until it is acknowledged."""
    end = time.monotonic() + seconds
    while True:
        try:
            answer = tenant.post(body)
            if answer.status == 200:
                return answer
            told = f"{answer.status} {answer.text()[:200]}"
        except (OSError, HTTPException) as error:
            told = str(error)
        assert time.monotonic() < end, f"the webhook was not taken in {seconds} s: {told}"
        time.sleep(0.1)


class Story:
    """Contacts that write, and a client that sends. All that they do is in the marks."""

    def __init__(self, tenant, marks):
        self.tenant, self.marks = tenant, marks
        self.places = [0] * CONTACTS
        self.client_place = 0

    def take_up(self, known):
        """Goes on behind an earlier run: providers and clients repeat what was not taken."""
        for contact, marks in known.written.items():
            for mark in marks:
                self.places[contact] = max(self.places[contact], mark["place"])
                if (contact, mark["place"]) not in known.acknowledged:
                    post_until_taken(self.tenant, mark["body"])
                    self.marks.note("acknowledged", contact=contact, place=mark["place"])
        self.client_place = len(known.asked)
        for text, contact in known.asked.items():
            if text not in known.taken:
                send_until_taken(self.tenant, contact, text)
                self.marks.note("taken", contact=contact, text=text)

    def note_writing(self, contact):
        """Notes that a contact writes its next message, and returns the body of the webhook."""
        self.places[contact] += 1
        body = body_of(contact, self.places[contact])
        self.marks.note("write", contact=contact, place=self.places[contact], body=body)
        return body

    def write(self, contact):
        post_until_taken(self.tenant, self.note_writing(contact))
        self.marks.note("acknowledged", contact=contact, place=self.places[contact])

    def send(self):
        """A client's program sends one message to each contact in turn, and asks again until it is told the message's id."""
        self.client_place += 1
        contact, text = self.client_place % CONTACTS, f"c-{self.client_place % CONTACTS}-{self.client_place}"
        self.marks.note("send", contact=contact, text=text)
        send_until_taken(self.tenant, contact, text)
        self.marks.note("taken", contact=contact, text=text)

    def go_on(self, times, pause=0.05):
        """Every contact writes so many times, one after the other; the client sends half as often."""
        def writes(contact):
            for _ in range(times):
                self.write(contact)
                time.sleep(pause * (contact % 3))

        def sends():
            for _ in range(max(1, times // 2)):
                self.send()

        with concurrent.futures.ThreadPoolExecutor(CONTACTS + 1) as pool:
            jobs = [pool.submit(writes, contact) for contact in range(CONTACTS)] + [pool.submit(sends)]
            for job in jobs:
                job.result()


    def wait_for_rest(self):
        """Waits until each contact has its answers, and nothing is on its way. What a worker had in hand when the disk failed comes
        back after the time of its lease."""
        for contact, place in enumerate(self.places):
            wait_for_rest(self.tenant, contact, f"m-{contact}-{place}", 150)


def messages_of(tenant, contact):
    """All messages of a contact's conversations, in their order."""
    found = []
    for conversation in reversed(tenant.conversations(number_of(contact))):
        items = tenant.recado.get(f"/v1/conversations/{conversation['id']}/messages?limit=200")["items"]
        found += reversed(items)
    return found


def is_at_rest(message):
    if message["role"] == "user":
        return message["answer"]["state"] in ("answered", "not_owed")
    return message["status"] != "pending"


def wait_for_rest(tenant, contact, last, seconds=30):
    """Waits until the contact's message `last` is stored, all are answered and nothing is on its way; returns the messages."""
    seen = []

    def look():
        seen[:] = messages_of(tenant, contact)
        return any(words_of(one["content"]) == last for one in seen) and all(is_at_rest(one) for one in seen) and seen

    try:
        return until(look, f"rest of contact {contact}", seconds)
    except AssertionError as error:
        raise AssertionError(f"waited in vain for rest behind {last}: {[line(one) for one in seen]}") from error


def line(message):
    state = message["answer"]["state"] if message["role"] == "user" else message["status"]
    return f"{message['role']} {words_of(message['content'])} {state}"


def send_until_taken(tenant, contact, text, seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            answer = tenant.send(number_of(contact), text, message_id=text)
            if answer.status in (200, 202):
                return answer.json()["id"]
            told = f"{answer.status} {answer.text()[:200]}"
        except (OSError, HTTPException) as error:
            told = str(error)
        assert time.monotonic() < end, f"the client's message was not taken in {seconds} s: {told}"
        time.sleep(0.1)


def health(recado):
    answer = recado.ask("GET", "/health", token="")
    return answer.status, json.loads(answer.body)


def wait_healthy(recado, seconds=60):
    until(lambda: health(recado)[0] == 200 and health(recado)[1]["status"] == "healthy", "that it is healthy", seconds)
