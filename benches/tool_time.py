#!/usr/bin/env python3
"""Measures how soon a question is answered where the agent reads a calendar, and how a flood of one tenant moves the others' replies.

    benches/tool_time.py                                     both, with target/release/recado
    benches/tool_time.py questions --rate 2 --seconds 60     the first alone
    benches/tool_time.py tenants --flood 200                 the second alone

First: every message is a complete question of a contact of its own. The model is asked twice, 0.4 to 1.0 s each, and the calendar once,
0.1 to 0.3 s; both are stand-ins on this machine. Second: four tenants get a question a second each, first alone, then while a fifth
gets many. The times are those of the records: from the webhook's arrival until the provider has accepted the reply. Prints Markdown.
Run it on a machine that does nothing else."""

import argparse
import asyncio
import http.client
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True

import embedded
import engine
import evolution
import stand_ins
import table
import turn_time
from processes import MeasurementError, end, eventually

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("questions", "tenants")
MODEL_SECONDS = (0.4, 1.0)
CALENDAR_SECONDS = (0.1, 0.3)
ANSWERED_SECONDS_MAX = 120
SHARES = (0.5, 0.9, 0.95, 0.99)
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
CREDENTIAL = "RECADO_CREDENTIAL_MEASURED_CALENDAR"
PROVIDER_CREDENTIAL = "RECADO_CREDENTIAL_MEASURED_EVOLUTION"
ANSWERS = """SELECT questions.conversation, events.body, replies.body FROM messages AS questions
    JOIN events ON events.id = json_extract(questions.body, '$.event')
    JOIN messages AS replies ON replies.conversation = questions.conversation AND replies.ordinal = 2
    WHERE questions.ordinal = 1"""


