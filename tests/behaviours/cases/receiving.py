"""Webhooks come in, are proven, stored and acknowledged; a repeat changes nothing."""
import base64
import concurrent.futures

from harness import bodies
from harness.bodies import new_id, new_number
from harness.registry import behaviour
from harness.waiting import holds, same, until


@behaviour("0.2", "0.5", "0.10", "0.11", "0.38", "0.41", "2.10", "2.17", "2.19",
           "A message at `/api/webhook/evolution` is answered 200, read and answered")
def older_route_of_evolution(recado):
    tenant, number = recado.tenant(), new_number()
    answer = tenant.post(tenant.body(number, "Qual o horário de funcionamento?"), "/api/webhook/evolution")
    same(answer.status, 200)
    same(answer.json()["events"], 1)
    same(tenant.wait_sent(number).text, "Reply to: Qual o horário de funcionamento?")


@behaviour("1.7", "1.59", "`/webhooks/evolution/{instance}` takes a message, also if the body names no instance")
def route_with_the_instance(recado):
    tenant, number = recado.tenant(), new_number()
    body = tenant.body(number, "pelo caminho")
    del body["instance"]
    same(tenant.post(body, f"/webhooks/evolution/{tenant.instance}").status, 200)
    same(tenant.wait_sent(number).text, "Reply to: pelo caminho")
    same(tenant.post(tenant.body(number, "outro"), "/webhooks/evolution/another-one").status, 400, "another instance in the path")


@behaviour("1.7", "A body that is no webhook is a 400, and one without a proof a 401")
def no_webhook_and_no_proof(recado):
    tenant = recado.tenant()
    path = f"/webhooks/evolution/{tenant.instance}"
    same(tenant.post({"message": "test"}, path).status, 400)
    same(tenant.post({"message": "test"}, path, proven=False).status, 401)
    wrong = tenant.post(tenant.body(new_number(), "oi"), headers={"apikey": "wrong"}, proven=False)
    same(wrong.status, 401)
    same(tenant.conversations(), [])


@behaviour("0.3", "What is no JSON is a 400 with the reason")
def no_json(recado):
    tenant = recado.tenant()
    answer = tenant.post(b"{not json", f"/webhooks/evolution/{tenant.instance}")
    same(answer.status, 400)
    holds(answer.headers["content-type"], "application/problem+json")
    same(tenant.post(b"[]").status, 400)


@behaviour("0.9", "0.20", "0.22", "0.23", "0.24", "0.26", "2.8", "4.5", "4.19", "4.25",
           "A webhook that comes many times at once, and again, is one message and one reply")
def repeated_webhook(recado):
    tenant, number = recado.tenant(), new_number()
    body = tenant.body(number, "uma vez só")
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: tenant.post(body), range(16)))
    same([one.status for one in answers], [200] * 16)
    tenant.wait_sent(number)
    tenant.wait_answered(number)
    later = tenant.post(body)
    same((later.status, later.json()["events"], later.json()["duplicates"]), (200, 0, 1))
    tenant.write(number, "e depois")
    tenant.wait_sent(number, 2)
    same([one.text for one in tenant.sent(number)], ["Reply to: uma vez só", "Reply to: e depois"])
    same([one["content"] for one in tenant.messages(number, role="user")], ["uma vez só", "e depois"])


@behaviour("0.19", "4.3", "4.21", "An event is known by the provider's id of the message, whatever else differs")
def known_by_its_id(recado):
    for provider in ("evolution", "meta", "360dialog"):
        tenant, number, id = recado.tenant(provider), new_number(), f"same-{new_id()}"
        same(tenant.write(number, "primeiro", id=id)["events"], 1)
        tenant.wait_sent(number)
        tenant.wait_answered(number)
        same(tenant.write(number, "outras palavras", id=id, name="Outra")["duplicates"], 1)
        same([one["content"] for one in tenant.messages(number, role="user")], ["primeiro"])


@behaviour("4.4", "4.22", "A body without an id is known again by its sorted content, whatever the order of its keys")
def known_by_its_body(recado):
    tenant, number = recado.tenant(), new_number()
    body = tenant.body(number, "sem id")
    del body["data"]["key"]["id"]
    same(tenant.post(body).json()["events"], 1)
    tenant.wait_sent(number)
    tenant.wait_answered(number)
    turned = {**dict(reversed(body.items())), "server_url": "https://another.example", "data": dict(reversed(body["data"].items()))}
    same(tenant.post(turned).json()["duplicates"], 1)
    later = {**body, "data": {**body["data"], "messageTimestamp": body["data"]["messageTimestamp"] + 1}}
    same(tenant.post(later).json()["events"], 1, "another time is another event")
    tenant.wait_sent(number, 2)


