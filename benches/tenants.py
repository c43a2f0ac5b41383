#!/usr/bin/env python3
"""Measures an installation of many tenants beside one of a single tenant, on one machine.

    benches/tenants.py --binary target/release/recado                 10,000 tenants, 500 of them busy
    benches/tenants.py --binary target/release/recado --tenants 1000

Each tenant has an agent, with instructions of 1 KB, and a simulated instance. Needs Python 3.11 or newer, nothing else.
Prints Markdown. Run it on a machine that does nothing else: the load average is printed with the figures."""

import argparse
import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from evolution import MASTER
from processes import UNIT_VARIABLES, MeasurementError, anonymous_kib, end, eventually, memory_kib, tail

ROOT = Path(__file__).resolve().parents[1]
TOKEN = "token-of-the-measurements-of-recado"
AT_ONCE = 200
START_SECONDS_MAX = 60
RECONCILE_SECONDS_MAX = 330
MARK = "Recado listens on http://127.0.0.1:"


class Installation:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.log = folder / "serve.log"

    def start(self):
        """Starts it. Returns the seconds until its first answer to /health."""
        configuration = self.folder / "recado.toml"
        configuration.write_text('[[tenants]]\nid = "t0"\ntime_zone = "America/Sao_Paulo"\n')
        variables = {
            "RECADO_CONFIG": str(configuration),
            "RECADO_ADDR": "127.0.0.1:0",
            "RECADO_DATA": str(self.folder / "data"),
            "RECADO_WEBHOOK_SECRET": MASTER,
            "RECADO_TOKEN": TOKEN,
            "RECADO_SIMULATION": "auto",
            "RECADO_DEBOUNCE_SECONDS": "300",
            "RECADO_DEBOUNCE_MAX_SECONDS": "890",
            "RUST_LOG": "error,recado::workers=debug",
        } | UNIT_VARIABLES
        self.log.write_bytes(b"")
        began = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve"], env=variables, cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )
        if not eventually(self.answers, START_SECONDS_MAX, 0.002):
            raise MeasurementError(f"it did not start\n{tail(self.log)}")
        return time.monotonic() - began

    def answers(self):
        said = self.log.read_text(errors="replace").split(MARK, 1)
        if len(said) < 2:
            return False
        self.connection = http.client.HTTPConnection("127.0.0.1", int(said[1].split()[0]), timeout=120)
        return self.ask("GET", "/health")[0] == 200

    def ask(self, method, path, body=None, headers=()):
        """Returns the status, the body and the milliseconds of an answer."""
        text = None if body is None else json.dumps(body)
        began = time.monotonic()
        self.connection.request(method, path, text, {"authorization": f"Bearer {TOKEN}", **dict(headers)})
        answer = self.connection.getresponse()
        read = answer.read()
        took = (time.monotonic() - began) * 1000
        return answer.status, read, took

    def expect(self, method, path, body=None, headers=()):
        status, read, took = self.ask(method, path, body, headers)
        if status not in (200, 201):
            raise MeasurementError(f"{method} {path}: {status} {read[:300]}")
        return read, took

    def median(self, runs, request):
        return statistics.median(self.expect(*request(run))[1] for run in range(runs))


def entries(first, count):
    tenants = range(first, first + count)
    prompt = "You answer briefly. " * 50
    return {
        "tenants": [{"id": f"t{n}", "time_zone": "America/Sao_Paulo"} for n in tenants],
        "agents": [agent(n, prompt) for n in tenants],
        "instances": [
            {"id": f"i{n}", "tenant": f"t{n}", "agent": f"a{n}", "provider": "evolution"} for n in tenants
        ],
    }


def agent(n, prompt):
    return {"id": f"a{n}", "tenant": f"t{n}", "model": "claude-sonnet-4-5", "system_prompt": prompt}


def make_busy(there, busy):
    """Sends a message of a client by each of the busy instances, so that they have records and states."""
    for n in range(busy):
        path = f"/v1/instances/i{n}/messages"
        status, read, _ = there.ask("POST", path, {"to": f"+55 11 9{n:08}", "text": "Bom dia!"})
        if status != 202:
            raise MeasurementError(f"POST {path}: {status} {read[:300]}")


