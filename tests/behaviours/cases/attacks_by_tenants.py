"""Attacks by a tenant with tokens of its own: on others' records, on the installation's network, and on what links name."""
import contextlib
import json
import os
import stat

from cases.attacks_on_intake import DESCRIPTION
from cases.delivery import add_guests, deliver, host_of_an_occasion
from cases.knowledge import add
from harness import bodies
from harness.bodies import new_number
from harness.phones import NOT_ON_WHATSAPP
from harness.registry import attack
from harness.waiting import same, until

ROLES = ("viewer", "operator", "sender", "manager", "admin")
# Answered for everybody, or proven by something else than a token.
OPEN = ("/docs", "/health", "/openapi.json", "/unsubscribe", "/webhook", "/api/webhook", "/wa/webhook", "/deliver/webhook", "/v1/files")

# Their ids are names within the tenant of the token: what is found there is the asking tenant's own.
OWN_NAMES = ("/v1/occasions", "/events")


def described_routes():
    """Method and path of each described route that a token opens."""
    described = json.loads(DESCRIPTION.read_text())["paths"]
    return [(method.upper(), path) for path, methods in described.items() for method in methods
            if method in ("get", "post", "put", "patch", "delete") and not path.startswith(OPEN)]


def rich_tenant(recado):
    """A tenant with a record of each kind that has an id; returns it, and the ids by the names that paths and queries have for them."""
    tenant, number, refused = host_of_an_occasion(recado), new_number(), new_number()
    host = recado.partners.host
    tenant.entries["tools"] = [{"id": f"{tenant.id}-tool", "tenant": tenant.id, "name": "slots", "description": "Finds slots.",
                                "effect": "reads", "http": {"url": f"{host.url}/slots"}}]
    tenant.apply()
    endpoint = {"id": "crm", "url": f"{host.url}/crm-{tenant.id}"}
    recado.do("POST", f"/v1/webhooks?tenant={tenant.id}", endpoint)
    source = add(tenant, "segredo.md", f"# Segredo\n\nO segredo de {tenant.id} custa 90.")
    tenant.write(number, f"segredo de {tenant.id}")
    tenant.wait_sent(number)
    add_guests(tenant, {"id": "g1", "phone": f"+{number}"}, {"id": "g2", "phone": f"+{new_number()}"})
    invitation = deliver(tenant, guestId="g1").json()["id"]
    batch = deliver(tenant, guestIds=["g2"], send_at="2027-01-01T09:00:00-03:00").json()["batch_id"]
    later = tenant.send(number, "mais tarde", send_at="2027-01-01T09:00:00-03:00").json()["id"]
    tenant.line.respond = lambda sent: NOT_ON_WHATSAPP if sent.number == refused else None
    tenant.send(refused, "não existe")
    letter = tenant.dead_letters(1)[0]["id"]
    conversation = tenant.conversation(number)["id"]
    recado.do("POST", f"/v1/conversations/{conversation}/notes", {"text": "uma nota"})
    token = tenant.token("viewer")
    ids = {"conversations": conversation, "messages": tenant.messages(number)[0]["id"], "dead-letters": letter, "agents": tenant.agent,
           "instances": tenant.instance, "tools": f"{tenant.id}-tool", "calendars": f"{tenant.id}-none", "tenants": tenant.id,
           "occasions": "ev_demo", "webhooks": "crm", "batches": batch, "deliver": invitation, "tokens":
           recado.get("/v1/token", token=token)["name"], "source": str(source.get("source", {}).get("id") or source.get("id") or "1"),
           "guest": "g1", "event": "ev_demo", "number": "1", "phone": number, "notifications": "n_1", "later": later}
    return tenant, ids


def fill_path(path, ids):
    """A path with a tenant's ids in place of its parameters: an id is named by the part before it."""
    parts = path.split("/")
    for place, part in enumerate(parts):
        if part.startswith("{"):
            parts[place] = ids.get(part.strip("{}")) or ids[parts[place - 1]]
    return "/".join(parts)


