"""A tenant of one case: its agent and its instance, what its contacts write, and what the outside sees of it."""
import hashlib
import hmac
import itertools
import json
import threading
import uuid

from harness import bodies
from harness.waiting import until

RUN = uuid.uuid4().hex[:4]
NAMES = itertools.count(1)
LOCK = threading.Lock()
# Tenants whose keys the program has in its environment: RECADO_CREDENTIAL_KEYED_1_KEY and _CALENDAR.
KEYED = [f"keyed-{place}" for place in range(1, 31)]
FREE_KEYED = iter(KEYED)
APP_SECRET = "app-secret-of-the-behaviours"
PROVIDERS = {"evolution": "evolution", "meta": "meta", "360dialog": "dialog360"}


class Tenant:
    """`agent`, `instance`, `tenant` have fields of the three entries; other names are further parts of the document, such as
    `occasions`, whose entries get the tenant's id."""

    def __init__(self, recado, provider="evolution", agent=None, instance=None, tenant=None, keyed=False, **more):
        self.recado, self.provider = recado, provider
        with LOCK:
            self.id = next(FREE_KEYED) if keyed else f"t{RUN}-{next(NAMES)}"
        self.agent, self.instance = f"{self.id}-agent", f"{self.id}-01"
        self.phones = getattr(recado.partners, PROVIDERS[provider])
        # Meta and 360dialog know a number by an id of their own.
        self.external = str(10 ** 14 + uuid.uuid4().int % 10 ** 12) if provider != "evolution" else self.instance
        self.model = recado.partners.anthropic
        self.entries = {
            "tenants": [{"id": self.id, "time_zone": "America/Sao_Paulo", **(tenant or {})}],
            "agents": [{"id": self.agent, "tenant": self.id, "model": "claude-sonnet-4-5",
                        "system_prompt": f"You answer for the tenant {self.id}.", "error_message": "Something went wrong here.",
                        "limits": {"turns_per_hour": 0, "end_loops": False}, **(agent or {})}],
            "instances": [{"id": self.instance, "tenant": self.id, "agent": self.agent, "provider": provider,
                           "external_id": self.external, "debounce_seconds": 0, "rate": {"per_second": 50.0, "burst": 50},
                           **(instance or {})}],
        }
        for kind, entries in more.items():
            self.entries[kind] = [{"tenant": self.id, **entry} for entry in entries]
        self._secret = None
        self.apply()

    def apply(self, kind=None, **fields):
        """Applies the tenant's document; with a kind (`instances`, …) after its first entry got these fields."""
        if kind:
            self.entries[kind][0].update(fields)
        answer = self.recado.apply(self.entries)
        for one in answer.get("instances", []):
            if one["id"] == self.instance:
                self._secret = one.get("secret")
        return answer

    @property
    def secret(self):
        if self._secret is None:
            self._secret = self.recado.get(f"/v1/instances/{self.instance}/webhook")["secret"]
        return self._secret

    def forget_secret(self):
        """Reads the webhook secret anew: the instance got another."""
        self._secret = None

    @property
    def line(self):
        return self.phones.line(self.external if self.provider != "360dialog" else "360dialog")

    def token(self, role="manager"):
        """A token of this tenant alone."""
        return self.recado.do("POST", "/v1/tokens", {"name": f"n{uuid.uuid4().hex[:8]}", "role": role, "tenant": self.id})["secret"]

    # What comes in.

    def post(self, body, path=None, headers=None, proven=True):
        """Posts a webhook of the tenant's provider, with its proof."""
        raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        path = path or {"evolution": "/webhooks/evolution", "meta": "/webhooks/meta",
                        "360dialog": f"/webhooks/360dialog/{self.external}"}[self.provider]
        proof = {}
        if proven and self.provider == "evolution":
            proof = {"apikey": self.secret}
        elif proven and self.provider == "meta":
            proof = {"X-Hub-Signature-256": "sha256=" + hmac.new(APP_SECRET.encode(), raw, hashlib.sha256).hexdigest()}
        elif proven:
            proof = {"X-Recado-Webhook-Secret": self.secret}
        return self.recado.ask("POST", path, raw, token="", headers={"Content-Type": "application/json", **proof, **(headers or {})})

    def body(self, number, message, **more):
        """The body of a webhook with one message of a contact."""
        if self.provider == "evolution":
            return bodies.evolution(self.instance, number, message, **more)
        value = bodies.meta_message(number, message, **more)
        return bodies.meta(self.external, value) if self.provider == "meta" else value

    def write(self, number, message, path=None, headers=None, **more):
        """A contact writes: posts the webhook, which has to be acknowledged."""
        answer = self.post(self.body(number, message, **more), path, headers)
        assert answer.status == 200, f"the webhook was answered {answer.status} {answer.text()[:300]}"
        return answer.json()

    def status(self, sent, status, own_id=None, **more):
        """The provider tells what became of a message that was sent."""
        if self.provider == "evolution":
            word = {"sent": "SERVER_ACK", "delivered": "DELIVERY_ACK", "read": "READ", "failed": "ERROR"}[status]
            body = bodies.evolution_status(self.instance, sent.number, sent.id, word)
        else:
            value = bodies.meta_status(sent.number, sent.id, status, own_id or sent.body.get("biz_opaque_callback_data"), **more)
            body = bodies.meta(self.external, value) if self.provider == "meta" else value
        answer = self.post(body)
        assert answer.status == 200, f"the status was answered {answer.status} {answer.text()[:300]}"
        return answer.json()

    def connection(self, state):
        """The provider tells, and says when it is asked, that the instance has this connection."""
        self.line.state = state
        answer = self.post(bodies.evolution_connection(self.instance, state))
        assert answer.status == 200, answer.text()

    # What goes out.

    def says(self, script):
        """Sets what the model answers: a text or a status for each request, or a function of the request."""
        self.model.scripts[self.id] = script if callable(script) else lambda asked: script
        return self

    @property
    def asked(self):
        """What the model was asked for this tenant."""
        return self.model.of(self.id)

    def sent(self, number):
        return self.phones.to(number, self.external if self.provider != "360dialog" else None)

    def attempts(self, number):
        return self.phones.attempts(number, self.external if self.provider != "360dialog" else None)

    def wait_sent(self, number, count=1, seconds=30):
        """Waits until so many messages were accepted for a number, and returns the last of them."""
        try:
            found = until(lambda: len(self.sent(number)) >= count and self.sent(number), f"{count} messages to {number}", seconds)
        except AssertionError as error:
            kept = [(one["role"], one["status"], one["answer"], one["content"][:60])
                    for conversation in self.conversations(number)
                    for one in self.recado.get(f"/v1/conversations/{conversation['id']}/messages?limit=200")["items"]]
            attempts = [(one.status, one.text[:60]) for one in self.attempts(number)]
            raise AssertionError(f"{error}; the newest of the conversation: {kept[:6]}; attempts: {attempts}") from error
        return found[count - 1]

    def send(self, to, text=None, **more):
        """A client's program sends a message by the API."""
        body = {"to": f"+{to}", **({"text": text} if text else {}), **more}
        return self.recado.ask("POST", f"/v1/instances/{self.instance}/messages", body)

    # What is kept.

    def conversations(self, number=None):
        """The tenant's conversations, of one contact if a number is given, the newest first."""
        items = self.recado.get(f"/v1/conversations?instance={self.instance}&limit=200")["items"]
        return [one for one in items if number is None or one["contact"].get("phone") == f"+{number}"]

    def conversation(self, number):
        return until(lambda: self.conversations(number), f"a conversation with {number}")[0]

    def messages(self, number, count=0, role=None):
        """The messages of the contact's newest conversation, the oldest first, once there are so many."""
        def read():
            items = self.recado.get(f"/v1/conversations/{self.conversation(number)['id']}/messages?limit=200")["items"]
            return [one for one in reversed(items) if role in (None, one["role"])]

        return until(lambda: len(found := read()) >= count and (found or [None]), f"{count} messages of {number}") if count else read()

    def wait_message(self, number, look, what, role=None, seconds=30):
        """Waits until a message of the conversation is as `look` wants it, and returns it."""
        return until(lambda: next((one for one in self.messages(number, 0, role) if look(one)), None), what, seconds)

    def wait_waiting(self, number, text):
        """Waits until a contact's message with this text waits for its answer, and returns what is said of that answer."""
        def look(one):
            return one["content"] == text and one["answer"]["state"] == "waiting"

        return self.wait_message(number, look, f"that {text!r} waits", "user")["answer"]

    def wait_status(self, id, status, seconds=30):
        """Waits until a message that goes out has this status, and returns it."""
        path = f"/v1/messages/{id}"
        return until(lambda: (found := self.recado.get(path))["status"] == status and found, f"that {id} is {status}", seconds)

    def event(self, provider_message):
        """The event of a webhook's message, once it was applied."""
        path = f"/v1/trace?provider_message={provider_message}&instance={self.instance}"
        found = until(lambda: [one for one in self.recado.get(path)["events"] if one["state"] != "pending"], "the event")
        return found[0]

    def wait_answered(self, number):
        """Waits until nothing that the contact wrote is owed an answer, and returns the contact's messages."""
        def read():
            found = self.messages(number, role="user")
            return all(one["answer"]["state"] in ("answered", "not_owed") for one in found) and found

        return until(read, f"that {number} is answered")

    def dead_letters(self, count=0, seconds=30):
        """The tenant's dead letters, the newest first, once there are so many."""
        def read():
            return self.recado.get(f"/v1/dead-letters?instance={self.instance}&limit=200")["items"]

        return until(lambda: len(found := read()) >= count and found, f"{count} dead letters", seconds) if count else read()

    def health(self, detailed=False):
        return self.recado.get(f"/health/whatsapp{'/detailed' if detailed else ''}?instance={self.instance}")
