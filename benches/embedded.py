"""Acknowledgements of `recado serve`: webhooks over kept connections, every one of them stored.

The server has a data folder of its own under target/, on the disk that the repository lies on, since an
acknowledgement is only given once its commits are on the disk. Model and provider are simulated, and replies are put
off by five minutes, so that what is measured is taking messages in: acknowledging them, and storing them at the same
time."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from evolution import INSTANCE, MASTER
from processes import MeasurementError, cpu_seconds, end, eventually, memory_kib, tail

HERE = Path(__file__).resolve().parent
START_SECONDS_MAX = 30
LOAD_SECONDS_MAX = 960
STORED_SECONDS_MAX = 280  # Before the first reply is due.
CONFIGURATION = f"""
[[tenants]]
id = "measured"
name = "Measured"
time_zone = "America/Sao_Paulo"

[[agents]]
id = "ana"
tenant = "measured"
model = "claude-sonnet-4-5"
system_prompt = "You answer briefly."
error_message = "Desculpe, pode repetir?"
limits = {{ turns_per_hour = 0, end_loops = false }}

[[instances]]
id = "{INSTANCE}"
tenant = "measured"
agent = "ana"
provider = "evolution"
"""


def measure(binary, messages, clients, scratch):
    """Posts `messages` webhooks from `clients` clients to a fresh server."""
    folder = Path(tempfile.mkdtemp(prefix="serve-", dir=scratch))
    log_path = folder / "serve.log"
    try:
        server = start(binary, folder, log_path)
        try:
            return load_and_check(server, folder, log_path, messages, clients)
        finally:
            end(server)
    except MeasurementError as error:
        raise MeasurementError(f"recado serve, {clients} clients: {error}\n{tail(log_path)}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def start(binary, folder, log_path):
    configuration = folder / "recado.toml"
    configuration.write_text(CONFIGURATION)
    # Nothing of this machine's own environment: a key there would end the simulation.
    variables = {
        "RECADO_ADDR": "127.0.0.1:0",
        "RECADO_DATA": str(folder / "data"),
        "RECADO_CONFIG": str(configuration),
        "RECADO_WEBHOOK_SECRET": MASTER,
        "RECADO_TOKEN": "token-of-the-measurements-of-recado",
        "RECADO_SIMULATION": "auto",
        "RECADO_DEBOUNCE_SECONDS": "300",
        "RECADO_DEBOUNCE_MAX_SECONDS": "890",
        "RUST_LOG": "warn",
    }
    with open(log_path, "wb") as log:
        return subprocess.Popen(
            [binary, "serve"], env=variables, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )


def port_of(server, log_path):
    """The port that the system gave it, from its first line."""
    mark = "Recado listens on http://127.0.0.1:"

    def said():
        return mark in log_path.read_text(errors="replace") or server.poll() is not None

    if not eventually(said, START_SECONDS_MAX) or server.poll() is not None:
        raise MeasurementError("it did not start")
    return int(log_path.read_text(errors="replace").split(mark, 1)[1].split()[0])


def load_and_check(server, folder, log_path, messages, clients):
    port = port_of(server, log_path)
    idle, _ = memory_kib(server.pid)
    busy_before = cpu_seconds(server.pid)
    loaded = load(port, messages, clients)
    busy = cpu_seconds(server.pid) - busy_before
    if loaded["statuses"] != {"200": messages}:
        raise MeasurementError(f"answered {loaded['statuses']} instead of {messages} times 200")
    database = folder / "data" / "recado.db"
    waited = time.monotonic()
    if not eventually(lambda: count(database, "messages") >= messages, STORED_SECONDS_MAX, pause=0.1):
        raise MeasurementError(f"stored {count(database, 'messages')} of {messages} messages")
    stored_after = time.monotonic() - waited
    found = {table: count(database, table) for table in ("messages", "events", "conversations")}
    found["dead_letters"] = count(database, "records WHERE partition = 'dead-letters.all#'")
    if (found["messages"], found["events"], found["dead_letters"]) != (messages, messages, 0):
        raise MeasurementError(f"{messages} messages were acknowledged, and the database holds {found}")
    resident, peak = memory_kib(server.pid)
    return loaded | {
        "messages": messages,
        "clients": clients,
        "server_cpu_share": busy / loaded["seconds"],
        "stored_after_last_answer_s": stored_after,
        "stored_per_second": messages / (loaded["seconds"] + stored_after),
        "stored": found,
        "idle_rss_kib": idle,
        "rss_kib": resident,
        "peak_kib": peak,
        "database_bytes": sum(file.stat().st_size for file in database.parent.glob("recado.db*")),
    }


def load(port, messages, clients):
    command = [sys.executable, "-B", str(HERE / "load.py"), str(port), "0", str(messages), str(clients)]
    # On time-out, `run` ends the process that it started.
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), timeout=LOAD_SECONDS_MAX)
    if done.returncode != 0:
        raise MeasurementError(f"the load generator failed:\n{done.stderr[-1000:]}")
    return json.loads(done.stdout)


def count(database, table):
    """Rows of a table, read beside the running server and without writing."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)
    try:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    finally:
        connection.close()
