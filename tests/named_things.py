#!/usr/bin/env python3
"""Prints what pages name and is not there: routes of the API, commands with their options, settings. Ends with 1 if there is any.

Routes are those of docs/openapi.json, commands those of the kept help (functions/local/src/program/tests/snapshots), settings those
that the code, the template or a script reads. The ranges of docs/settings.md are tested beside the code that reads them."""

import json
import pathlib
import re
import shlex
import subprocess
import sys

HELP = pathlib.Path("functions/local/src/program/tests/snapshots")
# Pages of proofs and of the past, which may name what is gone or what a test sends on purpose.
LEFT_OUT = ("CHANGELOG.md", "docs/outside-input.md")

ROUTE = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) (/[A-Za-z0-9_{}./…-]*)")
SETTING = re.compile(r"\bRECADO_[A-Z0-9_]*[A-Z0-9]\b")
COMMAND = re.compile(r"(?:^|[|;(&]|\bsudo |\$ )\s*(?:cargo run (?:--quiet )?(?:--features full )?-- |recado )(.*)")
VALUES = re.compile(r"\[possible values: ([^\]]*)\]")
# The routes of webhooks and of the console are no part of the API's description, nor are those of providers and of carriers of e-mail.
OTHER_ROUTES = re.compile(r"^/(webhooks|api/webhook|console|emails)(/|$)|^/$")
OF_OTHERS = "docs/providers/"


def list_pages():
    found = subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, check=True)
    return [name for name in found.stdout.split() if not name.startswith(LEFT_OUT)]


def read_routes():
    """Returns the parts of each route by its method."""
    routes = {}
    for path, methods in json.loads(pathlib.Path("docs/openapi.json").read_text())["paths"].items():
        for method in methods:
            routes.setdefault(method.upper(), []).append(path.strip("/").split("/"))
    return routes


def is_route(routes, method, path):
    parts = path.rstrip(".").strip("/").split("/")
    # `/v1/…` stands for any route below, and `{id}`, `ID` or an id of an example for any part.
    if parts[-1] == "…":
        return any(known[: len(parts) - 1] == parts[:-1] for known in routes.get(method, []))
    for known in routes.get(method, []):
        if len(known) == len(parts) and all(
            one.startswith("{") or one == other for one, other in zip(known, parts)
        ):
            return True
    return False


def read_commands():
    """Returns the options of each command, by its words, each with the values that it may have; no values: any."""
    commands = {}
    for page in HELP.glob("help*.snap"):
        for block in page.read_text().split("\n---\n", 1)[1].split("\n--------\n"):
            usage = re.search(r"^Usage: recado ?([a-z -]*)", block, re.M)
            if not usage:
                continue
            words = tuple(usage[1].split())
            # An option's text is on its line or below it, farther in.
            options = re.findall(r"^ {2,6}(?:-\w, )?(--[a-z0-9-]+)(.*(?:\n(?: {7,}.*|))*)", block, re.M)
            commands[words] = {name: re.findall(r"[\w-]+", "".join(VALUES.findall(text))) for name, text in options}
    return commands


def check_command(commands, written):
    """Returns why a line of a shell that begins behind `recado` is wrong; `None` if it is not."""
    written = re.split(r"\s[|;&#>]|\s\\$|`", written + " ")[0]
    try:
        tokens = shlex.split(written, comments=True)
    except ValueError:
        tokens = written.split()
    words, options, values = (), [], {}
    for token, following in zip(tokens, [*tokens[1:], ""]):
        if token.startswith("--"):
            name, _, value = token.partition("=")
            options.append(name)
            values[name] = value or following
        elif (*words, token) in commands and not options:
            words = (*words, token)
        elif not words and re.fullmatch(r"[a-z][a-z-]+", token):
            return f"there is no command {token}"
    below = {known[len(words)] for known in commands if len(known) > len(words) and known[: len(words)] == words}
    rest = [token for token in tokens if not token.startswith("-")][len(words) :]
    if words and below and rest and re.fullmatch(r"[a-z][a-z-]+", rest[0]) and not options:
        return f"{' '.join(words)} has no command {rest[0]}"
    known = commands.get(words, {}) | {"--help": [], "--version": []}
    missing = [option for option in options if option not in known and option != "--"]
    if missing:
        return f"{' '.join(words) or 'recado'} has no option {missing[0]}"
    # What is written in small letters is a value, and no place for one.
    wrong = [f"{name} {value}" for name, value in values.items()
             if known.get(name) and re.fullmatch(r"[a-z_-]+", value) and value not in known[name]]  # fmt: skip
    return f"{' '.join(words)}: {wrong[0]} is none of {', '.join(known[wrong[0].split()[0]])}" if wrong else None


def list_commands(text):
    """Yields what is written behind `recado` in blocks of code and between backquotes."""
    is_code = False
    for line in text.splitlines():
        if re.match(r"^\s*(```|~~~)", line):
            is_code = not is_code
        # Blocks of lists are indented.
        elif is_code or re.match(r"^ {4,}(\$ |sudo )?(recado|cargo run) ", line):
            found = COMMAND.search(line)
            if found:
                yield found[1]
    for span in re.findall(r"`(?:recado|cargo run --quiet --) ([a-z][^`]*)`", re.sub(r"```.*?```", "", text, flags=re.S)):
        yield " ".join(span.split())


def read_settings():
    """Returns all words of the code, the template and the scripts that look like settings."""
    kinds = ["*.rs", "*.yaml", "*.yml", "*.sh", "*.py", "*.toml", "*.service", "Makefile", "Containerfile"]
    found = subprocess.run(
        ["git", "grep", "-hoE", r"\bRECADO_[A-Z0-9_]*[A-Z0-9]\b", "--", *kinds], capture_output=True, text=True, check=True
    )
    return set(found.stdout.split())


def main():
    routes, commands, settings = read_routes(), read_commands(), read_settings()
    pages = {name: pathlib.Path(name).read_text() for name in list_pages()}
    wrong = []
    for name, text in pages.items():
        for method, path in [] if name.startswith(OF_OTHERS) else ROUTE.findall(text):
            if not OTHER_ROUTES.match(path) and not is_route(routes, method, path):
                wrong.append(f"{name}: there is no {method} {path}")
        for setting in sorted(set(SETTING.findall(text)) - settings):
            if not setting.startswith(("RECADO_CREDENTIAL_", "RECADO_ALERT_")):
                wrong.append(f"{name}: nothing reads {setting}")
        for written in list_commands(text):
            why = check_command(commands, written)
            if why:
                wrong.append(f"{name}: {why}: recado {written}")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
