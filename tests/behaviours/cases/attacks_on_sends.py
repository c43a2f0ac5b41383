"""Attacks on what goes out: nothing that may have been sent leaves again without a person's word, evidence, or its mark."""
import concurrent.futures
import contextlib
import datetime
import threading

from cases.delivery import add_guests, deliver, host_of_an_occasion, status_of
from harness import bodies
from harness.bodies import new_number
from harness.registry import attack
from harness.waiting import holds, same, until

INVITATION, REMINDER = "Olá {{guest_name|tudo bem}}, você vem?", "Lembrete: {{occasion_name}}"


def host(recado, provider="evolution", **more):
    """A host of an occasion whose two templates by WhatsApp have different words, where they have words."""
    tenant = host_of_an_occasion(recado, provider, **more)
    if provider == "evolution":
        for template, text in zip(tenant.entries["invitation_templates"], (INVITATION, REMINDER)):
            template["text"] = text
        tenant.apply()
    return tenant


def invited(tenant, number):
    """The attempts at a number that were invitations, not answers to what the contact wrote."""
    return [one for one in tenant.attempts(number) if one.text.startswith("Olá") or one.body.get("type") == "template"]


def restore(recado, copy):
    """Loses the data folder, and goes on in one that is restored from a copy."""
    folder = str(recado.folder / f"restored-{copy}")
    recado.kill()
    done = recado.run("restore", "--to", folder, str(recado.folder / copy))
    same(done.returncode, 0, done.stderr)
    recado.settings["RECADO_DATA"] = folder
    recado.start()


def begin_batch(tenant, count):
    """Sends a batch, and returns its path and its guests' numbers once some were sent."""
    numbers = [new_number() for _ in range(count)]
    add_guests(tenant, *({"id": f"g{place}", "phone": f"+{number}"} for place, number in enumerate(numbers)))
    answer = deliver(tenant, guestIds=[f"g{place}" for place in range(count)])
    same(answer.status, 202)
    until(lambda: len([number for number in numbers if invited(tenant, number)]) >= 4, "the first four of the batch")
    return f"/deliver/batches/{answer.json()['batch_id']}", numbers


@attack("A batch that is resumed after a restore invites nobody twice: Evolution is asked who has it, and of a provider that cannot be "
        "asked each is a dead letter", program="own", needs="process", long=True)
def a_batch_after_a_restore(programs):
    slow = {"rate": {"per_second": 8.0, "burst": 1}}
    with contextlib.closing(programs.program()) as recado:
        batches = [(tenant := host(recado, provider, instance=slow), *begin_batch(tenant, 50)) for provider in ("evolution", "meta")]
        done = recado.run("backup", str(recado.folder / "copy"))
        same(done.returncode, 0, done.stderr)
        for tenant, _, numbers in batches:
            for number in numbers:
                until(lambda tenant=tenant, number=number: invited(tenant, number), f"the invitation of {number}")
        restore(recado, "copy")
        for tenant, path, _ in batches:
            same(recado.get(f"{path}?tenant={tenant.id}")["status"], "paused")
            recado.do("POST", f"{path}/resume?tenant={tenant.id}")
        for tenant, path, numbers in batches:
            until(lambda tenant=tenant, path=path: recado.get(f"{path}?tenant={tenant.id}")["status"] == "finished",
                  f"the end of the batch by {tenant.provider}", 100)
            same([len(invited(tenant, number)) for number in numbers], [1] * len(numbers), tenant.provider)
        unknown = batches[1][0].dead_letters(1)
        same({one["reason"] for one in unknown}, {"unknown_outcome"})


def tell_in_the_first_attempt(tenant, number, tell):
    """The first attempt at a number has an unknown outcome, and meanwhile something is told; what comes later is accepted."""
    def respond(sent):
        if sent.number != number or len(tenant.attempts(number)):
            return None
        tell()
        return 500, {"error": "Internal Server Error"}

    tenant.line.respond = respond


def is_opted_out(tenant, number):
    return any(one["stopped"] and number in (one.get("address") or "")
               for one in tenant.recado.get(f"/v1/opt-outs?tenant={tenant.id}")["items"])