def body_of(method, path, victim, ids, number):
    """A body that is about another tenant's records."""
    named = {"tenant": victim.id, "instance": victim.instance, "instance_id": victim.instance, "agent": victim.agent, "id": victim.agent,
             "phone": f"+{number}", "to": f"+{number}", "text": "de outro", "eventId": ids["event"], "guestId": ids["guest"],
             "channel": "whatsapp", "template": "remind", "mode": "manual", "question": "segredo", "all": True, "name": "intruder",
             "role": "viewer", "url": "https://hook.example/x", "guests": [{"id": "gx", "phone": f"+{new_number()}"}]}
    if path == "/v1/config":
        return {"agents": [{**victim.entries["agents"][0], "system_prompt": "taken over"}]}
    kind = path.split("/")[2] if path.startswith("/v1/") else ""
    entries = victim.entries.get(kind)
    return entries[0] if entries and method in ("PUT", "POST") and path.count("/") <= 3 else named


def state_of(tenant, ids):
    """All that may not change by what another tenant asks, as the installation sees it."""
    recado, shown = tenant.recado, {}
    for path in (f"/v1/agents/{tenant.agent}", f"/v1/instances/{tenant.instance}", f"/v1/tools/{ids['tools']}", f"/v1/tenants/{tenant.id}",
                 f"/v1/conversations/{ids['conversations']}", f"/v1/conversations/{ids['conversations']}/notes",
                 f"/v1/conversations/{ids['conversations']}/messages", f"/v1/dead-letters/{ids['dead-letters']}",
                 f"/v1/webhooks?tenant={tenant.id}", f"/v1/occasions/ev_demo/guests?tenant={tenant.id}",
                 f"/v1/occasions/ev_demo/invitations?tenant={tenant.id}", f"/deliver/batches?tenant={tenant.id}",
                 f"/v1/tokens?tenant={tenant.id}", f"/v1/messages/{ids['later']}", f"/v1/agents/{tenant.agent}/knowledge",
                 f"/v1/opt-outs?tenant={tenant.id}", f"/v1/instances/{tenant.instance}/webhook"):
        shown[path] = recado.get(path)
    for endpoint in shown[f"/v1/webhooks?tenant={tenant.id}"].get("items", []):
        for name in ("cursor", "accepted_at", "failures", "next_attempt_at", "failing_since", "error", "status"):
            endpoint.pop(name, None)
    return shown


@attack("Every route of the API with another tenant's ids in path, query and body, by tokens of every role, shows and changes nothing")
def every_route_with_ids_of_another(recado):
    (victim, ids), attacker = rich_tenant(recado), recado.tenant()
    number, others = ids["phone"], {}
    until(lambda: recado.get(f"/deliver/{ids['deliver']}/status?tenant={victim.id}")["status"] == "sent", "that the invitation is sent")
    before = state_of(victim, ids)
    tokens = {role: attacker.token(role) for role in ROLES}
    secrets, asked = (victim.id, ids["conversations"], ids["deliver"], ids["batches"]), 0
    about_the_victim = "?" + "&".join(f"{name}={value}" for name, value in {
        "tenant": victim.id, "instance": victim.instance, "conversation": ids["conversations"], "message": ids["messages"]}.items())
    for method, path in described_routes():
        if path == "/v1/events/stream":
            continue
        filled = fill_path(path, ids)
        body = None if method in ("GET", "DELETE") else body_of(method, path, victim, ids, number)
        for role, token in tokens.items():  # Each opens something, so that it is never held up.
            for query in ("", about_the_victim):
                answer = recado.ask(method, filled + query, body, token=token, headers={"If-Match": "*"})
                asked += 1
                where = f"{method} {filled}{query} as {role}: {answer.status} {answer.text()[:300]}"
                assert answer.status < 500, where
                if "{" in path and not path.startswith(OWN_NAMES):
                    assert 400 <= answer.status < 500, where
                shown = answer.text() if answer.status < 400 else ""
                for word in secrets:
                    assert word not in shown, where
                others.setdefault(answer.status, 0)
                others[answer.status] += 1
    assert asked > 500 and others.get(403, 0) > 50 and others.get(404, 0) > 50, others
    same(state_of(victim, ids), before)
    # No one of them, nor a made-up one, opens anything without a token.
    for method, path in described_routes():
        for token in ("", "recado_" + "0123456789abcdef" * 4):
            status = recado.ask(method, fill_path(path, ids), {} if method != "GET" else None, token=token, source="127.0.0.5").status
            assert status in (401, 429), f"{method} {path}: {status}"


