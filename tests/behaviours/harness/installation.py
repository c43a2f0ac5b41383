"""The program under test: one that the suite starts on loopback, or one that runs elsewhere and is named by its base URL."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from harness.models import Anthropic, OpenAi
from harness.partners import Calendar, Carrier, Host
from harness.phones import Evolution, Graph
from harness.tenant import KEYED, Tenant
from harness.waiting import FACTOR
from harness.web import request

TOKEN = "token-of-the-behaviours-0123456789abcdef"
APP_SECRET, VERIFY_TOKEN = "app-secret-of-the-behaviours", "verify-token-of-the-behaviours"
LISTENS = re.compile(rb"listens on (http://127\.0\.0\.1:\d+)")
START_SECONDS = 60


class Partners:
    """All stand-ins. With a first port they listen at fixed ports, one behind the other, for a program that is set up for them."""

    KINDS = {"evolution": Evolution, "meta": Graph, "dialog360": Graph, "anthropic": Anthropic, "openai": OpenAi,
             "carrier": Carrier, "calendar": Calendar, "host": Host}

    def __init__(self, first_port=0):
        for place, (name, kind) in enumerate(self.KINDS.items()):
            setattr(self, name, kind(first_port and first_port + place))

    def close(self):
        for name in self.KINDS:
            getattr(self, name).close()

    def settings(self):
        """The variables by which a program finds the stand-ins, and the keys that it gives them."""
        calendar_key = json.dumps({"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"})
        keyed = {}
        for tenant in KEYED:
            prefix = f"RECADO_CREDENTIAL_{tenant.upper().replace('-', '_')}"
            keyed |= {f"{prefix}_KEY": f"key-of-{tenant}", f"{prefix}_CALENDAR": calendar_key}
        return {
            "EVOLUTION_API_URL": self.evolution.url, "EVOLUTION_API_KEY": "key-of-evolution",
            "META_BASE_URL": self.meta.url, "META_ACCESS_TOKEN": "key-of-meta", "META_APP_SECRET": APP_SECRET,
            "META_VERIFY_TOKEN": VERIFY_TOKEN, "D360_BASE_URL": self.dialog360.url, "D360_API_KEY": "key-of-360dialog",
            "ANTHROPIC_BASE_URL": self.anthropic.url, "ANTHROPIC_API_KEY": "key-of-anthropic",
            "OPENAI_BASE_URL": self.openai.url, "OPENAI_API_KEY": "key-of-openai",
            "RECADO_EMBEDDINGS_URL": self.openai.url, "RECADO_TRANSCRIPTION_URL": self.openai.url,
            "RESEND_BASE_URL": self.carrier.url, "GOOGLE_CALENDAR_BASE_URL": f"{self.calendar.url}/calendar/v3",
            "GOOGLE_TOKEN_URL": f"{self.calendar.url}/token", **keyed,
        }


class Installation:
    """A running program, as its clients see it."""

    def __init__(self, partners, url="", token=TOKEN):
        self.partners, self.url, self.token = partners, url, token
        self.applying = threading.Lock()

    def ask(self, method, path, body=None, token=None, headers=None, seconds=60, source=None):
        """Sends one request, with the installation's token unless another is given; `token=""` sends none."""
        token = self.token if token is None else token
        proof = {"Authorization": f"Bearer {token}"} if token else {}
        return request(self.url, method, path, body, {**proof, **(headers or {})}, seconds, source)

    def get(self, path, **more):
        answer = self.ask("GET", path, **more)
        assert answer.status == 200, f"GET {path}: {answer.status} {answer.text()[:500]}"
        return answer.json()

    def do(self, method, path, body=None, status=(200, 201, 202, 204), **more):
        """Sends one request that is to succeed, and returns its JSON, if it has any."""
        answer = self.ask(method, path, body, **more)
        wanted = status if isinstance(status, tuple) else (status,)
        assert answer.status in wanted, f"{method} {path}: {answer.status} {answer.text()[:500]}"
        return answer.json() if answer.body[:1] in (b"{", b"[") else {}

    def apply(self, document):
        with self.applying:
            return self.do("POST", "/v1/config", document)

    def tenant(self, provider="evolution", **more):
        """Makes a tenant with an agent and an instance, and returns it."""
        return Tenant(self, provider, **more)


class Program(Installation):
    """A program of the suite's own, with its data in a folder of its own."""

    SETTINGS = {
        "RECADO_ADDR": "127.0.0.1:0", "RECADO_TOKEN": TOKEN, "RECADO_WEBHOOK_SECRET": "master-secret-of-the-behaviours",
        "RUST_LOG": "info", "RECADO_LOG": "json", "TZ": "UTC", "RECADO_OUTBOUND_BACKOFF": "0.2,0.3,0.4",
        "RECADO_INBOUND_BACKOFF": "0.2", "RECADO_TURNS_BACKOFF": "0.2", "RECADO_UNKNOWN_WAIT_SECONDS": "2",
        "RECADO_PRIVATE_MEDIA": "true", "RECADO_PRIVATE_TOOLS": "true", "RECADO_METRICS_INSTANCES": "500",
        "RECADO_CONNECTIONS_PER_ADDRESS": "512",
    }
    DOCUMENT = '[[tenants]]\nid = "home"\n'

    def __init__(self, binary, partners, settings=None, without=()):
        super().__init__(partners)
        self.folder = Path(tempfile.mkdtemp(prefix="recado-behaviours-"))
        self.binary, self.process = str(Path(binary).resolve()), None
        (self.folder / "recado.toml").write_text(self.DOCUMENT)
        own = {"RECADO_DATA": str(self.folder / "data"), "RECADO_CONFIG": str(self.folder / "recado.toml"), "HOME": str(self.folder),
               "PATH": os.environ.get("PATH", "")}
        self.settings = {**own, **self.SETTINGS, **partners.settings(), **(settings or {})}
        for name in without:
            self.settings.pop(name, None)
        try:
            self.start()
        except AssertionError:
            self.close()
            raise

    def start(self):
        """Starts the program, and waits until it listens."""
        begin = self.log_path.stat().st_size if self.log_path.exists() else 0
        with open(self.log_path, "ab") as log:
            # Nothing that it writes may be open to others, whatever the service manager allows.
            self.process = subprocess.Popen([self.binary, "serve"], env=self.settings, cwd=self.folder, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, umask=0)
        end = time.monotonic() + START_SECONDS * FACTOR
        while time.monotonic() < end:
            if found := LISTENS.search(self.log_path.read_bytes()[begin:]):
                self.url = found[1].decode()
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError("the program did not start:\n" + self.log()[-2000:])

    @property
    def log_path(self):
        return self.folder / "serve.log"

    def log(self):
        return self.log_path.read_text(errors="replace")

    def lines(self, text):
        """The log lines that hold a text, as objects."""
        return [json.loads(line) for line in self.log().splitlines() if text in line and line.startswith("{")]

    def kill(self):
        """Ends the program at once, as a crash does."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends the program as a service manager does, and returns its status."""
        self.process.terminate()
        return self.process.wait(120 * FACTOR)

    def run(self, *arguments, seconds=60):
        """Runs one command of the program against this installation."""
        return subprocess.run([self.binary, *arguments], env={**self.settings, "RECADO_URL": self.url}, cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds * FACTOR)

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
