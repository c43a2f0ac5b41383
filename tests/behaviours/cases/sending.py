"""Messages go out once, in order, at the number's rate, and what cannot be sent is tried again or given up."""
import datetime
import time
import uuid

from harness import bodies
from harness.bodies import new_number
from harness.phones import BUSY, NOT_ON_WHATSAPP
from harness.registry import behaviour
from harness.waiting import holds, same, until


def queued_in_order(tenant, number, words):
    for text in words:
        same(tenant.send(number, text).status, 202)


@behaviour("1.39", "1.40", "1.45", "1.46", "1.47", "1.52", "1.53", "1.84", "1.125", "1.128", "3.13",
           "A client's message is taken with 202 and an id, and reaches the number in any writing")
def client_sends(recado):
    tenant, number = recado.tenant(), new_number()
    written = f"+{number[:2]} ({number[2:4]}) {number[4:9]}-{number[9:]}"
    answer = recado.ask("POST", f"/v1/instances/{tenant.instance}/messages", {"to": written, "text": "Seu pedido saiu."})
    same(answer.status, 202)
    same(tenant.wait_sent(number).text, "Seu pedido saiu.")
    message = tenant.wait_status(answer.json()["id"], "sent")
    same([one["step"] for one in message["way"]], ["committed", "claimed", "sent"])
    same(tenant.health()["queue_depth"], 0)


@behaviour("1.18", "1.48", "1.50", "1.58", "1.126",
           "A repeat with the same `message_id` or `Idempotency-Key` is the same message; another request with it is a 409")
def client_repeats(recado):
    tenant, number, own = recado.tenant(), new_number(), uuid.uuid4().hex
    first = tenant.send(number, "uma vez", message_id=own)
    again = tenant.send(number, "uma vez", message_id=own)
    same((first.status, again.status), (202, 200))
    same(again.json()["id"], first.json()["id"])
    same(tenant.send(number, "outro texto", message_id=own).status, 409)
    key = {"Idempotency-Key": uuid.uuid4().hex}
    path, body = f"/v1/instances/{tenant.instance}/messages", {"to": f"+{number}", "text": "com chave"}
    same([recado.ask("POST", path, body, headers=key).status for _ in range(3)], [202, 200, 200])
    tenant.send(number, "por fim")
    tenant.wait_sent(number, 3)
    same([one.text for one in tenant.sent(number)], ["uma vez", "com chave", "por fim"])


@behaviour("1.49", "1.176", "3.56", "A client's `metadata` is kept with the message and shown again")
def metadata(recado):
    tenant, number = recado.tenant(), new_number()
    given = {"from_number": "+5511900000000", "clinic_id": "c1", "user_name": "Maria"}
    id = tenant.send(number, "oi", metadata=given).json()["id"]
    same(recado.get(f"/v1/messages/{id}")["metadata"], given)


@behaviour("1.84", "1.132", "A number that cannot be is a 422 at once")
def impossible_number(recado):
    tenant = recado.tenant()
    answer = recado.ask("POST", f"/v1/instances/{tenant.instance}/messages", {"to": "invalid", "text": "oi"})
    same(answer.status, 422)
    holds(answer.headers["content-type"], "problem+json")


@behaviour("0.99", "0.163", "0.166", "1.132", "4.43", "4.44",
           "A number that is not on WhatsApp is a dead letter after one attempt, and its message `failed`")
