#!/usr/bin/env python3
"""Counts the shipped lines of Rust: code, comments and blank lines apart, by crate and by feature.

Usage: size.py           prints the table
       size.py --check   fails if a part has more lines of code than LIMITS allows

Shipped is what git tracks under shared/ and functions/, less tests: folders tests, benches, fuzz and examples, files test*.rs and
*_tests.rs, and a module `tests` at the end of a file.
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

# The files of each feature, wherever they lie. A file belongs to the first feature that names it.
FEATURES = {
    "invitations": r"invit|guest|occasion|batch|recipient|delivery_rules|delivery_permission|/deliver[/.]",
    "knowledge": r"knowledge|question_rewriting|vector|embedd(er|ing)|shared/documents/",
    "actions": r"effect|journal|calendar|appointment|booking|shared/tools/|/tools[/.]",
    "alerts": r"alert|notif|watch",
    "endpoints": r"webhook_endpoint|endpoint|published_event|publishing|event_log|push",
    "contacts": r"contact|erasure|erase|opt_out|retention|unsubscribe|tenant_removal|tenant_records",
    "configuration": r"/config|configure|configuration|directory|/(agents|instances|tenants|entries|entry_kinds)\.rs",
    "usage": r"usage|price|sample|trend|budget",
}
# Parts that are held to a number of lines of code. A number only falls, and with the commit that lets it fall.
PARTS = {
    "stores, ports, moving, configuration": r"shared/(embedded|aws|ports|moving)/|shared/domain/src/(moving|config)"
    r"|shared/pipeline/src/usecases/configure|shared/http/src/api/(entry_kinds|instance_webhook|config|entries|schema)"
    r"|shared/cli/src/.*(apply|config)",
    "all": r"",
}
LIMITS = {"stores, ports, moving, configuration": 32_100, "all": 136_200}


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


def print_table(title: str, table: dict[str, collections.Counter]) -> None:
    print(f"{title}\n{'code':>8}{'comment':>9}{'blank':>7}")
    for name, lines in sorted(table.items(), key=lambda row: -row[1]["code"]):
        print(f"{lines['code']:>8}{lines['comment']:>9}{lines['blank']:>7}  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if a part is larger than it may be")
    arguments = parser.parse_args()
    crates, features, parts = (collections.defaultdict(collections.Counter) for _ in range(3))
    for path in list_files():
        lines = count_lines(ROOT / path)
        crates["/".join(path.split("/")[:2])] += lines
        feature = next((name for name, pattern in FEATURES.items() if re.search(pattern, path)), "the rest")
        features[feature] += lines
        for name, pattern in PARTS.items():
            if re.match(pattern, path):
                parts[name] += lines
    if not arguments.check:
        print_table("By crate", crates)
        print_table("By feature", features)
        print_table("Held to a limit", parts)
    over = [f"{name}: {parts[name]['code']} lines of code, and at most {most} are allowed" for name, most in LIMITS.items()
            if parts[name]["code"] > most]
    sys.exit("\n".join(over) if over else 0)


if __name__ == "__main__":
    main()
