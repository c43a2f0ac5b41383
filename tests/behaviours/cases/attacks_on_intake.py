"""Attacks on what comes in: nothing that was acknowledged is lost or unreadable, and nothing holds up what others send."""
import concurrent.futures
import contextlib
import json
import sqlite3
from pathlib import Path

from harness import bodies
from harness.bodies import new_number
from harness.costly import nest, with_nested
from harness.registry import attack
from harness.waiting import same, until

DESCRIPTION = Path(__file__).resolve().parents[3] / "docs/openapi.json"
PROVIDERS = ("evolution", "meta", "360dialog")


def nested_message(tenant, number, levels, id=None):
    """A webhook of a contact's message whose whole JSON is so many levels deep."""
    body = tenant.body(number, f"fundo {levels}", id=id)
    if tenant.provider == "evolution":
        body["data"]["contextInfo"] = "NESTED"
    else:
        value = body["entry"][0]["changes"][0]["value"] if tenant.provider == "meta" else body
        value["messages"][0]["nested"] = "NESTED"
    return with_nested(body, "NESTED", levels)


def assert_at_work(recado):
    """The installation is healthy, also for those who look at all of it, and nothing that was acknowledged waits."""
    health = until(lambda: (found := recado.get("/health", token="")).get("oldest_unrecorded") is None and found, "no webhook that waits")
    same(health["status"], "healthy")
    for path in ("/health/whatsapp", "/health/whatsapp/detailed"):
        assert recado.ask("GET", path).status in (200, 503), path
        assert recado.ask("GET", path).json().get("instances") is not None, path


@attack("JSON of 64 levels is answered at each provider's route; deeper JSON is a 400, and neither it nor its repeats hold anything up")
def deep_webhooks(recado):
    for provider in PROVIDERS:
        tenant, number = recado.tenant(provider), new_number()
        for levels in (65, 118, 126, 127, 128, 5_000, 100_000):
            body = nested_message(tenant, number, levels)
            same([tenant.post(body).status for _ in range(2)], [400, 400], f"{provider}, {levels} levels")
        body = nested_message(tenant, number, 64)
        same([tenant.post(body).status for _ in range(3)], [200, 200, 200], provider)
        same(tenant.wait_sent(number).text, "Reply to: fundo 64")
        tenant.write(number, "e agora?")
        same(tenant.wait_sent(number, 2).text, "Reply to: e agora?")
        same([one["content"] for one in tenant.messages(number, role="user")], ["fundo 64", "e agora?"])
        same(tenant.dead_letters(), [])
    assert_at_work(recado)


@attack("A quoted message that a contact nested too deeply is refused at each path of a webhook, and 64 levels are read at each")
def quoted_deeply_at_each_path(recado):
    evolution, meta, dialog = (recado.tenant(provider) for provider in PROVIDERS)
    paths = [(evolution, path) for path in ("/webhooks/evolution", f"/webhooks/evolution/{evolution.instance}",
                                            f"/webhooks/evolution/{evolution.instance}/messages-upsert", "/api/webhook/evolution")]
    paths += [(evolution, f"{place}/k/{evolution.secret}") for place in ("/webhooks/evolution", "/api/webhook/evolution")]
    paths += [(meta, path) for path in ("/webhooks/meta", f"/webhooks/meta/{meta.external}", "/webhooks/whatsapp", "/webhook/whatsapp")]
    paths += [(dialog, path) for path in (f"/webhooks/360dialog/{dialog.external}", f"/wa/webhook/{dialog.external}",
                                          f"/deliver/webhook/{dialog.external}")]
    numbers = []
    for tenant, path in paths:
        number = new_number()
        for levels in (65, 127):
            same(tenant.post(nested_message(tenant, number, levels), path).status, 400, f"{path}, {levels}")
        same(tenant.post(nested_message(tenant, number, 64), path).status, 200, path)
        numbers.append((tenant, path, number))
    for tenant, path, number in numbers:
        same(tenant.wait_sent(number).text, "Reply to: fundo 64", path)


def post_again(turns, post):
    """Posts so many times; returns the statuses."""
    return {post(turn) for turn in range(turns)}


@attack("Repeats of one deep webhook beside a flood of failures, by the tenant's own token and secret, stop nobody's intake",
        needs="one_machine")
