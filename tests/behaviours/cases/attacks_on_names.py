"""Attacks by names: what is removed and made again under a name is another thing, and who had the name before has nothing of it."""
import base64
import hashlib
import hmac
import threading
import uuid

from cases.delivery import add_guests, deliver, host_of_an_occasion
from cases.knowledge import add, search
from harness import bodies
from harness.bodies import new_number
from harness.registry import attack
from harness.waiting import holds, same, until


def is_signed(post, secret):
    """Whether a post carries a signature of the secret, as Standard Webhooks says."""
    key = base64.b64decode(secret.removeprefix("whsec_") + "==")
    signed = b".".join((post.headers["webhook-id"].encode(), post.headers["webhook-timestamp"].encode(), post.body))
    wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return f"v1,{wanted}" in post.headers["webhook-signature"].split()


def make_endpoint(tenant, place, id="crm"):
    endpoint = {"id": id, "url": f"{tenant.recado.partners.host.url}/{place}-{tenant.id}", "kinds": ["message.created"]}
    return tenant.recado.do("POST", f"/v1/webhooks?tenant={tenant.id}", endpoint)["secret"]


def endpoint(tenant):
    return tenant.recado.get(f"/v1/webhooks/crm?tenant={tenant.id}")


@attack("An endpoint that is removed and made again while it is posted to is told of what comes after that, under its own secret alone",
        needs="one_machine")
def endpoint_made_again_during_a_post(recado):
    tenant, host, ends, before = recado.tenant(), recado.partners.host, threading.Event(), new_number()
    host.answers[f"old-{tenant.id}"] = lambda received: (ends.wait(8), (500, {}))[1]
    old = make_endpoint(tenant, "old")
    tenant.write(before, "antes")
    tenant.wait_sent(before)
    until(lambda: host.requests(f"old-{tenant.id}"), "the post to the old endpoint")
    earlier = tenant.conversation(before)["id"]
    recado.do("DELETE", f"/v1/webhooks/crm?tenant={tenant.id}")
    new, number = make_endpoint(tenant, "new"), new_number()
    ends.set()
    tenant.write(number, "depois")
    tenant.wait_sent(number)
    posts = until(lambda: len(found := host.requests(f"new-{tenant.id}")) >= 2 and found, "the posts to the new endpoint")
    tenant.write(number, "e mais")
    tenant.wait_sent(number, 2)
    posts = until(lambda: len(found := host.requests(f"new-{tenant.id}")) >= 4 and found, "what came later")
    same([is_signed(post, new) for post in posts], [True] * len(posts))
    same([is_signed(post, old) for post in posts], [False] * len(posts))
    same([post for post in posts if post.json()["conversation_id"] == earlier], [], "what was published before it was made")
    state = until(lambda: (one := endpoint(tenant))["failures"] == 0 and one["accepted_at"] and one, "a state of its own")
    same(state["url"], f"{host.url}/new-{tenant.id}")
    same(recado.get(f"/v1/webhooks/crm/failed?tenant={tenant.id}")["items"], [])


@attack("An endpoint that was switched off, removed and made again is on and has no failures, made by the API or by documents",
        needs="one_machine")
def endpoint_made_again_by_documents(recado):
    tenant, host = recado.tenant(), recado.partners.host
    for again in ("API", "document"):
        host.answers[f"gone-{tenant.id}"] = 410, {}
        number, fields = new_number(), {"id": "crm", "url": f"{host.url}/gone-{tenant.id}", "kinds": ["message.created"]}
        make_endpoint(tenant, "gone") if again == "API" else tenant.apply("tenants", webhooks=[fields])
        tenant.write(number, "um")
        tenant.wait_sent(number)
        until(lambda: endpoint(tenant)["status"] == "switched_off", "that it is switched off", 60)
        if again == "API":
            recado.do("DELETE", f"/v1/webhooks/crm?tenant={tenant.id}")
            make_endpoint(tenant, f"here-{again}")
        else:
            tenant.apply("tenants", webhooks=[])
            tenant.apply("tenants", webhooks=[{**fields, "url": f"{host.url}/here-{again}-{tenant.id}"}])
        other = new_number()
        tenant.write(other, "dois")
        tenant.wait_sent(other)
        posts = until(lambda again=again: host.requests(f"here-{again}-{tenant.id}"), f"the first post, made again by {again}")
        same({post.json()["conversation_id"] for post in posts}, {tenant.conversation(other)["id"]})
        same(endpoint(tenant)["failures"], 0)
        recado.do("DELETE", f"/v1/webhooks/crm?tenant={tenant.id}") if again == "API" else tenant.apply("tenants", webhooks=[])