@behaviour("1.129", "The body of a queue worker (`instanceName`, `message.key`, no id) is read and answered, and known again")
def body_of_a_queue_worker(recado):
    tenant, number = recado.tenant(), new_number()
    body = {"instanceName": tenant.instance, "message": {"key": {"remoteJid": f"{number}@s.whatsapp.net", "fromMe": False},
            "message": {"conversation": "Test from queue"}, "pushName": "Test User"}}
    path = f"/webhooks/evolution/{tenant.instance}"
    same(tenant.post(body, path).status, 200)
    same(tenant.wait_sent(number).text, "Reply to: Test from queue")
    tenant.wait_answered(number)
    same(tenant.post(body, path).json()["duplicates"], 1)
    same(tenant.conversation(number)["contact"]["name"], "Test User")


@behaviour("1.131", "Ten webhooks that name no chat are acknowledged and left alone; ten sound ones are answered")
def ten_webhooks(recado):
    tenant = recado.tenant()
    path = f"/webhooks/evolution/{tenant.instance}"
    for place in range(10):
        answer = tenant.post({"message": {"conversation": f"Test {place}"}}, path)
        same((answer.status, answer.json()["ignored"]), (200, 1))
    numbers = [new_number() for _ in range(10)]
    for place, number in enumerate(numbers):
        tenant.write(number, f"Test {place}")
    for place, number in enumerate(numbers):
        same(tenant.wait_sent(number).text, f"Reply to: Test {place}")