def bad_hosts(recado):
    """Base URLs that lead into the installation's network or that are no base, by which a tenant would ask for it."""
    port = recado.partners.host.port
    hosts = ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]", "127.1", "10.0.0.1",
             "192.168.1.1", "169.254.169.254", "[fd00::1]", "host", "host.internal.", "100.100.100.200"]
    return [f"http://{host}:{port}/internal" for host in hosts] + [f"https://{host}:{port}" for host in hosts] + [
        f"http://127.0.0.1:{port}/containers/create?x=", "https://evolution.example/?x=", "https://evolution.example/#x",
        "https://user:word@evolution.example", "file:///etc/passwd", "ftp://evolution.example", f"http://public.example@127.0.0.1:{port}/"]


@attack("A tenant's token names no host of the installation's network: not as base URL, tool, server of tools, agent, endpoint, page, file "
        "or mail server, and a dry run asks nobody", program="guarded", needs="process")
def hosts_of_the_network(recado):
    tenant = recado.tenant(keyed=True)
    token, host, own = tenant.token("manager"), recado.partners.host, f"env:RECADO_CREDENTIAL_{tenant.id.upper().replace('-', '_')}_KEY"
    instance = {"id": f"{tenant.id}-x", "tenant": tenant.id, "agent": tenant.agent, "provider": "evolution", "credential": own}
    tool = {"id": f"{tenant.id}-x", "tenant": tenant.id, "name": "x", "description": "X.", "effect": "reads"}
    agent, entry = tenant.entries["agents"][0], tenant.entries["tenants"][0]
    for url in bad_hosts(recado):
        documents = {
            "base_url": {"instances": [{**instance, "base_url": url}]},
            "tool": {"tools": [{**tool, "http": {"url": url}}]},
            "server of tools": {"tools": [{**tool, "mcp": {"url": url, "allow": ["x"]}}]},
            "agent": {"agents": [{**agent, "http": {"url": url, "secret": own}}]},
            "endpoint": {"tenants": [{**entry, "webhooks": [{"id": "x", "url": url}]}]},
        }
        for what, document in documents.items():
            if what != "base_url" and url.startswith("https://evolution.example"):
                continue  # A query is right for these.
            for path in ("/v1/config?dry_run=true", "/v1/config"):
                status = recado.ask("PUT", path, document, token=token).status
                assert status in (400, 422), f"{what} {url}, {path}: {status}"
            if what == "endpoint":
                same(recado.ask("POST", "/v1/webhooks", {"id": "x", "url": url}, token=token).status // 100, 4, url)
        same(recado.ask("POST", "/v1/instances", {**instance, "base_url": url}, token=token).status, 422, url)
    mail = {"id": "mail", "kind": "smtp", "from": "a@clinic.example", "server": f"smtp://127.0.0.1:{host.port}", "user": "u",
            "credential": own}
    same(recado.ask("PUT", "/v1/config", {"tenants": [{**entry, "email_senders": [mail]}]}, token=token).status, 422)
    page = {"urls": [f"http://127.0.0.1:{host.port}/internal-page"]}
    answer = recado.ask("POST", f"/v1/agents/{tenant.agent}/knowledge/pages", page, token=token)
    same([one["added"] for one in answer.json()["items"]], [None])
    file = {"type": "media", "media": "image", "source": f"http://127.0.0.1:{host.port}/internal-file"}
    media = {"to": f"+{new_number()}", "content": file}
    same(recado.ask("POST", f"/v1/instances/{tenant.instance}/messages", media, token=tenant.token("sender")).status // 100, 4)
    dry = {"instances": [{**tenant.entries["instances"][0], "external_id": f"{tenant.id}-dry", "id": f"{tenant.id}-02"}]}
    seen = len(recado.partners.evolution.received)
    recado.ask("PUT", "/v1/config?dry_run=true", dry, token=token)
    asked = [one.path for one in recado.partners.evolution.received[seen:] if tenant.id in one.path]
    same(asked, [], "a dry run asked the provider")
    same([one.path for one in list(host.received) if "internal" in one.path or "containers" in one.path], [])


@attack("A webhook that a tenant signs itself makes Recado fetch no file of the installation's network", program="guarded",
        needs="process")
def files_of_the_network(recado):
    tenant, number, host = recado.tenant(), new_number(), recado.partners.host
    evolution = recado.partners.evolution.url
    host.answers["internal"] = 200, b"the secret of the network"
    message = {"documentMessage": {"mimetype": "text/plain", "fileName": "a.txt", "url": f"{host.url}/internal/1", "fileLength": "20"}}
    for place in ("message", "data"):
        for url in (f"{host.url}/internal/secret", f"{evolution.replace('127.0.0.1', 'localhost')}/internal/secret",
                    "http://169.254.169.254/latest/meta-data", "file:///etc/passwd"):
            body = bodies.evolution(tenant.instance, number, message)
            (body["data"]["message"] if place == "message" else body["data"])["mediaUrl"] = url
            same(tenant.post(body).status, 200)
    until(lambda: [one for one in tenant.messages(number, role="user")], "the message")
    tenant.write(number, "recebeu?")
    until(lambda: [one for one in tenant.sent(number) if "recebeu" in one.text], "the answer", 90)
    same([one.path for one in list(host.received) if one.path.startswith("/internal")], [])
    for one in tenant.messages(number, role="user"):
        answer = recado.ask("GET", f"/v1/messages/{one['id']}/media")
        assert b"secret of the network" not in answer.body and b"root:" not in answer.body


@attack("Whatever `Host` a request names, webhook URLs lead to this installation", needs="process")
def host_header(recado):
    tenant = recado.tenant()
    for headers in ({"Host": "evil.example"}, {"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"},
                    {"Host": "evil.example", "X-Forwarded-Proto": "https"}):
        for path in (f"/v1/instances/{tenant.instance}/webhook", "/v1/config/webhooks", "/v1/config"):
            answer = recado.ask("GET", path, headers=headers)
            assert "evil.example" not in answer.text(), f"{path} {headers}"


@attack("All files of the data folder are their owner's alone, whatever mask the program was started with", needs="process")
def files_of_the_folder(recado):
    recado.tenant().write(new_number(), "oi")
    for folder, _, names in os.walk(recado.folder / "data"):
        for name in (".", *names):
            with contextlib.suppress(FileNotFoundError):
                mode = stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode)
                same(mode & 0o077, 0, f"{folder}/{name} {mode:o}")


@attack("What an access list refuses is acknowledged, and in no file of the data folder a minute or two later",
        program="own", needs="process", long=True)
def refused_and_not_kept(programs):
    with contextlib.closing(programs.program()) as recado:
        refused, words = new_number(), f"palavras-recusadas-{new_number()}"
        tenant = recado.tenant(instance={"access": {"block": [f"+{refused}"]}})
        for turn in range(3):
            same(tenant.write(refused, f"{words} {turn}").get("events", 0) in (0, 1), True)
        number = new_number()
        tenant.write(number, "quem pode")
        tenant.wait_sent(number)
        same(tenant.conversations(refused), [])

        def find():
            found = []
            for folder, _, names in os.walk(recado.folder / "data"):
                for name in names:
                    with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, name), "rb") as file:
                        if words.encode() in file.read():
                            found.append(name)
            return found

        until(lambda: not find(), "that no file holds the words", 150, 1.0)
        assert find() == [] and tenant.attempts(refused) == []


@attack("The prompts of a tenant, its URLs and its guests are in no entry of the audit that another tenant reads")
def audit_of_another(recado):
    mine, other = recado.tenant(), recado.tenant(agent={"system_prompt": "A secret prompt of another."})
    token = mine.token("admin")
    for query in ("", f"?tenant={other.id}", "?limit=200"):
        answer = recado.ask("GET", f"/v1/audit{query}", token=token)
        assert "secret prompt" not in answer.text() and other.id not in answer.text(), query
    for method in ("PUT", "PATCH", "DELETE", "POST"):
        assert recado.ask(method, "/v1/audit").status in (404, 405), method
