#!/usr/bin/env python3
"""Counts the shipped lines of Rust: code, comments and blank lines apart, by crate. Counts the files that a feature has outside its rooms,
and the methods of the ports that a store implements.

Usage: size.py           prints the tables
       size.py --check   fails if a part has more lines of code, or a store more methods, than its limit allows

Shipped is what git tracks under shared/ and functions/, less tests: folders tests, benches, fuzz and examples, files test*.rs and
*_tests.rs, and a module `tests` at the end of a file. Each room of shared/features is a crate of its own.
"""
import argparse
import collections
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = re.compile(r"(shared|functions)/")
TESTS = re.compile(r"(^|/)(tests|benches|fuzz|examples)/|/tests?\.rs$|_tests?\.rs$|/test_")
INLINE_TESTS = "#[cfg(test)]\nmod tests {"
ROOM = re.compile(r"shared/features/(?!src/)[^/]+")

# The names by which files of a feature are known. Those outside shared/features are counted.
SPREAD = {
    "invitations, occasions, batches": r"invit|guest|occasion|batch",
    "knowledge": r"knowledge|question_rewriting",
    "actions": r"effect|appointment|calendar|/tools?[/.]",
    "alerts": r"alert|notif|trend|sample",
    "endpoints": r"endpoint|published_event|publishing",
    "contacts": r"erasure|erase|retention|record_removal",
    "opt-outs": r"opt_out|unsubscribe|delivery_rules",
    "usage": r"usage|price|budget",
}
# Parts that are held to a number of lines of code. A number falls with the commit that lets it fall, and rises
# only with a commit that says for what.
PARTS = {
    "stores, ports, moving, configuration": r"shared/(embedded|aws|ports|moving)/|shared/domain/src/(moving|config)"
    r"|shared/pipeline/src/(deps|commit_order)\.rs"
    r"|shared/features/configuration/src/(lib|audited_changes|change_check|document_routes|endpoint_records|entries|entry_requests"
    r"|entry_routes|invitation_entries|named_urls|prune|start|surroundings|tenant_check|webhook_endpoints)\.rs"
    r"|shared/features/(instance-setup/src/instance_webhook|sends/src/outgoing_schema)|shared/cli/src/.*(apply|config)",
    "the path of a message": r"shared/pipeline/",
    "all": r"",
}
LIMITS = {"stores, ports, moving, configuration": 32_350, "the path of a message": 12_300, "all": 137_300}
ROOM_LIMIT = 2_500
STORE_METHODS = 60


def count_lines(path: Path) -> collections.Counter:
    """Returns the numbers of lines of a file by their sort."""
    text = path.read_text(encoding="utf-8")
    text = text[: text.index(INLINE_TESTS)] if INLINE_TESTS in text else text
    sort = lambda line: "blank" if not line else "comment" if line.startswith("//") else "code"
    return collections.Counter(sort(line.strip()) for line in text.splitlines())


def list_files() -> list[str]:
    """Lists the shipped files."""
    listed = subprocess.run(["git", "ls-files", "*.rs"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return [path for path in listed if SHIPPED.match(path) and not TESTS.search(path) and (ROOT / path).is_file()]


def find_crate(path: str) -> str:
    """Returns the folder of the crate that has a file."""
    room = ROOM.match(path)
    return room[0] if room else "/".join(path.split("/")[:2])


def count_spread(files: list[str]) -> dict[str, collections.Counter]:
    """Counts the files of each feature that lie outside its rooms, by crate."""
    outside = [path for path in files if not path.startswith("shared/features/")]
    return {name: collections.Counter(find_crate(path) for path in outside if re.search(pattern, path))
            for name, pattern in SPREAD.items()}


def count_store_methods() -> dict[str, int]:
    """Counts the methods of each trait that a store implements: those that `Store` joins in shared/ports/src/ports.rs."""
    ports = ROOT / "shared/ports/src"
    joined = {name: re.findall(r"\w+", parts) for name, parts in
              re.findall(r"(?m)^    (\w+): (\w+(?:\s*\+ \w+)+)$", (ports / "ports.rs").read_text(encoding="utf-8"))}
    wanted = [name for port in joined["Store"] for name in joined.get(port, [port])]
    text = "\n".join(path.read_text(encoding="utf-8") for path in [ports / "table.rs", *sorted((ports / "ports").glob("*.rs"))])
    bodies = dict(re.findall(r"(?ms)^pub trait (\w+)[^{]*\{(.*?)^\}", text))
    return {name: len(re.findall(r"(?m)^    (?:async )?fn ", bodies[name])) for name in wanted}


def print_table(title: str, table: dict[str, collections.Counter]) -> None:
    print(f"{title}\n{'code':>8}{'comment':>9}{'blank':>7}")
    for name, lines in sorted(table.items(), key=lambda row: -row[1]["code"]):
        print(f"{lines['code']:>8}{lines['comment']:>9}{lines['blank']:>7}  {name}")


def print_spread(spread: dict[str, collections.Counter]) -> None:
    print(f"Files outside a feature's rooms\n{'files':>8}")
    for name, crates in spread.items():
        places = ", ".join(f"{crate.split('/')[-1]} {number}" for crate, number in crates.most_common())
        print(f"{crates.total():>8}  {name}: {places}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if a part is larger than it may be")
    arguments = parser.parse_args()
    crates, parts = (collections.defaultdict(collections.Counter) for _ in range(2))
    files = list_files()
    for path in files:
        lines = count_lines(ROOT / path)
        crates[find_crate(path)] += lines
        for name, pattern in PARTS.items():
            if re.match(pattern, path):
                parts[name] += lines
    methods = count_store_methods()
    if not arguments.check:
        print_table("By crate", crates)
        print_spread(count_spread(files))
        print_table("Held to a limit", parts)
        print(f"Methods of a store\n{sum(methods.values()):>8}  {', '.join(f'{name} {number}' for name, number in methods.items())}")
    sizes = [(name, parts[name]["code"], most) for name, most in LIMITS.items()]
    sizes += [(name, lines["code"], ROOM_LIMIT) for name, lines in sorted(crates.items()) if ROOM.match(name)]
    over = [f"{name}: {size} lines of code, and at most {most} are allowed" for name, size, most in sizes if size > most]
    if sum(methods.values()) > STORE_METHODS:
        over.append(f"a store has {sum(methods.values())} methods, and at most {STORE_METHODS} are allowed")
    sys.exit("\n".join(over) if over else 0)


if __name__ == "__main__":
    main()