@behaviour("0.39", "0.53", "1.84", "The contact is the number of `remoteJid`, and its name is what the last message said")
def contact_and_name(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.write(number, "oi", name="João Silva")
    tenant.wait_sent(number)
    same(tenant.conversation(number)["contact"]["name"], "João Silva")
    tenant.write(f"{number}:7@s.whatsapp.net", "do outro aparelho", name="João S.")
    tenant.wait_sent(number, 2)
    same(tenant.conversation(number)["contact"], {"phone": f"+{number}", "name": "João S.", "picture_url": None})


@behaviour("0.40", "A message with `fromMe` that Recado sent changes nothing; one that a person typed on the phone takes over")
def from_me(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.write(number, "oi")
    sent = tenant.wait_sent(number)
    tenant.wait_answered(number)
    tenant.write(number, sent.text, id=sent.id, from_me=True)
    tenant.write(number, "e aí?")
    tenant.wait_sent(number, 2)
    same(tenant.conversation(number)["mode"], "ai")
    tenant.write(number, "Aqui é a Carla", from_me=True)
    tenant.wait_message(number, lambda one: one["role"] == "operator", "the person's words")
    same(tenant.conversation(number)["mode"], "manual")
    same([one["content"] for one in tenant.messages(number, role="operator")], ["Aqui é a Carla"])


@behaviour("0.42", "0.43", "An instance is found by the provider's name, `external_id` or its id, and answers with its agent")
def instance_by_the_providers_name(recado):
    tenant, number = recado.tenant(), new_number()
    name = f"{tenant.instance}-at-the-provider"
    tenant.apply("instances", external_id=name)
    body = {**tenant.body(number, "oi"), "instance": name}
    same(tenant.post(body).status, 200)
    until(lambda: tenant.phones.to(number, name), "the reply by the provider's name")
    same(len(tenant.asked), 1)


@behaviour("0.18", "0.35", "0.44", "0.164", "1.19",
           "An event of an instance that nobody configured is acknowledged, and a dead letter that can be redriven")
def unknown_instance(recado):
    tenant, number = recado.tenant("meta"), new_number()
    unknown = str(int(tenant.external) + 1)
    body = bodies.meta(unknown, bodies.meta_message(number, "alguém aí?"))
    same(tenant.post(body).status, 200)

    def find():
        dead = recado.get("/v1/dead-letters?reason=unknown_instance&limit=200")["items"]
        return [one for one in dead if number in str(recado.get(f"/v1/dead-letters/{one['id']}"))]

    dead = until(find, "the dead letter")[0]
    tenant.entries["instances"].append({**tenant.entries["instances"][0], "id": f"{tenant.id}-02", "external_id": unknown})
    tenant.apply()
    recado.do("POST", f"/v1/dead-letters/{dead['id']}/redrive")
    until(lambda: tenant.phones.to(number, unknown), "the reply after the redrive")
    until(lambda: not find(), "that the dead letter is gone")


@behaviour("2.3", "2.20", "4.1",
           "Meta's messages are taken at `/webhooks/whatsapp`, `/webhook/whatsapp` and `/webhooks/meta`, and answered")
def routes_of_meta(recado):
    tenant = recado.tenant("meta")
    for path in ("/webhooks/whatsapp", "/webhook/whatsapp", "/webhooks/meta", "/webhooks/meta/"):
        number = new_number()
        tenant.write(number, f"por {path}", path=path)
        same(tenant.wait_sent(number).text, f"Reply to: por {path}")


@behaviour("4.1", "`GET` on Meta's route returns the challenge to who knows the token")
def handshake_of_meta(recado):
    query = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="
    right = recado.ask("GET", f"/webhooks/whatsapp?{query}verify-token-of-the-behaviours", token="")
    same((right.status, right.text()), (200, "1158201444"))
    assert recado.ask("GET", f"/webhooks/whatsapp?{query}wrong", token="").status in (401, 403)


@behaviour("4.2", "Meta's body is proven by its HMAC; a changed body, another secret or no signature is a 401")
def signature_of_meta(recado):
    tenant, number = recado.tenant("meta"), new_number()
    body = tenant.body(number, "assinado")
    same(tenant.post(body, proven=False).status, 401)
    same(tenant.post(body, headers={"X-Hub-Signature-256": "sha256=" + "0" * 64}, proven=False).status, 401)
    same(tenant.conversations(), [])
    same(tenant.post(body).status, 200)
    tenant.wait_sent(number)


@behaviour("2.6", "2.9", "What is authentic and of no use is acknowledged with 200, so that the webhook stays switched on")
def authentic_and_of_no_use(recado):
    meta = recado.tenant("meta")
    for field, value in (("a_field_of_the_future", {"x": 1}), ("messages", {}), ("account_update", {"event": "PARTNER_ADDED"})):
        same(meta.post(bodies.meta(meta.external, value, field)).status, 200)
    evolution = recado.tenant()
    for event in ("qrcode.updated", "chats.upsert", "an.event.of.the.future"):
        same(evolution.post({"event": event, "instance": evolution.instance, "data": {}}).status, 200)


@behaviour("3.16", "3.17", "3.23", "3.30", "3.84",
           "360dialog's messages are taken at `/deliver/webhook` and `/wa/webhook`, also with words in place of `text.body`")
def routes_of_360dialog(recado):
    tenant = recado.tenant("360dialog")
    for path in ("/deliver/webhook", "/wa/webhook", f"/wa/webhook/{tenant.external}", f"/webhooks/360dialog/{tenant.external}"):
        number = new_number()
        body = {"messages": [{"id": f"msg_{new_id()}", "from": f"+{number}", "text": "confirm"}]}
        same(tenant.post(body, path).status, 200, path)
        same(tenant.wait_sent(number).text, "Reply to: confirm")
    same(tenant.post(body, f"/deliver/webhook/{tenant.external}", proven=False).status, 401)


@behaviour("3.17", "The secret of a number of 360dialog is also taken as the password of Basic authentication")
def basic_proof_of_360dialog(recado):
    tenant, number = recado.tenant("360dialog"), new_number()
    proof = base64.b64encode(f"anybody:{tenant.secret}".encode()).decode()
    same(tenant.post(tenant.body(number, "oi"), headers={"Authorization": f"Basic {proof}"}, proven=False).status, 200)
    tenant.wait_sent(number)


@behaviour("0.1", "0.180", "1.2", "1.133", "2.7", "2.34", "3.18",
           "A webhook is answered at once, whatever the provider and the model do")
def answered_at_once(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.line.respond = lambda sent: 503
    tenant.says(529)
    took = []
    for place in range(20):
        begin = bodies.time.monotonic()
        tenant.write(number, f"mensagem {place}")
        took.append(bodies.time.monotonic() - begin)
    # The median, with much room for a busy machine: what asks a partner first takes as long as its retries.
    assert sorted(took)[10] < 1.0, f"the median of 20 webhooks was {sorted(took)[10]:.3f} s"


@behaviour("3.31", "3.45", "3.46", "Messages and statuses of 360dialog that come again are dropped, and a status never moves back")
def repeats_of_360dialog(recado):
    tenant, number, id = recado.tenant("360dialog"), new_number(), f"msg_{new_id()}"
    same(tenant.write(number, "oi", id=id)["events"], 1)
    sent = tenant.wait_sent(number)
    tenant.wait_answered(number)
    same(tenant.write(number, "oi", id=id)["duplicates"], 1)
    for word in ("read", "delivered", "sent", "read"):
        tenant.status(sent, word)
    tenant.wait_message(number, lambda one: one["status"] == "read", "that it was read", "assistant")
    tenant.status(sent, "delivered")
    tenant.write(number, "tudo bem?")
    tenant.wait_sent(number, 2)
    same(tenant.messages(number, role="assistant")[0]["status"], "read")


@behaviour("4.13", "Messages of each provider are read to the same kinds of content")
def normalised(recado):
    of_evolution = {"locationMessage": {"degreesLatitude": -23.5, "degreesLongitude": -46.6, "name": "Praça"}}
    of_meta = {"type": "location", "location": {"latitude": -23.5, "longitude": -46.6, "name": "Praça"}}
    for provider, message in (("evolution", of_evolution), ("meta", of_meta), ("360dialog", of_meta)):
        tenant, number = recado.tenant(provider), new_number()
        tenant.write(number, message)
        tenant.wait_sent(number)
        first = tenant.messages(number)[0]
        same(first["type"], "location", provider)
        holds(first["content"], "Praça", "-23.5")


@behaviour("0.154", "A message that is too old on arrival is stored and not answered")
def old_message(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.write(number, "de ontem", at=bodies.time.time() - 86_400)
    old = tenant.wait_message(number, lambda one: one["answer"]["state"] == "not_owed", "that nothing is owed")
    same(old["answer"]["reason"], "stale")
    tenant.write(number, "de hoje")
    same(tenant.wait_sent(number).text, "Reply to: de hoje")
    same(len(tenant.sent(number)), 1)