@attack("Who opts out while an attempt of unknown outcome is under way gets no other, and the delivery is cancelled with its mark")
def opted_out_between_attempts(recado):
    for provider in ("evolution", "meta"):
        tenant, number = host(recado, provider), new_number()

        def opt_out(tenant=tenant, number=number):
            tenant.write(number, "SAIR")
            until(lambda: is_opted_out(tenant, number), "the opt-out")

        tell_in_the_first_attempt(tenant, number, opt_out)
        id = deliver(tenant, phone=f"+{number}").json()["id"]
        found = status_of(tenant, id, "cancelled")
        same(len(invited(tenant, number)), 1, provider)
        assert recado.get(f"/v1/messages/{found['message_id']}")["maybe_sent"], provider
        # What the contact asks is answered all the same.
        tenant.write(number, "e a minha consulta?")
        until(lambda tenant=tenant, number=number: [one for one in tenant.sent(number) if "consulta" in one.text], "the answer")
        same(len(invited(tenant, number)), 1, provider)


@attack("Who opts out while an e-mail of unknown outcome is under way gets no other")
def opted_out_between_e_mails(recado):
    tenant, number, tried = host(recado, keyed=True), new_number(), []
    address = f"g-{number}@clinic.example"
    add_guests(tenant, {"id": "g1", "phone": f"+{number}", "email": address})

    def respond():
        tried.append(1)
        if len(tried) == 1:
            tenant.write(number, "SAIR")
            until(lambda: is_opted_out(tenant, number), "the opt-out")
        return 500 if len(tried) == 1 else 200

    recado.partners.carrier.responses[address] = respond
    found = status_of(tenant, deliver(tenant, guestId="g1", channel="email").json()["id"], "cancelled")
    holds(found["error"], "may have it")
    tenant.write(number, "oi?")
    until(lambda: [one for one in tenant.sent(number) if "oi?" in one.text], "the answer to what the guest wrote")
    same(len(recado.partners.carrier.attempts(address)), 1)


@attack("An invitation whose batch is cancelled while an attempt of unknown outcome is under way is not tried again")
def cancelled_between_attempts(recado):
    tenant, number, batch, known = host(recado), new_number(), [], threading.Event()
    add_guests(tenant, {"id": "g1", "phone": f"+{number}"})

    def cancel():
        assert known.wait(30)
        recado.do("POST", f"/deliver/batches/{batch[0]}/cancel?tenant={tenant.id}")

    tell_in_the_first_attempt(tenant, number, cancel)
    answer = deliver(tenant, guestIds=["g1"]).json()
    batch.append(answer["batch_id"])
    known.set()
    delivery = f"/deliver/{answer['items'][0]['id']}/status?tenant={tenant.id}"
    until(lambda: recado.ask("GET", delivery).status == 200, "the delivery")
    status_of(tenant, answer["items"][0]["id"], "cancelled")
    tenant.write(number, "oi?")
    until(lambda: [one for one in tenant.sent(number) if "oi?" in one.text], "the answer to what the guest wrote")
    same(len(invited(tenant, number)), 1)


@attack("Quiet hours that begin while an attempt of unknown outcome is under way are quiet")
def quiet_between_attempts(recado):
    tenant, number = host(recado), new_number()
    now = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=3)
    quiet = {"from": (now - datetime.timedelta(hours=1)).strftime("%H:%M"), "to": (now + datetime.timedelta(hours=3)).strftime("%H:%M")}
    tell_in_the_first_attempt(tenant, number, lambda: tenant.apply("tenants", deliveries={"quiet_hours": quiet}))
    id = deliver(tenant, phone=f"+{number}").json()["id"]
    message = status_of(tenant, id)["message_id"]
    until(lambda: recado.get(f"/v1/messages/{message}")["maybe_sent"], "that it is to be tried again", 60)
    # What a person writes to the same guest leaves, and what is held back would have left before it.
    tenant.send(number, "de uma pessoa")
    tenant.wait_sent(number)
    same([one.text[:3] for one in tenant.attempts(number)], ["Olá", "de "])


@attack("An invitation that ended with an unknown outcome counts as possibly sent for every later request, by WhatsApp and by e-mail, "
        "until a person redrives it", long=True)
