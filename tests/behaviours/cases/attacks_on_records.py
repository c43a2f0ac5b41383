"""Attacks on what is stored: a damaged row concerns itself alone, and what a process or a wrong clock held is free after a start."""
import contextlib
import json
import threading

from cases.attacks_on_intake import DESCRIPTION
from cases.attacks_on_sends import restore
from cases.delivery import add_guests, deliver, host_of_an_occasion
from harness.bodies import new_number
from harness.folder import DataFolder
from harness.phones import NOT_ON_WHATSAPP
from harness.registry import attack
from harness.waiting import same, until

TWO_DAYS = 2 * 86_400
# Damage of one byte, and of a row that was cut off.
DAMAGES = {"the first byte": lambda text: "!" + text[1:], "a cut": lambda text: text[:len(text) // 2]}


def ordering_agent(recado, **more):
    """A tenant whose agent may order by a tool that acts, and whose endpoint is told of all that happens."""
    tenant, host = recado.tenant(**more), recado.partners.host
    tenant.entries["tools"] = [{"id": f"{tenant.id}-order", "tenant": tenant.id, "name": "order", "description": "Orders.",
                                "effect": "acts", "timeout_seconds": 30,
                                "http": {"method": "POST", "url": f"{host.url}/order-{tenant.id}"}}]
    tenant.apply("agents", tools=[f"{tenant.id}-order"])
    tenant.says(lambda asked: f"Reply to: {asked.last}" if "order" not in asked.last or "<result>" in asked.last else ("order", {}))
    return tenant


def fill(recado):
    """A tenant with a row in nearly each table: returns it once all is stored."""
    tenant = host_of_an_occasion(recado, tenant={"turns_at_once": 1})
    number, other, late = new_number(), new_number(), new_number()
    tenant.entries["tools"] = [{"id": f"{tenant.id}-tool", "tenant": tenant.id, "name": "slots", "description": "Finds slots.",
                                "effect": "reads", "http": {"url": f"{recado.partners.host.url}/slots"}}]
    tenant.apply("agents", tools=[f"{tenant.id}-tool"])
    recado.partners.host.answers[f"gone-{tenant.id}"] = 500, {}
    recado.do("POST", f"/v1/webhooks?tenant={tenant.id}", {"id": "crm", "url": f"{recado.partners.host.url}/gone-{tenant.id}"})
    recado.do("POST", f"/v1/agents/{tenant.agent}/knowledge?title=a.md", "# Prices\n\nA vaccine costs 90.",
              headers={"Content-Type": "text/markdown"})
    tenant.token("viewer")
    tenant.write(number, "oi")
    tenant.write(other, "SAIR")
    for one in (number, other):
        tenant.wait_sent(one)
    add_guests(tenant, {"id": "g1", "phone": f"+{late}"}, {"id": "g2", "phone": f"+{new_number()}"})
    same(deliver(tenant, guestId="g1").status, 202)
    tenant.wait_sent(late)
    same(deliver(tenant, guestIds=["g2"], send_at="2027-01-01T09:00:00-03:00").status, 202)
    same(tenant.send(late, "mais tarde", send_at="2027-01-01T09:00:00-03:00").status, 202)
    recado.do("POST", f"/v1/conversations/{tenant.conversation(number)['id']}/notes", {"text": "uma nota"})
    tenant.connection("close")
    until(lambda: tenant.health()["evolution_connected"] is False, "that it is not connected")
    tenant.send(number, "espera")
    tenant.wait_message(number, lambda one: one["content"] == "espera", "the message that waits")
    return tenant


def find_lists():
    """The described routes that read without the id of anything."""
    described = json.loads(DESCRIPTION.read_text())["paths"]
    left_out = ("/v1/events/stream", "/simulator/outbox", "/v1/checks", "/deliver/export")
    return [path for path, methods in described.items() if "get" in methods and "{" not in path and path.startswith(("/v1/", "/health"))
            and path not in left_out]


@attack("After one row of each table was damaged and the program killed it starts, all lists can be read, other tenants are answered, and "
        "log and metrics tell of it", program="own", needs="process", long=True)
def a_damaged_row_of_each_table(programs):
    with contextlib.closing(programs.program()) as recado:
        sound, number = recado.tenant(), new_number()
        sound.write(number, "antes")
        sound.wait_sent(number)
        thinks, goes_on = threading.Event(), threading.Event()
        recado.partners.host.answers["slots"] = 200, {}
        for turn, (name, how) in enumerate(DAMAGES.items(), 1):
            struck = fill(recado)
            thinks.clear()
            sound.says(lambda asked: (thinks.set(), goes_on.wait(60), "tarde")[2] if "pensa" in asked.last else f"Reply to: {asked.last}")
            thinker = new_number()
            sound.write(thinker, "pensa")
            until(thinks.is_set, "that the model is asked")
            recado.kill()
            with DataFolder(recado) as folder:
                damaged = folder.damage(struck.id, sound.id, how)
            assert len(set(damaged)) >= 25, damaged
            recado.start()
            sound.says("de volta")
            same(sound.wait_sent(thinker, seconds=60).text, "de volta", name)
            sound.write(number, f"depois {turn}")
            sound.wait_sent(number, turn + 1, seconds=60)
            for path in find_lists():
                query = f"?tenant={sound.id}" if path == "/v1/webhooks" else ""
                answer = recado.ask("GET", path + query)
                assert answer.status in (200, 400, 422) or (path.startswith("/health/whatsapp") and answer.status == 503), \
                    f"{name}: GET {path}: {answer.status} {answer.text()[:300]}"
            same(recado.get("/health", token="")["status"], "healthy", name)
            assert recado.lines("cannot be read"), "the log tells nothing"
            page = recado.ask("GET", "/metrics").text()
            told = [line for line in page.splitlines() if line.startswith("recado_records_unreadable_total")]
            assert told and float(told[0].split()[-1]) > 0, told
            # A new tenant can be made and answered, too.
            newcomer, contact = recado.tenant(), new_number()
            newcomer.write(contact, "olá")
            newcomer.wait_sent(contact, seconds=60)
            newcomer.wait_answered(contact)
            recado.do("DELETE", f"/v1/instances/{newcomer.instance}", headers={"If-Match": "*"})
            same(recado.ask("DELETE", f"/v1/tenants/{newcomer.id}?dry_run=true").status, 200)
        goes_on.set()
        # A copy of the damaged folder is made and restored, too.
        done = recado.run("backup", str(recado.folder / "copy"))
        same(done.returncode, 0, done.stderr)
        restore(recado, "copy")
        sound.write(number, "depois da cópia")
        sound.wait_sent(number, len(DAMAGES) + 2, seconds=60)


@attack("A tenant whose entries were damaged works again once its document is applied, also for guests whose records were damaged",
        program="own", needs="process")
def damaged_entries_are_written_anew(programs):
    with contextlib.closing(programs.program()) as recado:
        sound, struck, invited = recado.tenant(), fill(recado), new_number()
        struck.connection("open")
        add_guests(struck, {"id": "g9", "phone": f"+{invited}"})
        same(deliver(struck, guestId="g9").status, 202)
        struck.wait_sent(invited)
        for name, how in DAMAGES.items():
            before, after = new_number(), new_number()
            struck.write(before, "the newest rows are of this contact")
            struck.wait_sent(before)
            recado.kill()
            with DataFolder(recado) as folder:
                folder.damage(struck.id, sound.id, how)
                folder.damage_all("guests", how)
            recado.start()
            struck.apply()
            struck.forget_secret()
            struck.write(after, f"{name}?")
            struck.wait_sent(after, seconds=60)
        struck.write(invited, "confirmo")
        struck.wait_sent(invited, 2, seconds=60)


def lists_of(tenant, batch):
    """The lists of a tenant that need an id."""
    return [f"/v1/occasions/ev_demo/{kind}?tenant={tenant.id}" for kind in ("guests", "invitations")] + [
        f"/deliver/export?tenant={tenant.id}", f"/deliver/export?tenant={tenant.id}&format=csv", f"/deliver/batches?tenant={tenant.id}",
        f"/v1/conversations?instance={tenant.instance}",
        f"/v1/conversations?instance={tenant.instance}&waiting=true", f"/v1/dead-letters?instance={tenant.instance}",
        f"/v1/appointments?tenant={tenant.id}", f"/v1/opt-outs?tenant={tenant.id}", f"/v1/webhooks?tenant={tenant.id}",
        f"/v1/webhooks/crm/failed?tenant={tenant.id}", f"/v1/tokens?tenant={tenant.id}", f"/v1/usage?tenant={tenant.id}",
        f"/v1/trends?tenant={tenant.id}", f"/v1/events?tenant={tenant.id}", f"/v1/audit?tenant={tenant.id}",
        f"/v1/messages/unacknowledged?instance={tenant.instance}", f"/v1/agents/{tenant.agent}/knowledge",
        *([f"/deliver/batches/{batch}/recipients?tenant={tenant.id}"] if batch else [])]


RUN_TIME_TABLES = ("messages", "conversations", "invitations", "deliveries", "guests", "batches", "batch-chunks", "invitation-claims", "events", "parked",
                   "instance_states", "journals", "published_events", "audit", "client-keys", "dead-letters", "endpoints", "opt-outs",
                   "samples", "scheduled-messages", "tokens", "turn-places")


@attack("Whatever table of a tenant is damaged, all lists of the tenant can be read, and its contacts are answered",
        program="own", needs="process", long=True)
def damaged_tables_and_the_lists(programs):
    with contextlib.closing(programs.program()) as recado:
        struck, number, refused, batch = fill(recado), new_number(), new_number(), None
        struck.connection("open")
        struck.line.respond = lambda sent: NOT_ON_WHATSAPP if sent.number == refused else None
        struck.send(refused, "não existe")
        struck.dead_letters(1)
        add_guests(struck, {"id": "g8", "phone": f"+{number}"})
        batch = deliver(struck, guestIds=["g8"]).json()["batch_id"]
        struck.wait_sent(number)
        wrong = []
        for table in RUN_TIME_TABLES:
            recado.kill()
            with DataFolder(recado) as folder:
                folder.damage_all(table, DAMAGES["the first byte"])
            recado.start()
            # A batch that is damaged itself has no list of recipients.
            batch = batch if table != "batches" else None
            for path in lists_of(struck, batch) + find_lists():
                answer = recado.ask("GET", path)
                if answer.status >= 500 and not path.startswith("/health/whatsapp"):
                    wrong.append(f"{table}: GET {path}: {answer.status}")
            contact = new_number()
            struck.write(contact, "oi")
            try:
                struck.wait_sent(contact)
            except AssertionError as error:
                wrong.append(f"{table}: {str(error)[:300]}")
        same(wrong, [])


def hang(event):
    """An answer of a stand-in that comes once the case lets it."""
    def answer(received):
        event.wait(100)
        return 200, {"done": True}

    return answer


def leave_in_the_middle(recado):
    """Tenants that are killed while a turn, an effect, a file and a post are under way; returns them with their contacts."""
    thinks, orders, host = threading.Event(), threading.Event(), recado.partners.host
    ends = threading.Event()
    limited = recado.tenant(tenant={"turns_at_once": 1})
    limited.says(lambda asked: (thinks.set(), ends.wait(100), "tarde")[2])
    acting = ordering_agent(recado)
    host.answers[f"order-{acting.id}"] = lambda received: (orders.set(), hang(ends)(received))[1]
    parked, told = recado.tenant(), recado.tenant()
    host.answers[f"told-{told.id}"] = 500, {}
    recado.do("POST", f"/v1/webhooks?tenant={told.id}", {"id": "crm", "url": f"{host.url}/told-{told.id}", "kinds": ["message.created"]})
    contacts = [new_number() for _ in range(4)]
    limited.write(contacts[0], "pensa")
    acting.write(contacts[1], "please order")
    parked.connection("close")
    until(lambda: parked.health()["evolution_connected"] is False, "that it is not connected")
    parked.send(contacts[2], "espera")
    told.write(contacts[3], "oi")
    told.wait_sent(contacts[3])
    until(lambda: thinks.is_set() and orders.is_set() and host.requests(f"told-{told.id}"), "that all are under way")
    return (limited, acting, parked, told), contacts, ends


def assert_goes_on(recado, tenants, contacts, seconds):
    """What was left in the middle goes on within some seconds, and so does what comes now."""
    (limited, acting, parked, told), host = tenants, recado.partners.host
    limited.says("agora sim")
    host.answers[f"order-{acting.id}"] = 200, {"done": True}
    host.answers[f"told-{told.id}"] = 200, {}
    parked.line.state = "open"
    posted = len(host.requests(f"told-{told.id}"))
    another = new_number()
    limited.write(another, "e eu?")
    acting.write(contacts[1], "hello?")
    same(limited.wait_sent(another, seconds=seconds).text, "agora sim")
    limited.wait_sent(contacts[0], seconds=seconds)
    parked.connection("open")
    same(parked.wait_sent(contacts[2], seconds=seconds).text, "espera")
    # The next pass of each minute tells what became of the effect.
    until(lambda: acting.sent(contacts[1]), "that the contact with an effect is answered", seconds + 60)
    until(lambda: len(host.requests(f"told-{told.id}")) > posted, "that the endpoint is told", seconds)


@attack("What a killed process held is free after the start: the only place for turns, an effect, a closed instance and an endpoint go on",
        program="own", needs="process", long=True)
def killed_in_the_middle(programs):
    with contextlib.closing(programs.program()) as recado:
        tenants, contacts, ends = leave_in_the_middle(recado)
        recado.kill()
        ends.set()
        recado.start()
        # The leases of the process before would hold the tenant's only place for a minute and a half.
        assert_goes_on(recado, tenants, contacts, 60)


@attack("After a clock that ran two days ahead is right again nothing waits for the time at which it was",
        program="own", needs="process", long=True)
def a_clock_that_ran_ahead(programs):
    with contextlib.closing(programs.program()) as recado:
        tenants, contacts, ends = leave_in_the_middle(recado)
        recado.kill()
        ends.set()
        with DataFolder(recado) as folder:
            assert folder.run_ahead(TWO_DAYS) > 20
        recado.start()
        assert recado.lines("was set back"), "the start did not notice the clock"
        assert_goes_on(recado, tenants, contacts, 100)