def repeats_in_a_flood(recado):
    attacker, victim = recado.tenant(), recado.tenant()
    token = attacker.token("manager")
    settings = recado.get("/v1/config/webhooks", token=token)
    assert attacker.secret in json.dumps(settings), "a manager reads its own secret"

    def repeat(turn):
        body = nested_message(attacker, "5511988887777", (64, 127)[turn % 2], id=f"DEEP{turn // 4}{attacker.id.upper()}")
        return attacker.post(body).status

    def fail(turn):
        return attacker.post(bodies.evolution_status(attacker.instance, "5511988887777", f"NONE{turn}", "ERROR")).status

    numbers = [new_number() for _ in range(10)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        attacks = [pool.submit(post_again, 100, attack) for attack in [repeat] * 10 + [fail] * 4]
        for number in numbers:
            victim.write(number, "bom dia")
        statuses = set().union(*(one.result() for one in attacks))
    same(statuses, {200, 400})
    for number in numbers:
        same(victim.wait_sent(number, seconds=60).text, "Reply to: bom dia")
    assert_at_work(recado)


def find_json_routes():
    """Method and path of each described route that takes JSON, with a word in place of each id."""
    described = json.loads(DESCRIPTION.read_text())["paths"]
    return [(method.upper(), path) for path, methods in described.items() for method, route in methods.items()
            if "application/json" in (route.get("requestBody") or {}).get("content", {})]


@attack("JSON that is nested too deeply is refused by every route of the API that takes JSON, and changes nothing")
def deep_bodies_of_the_api(recado):
    routes = find_json_routes()
    assert len(routes) > 40, len(routes)
    for method, path in routes:
        path = "/".join("nobody" if part.startswith("{") else part for part in path.split("/"))
        for levels in (65, 127, 128, 20_000):
            body = f'{{"metadata":{nest(levels - 1)}}}'
            answer = recado.ask(method, path, body, headers={"Content-Type": "application/json", "If-Match": "*"})
            assert 400 <= answer.status < 500, f"{method} {path}, {levels} levels: {answer.status} {answer.text()[:200]}"
    tenant, number = recado.tenant(), new_number()
    path = f"/v1/instances/{tenant.instance}/messages"
    order = f'{{"to":"+{number}","text":"com dados","metadata":{{"a":%s}}}}'
    same(recado.ask("POST", path, order % nest(63), headers={"Content-Type": "application/json"}).status, 400)
    same(recado.ask("POST", path, order % nest(62), headers={"Content-Type": "application/json"}).status, 202)
    same(tenant.wait_sent(number).text, "com dados")
    assert_at_work(recado)


@attack("Of many equal webhooks at once one makes the message, and each is acknowledged, at each provider")
def equal_webhooks_at_once(recado):
    for provider in PROVIDERS:
        tenant, number = recado.tenant(provider), new_number()
        body = tenant.body(number, "uma vez")
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            same(set(pool.map(lambda _, tenant=tenant, body=body: tenant.post(body).status, range(48))), {200}, provider)
        tenant.wait_sent(number)
        same(tenant.post(body).status, 200)
        tenant.write(number, "e outra")
        tenant.wait_sent(number, 2)
        same([one.text for one in tenant.sent(number)], ["Reply to: uma vez", "Reply to: e outra"], provider)


def hold_back(recado):
    """Locks the main database, so that what is acknowledged stays in the log of new events; returns the connection."""
    lock = sqlite3.connect(recado.folder / "data" / "recado.db", timeout=20, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    return lock


@attack("Webhooks that are acknowledged while the database is locked are told by `/health`, survive a kill, and all are answered but one "
        "whose row was damaged: that one is a dead letter of its tenant", program="own", needs="process", long=True)
def damaged_log_of_new_events(programs):
    with contextlib.closing(programs.program()) as recado:
        tenant, victim, numbers = recado.tenant(), recado.tenant(), [new_number() for _ in range(12)]
        for one in (tenant, victim):
            one.write(numbers[0], "antes")
            one.wait_sent(numbers[0])
        lock = hold_back(recado)
        for place, number in enumerate(numbers):
            (tenant if place % 2 else victim).write(number, f"mensagem {place}")
        until(lambda: recado.ask("GET", "/health", token="").json().get("oldest_unrecorded"), "that health tells what waits")
        recado.kill()
        lock.execute("ROLLBACK")
        lock.close()
        log = sqlite3.connect(recado.folder / "data" / "intake.db", isolation_level=None)
        spoil = "UPDATE intake SET body = '!' || substr(body, 2) WHERE instr(body, ?) > 0"
        same(log.execute(spoil, (numbers[1],)).rowcount, 1, "rows that were damaged")
        log.close()
        recado.start()
        for place, number in enumerate(numbers):
            if place != 1:  # The damaged one.
                (tenant if place % 2 else victim).wait_sent(number, seconds=60)
        letters = until(lambda: recado.get(f"/v1/dead-letters?limit=50")["items"], "the dead letter of the damaged event", 100)
        same(len(letters), 1)
        until(lambda: recado.get("/health", token="").get("oldest_unrecorded") is None, "nothing that waits")
        # Evolution sends it once more: then it is answered, as if it had come for the first time.
        tenant.write(numbers[1], "de novo")
        tenant.wait_sent(numbers[1])


@attack("A large webhook whose body was damaged in its file is given up alone, is told as a dead letter, and its repeats are acknowledged",
        program="own", needs="process")
def damaged_body_of_an_event(programs):
    with contextlib.closing(programs.program()) as recado:
        tenant, numbers = recado.tenant(), [new_number() for _ in range(3)]
        tenant.write(numbers[0], "antes")
        tenant.wait_sent(numbers[0])
        lock, large = hold_back(recado), tenant.body(numbers[1], "palavra " * 40_000)
        same(tenant.post(large).status, 200)
        tenant.write(numbers[2], "pequena")
        recado.kill()
        lock.execute("ROLLBACK")
        lock.close()
        bodies_of_events = list((recado.folder / "data" / "payloads").iterdir())
        same(len(bodies_of_events), 1)
        bodies_of_events[0].write_bytes(b"!" + bodies_of_events[0].read_bytes()[1:])
        recado.start()
        tenant.wait_sent(numbers[2])
        same([one["reason"] for one in tenant.dead_letters(1)], ["poison"])
        same(tenant.post(large).json()["duplicates"], 1)
        tenant.write(numbers[1], "e agora?")
        tenant.wait_sent(numbers[1])
        assert_at_work(recado)
