"""Invitations to guests, by WhatsApp and by e-mail, their log, and the answers of guests."""
import datetime
import time
import zoneinfo

from harness import bodies
from harness.bodies import new_number
from harness.phones import NOT_ON_WHATSAPP
from harness.registry import behaviour
from harness.waiting import holds, moment, same, until

ZONE = zoneinfo.ZoneInfo("America/Sao_Paulo")
TEXT = "Olá {{guest_name|tudo bem}}, você vem a {{occasion_name}}?"


def host_of_an_occasion(recado, provider="evolution", keyed=False, **more):
    """A tenant with an occasion `ev_demo`, and the template `invite` by WhatsApp and by e-mail."""
    senders = []
    if keyed:
        senders = [{"id": "mail", "kind": "resend", "from": "Clinic <hello@clinic.example>"}]
    tenant = recado.tenant(provider, keyed=keyed, **more)
    if keyed:
        senders[0]["credential"] = f"env:RECADO_CREDENTIAL_{tenant.id.upper().replace('-', '_')}_KEY"
        tenant.entries["tenants"][0]["email_senders"] = senders
    approved = {"approved": {"name": "open_day", "language": "pt_BR"}} if provider != "evolution" else {"text": TEXT}
    tenant.entries["occasions"] = [{"id": "ev_demo", "tenant": tenant.id, "name": "Open day", "instance": tenant.instance,
                                    "starts_at": "2027-03-05T18:00:00"}]
    tenant.entries["invitation_templates"] = [
        {"name": "invite", "tenant": tenant.id, "channel": "whatsapp", **approved},
        {"name": "remind", "tenant": tenant.id, "channel": "whatsapp", **approved},
        {"name": "invite", "tenant": tenant.id, "channel": "email", "subject": "{{occasion_name}}", "text": TEXT},
    ]
    tenant.apply()
    return tenant


def deliver(tenant, headers=None, **body):
    """`POST /deliver/send` for the tenant's occasion."""
    asked = {"tenant": tenant.id, "eventId": "ev_demo", "channel": "whatsapp", "template": "invite", **body}
    return tenant.recado.ask("POST", "/deliver/send", asked, headers=headers)


def add_guests(tenant, *guests):
    return tenant.recado.do("POST", f"/v1/occasions/ev_demo/guests?tenant={tenant.id}", {"guests": list(guests)})


def guest(tenant, id):
    return tenant.recado.get(f"/v1/occasions/ev_demo/guests/{id}?tenant={tenant.id}")


def status_of(tenant, id, wanted=None):
    """The status of a delivery; with `wanted`, once it is that."""
    path = f"/deliver/{id}/status?tenant={tenant.id}"
    if wanted is None:
        return tenant.recado.get(path)
    return until(lambda: (found := tenant.recado.get(path))["status"] == wanted and found, f"a delivery that is {wanted}")


@behaviour("3.1", "3.4", "3.5", "3.7", "3.8", "3.10", "3.13", "3.14", "3.27", "3.83",
           "`POST /deliver/send` with an event, a phone, a channel and a template sends one invitation")
