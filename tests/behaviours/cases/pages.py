"""The `curl` commands of the pages, as a reader pastes them into a shell."""
import os
import re
import subprocess
import textwrap
from pathlib import Path

from cases import KEYS
from harness.registry import behaviour
from harness.waiting import FACTOR, holds, same, until

ROOT = Path(__file__).resolve().parents[3]
# These have tests of their own, which compare the answers with what the page shows, or need what only they have.
PLAYED_ELSEWHERE = ("docs/http-examples.md", "docs/delivery-service.md")
FIRST_STEPS = "docs/first-steps.md"
FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.M | re.S)


def find_blocks():
    """The blocks that call `curl`, by page: fenced ones, and the indented ones of the steps of a runbook."""
    found = {}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = path.read_text()
        blocks = [block for language, block in FENCED.findall(text) if language == "sh"]
        blocks += re.findall(r"(?:^ {4,}\S.*\n)+", FENCED.sub("", text), re.M)
        if blocks := [textwrap.dedent(block) for block in blocks if re.search(r"^ *curl ", block, re.M)]:
            found[str(path.relative_to(ROOT))] = blocks
    return found


def paste(blocks, places, folder, **variables):
    """Runs blocks in one shell, with what a reader puts into their places; returns what they print. An answer that is no success ends it."""
    script = 'set -eu\ncurl() { command curl --fail-with-body --max-time 30 "$@"; }\n' + "\n".join(blocks)
    for place, thing in places.items():
        script = script.replace(place, thing)
    done = subprocess.run(["bash", "-c", script], env={"PATH": os.environ.get("PATH", ""), **variables}, cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120 * FACTOR)
    same(done.returncode, 0, f"{script}\n{done.stdout}{done.stderr}")
    return done.stdout


@behaviour("1.177", "The `curl` commands of runbooks, and of the pages on providers and events, are answered as they are pasted")
def pasted(recado):
    evolution, dialog360 = recado.partners.evolution, recado.partners.dialog360
    tenant = recado.tenant()
    entered = []
    # Other cases enter webhooks meanwhile.
    enter = lambda received: entered.append(received) if places["SECRET"] in str(received.json()) else None
    dialog360.line("configs").on_request = lambda received: enter(received) or (200, received.json())
    # An event that is kept takes the place of the example's, and tickets are given on AWS alone.
    newest = recado.get("/v1/events?after=now")["next"]
    places = {"suporte-01": tenant.instance, "INSTANCE": tenant.instance, "after=1042": f"after={newest}",
              "https://waba-v2.360dialog.io": dialog360.url, "SECRET": "secret-of-the-webhook"}
    variables = {"RECADO": recado.url, "AUTH": f"Authorization: Bearer {recado.token}", "D360_API_KEY": "key-of-360dialog",
                 "EVOLUTION_API_URL": evolution.url, "EVOLUTION_API_KEY": "key-of-evolution"}
    pages = {page: [block for block in blocks if "/v1/events/tickets" not in block] for page, blocks in find_blocks().items()
             if page not in (*PLAYED_ELSEWHERE, FIRST_STEPS)}
    printed = {page: paste(blocks, places, ROOT, **variables) for page, blocks in pages.items()}
    holds(printed["docs/runbooks/disconnected-instance.md"], '"state": "open"')
    # What is entered by hand at a provider is what `recado connect` enters.
    webhook = next(one for one in tenant.line.others if one.path.startswith("/webhook/set/"))
    same((webhook.headers["apikey"], webhook.json()["webhook"]["headers"]), ("key-of-evolution", {"apikey": "secret-of-the-webhook"}))
    same({one.headers["d360-api-key"] for one in entered}, {"key-of-360dialog"})
    same([one.json()["headers"] for one in entered], [{"x-recado-webhook-secret": "secret-of-the-webhook"}])


@behaviour("1.177", "The webhook that the first steps post by hand is answered, and the reply is read as they say", program="own",
           needs="process")
def first_steps(programs):
    recado = programs.program({"RECADO_SIMULATION": "auto", "RECADO_SIMULATED_LATENCY_MS": "10"}, KEYS)
    try:
        (recado.folder / "recado.toml").write_text((ROOT / "recado.toml").read_text())
        (recado.folder / ".recado").mkdir()
        (recado.folder / ".recado/operator-token").write_text(recado.token)
        places = {"http://127.0.0.1:8080": recado.url, "cargo run --quiet --": f"'{recado.binary}'"}
        variables = {**recado.settings, "RECADO_URL": recado.url}
        post, read = find_blocks()[FIRST_STEPS]
        holds(paste([post], places, recado.folder, **variables), '"events":1')
        until(lambda: recado.get("/simulator/outbox")["items"], "the reply")
        holds(paste([read], places, recado.folder, **variables), "5511900000002@s.whatsapp.net", "Vocês abrem hoje?")
    finally:
        recado.close()


@behaviour("1.177", "Each page says where a variable of its `curl` commands comes from: a line above, its words, or a setting")
def variables_of_pages(recado):
    settings = (ROOT / "docs/settings.md").read_text()
    unknown = []
    for page, blocks in find_blocks().items():
        if page in PLAYED_ELSEWHERE:
            continue
        text = (ROOT / page).read_text()
        for name in sorted(set(re.findall(r"\$\{?([A-Z][A-Z0-9_]+)", "".join(blocks)))):
            if not re.search(rf"\b{name}=|`{name}`", text) and f"`{name}`" not in settings:
                unknown.append(f"{page}: {name}")
    same(unknown, [])
