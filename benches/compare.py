#!/usr/bin/env python3
"""Measures Recado beside the webhook servers that people write themselves: Express with Redis, FastAPI with Redis.

    benches/compare.py                              three rounds, 32 connections, then 1,000 webhooks a second
    benches/compare.py --connections 256 --rounds 5
    benches/compare.py --recado target/release/recado --no-build
    benches/compare.py --only Recado --only Express
    benches/compare.py --limit PROGRAM              beside a program that shows what one machine could take

Each round starts every server anew, the order turned around in every other round. First as many webhooks as the server
takes, then a steady rate, at which a latency counts from the time when its request was due. Prints the medians as Markdown.

The program of `--limit` is given the path of a database, and answers any path on port 8204: a bound, such as one row for each
webhook, without proof of the sender, without order and without processing.

Express and FastAPI come from npm and PyPI, pinned in benches/others, into target/compare. `redis-server` must be on the
PATH, or is taken from the packages of Debian into target/compare; without it the command says so and ends."""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import embedded
import machine
from evolution import forget_secrets, http_request, webhook_secret
from processes import UNIT_VARIABLES, MeasurementError, cpu_seconds, end, eventually, tail

ROOT = Path(__file__).resolve().parents[1]
OTHERS = Path(__file__).resolve().parent / "others"
TOOLS = ROOT / "target" / "compare"
REDIS_PACKAGES = ("redis-server", "redis-tools", "liblzf1", "libjemalloc2", "liblua5.1-0", "lua-cjson", "lua-bitop", "libhiredis0.14")
NUMBER, CONTACT = "@@NUMBER@@@@@@@@", "@CONTACT"
START_SECONDS_MAX = 30
SYNCS = {"everysec": "up to a second is lost when the power fails", "always": "each command is synced to the disk"}
FIGURES = (
    ("acknowledged a second, at most", "per_second", "{:,.0f}"),
    ("p50 then, ms", "p50_ms", "{:.1f}"),
    ("p99 then, ms", "p99_ms", "{:.1f}"),
    ("p99.9 then, ms", "p999_ms", "{:.1f}"),
    ("processor time of a webhook, µs", "cpu_us", "{:.0f}"),
    ("at the steady rate: p50, ms", "steady_p50_ms", "{:.1f}"),
    ("… p99, ms", "steady_p99_ms", "{:.1f}"),
    ("… p99.9, ms", "steady_p999_ms", "{:.1f}"),
    ("… acknowledged a second", "steady_per_second", "{:,.0f}"),
)


