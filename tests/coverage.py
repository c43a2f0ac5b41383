#!/usr/bin/env python3
"""Checks the tables of docs/coverage: each row names code and a test that exist, or says "not yet".

Usage: coverage.py [--write]     --write completes references that are only a name, and mends those whose file is another now

A row has three cells: what Recado does, the code that does it, the test that shows it. A reference is `path#symbol`, in Rust also
`path#Type.member`; a test is a function that a test runner runs: `#[test]`, `#[tokio::test]`, or a case of the stores' contract.
"""
import os
import re
import subprocess
import sys
from functools import lru_cache

INDEX, FOLDER = "docs/coverage.md", "docs/coverage"
HEADER = ["what Recado does", "code", "test"]
NOT_YET = "not yet"
CONTRACT = "tests/kit/src/contract/"
NAME = r"[A-Za-z_]\w*"
REFERENCE = re.compile(rf"`([^`#\s]*)#({NAME}(?:\.{NAME})?)`")
FUNCTION = re.compile(rf"\s*(?:pub(?:\([a-z_: ]+\))?\s+)?(?:const\s+|async\s+|unsafe\s+)*fn\s+({NAME})")
ITEM = re.compile(rf"\s*(?:pub(?:\([a-z_: ]+\))?\s+)?(?:struct|enum|trait|type|const|static|union|macro_rules!)\s+({NAME})")
TYPE = re.compile(rf"(\s*)(?:pub(?:\([a-z_: ]+\))?\s+)?(?:struct|enum)\s+({NAME})[^;]*{{\s*$")
MEMBER = re.compile(rf"\s*(?:pub(?:\([a-z_: ]+\))?\s+)?({NAME})\s*(?::|,|\(|{{|=|$)")
IN_OTHER_FILES = {
    ".py": [rf"^\s*(?:async\s+)?(?:def|class)\s+{{}}\b", r"^{}\s*="],
    ".sh": [r"^{}\s*\(\)", r"^{}="],
    ".yaml": [r"^\s*(?:- )?{}:"],
    ".toml": [r"^#?\s*{}\s*=", r"^\[+{}\]"],
    ".sql": [r"\b{}\b"],
}


@lru_cache(maxsize=None)
def listed():
    return subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard"], text=True).split("\n")


@lru_cache(maxsize=None)
def read_rust(path):
    """Returns the names that a Rust file defines, and those of its functions that a test runner runs."""
    names, tests, members, attributes = set(), set(), None, []
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for line in lines:
        if members and line.startswith(members[1] + "}"):
            members = None
        elif members and (found := MEMBER.match(line)):
            names.add(f"{members[0]}.{found[1]}")
        stripped = line.strip()
        if stripped.startswith("#["):
            attributes.append(stripped)
            continue
        if found := FUNCTION.match(line):
            names.add(found[1])
            is_test = any(re.match(r"#\[(tokio::)?test\b", attribute) for attribute in attributes)
            is_case = path.startswith(CONTRACT) and line.startswith("pub async fn ")
            if (is_test or is_case) and not any(attribute.startswith("#[ignore") for attribute in attributes):
                tests.add(found[1])
        elif found := ITEM.match(line):
            names.add(found[1])
        if found := TYPE.match(line):
            members = (found[2], found[1])
        if stripped and not stripped.startswith("//"):
            attributes = []
    return names, tests


def is_defined(path, symbol):
    if path.endswith(".rs"):
        return symbol in read_rust(path)[0]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    patterns = IN_OTHER_FILES.get(os.path.splitext(path)[1], [])
    return any(re.search(pattern.format(re.escape(symbol)), text, re.MULTILINE) for pattern in patterns)


@lru_cache(maxsize=None)
def find_places(symbol, is_test):
    rust = [path for path in listed() if path.endswith(".rs") and os.path.exists(path)]
    return [path for path in rust if symbol in read_rust(path)[1 if is_test else 0]]


def find_fault(path, symbol, is_test):
    """Returns what is wrong with a reference; nothing if it is sound."""
    if path not in listed() or not os.path.isfile(path):
        fault = f"there is no file {path or '(none)'}"
    elif is_test and not (path.endswith(".rs") and symbol in read_rust(path)[1]):
        fault = f"{path} has no test {symbol} that is run"
    elif not is_test and not is_defined(path, symbol):
        fault = f"{path} does not define {symbol}"
    else:
        return None
    places = find_places(symbol, is_test)
    return f"{fault}; it is in {', '.join(places[:3])}" if places else fault


def check_cell(cell, is_test):
    """Returns the number of references in a cell, and what is wrong with it."""
    if cell == NOT_YET:
        return 0, []
    found = REFERENCE.findall(cell)
    faults = [fault for path, symbol in found if (fault := find_fault(path, symbol, is_test))]
    rest = REFERENCE.sub("", cell).replace(",", "").strip()
    if not found:
        faults.append(f'neither a reference nor "{NOT_YET}": {cell or "an empty cell"}')
    elif rest:
        faults.append(f"more than references: {rest}")
    return len(found), faults


