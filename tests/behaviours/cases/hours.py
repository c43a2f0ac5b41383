"""Opening hours: outside them messages are stored, and answered at the next opening."""
import datetime
import time
import zoneinfo

from harness.bodies import new_number
from harness.registry import behaviour
from harness.waiting import holds, same, until

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ZONE = zoneinfo.ZoneInfo("America/Sao_Paulo")


def closed(**more):
    """Hours of which none is now, nor in the next hours."""
    return {"mon": ["10:00-10:01"], "exceptions": [{"from": on(-1), "to": on(300), "closed": True}], **more}


def on(days):
    return (datetime.datetime.now(ZONE) + datetime.timedelta(days=days)).strftime("%Y-%m-%d")


def always(**more):
    return {**{day: ["00:00-24:00"] for day in DAYS}, **more}


def opening_at_the_next_minute(zone):
    """Hours that open at the next full minute that is at least 15 seconds away, and when that is, in monotonic seconds."""
    now = datetime.datetime.now(zone)
    at = (now + datetime.timedelta(seconds=75)).replace(second=0, microsecond=0)
    span = f"{at:%H:%M}-{at + datetime.timedelta(minutes=30):%H:%M}"
    if at.hour == 23:
        span = f"{at:%H:%M}-24:00"
    return {day: [span] for day in DAYS}, time.monotonic() + (at - now).total_seconds()


@behaviour("0.106", "0.134", "0.136",
           "Outside the opening hours a message is stored, nobody is asked, and its answer waits for the opening")
def closed_now(recado):
    tenant, number = recado.tenant(instance={"opening_hours": closed()}), new_number()
    tenant.write(number, "abrem quando?")
    same(tenant.wait_waiting(number, "abrem quando?")["reason"], "out_of_hours")
    same((tenant.asked, tenant.attempts(number)), ([], []))


@behaviour("0.106", "Within the opening hours a message is answered at once")
def open_now(recado):
    tenant, number = recado.tenant(instance={"opening_hours": always()}), new_number()
    tenant.write(number, "oi")
    tenant.wait_sent(number)
    holds(tenant.asked[0].system, "open now")


@behaviour("0.136", "With a `closed_message` the contact is told once that it is closed, and the question stays owed")
def closed_message(recado):
    tenant, number = recado.tenant(instance={"opening_hours": closed(closed_message="Estamos fechados.")}), new_number()
    tenant.write(number, "oi")
    same(tenant.wait_sent(number).text, "Estamos fechados.")
    tenant.write(number, "tem alguém?")
    tenant.wait_waiting(number, "tem alguém?")
    same(len(tenant.sent(number)), 1)


@behaviour("0.135", "0.137", "0.138", "0.139", "0.140", "0.142", "0.143", "0.144", "0.145", "0.146", "0.147", "0.148", "0.151",
           "0.152", "0.153",
           "At the opening by the tenant's clock what waited is answered with one signed reply; what a person has or what was "
           "resolved is left alone", long=True)
