#!/usr/bin/env python3
"""Measures the engine of one machine: what it acknowledges and answers, how long that takes, and what it stores costs it.

    benches/engine.py                          everything but the long run, with target/release/recado
    benches/engine.py answered replies         some parts of it: acknowledged, answered, replies, grown, steady
    benches/engine.py steady --minutes 10      the long run: 1,000 webhooks a second, the p99 of each minute
    benches/engine.py grown --conversations 1000 1000000

Model and provider are simulated, without latency; there is no debounce, and 500 contacts write. `replies put off`: webhooks are
stored, and nothing is answered. Prints Markdown. Run it on a machine that does nothing else."""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True

import compare
import grown
import machine
import table
from processes import MeasurementError, cpu_seconds, end, eventually

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("acknowledged", "answered", "replies", "grown", "steady")
SETTLED_SECONDS_MAX = 120
OF_THEIR_OWN = 90_000_000  # So many contacts that each message is of another one.


def main():
    parser = argparse.ArgumentParser(description="Measures the engine of one machine.")
    parser.add_argument("parts", nargs="*", help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--recado", type=Path, default=ROOT / "target" / "release" / "recado")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--conversations", type=int, nargs="+", default=[1_000, 100_000, 500_000], help="two messages each")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    (ROOT / "target").mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="engine-", dir=ROOT / "target"))
    measured = {"acknowledged": acknowledged, "answered": answered, "replies": replies, "grown": grown_figures, "steady": steady}
    try:
        print_facts(scratch)
        for part in arguments.parts or PARTS[:-1]:
            print(f"engine: {part}", file=sys.stderr)
            print(f"\n{table.table(*measured[part](arguments, scratch))}", flush=True)
    except MeasurementError as error:
        sys.exit(f"engine: {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def print_facts(scratch):
    facts = machine.facts(scratch)
    disk = facts["disk"]
    synced = f"write and sync of 4 KiB: {disk['write_and_sync_ms']} ms"
    print(f"Measured on {facts['date']}: {facts['cpu']}, {facts['cores']} cores, {disk['file_system']} ({synced}), load {os.getloadavg()[0]:.1f}.")


class Running:
    """A server with a data folder, and what is asked of it."""

    def __init__(self, arguments, scratch, replies=True, data=None):
        self.folder = Path(tempfile.mkdtemp(prefix="serve-", dir=scratch))
        if data:
            os.symlink(data, self.folder / "data")
        self.began = time.monotonic()
        self.recado = compare.Recado(arguments.recado, self.folder, replies)
        self.process = self.recado.processes[0]
        self.database = self.folder / "data" / "recado.db"
        self.sent = 0

    def __enter__(self):
        try:
            self.address = f"127.0.0.1:{self.recado.port()}"
            self.started_after = time.monotonic() - self.began
            self.template = compare.write_template(self.address, self.folder)
        except BaseException:
            end(self.process)
            raise
        return self

    def __exit__(self, *_):
        end(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def load(self, connections, seconds, rate=None, contacts=500):
        """Posts webhooks of their own ids, and returns what the load generator measured."""
        self.sent += 1
        options = ["--seconds", seconds, "--contacts", contacts, *(["--rate", rate] if rate else [])]
        return compare.load(self.address, self.template, connections, self.sent * 10_000_000, options)

    def count(self, sql):
        return grown.read_number(self.database, sql)

    def settle(self):
        """Waits until no queue has a message any more, and returns how long that took."""
        began = time.monotonic()
        left = lambda: self.count("SELECT count(*) FROM queue_messages WHERE dead_at IS NULL")
        if not eventually(lambda: left() == 0, SETTLED_SECONDS_MAX):
            raise MeasurementError(f"{left()} messages are left in the queues after {SETTLED_SECONDS_MAX} s")
        return time.monotonic() - began

    def anonymous_mib(self):
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines())
        return int(fields["RssAnon"].split()[0]) / 1024

    def reply_times(self):
        """The distribution that /metrics has of the times from a message's arrival to its reply: (bound in seconds, count)."""
        request = urllib.request.Request(f"http://{self.address}/metrics", headers={"Authorization": "Bearer token-of-the-measurements-of-recado"})
        with urllib.request.urlopen(request) as answer:
            lines = answer.read().decode().splitlines()
        found = {}
        for line in lines:
            if "_bucket{" in line and 'stage="reply"' in line:
                bound = line.partition('le="')[2].partition('"')[0]
                found[float(bound)] = found.get(float(bound), 0) + int(float(line.rsplit(" ", 1)[1]))
        return sorted(found.items())


def medians(arguments, measure_once):
    """The medians of what the rounds measured, by name."""
    rounds = [measure_once() for _ in range(arguments.rounds)]
    return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}