def take_a_name(recado, tenant, token, provider, name):
    """A tenant's own token takes a provider's name and reads every secret that it can get; returns them. The name is free after that."""
    instance = {"id": f"{tenant.id}-taken", "tenant": tenant.id, "agent": tenant.agent, "provider": provider, "external_id": name,
                "credential": f"env:RECADO_CREDENTIAL_{tenant.id.upper().replace('-', '_')}_KEY"}
    recado.do("POST", "/v1/instances", instance, token=token)
    path, secrets = f"/v1/instances/{instance['id']}", set()
    for version in range(1, 10):
        secrets.add(recado.get(f"{path}/webhook", token=token)["secret"])
        if version < 5:
            recado.ask("PUT", path, {**instance, "secret_version": version + 1}, token=token, headers={"If-Match": "*"})
        else:
            secrets.add(recado.do("POST", f"{path}/secret/rotate", {"overlap_seconds": 86_400}, token=token)["secret"])
    recado.do("DELETE", path, token=token, headers={"If-Match": "*"})
    return secrets


@attack("Who had a provider's name before proves no webhook of it: neither while nobody has it, nor once it is another tenant's")
def secrets_of_a_name(recado):
    for provider in ("evolution", "360dialog"):
        before, name = recado.tenant(keyed=True), f"{uuid.uuid4().int % 10 ** 15:015d}"
        token = before.token("manager")
        kept = take_a_name(recado, before, token, provider, name)
        assert len(kept) >= 5, "fewer secrets were shown than there are versions"
        kept |= take_a_name(recado, before, token, provider, name)
        number = new_number()

        def forge(secret, provider=provider, name=name, number=number):
            if provider == "evolution":
                body, path, header = bodies.evolution(name, number, "forjada"), "/webhooks/evolution", "apikey"
            else:
                body, path, header = bodies.meta_message(number, "forjada"), f"/webhooks/360dialog/{name}", "X-Recado-Webhook-Secret"
            return recado.ask("POST", path, body, token="", headers={header: secret}).status

        same({forge(secret) for secret in kept}, {401}, f"{provider}: nobody has the name")
        after = recado.tenant(provider, instance={"external_id": name})
        same({forge(secret) for secret in kept}, {401}, f"{provider}: another has the name")
        assert after.secret not in kept
        same(forge(after.secret), 200)
        until(lambda after=after, number=number: after.conversations(number), "the message with the true secret")
        same(len(after.messages(number, role="user")), 1)
        recado.do("DELETE", f"/v1/instances/{after.instance}?force=true", headers={"If-Match": "*"}, status=(200, 204, 409))


@attack("An agent that is removed and made again, also while a document is being read, has nothing of the one before",
        needs="one_machine")
def agent_made_again(recado):
    tenant, word, ends = recado.tenant(), f"segredo{new_number()}", threading.Event()
    id = f"{tenant.id}-other"
    agent = {**tenant.entries["agents"][0], "id": id}
    recado.do("POST", "/v1/agents", agent)
    tenant.agent = id
    add(tenant, "old.md", f"# Old\n\nThe {word} costs 90.")
    recado.partners.openai.held[f"{word} again"] = ends
    answers = []
    path, text = f"/v1/agents/{id}/knowledge?title=late.md", f"# Late\n\nThe {word} again costs 95."
    late = threading.Thread(target=lambda: answers.append(recado.ask("POST", path, text, headers={"Content-Type": "text/markdown"})))
    late.start()
    until(lambda: [one for one in recado.partners.openai.embedded if f"{word} again" in one], "that the second document is being read")
    recado.do("DELETE", f"/v1/agents/{id}", headers={"If-Match": "*"})
    recado.do("POST", "/v1/agents", agent)
    ends.set()
    late.join(60)
    same([answer.status for answer in answers], [404])
    same(search(tenant, f"What does the {word} cost?")["found"], [])
    same(recado.get(f"/v1/agents/{id}/knowledge").get("sources", []), [])
    same(add(tenant, "new.md", f"# New\n\nThe {word} costs 80.")["outcome"], "added")
    found = str(search(tenant, f"What does the {word} cost?")["found"])
    holds(found, "costs 80")
    assert "costs 90" not in found and "costs 95" not in found, found