def unknown_invitation_again(recado):
    tenant, number = host(recado, keyed=True), new_number()
    add_guests(tenant, {"id": "g1", "phone": f"+{number}", "email": f"g-{number}@clinic.example"})
    tenant.line.respond = lambda sent: (500, {"error": "Internal Server Error"}) if sent.text.startswith("Olá") else None
    id = deliver(tenant, guestId="g1").json()["id"]
    found = until(lambda: (one := status_of(tenant, id))["status"] == "failed" and one, "that it is given up", 100)
    holds(str(found["error"]), "unknown_outcome")
    tried = len(invited(tenant, number))
    for more in ({}, {"channel": "email"}, {"send_at": "2027-01-01T09:00:00-03:00"}):
        again = deliver(tenant, guestId="g1", **more)
        same((again.status, again.json()["status"]), (200, "duplicate"), str(more))
    answer = deliver(tenant, guestIds=["g1"])
    refused = f"/deliver/batches/{answer.json()['batch_id']}/recipients?tenant={tenant.id}"
    until(lambda: recado.get(refused)["items"][0]["status"] in ("duplicate", "refused"), "that the batch sends it nobody")
    same(deliver(tenant, guestId="g1", template="remind").status, 202)
    tenant.wait_sent(number)
    same((len(invited(tenant, number)), recado.partners.carrier.to(f"g-{number}@clinic.example")), (tried, []))
    # A person's word lets it go, and the message keeps its mark.
    tenant.line.respond = lambda sent: None
    letter = [one for one in tenant.dead_letters(1) if one["reason"] == "unknown_outcome"][0]
    recado.do("POST", f"/v1/dead-letters/{letter['id']}/redrive", status=202)
    until(lambda: len(invited(tenant, number)) > tried, "the copy that a person wanted")
    assert recado.get(f"/v1/messages/{found['message_id']}")["maybe_sent"]


def at_once(count, ask):
    """Asks so many times at once, each with its place; returns the answers."""
    barrier = threading.Barrier(count)

    def one(place):
        barrier.wait(30)
        return ask(place)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@attack("Of equal requests at once one is taken and the others are its repeats, never a conflict: by phone, guest, older route, with a "
        "key, for later and by e-mail", needs="one_machine")
def equal_requests_at_once(recado):
    tenant = host(recado, keyed=True)
    soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)).isoformat()
    older = {"tenant": tenant.id, "channel": "whatsapp", "template": "invite"}
    kinds = {
        "phone": lambda number: deliver(tenant, phone=f"+{number}"),
        "guest": lambda number: deliver(tenant, guestId=f"g{number}"),
        "older route": lambda number: recado.ask("POST", f"/events/ev_demo/guests/g{number}/send", older),
        "key": lambda number: deliver(tenant, {"Idempotency-Key": f"key-{number}"}, guestId=f"g{number}"),
        "later": lambda number: deliver(tenant, guestId=f"g{number}", send_at=soon),
        "later with a key": lambda number: deliver(tenant, {"Idempotency-Key": f"key-{number}"}, guestId=f"g{number}", send_at=soon),
        "e-mail": lambda number: deliver(tenant, guestId=f"g{number}", channel="email"),
    }
    for kind, ask in kinds.items():
        number = new_number()
        if kind != "phone":
            add_guests(tenant, {"id": f"g{number}", "phone": f"+{number}", "email": f"{number}@clinic.example"})
        answers = at_once(8, lambda _, ask=ask, number=number: ask(number))
        same(sorted(one.status for one in answers), [200] * 7 + [202], f"{kind}: {[one.text()[:200] for one in answers]}")
        if kind == "e-mail":
            until(lambda number=number: recado.partners.carrier.to(f"{number}@clinic.example"), "the e-mail")
            same(len(recado.partners.carrier.attempts(f"{number}@clinic.example")), 1)
        else:
            tenant.wait_sent(number)
            same(deliver(tenant, phone=f"+{number}", template="remind").status, 202, kind)
            tenant.wait_sent(number, 2)
            same(len(tenant.sent(number)), 2, kind)