def acknowledged(arguments, scratch):
    rows = []
    for replies_on in (True, False):
        for connections in (32, 256):
            def once():
                with Running(arguments, scratch, replies_on) as server:
                    server.load(connections, 1)
                    before = cpu_seconds(server.process.pid)
                    most = server.load(connections, arguments.seconds)
                    busy = cpu_seconds(server.process.pid) - before
                    return most_figures(most) | {"cpu": busy / most["count"] * 1e6}

            found = medians(arguments, once)
            what = "replies on" if replies_on else "replies put off"
            rows.append([what, str(connections), f"{found['per_second']:,.0f}", *(f"{found[name]:.1f}" for name in ("p50", "p99", "p999")), f"{found['cpu']:.0f}"])
    return ["processing", "connections", "acknowledged a second", "p50, ms", "p99, ms", "p99.9, ms", "processor time of a webhook, µs"], rows


def most_figures(answers):
    return {"per_second": answers["per_second"], "p50": answers["p50_ms"], "p99": answers["p99_ms"], "p999": answers["p999_ms"]}


def answered(arguments, scratch):
    """A message of a contact of its own, each answered: as many as come in a second at 4,000 a second."""

    def once():
        with Running(arguments, scratch) as server:
            server.load(32, 1, 300, OF_THEIR_OWN)
            server.settle()
            stored, before, began = server.count("SELECT count(*) FROM messages"), cpu_seconds(server.process.pid), time.monotonic()
            server.load(32, max(1, arguments.seconds // 2), 4_000, OF_THEIR_OWN)
            server.settle()
            seconds, busy = time.monotonic() - began, cpu_seconds(server.process.pid) - before
            # Each message has one reply.
            count = (server.count("SELECT count(*) FROM messages") - stored) / 2
            return {"per_second": count / seconds, "cpu": busy / count * 1e6, "memory": server.anonymous_mib()}

    found = medians(arguments, once)
    row = [f"{found['per_second']:,.0f}", f"{found['cpu']:.0f}", f"{found['memory']:.0f}"]
    return ["answered a second", "processor time of an answered message, µs", "anonymous memory after it, MiB"], [row]


def replies(arguments, scratch):
    """From a message's arrival until its reply was accepted, at steady rates."""
    rows = []
    for rate in (100, 500):
        with Running(arguments, scratch) as server:
            server.load(32, 1, rate, OF_THEIR_OWN)
            server.settle()
            before = dict(server.reply_times())
            server.load(32, arguments.seconds, rate, OF_THEIR_OWN)
            server.settle()
            times = [(bound, count - before.get(bound, 0)) for bound, count in server.reply_times()]
        rows.append([str(rate), *(bucket_of(times, share) for share in (0.5, 0.99, 0.999))])
    return ["messages a second", "p50", "p99", "p99.9"], rows


def bucket_of(times, share):
    """The bucket of the histogram that holds the percentile: the buckets count cumulatively."""
    if not times or not times[-1][1]:
        raise MeasurementError("no reply was measured")
    bound = next(bound for bound, count in times if count >= share * times[-1][1])
    return f"at most {bound * 1000:,.0f} ms" if bound != float("inf") else "more"


def steady(arguments, scratch):
    rows = []
    with Running(arguments, scratch) as server:
        for minute in range(arguments.minutes):
            found = server.load(32, 60, 1_000)
            rows.append([str(minute + 1), *(f"{found[name]:.1f}" for name in ("p50_ms", "p99_ms", "p999_ms")), f"{server.anonymous_mib():.0f}"])
        rows.append(["all is answered", f"after {server.settle():.1f} s", "", "", ""])
    return ["minute", "p50, ms", "p99, ms", "p99.9, ms", "anonymous memory, MiB"], rows


def grown_figures(arguments, scratch):
    """The same figures with ever more conversations in the folder, of two messages each."""
    rows = []
    for conversations in arguments.conversations:
        folder = scratch / f"grown-{conversations}"
        with Running(arguments, scratch) as server:
            server.load(1, 1, 5, OF_THEIR_OWN)
            server.settle()
            seed = server.folder / "data"
            end(server.process)
            shutil.copytree(seed, folder)
        grown.fill(folder / "recado.db", conversations)
        with Running(arguments, scratch, data=folder) as server:
            started, stored = server.started_after, server.count("SELECT count(*) FROM messages")
            server.load(32, 1)
            server.settle()
            most = server.load(32, arguments.seconds)
            rows.append([f"{conversations:,}", f"{stored:,}", f"{started:.2f} s", f"{most['per_second']:,.0f}", f"{most['p99_ms']:.1f}", f"{server.anonymous_mib():.0f}"])
        shutil.rmtree(folder, ignore_errors=True)
    return ["conversations", "messages", "start until it listens", "acknowledged a second, replies on", "p99, ms", "anonymous memory, MiB"], rows


if __name__ == "__main__":
    main()