def check_page(page, text):
    """Returns the counts of a page (done, without a test, not yet), and its faults."""
    counts, faults, seen, in_table = [0, 0, 0], [], set(), False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            in_table = False
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not in_table:
            in_table = True
            if cells != HEADER:
                faults.append(f"{page}:{number}: the columns are not {HEADER}")
            continue
        if all(set(cell) <= {"-", ":"} and cell for cell in cells):
            continue
        if len(cells) != 3 or not cells[0]:
            faults.append(f"{page}:{number}: a row has three cells, and none is empty")
            continue
        if cells[0] in seen:
            faults.append(f"{page}:{number}: a second row says: {cells[0]}")
        seen.add(cells[0])
        (code, wrong), (tests, wrong_too) = check_cell(cells[1], False), check_cell(cells[2], True)
        if tests and not code and not wrong:
            wrong.append("a test of what is not there yet")
        faults += [f"{page}:{number}: {fault}" for fault in wrong + wrong_too]
        counts[0 if code and tests else 1 if code else 2] += 1
    if not seen:
        faults.append(f"{page}: no row")
    return counts, faults


def complete(text):
    """Gives each reference the one file that defines its symbol, where the file it names does not."""
    def place(reference, is_test):
        path, symbol = reference.groups()
        places = find_places(symbol, is_test) if find_fault(path, symbol, is_test) else []
        return f"`{places[0]}#{symbol}`" if len(places) == 1 else reference[0]

    lines = []
    for line in text.splitlines():
        cells = line.split("|")
        if len(cells) == 5:
            cells[2] = REFERENCE.sub(lambda found: place(found, False), cells[2])
            cells[3] = REFERENCE.sub(lambda found: place(found, True), cells[3])
        lines.append("|".join(cells))
    return "\n".join(lines) + "\n"


def check_itself():
    """Fails if a wrong row passes, or a right one does not."""
    row = "|".join(["", *HEADER, ""]) + "\n|---|---|---|\n"
    this, test = "`tests/coverage.py#check_itself`", "`shared/domain/src/rate.rs#a_pause_brings_the_burst_back`"
    right = [f"| a | {this} | {test} |", "| a | not yet | not yet |", f"| a | {this}, {this} | not yet |",
             "| a | `shared/domain/src/rate.rs#Rate.burst` | not yet |"]
    wrong = [
        f"| a | {this} | |", f"| | {this} | {test} |", f"| a | {this} |", f"| a | {this} | soon |", f"| a | not yet | {test} |",
        f"| a | {this} and more | {test} |", f"| a | `tests/coverage.py#nothing` | {test} |", f"| a | `tests/none.py#main` | {test} |",
        f"| a | {this} | `tests/coverage.py#main` |", f"| a | {this} | `shared/domain/src/rate.rs#reserve_slot` |",
        f"| a | {this} | `shared/embedded/src/embedded/tests.rs#victim` |", f"| a | {this} | {test} |\n| a | {this} | {test} |",
        f"| a | `shared/domain/src/rate.rs#Rate.nothing` | {test} |", f"| a | `#check_itself` | {test} |", "",
    ]
    passed = [text for text in wrong if not check_page("a page", row + text)[1]]
    failed = [check_page("a page", row + text)[1] for text in right if check_page("a page", row + text)[1]]
    headless = check_page("a page", "| a | b | c |\n|---|---|---|\n" + right[0])[1]
    if passed or failed or not headless:
        sys.exit(f"the check of docs/coverage is wrong: passed {passed}, failed {failed}")


def main():
    check_itself()
    pages = sorted(path for path in listed() if re.fullmatch(rf"{FOLDER}/[a-z-]+\.md", path) and os.path.exists(path))
    with open(INDEX, encoding="utf-8") as file:
        index = file.read()
    faults = [f"{INDEX} does not name {page}" for page in pages if f"(coverage/{os.path.basename(page)})" not in index]
    faults += [] if pages else [f"{FOLDER} has no page"]
    sums = [0, 0, 0]
    for page in pages:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        if "--write" in sys.argv[1:] and (completed := complete(text)) != text:
            text = completed
            with open(page, "w", encoding="utf-8") as file:
                file.write(text)
        counts, wrong = check_page(page, text)
        faults += wrong
        sums = [total + count for total, count in zip(sums, counts)]
        print(f"{os.path.basename(page)}: {counts[0]} done, {counts[1]} without a test, {counts[2]} not yet")
    print(f"all: {sums[0]} done, {sums[1]} without a test, {sums[2]} not yet")
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
