"""Conversations, who may begin them, and the people beside the agent."""
import http.client
import json
import threading
import time
import urllib.parse

from harness import bodies
from harness.bodies import new_number
from harness.registry import behaviour
from harness.waiting import holds, same, until


@behaviour("0.45", "0.46", "0.48",
           "A contact on the block list begins no conversation; one that exists goes on until it is resolved")
def block_list(recado):
    tenant, number, before = recado.tenant(), new_number(), new_number()
    tenant.write(before, "oi")
    tenant.wait_sent(before)
    tenant.apply("instances", access={"block": [f"+{number}", f"+{before}"]})
    id = bodies.new_id()
    tenant.write(number, "posso?", id=id)
    same(tenant.event(id)["reason"], "blocked")
    tenant.write(before, "e eu?")
    tenant.wait_sent(before, 2)
    same((tenant.conversations(number), tenant.attempts(number)), ([], []))
    recado.do("PATCH", f"/v1/conversations/{tenant.conversation(before)['id']}", {"status": "resolved"})
    id = bodies.new_id()
    tenant.write(before, "de novo", id=id)
    same(tenant.event(id)["reason"], "blocked")
    same(len(tenant.sent(before)), 2)


@behaviour("0.47", "With an allow list only who is on it begins a conversation")
def allow_list(recado):
    allowed, other = new_number(), new_number()
    tenant = recado.tenant(instance={"access": {"allow": [f"+{allowed}"]}})
    id = bodies.new_id()
    tenant.write(other, "posso?", id=id)
    tenant.write(allowed, "oi")
    tenant.wait_sent(allowed)
    same(tenant.event(id)["reason"], "blocked")
    same((tenant.conversations(other), tenant.attempts(other)), ([], []))


@behaviour("0.49", "0.50",
           "The first message begins a conversation, further ones go to it, and after a resolve the next begins another")
def conversation_of_a_contact(recado):
    tenant, number = recado.tenant(), new_number()
    for place in range(2):
        tenant.write(number, f"mensagem {place}")
        tenant.wait_sent(number, place + 1)
    tenant.wait_answered(number)
    first = tenant.conversation(number)
    same((len(tenant.conversations(number)), first["status"], first["last_ordinal"]), (1, "active", 4))
    recado.do("PATCH", f"/v1/conversations/{first['id']}", {"status": "resolved", "seen": 4})
    tenant.write(number, "outra conversa")
    tenant.wait_sent(number, 3)
    found = tenant.conversations(number)
    same(({one["status"] for one in found}, len(found)), ({"active", "resolved"}, 2))


@behaviour("0.51", "A new conversation begins with the agent, or with people where `starts_with_ai` is false")
def who_begins(recado):
    tenant, number = recado.tenant(instance={"starts_with_ai": False}), new_number()
    tenant.write(number, "oi")
    same((tenant.wait_waiting(number, "oi")["reason"], tenant.conversation(number)["mode"], tenant.asked), ("manual", "manual", []))
    other, number = recado.tenant(), new_number()
    other.write(number, "oi")
    other.wait_sent(number)
    same(other.conversation(number)["mode"], "ai")


@behaviour("0.52", "The contact's picture is asked for at Evolution, and shown", program="quiet", long=True)
def picture_of_the_contact(recado):
    tenant, number = recado.tenant(), new_number()
    url = f"https://pictures.example/{number}.jpg"
    tenant.line.on_request = lambda received: (200, {"wuid": f"{number}@s.whatsapp.net", "profilePictureUrl": url}) \
        if "fetchProfilePictureUrl" in received.path else None
    tenant.write(number, "oi")
    tenant.wait_sent(number)
    until(lambda: tenant.conversation(number)["contact"]["picture_url"] == url, "the picture", 100)


@behaviour("0.63", "0.64", "0.65", "0.66", "0.68", "0.69",
           "A message is kept with its conversation, role, type, content, the provider's id, and the status `delivered`")
def fields_of_a_message(recado):
    tenant, number, id = recado.tenant(), new_number(), bodies.new_id()
    tenant.write(number, "Qual o horário?", id=id)
    first = tenant.wait_message(number, lambda one: True, "the message", "user")
    same((first["role"], first["type"], first["content"], first["provider_message_id"], first["status"]),
         ("user", "text", "Qual o horário?", id, "delivered"))
    same(first["id"].rsplit(".", 1)[0], tenant.conversation(number)["id"])


@behaviour("0.70", "0.72", "0.152",
           "While a person has the conversation, messages are stored and no model is asked; after the give-back the agent "
           "answers")
