#!/usr/bin/env python3
"""Webhooks at a fixed rate through restarts, a `kill -9` and an upgrade: how many are refused, lost or answered twice.

    benches/restart.py --binary target/release/recado [--before OLD] [--folder FOLDER.tar.gz] [--rate 1000] [--seconds 40]
    benches/restart.py --binary … --systemd                         # the installed units, under a systemd that runs; as root

Each webhook comes from a contact of its own, on a connection of its own, as Evolution API makes them. A
stand-in of Evolution API and of the model counts what arrives on the phones. Like Evolution 1, the client repeats nothing, except where `kill -9`
cut a request off: that one it posts again, as providers do that repeat. `--before`: the program that runs until the upgrade.
`--folder`: the data folder to begin with, such as one of tests/formats. Ends with 1 if anything was refused, lost or
answered twice."""

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from evolution import MASTER, text_message, webhook_secret
from processes import MeasurementError, eventually
from stand_ins import Server

INSTANCES = [f"loja-{number:02}" for number in range(1, 11)]
BACKLOG = 4096  # As in infra/systemd/recado.socket.
FIRST_DIGITS = "55119"
ANSWER_SECONDS_MAX = 90
START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 150
IDLE_SECONDS_MAX = 90
UNIT = "recado.service"
INSTALLED = Path("/usr/local/bin/recado")
CONFIGURATION = """
[[tenants]]
id = "measured"
time_zone = "America/Sao_Paulo"

[[agents]]
id = "measured-agent"
tenant = "measured"
model = "claude-sonnet-4-5"
system_prompt = "You answer briefly."
error_message = "Desculpe, pode repetir?"
limits = { turns_per_hour = 0, end_loops = false }
""" + "".join(
    f"""
[[instances]]
id = "{instance}"
tenant = "measured"
agent = "measured-agent"
provider = "evolution"
rate = {{ per_second = 200.0, burst = 200 }}
"""
    for instance in INSTANCES
)


MODEL_ANSWER = {
    "id": "msg_000000000000000000000000",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "Sim, até as 18h."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 10},
}


class Evolution(Server):
    """Takes every message, and tells what it took. It answers for the model, too."""

    def __init__(self, arrived):
        super().__init__()
        self.arrived = arrived
        self.sent = {}

    async def answer(self, method, path, headers, body):
        request = json.loads(body) if body else {}
        if "/message/sendText/" in path:
            return self._send(request)
        if "/chat/findMessages/" in path:
            found = self.sent.get(contact_number(request["where"]["key"]["remoteJid"]), [])
            answer = {"messages": {"total": len(found), "pages": 1, "currentPage": 1, "records": found}}
            return 200, {"Content-Type": "application/json"}, json.dumps(answer if "page" in request else found).encode()
        if path.endswith("/v1/messages"):
            return 200, {"Content-Type": "application/json"}, json.dumps(MODEL_ANSWER | {"model": request["model"]}).encode()
        answer = {"instance": {"instanceName": path.rsplit("/", 1)[-1], "state": "open"}}
        return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()

    def _send(self, request):
        number = contact_number(request["number"])
        self.arrived[number] = min(255, self.arrived[number] + 1)
        text = request.get("text") or request["textMessage"]["text"]
        record = {
            "key": {"remoteJid": f"{FIRST_DIGITS}{number:08d}@s.whatsapp.net", "fromMe": True, "id": f"S{number}-{self.arrived[number]}"},
            "message": {"conversation": text},
            "messageType": "conversation",
            "messageTimestamp": int(time.time()),
            "status": "PENDING",
        }
        self.sent.setdefault(number, []).append(record)
        return 201, {"Content-Type": "application/json"}, json.dumps(record).encode()


def contact_number(address):
    return int(address.split("@")[0].lstrip("+")[-8:])


def serve_evolution(port_pipe, arrived):
    async def run():
        port_pipe.send(await Evolution(arrived).listen())
        await asyncio.Event().wait()

    asyncio.run(run())


class Webhooks:
    """Posts the webhooks when they are due, whatever the server does."""

    def __init__(self, port, count, rate, acknowledged):
        self.port, self.count, self.rate, self.acknowledged = port, count, rate, acknowledged
        self.failures = []
        self.statuses = {}
        self.latencies = []

    async def run(self):
        began = time.monotonic()
        tasks = set()
        for number in range(self.count):
            due = began + number / self.rate
            wait = due - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            task = asyncio.create_task(self.post(number, due))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)
        return {"failures": self.failures, "statuses": self.statuses, "latencies": self.latencies}

    async def post(self, number, due):
        request = http_request(number, self.port)
        for attempt in range(20):
            status, why = await self.ask(number, request)
            if status == 200:
                self.acknowledged[number] = 1
                self.latencies.append((due, time.monotonic() - due))
                return
            self.failures.append((time.monotonic(), number, attempt, why or status))
            await asyncio.sleep(1)

    async def ask(self, number, request):
        """(status, None), or (None, why there is none)."""
        writer = None
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                # Many addresses, so that no port is used again too soon.
                source = (f"127.0.1.{number % 200 + 1}", 0)
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=source)
                writer.write(request)
                line = await reader.readline()
                if not line:
                    return None, "closed without an answer"
                status = int(line.split()[1])
                self.statuses[status] = self.statuses.get(status, 0) + 1
                await reader.read()
                return status, None
        except (OSError, TimeoutError) as error:
            return None, type(error).__name__
        finally:
            if writer:
                writer.close()


