"""Running the program: commands, one folder, and what it takes."""
import json
import os
import sqlite3

from harness.bodies import new_number
from harness.phones import NOT_ON_WHATSAPP
from harness.registry import behaviour
from harness.waiting import holds, same, until


@behaviour("0.35", "0.177", "0.178", "1.144", "1.148",
           "`recado dlq` lists, redrives and purges dead letters from the command line", needs="process")
def dead_letters_by_command(recado):
    tenant = recado.tenant()
    tenant.line.respond = lambda sent: NOT_ON_WHATSAPP
    for _ in range(2):
        tenant.send(new_number(), "oi")
    dead = tenant.dead_letters(2)
    listed = recado.run("dlq", "list", "--instance", tenant.instance, "--limit", "10")
    same(listed.returncode, 0)
    holds(listed.stdout, "whatsapp_permanent_error", dead[0]["id"])
    tenant.line.respond = lambda sent: None
    same(recado.run("dlq", "redrive", dead[0]["id"]).returncode, 0)
    until(lambda: len(tenant.dead_letters()) == 1, "one dead letter")
    purged = recado.run("dlq", "purge", "--instance", tenant.instance, "--until", "2099-01-01T00:00:00Z", "--yes")
    same(purged.returncode, 0, purged.stderr)
    until(lambda: not tenant.dead_letters(), "no dead letter")
    holds(str(recado.get(f"/v1/audit?tenant={tenant.id}")["items"]), "dead_letter_deleted")


@behaviour("1.177", "Each alert has its runbook, which the command line prints", needs="process")
def runbooks(recado):
    for kind in ("queue_depth", "disconnected", "dead_letters", "no_heartbeat", "silent_instance", "missing_key", "full_disk",
                 "customer_waits"):
        printed = recado.run("alerts", "runbook", kind)
        same(printed.returncode, 0, kind)
        assert len(printed.stdout) > 300, kind


@behaviour("1.21", "2.37", "Everything is one program and one folder: no other server is needed", needs="process")
def one_folder(recado):
    assert (recado.folder / "data").is_dir()
    assert any(name.endswith(".db") for name in os.listdir(recado.folder / "data")), os.listdir(recado.folder / "data")


@behaviour("1.141", "Two programs of one data folder do not run at once", program="own", needs="process")
def one_program_of_a_folder(programs):
    recado = programs.program()
    try:
        try:
            programs.program({"RECADO_DATA": recado.settings["RECADO_DATA"]}).close()
        except AssertionError as error:
            holds(str(error), "another")
        else:
            raise AssertionError("a second program took the folder")
        same(recado.ask("GET", "/health", token="").status, 200)
    finally:
        recado.close()


@behaviour("1.146",
           "A copy that is made while the program runs is restored into another folder, and goes on where it was; a repeat "
           "changes nothing", program="own", needs="process")
def backup_and_restore(programs):
    recado = programs.program()
    try:
        tenant, number = recado.tenant(), new_number()
        body = tenant.body(number, "antes da cópia")
        tenant.post(body)
        tenant.wait_sent(number)
        tenant.wait_answered(number)
        copy, folder = str(recado.folder / "copy"), str(recado.folder / "restored")
        for command in (("backup", copy), ("restore", "--to", folder, copy)):
            done = recado.run(*command)
            same(done.returncode, 0, done.stderr)
        recado.kill()
        recado.settings["RECADO_DATA"] = folder
        recado.start()
        same([one["content"] for one in tenant.messages(number, role="user")], ["antes da cópia"])
        same(tenant.post(body).json()["duplicates"], 1)
        tenant.write(number, "depois")
        tenant.wait_sent(number, 2)
        same([one.text for one in tenant.sent(number)], ["Reply to: antes da cópia", "Reply to: depois"])
    finally:
        recado.close()


@behaviour("1.28", "When the disk is full `/health` is 503 and says so", program="own", needs="process")
def full_disk(programs):
    recado = programs.program({"RECADO_DISK_MIN_MB": "100000000"})
    try:
        found = until(lambda: (one := recado.ask("GET", "/health", token="")).status == 503 and one, "503").json()
        same(found["status"], "unhealthy")
        holds(json.dumps(found), "disk")
    finally:
        recado.close()


@behaviour("0.37", "1.28", "1.29", "1.57", "1.71", "1.104", "4.26", "4.38", "4.39",
           "While the store takes no writes, webhooks and sends are 503 and `/health` is unhealthy; after it all goes on, and a "
           "repeat counts once", program="own", needs="process")
def store_that_takes_no_writes(programs):
    recado = programs.program({"RECADO_WEBHOOK_DEADLINE_SECONDS": "1"})
    try:
        tenant, number = recado.tenant(), new_number()
        body, locks = tenant.body(number, "tem alguém?"), []
        for path in (recado.folder / "data").glob("*.db"):
            locks.append(sqlite3.connect(path, timeout=30, isolation_level=None))
            locks[-1].execute("BEGIN EXCLUSIVE")
        answer = tenant.post(body)
        same(answer.status, 503)
        assert answer.headers["retry-after"]
        same(tenant.send(number, "oi").status, 503)
        found = until(lambda: (one := recado.ask("GET", "/health", token="")).status == 503 and one, "503", 60).json()
        same((found["status"], found["services"]["store"]), ("unhealthy", "unhealthy"))
        for lock in locks:
            lock.execute("ROLLBACK")
            lock.close()
        until(lambda: tenant.post(body).status == 200, "that the repeat is taken")
        tenant.wait_sent(number)
        until(lambda: recado.ask("GET", "/health", token="").status == 200, "that it is healthy again")
        same([one["content"] for one in tenant.wait_answered(number)], ["tem alguém?"])
    finally:
        recado.close()
