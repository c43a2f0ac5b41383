#!/usr/bin/env python3
"""Measures what people wait for in the console: lists, threads and searches, and how soon open pages learn of an event.

    benches/console.py --binary target/release/recado search           10,000 conversations, 1,000,000 messages
    benches/console.py --binary target/release/recado search --conversations 1000 --messages 20
    benches/console.py --binary target/release/recado live             100 open pages, and 20 that read nothing

The data folder lies under target/, and goes at the end. Needs Python 3.11 or newer, nothing else. Prints Markdown, and fails where a
bar is missed: 50 ms for 95 of 100 requests, 500 ms for the median from a message to a page, all pages
that stall dropped. Run it on a machine that does nothing else:
the load average is printed with the figures."""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from live_pages import measure_live
from processes import MeasurementError
from searches import measure_searches
from table import table

ROOT = Path(__file__).resolve().parents[1]
SEARCH_BAR_MS = 50
LIVE_BAR_MS = 500


def share(values, percent):
    """The value that `percent` of 100 do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(len(ordered) * percent / 100))]


def print_searches(wanted, scratch):
    """Prints the times of each kind of request. Returns whether all are within the bar."""
    found = measure_searches(wanted.binary, scratch, wanted.conversations, wanted.messages, wanted.requests)
    print(f"{found['conversations']:,} conversations, {found['messages']:,} messages, {found['database_mib']:,} MiB; indexed in {found['indexed_s']:.0f} s.\n")
    rows = [[what, f"{statistics.median(times):.1f}", f"{share(times, 95):.1f}"] for what, times in found["times"].items()]
    print(table(["request", "half of them within, ms", "95 of 100 within, ms"], rows))
    return all(share(times, 95) <= SEARCH_BAR_MS for times in found["times"].values())


def print_live(wanted, scratch):
    """Prints the times from a message to a page. Returns whether the median is within the bar."""
    found = measure_live(wanted.binary, scratch, wanted.pages, wanted.stalled, wanted.events)
    print(f"{wanted.pages} open pages and {wanted.stalled} that read nothing, {wanted.events} messages, {found['bytes']:,} bytes to each page; no page missed one.\n")
    names = {"alone": "no page stalls", "beside": f"{wanted.stalled} pages stall"}
    rows = [[names[name], f"{statistics.median(times):.0f}", f"{share(times, 95):.0f}", f"{max(times):.0f}"] for name, times in found["times"].items()]
    print(table(["from the request of a customer to a page", "median, ms", "95 of 100 within, ms", "longest, ms"], rows))
    print(f"\nOf the pages that stall, {found['dropped']} were dropped; memory grew by {found['grown_mib']:.1f} MiB.")
    soon = all(statistics.median(times) <= LIVE_BAR_MS for times in found["times"].values())
    return soon and found["dropped"] == wanted.stalled


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/recado")
    kinds = parser.add_subparsers(dest="kind", required=True)
    search = kinds.add_parser("search")
    search.add_argument("--conversations", type=int, default=10_000)
    search.add_argument("--messages", type=int, default=100, help="of each conversation")
    search.add_argument("--requests", type=int, default=200, help="of each kind")
    live = kinds.add_parser("live")
    live.add_argument("--pages", type=int, default=100)
    live.add_argument("--stalled", type=int, default=20)
    live.add_argument("--events", type=int, default=50, help="messages in each of two rounds")
    return parser.parse_args()


def main():
    wanted = read_arguments()
    target = ROOT / "target"
    target.mkdir(exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="console-", dir=target))
    try:
        wanted.binary = wanted.binary.resolve()
        within = print_searches(wanted, scratch) if wanted.kind == "search" else print_live(wanted, scratch)
        print(f"\nLoad average at the end: {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores.")
        return 0 if within else "a bar was missed"
    except MeasurementError as error:
        return f"no figures: {error}"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
