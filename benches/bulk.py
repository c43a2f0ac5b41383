#!/usr/bin/env python3
"""Measures what a batch of invitations costs the conversations of the same instance.

    benches/bulk.py                                        10,000 guests at 80 messages a second, target/release/recado
    benches/bulk.py --guests 1000 --seconds 10             a short run
    benches/bulk.py --recado PATH --load PATH              other builds of recado and of the load generator (recado-load)

Customers ask complete questions at a steady rate, each of a contact of its own, first alone, then while the batch goes out on the same
instance. The times are those of the records: from the webhook's arrival until the provider has accepted the reply. The simulated model
takes 0.8 seconds. The first run lasts as long as the batch takes. Prints Markdown. Run it on a machine that does nothing else."""

import argparse
import http.client
import json
import shutil
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import compare
import engine
import table
import turn_time
from evolution import INSTANCE
from processes import MeasurementError, end, eventually

ROOT = Path(__file__).resolve().parents[1]
TOKEN = "token-of-the-measurements-of-recado"
PER_SECOND = 80
ROWS = 5_000
ENDED_SECONDS_MAX = 120
SETTINGS = {"RECADO_SIMULATED_LATENCY_MS": "800"}
TENANT = "measured"
# Of the instance, which the configuration of the measurements ends with; then an occasion.
MORE = f"""
rate = {{ per_second = {PER_SECOND}, burst = {2 * PER_SECOND} }}

[[occasions]]
id = "party"
tenant = "{TENANT}"
instance = "{INSTANCE}"

[[invitation_templates]]
name = "invite"
tenant = "{TENANT}"
channel = "whatsapp"
text = "Olá, {{{{guest_name}}}}! Você vem?"
"""


def main():
    parser = argparse.ArgumentParser(description="Measures reply times with and without a batch on the same instance.")
    parser.add_argument("--recado", type=Path, default=ROOT / "target" / "release" / "recado")
    parser.add_argument("--load", type=Path, default=compare.LOAD, help="the load generator: cargo build --release -p recado-load")
    parser.add_argument("--guests", type=int, default=10_000)
    parser.add_argument("--rate", type=int, default=5, help="questions of customers a second")
    parser.add_argument("--seconds", type=int, help="how long customers write; if absent, as long as the batch takes")
    arguments = parser.parse_args()
    # Batches use three quarters of the rate.
    arguments.seconds = arguments.seconds or max(10, arguments.guests * 4 // (3 * PER_SECOND))
    (ROOT / "target").mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="bulk-", dir=ROOT / "target"))
    try:
        engine.print_facts(scratch)
        rows = []
        for guests in (0, arguments.guests):
            times, sent, seconds = measure(arguments, scratch, guests)
            shares = [f"{turn_time.percentile(times, share) / 1000:.2f}" for share in (0.5, 0.95, 0.99)]
            rows.append([f"{guests:,}", f"{sent:,}", f"{sent / seconds:.1f}" if guests else "–", str(len(times)), *shares])
        head = ["guests", "invited meanwhile", "a second", "replies", "p50, s", "p95, s", "p99, s"]
        print(f"\n{table.table(head, rows)}", flush=True)
        alone, beside = (float(row[5]) for row in rows)
        print(f"\nThe batch moves the p95 by {(beside / alone - 1) * 100:+.1f} %.", flush=True)
    except MeasurementError as error:
        sys.exit(f"bulk: {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def ask(address, method, path, body=None):
    connection = http.client.HTTPConnection(address, timeout=120)
    try:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status >= 300:
            raise MeasurementError(f"{method} {path} answered {answer.status}: {said[:300]!r}")
        return json.loads(said)
    finally:
        connection.close()


def begin_batch(address, guests):
    """Adds the guests and orders the batch. Returns its id."""
    for first in range(0, guests, ROWS):
        rows = [{"id": f"g{number}", "name": f"Guest {number}", "phone": f"+5521{910_000_000 + number}"} for number in range(first, min(first + ROWS, guests))]
        ask(address, "POST", f"/v1/occasions/party/guests?tenant={TENANT}", {"guests": rows})
    wanted = {"tenant": TENANT, "eventId": "party", "channel": "whatsapp", "template": "invite", "guestIds": [f"g{number}" for number in range(guests)]}
    return ask(address, "POST", "/deliver/send", wanted)["batch_id"]


def measure(arguments, scratch, guests):
    """Returns the reply times, ascending, how many guests were invited while customers wrote, and in how many seconds."""
    folder = Path(tempfile.mkdtemp(prefix="serve-", dir=scratch))
    recado = compare.Recado(arguments.recado, folder, settings=SETTINGS, more=MORE)
    try:
        address = f"127.0.0.1:{recado.port()}"
        batch = begin_batch(address, guests) if guests else None
        began = time.monotonic()
        template = compare.write_template(address, folder, "Vocês abrem amanhã?")
        options = ["--seconds", arguments.seconds, "--rate", arguments.rate, "--contacts", engine.OF_THEIR_OWN]
        count = compare.load(address, template, 8, turn_time.FIRST, options, arguments.load.resolve())["count"]
        seconds, database = time.monotonic() - began, folder / "data" / "recado.db"
        sent = count_invited(database)
        if not eventually(lambda: len(turn_time.read_times(database)) >= count, ENDED_SECONDS_MAX, pause=1):
            raise MeasurementError(f"of {count} questions, {len(turn_time.read_times(database))} were answered")
        if batch:
            check_batch(address, batch, guests, sent)
        return sorted(turn_time.read_times(database)), sent, seconds
    finally:
        end(recado.processes[0])
        shutil.rmtree(folder, ignore_errors=True)


def count_invited(database):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)
    try:
        sql = "SELECT count(*) FROM messages WHERE json_extract(body, '$.out.batch') IS NOT NULL AND json_extract(body, '$.out.state') = 'sent'"
        return connection.execute(sql).fetchone()[0]
    finally:
        connection.close()


def check_batch(address, batch, guests, sent):
    counts = ask(address, "GET", f"/deliver/batches/{batch}?tenant={TENANT}")["counts"]
    if sum(counts.values()) != guests or counts["failed"] or counts["refused"] or counts["duplicate"] or not sent:
        raise MeasurementError(f"the batch went wrong: {counts}, {sent} sent")


if __name__ == "__main__":
    main()