def main():
    parser = argparse.ArgumentParser(description="Measures Recado beside Express and FastAPI with Redis.")
    parser.add_argument("--recado", type=Path, default=ROOT / "target" / "release" / "recado")
    parser.add_argument("--no-build", action="store_true", help="take the binaries as they are")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--limit", type=Path, metavar="PROGRAM", help="measure this program, too, which is a bound and no product")
    parser.add_argument("--only", action="append", help="those whose name begins so; may be repeated")
    arguments = parser.parse_args()
    TOOLS.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="run-", dir=TOOLS))
    try:
        contestants = prepare(arguments)
        rounds = [measure_round(contestants, number, arguments, scratch) for number in range(arguments.rounds)]
        print_results(contestants, rounds, arguments, scratch)
    except MeasurementError as error:
        sys.exit(f"compare: {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def prepare(arguments):
    """What is measured: a name, its durability, and a function that starts it."""
    if not arguments.no_build:
        for package in (["recado", "--features", "full"], ["recado-load"]):
            run(["cargo", "build", "--quiet", "--release", "-p", *package], "the release build", cwd=ROOT)
    wanted = tuple(arguments.only or [""])
    synced = "each acknowledgement is synced to the disk"
    contestants = [
        ("Recado, replies on", synced, lambda folder: Recado(arguments.recado, folder, replies=True)),
        ("Recado, replies put off", synced, lambda folder: Recado(arguments.recado, folder, replies=False)),
    ]
    for name, prepare_command in (("Express", prepare_express), ("FastAPI", prepare_fastapi)):
        if not any(f"{name} + Redis, `{sync}`".startswith(wanted) for sync in SYNCS):
            continue
        redis, command = find_redis(), prepare_command()
        for sync, loses in SYNCS.items():
            start = lambda folder, redis=redis, command=command, sync=sync: WithRedis(redis, command, sync, folder)
            contestants.append((f"{name} + Redis, `{sync}`", loses, start))
    contestants = [contestant for contestant in contestants if contestant[0].startswith(wanted)]
    if arguments.limit:
        contestants.append(("Limit", synced, lambda folder: Limit(arguments.limit, folder)))
    return contestants


def prepare_express():
    """A function that makes of an environment the command, its environment and its folder."""
    modules = install_express()
    return lambda environment: (["node", "server.js"], environment, modules)


def prepare_fastapi():
    python = install_fastapi()
    return lambda environment: ([python, "-m", "uvicorn", "server:app", "--port", "0", "--no-access-log"], environment, OTHERS)


def run(command, what, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise MeasurementError(f"{what} failed:\n{(done.stderr or done.stdout)[-1500:]}")
    return done.stdout


def find_redis():
    """(program, environment) of a Redis server."""
    found = shutil.which("redis-server")
    if found:
        return found, dict(os.environ)
    folder = TOOLS / "redis"
    program = folder / "usr" / "bin" / "redis-server"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        if not shutil.which("apt-get"):
            raise MeasurementError("there is no redis-server on the PATH, and no apt-get to get one")
        for package in REDIS_PACKAGES:
            # A package may have another name, or be part of another, in this version of Debian: what counts is that it starts.
            subprocess.run(["apt-get", "download", package], cwd=folder, capture_output=True)
        for archive in folder.glob("*.deb"):
            run(["dpkg-deb", "-x", archive, folder], "unpacking Redis")
    libraries = ":".join(str(path) for path in folder.glob("usr/lib/*-linux-gnu*"))
    environment = dict(os.environ, LD_LIBRARY_PATH=libraries)
    started = program.exists() and subprocess.run([program, "--version"], env=environment, capture_output=True).returncode == 0
    if not started:
        raise MeasurementError("there is no redis-server on the PATH, and the packages of Debian gave none: install one")
    return str(program), environment


def install_express():
    folder = TOOLS / "express"
    folder.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json", "server.js"):
        shutil.copy(OTHERS / name, folder / name)
    run(["npm", "ci", "--no-audit", "--no-fund"], "installing Express", cwd=folder)
    return folder


def install_fastapi():
    folder = TOOLS / "venv"
    python = folder / "bin" / "python3"
    if not python.exists():
        run([sys.executable, "-m", "venv", folder], "making a Python environment")
    run([python, "-m", "pip", "install", "--quiet", "-r", OTHERS / "requirements.txt"], "installing FastAPI")
    return python


class Recado:
    """`recado serve` with a data folder of its own; model and provider are simulated, without latency unless `settings` say so. With
    `settings`, nothing is said of the debounce but by them."""

    def __init__(self, binary, folder, replies=True, settings=None, more="rate = { per_second = 1000, burst = 100000 }\n"):
        self.log = folder / "recado.log"
        configuration = folder / "recado.toml"
        configuration.write_text(embedded.CONFIGURATION + more)
        if settings is None:
            debounce = ("0", "5") if replies else ("300", "890")
            settings = {
                "RECADO_SIMULATED_LATENCY_MS": "0",
                "RECADO_DEBOUNCE_SECONDS": debounce[0],
                "RECADO_DEBOUNCE_MAX_SECONDS": debounce[1],
            }
        variables = {
            "RECADO_ADDR": "127.0.0.1:0",
            "RECADO_DATA": str(folder / "data"),
            "RECADO_CONFIG": str(configuration),
            "RECADO_WEBHOOK_SECRET": embedded.MASTER,
            "RECADO_TOKEN": "token-of-the-measurements-of-recado",
            "RECADO_SIMULATION": "auto",
        } | UNIT_VARIABLES | settings
        with open(self.log, "wb") as log:
            command = [str(Path(binary).resolve()), "serve"]
            process = subprocess.Popen(command, env=variables, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        self.processes = [process]

    def port(self):
        return embedded.port_of(self.processes[0], self.log)


class Limit:
    """A program that acknowledges and does nothing else."""

    PORT = 8204

    def __init__(self, program, folder):
        if self.answers():
            raise MeasurementError(f"port {self.PORT} is in use: end what listens there")
        self.log = folder / "limit.log"
        with open(self.log, "wb") as log:
            command = [str(program.resolve()), str(folder / "limit.db")]
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        self.processes = [process]

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.PORT), timeout=1).close()
        except OSError:
            return False
        return True

    def port(self):
        if not eventually(self.answers, START_SECONDS_MAX):
            raise MeasurementError(f"the program of --limit did not start:\n{tail(self.log)}")
        return self.PORT


class WithRedis:
    """A server of benches/others before a Redis with an append-only file."""

    def __init__(self, redis, command, sync, folder):
        program, environment = redis
        socket = folder / "redis.sock"
        redis_command = [program, "--port", "0", "--unixsocket", socket, "--dir", folder, "--save", "", "--appendonly", "yes", "--appendfsync", sync]
        self.processes, self.log = [], folder / "server.log"
        self.start(redis_command, environment, folder, folder / "redis.log")
        if not eventually(socket.exists, START_SECONDS_MAX):
            raise MeasurementError(f"Redis did not start:\n{tail(folder / 'redis.log')}")
        variables = dict(os.environ, WEBHOOK_SECRET=webhook_secret(), REDIS_SOCKET=str(socket), NODE_ENV="production")
        self.start(*command(variables), self.log)

    def start(self, command, environment, folder, log_path):
        with open(log_path, "wb") as log:
            words = [str(word) for word in command]
            process = subprocess.Popen(words, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        self.processes.append(process)

    def port(self):
        """The port that the system gave it, from its log: `port 1234`, or `…http://127.0.0.1:1234 …`."""
        found = []

        def said():
            text = self.log.read_text(errors="replace")
            for mark in ("port ", "http://127.0.0.1:"):
                digits = text.partition(mark)[2].split(" ")[0].strip()
                found.extend([int(digits)] if digits.isdigit() else [])
            return found or self.processes[-1].poll() is not None

        if not eventually(said, START_SECONDS_MAX) or not found:
            raise MeasurementError(f"the server did not start:\n{tail(self.log)}")
        return found[0]


def measure_round(contestants, number, arguments, scratch):
    order = list(range(len(contestants)))
    measured = {}
    for place in order if number % 2 == 0 else reversed(order):
        name, _, start = contestants[place]
        print(f"compare: round {number + 1}, {name}", file=sys.stderr)
        folder = Path(tempfile.mkdtemp(prefix="server-", dir=scratch))
        measured[place] = measure(start(folder), arguments, folder)
        shutil.rmtree(folder, ignore_errors=True)
    return measured


def measure(server, arguments, folder):
    try:
        address = f"127.0.0.1:{server.port()}"
        file, connections = write_template(address, folder), arguments.connections
        load(address, file, connections, 0, ["--seconds", 1])
        before = processor_seconds(server)
        most = load(address, file, connections, 10_000_000, ["--seconds", arguments.seconds])
        busy = processor_seconds(server) - before
        steady = load(address, file, connections, 20_000_000, ["--seconds", arguments.seconds, "--rate", arguments.rate])
        return most | {"cpu_us": busy / most["count"] * 1e6} | {f"steady_{key}": value for key, value in steady.items()}
    finally:
        for process in reversed(server.processes):
            end(process)


def processor_seconds(server):
    return sum(cpu_seconds(process.pid) for process in server.processes)


def write_template(address, folder, text=None):
    """The request that the load generator fills in. A digit of its own in each place, so that the length is that of every one."""
    forget_secrets()
    template = http_request(0, address, text).decode().replace(f"3EB0{0:016X}", f"3EB0{NUMBER}").replace("5511900000000@s", f"55119{CONTACT}@s")
    file = folder / "request"
    file.write_bytes(template.encode())
    return file


# The program that posts webhooks (benches/load).
LOAD = ROOT / "target" / "release" / "recado-load"


def load(address, template, connections, first, options, program=None):
    command = [program or LOAD, "--address", address, "--template", template]
    command += ["--connections", connections, "--first", first, *options]
    answers = json.loads(run(command, "the load generator"))["answers"]
    if set(answers["statuses"]) != {"200"}:
        raise MeasurementError(f"answered {answers['statuses']}")
    return answers


def print_results(contestants, rounds, arguments, scratch):
    facts = machine.facts(scratch)
    disk = facts["disk"]
    print(
        f"Measured on {facts['date']}: {facts['cpu']}, {facts['cores']} cores, {facts['kernel']}, {disk['file_system']} (write and sync of 4 KiB: "
        f"{disk['write_and_sync_ms']} ms), load {os.getloadavg()[0]:.1f}. {arguments.connections} connections, {arguments.rounds} rounds of "
        f"{arguments.seconds} s, medians; steady rate {arguments.rate:,} a second. One process of each server. Webhooks of Recado are processed meanwhile, too; nothing reads the streams of the others.\n"
    )
    print(f"| | {' | '.join(name for name, _, _ in contestants)} |\n|{' --- |' * (len(contestants) + 1)}")
    for title, key, form in FIGURES:
        medians = (statistics.median(one[place][key] for one in rounds) for place in range(len(contestants)))
        print(f"| {title} | {' | '.join(form.format(value) for value in medians)} |")
    print(f"| durability | {' | '.join(loses for _, loses, _ in contestants)} |")


if __name__ == "__main__":
    main()
