#!/usr/bin/env python3
"""Compares two binaries of `recado` in turns, in one run, so that whatever else the machine does meets both alike.

    benches/builds.py BEFORE AFTER                      5 rounds of 6,000 webhooks, 64 clients and 1
    benches/builds.py BEFORE AFTER --rounds 10 --messages 10000

Each round starts both anew, the second one first in every other round. Prints, as Markdown, the medians of both, and the
median of the differences within the rounds."""

import argparse
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import embedded
from processes import MeasurementError

ROOT = Path(__file__).resolve().parents[1]
FIGURES = {
    "acknowledged a second": "per_second",
    "p50, ms": "p50_ms",
    "p99, ms": "p99_ms",
    "processor seconds of the server": "processor_seconds",
    "memory idle, KiB": "idle_rss_kib",
    "memory after, KiB": "rss_kib",
    "memory at most, KiB": "peak_kib",
}


def main():
    parser = argparse.ArgumentParser(description="Compares two binaries of recado in turns.")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=6_000, help="of many clients; one client posts a sixth of them")
    parser.add_argument("--clients", type=int, default=64)
    arguments = parser.parse_args()
    binaries = [arguments.before.resolve(), arguments.after.resolve()]
    (ROOT / "target").mkdir(exist_ok=True)
    scratch = tempfile.mkdtemp(prefix="builds-", dir=ROOT / "target")
    try:
        for messages, clients in ((arguments.messages, arguments.clients), (max(1, arguments.messages // 6), 1)):
            rounds = [measure_round(binaries, number, messages, clients, scratch) for number in range(arguments.rounds)]
            print_table(f"{messages} webhooks, clients at once: {clients}", rounds)
    except MeasurementError as error:
        sys.exit(f"builds: {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def measure_round(binaries, number, messages, clients, scratch):
    order = (0, 1) if number % 2 == 0 else (1, 0)
    measured = {}
    for place in order:
        print(f"builds: round {number + 1}, {binaries[place]}", file=sys.stderr)
        found = embedded.measure(binaries[place], messages, clients, scratch)
        measured[place] = found | {"processor_seconds": found["server_cpu_share"] * found["seconds"]}
    return measured[0], measured[1]


def print_table(title, rounds):
    print(f"\n{title}, {len(rounds)} rounds\n\n| figure | before | after | difference | of the rounds |\n| --- | --: | --: | --: | --- |")
    for name, key in FIGURES.items():
        before, after = (statistics.median(one[side][key] for one in rounds) for side in (0, 1))
        changes = sorted((right[key] / left[key] - 1) * 100 for left, right in rounds)
        middle, spread = statistics.median(changes), f"{changes[0]:+.1f} to {changes[-1]:+.1f} %"
        print(f"| {name} | {before:,.2f} | {after:,.2f} | {middle:+.1f} % | {spread} |")


if __name__ == "__main__":
    main()
