#!/usr/bin/env python3
"""Measures what docs/figures.md claims: cold start, sizes, acknowledgements.

    benches/figures.py                                 builds for release and measures
    benches/figures.py --no-build                      measures what is built already
    benches/figures.py --profile ci                    builds and measures with another Cargo profile
    benches/figures.py --binaries DIR                  measures DIR/recado and DIR/<function>/bootstrap
    benches/figures.py --only cold-start --runs 50     one part of it

Needs Linux and Python 3.11 or newer, nothing else; to build, cargo and the tools of `make tools`; `openssl` for the
cold start over TLS. Prints Markdown and writes target/figures.json. Listens and connects on the loopback interface
only. Run it on a machine that does nothing else."""

import argparse
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True

import cold_start
import embedded
import machine
import table
from processes import MeasurementError

ROOT = Path(__file__).resolve().parents[1]
FUNCTIONS = ["webhook", "processor", "deferred-reply", "sender", "api", "reconcile"]
PARTS = ["parsing", "cold-start", "sizes", "embedded"]
# The time to acknowledge and the memory that are promised (docs/figures.md); 64 MB are 61 MiB.
P99_MS_MAX = 100
RSS_MIB_MAX = 64_000_000 / 1_048_576


def main():
    arguments = parse_arguments()
    # Told to stop, it still ends what it started and removes what it wrote.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if not (arguments.no_build or arguments.binaries):
        build(arguments.profile)
    binaries = find_binaries(arguments)
    scratch = tempfile.mkdtemp(prefix="figures-", dir=made(ROOT / "target"))
    try:
        figures = measure(arguments, binaries, scratch)
    except MeasurementError as error:
        sys.exit(f"figures: {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    (ROOT / "target" / "figures.json").write_text(json.dumps(figures, indent=2) + "\n")
    print(table.markdown(figures))
    exceeded = list_exceeded(figures.get("embedded", [])) if figures["profile"] == "release" else []
    if exceeded:
        sys.exit("figures: " + "; ".join(exceeded))


def list_exceeded(runs):
    """What exceeds the promised limits of `recado serve`, in words. A release build keeps far below the time, on any disk."""
    named = [(f"{run['messages']} webhooks, {run['clients']} clients", run) for run in runs]
    slow = [f"{name}: p99 {run['p99_ms']:.0f} ms, not below {P99_MS_MAX} ms" for name, run in named if run["p99_ms"] >= P99_MS_MAX]
    large = [
        f"{name}: {run['rss_kib'] / 1024:.0f} MiB, not below {RSS_MIB_MAX:.0f} MiB"
        for name, run in named
        if run["rss_kib"] / 1024 >= RSS_MIB_MAX
    ]
    return slow + large


def made(directory):
    directory.mkdir(exist_ok=True)
    return directory


def parse_arguments():
    parser = argparse.ArgumentParser(description="Measures what docs/figures.md claims.")
    parser.add_argument("--no-build", action="store_true", help="measure what is built already")
    parser.add_argument("--profile", default="release", help="Cargo profile (default: release)")
    parser.add_argument("--binaries", type=Path, help="directory with recado and <function>/bootstrap")
    parser.add_argument("--only", action="append", choices=PARTS, help="a part of it; may be repeated")
    parser.add_argument("--runs", type=at_least_one, default=20, help="cold starts (default: 20)")
    parser.add_argument("--messages", type=at_least_one, default=10_000, help="of many clients (default: 10000)")
    parser.add_argument("--clients", type=at_least_one, default=64, help="clients at once (default: 64)")
    parser.add_argument("--single", type=at_least_one, default=2_000, help="messages of one client (default: 2000)")
    return parser.parse_args()


def at_least_one(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def build(profile):
    # The pinned tools first, as the Makefile has it.
    tools = [str(ROOT / ".tools" / "venv" / "bin"), str(ROOT / ".tools" / "bin")]
    variables = os.environ | {"PATH": os.pathsep.join([*tools, os.environ.get("PATH", os.defpath)])}
    chosen = ["--release"] if profile == "release" else ["--profile", profile]
    packages = [word for name in FUNCTIONS for word in ("--package", name)]
    for command in (["cargo", "build", *chosen, "-p", "recado", "--features", "full"], ["cargo", "lambda", "build", *chosen, *packages]):
        built = subprocess.run(command, cwd=ROOT, env=variables, stdout=sys.stderr, stdin=subprocess.DEVNULL)
        if built.returncode != 0:
            sys.exit(f"figures: {' '.join(command[:3])} failed")


def find_binaries(arguments):
    """Every binary that is there, by name. `target/lambda` holds the functions of whatever profile was built last."""
    if arguments.binaries:
        functions = directory = arguments.binaries.resolve()
    else:
        directory = ROOT / "target" / ("debug" if arguments.profile == "dev" else arguments.profile)
        functions = ROOT / "target" / "lambda"
    places = {"recado": directory / "recado"} | {name: functions / name / "bootstrap" for name in FUNCTIONS}
    return {name: place for name, place in places.items() if place.is_file()}


def measure(arguments, binaries, scratch):
    parts = arguments.only or PARTS
    needed = {"parsing": [], "cold-start": ["webhook"], "embedded": ["recado"], "sizes": ["recado", *FUNCTIONS]}
    missing = sorted({name for part in parts for name in needed[part]} - set(binaries))
    if missing:
        raise MeasurementError(f"not built: {', '.join(missing)}")
    named = "as given" if arguments.binaries else arguments.profile
    figures = {"profile": named, "machine": machine.facts(scratch)}
    if "parsing" in parts:
        say("parsing")
        figures["parsing"] = parsing(arguments.profile)
    if "sizes" in parts:
        figures["sizes"] = {name: size(path) for name, path in binaries.items()}
    if "cold-start" in parts:
        kinds = ["plain", "tls"] if shutil.which("openssl") else ["plain"]
        figures["cold_start"] = {}
        for kind in kinds:
            say(f"cold start, {kind}: {arguments.runs} runs")
            runs = cold_start.measure(binaries["webhook"], arguments.runs, kind == "tls", scratch)
            figures["cold_start"][kind] = runs
    if "embedded" in parts:
        figures["embedded"] = []
        for messages, clients in ((arguments.messages, arguments.clients), (arguments.single, 1)):
            say(f"recado serve: {messages} webhooks, clients at once: {clients}")
            figures["embedded"].append(embedded.measure(binaries["recado"], messages, clients, scratch))
    return figures


def parsing(profile):
    chosen = ["--release"] if profile == "release" else ["--profile", profile]
    command = ["cargo", "run", "--quiet", *chosen, "-p", "recado-whatsapp", "--example", "parsing"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if ran.returncode != 0:
        raise MeasurementError(f"parsing:\n{ran.stderr}")
    return [json.loads(line) for line in ran.stdout.splitlines()]


def size(path):
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.write(path, "bootstrap")
    return {"bytes": path.stat().st_size, "zipped": len(zipped.getvalue())}


def say(what):
    print(f"figures: {what}", file=sys.stderr)


if __name__ == "__main__":
    main()