def http_request(number, port):
    instance = INSTANCES[number % len(INSTANCES)]
    body = json.loads(text_message(number, contacts=100_000_000))
    body["instance"] = instance
    body = json.dumps(body, ensure_ascii=False).encode()
    secret = webhook_secret(f"127.0.0.1:{port}", instance)
    head = (
        f"POST /webhooks/evolution HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"apikey: {secret}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def post_webhooks(results_pipe, *arguments):
    results_pipe.send(asyncio.run(Webhooks(*arguments).run()))


class SocketHolder:
    """Holds the listening socket and starts the program on it, as a service manager does."""

    def __init__(self, binary, scratch, settings, folder):
        self.binary, self.scratch = binary, scratch
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(BACKLOG)
        self.port = self.socket.getsockname()[1]
        (scratch / "recado.toml").write_text(CONFIGURATION)
        data = scratch / "data"
        if folder:
            data.mkdir(mode=0o700)
            subprocess.run(["tar", "-xzf", folder, "--no-same-owner", "-C", data], check=True)
        self.variables = settings | {"RECADO_DATA": str(data), "RECADO_CONFIG": str(scratch / "recado.toml")}
        self.process = None

    def start(self):
        command = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" serve 3<&0 0</dev/null'
        with open(self.scratch / "serve.log", "ab") as log:
            self.process = subprocess.Popen(
                ["/bin/sh", "-c", command, self.binary], stdin=self.socket, stdout=log, stderr=log, env=self.variables
            )

    def restart(self, signal="TERM"):
        self.process.send_signal({"TERM": 15, "HUP": 1}[signal])
        status = self.process.wait(STOP_SECONDS_MAX)
        if status != 0:
            raise MeasurementError(f"it ended with {status}")
        self.start()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def upgrade(self, binary):
        self.binary = binary
        self.restart()

    def end(self):
        if self.process:
            self.process.terminate()
            self.process.wait(STOP_SECONDS_MAX)


class Systemd:
    """The installed units. Their files and the user are there; this writes the keys and the configuration."""

    port = 8080

    def __init__(self, binary, settings, folder):
        subprocess.run(["systemctl", "stop", "recado.socket", UNIT], check=False)
        shutil.rmtree("/var/lib/recado", ignore_errors=True)
        if folder:
            subprocess.run(["install", "-d", "-m", "0700", "-o", "recado", "-g", "recado", "/var/lib/recado"], check=True)
            subprocess.run(["tar", "-xzf", folder, "--no-same-owner", "-C", "/var/lib/recado"], check=True)
            subprocess.run(["chown", "-R", "recado:", "/var/lib/recado"], check=True)
        Path("/etc/recado").mkdir(exist_ok=True)
        Path("/etc/recado/recado.toml").write_text(CONFIGURATION)
        keys = Path("/etc/recado/keys")
        keys.touch(mode=0o600)
        keys.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self.install(binary)

    @staticmethod
    def install(binary):
        subprocess.run(["install", binary, INSTALLED], check=True)

    @staticmethod
    def systemctl(*arguments):
        subprocess.run(["systemctl", *arguments], check=True, timeout=2 * STOP_SECONDS_MAX)

    def start(self):
        self.systemctl("start", "recado.socket", UNIT)

    def restart(self, signal="TERM"):
        if signal == "TERM":
            return self.systemctl("restart", UNIT)
        before = self.main_process()
        self.systemctl("kill", "--kill-whom=main", f"--signal={signal}", UNIT)
        self.wait_for_another(before)

    def kill(self):
        before = self.main_process()
        self.systemctl("kill", "--signal=KILL", UNIT)
        self.wait_for_another(before)

    def upgrade(self, binary):
        self.install(binary)
        self.restart()

    def end(self):
        self.systemctl("stop", "recado.socket", UNIT)

    @staticmethod
    def main_process():
        shown = subprocess.run(["systemctl", "show", "--property=MainPID", "--value", UNIT], capture_output=True, check=True)
        return int(shown.stdout)

    def wait_for_another(self, before):
        if not eventually(lambda: self.main_process() not in (0, before), STOP_SECONDS_MAX):
            raise MeasurementError("systemd did not start it anew")


def is_healthy(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=START_SECONDS_MAX) as answer:
            return answer.status == 200
    except OSError:
        return False


def disturb(manager, binary, seconds):
    """Does each thing to the program, at even distances. Returns what was done, and from when to when."""
    steps = [
        ("restart by SIGTERM", manager.restart),
        ("restart by SIGHUP", lambda: manager.restart("HUP")),
        ("kill -9 and start", manager.kill),
        ("upgrade", lambda: manager.upgrade(binary)),
    ]
    began, done = time.monotonic(), []
    for number, (what, step) in enumerate(steps, 1):
        time.sleep(max(0, began + number * seconds / (len(steps) + 1) - time.monotonic()))
        since = time.monotonic()
        step()
        if not eventually(lambda: is_healthy(manager.port), START_SECONDS_MAX):
            raise MeasurementError(f"{what}: it does not answer any more")
        done.append((what, since, time.monotonic()))
    return done


def wait_for_replies(arrived, acknowledged):
    """Waits until each acknowledged webhook has its reply, or no reply comes any more."""
    answered, changed = -1, time.monotonic()
    while time.monotonic() - changed < IDLE_SECONDS_MAX:
        now = sum(1 for is_known, count in zip(acknowledged, arrived) if is_known and count)
        if now == sum(acknowledged):
            time.sleep(3)  # A second reply would come now.
            return
        if now != answered:
            answered, changed = now, time.monotonic()
        time.sleep(0.5)


def judge(steps, load, arrived, acknowledged):
    """What came of it."""
    killed = next((since, until + 1) for what, since, until in steps if what.startswith("kill"))
    cut_off = [failure for failure in load["failures"] if killed[0] <= failure[0] <= killed[1]]
    refused = [failure for failure in load["failures"] if failure not in cut_off]
    found = {}
    for what, since, until in steps:
        slowest = max((latency for due, latency in load["latencies"] if since - 1 <= due <= until), default=0)
        found[what] = {"seconds": round(until - since, 2), "slowest_acknowledgement_s": round(slowest, 2)}
    latencies = sorted(latency for _, latency in load["latencies"])
    return {
        "webhooks": len(acknowledged),
        "acknowledged": sum(acknowledged),
        "refused": len(refused),
        "lost": sum(1 for known, count in zip(acknowledged, arrived) if known and not count),
        "twice": sum(1 for count in arrived if count > 1),
        "cut_off_by_kill_and_repeated": len(cut_off),
        "median_acknowledgement_ms": round(latencies[len(latencies) // 2] * 1000, 1),
        "steps": found,
        "why_refused": sorted({str(failure[3]) for failure in refused}),
    }


def main():
    arguments = parse_arguments()
    # While the program is started anew, the connections of some seconds wait.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    count = arguments.rate * arguments.seconds
    arrived = multiprocessing.Array("B", count, lock=False)
    acknowledged = multiprocessing.Array("B", count, lock=False)
    port_here, port_there = multiprocessing.Pipe()
    evolution = multiprocessing.Process(target=serve_evolution, args=(port_there, arrived), daemon=True)
    evolution.start()
    stand_in = f"http://127.0.0.1:{port_here.recv()}"
    settings = {
        "EVOLUTION_API_URL": stand_in,
        "EVOLUTION_API_KEY": "evolution-key",
        "ANTHROPIC_BASE_URL": stand_in,
        "ANTHROPIC_API_KEY": "anthropic-key",
        "RECADO_WEBHOOK_SECRET": MASTER,
        "RECADO_TOKEN": "token-of-the-measurements-of-recado",
        "RECADO_DEBOUNCE_SECONDS": "0",
        "RECADO_UNKNOWN_WAIT_SECONDS": "2",
        "RECADO_CREDENTIAL_SHOP_KEY": "named by the folders of tests/formats",
        "RUST_LOG": "warn",
    }
    scratch = Path(tempfile.mkdtemp(prefix="restart-", dir=arguments.scratch))
    first, binary = arguments.before or arguments.binary, arguments.binary
    if arguments.systemd:
        manager = Systemd(first, settings, arguments.folder)
    else:
        manager = SocketHolder(first, scratch, settings, arguments.folder)
    try:
        manager.start()
        if not eventually(lambda: is_healthy(manager.port), START_SECONDS_MAX):
            raise MeasurementError("it did not start")
        results_here, results_there = multiprocessing.Pipe()
        poster = multiprocessing.Process(
            target=post_webhooks, args=(results_there, manager.port, count, arguments.rate, acknowledged), daemon=True
        )
        poster.start()
        steps = disturb(manager, binary, arguments.seconds)
        load = results_here.recv()
        wait_for_replies(arrived, acknowledged)
    finally:
        manager.end()
        evolution.terminate()
    report = {"rate": arguments.rate} | judge(steps, load, arrived, acknowledged)
    print(json.dumps(report, indent=2))
    faults = {name: report[name] for name in ("refused", "lost", "twice") if report[name]}
    if faults or report["acknowledged"] != count:
        sys.exit(f"{faults or 'not all were acknowledged'}: see {scratch}")
    shutil.rmtree(scratch)


def parse_arguments():
    parser = argparse.ArgumentParser(description="Webhooks through restarts and an upgrade")
    parser.add_argument("--binary", required=True, type=os.path.abspath)
    parser.add_argument("--before", type=os.path.abspath, help="the program that runs until the upgrade")
    parser.add_argument("--folder", type=os.path.abspath, help="the data folder to begin with, as .tar.gz")
    parser.add_argument("--rate", type=int, default=1000, help="webhooks a second")
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--scratch", default=tempfile.gettempdir())
    parser.add_argument("--systemd", action="store_true", help="drive the installed units")
    return parser.parse_args()


if __name__ == "__main__":
    main()
