"""Health, metrics, alerts, trends, and the way of a message through logs and traces."""
import datetime
import re

from harness import bodies
from harness.bodies import new_number
from harness.phones import BUSY, NOT_ON_WHATSAPP
from harness.registry import behaviour
from harness.waiting import holds, moment, same, until


@behaviour("1.25", "1.26", "1.27", "1.165", "`/health` is open to all, with status, timestamp and services")
def health(recado):
    found = recado.get("/health", token="")
    same((found["status"], found["services"]["store"], found["services"]["queue"]), ("healthy", "healthy", "healthy"))
    assert datetime.datetime.fromisoformat(found["timestamp"])


@behaviour("1.8", "1.108", "1.165", "Without a token `/health/whatsapp` shows status and timestamp, and nothing else")
def health_without_a_token(recado):
    same(set(recado.get("/health/whatsapp", token="")), {"status", "timestamp"})


@behaviour("0.172", "0.173", "0.176", "0.177", "1.6", "1.8", "1.56", "1.97", "1.98", "1.99", "1.100", "1.105", "1.106", "1.107",
           "1.108",
           "`/health/whatsapp` shows depth, dead letters and connection of an instance, and the marks of its status")
def health_of_an_instance(recado):
    tenant = recado.tenant()
    found = tenant.health()
    same((found["status"], found["queue_depth"], found["dlq_depth"], found["evolution_connected"], found["instance"]),
         ("healthy", 0, 0, True, tenant.instance))
    same(found["details"], {"queue_high_water_mark": 100, "queue_critical_mark": 1000})


@behaviour("0.174", "0.175", "1.16", "1.101", "1.103", "1.109", "1.110", "1.111", "1.112",
           "More than 100 that wait are `degraded`, more than 1000 `unhealthy` with 503; the details show what waits, and how "
           "long")
