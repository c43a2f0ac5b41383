#!/usr/bin/env python3
"""From a clone to the first answer to a message of one's own, as a new user goes: clone, `cargo run`, `recado say`.

    benches/first_answer.py [REPOSITORY] [--fresh-registry]

Prints the seconds from the beginning until each step was done. `--fresh-registry`: the crates are fetched, too, as on a machine on
which nothing was ever built."""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from processes import end, eventually, tail

BUILD_SECONDS_MAX = 3600
ANSWER_SECONDS_MAX = 60
HERE = Path(__file__).resolve().parents[1]


def main():
    arguments = parse_arguments()
    scratch = Path(tempfile.mkdtemp(prefix="first-answer-"))
    clone, log_path = scratch / "recado", scratch / "log"
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO_", "RECADO_"))}
    variables["RECADO_ADDR"] = f"127.0.0.1:{free_port()}"
    if arguments.fresh_registry:
        variables["CARGO_HOME"] = str(scratch / "cargo")
    elif "CARGO_HOME" in os.environ:
        variables["CARGO_HOME"] = os.environ["CARGO_HOME"]
    began, reached = time.monotonic(), {}

    def reach(what):
        reached[what] = round(time.monotonic() - began, 1)

    subprocess.run(["git", "clone", "--quiet", arguments.repository, clone], check=True)
    reach("cloned")
    with open(log_path, "wb") as log:
        server = subprocess.Popen(["cargo", "run"], cwd=clone, env=variables, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        for what, mark in [("built and listening", "Recado listens on"), ("the demonstration is over", "Ctrl-C stops")]:
            if not eventually(lambda: mark in log_path.read_text(errors="replace") or server.poll() is not None, BUILD_SECONDS_MAX):
                sys.exit(tail(log_path))
            if server.poll() is not None:
                sys.exit(tail(log_path))
            reach(what)
        said = subprocess.run(
            ["cargo", "run", "--quiet", "--", "say", "Vocês abrem hoje?"],
            cwd=clone, env=variables, capture_output=True, text=True, timeout=ANSWER_SECONDS_MAX, check=True,
        )
        if "←" not in said.stdout:
            sys.exit(f"no answer: {said.stdout}{said.stderr}")
        reach("answered")
    finally:
        # `cargo run` is replaced by the program.
        end(server)
    print(json.dumps({"cores": os.cpu_count()} | reached, indent=2))
    shutil.rmtree(scratch)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def parse_arguments():
    parser = argparse.ArgumentParser(description="From a clone to the first answer")
    parser.add_argument("repository", nargs="?", default=str(HERE))
    parser.add_argument("--fresh-registry", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
