"""What the queues promise: nothing is lost at a crash or an outage, and what comes again changes nothing."""
import concurrent.futures
import threading
import time

from harness.bodies import new_number
from harness.registry import behaviour
from harness.waiting import holds, same, until


def own(case):
    """Runs a case with a program of its own, which it may kill and start again."""
    def run(programs):
        recado = programs.program()
        try:
            case(recado)
        finally:
            recado.close()

    run.__name__, run.__module__ = case.__name__, case.__module__
    return run


@behaviour("0.8", "0.25", "1.14", "1.95", "1.147", "2.1",
           "Killed between the acknowledgement and the reply, nothing is lost, and one reply goes out",
           program="own", needs="process")
@own
def killed_before_the_reply(recado):
    tenant = recado.tenant(instance={"debounce_seconds": 1})
    numbers = [new_number() for _ in range(5)]
    for number in numbers:
        tenant.write(number, "antes da queda")
    recado.kill()
    recado.start()
    body = tenant.body(numbers[0], "depois da queda")
    tenant.post(body)
    tenant.post(body)
    for number in numbers:
        tenant.wait_sent(number)
    for number in numbers:
        tenant.wait_answered(number)
        assert 1 <= len(tenant.sent(number)) <= 2
        said = [text for asked in tenant.asked for _, text in asked.messages if "queda" in text and "Reply to" not in text]
        assert said
    same([one["content"] for one in tenant.messages(numbers[0], role="user")], ["antes da queda", "depois da queda"])
    same([len(tenant.sent(number)) for number in numbers[1:]], [1] * 4)


@behaviour("0.24", "1.29", "4.25", "The same webhook after a restart is still the same event", program="own", needs="process")
@own
def repeated_after_a_restart(recado):
    tenant, number = recado.tenant(), new_number()
    body = tenant.body(number, "uma vez")
    tenant.post(body)
    tenant.wait_sent(number)
    tenant.wait_answered(number)
    same(recado.stop(), 0)
    recado.start()
    same(tenant.post(body).json()["duplicates"], 1)
    tenant.write(number, "outra")
    tenant.wait_sent(number, 2)
    same(len(tenant.messages(number, role="user")), 2)


@behaviour("1.14", "1.91", "4.17", "4.20",
           "Killed in the middle of a send, the message is not sent twice: the provider is asked first",
           program="own", needs="process")
@own
def killed_in_the_middle_of_a_send(recado):
    tenant, number, sending, go_on = recado.tenant(), new_number(), threading.Event(), threading.Event()

    def hold(sent):
        if not sending.is_set():
            tenant.line.stored.append(sent)
            sending.set()
            go_on.wait(30)

    tenant.line.respond = hold
    id = tenant.send(number, "no meio").json()["id"]
    assert sending.wait(30)
    recado.kill()
    go_on.set()
    recado.start()
    tenant.wait_status(id, "sent", 90)
    tenant.send(number, "depois")
    tenant.wait_sent(number, 2)
    same([one.text for one in tenant.attempts(number)], ["no meio", "depois"])


@behaviour("1.1", "1.67", "1.68", "1.93", "1.95",
           "Messages that wait for a connection survive a crash, and go out in order", program="own", needs="process")
@own
def parked_over_a_crash(recado):
    tenant, number = recado.tenant(), new_number()
    tenant.connection("close")
    until(lambda: tenant.health()["evolution_connected"] is False, "that it is not connected")
    words = [f"mensagem {place}" for place in range(8)]
    for text in words:
        same(tenant.send(number, text).status, 202)
    recado.kill()
    recado.start()
    same(tenant.health()["queue_depth"], 8)
    tenant.connection("open")
    tenant.wait_sent(number, 8)
    same([one.text for one in tenant.attempts(number)], words)


@behaviour("1.85", "1.87", "1.145",
           "Asked to stop, the program finishes what was begun and ends; started again, it goes on", program="own", needs="process")
@own
def stopped(recado):
    tenant, number, thinks = recado.tenant(), new_number(), threading.Event()
    tenant.says(lambda asked: thinks.set() or time.sleep(1) or "terminei")
    tenant.write(number, "oi")
    assert thinks.wait(30)
    same(recado.stop(), 0)
    recado.start()
    same(tenant.wait_sent(number).text, "terminei")
    tenant.write(number, "de novo")
    tenant.wait_sent(number, 2)
    same(len(tenant.sent(number)), 2)


@behaviour("1.142", "2.1", "Under a burst of many contacts no message is lost, and each is answered once")
def nothing_is_lost_under_load(recado):
    tenant = recado.tenant(instance={"rate": {"per_second": 100.0, "burst": 100}})
    numbers = [new_number() for _ in range(120)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: tenant.write(number, "Segunda de manhã"), numbers))
    for number in numbers:
        tenant.wait_sent(number, seconds=90)
    same({len(tenant.sent(number)) for number in numbers}, {1})
    same(len(tenant.conversations()), 120)


@behaviour("4.13", "An event that cannot be applied is kept with its body, and the queue goes on")
def the_queue_goes_on(recado):
    tenant, number = recado.tenant(), new_number()
    for odd in ({"audioMessage": 7}, {"extendedTextMessage": {"text": None}}, {"conversation": {"x": []}}, {"a": {"b": 1}}):
        same(tenant.post(tenant.body(new_number(), odd)).status in (200, 400), True)
    tenant.write(number, "e agora?")
    same(tenant.wait_sent(number).text, "Reply to: e agora?")


@behaviour("1.15", "2.25", "2.26", "2.27", "A queue of one tenant that stands still holds no other tenant's up")
def queues_of_tenants(recado):
    stands, goes, number = recado.tenant(), recado.tenant(), new_number()
    stands.connection("close")
    for _ in range(30):
        stands.send(new_number(), "espera")
    goes.write(number, "oi")
    goes.wait_sent(number)
    holds(str(stands.health()), "degraded")
