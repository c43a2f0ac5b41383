"""Cases of a disk in trouble: what the program says meanwhile, and that all goes on by itself afterwards."""
import random
import time

from harness.waiting import same, until

import journal
from checks import Known, check_everything
from story import Story, health, number_of, wait_healthy, words_of


def write_in_vain(story, contact, times=1):
    """A contact writes what cannot be stored: the provider is told to come again. It does once the trouble is over (`checks.py`)."""
    body = story.note_writing(contact)
    for _ in range(times):
        answer = story.tenant.post(body)
        assert answer.status == 503 and answer.headers["retry-after"], f"{answer.status} {answer.text()[:300]}"


def wait_unhealthy(recado):
    found = until(lambda: (one := health(recado))[0] == 503 and one[1], "that `/health` is 503", 40)
    same((found["status"], found["services"]["store"]), ("unhealthy", "unhealthy"))
    return found


def full_database(recorded, tenant, story):
    """No room for the database: new events are acknowledged, since their log has room, and wait there."""
    recorded.set_trouble("full recado.db")
    for contact in range(3):
        story.write(contact)
    wait_unhealthy(tenant.recado)
    same(tenant.send(number_of(1), "c-1-900", message_id="c-1-900").status, 503)
    unanswered = [words_of(one.text) for one in tenant.line.stored if words_of(one.text) in ("m-0-2", "m-1-2", "m-2-2")]
    same(unanswered, [], "answered before it was recorded")


def full_database_at_a_start(recorded, tenant, story):
    """A start without room says what is wrong, and changes nothing: what was acknowledged is answered by the next one."""
    recorded.set_trouble("full recado.db")
    for contact in range(3):
        story.write(contact)
    machine = recorded.machine
    machine.kill()
    try:
        machine.start()
    except AssertionError as error:
        assert "Make room on the disk, and start again" in str(error), error
    recorded.set_trouble()
    if machine.process.poll() is None:
        machine.kill()
    machine.start()


def full_log(recorded, tenant, story):
    """No room for new events: each webhook is refused, and `/health` says so although the database has room."""
    recorded.set_trouble("full intake.db")
    write_in_vain(story, 1)
    wait_unhealthy(tenant.recado)
    write_in_vain(story, 1)


def full_folder_of_bodies(recorded, tenant, story):
    """No room for a large body: its webhook is refused, and nothing of it is left."""
    story.write(1)
    recorded.set_trouble("full payloads/")
    write_in_vain(story, 1, times=3)
    same([path.name for path in (recorded.data / "payloads").iterdir()], [])


def failing_syncs(recorded, tenant, story):
    """A disk that does not do its syncs: nothing is acknowledged."""
    recorded.set_trouble("fail intake.db", "fail recado.db")
    write_in_vain(story, 1)
    wait_unhealthy(tenant.recado)
    write_in_vain(story, 2)


def slow_syncs(recorded, tenant, story):
    """A slow disk: acknowledgements wait for it, and none comes before its sync."""
    recorded.set_trouble("slow 400")
    begin = time.monotonic()
    story.write(1)
    assert time.monotonic() - begin >= 0.4, "it was acknowledged before the disk had it"
    story.go_on(1)


def stalled_syncs(recorded, tenant, story):
    """A disk that stands still: webhooks are refused after their deadline, and stored once although they had reached the disk."""
    recorded.set_trouble("slow 6000")
    write_in_vain(story, 1)
    wait_unhealthy(tenant.recado)


CASES = [full_database, full_database_at_a_start, full_log, full_folder_of_bodies, failing_syncs, slow_syncs, stalled_syncs]


def play(case, recorded, tenant, seed):
    """Plays one case: all is well, then it is not, and then everything is answered without a new start."""
    story = Story(tenant, recorded.marks)
    wait_healthy(tenant.recado)
    story.go_on(1)
    story.wait_for_rest()
    case(recorded, tenant, story)
    recorded.set_trouble()
    wait_healthy(tenant.recado)
    known = Known(journal.marks_of(journal.read(recorded.journal)))
    check_everything(tenant.recado, tenant, known, random.Random(seed))