def answered_at_the_opening(recado):
    hours, opening = opening_at_the_next_minute(ZONE)
    tenant = recado.tenant(agent={"signature": {"text": "*Ana*", "position": "end_new_line"}, "decisions": ["hand_over"]})
    number, manual, resolved, decided = (new_number() for _ in range(4))
    tenant.write(number, "antes de fechar")
    tenant.wait_sent(number)
    tenant.wait_answered(number)
    leaves = "hand_over", {"reason": "asked for it", "message": "Já chamo alguém."}
    tenant.says(lambda asked: leaves if "pessoa" in asked.last else "Bom dia!")
    tenant.apply("instances", opening_hours={**hours, "replies_per_minute": 600})
    for one, text in ((number, "cedo"), (number, "mais uma coisa"), (manual, "cedo"), (resolved, "cedo"),
                      (decided, "quero uma pessoa")):
        tenant.write(one, text)
        tenant.wait_waiting(one, text)
    recado.do("PATCH", f"/v1/conversations/{tenant.conversation(manual)['id']}", {"mode": "manual"})
    recado.do("PATCH", f"/v1/conversations/{tenant.conversation(resolved)['id']}", {"status": "resolved"})
    sent = tenant.wait_sent(number, 2, seconds=100)
    assert sent.at >= opening - 0.5, f"it was answered {opening - sent.at:.1f} s before the opening"
    same(sent.text, "Bom dia!\n*Ana*")
    same(tenant.wait_sent(decided).text, "Já chamo alguém.\n*Ana*")
    until(lambda: tenant.conversation(decided)["needs_person"] == "handed_over", "the hand-over")
    answered = tenant.wait_answered(number)
    same([one["answer"]["state"] for one in answered], ["answered"] * 3)
    asked = next(one for one in tenant.asked if "mais uma coisa" in one)
    holds(asked.text, "cedo", "mais uma coisa", "Reply to: antes de fechar")
    assert "*Ana*" not in asked, asked.text
    reply = tenant.messages(number, role="assistant")[-1]
    same((reply["content"], reply["input_tokens"]), ("Bom dia!", 12))
    same((tenant.attempts(manual), tenant.attempts(resolved)), ([], []))


@behaviour("0.142", "0.151",
           "What contacts write in one burst while it is closed is answered at the opening, with one reply", long=True)
def burst_before_the_opening(recado):
    tenant, numbers = recado.tenant(), [new_number() for _ in range(8)]
    for number in numbers:
        tenant.write(number, "boa noite")
        tenant.wait_sent(number)
        tenant.wait_answered(number)
    hours, _ = opening_at_the_next_minute(ZONE)
    tenant.apply("instances", opening_hours={**hours, "replies_per_minute": 600})
    for number in numbers:
        for text in ("mais uma coisa", "e outra"):
            tenant.write(number, text)
    for number in numbers:
        tenant.wait_sent(number, 2, seconds=100)
        tenant.wait_answered(number)
        same(len(tenant.sent(number)), 2)


@behaviour("0.141",
           "At the opening the hours are looked at again: if they changed meanwhile, the answer waits for the next opening",
           long=True)
def hours_that_changed(recado):
    hours, opening = opening_at_the_next_minute(ZONE)
    tenant, number, later = recado.tenant(instance={"opening_hours": hours}), new_number(), new_number()
    tenant.write(number, "oi")
    tenant.wait_waiting(number, "oi")
    tenant.apply("instances", opening_hours=closed())
    # Another instance, whose hours stay, is answered at the same minute or later.
    other = recado.tenant(instance={"opening_hours": hours})
    other.write(later, "oi")
    sent = other.wait_sent(later, seconds=100)
    assert sent.at >= opening - 0.5
    same(tenant.messages(number, role="user")[0]["answer"]["state"], "waiting")
    tenant.apply("instances", opening_hours=always())
    tenant.write(number, "agora?")
    tenant.wait_sent(number)
    same((len(tenant.asked), tenant.asked[0].last.splitlines()[-2:]), (1, ["oi", "agora?"]))


@behaviour("0.138", "Hours are read in the tenant's time zone, or in the instance's own")
def time_zone(recado):
    # A zone where it is about noon now, and one that is six hours away from it.
    west = datetime.datetime.now(datetime.timezone.utc).hour - 12
    zone, other = (f"Etc/GMT{hours:+d}" for hours in (west, west + 6 if west <= 6 else west - 6))
    hours = {day: ["11:00-14:00"] for day in DAYS}
    inside = recado.tenant(tenant={"time_zone": zone}, instance={"opening_hours": hours})
    outside = recado.tenant(tenant={"time_zone": zone}, instance={"opening_hours": {**hours, "time_zone": other}})
    number = new_number()
    inside.write(number, "oi")
    outside.write(number, "oi")
    inside.wait_sent(number)
    same(outside.wait_waiting(number, "oi")["reason"], "out_of_hours")