@attack("Requests at once that differ in words, time or data send one message, made of what was stored, and a repeat changes nothing of it")
def changed_facts_at_once(recado):
    tenant = host(recado)
    tenant.entries["invitation_templates"][0]["text"] = "Olá, mesa {{table}}, você vem?"
    tenant.apply()
    number = new_number()
    add_guests(tenant, {"id": "g1", "phone": f"+{number}"})
    answers = at_once(8, lambda place: deliver(tenant, guestId="g1", variables={"table": str(place)}, metadata={"place": place}))
    taken = [place for place, one in enumerate(answers) if one.status == 202]
    same((len(taken), {one.status for one in answers}), (1, {200, 202}), str([one.text()[:150] for one in answers]))
    same(tenant.wait_sent(number).text, f"Olá, mesa {taken[0]}, você vem?")
    same(status_of(tenant, answers[taken[0]].json()["id"], "sent")["metadata"], {"place": taken[0]})
    key, numbers = {"Idempotency-Key": f"key-{number}"}, [new_number() for _ in range(8)]
    add_guests(tenant, *({"id": f"h{place}", "phone": f"+{one}"} for place, one in enumerate(numbers)))
    answers = at_once(8, lambda place: deliver(tenant, key, guestId=f"h{place}", variables={"table": "9"}))
    same([one.status for one in answers].count(202), 1)
    sent = [one for one in numbers if answers[numbers.index(one)].status == 202]
    same(tenant.wait_sent(sent[0]).text, "Olá, mesa 9, você vem?")
    same(deliver(tenant, guestId="g1", template="remind", variables={}).status, 202)
    tenant.wait_sent(number, 2)
    same([len(tenant.attempts(one)) for one in numbers], [1 if one in sent else 0 for one in numbers])


def tell_back(tenant, sent):
    """What a provider tells of an own message by its own id alone: an echo of each kind, and its status."""
    if tenant.provider == "evolution":
        echo = bodies.evolution(tenant.instance, sent.number, sent.text, id=sent.id, from_me=True)
        return [echo, {**echo, "event": "send.message"}, bodies.evolution_status(tenant.instance, sent.number, sent.id, "DELIVERY_ACK")]
    echo = {"message_echoes": [{"from": "5511900000099", "to": sent.number, "id": sent.id, "timestamp": "1795000000", "type": "text",
                                "text": {"body": sent.text}}]}
    told = [bodies.meta(tenant.external, echo, field) for field in ("smb_message_echoes", "message_echoes")]
    return told + [bodies.meta(tenant.external, bodies.meta_status(sent.number, sent.id, "delivered"))]


@attack("Echoes and statuses that name the provider's id alone find the own message at each provider, also before the send's answer: "
        "nothing counts as typed by a person")
def own_messages_come_back(recado):
    for provider in ("evolution", "meta", "360dialog"):
        tenant, number = recado.tenant(provider), new_number()

        def respond(sent, tenant=tenant, number=number):
            if sent.number == number and sent.text.endswith("primeira"):
                for told in tell_back(tenant, sent):
                    same(tenant.post(told).status, 200)

        tenant.line.respond = respond
        tenant.write(number, "primeira")
        tenant.wait_sent(number)
        tenant.write(number, "segunda")
        second = tenant.wait_sent(number, 2)
        for told in tell_back(tenant, second):
            same(tenant.post(told).status, 200, provider)
        tenant.write(number, "terceira")
        tenant.wait_sent(number, 3)
        same(tenant.conversation(number)["mode"], "ai", provider)
        same([one["content"] for one in tenant.messages(number, role="assistant")],
             [f"Reply to: {words}" for words in ("primeira", "segunda", "terceira")], provider)
        tenant.wait_message(number, lambda one: one["content"].endswith("segunda") and one["status"] == "delivered",
                            f"that the status of {provider} found its message", "assistant")


@attack("A redrive of one letter by many at once sends it once, beside repeats of its request")
def redriven_by_many(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.line.respond = lambda sent: (400, {"status": 400, "response": {"message": [{"exists": False}]}})
    tenant.send(number, "uma vez só")
    letter = tenant.dead_letters(1)[0]["id"]
    tenant.line.respond = lambda sent: None

    def redrive(place):
        if place % 2:
            return recado.ask("POST", f"/v1/dead-letters/{letter}/redrive")
        return recado.ask("POST", "/v1/dead-letters/redrive", {"instance": tenant.instance})

    same({one.status // 100 for one in at_once(12, redrive)} - {2, 4}, set())
    tenant.wait_sent(number)
    until(lambda: not tenant.dead_letters(), "no dead letter")
    tenant.send(number, "depois")
    tenant.wait_sent(number, 2)
    same([one.text for one in tenant.sent(number)], ["uma vez só", "depois"])