def depth(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.connection("close")
    until(lambda: tenant.health()["evolution_connected"] is False, "that it is not connected")
    path = f"/v1/instances/{tenant.instance}/messages"

    def queue(count):
        for place in range(count):
            same(recado.ask("POST", path, {"to": f"+{number}", "text": f"mensagem {place}"}).status, 202)

    queue(101)
    found = until(lambda: (one := tenant.health(detailed=True))["queue_depth"] > 100 and one, "more than 100")
    same(found["status"], "degraded")
    assert {"waiting", "in_flight", "delayed"} <= set(found["queues"]["outbound"]), found["queues"]
    same((found["parked_conversations"], found["attempts"]["0"], found["in_flight"]), (1, found["queue_depth"], 0))
    assert {"rate", "probes", "since", "unknown"} <= set(found["instances"][0])
    assert found["oldest_message_age_seconds"] is not None, found
    queue(900)
    path = f"/health/whatsapp?instance={tenant.instance}"
    answer = until(lambda: (one := recado.ask("GET", path)).status == 503 and one, "503")
    same(answer.json()["status"], "unhealthy")


@behaviour("0.178", "1.114", "`/health/whatsapp/dlq` shows the newest 100 dead letters")
def newest_hundred(recado):
    tenant = recado.tenant()
    tenant.line.respond = lambda sent: NOT_ON_WHATSAPP
    for place in range(102):
        same(tenant.send(new_number(), f"mensagem {place}").status, 202)
    tenant.dead_letters(102, seconds=60)
    page = recado.get(f"/health/whatsapp/dlq?instance={tenant.instance}")
    same((page["dlq_depth"], len(page["messages"])), (102, 100))
    same(len(recado.get(f"/v1/dead-letters?instance={tenant.instance}&limit=10")["items"]), 10)


@behaviour("0.171", "1.124", "1.133", "1.158", "1.161", "1.162", "1.163", "1.164", "2.36",
           "`/metrics` has depth, processed messages, latencies, connection and the time of a webhook, for Prometheus",
           needs="one_machine")
def metrics(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.write(number, "oi")
    tenant.wait_sent(number)
    page = until(lambda: f'whatsapp_messages_processed_total{{instance="{tenant.instance}",status="success"}} 1' in (
        one := recado.ask("GET", "/metrics").text()) and one, "the message in the metrics")
    for name in ("whatsapp_queue_depth", "whatsapp_evolution_connected", "whatsapp_dead_letters"):
        assert re.search(rf'{name}{{instance="{tenant.instance}"}} \d', page), name
    for stage in ("inbound", "turn", "outbound", "reply"):
        holds(page, f'whatsapp_message_latency_seconds_count{{instance="{tenant.instance}",stage="{stage}"}} 1')
    holds(page, 'whatsapp_webhook_acknowledgement_seconds_bucket{provider="evolution"', "whatsapp_queue_messages")
    sound = re.compile(r'(# (HELP|TYPE) \w+ .+|\w+({\w+="[^"]*"(,\w+="[^"]*")*})? [-+.\deInfNa]+)')
    same([line for line in page.splitlines() if line and not sound.fullmatch(line)], [], "lines that Prometheus does not read")
    same(recado.ask("GET", "/metrics", token="").status, 401)


@behaviour("1.124", "`RECADO_METRICS_TOKEN` opens `/metrics` and nothing else", program="quiet", needs="process")
def token_of_the_metrics(recado):
    token = recado.settings["RECADO_METRICS_TOKEN"]
    same(recado.ask("GET", "/metrics", token=token).status, 200)
    same(recado.ask("GET", "/v1/conversations", token=token).status, 401)


@behaviour("0.173", "0.174", "1.138", "Retries and dead letters are counted, by instance and reason", needs="one_machine")
def counted_failures(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.line.respond = lambda sent: BUSY
    tenant.send(number, "oi")
    tenant.dead_letters(1)
    page = until(lambda: f'whatsapp_dead_letters_created_total{{instance="{tenant.instance}"' in (
        one := recado.ask("GET", "/metrics").text()) and one, "the dead letter in the metrics")
    holds(page, f'whatsapp_retries_total{{instance="{tenant.instance}",queue="outbound"}} 4', 'reason="max_retries_exceeded"')


def tell_the_pager(recado):
    """Sets up who is told of alerts, with thresholds that a test reaches."""
    host = recado.partners.host
    host.answers["pager"] = 200, {}
    webhook = {"url": f"{host.url}/pager", "secret": "env:RECADO_ALERT_PAGER"}
    recado.apply({"alerts": {"dead_letters_warning": 1, "dead_letters_critical": 3, "disconnected_warning_minutes": 0,
                             "disconnected_critical_minutes": 1, "depth_warning": 2, "depth_critical": 4, "depth_minutes": 0,
                             "rate_minutes": 0,
                             "destinations": [{"id": "pager", "webhook": webhook}]}})


def told(tenant, kind, state, severity=None):
    """What the pager was told of an alert of the tenant's instance."""
    posts = [one.json() for one in tenant.recado.partners.host.requests("pager")]
    return [one for post in posts for one in post["data"]["alerts"]
            if (one.get("instance_id"), one["kind"], one["state"]) == (tenant.instance, kind, state)
            and severity in (None, one["severity"])]


@behaviour("0.173", "1.151", "1.155", "2.33",
           "An alert is told once to a destination when it begins, with a signature, and once when it is over",
           program="quiet", needs="process", long=True)
def alerts(recado):
    tell_the_pager(recado)
    tenant = recado.tenant()
    tenant.line.respond = lambda sent: NOT_ON_WHATSAPP
    for _ in range(4):
        tenant.send(new_number(), "oi")
    tenant.dead_letters(4)
    # A pass may see two or three first, which is a warning.
    until(lambda: told(tenant, "dead_letters", "firing", "critical"), "the alert", 100)
    assert recado.partners.host.requests("pager")[0].headers["webhook-signature"].startswith("v1,")
    holds(str(recado.get(f"/v1/alerts?tenant={tenant.id}")["items"]), "dead_letters")
    recado.do("DELETE", f"/v1/dead-letters?instance={tenant.instance}")
    until(lambda: told(tenant, "dead_letters", "ended"), "the end of the alert", 100)
    same(len(told(tenant, "dead_letters", "firing", "critical")), 1)


@behaviour("1.149", "1.150", "1.152", "1.153", "1.154",
           "An instance that is not connected, and what waits for it, are told; the heartbeat goes out each minute",
           program="quiet", needs="process", long=True)
def disconnected_alert(recado):
    tell_the_pager(recado)
    tenant = recado.tenant()
    tenant.connection("close")
    until(lambda: tenant.health()["evolution_connected"] is False, "that it is not connected")
    for _ in range(6):
        tenant.send(new_number(), "oi")
    until(lambda: recado.partners.host.requests("heartbeat"), "the heartbeat", 100)
    until(lambda: told(tenant, "queue_depth", "firing", "critical"), "the alert of the depth", 130)
    until(lambda: told(tenant, "disconnected", "firing"), "the alert of the connection", 130)


@behaviour("0.92", "1.155",
           "A model that is overloaded for everybody is told by an alert and by the health; who got the error message waits, and is "
           "answered once it is back", program="quiet", needs="process", long=True)
def overloaded_model(recado):
    # Anthropic says 529, others 503. Both are asked again for a while.
    claude, other = recado.tenant().says(529), recado.tenant(agent={"model": "openai::gpt-4.1"})
    other.model = recado.partners.openai
    other.says(503)
    contacts = {tenant: (new_number(), new_number()) for tenant in (claude, other)}
    for tenant, numbers in contacts.items():
        for number in numbers:
            tenant.write(number, "oi")

    def waiting(tenant):
        items = recado.get(f"/v1/conversations?waiting=true&instance={tenant.instance}")["items"]
        return sorted((one["contact"]["phone"], one["needs_person"]) for one in items)

    def firing(tenant):
        return [one["severity"] for one in recado.get(f"/v1/alerts?tenant={tenant.id}")["items"] if one["kind"] == "model_fails"]

    for tenant, numbers in contacts.items():
        for number in numbers:
            same(tenant.wait_sent(number, seconds=90).text, "Something went wrong here.")
        until(lambda: tenant.health()["status"] == "degraded", "the health")
        same(waiting(tenant), sorted((f"+{number}", "model_failed") for number in numbers))
        assert len(tenant.asked) > len(numbers), "it was not asked again"
    for tenant in contacts:
        same(until(lambda: firing(tenant), "the alert", 130), ["critical"])
    for tenant, (given_back, writes) in contacts.items():
        tenant.says("Bom dia!")
        recado.do("PATCH", f"/v1/conversations/{tenant.conversation(given_back)['id']}", {"mode": "ai"})
        same(tenant.wait_sent(given_back, 2).text, "Bom dia!")
        same([one["needs_person"] for one in tenant.conversations(writes)], ["model_failed"])
        tenant.write(writes, "tem alguém?")
        same(tenant.wait_sent(writes, 2).text, "Bom dia!")
        until(lambda: not waiting(tenant), "that nobody waits")
        until(lambda: tenant.health()["status"] == "healthy", "the health")
    for tenant in contacts:
        until(lambda: not firing(tenant), "the end of the alert", 130)


@behaviour("1.136", "1.137", "1.157", "1.159", "1.160",
           "Trends show depth, dead letters and the uptime of each instance over the last hours", long=True)
def trends(recado):
    tenant = recado.tenant()
    found = until(lambda: (one := recado.get(f"/v1/trends?hours=1&tenant={tenant.id}&step_minutes=30")) and one, "the trends")
    assert {"depth_average", "depth_max", "dead_letters", "dead_letters_added", "dead_letters_per_hour", "points"} <= set(found)
    whole = until(lambda: (one := recado.get("/v1/trends?hours=1"))["instances"] and one, "the first sample", 100)
    assert all("uptime_percent" in one for one in whole["instances"])


@behaviour("0.179", "0.186", "4.9", "4.10", "4.11", "4.12", "4.27", "4.28", "4.30", "4.31", "4.51",
           "A correlation id leads through everything; the trace shows the event with its times and what was enqueued, and the "
           "messages")
def trace(recado):
    tenant, number, id = recado.tenant("meta"), new_number(), f"behaviour-{bodies.new_id().lower()}"
    body = tenant.body(number, "siga-me")
    answer = tenant.post(body, headers={"X-Correlation-Id": id})
    same(answer.headers["x-correlation-id"], id)
    tenant.wait_sent(number)
    found = until(lambda: len((one := recado.get(f"/v1/trace?correlation={id}"))["messages"]) == 2 and one, "the trace")
    event = found["events"][0]
    same((event["state"], event["correlation_id"], event["enqueued_turn"]), ("applied", id, 1))
    times = [moment(event[name]) for name in ("received_at", "started_at", "finished_at")]
    same(times, sorted(times))
    same([one["role"] for one in found["messages"]], ["user", "assistant"])
    same(recado.get(f"/v1/trace?event={event['id']}")["events"][0]["id"], event["id"])
    wamid = body["entry"][0]["changes"][0]["value"]["messages"][0]["id"]
    same(recado.get(f"/v1/trace?provider_message={wamid}&instance={tenant.instance}")["messages"][0]["content"], "siga-me")


@behaviour("0.170", "1.122", "1.123", "4.32", "4.50",
           "Each step of a message has a log line of JSON with its ids, and none holds words, numbers or names", needs="process")
def log_lines(recado):
    tenant, number, id = recado.tenant(), new_number(), f"behaviour-{bodies.new_id().lower()}"
    tenant.write(number, "segredo de estado", name="Fulana de Tal", headers={"X-Correlation-Id": id})
    tenant.wait_sent(number)
    wanted = {"webhook acknowledged", "event processed", "reply committed", "sent"}
    until(lambda: wanted <= {one["message"] for one in recado.lines(id)}, "a line of each step")
    holds(str(recado.lines(id)), tenant.conversation(number)["id"])
    log = recado.log()
    assert not [words for words in ("segredo de estado", "Fulana", number) if words in log]


@behaviour("1.75", "A long wait for a slot of the rate is warned of, with the seconds", needs="process")
def long_wait(recado):
    tenant = recado.tenant(instance={"rate": {"per_second": 0.01, "burst": 1}})
    for _ in range(3):
        tenant.send(new_number(), "oi")
    until(lambda: [one for one in recado.lines("wait_seconds") if tenant.instance in str(one)], "the warning")