def main():
    parser = argparse.ArgumentParser(description="Measures replies of agents with tools, and of tenants beside a flood.")
    parser.add_argument("parts", nargs="*", help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--recado", type=Path, default=ROOT / "target" / "release" / "recado")
    parser.add_argument("--rate", type=float, default=2, help="questions a second")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--flood", type=int, default=100, help="messages a second of the fifth tenant")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    (ROOT / "target").mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="tool-time-", dir=ROOT / "target"))
    try:
        engine.print_facts(scratch)
        for part in arguments.parts or PARTS:
            rows = questions(arguments, scratch) if part == "questions" else tenants(arguments, scratch)
            print(f"\n{table.table(*rows)}", flush=True)
    except MeasurementError as error:
        sys.exit(f"tool_time: {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class Outside(stand_ins.Server):
    """The model and the calendar, of which each takes a random time, and a provider that answers at once."""

    def __init__(self):
        super().__init__()
        self.model_calls = 0
        self.calendar_calls = 0
        self.sends = 0

    async def answer(self, method, path, headers, body):
        if path.endswith("/token"):
            answer = {"access_token": "token", "expires_in": 3600, "token_type": "Bearer"}
        elif path.endswith("/freeBusy"):
            self.calendar_calls += 1
            await asyncio.sleep(random.uniform(*CALENDAR_SECONDS))
            asked = json.loads(body)
            answer = {"kind": "calendar#freeBusy", "timeMin": asked["timeMin"], "timeMax": asked["timeMax"],
                      "calendars": {item["id"]: {"busy": []} for item in asked["items"]}}
        elif "/message/sendText/" in path:
            self.sends += 1
            answer = {"key": {"id": f"3EB1{self.sends:016X}"}, "status": "PENDING"}
        elif "/instance/connectionState/" in path:
            answer = {"instance": {"instanceName": path.rsplit("/", 1)[1], "state": "open"}}
        elif path.endswith("/messages"):
            self.model_calls += 1
            await asyncio.sleep(random.uniform(*MODEL_SECONDS))
            answer = model_answer(json.loads(body))
        else:
            return 404, {}, b"{}"
        return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()


def model_answer(asked):
    """First the call of the calendar, then the reply."""
    has_read = any(part.get("type") == "tool_result" for message in asked["messages"]
                   for part in message["content"] if isinstance(part, dict))
    call = {"type": "tool_use", "id": "toolu_1", "name": "agenda_free_slots", "input": {}}
    content = {"type": "text", "text": "Amanhã às dez está livre."} if has_read else call
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "content": [content],
            "stop_reason": "end_turn" if has_read else "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10}}


def run_beside(server):
    """Runs the server in a thread of its own. Returns its port, and a function that ends it."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    port = asyncio.run_coroutine_threadsafe(server.listen(), loop).result()

    def stop():
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)

    return port, stop


def configuration(tenants, provider):
    """One agent and one instance for each tenant: with a calendar and at the provider of this port, or simulated."""
    parts = []
    for tenant in tenants:
        tools = base = ""
        if provider:
            base = f'base_url = "http://127.0.0.1:{provider}"\ncredential = "env:{PROVIDER_CREDENTIAL}"\n'
            hours = ", ".join(f'{day} = ["00:00-24:00"]' for day in DAYS)
            parts.append(
                f'[[calendars]]\nid = "agenda"\ntenant = "{tenant}"\nminutes = [30]\n'
                f'google = {{ calendar_id = "agenda@measured.example", credential = "env:{CREDENTIAL}" }}\n'
                f"[calendars.rules]\ngrid_minutes = 30\nhours = {{ {hours} }}\n"
                f'[[tools]]\nid = "agenda"\ntenant = "{tenant}"\ndescription = "The agenda."\neffect = "reads"\ncalendar = "agenda"\n'
            )
            tools = 'tools = ["agenda"]\n'
        parts.append(
            f'[[tenants]]\nid = "{tenant}"\ntime_zone = "America/Sao_Paulo"\n'
            f'[[agents]]\nid = "ana-{tenant}"\ntenant = "{tenant}"\nmodel = "claude-sonnet-4-5"\nsystem_prompt = "You answer briefly."\n'
            f"{tools}limits = {{ turns_per_hour = 0, end_loops = false }}\n"
            f'[[instances]]\nid = "{tenant}"\ntenant = "{tenant}"\nagent = "ana-{tenant}"\nprovider = "evolution"\n'
            f"{base}rate = {{ per_second = 1000, burst = 100000 }}\n"
        )
    return "\n".join(parts)


class Installation:
    """`recado serve` with a data folder of its own."""

    def __init__(self, binary, scratch, tenants, settings, provider=None):
        self.folder = Path(tempfile.mkdtemp(prefix="serve-", dir=scratch))
        log_path = self.folder / "recado.log"
        document = self.folder / "recado.toml"
        document.write_text(configuration(tenants, provider))
        variables = {
            "RECADO_ADDR": "127.0.0.1:0",
            "RECADO_DATA": str(self.folder / "data"),
            "RECADO_CONFIG": str(document),
            "RECADO_WEBHOOK_SECRET": evolution.MASTER,
            "RECADO_TOKEN": "token-of-the-measurements-of-recado",
            "RECADO_SIMULATION": "auto",
        } | settings
        with open(log_path, "wb") as log:
            command = [str(Path(binary).resolve()), "serve"]
            self.process = subprocess.Popen(command, env=variables, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        self.port = embedded.port_of(self.process, log_path)

    def post(self, instance, first, rate, seconds):
        """Posts questions of contacts of their own at a steady rate."""
        secret = evolution.webhook_secret(f"127.0.0.1:{self.port}", instance)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Content-Type": "application/json", "apikey": secret}
        began = time.monotonic()
        count = int(rate * seconds)
        for number in range(count):
            time.sleep(max(0, began + number / rate - time.monotonic()))
            body = json.loads(evolution.text_message(first + number, engine.OF_THEIR_OWN, "Vocês têm horário livre amanhã?"))
            body["instance"] = instance
            connection.request("POST", "/webhooks/evolution", json.dumps(body), headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise MeasurementError(f"a webhook was answered {answer.status}")
        connection.close()
        return count

    def times(self):
        """How long each question waited for its reply, in milliseconds, by instance, ascending."""
        database = sqlite3.connect(f"file:{self.folder / 'data' / 'recado.db'}?mode=ro", uri=True, timeout=30)
        found = {}
        try:
            for _, event, reply in database.execute(ANSWERS):
                if (milliseconds := turn_time.reply_time(event, reply)) is not None:
                    found.setdefault(json.loads(reply)["instance"], []).append(milliseconds)
        finally:
            database.close()
        return {instance: sorted(times) for instance, times in found.items()}

    def wait_for(self, instances, count):
        answered = lambda: sum(len(times) for instance, times in self.times().items() if instance in instances)
        if not eventually(lambda: answered() >= count, ANSWERED_SECONDS_MAX, 1):
            raise MeasurementError(f"of {count} questions, {answered()} were answered after {ANSWERED_SECONDS_MAX} s")

    def end(self):
        end(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)


def questions(arguments, scratch):
    outside = Outside()
    port, stop = run_beside(outside)
    settings = {
        "ANTHROPIC_API_KEY": "key",
        PROVIDER_CREDENTIAL: "key",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "GOOGLE_CALENDAR_BASE_URL": f"http://127.0.0.1:{port}/calendar/v3",
        "GOOGLE_TOKEN_URL": f"http://127.0.0.1:{port}/token",
        CREDENTIAL: json.dumps({"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}),
    }
    installation = Installation(arguments.recado, scratch, ["measured"], settings, provider=port)
    try:
        count = installation.post("measured", 0, arguments.rate, arguments.seconds)
        installation.wait_for({"measured"}, count)
        times = installation.times()["measured"]
    finally:
        installation.end()
        stop()
    if outside.model_calls < 2 * count or outside.calendar_calls < count:
        raise MeasurementError(f"{outside.model_calls} calls of the model and {outside.calendar_calls} of the calendar for {count} questions")
    soon = sum(time <= turn_time.SOON_MS for time in times) / len(times)
    heading = ["questions with one reading tool", *(f"p{share * 100:.0f}, s" for share in SHARES), "most, s", "within 3 s"]
    return heading, [[str(len(times)), *(f"{turn_time.percentile(times, share) / 1000:.2f}" for share in SHARES), f"{times[-1] / 1000:.2f}", f"{soon:.1%}"]]


def tenants(arguments, scratch):
    quiet = [f"quiet-{number}" for number in range(1, 5)]
    rows = []
    for flood in (0, arguments.flood):
        settings = {"RECADO_SIMULATED_LATENCY_MS": "600"}
        installation = Installation(arguments.recado, scratch, [*quiet, "loud"], settings)
        try:
            posts = [(instance, number * 1_000_000, 1) for number, instance in enumerate(quiet)]
            if flood:
                posts.append(("loud", 50_000_000, flood))
            threads = [threading.Thread(target=installation.post, args=(*post, arguments.seconds)) for post in posts]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            installation.wait_for(set(quiet), len(quiet) * arguments.seconds)
            times = sorted(time for instance in quiet for time in installation.times()[instance])
        finally:
            installation.end()
        rows.append([f"{flood} a second" if flood else "none", str(len(times)), *(f"{turn_time.percentile(times, share) / 1000:.3f}" for share in SHARES), f"{times[-1] / 1000:.3f}"])
    alone, beside = (float(row[3 - 1]) for row in rows)
    rows[1].append(f"{beside / alone - 1:+.1%}")
    rows[0].append("")
    return ["flood of the fifth tenant", "replies of the four others", *(f"p{share * 100:.0f}, s" for share in SHARES), "most, s", "p50 moves by"], rows


if __name__ == "__main__":
    main()
