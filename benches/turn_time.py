#!/usr/bin/env python3
"""Measures what Recado itself adds to a reply, and how soon single questions are answered.

    benches/turn_time.py                             both, with target/release/recado
    benches/turn_time.py --rates 20 --seconds 20     at another rate, for another time

Every message is a complete question of a contact of its own. The times are those of the records: from the webhook's arrival until the
provider has accepted the reply. First without debounce and with a model that answers at once: what is left is Recado's own. Then with
the debounce as it is unless set, and with a simulated model that takes 0.8, 1.4 and 2 seconds. Prints Markdown. Run it on a machine
that does nothing else."""

import argparse
import json
import os
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import compare
import engine
import table
from processes import MeasurementError, end, eventually

ROOT = Path(__file__).resolve().parents[1]
ANSWERED_SECONDS_MAX = 60
SOON_MS = 3_000
MODEL_MS = (800, 1_400, 2_000)
AT_ONCE = {"RECADO_DEBOUNCE_SECONDS": "0", "RECADO_SIMULATED_LATENCY_MS": "0"}
FIRST = 10_000_000


def main():
    parser = argparse.ArgumentParser(description="Measures what Recado adds to a reply, and how soon questions are answered.")
    parser.add_argument("--recado", type=Path, default=ROOT / "target" / "release" / "recado")
    parser.add_argument("--rates", type=int, nargs="+", default=[20, 100], help="messages a second")
    parser.add_argument("--seconds", type=int, default=20)
    arguments = parser.parse_args()
    (ROOT / "target").mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="turn-time-", dir=ROOT / "target"))
    try:
        engine.print_facts(scratch)
        print(f"\n{table.table(*overhead(arguments, scratch))}", flush=True)
        print(f"\n{table.table(*questions(arguments, scratch))}", flush=True)
    except MeasurementError as error:
        sys.exit(f"turn_time: {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def overhead(arguments, scratch):
    rows = []
    for rate in arguments.rates:
        times = reply_times(arguments, scratch, rate, AT_ONCE)
        rows.append([str(rate), str(len(times)), *(f"{percentile(times, share):.0f}" for share in (0.5, 0.95, 0.99)), f"{times[-1]:.0f}"])
    return ["messages a second", "replies", "Recado's own part: p50, ms", "p95, ms", "p99, ms", "most, ms"], rows


def questions(arguments, scratch):
    rows = []
    for model_ms in MODEL_MS:
        times = reply_times(arguments, scratch, min(arguments.rates), {"RECADO_SIMULATED_LATENCY_MS": str(model_ms)})
        soon = sum(time <= SOON_MS for time in times) / len(times)
        rows.append([f"{model_ms / 1000:.1f} s", str(len(times)), *(f"{percentile(times, share) / 1000:.2f}" for share in (0.5, 0.95, 0.99)), f"{soon:.1%}"])
    return ["the model takes", "replies", "from webhook to reply: p50, s", "p95, s", "p99, s", "within 3 s"], rows


def percentile(times, share):
    """The nearest rank."""
    return times[min(len(times) - 1, int(share * len(times)))]


def reply_times(arguments, scratch, rate, settings):
    """Posts questions at a steady rate, and returns how long each waited for its reply, in milliseconds, ascending."""
    folder = Path(tempfile.mkdtemp(prefix="serve-", dir=scratch))
    recado = compare.Recado(arguments.recado, folder, settings=settings)
    try:
        address = f"127.0.0.1:{recado.port()}"
        template = compare.write_template(address, folder, "Vocês abrem amanhã?")
        options = ["--seconds", arguments.seconds, "--rate", rate, "--contacts", engine.OF_THEIR_OWN]
        count = compare.load(address, template, 32, FIRST, options)["count"]
        database = folder / "data" / "recado.db"
        times = lambda: read_times(database)
        if not eventually(lambda: len(times()) == count, ANSWERED_SECONDS_MAX):
            raise MeasurementError(f"of {count} messages, {len(times())} were answered after {ANSWERED_SECONDS_MAX} s")
        return sorted(times())
    finally:
        end(recado.processes[0])
        shutil.rmtree(folder, ignore_errors=True)


def read_times(database):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)
    try:
        return [milliseconds for row in connection.execute(ANSWERS) if (milliseconds := reply_time(*row)) is not None]
    finally:
        connection.close()


# (Each conversation has one question and its reply.)
ANSWERS = """SELECT events.body, replies.body FROM messages AS questions
    JOIN events ON events.id = json_extract(questions.body, '$.event')
    JOIN messages AS replies ON replies.conversation = questions.conversation AND replies.ordinal = 2
    WHERE questions.ordinal = 1"""


def reply_time(event, reply):
    """From the webhook's arrival until the reply was accepted; None while it is not."""
    sent = [entry["at"] for entry in json.loads(reply)["out"]["history"] if entry["what"] == "sent"]
    return sent[0] - json.loads(event)["job"]["received_at"] if sent else None


if __name__ == "__main__":
    main()
