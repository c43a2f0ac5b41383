#!/usr/bin/env python3
"""How long builds take: `cargo run` from cold, the release, and the loop of who changes a line.

    benches/build_times.py [REPOSITORY] [--what cold release loop]

Prints JSON. Each figure is the clock's seconds and the processor's seconds of all processes that the command started. Crates are
downloaded before. A repository is built in a folder of its own for what is built, so that nothing of an earlier build counts. The loop
changes a line of the repository and takes the change back."""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
ROUNDS = 3
# A text of the use case that sends, and a text of a command: changed, so that the compiler has something to do.
USE_CASE = ("shared/pipeline/src/usecases/send/settle.rs", '"attempt failed"')
COMMANDS = [
    ("shared/cli/src/trends.rs", "Nothing was sampled since"),
    ("functions/local/src/trends.rs", "Nothing was sampled since"),
]
TEST = ["cargo", "test", "-p", "recado-testkit", "--test", "use_cases", "a_reply_of_a_connected_instance"]
COMMAND = ["cargo", "run", "-p", "recado", "--", "trends", "--help"]


def main():
    arguments = parse_arguments()
    repository = arguments.repository.resolve()
    subprocess.run(["cargo", "fetch", "--locked"], cwd=repository, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    target = Path(tempfile.mkdtemp(prefix="build-times-", dir=arguments.scratch))
    measures = {"cold": measure_cold, "release": measure_release, "loop": measure_loop}
    try:
        figures = {what: measures[what](repository, target / what) for what in arguments.what}
    finally:
        shutil.rmtree(target, ignore_errors=True)
    print(json.dumps({"cores": os.cpu_count()} | figures, indent=2))


def measure_cold(repository, target):
    """What `cargo run` compiles."""
    command = ["cargo", "build", "-p", "recado", "--bin", "recado"]
    return run(command, repository, target) | {"program_mb": megabytes(target / "debug/recado")}


def measure_release(repository, target):
    """All programs that a machine needs."""
    command = ["cargo", "build", "--release", "-p", "recado", "--bin", "recado"]
    if "\nfull = [" in (repository / "functions/local/Cargo.toml").read_text():
        command += ["--features", "full"]
    return run(command, repository, target) | {"program_mb": megabytes(target / "release/recado")}


def measure_loop(repository, target):
    """From one changed line to the result of its test, and to the run of its command; the first build is not counted."""
    command_file = next((file, text) for file, text in COMMANDS if (repository / file).exists())
    return {
        "use_case": repeat_change(repository, target, TEST, *USE_CASE),
        "command": repeat_change(repository, target, COMMAND, *command_file),
    }


def repeat_change(repository, target, command, file, text):
    run(command, repository, target)
    path = repository / file
    before = path.read_text()
    if text not in before:
        sys.exit(f"{file} does not hold {text}")
    seconds = []
    try:
        for number in range(ROUNDS):
            changed = text[:-1] + f" {number}" + text[-1]
            path.write_text(before.replace(text, changed, 1))
            seconds.append(run(command, repository, target))
    finally:
        path.write_text(before)
    return sorted(seconds, key=lambda one: one["clock_s"])[ROUNDS // 2]


def run(command, repository, target):
    """Runs a command to its end, and returns what it took."""
    variables = {name: value for name, value in os.environ.items() if not re.match("CARGO_(PROFILE|INCREMENTAL|TARGET)|RECADO_", name)}
    variables["CARGO_TARGET_DIR"] = str(target)
    used, began = processor_seconds(), time.monotonic()
    done = subprocess.run(command, cwd=repository, env=variables, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-3000:]}")
    return {"clock_s": round(time.monotonic() - began, 1), "processor_s": round(processor_seconds() - used, 1)}


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def megabytes(path):
    return round(path.stat().st_size / 1e6, 1)


def parse_arguments():
    parser = argparse.ArgumentParser(description="How long builds take")
    parser.add_argument("repository", nargs="?", type=Path, default=HERE)
    parser.add_argument("--what", nargs="+", choices=["cold", "release", "loop"], default=["cold", "release", "loop"])
    parser.add_argument("--scratch", help="the folder for what is built; otherwise the system's own for such files")
    return parser.parse_args()


if __name__ == "__main__":
    main()