def manual_mode(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.write(number, "oi")
    tenant.wait_sent(number)
    path = f"/v1/conversations/{tenant.conversation(number)['id']}"
    same(recado.do("PATCH", path, {"mode": "manual"})["mode"], "manual")
    tenant.write(number, "alguém?")
    same((tenant.wait_waiting(number, "alguém?")["reason"], len(tenant.asked)), ("manual", 1))
    answer = recado.ask("POST", f"{path}/messages", {"text": "Sou a Carla", "seen": 3}, headers={"Idempotency-Key": number})
    again = recado.ask("POST", f"{path}/messages", {"text": "Sou a Carla", "seen": 3}, headers={"Idempotency-Key": number})
    same((answer.status, again.json()["id"]), (202, answer.json()["id"]))
    same(tenant.wait_sent(number, 2).text, "Sou a Carla")
    recado.do("PATCH", path, {"mode": "ai"})
    tenant.write(number, "obrigada")
    same(tenant.wait_sent(number, 3).text, "Reply to: obrigada")
    holds(tenant.asked[-1].text, "[person] Sou a Carla", "alguém?")


@behaviour("0.73", "While the agent has the conversation, its turn asks the model")
def agents_mode(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.write(number, "oi")
    tenant.wait_sent(number)
    same((tenant.conversation(number)["mode"], len(tenant.asked)), ("ai", 1))


@behaviour("0.133", "0.152", "A takeover while the model thinks stops its reply, and a give-back owes it again")
def takeover_while_the_model_thinks(recado):
    tenant, number, thinks, go_on = recado.tenant(), new_number(), threading.Event(), threading.Event()

    def think(asked):
        thinks.set()
        go_on.wait(30)
        return "tarde demais" if len(tenant.asked) == 1 else "agora sim"

    tenant.says(think)
    tenant.write(number, "oi")
    assert thinks.wait(30)
    path = f"/v1/conversations/{tenant.conversation(number)['id']}"
    recado.do("PATCH", path, {"mode": "manual"})
    go_on.set()
    tenant.wait_message(number, lambda one: one["answer"]["reason"] == "manual", "that a person has it", "user")
    recado.do("PATCH", path, {"mode": "ai"})
    same(tenant.wait_sent(number).text, "agora sim")
    same(len(tenant.sent(number)), 1)


@behaviour("0.153", "What was resolved before its turn is not answered")
def resolved_meanwhile(recado):
    tenant, number = recado.tenant(instance={"debounce_seconds": 2}), new_number()
    tenant.write(number, "deixa")
    until(lambda: tenant.messages(number, role="user"), "the message")
    recado.do("PATCH", f"/v1/conversations/{tenant.conversation(number)['id']}", {"status": "resolved", "seen": 1})
    tenant.write(number, "outra coisa")
    tenant.wait_sent(number)
    same((len(tenant.asked), len(tenant.sent(number))), (1, 1))


@behaviour("0.156", "0.157",
           "A reaction is added to its message and taken back, by an event of its own or as a message, and is not answered")
def reactions(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.write(number, "oi")
    sent = tenant.wait_sent(number)
    tenant.wait_answered(number)
    key = {"remoteJid": f"{number}@s.whatsapp.net", "fromMe": True, "id": sent.id}

    def react(emoji, at):
        tenant.write(number, {"reactionMessage": {"key": key, "text": emoji}}, at=time.time() + at)

    def shown():
        return [one["emoji"] if "emoji" in one else one for one in tenant.messages(number, role="assistant")[0]["reactions"]]

    react("👍", 1)
    until(lambda: "👍" in str(shown()), "the reaction")
    react("", 2)
    until(lambda: not shown(), "that it was taken back")
    event = {"event": "messages.reaction", "instance": tenant.instance, "data": {"key": {**key, "fromMe": False, "id": bodies.new_id()},
             "message": {"reactionMessage": {"key": key, "text": "❤️"}}, "messageTimestamp": int(time.time()) + 3}}
    same(tenant.post(event).status, 200)
    until(lambda: "❤" in str(shown()), "the reaction of an event of its own")
    tenant.write(number, "e?")
    tenant.wait_sent(number, 2)
    same(len(tenant.asked), 2)


@behaviour("0.71", "0.100", "0.101", "0.125", "0.150", "0.185", "2.15",
           "What happens is told to a system of the tenant by signed posts, also while people have the conversation")
def endpoint(recado):
    host = recado.partners.host
    tenant, number = recado.tenant(), new_number()
    host.answers[f"crm-{tenant.id}"] = 204, b""
    made = recado.do("POST", f"/v1/webhooks?tenant={tenant.id}", {"id": "crm", "url": f"{host.url}/crm-{tenant.id}"})
    assert made["secret"].startswith("whsec_")

    def told(kind, **facts):
        posts = [one.json() for one in host.requests(f"crm-{tenant.id}")]
        return [one for one in posts if one["kind"] == kind and all(one["data"].get(name) == value for name, value in facts.items())]

    tenant.write(number, "oi")
    sent = tenant.wait_sent(number)
    for kind, facts in (("message.created", {"role": "user"}), ("message.created", {"role": "assistant"}), ("conversation.updated", {}),
                        ("message.status", {"status": "sent"})):
        until(lambda: told(kind, **facts), f"a post of {kind} {facts}")
    tenant.status(sent, "read")
    until(lambda: told("message.status", status="read"), "a post of the status")
    recado.do("PATCH", f"/v1/conversations/{tenant.conversation(number)['id']}", {"mode": "manual"})
    tenant.write(number, "alguém?")
    waiting = until(lambda: told("conversation.waiting"), "a post that somebody waits")[0]
    same((waiting["tenant"], waiting["conversation_id"]), (tenant.id, tenant.conversation(number)["id"]))
    until(lambda: len(told("message.created", role="user")) == 2, "a post of the second message")
    post = host.requests(f"crm-{tenant.id}")[0]
    assert post.headers["webhook-signature"].startswith("v1,") and post.headers["webhook-id"] == post.json()["id"]
    assert "oi" not in post.body.decode() and number not in post.body.decode(), "an event holds no text and no number"


@behaviour("0.71", "0.100", "0.101", "2.15",
           "A dashboard follows what happens live by a stream, and by a list of events", needs="one_machine")
def stream(recado):
    tenant, number, lines = recado.tenant(), new_number(), []
    token = tenant.token("viewer")
    parts = urllib.parse.urlsplit(recado.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.request("GET", "/v1/events/stream", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    same((answer.status, answer.headers["content-type"]), (200, "text/event-stream"))

    def read():
        for line in answer:
            if line.startswith(b"data:"):
                lines.append(json.loads(line[5:]))

    threading.Thread(target=read, daemon=True).start()
    tenant.write(number, "ao vivo")
    tenant.wait_sent(number)
    until(lambda: {"message.created", "message.status", "turn.finished"} <= {one["kind"] for one in lines}, "the events of the stream")
    same({one["tenant"] for one in lines}, {tenant.id})
    listed = recado.get("/v1/events?limit=200", token=token)["items"]
    assert {one["id"] for one in lines} <= {one["id"] for one in listed}
    connection.sock and connection.sock.close()


@behaviour("2.16", "2.33", "Who has a token signs in to a console that shows the conversations", needs="one_machine")
def console(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.write(number, "para o painel", name="Helena")
    tenant.wait_sent(number)
    form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
    answer = recado.ask("POST", "/console/sign-in", "token=" + urllib.parse.quote(tenant.token("operator")), token="", headers=form)
    cookie = answer.headers["set-cookie"].split(";")[0]
    page = recado.ask("GET", "/console/conversations", token="", headers={"Cookie": cookie})
    same(page.status, 200)
    holds(page.text(), "Helena")
    same(recado.ask("GET", "/console/conversations", token="").status in (302, 303, 401), True)


@behaviour("2.33",
           "Conversations are listed by instance, mode, status and label, and found by words and by the contact",
           needs="one_machine")
def lists(recado):
    tenant, number, other = recado.tenant(), new_number(), new_number()
    tenant.write(number, "quero um orçamento", name="Lúcia Ramos")
    tenant.write(other, "bom dia", name="Rui")
    tenant.wait_sent(number)
    tenant.wait_sent(other)
    id = tenant.conversation(number)["id"]
    recado.do("POST", f"/v1/conversations/{id}/labels", {"add": ["refund"]})
    recado.do("PATCH", f"/v1/conversations/{tenant.conversation(other)['id']}", {"mode": "manual"})

    def found(query):
        return [one["id"] for one in recado.get(f"/v1/conversations?instance={tenant.instance}&{query}")["items"]]

    same((found("label=refund"), found("mode=ai"), len(found("status=active"))), ([id], [id], 2))
    until(lambda: found("text=orcamento") == [id], "the conversation by its words")
    same((found("contact=lucia"), found(f"contact={number[-8:]}")), ([id], [id]))