def number_without_whatsapp(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.line.respond = lambda sent: NOT_ON_WHATSAPP
    id = tenant.send(number, "oi").json()["id"]
    dead = tenant.dead_letters(1)[0]
    same((dead["reason"], dead["id"]), ("whatsapp_permanent_error", id))
    same((recado.get(f"/v1/messages/{id}")["status"], len(tenant.attempts(number))), ("failed", 1))


@behaviour("0.33", "0.169", "1.3", "1.33", "1.54", "1.63", "1.64", "1.65", "1.66", "1.90", "3.29", "3.40", "4.59",
           "A send that is refused for the moment is tried five times, and is then a dead letter `max_retries_exceeded`")
def five_attempts(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.line.respond = lambda sent: BUSY
    id = tenant.send(number, "sem sorte").json()["id"]
    dead = tenant.dead_letters(1)[0]
    same((dead["reason"], dead["attempts"]), ("max_retries_exceeded", 5))
    same(len(tenant.attempts(number)), 5)
    same(recado.get(f"/v1/messages/{id}")["attempts"], 5)
    tenant.line.respond = lambda sent: None
    other = new_number()
    tenant.send(other, "e agora?")
    tenant.wait_sent(other)
    same(len(tenant.attempts(number)), 5)


@behaviour("1.3", "1.60", "2.30", "A send that is refused twice is tried again with growing waits, and arrives once")
def retried(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.line.fail(2, BUSY)
    id = tenant.send(number, "na terceira").json()["id"]
    tenant.wait_sent(number)
    attempts = tenant.attempts(number)
    same([one.status for one in attempts], [503, 503, 201])
    waits = [later.at - earlier.at for earlier, later in zip(attempts, attempts[1:])]
    assert waits[0] >= 0.19 and waits[1] >= 0.29, waits
    message = tenant.wait_status(id, "sent")
    same(message["attempts"], 3)


@behaviour("1.11", "1.67", "A message that is tried again keeps its place: the contact's later ones wait for it")
def order_is_kept(recado):
    tenant, number, other = recado.tenant(), new_number(), new_number()
    tenant.line.respond = lambda sent: BUSY if sent.text == "um" and len(tenant.attempts(number)) < 2 else None
    queued_in_order(tenant, number, ["um", "dois", "três"])
    tenant.send(other, "à parte")
    tenant.wait_sent(number, 3)
    tenant.wait_sent(other)
    same([one.text for one in tenant.sent(number)], ["um", "dois", "três"])


@behaviour("0.31", "0.32", "0.34", "1.19", "1.96", "1.113", "1.115", "1.116", "1.117", "1.118", "1.119", "1.120", "1.121", "3.57",
           "A dead letter has the payload, the id, the reason, the time, the attempts and the last error")
def dead_letter_fields(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.line.respond = lambda sent: BUSY
    id = tenant.send(number, "para a gaveta").json()["id"]
    tenant.dead_letters(1)
    page = recado.get(f"/health/whatsapp/dlq?instance={tenant.instance}")
    same((page["dlq_depth"], len(page["messages"])), (1, 1))
    dead = page["messages"][0]
    same((dead["original_id"], dead["reason"], dead["attempts"]), (id, "max_retries_exceeded", 5))
    assert datetime.datetime.fromisoformat(dead["timestamp"])
    holds(str(dead["payload"]), number, "para a gaveta")
    assert dead["last_error"], dead
    holds(str(recado.get(f"/v1/messages/{id}")["way"]), "no server behind the proxy")


@behaviour("0.35", "A dead letter is redriven alone, or with others that a filter selects, and is sent")
def redrive(recado):
    tenant, numbers = recado.tenant(), [new_number() for _ in range(3)]
    tenant.line.respond = lambda sent: NOT_ON_WHATSAPP
    for number in numbers:
        tenant.send(number, "de novo")
    dead = tenant.dead_letters(3)
    tenant.line.respond = lambda sent: None
    recado.do("POST", f"/v1/dead-letters/{dead[0]['id']}/redrive", status=202)
    until(lambda: len(tenant.dead_letters()) == 2, "two dead letters")
    many = {"instance": tenant.instance, "reason": "whatsapp_permanent_error"}
    same(recado.do("POST", "/v1/dead-letters/redrive", {**many, "dry_run": True})["selected"], 2)
    recado.do("POST", "/v1/dead-letters/redrive", many)
    for number in numbers:
        same(tenant.wait_sent(number).text, "de novo")
    until(lambda: not tenant.dead_letters(), "no dead letter")


@behaviour("0.158", "1.1", "1.4", "1.8", "1.9", "1.62", "1.89", "1.93", "1.99", "1.102", "1.130",
           "Messages of an instance that is not connected wait in order, use up no attempt, and go out once it is open")
def disconnected(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.connection("close")
    until(lambda: tenant.health()["evolution_connected"] is False, "that it is not connected")
    queued_in_order(tenant, number, [f"mensagem {place}" for place in range(5)])
    health = until(lambda: (found := tenant.health())["queue_depth"] == 5 and found, "five that wait")
    same(health["status"], "degraded")
    same(tenant.attempts(number), [])
    tenant.connection("open")
    tenant.wait_sent(number, 5)
    same([one.text for one in tenant.attempts(number)], [f"mensagem {place}" for place in range(5)])
    health = until(lambda: (found := tenant.health())["queue_depth"] == 0 and found, "an empty queue")
    same((health["status"], health["evolution_connected"], health["dlq_depth"]), ("healthy", True, 0))


@behaviour("1.20", "1.62", "A send that is refused because the connection is closed waits for the instance, and arrives once")
def refused_as_disconnected(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.line.state = "close"
    refusal = 500, {"status": 500, "error": "Internal Server Error", "response": {"message": ["Connection Closed"]}}
    tenant.line.respond = lambda sent: refusal if tenant.line.state == "close" else None
    tenant.send(number, "depois")
    until(lambda: tenant.health()["evolution_connected"] is False, "that it is not connected")
    tenant.connection("open")
    tenant.wait_sent(number)
    same((len(tenant.sent(number)), tenant.dead_letters()), (1, []))


@behaviour("1.76", "1.77",
           "An instance is asked for its connection at `/instance/connectionState/{instance}`; `instance.state` and `state` are "
           "both read")
def connection_state(recado):
    for shape in (lambda state: {"instance": {"state": state}}, lambda state: {"state": state}):
        tenant = recado.tenant()
        tenant.line.on_request = lambda received, shape=shape, tenant=tenant: (200, shape(tenant.line.state)) \
            if "connectionState" in received.path else None
        tenant.connection("close")
        until(lambda: tenant.health()["evolution_connected"] is False, "that it is not connected")
        asked = [one.path for one in tenant.line.others if "connectionState" in one.path]
        same(asked[0], f"/instance/connectionState/{tenant.instance}")
        tenant.connection("open")
        until(lambda: tenant.health()["evolution_connected"] is True, "that it is connected")


@behaviour("1.78", "An instance that is connecting, or that cannot be asked, counts as it did before: its messages go out")
def connection_that_is_not_known(recado):
    for answer in ((200, {"instance": {"state": "connecting"}}), (500, {"error": "Internal Server Error"})):
        tenant, number, asked = recado.tenant(), new_number(), []
        tenant.line.on_request = lambda received, answer=answer, asked=asked: answer \
            if "connectionState" in received.path and not asked.append(1) else None
        same(tenant.post(bodies.evolution_connection(tenant.instance, "connecting")).status, 200)
        until(lambda asked=asked: asked, "that the connection is asked for")
        tenant.send(number, "oi")
        tenant.wait_sent(number)
        same(tenant.health()["evolution_connected"], True)


@behaviour("1.5", "1.17", "1.36", "1.37", "1.61", "1.72", "1.73", "1.74", "1.88", "1.94", "1.135",
           "Ten messages at once to an instance with the usual rate: a burst, and then one a second")
def usual_rate(recado):
    tenant = recado.tenant(instance={"rate": None})
    numbers = [new_number() for _ in range(10)]
    for number in numbers:
        same(tenant.send(number, "oi").status, 202)
    for number in numbers:
        tenant.wait_sent(number)
    times = sorted(tenant.sent(number)[0].at for number in numbers)
    waits = [later - earlier for earlier, later in zip(times, times[1:])]
    assert times[3] - times[0] < 2, f"no burst: {waits}"
    # In no window does more leave than the burst and the rate allow.
    for begin, first in enumerate(times):
        for end in range(begin + 5, 10):
            assert times[end] - first >= end - begin - 5 - 0.2, f"too fast: {waits}"
    assert times[9] - times[0] >= 4.5, f"ten left within {times[9] - times[0]:.1f} s"


@behaviour("1.143", "4.52", "An instance may have a rate of its own")
def own_rate(recado):
    tenant = recado.tenant(instance={"rate": {"per_second": 4.0, "burst": 1}})
    numbers = [new_number() for _ in range(6)]
    for number in numbers:
        tenant.send(number, "oi")
    for number in numbers:
        tenant.wait_sent(number)
    times = sorted(tenant.sent(number)[0].at for number in numbers)
    assert times[5] - times[0] >= 1.0, times
    same(tenant.health(detailed=True)["instances"][0]["rate"]["per_second"], 4.0)


@behaviour("4.52", "4.55", "A number of Meta has Meta's rate, 80 a second, unless it is given another")
def usual_rate_of_meta(recado):
    tenant = recado.tenant("meta", instance={"rate": None})
    rate = tenant.health(detailed=True)["instances"][0]["rate"]
    same((rate["per_second"], rate["burst"]), (80.0, 160))


@behaviour("1.81", "A contact without a number is answered at the identity that its message has")
def contact_without_a_number(recado):
    tenant, identity = recado.tenant(), f"1{new_number()}@lid"
    tenant.write(identity, "oi")
    sent = until(lambda: [one for one in tenant.phones.sent if one.line == tenant.instance], "the reply")[0]
    same(sent.body["number"], identity)


@behaviour("1.82", "`reply_delay_seconds` with `typing` asks Evolution for a natural pause before the message")
def natural_pause(recado):
    tenant, number = recado.tenant(instance={"reply_delay_seconds": 1, "typing": True}), new_number()
    begin = time.monotonic()
    tenant.write(number, "oi")
    sent = tenant.wait_sent(number)
    assert sent.body.get("delay") or sent.at - begin >= 0.9, (sent.body, sent.at - begin)


@behaviour("4.17", "4.18", "4.36", "Meta gets the number, the text and Recado's own id, which its statuses bring back")
def sent_by_meta(recado):
    tenant, number = recado.tenant("meta"), new_number()
    tenant.write(number, "oi")
    sent = tenant.wait_sent(number)
    reply = tenant.wait_message(number, lambda one: one["status"] == "sent", "that it was sent", "assistant")
    same((sent.body["to"], sent.body["text"]["body"]), (f"+{number}", "Reply to: oi"))
    same(sent.body["biz_opaque_callback_data"], reply["id"])
    same(sent.headers["authorization"], "Bearer key-of-meta")


@behaviour("4.36", "4.40", "A throttled send of Meta or 360dialog is tried again and arrives once, under the same id")
def throttled(recado):
    for provider in ("meta", "360dialog"):
        tenant, number, left = recado.tenant(provider), new_number(), [1]
        refusal = 400, {"error": {"message": "rate limit hit", "code": 130429}}
        tenant.line.respond = lambda sent, number=number, left=left: refusal if sent.number == number and left and left.pop() else None
        tenant.write(number, "oi")
        tenant.wait_sent(number)
        attempts = tenant.attempts(number)
        same([one.status for one in attempts], [400, 200], provider)
        same(len({one.body["biz_opaque_callback_data"] for one in attempts}), 1)


@behaviour("0.166", "4.43", "A permanent error of Meta is a dead letter `whatsapp_permanent_error` at once")
def permanent_error_of_meta(recado):
    tenant, number = recado.tenant("meta"), new_number()
    tenant.line.respond = lambda sent: (400, {"error": {"message": "Message undeliverable", "code": 131026}})
    tenant.write(number, "oi")
    same(tenant.dead_letters(1)[0]["reason"], "whatsapp_permanent_error")
    same(len(tenant.attempts(number)), 1)
    same(tenant.messages(number, role="assistant")[0]["status"], "failed")


@behaviour("4.17", "4.20", "4.42", "A send whose answer is lost is looked for at the provider, and not repeated if it is there")
def lost_answer_with_evidence(recado):
    tenant, number, kept = recado.tenant(), new_number(), []

    def lose(sent):
        if not kept:
            kept.append(sent)
            tenant.line.stored.append(sent)
            return "cut"
        return None

    tenant.line.respond = lose
    id = tenant.send(number, "chegou?").json()["id"]
    tenant.wait_status(id, "sent", 60)
    tenant.send(number, "próxima")
    tenant.wait_sent(number)
    same([one.text for one in tenant.attempts(number)], ["chegou?", "próxima"])


@behaviour("4.20", "4.42", "A send whose answer is lost without a trace is repeated after the wait, and marked")
def lost_answer_without_evidence(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.line.fail(1, "cut")
    id = tenant.send(number, "chegou?").json()["id"]
    tenant.wait_sent(number, seconds=90)
    attempts = tenant.attempts(number)
    same([one.status for one in attempts], [0, 201])
    assert attempts[1].at - attempts[0].at >= 1.9, "it was repeated without a wait for evidence"
    message = tenant.wait_status(id, "sent")
    holds(str(message), "maybe_sent")


@behaviour("4.41",
           "A send that Meta answers with a 5xx is repeated after the wait, and marked, since nobody knows whether it arrived")
def error_of_the_server(recado):
    tenant, number = recado.tenant("meta"), new_number()
    tenant.line.fail(1, 500)
    tenant.write(number, "oi")
    tenant.wait_sent(number, seconds=90)
    same([one.status for one in tenant.attempts(number)], [500, 200])
    reply = tenant.wait_message(number, lambda one: one["status"] == "sent", "that it was sent", "assistant")
    holds(str(recado.get(f"/v1/messages/{reply['id']}")), "maybe_sent")


@behaviour("3.34", "3.35", "3.36", "3.38", "4.33", "4.34", "4.35",
           "A message's way shows that it was queued, sending, and sent or given up")
def way_of_a_message(recado):
    tenant, number, other = recado.tenant(), new_number(), new_number()
    sent = tenant.send(number, "oi").json()["id"]
    way = tenant.wait_status(sent, "sent")["way"]
    same([one["step"] for one in way], ["committed", "claimed", "sent"])
    tenant.line.respond = lambda one: NOT_ON_WHATSAPP
    dead = tenant.send(other, "oi").json()["id"]
    way = tenant.wait_status(dead, "failed")["way"]
    holds(str(way), "whatsapp_permanent_error")


@behaviour("2.32", "4.45", "A message for later leaves when it is due and not before, and may be cancelled until then")
def later(recado):
    tenant, number, never = recado.tenant(), new_number(), new_number()
    due = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=8)
    begin = time.monotonic()
    same(tenant.send(number, "na hora", send_at=due.isoformat()).status, 202)
    cancelled = tenant.send(never, "nunca", send_at=due.isoformat()).json()["id"]
    same(recado.do("DELETE", f"/v1/messages/{cancelled}")["status"], "cancelled")
    sent = tenant.wait_sent(number)
    assert sent.at - begin >= 7.5, f"it left after {sent.at - begin:.1f} s"
    same(tenant.attempts(never), [])


@behaviour("0.155", "0.161", "0.162", "2.4", "2.5", "3.37",
           "Statuses move a message from sent to delivered and read, and never back, at each provider")
def statuses(recado):
    for provider in ("evolution", "meta", "360dialog"):
        tenant, number = recado.tenant(provider), new_number()
        tenant.write(number, "oi")
        sent = tenant.wait_sent(number)
        tenant.wait_answered(number)
        tenant.status(sent, "delivered")
        tenant.wait_message(number, lambda one: one["status"] == "delivered", f"delivered by {provider}", "assistant")
        tenant.status(sent, "read")
        tenant.wait_message(number, lambda one: one["status"] == "read", f"read by {provider}", "assistant")
        tenant.status(sent, "delivered")
        tenant.write(number, "e?")
        tenant.wait_sent(number, 2)
        same(tenant.messages(number, role="assistant")[0]["status"], "read", provider)


@behaviour("2.6", "3.38",
           "A status `failed` that comes after the send makes a dead letter, also if it names the provider's id alone")
def failed_later(recado):
    tenant, number = recado.tenant("meta"), new_number()
    tenant.write(number, "oi")
    sent = tenant.wait_sent(number)
    tenant.wait_answered(number)
    value = bodies.meta_status(number, sent.id, "failed", errors=[{"code": 131026, "title": "Message undeliverable"}])
    same(tenant.post(bodies.meta(tenant.external, value)).status, 200)
    same(tenant.dead_letters(1)[0]["reason"], "whatsapp_permanent_error")
    tenant.wait_message(number, lambda one: one["status"] == "failed", "that it failed", "assistant")