def measure(binary, tenants, busy, runs, scratch):
    folder = Path(tempfile.mkdtemp(prefix="tenants-", dir=scratch))
    there = Installation(binary, folder)
    there.start()
    figures = {"tenants": tenants}
    try:
        for first in range(0, tenants, AT_ONCE):
            there.expect("PUT", "/v1/config", entries(first, min(AT_ONCE, tenants - first)))
        make_busy(there, busy)
        end(there.process)
        starts = []
        for _ in range(5):
            starts.append(there.start())
            time.sleep(2)
            resident, most = memory_kib(there.process.pid)
            if len(starts) < 5:
                end(there.process)
        figures["start_ms"] = statistics.median(starts) * 1000
        figures["resident_mib"], figures["start_most_mib"] = resident / 1024, most / 1024
        figures["anonymous_mib"] = anonymous_kib(there.process.pid) / 1024
        figures["change_document_ms"] = there.median(
            runs, lambda run: ("PUT", "/v1/config", {"agents": [agent(0, f"Run {run}.")]})
        )
        figures["change_entry_ms"] = there.median(
            runs, lambda run: ("PUT", "/v1/agents/a0", agent(0, f"Turn {run}."), {"if-match": "*"})
        )
        figures["list_ms"] = there.median(runs, lambda _: ("GET", "/v1/instances?limit=200"))
        figures["health_ms"] = there.median(runs, lambda _: ("GET", "/health/whatsapp"))
        figures["health_one_ms"] = there.median(runs, lambda _: ("GET", "/health/whatsapp?instance=i0"))
        # One pass in five looks for silent instances, which reads the states of all.
        figures["reconcile_ms"] = wait_for_reconcile(there, 6 if tenants > 1 else 1)
        figures["resident_after_mib"], figures["most_mib"] = (kib / 1024 for kib in memory_kib(there.process.pid))
        figures["anonymous_after_mib"] = anonymous_kib(there.process.pid) / 1024
        return figures
    finally:
        end(there.process)
        shutil.rmtree(folder, ignore_errors=True)


def wait_for_reconcile(there, passes):
    """The longest of so many passes of `reconcile`."""
    took = []

    def enough():
        took[:] = [int(ms) for ms in re.findall(r'"reconciled","took_ms":(\d+)', there.log.read_text(errors="replace"))]
        return len(took) >= passes

    eventually(enough, RECONCILE_SECONDS_MAX, 1)
    if not took:
        raise MeasurementError(f"no pass of reconcile was seen\n{tail(there.log)}")
    return max(took)


ROWS = [
    ("start to the first 200 of `/health`", "start_ms", "ms"),
    ("memory two seconds later", "resident_mib", "MiB"),
    ("… of it anonymous", "anonymous_mib", "MiB"),
    ("… at most until then", "start_most_mib", "MiB"),
    ("applying one change, by a document", "change_document_ms", "ms"),
    ("… by `PUT /v1/agents/{id}`", "change_entry_ms", "ms"),
    ("a page of 200 instances", "list_ms", "ms"),
    ("`/health/whatsapp`", "health_ms", "ms"),
    ("… of one instance", "health_one_ms", "ms"),
    ("the longest pass of `reconcile`", "reconcile_ms", "ms"),
    ("memory after these", "resident_after_mib", "MiB"),
    ("… of it anonymous", "anonymous_after_mib", "MiB"),
    ("… at most", "most_mib", "MiB"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "target" / "release" / "recado")
    parser.add_argument("--tenants", type=int, default=10_000)
    parser.add_argument("--busy", type=int, default=500)
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    (ROOT / "target").mkdir(exist_ok=True)
    scratch = tempfile.mkdtemp(prefix="tenants-", dir=ROOT / "target")
    try:
        load = os.getloadavg()[0]
        binary = arguments.binary.resolve()
        one = measure(binary, 1, 1, arguments.runs, scratch)
        many = measure(binary, arguments.tenants, min(arguments.busy, arguments.tenants), arguments.runs, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"Load average before and after: {load:.1f}, {os.getloadavg()[0]:.1f}; {os.cpu_count()} cores\n")
    print(f"| measured | 1 tenant | {arguments.tenants:,} tenants |\n| --- | --- | --- |")
    for name, key, unit in ROWS:
        print(f"| {name} | {one[key]:.1f} {unit} | {many[key]:.1f} {unit} |")


if __name__ == "__main__":
    main()
