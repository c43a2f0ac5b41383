#!/usr/bin/env python3
"""Measures what two quiet tenants get while a third one attacks the installation, on one machine.

    benches/attack.py --binary target/release/recado                  5 minutes alone, then 30 minutes under attack
    benches/attack.py --binary target/release/recado --minutes 2 --alone 1

Each quiet tenant gets 5 messages a second, of contacts who wait for their replies; the model takes 0.3 seconds. The third tenant
has a token of the role `manager` and its instance's webhook secret, and uses all that both allow: JSON of any depth, documents
that are costly to read, floods, forged webhooks, schemas, a model that calls a tool with arguments that are costly to check, hosts of
the installation's network, large forms, and endpoints that are replaced while posts are under way. It comes from another address of the
loopback network, as it would from outside. It is bad if the 95th percentile of the quiet tenants' replies, from the moment at which the
contact wrote, becomes 1.2 times as long, if a message is answered twice, out of order or never, or if an attack is not refused.

Needs Python 3.11 or newer, nothing else. Run it on a machine that does nothing else: this program shares its processors. Ends with
1 if something is bad."""

import argparse
import asyncio
import base64
import collections
import copy
import io
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path

from evolution import MASTER, TOKEN, webhook_secret
from processes import MeasurementError, end, eventually, memory_kib, tail
from stand_ins import Server

ROOT = Path(__file__).resolve().parents[1]
MARK = "Recado listens on http://127.0.0.1:"
QUIET = ("quieta-01", "quieta-02")
ATTACKER = "atacante-01"
ATTACKING_ADDRESS = "127.0.0.2"
CONTACTS = 200
MODEL_SECONDS = 0.3
REPLIES_PER_SECOND = 5
RATIO_MAX = 1.2
REPLY_SECONDS_MAX = 60
ASKED = re.compile(r"pergunta-[0-9a-z-]+")
# Words by which the attacker's contacts make the model call its tool.
CALLS = "procura"
# What these may be answered; all others anything that is no error of the server. 0: there was no answer.
ALLOWED = {
    "deep JSON": {200, 400, 503}, "flood": {200, 503}, "call of a tool": {200, 503}, "forged webhook": {401}, "host of this machine": {422},
    "form": {400, 403, 413}, "guessed token": {401, 429}, "schema of a tool": {201, 422}, "endpoint": {201},
}


