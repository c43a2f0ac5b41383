"""Names of settings, those of earlier programs too, and what they change."""
import threading
import time

from cases import WITHOUT_EFFECT
from cases.delivery import deliver, host_of_an_occasion, status_of
from harness.bodies import new_number
from harness.phones import BUSY
from harness.registry import behaviour
from harness.waiting import holds, same, until


def waits(attempts):
    return [later.at - earlier.at for earlier, later in zip(attempts, attempts[1:])]


@behaviour("1.33", "1.34", "1.60", "1.169", "1.170",
           "`WA_MAX_DELIVERIES`, `WA_BASE_BACKOFF` and `WA_MAX_BACKOFF` say how often and after how long a send is tried again",
           program="earlier_names")
def attempts_and_backoff(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.line.respond = lambda sent: BUSY
    tenant.send(number, "oi")
    dead = tenant.dead_letters(1)[0]
    same((dead["reason"], len(tenant.attempts(number))), ("max_retries_exceeded", 3))
    # 0.4 and 0.8 seconds, a half shorter or longer.
    first, second = waits(tenant.attempts(number))
    assert first >= 0.19 and second >= 0.39, (first, second)


@behaviour("1.36", "1.37", "1.143", "1.172", "1.173",
           "`WA_TOKENS_PER_SECOND` and `WA_BUCKET_CAPACITY` are the rate of an instance without its own", program="earlier_names")
def rate(recado):
    tenant, numbers = recado.tenant(instance={"rate": None}), [new_number() for _ in range(8)]
    shown = tenant.health(detailed=True)["instances"][0]["rate"]
    same((shown["per_second"], shown["burst"]), (4.0, 2))
    for number in numbers:
        tenant.send(number, "oi")
    for number in numbers:
        tenant.wait_sent(number)
    times = sorted(tenant.sent(number)[0].at for number in numbers)
    assert times[-1] - times[0] >= 1.3, times


@behaviour("1.38", "1.174",
           "`WA_EVOLUTION_HTTP_TIMEOUT` is the longest time for a send; after it its outcome is unknown, and not sent again at "
           "once", program="earlier_names")
def provider_timeout(recado):
    tenant, number, go_on, calls = recado.tenant(), new_number(), threading.Event(), []

    def hold(sent):
        if not calls:
            calls.append(sent)
            go_on.wait(15)

    tenant.line.respond = hold
    id = tenant.send(number, "devagar").json()["id"]
    # The usual time-out is longer than the provider holds the request.
    until(lambda: "unknown" in str(recado.get(f"/v1/messages/{id}")["way"]), "that its outcome is unknown", 14)
    go_on.set()
    tenant.wait_status(id, "sent", 60)


@behaviour("3.74", "3.75",
           "`WA_API_BASE` and `WA_API_TOKEN` are 360dialog's base URL and the number's key", program="earlier_names")
def base_and_key_of_360dialog(recado):
    tenant, number = recado.tenant("360dialog"), new_number()
    tenant.write(number, "oi")
    same(tenant.wait_sent(number).headers["d360-api-key"], "key-of-the-service-before")


@behaviour("3.42", "3.81",
           "`DELIVERY_DEDUPE_WINDOW_MIN` is the time within which a template goes to a guest once; 0 sends each request",
           program="earlier_names")
def window_of_duplicates(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    same([deliver(tenant, phone=f"+{number}").status for _ in range(2)], [202, 202])
    tenant.wait_sent(number, 2)


@behaviour("0.12", "0.13", "0.14", "1.21", "1.22", "1.32", "1.86", "1.166", "1.167", "1.168", "1.175", "3.25", "3.26", "3.47",
           "3.48", "3.65", "3.77", "3.80", "3.82",
           "Names of settings that have no effect here are told at the start, each with the reason",
           program="earlier_names", needs="process")
def names_without_effect(recado):
    said = recado.log()
    holds(said, *WITHOUT_EFFECT)
    same(recado.ask("GET", "/health", token="").status, 200)


@behaviour("3.33", "3.78", "3.79",
           "`DELIVERY_MAX_RETRIES` and `DELIVERY_BACKOFF_SEQUENCE_MS` say how often and after how long a delivery is tried again",
           program="own", needs="process")
def retries_of_a_delivery_service(programs):
    settings = {"DELIVERY_MAX_RETRIES": "3", "DELIVERY_BACKOFF_SEQUENCE_MS": "300,700"}
    recado = programs.program(settings, ("RECADO_OUTBOUND_BACKOFF", "RECADO_INBOUND_BACKOFF"))
    try:
        tenant, number = host_of_an_occasion(recado), new_number()
        tenant.line.respond = lambda sent: BUSY
        id = deliver(tenant, phone=f"+{number}").json()["id"]
        status_of(tenant, id, "failed")
        first, second = waits(tenant.attempts(number))
        assert 0.29 <= first and 0.69 <= second, (first, second)
    finally:
        recado.close()


@behaviour("3.28", "3.29",
           "A delivery that is refused for the moment is tried after 1, 5, 20 and 60 seconds, and then given up",
           program="quiet", long=True)
def usual_waits_of_a_delivery(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    tenant.line.respond = lambda sent: BUSY
    id = deliver(tenant, phone=f"+{number}").json()["id"]
    until(lambda: len(tenant.attempts(number)) == 5, "five attempts", 140)
    found = waits(tenant.attempts(number))
    assert all(wait >= least - 0.1 for wait, least in zip(found, (1, 5, 20, 60))), found
    status_of(tenant, id, "failed")
    same(len(tenant.attempts(number)), 5)


@behaviour("3.76",
           "Without keys, and with `RECADO_SIMULATION=auto`, sends are simulated and say so", program="simulated", needs="process")
def simulated(recado):
    tenant, number = host_of_an_occasion(recado), new_number()
    found = status_of(tenant, deliver(tenant, phone=f"+{number}").json()["id"], "sent")
    same(found["simulated"], True)
    outbox = recado.get("/simulator/outbox")["items"]
    holds(str([one for one in outbox if number in str(one)]), "Open day")
    same(tenant.attempts(number), [])


@behaviour("1.30", "1.31", "1.80",
           "Without `EVOLUTION_API_KEY` replies wait, and what is missing is told", program="own", needs="process")
def missing_key(programs):
    recado = programs.program(without=("EVOLUTION_API_KEY",))
    try:
        tenant, number = recado.tenant(), new_number()
        tenant.write(number, "oi")
        waits = tenant.wait_message(number, lambda one: one["answer"]["reason"] == "instance_key", "that it waits for the key", "user")
        same((waits["answer"]["state"], tenant.attempts(number)), ("waiting", []))
    finally:
        recado.close()


@behaviour("1.33", "1.171",
           "Settings that cannot be used end the start, and all of them are named at once", program="own", needs="process")
def wrong_settings(programs):
    try:
        programs.program({"RECADO_OUTBOUND_ATTEMPTS": "many", "RECADO_RATE_PER_SECOND": "-1"})
    except AssertionError as error:
        holds(str(error), "RECADO_OUTBOUND_ATTEMPTS", "RECADO_RATE_PER_SECOND")
    else:
        raise AssertionError("the program started")


@behaviour("1.35", "1.171", "`WA_MAX_BACKOFF` is the longest wait, whatever the base is", program="own", needs="process")
def longest_wait(programs):
    recado = programs.program({"WA_BASE_BACKOFF": "1", "WA_MAX_BACKOFF": "1"}, ("RECADO_OUTBOUND_BACKOFF",))
    try:
        tenant, number = recado.tenant(), new_number()
        tenant.line.fail(4, BUSY)
        tenant.send(number, "oi")
        tenant.wait_sent(number)
        # Without the cap the fourth wait would be eight seconds, a half shorter or longer.
        found = waits(tenant.attempts(number))
        assert len(found) == 4 and all(0.49 <= wait < 3.9 for wait in found), found
    finally:
        recado.close()


@behaviour("1.20", "1.62",
           "After `RECADO_CONNECTION_STALE_SECONDS` the connection is asked for before a send, and nothing is sent while it is "
           "closed", program="own", needs="process")
def connection_is_asked_for_before_a_send(programs):
    recado = programs.program({"RECADO_CONNECTION_STALE_SECONDS": "1"})
    try:
        tenant, number = recado.tenant(), new_number()
        tenant.send(number, "aberta")
        tenant.wait_sent(number)
        tenant.line.state = "close"
        time.sleep(1.2)  # What is known of the connection has to become older than a second.
        tenant.send(number, "fechada")
        until(lambda: tenant.health()["evolution_connected"] is False, "that it is not connected")
        same(len(tenant.attempts(number)), 1)
        tenant.connection("open")
        same(tenant.wait_sent(number, 2).text, "fechada")
    finally:
        recado.close()


@behaviour("0.36", "3.33", "4.57", "4.58",
           "`RECADO_OUTBOUND_BACKOFF` is a sequence of seconds or an exponential wait, and no wait above 600 seconds can be set",
           program="own", needs="process")
def backoff_setting(programs):
    recado = programs.program({"RECADO_OUTBOUND_BACKOFF": "exponential:base=0.5,cap=5,jitter=0"})
    try:
        tenant, number = recado.tenant(), new_number()
        tenant.line.fail(2, BUSY)
        tenant.send(number, "oi")
        tenant.wait_sent(number)
        first, second = waits(tenant.attempts(number))
        assert 0.49 <= first and 0.99 <= second, (first, second)
    finally:
        recado.close()
    try:
        programs.program({"RECADO_OUTBOUND_BACKOFF": "1,700"}).close()
    except AssertionError as error:
        holds(str(error), "RECADO_OUTBOUND_BACKOFF")
    else:
        raise AssertionError("a wait of 700 seconds was taken")