@attack("A token that is deleted opens nothing, also once another has its name, whatever its role")
def token_made_again(recado):
    tenant = recado.tenant()
    for first, second in (("admin", "viewer"), ("viewer", "admin")):
        wanted = {"name": "same", "tenant": tenant.id}
        old = recado.do("POST", "/v1/tokens", {**wanted, "role": first})["secret"]
        same(recado.ask("GET", "/v1/token", token=old).status, 200)
        recado.do("DELETE", f"/v1/tokens/same?tenant={tenant.id}")
        new = recado.do("POST", "/v1/tokens", {**wanted, "role": second})["secret"]
        same(recado.ask("GET", "/v1/token", token=old, source="127.0.0.7").status, 401)
        same(recado.get("/v1/token", token=new)["role"], second)
        recado.do("DELETE", f"/v1/tokens/same?tenant={tenant.id}")


@attack("A tool that is made again under its name at another host gets the calls, and the one before gets none")
def tool_made_again(recado):
    tenant, host, number = recado.tenant(), recado.partners.host, new_number()
    tool = {"id": f"{tenant.id}-find", "tenant": tenant.id, "name": "find", "description": "Finds.", "effect": "reads"}
    tenant.says(lambda asked: f"found {asked.last}" if "<result>" in asked.last else ("find", {}))
    for turn, name in enumerate(("first", "second"), 1):
        host.answers[f"{name}-{tenant.id}"] = 200, {"said": f"by the {name}"}
        recado.do("POST", "/v1/tools", {**tool, "http": {"url": f"{host.url}/{name}-{tenant.id}"}})
        tenant.apply("agents", tools=[tool["id"]])
        tenant.write(number, f"procura {turn}")
        holds(tenant.wait_sent(number, turn).text, f"by the {name}")
        tenant.apply("agents", tools=[])
        recado.do("DELETE", f"/v1/tools/{tool['id']}", headers={"If-Match": "*"})
    same(len(host.requests(f"first-{tenant.id}")), 1)
    same(len(host.requests(f"second-{tenant.id}")), 1)


@attack("An invitation that waits leaves with the words of when it was taken, though its template and occasion are others meanwhile")
def template_made_again(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    tenant.connection("close")
    until(lambda: tenant.health()["evolution_connected"] is False, "that it is not connected")
    same(deliver(tenant, phone=f"+{number}").status, 202)
    first = tenant.entries["invitation_templates"][0]
    tenant.entries["invitation_templates"][0] = {**first, "text": "Outra: {{occasion_name}}"}
    tenant.entries["occasions"][0]["name"] = "Another day"
    tenant.apply()
    tenant.connection("open")
    same(tenant.wait_sent(number).text, "Olá tudo bem, você vem a Open day?")
    other = new_number()
    same(deliver(tenant, phone=f"+{other}").status, 202)
    same(tenant.wait_sent(other).text, "Outra: Another day")


@attack("A guest who is removed is another one when the id is given again: who has it now is invited, and once")
def guest_made_again(recado):
    tenant, numbers = host_of_an_occasion(recado), [new_number() for _ in range(2)]
    for name, number in zip(("Ana", "Bia"), numbers):
        add_guests(tenant, {"id": "g1", "name": name, "phone": f"+{number}"})
        same([deliver(tenant, guestId="g1").status for _ in range(2)], [202, 200])
        same(tenant.wait_sent(number).text, f"Olá {name}, você vem a Open day?")
        recado.do("DELETE", f"/v1/occasions/ev_demo/guests/g1?tenant={tenant.id}")
    same([len(tenant.attempts(number)) for number in numbers], [1, 1])