class Model(Server):
    """Answers as Anthropic's API after 0.3 seconds: with the question that it was asked last."""

    async def answer(self, method, path, headers, body):
        await asyncio.sleep(MODEL_SECONDS)
        asked = json.loads(body)
        last = json.dumps(asked["messages"][-1])
        found = ASKED.findall(last)
        text = f"resposta {found[-1]}" if found else "Não entendi."
        content, reason = {"type": "text", "text": text}, "end_turn"
        if CALLS in last and "tool_result" not in last and asked.get("tools"):
            content, reason = {"type": "tool_use", "id": "toolu_0", "name": "busca", "input": {"tree": nested_list(60)}}, "tool_use"
        message = {
            "id": "msg_000000000000000000000000", "type": "message", "role": "assistant", "model": asked["model"],
            "content": [content], "stop_reason": reason, "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }
        return 200, {"Content-Type": "application/json"}, json.dumps(message).encode()


class Evolution(Server):
    """Takes messages as Evolution API does. `sent`: (instance, text, moment) of each."""

    def __init__(self):
        super().__init__()
        self.sent = []
        self.numbers = itertools.count()

    async def answer(self, method, path, headers, body):
        told = {"Content-Type": "application/json"}
        if path.startswith("/message/sendText/"):
            instance = path.rsplit("/", 1)[1]
            asked = json.loads(body)
            self.sent.append((instance, asked.get("text", ""), time.monotonic()))
            key = {"remoteJid": f"{asked.get('number')}@s.whatsapp.net", "fromMe": True, "id": f"BAE5{next(self.numbers):016X}"}
            return 201, told, json.dumps({"key": key, "status": "PENDING"}).encode()
        if path.startswith("/instance/connectionState/"):
            name = path.rsplit("/", 1)[1]
            return 200, told, json.dumps({"instance": {"instanceName": name, "state": "open"}}).encode()
        return 404, told, b"{}"


class Slow(Server):
    """A host of the attacker: holds each request for some seconds, then fails."""

    async def answer(self, method, path, headers, body):
        await asyncio.sleep(5)
        return 500, {"Content-Type": "text/plain"}, b"no"


class Installation:
    """The program, and the connections to it from one address."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.log = binary, folder, folder / "serve.log"
        self.address = "127.0.0.1"

    def seen_from(self, address):
        other = copy.copy(self)
        other.address = address
        return other

    def open_connection(self):
        return asyncio.open_connection("127.0.0.1", self.port, local_addr=(self.address, 0))

    def start(self, model, evolution):
        variables = {
            "RECADO_ADDR": "127.0.0.1:0", "RECADO_DATA": str(self.folder / "data"), "RECADO_WEBHOOK_SECRET": MASTER,
            "RECADO_TOKEN": TOKEN, "RECADO_DEBOUNCE_SECONDS": "0", "RUST_LOG": "error",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model}", "ANTHROPIC_API_KEY": "key-of-the-model",
            "EVOLUTION_API_URL": f"http://127.0.0.1:{evolution}", "EVOLUTION_API_KEY": "key-of-evolution",
            # So that the attacker's endpoints and tools are asked at all: they are on this machine.
            "RECADO_PRIVATE_TOOLS": "true",
            "RECADO_CONFIG": str(self.folder / "recado.toml"),
        }
        (self.folder / "recado.toml").write_text("".join(customer(one) for one in (*QUIET, ATTACKER)))
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve"], env=variables, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
        if not eventually(lambda: MARK in self.log.read_text(errors="replace"), 60):
            raise MeasurementError(f"it did not start\n{tail(self.log)}")
        self.port = int(self.log.read_text(errors="replace").split(MARK, 1)[1].split()[0])

    async def ask(self, method, path, body=b"", headers=None, seconds=REPLY_SECONDS_MAX):
        """Returns (status, body) of an answer on a connection of its own; status 0 if there was none."""
        status, _, said = await self.exchange(method, path, body, headers, seconds)
        return status, said

    async def exchange(self, method, path, body, headers, seconds=REPLY_SECONDS_MAX):
        """Returns (status, lines of the head, body)."""
        body = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        lines = {"Host": "localhost", "Content-Length": str(len(body)), "Connection": "close", **(headers or {})}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        try:
            async with asyncio.timeout(seconds):
                reader, writer = await self.open_connection()
                try:
                    writer.write(head.encode() + b"\r\n" + body)
                    await writer.drain()
                    answer = await reader.read()
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return 0, [], b""
        head, _, said = answer.partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]) if head else 0, head.decode(errors="replace").split("\r\n"), said

    async def sign_in(self, token):
        """Returns the cookie of a session of the console."""
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
        _, head, _ = await self.exchange("POST", "/console/sign-in", f"token={token}".encode(), headers)
        cookies = [line.split(":", 1)[1].split(";")[0].strip() for line in head if line.lower().startswith("set-cookie:")]
        return "; ".join(cookies)

    async def call(self, method, path, body=b"", token=TOKEN):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "If-Match": "*"}
        return await self.ask(method, path, body, headers)

    async def make_token(self, wanted):
        status, said = await self.call("POST", "/v1/tokens", wanted)
        if status != 201:
            raise MeasurementError(f"the token was not made: {status} {said[:300]}")
        return json.loads(said)


def customer(instance):
    limits = "{ turns_per_hour = 0, end_loops = false }"
    return f"""
[[tenants]]
id = "t-{instance}"
[[agents]]
id = "a-{instance}"
tenant = "t-{instance}"
model = "claude-sonnet-4-5"
system_prompt = "Answer."
limits = {limits}
[[instances]]
id = "{instance}"
tenant = "t-{instance}"
agent = "a-{instance}"
provider = "evolution"
rate = {{ per_second = 80.0, burst = 20 }}
"""


def webhook(instance, number, identifier, message):
    return {
        "event": "messages.upsert", "instance": instance,
        "data": {
            "key": {"remoteJid": f"{number}@s.whatsapp.net", "fromMe": False, "id": identifier}, "pushName": "Maria Exemplo",
            "message": message, "messageType": next(iter(message)), "messageTimestamp": int(time.time()),
        },
    }


class QuietTenant:
    """Writes at even distances, whatever the replies do, and keeps what was asked and when it was acknowledged."""

    def __init__(self, there, instance, secret):
        self.there, self.instance, self.secret = there, instance, secret
        self.asked = {}
        self.numbers = itertools.count()
        self.under_way = set()

    async def write(self):
        """Posts a message until it is acknowledged. The contact waits from the first try on."""
        number, began = next(self.numbers), time.monotonic()
        words = f"pergunta-{self.instance}-{number:06d}"
        body = webhook(self.instance, f"55119{number % CONTACTS:08d}", f"3EB0{self.instance[-2:]}{number:014X}", {"conversation": words})
        headers = {"apikey": self.secret, "Content-Type": "application/json"}
        while True:
            status, _ = await self.there.ask("POST", "/webhooks/evolution", body, headers, seconds=15)
            if status == 200:
                self.asked[words] = began
                return
            await asyncio.sleep(0.2)

    async def write_for(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            task = asyncio.create_task(self.write())
            self.under_way.add(task)
            task.add_done_callback(self.under_way.discard)
            await asyncio.sleep(1 / REPLIES_PER_SECOND)
        await asyncio.gather(*self.under_way)


def nested_schema(levels):
    """A schema of some KB whose check would take 2 to the power of `levels` steps."""
    definitions = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)}
    return {"type": "object", "$ref": "#/$defs/a0", "$defs": {**definitions, f"a{levels}": {"type": "object"}}}


def recursive_schema():
    """A schema that looks twice at each part of a list within lists: 2 to the power of their depth times in all."""
    node = {"type": "array", "items": {"$ref": "#/$defs/node"}, "minItems": 1}
    return {"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}},
            "$defs": {"node": {"anyOf": [{**node, "maxItems": 1}, {**node, "maxItems": 2}]}}}


def nested_list(levels):
    return json.loads("[" * levels + "]" * levels)


def attackers_tool(slow):
    """The document by which the attacker's agent gets a tool that its model calls."""
    tool = {
        "id": f"t-{ATTACKER}-busca", "tenant": f"t-{ATTACKER}", "name": "busca", "description": "Finds.", "effect": "reads",
        "arguments": recursive_schema(), "http": {"method": "POST", "url": f"http://127.0.0.1:{slow}/find"},
    }
    agent = {
        "id": f"a-{ATTACKER}", "tenant": f"t-{ATTACKER}", "model": "claude-sonnet-4-5", "system_prompt": "Answer.",
        "limits": {"turns_per_hour": 0, "end_loops": False}, "tools": [tool["id"]],
    }
    return {"tools": [tool], "agents": [agent]}


def zipped(parts):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def costly_workbook():
    """A workbook with 200,000 sheets that all lead to one part of 20 MB."""
    namespace = "http://schemas.openxmlformats.org"
    sheets = '<sheet name="a" sheetId="1" r:id="rId1"/>' * 200_000
    relation = f'<Relationship Id="rId1" Type="{namespace}/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>'
    return zipped({
        "xl/workbook.xml": f'<workbook xmlns="{namespace}/spreadsheetml/2006/main" '
        f'xmlns:r="{namespace}/officeDocument/2006/relationships"><sheets>{sheets}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{namespace}/package/2006/relationships">{relation}</Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{namespace}/spreadsheetml/2006/main">' + "<col/>" * 3_300_000
        + "<sheetData/></worksheet>",
    })


def costly_table():
    """A table of 4 MB whose one column has a name of 600,000 characters that nobody sees."""
    return ("\u200b" * 600_000 + "\n" + "a\n" * 1_000_000).encode()


class Attacker:
    """All attacks, each again and again with a pause of its own. `answers`: how often each was answered with which status."""

    def __init__(self, there, secret, token, cookie, slow):
        self.there, self.secret, self.token, self.cookie, self.slow = there, secret, token, cookie, slow
        self.answers = collections.Counter()
        self.numbers = itertools.count()
        self.random = random.Random(7)
        workbook, table = costly_workbook(), costly_table()
        # Name, type and bytes of each, and its place in a webhook, made once.
        self.documents = [(*document, base64.b64encode(document[2])) for document in (
            ("precos.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", workbook),
            ("precos.csv", "text/csv", table),
            ("precos.html", "text/html", ("<div>" * 400_000).encode()),
            ("precos.pdf", "application/pdf", b"%PDF-1.7\n" + b"1 0 obj\n<</Kids[1 0 R]>>\nendobj\n" * 60_000),
        )]

    def count(self, what, status):
        self.answers[what, status] += 1

    async def again(self, pause, attack, deadline):
        while time.monotonic() < deadline:
            await attack()
            await asyncio.sleep(pause)

    async def run(self, seconds):
        deadline = time.monotonic() + seconds
        await asyncio.gather(*(self.again(pause, attack, deadline) for pause, attack in (
            (0.5, self.post_deep_json), (5, self.send_document), (10, self.add_document), (0.02, self.flood), (0.05, self.forge),
            (2, self.put_schema), (2, self.name_host), (1, self.post_form), (1, self.replace_endpoint), (0.5, self.guess_token),
            (5, self.leave_open), (0.5, self.call_tool),
        )))

    async def post_webhook(self, what, body, secret=None):
        headers = {"apikey": secret or self.secret, "Content-Type": "application/json"}
        status, _ = await self.there.ask("POST", "/webhooks/evolution", body, headers)
        self.count(what, status)

    async def post_deep_json(self):
        number, depth = next(self.numbers), self.random.choice([50, 63, 64, 65, 127, 1_000, 100_000])
        body = webhook(ATTACKER, f"55219{number % 50:08d}", f"DEEP{number:016X}", {"conversation": "fundo"})
        text = json.dumps(body)[:-2] + ',"contextInfo":' + "[" * depth + "]" * depth + "}}"
        await self.post_webhook("deep JSON", text.encode())

    async def send_document(self):
        number = next(self.numbers)
        name, media_type, content, encoded = self.random.choice(self.documents)
        message = {
            "documentMessage": {"fileName": name, "mimetype": media_type, "fileLength": str(len(content))}, "base64": "HERE",
        }
        body = json.dumps(webhook(ATTACKER, f"55218{number % 50:08d}", f"FILE{number:016X}", message)).encode()
        await self.post_webhook(f"{name} of a contact", body.replace(b"HERE", encoded))

    async def add_document(self):
        name, media_type, content, _ = self.random.choice(self.documents)
        path = f"/v1/agents/a-{ATTACKER}/knowledge?title={name}"
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": media_type}
        status, _ = await self.there.ask("POST", path, content, headers)
        self.count(f"{name} as knowledge", status)

    async def flood(self):
        number = next(self.numbers)
        await self.post_webhook("flood", webhook(ATTACKER, f"55217{number % 20:08d}", f"FLOD{number:016X}", {"conversation": "x" * 3000}))

    async def forge(self):
        number = next(self.numbers)
        body = webhook(QUIET[number % 2], f"55216{number % 50:08d}", f"FORG{number:016X}", {"conversation": "pergunta-forjada"})
        await self.post_webhook("forged webhook", body, self.secret)

    async def put_schema(self):
        tool = {
            "id": f"t-{ATTACKER}-other", "tenant": f"t-{ATTACKER}", "name": "other", "description": "Finds.", "effect": "reads",
            "arguments": nested_schema(self.random.choice([8, 40])), "http": {"method": "POST", "url": "https://tools.example/find"},
        }
        await self.there.call("DELETE", f"/v1/tools/{tool['id']}", token=self.token)
        status, _ = await self.there.call("POST", "/v1/tools", tool, self.token)
        self.count("schema of a tool", status)

    async def name_host(self):
        document = {"instances": [{
            "id": f"t-{ATTACKER}-02", "tenant": f"t-{ATTACKER}", "agent": f"a-{ATTACKER}", "provider": "evolution",
            "base_url": f"http://127.0.0.1:{self.slow}", "credential": f"env:RECADO_CREDENTIAL_T_{ATTACKER.upper().replace('-', '_')}_KEY",
        }]}
        path = self.random.choice(["/v1/config", "/v1/config?dry_run=true"])
        status, _ = await self.there.call("PUT", path, document, self.token)
        self.count("host of this machine", status)

    async def post_form(self):
        body = (".".join(["a"] * 5_000) + "=1").encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin", "Cookie": self.cookie}
        status, _ = await self.there.ask("POST", "/console/api/v1/conversations/x/labels", body, headers)
        self.count("form", status)

    async def replace_endpoint(self):
        await self.there.call("DELETE", "/v1/webhooks/crm", token=self.token)
        endpoint = {"id": "crm", "url": f"http://127.0.0.1:{self.slow}/events/{next(self.numbers)}"}
        status, _ = await self.there.call("POST", "/v1/webhooks", endpoint, self.token)
        self.count("endpoint", status)

    async def guess_token(self):
        status, _ = await self.there.call("GET", "/v1/conversations", token=f"guess-{next(self.numbers)}-of-a-token-of-32")
        self.count("guessed token", status)

    async def call_tool(self):
        number = next(self.numbers)
        body = webhook(ATTACKER, f"55215{number % 50:08d}", f"CALL{number:016X}", {"conversation": CALLS})
        await self.post_webhook("call of a tool", body)

    async def leave_open(self):
        """Connections that begin a request and never end it."""
        opened = []
        for _ in range(20):
            try:
                opened.append(await self.there.open_connection())
                opened[-1][1].write(b"POST /webhooks/evolution HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")
            except OSError:
                break
        await asyncio.sleep(10)
        for _, writer in opened:
            writer.close()
        self.count("request without an end", len(opened))


async def settle(tenants, evolution):
    """Waits until each question has its reply, and returns the seconds of each from its acknowledgement."""
    deadline = time.monotonic() + REPLY_SECONDS_MAX
    expected = sum(len(tenant.asked) for tenant in tenants)
    while time.monotonic() < deadline:
        if sum(instance in QUIET for instance, _, _ in evolution.sent) >= expected:
            break
        await asyncio.sleep(0.5)
    replied = {}
    for instance, text, at in evolution.sent:
        found = ASKED.search(text)
        if instance in QUIET and found:
            replied.setdefault((instance, found.group()), []).append(at)
    took, problems = [], []
    for tenant in tenants:
        newest = {}
        for words, at in sorted(tenant.asked.items()):
            moments = replied.pop((tenant.instance, words), [])
            if len(moments) != 1:
                problems.append(f"{words} was answered {len(moments)} times")
                continue
            took.append(moments[0] - at)
            contact = int(words.rsplit("-", 1)[1]) % CONTACTS
            if newest.get(contact, 0) > moments[0]:
                problems.append(f"{words} was answered before what the same contact asked before it")
            newest[contact] = moments[0]
    problems += [f"{words} was answered and never asked" for _, words in replied]
    return took, problems


def list_wrong_answers(answers):
    """What attacks were answered that they must not be, and the attacks that were never answered and so measured nothing."""
    wrong = [f"{what} was answered {status}, {times} times" for (what, status), times in answers.items()
             if status and status not in ALLOWED.get(what, range(200, 500)) and what != "request without an end"]
    answered = {what for what, status in answers if status}
    return wrong + [f"{what} was never answered" for what in {*ALLOWED, *(what for what, _ in answers)} - answered]


def percentile(times, share):
    return sorted(times)[max(0, -(-len(times) * share // 100) - 1)]


async def measure(arguments, folder):
    model, evolution, slow = Model(), Evolution(), Slow()
    ports = [await server.listen() for server in (model, evolution, slow)]
    there = Installation(arguments.binary.resolve(), folder)
    there.start(*ports[:2])
    try:
        host = f"127.0.0.1:{there.port}"
        secrets = {instance: webhook_secret(host, instance) for instance in (*QUIET, ATTACKER)}
        made = await there.make_token({"name": "atacante", "role": "manager", "tenant": f"t-{ATTACKER}"})
        status, said = await there.call("POST", "/v1/config", attackers_tool(ports[2]))
        if status != 200:
            raise MeasurementError(f"the attacker got no tool: {status} {said[:300]}")
        tenants = [QuietTenant(there, instance, secrets[instance]) for instance in QUIET]
        results = []
        for name, minutes in (("alone", arguments.alone), ("under attack", arguments.minutes)):
            began = len(results)
            for tenant in tenants:
                tenant.asked = {}
            attack = None
            if began:
                cookie = await there.sign_in(made["secret"])
                attacker = Attacker(there.seen_from(ATTACKING_ADDRESS), secrets[ATTACKER], made["secret"], cookie, ports[2])
                attack = asyncio.create_task(attacker.run(minutes * 60))
            await asyncio.gather(*(tenant.write_for(minutes * 60) for tenant in tenants))
            if attack:
                await attack
            took, problems = await settle(tenants, evolution)
            if not took:
                raise MeasurementError(f"nothing was answered\n{tail(there.log)}")
            evolution.sent.clear()
            results.append((name, took, problems))
            print(f"{name}: {len(took)} replies, p50 {statistics.median(took) * 1000:.0f} ms, "
                  f"p95 {percentile(took, 95) * 1000:.0f} ms, most {max(took) * 1000:.0f} ms; {len(problems)} problems")
            for problem in problems[:10]:
                print(f"  {problem}")
        for (what, status), times in sorted(attacker.answers.items()):
            print(f"  {what}: {status}, {times} times")
        wrong = list_wrong_answers(attacker.answers)
        for problem in wrong:
            print(f"  {problem}")
        health, _ = await there.ask("GET", "/health")
        print(f"  health afterwards: {health}; memory: now {memory_kib(there.process.pid)[0] // 1024} MiB, "
              f"at most {memory_kib(there.process.pid)[1] // 1024} MiB")
        ratio = percentile(results[1][1], 95) / percentile(results[0][1], 95)
        print(f"p95 under attack: {ratio:.2f} times as long")
        return ratio <= RATIO_MAX and not any(problems for _, _, problems in results) and not wrong and health == 200
    finally:
        end(there.process)
        for server in (model, evolution, slow):
            await server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "target" / "release" / "recado")
    parser.add_argument("--alone", type=float, default=5, help="minutes without an attack")
    parser.add_argument("--minutes", type=float, default=30, help="minutes under attack")
    arguments = parser.parse_args()
    print(f"Load average before: {os.getloadavg()[0]:.1f}; {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        held = asyncio.run(measure(arguments, Path(folder)))
    raise SystemExit(0 if held else 1)


if __name__ == "__main__":
    main()