def invitation_by_phone(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    answer = deliver(tenant, phone=f"+{number}")
    same(answer.status, 202)
    same(tenant.wait_sent(number).text, "Olá tudo bem, você vem a Open day?")
    found = status_of(tenant, answer.json()["id"], "sent")
    same((found["eventId"], found["channel"], found["template"]), ("ev_demo", "whatsapp", "invite"))
    same(guest(tenant, answer.json()["guestId"])["status"], "pending")
    same(recado.ask("POST", "/deliver/send", {"eventId": "ev_demo"}, token="").status, 401)


@behaviour("3.5", "3.11", "3.14",
           "An invitation goes to a guest by `guestId`, also with the guest's own phone beside it, and by the name that it has")
def invitation_by_guest(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    same(add_guests(tenant, {"id": "g1", "name": "Ana", "phone": f"+{number}"})["added"], 1)
    same(deliver(tenant, guestId="g1", phone=f"+{new_number()}").status, 422, "another's phone")
    answer = deliver(tenant, guestId="g1", phone=f"+{number}")
    same((answer.status, answer.json()["guestId"]), (202, "g1"))
    same(tenant.wait_sent(number).text, "Olá Ana, você vem a Open day?")
    same(deliver(tenant, phone=f"+{number}", template="remind").json()["guestId"], "g1", "the guest of the event with the phone")


@behaviour("3.15", "A request without `guestId`, `guestIds` and `phone`, or with an unknown template, is refused")
def wrong_requests(recado):
    tenant = host_of_an_occasion(recado)
    assert deliver(tenant).status in (400, 422)
    same(deliver(tenant, phone=f"+{new_number()}", template="nothing").status, 422)
    assert deliver(tenant, phone=f"+{new_number()}", channel="pigeon").status in (400, 422)


@behaviour("3.22", "`POST /events/{event}/guests/{guest}/send` sends the invitation of the guest in the path")
def older_route(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    add_guests(tenant, {"id": "g1", "phone": f"+{number}"})
    body = {"tenant": tenant.id, "channel": "whatsapp", "template": "invite"}
    same(recado.ask("POST", "/events/ev_demo/guests/g1/send", body).status, 202)
    tenant.wait_sent(number)


@behaviour("3.6", "3.12", "Many guests at once are a batch: it is taken at once, each has an id, and it counts what became of them")
def batch(recado):
    tenant, numbers = host_of_an_occasion(recado), [new_number() for _ in range(5)]
    add_guests(tenant, *({"id": f"g{place}", "phone": f"+{number}"} for place, number in enumerate(numbers)))
    wanted = [f"g{place}" for place in range(6)]
    answer = deliver(tenant, guestIds=wanted)
    same((answer.status, len(answer.json()["items"])), (202, 6))
    for number in numbers:
        tenant.wait_sent(number)
    path = f"/deliver/batches/{answer.json()['batch_id']}"
    same(status_of(tenant, answer.json()["items"][0]["id"], "sent")["guestId"], "g0")
    same([one["guestId"] for one in recado.get(f"{path}/recipients?tenant={tenant.id}")["items"]], wanted)
    refused = until(lambda: recado.get(f"{path}/recipients?status=refused&tenant={tenant.id}")["items"], "who is refused")
    same([one["guestId"] for one in refused], ["g5"])
    same(recado.get(f"{path}?tenant={tenant.id}")["recipients"], 6)


@behaviour("2.31", "A reply to a contact goes before the rest of a batch")
def replies_before_a_batch(recado):
    tenant = host_of_an_occasion(recado, instance={"rate": {"per_second": 2.0, "burst": 2}})
    numbers, contact = [new_number() for _ in range(12)], new_number()
    add_guests(tenant, *({"id": f"g{place}", "phone": f"+{number}"} for place, number in enumerate(numbers)))
    same(deliver(tenant, guestIds=[f"g{place}" for place in range(12)]).status, 202)
    # The guests are sent to in no certain order.
    until(lambda: any(tenant.sent(number) for number in numbers), "the first of the batch")
    tenant.write(contact, "e a minha pergunta?")
    replied = tenant.wait_sent(contact).at
    left = [number for number in numbers if not tenant.sent(number)]
    for number in numbers:
        tenant.wait_sent(number, seconds=60)
    behind = [number for number in numbers if tenant.sent(number)[0].at > replied]
    assert left and len(behind) >= 4, f"{len(behind)} of 12 left behind the reply"


@behaviour("3.2", "3.9", "3.50", "3.55", "3.77",
           "An invitation by e-mail goes to the guest's address by the tenant's sender, with its key")
def by_e_mail(recado):
    tenant, address = host_of_an_occasion(recado, keyed=True), f"eva-{new_number()}@clinic.example"
    add_guests(tenant, {"id": "g1", "name": "Eva", "email": address})
    answer = deliver(tenant, guestId="g1", channel="email")
    same(answer.status, 202)
    mail = until(lambda: recado.partners.carrier.to(address), "the e-mail")[0]
    same((mail["subject"], mail["text"].splitlines()[0]), ("Open day", "Olá Eva, você vem a Open day?"))
    _, headers, _ = recado.partners.carrier.attempts(address)[0]
    same(headers["authorization"], f"Bearer key-of-{tenant.id}")
    found = status_of(tenant, answer.json()["id"], "sent")
    same((found["channel"], found["is_free"]), ("email", False))
    same(status_of(tenant, found["provider_ref"])["id"], answer.json()["id"])


@behaviour("3.9", "3.40", "An e-mail that is refused for good is given up, and its delivery `failed`")
def refused_e_mail(recado):
    tenant, address = host_of_an_occasion(recado, keyed=True), f"nobody-{new_number()}@clinic.example"
    recado.partners.carrier.responses[address] = 422
    add_guests(tenant, {"id": "g1", "email": address})
    id = deliver(tenant, guestId="g1", channel="email").json()["id"]
    holds(str(status_of(tenant, id, "failed")["error"]), "422")
    same(len(recado.partners.carrier.attempts(address)), 1)


@behaviour("3.19", "3.20", "3.21", "3.34", "3.35", "3.36", "3.37", "3.45", "3.52", "3.55", "3.85",
           "`GET /deliver/{id}/status` shows each transition, by the id of the delivery, of its message, and by `provider_ref`")
def status_by_each_id(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    id = deliver(tenant, phone=f"+{number}").json()["id"]
    sent = tenant.wait_sent(number)
    found = status_of(tenant, id, "sent")
    same(found["provider_ref"], sent.id)
    for other in (found["message_id"], found["provider_ref"]):
        same(status_of(tenant, other)["id"], id)
    tenant.status(sent, "delivered")
    status_of(tenant, id, "delivered")
    tenant.status(sent, "read")
    transitions = [one["status"] for one in status_of(tenant, id, "read")["transitions"]]
    same(transitions, ["queued", "processing", "sent", "delivered", "read"])
    same(recado.ask("GET", f"/deliver/123/status?tenant={tenant.id}").status, 404)


@behaviour("3.38", "3.40", "3.57", "A delivery that is given up is `failed`, with the error, and a dead letter")
def failed_delivery(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    tenant.line.respond = lambda sent: NOT_ON_WHATSAPP
    id = deliver(tenant, phone=f"+{number}").json()["id"]
    found = status_of(tenant, id, "failed")
    holds(str(found["error"]), "whatsapp_permanent_error")
    same([one["status"] for one in found["transitions"]][-1], "failed")
    same(tenant.dead_letters(1)[0]["reason"], "whatsapp_permanent_error")


@behaviour("3.41", "3.42", "3.43", "3.44",
           "The same template to the same guest of an event is sent once, however the guest is named; a repeat is a `duplicate`")
def duplicates(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    first = deliver(tenant, phone=f"+{number}")
    same(first.status, 202)
    spelled = f"{number[2:4]} {number[4:9]}-{number[9:]}"
    for named in ({"phone": f"+{number}"}, {"phone": f"+55 {spelled}"}, {"guestId": first.json()["guestId"]}):
        again = deliver(tenant, **named)
        same((again.status, again.json()["status"]), (200, "duplicate"))
    same(deliver(tenant, phone=f"+{number}", template="remind").status, 202)
    tenant.wait_sent(number, 2)
    same(len(tenant.sent(number)), 2)


@behaviour("1.18", "3.44", "A request that is repeated with its `Idempotency-Key` is the same invitation")
def repeated_request(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    key = {"Idempotency-Key": f"key-{number}"}
    answers = [deliver(tenant, key, phone=f"+{number}") for _ in range(3)]
    same([one.status for one in answers], [202, 200, 200])
    same({one.json()["id"] for one in answers}, {answers[0].json()["id"]})
    tenant.wait_sent(number)


@behaviour("3.39", "3.49", "3.50", "3.51", "3.52", "3.54", "3.55", "3.56", "3.86",
           "The log of a month has each delivery with channel, template and status, as lines of JSON and as CSV")
def log_of_deliveries(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    id = deliver(tenant, phone=f"+{number}", metadata={"campaign": "spring"}).json()["id"]
    status_of(tenant, id, "sent")
    lines = recado.ask("GET", f"/deliver/export?tenant={tenant.id}&event=ev_demo").text().splitlines()
    same(len(lines), 1)
    holds(lines[0], id, '"whatsapp"', '"invite"', '"sent"', "session_id", "provider_ref", "is_free")
    table = recado.ask("GET", f"/deliver/export?tenant={tenant.id}&format=csv&status=sent&template=invite").text()
    holds(table, id, "ev_demo")
    same(recado.ask("GET", f"/deliver/export?tenant={tenant.id}&status=failed").text().strip(), "")
    same(recado.ask("GET", f"/deliver/export?tenant={tenant.id}&month=2020-01").text().strip(), "")
    same([one["id"] for one in recado.get(f"/v1/occasions/ev_demo/invitations?tenant={tenant.id}")["items"]], [id])
    same(status_of(tenant, id)["metadata"], {"campaign": "spring"})


@behaviour("3.24", "3.32", "3.58", "3.59", "3.60", "3.61", "3.62", "3.63", "3.64", "3.65",
           "A contact's message opens a session of 24 hours, and each further one renews it")
def session(recado):
    tenant, number = recado.tenant("360dialog"), new_number()
    path = f"/wa/session/+{number}?tenant={tenant.id}"
    same(recado.ask("GET", path).status, 404)
    tenant.write(number, "oi", at=time.time() - 60)
    tenant.wait_sent(number)
    first = recado.get(path)
    begin, end = (datetime.datetime.fromisoformat(first[name]) for name in ("started_at", "expires_at"))
    same((first["active"], (end - begin).total_seconds()), (True, 86_400.0))
    holds(str(first["metadata"]), tenant.conversation(number)["id"])
    tenant.write(number, "ainda aqui")
    tenant.wait_sent(number, 2)
    later = until(lambda: moment((found := recado.get(path))["expires_at"]) > end and found, "a session that was renewed")
    same(later["session_id"], first["session_id"])
    assert moment(later["last_message_at"]) > moment(first["last_message_at"])
    same(recado.get(path.replace("+", ""))["session_id"], first["session_id"])


@behaviour("3.53", "3.54", "3.72", "An invitation within an open session is `is_free` and names the session; one outside is not")
def free_of_charge(recado):
    tenant, number, stranger = host_of_an_occasion(recado, "360dialog"), new_number(), new_number()
    tenant.write(number, "oi")
    tenant.wait_sent(number)
    session_id = recado.get(f"/wa/session/{number}?tenant={tenant.id}")["session_id"]
    found = status_of(tenant, deliver(tenant, phone=f"+{number}").json()["id"], "sent")
    same((found["is_free"], found["session_id"]), (True, session_id))
    found = status_of(tenant, deliver(tenant, phone=f"+{stranger}").json()["id"], "sent")
    same((found["is_free"], found["session_id"]), (False, None))
    sent = tenant.sent(stranger)[0]
    same((sent.body["type"], sent.body["template"]["name"]), ("template", "open_day"))


@behaviour("3.66", "3.67", "3.68", "3.69", "3.70", "3.71", "3.73",
           "A guest who writes \"confirmo\", \"sí voy\" or \"asistir\" is confirmed, in the session in which it happened; a refusal "
           "declines")
def guests_answers(recado):
    tenant = host_of_an_occasion(recado)
    said = {"confirmo": "confirmed", "sí voy": "confirmed", "Voy a asistir": "confirmed", "no puedo asistir": "declined",
            "¿a qué hora empieza?": "pending"}
    numbers = {words: new_number() for words in said}
    add_guests(tenant, *({"id": f"g{place}", "phone": f"+{number}"} for place, number in enumerate(numbers.values())))
    same(recado.get(f"/v1/occasions/ev_demo?tenant={tenant.id}")["landing_invalidated_at"], None)
    for place, (words, number) in enumerate(numbers.items()):
        same(deliver(tenant, guestId=f"g{place}").status, 202)
        tenant.wait_sent(number)
        tenant.write(number, words)
    for place, (words, number) in enumerate(numbers.items()):
        tenant.wait_sent(number, 2)
        found = until(lambda: (one := guest(tenant, f"g{place}"))["status"] == said[words] and one, f"that {words!r} is {said[words]}")
        if said[words] == "confirmed":
            session_id = recado.get(f"/wa/session/{number}?tenant={tenant.id}")["session_id"]
            holds(str(found["confirmation_payload"]), session_id)
    assert recado.get(f"/v1/occasions/ev_demo?tenant={tenant.id}")["landing_invalidated_at"]


@behaviour("3.69", "A guest who was invited by e-mail and confirms by WhatsApp is confirmed, too")
def confirmed_without_an_invitation(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    add_guests(tenant, {"id": "g1", "phone": f"+{number}"})
    tenant.write(number, "Confirmo mi asistencia")
    tenant.wait_sent(number)
    until(lambda: guest(tenant, "g1")["status"] == "confirmed", "that the guest is confirmed")


@behaviour("3.1", "3.3", "An invitation for later waits until it is due, and a reminder goes to the guests before the date")
def later(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    due = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=4)
    begin = time.monotonic()
    answer = deliver(tenant, phone=f"+{number}", send_at=due.isoformat())
    same(answer.status, 202)
    sent = tenant.wait_sent(number)
    assert sent.at - begin >= 3.5, f"it left after {sent.at - begin:.1f} s"
    reminder = {"before": "P1D", "template": "remind", "channel": "whatsapp", "guests": ["pending", "confirmed"]}
    tenant.apply("occasions", reminders=[reminder])
    planned = recado.get(f"/deliver/batches?tenant={tenant.id}")["items"]
    same([one["status"] for one in planned], ["scheduled"])


@behaviour("3.1", "3.3", "A reminder goes to the guests who are to come, at its time before the occasion", long=True)
def reminder(recado):
    tenant, number, declined = host_of_an_occasion(recado), new_number(), new_number()
    add_guests(tenant, {"id": "g1", "phone": f"+{number}"}, {"id": "g2", "phone": f"+{declined}", "status": "declined"})
    begins = datetime.datetime.now(ZONE) + datetime.timedelta(minutes=5, seconds=15)
    tenant.apply("occasions", starts_at=begins.strftime("%Y-%m-%dT%H:%M:%S"), reminders=[
        {"before": "PT5M", "template": "remind", "channel": "whatsapp", "guests": ["pending", "confirmed"]}])
    same(tenant.wait_sent(number, seconds=150).text, "Olá tudo bem, você vem a Open day?")
    assert datetime.datetime.now(ZONE) >= begins - datetime.timedelta(minutes=5), "it came before its time"
    same(tenant.attempts(declined), [])


@behaviour("3.18", "3.84", "A webhook of 360dialog with plain words is answered 200 at once and opens the contact's session")
def webhook_of_360dialog(recado):
    tenant, number = recado.tenant("360dialog"), new_number()
    body = {"messages": [{"id": f"msg_{bodies.new_id()}", "from": f"+{number}", "text": "confirm"}]}
    same(tenant.post(body, "/deliver/webhook").status, 200)
    tenant.wait_sent(number)
    same(recado.get(f"/wa/session/{number}?tenant={tenant.id}")["active"], True)
    same(tenant.messages(number)[0]["content"], "confirm")
