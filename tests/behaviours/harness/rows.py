"""The table of all behaviours: each number has a case here, names its test elsewhere, or says what stands in its place."""
import re
import tomllib
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = re.compile(r"[^#\s]+\.rs#[A-Za-z_]\w*")
CONTRACT = "tests/kit/src/contract/"
FUNCTION = re.compile(r"\s*(?:pub(?:\([a-z_: ]+\))?\s+)?(?:const\s+|async\s+|unsafe\s+)*fn\s+([A-Za-z_]\w*)")


def check(path, cases):
    """Returns what is wrong with the table, and a line that counts."""
    with open(path, "rb") as file:
        table = tomllib.load(file)
    numbers = [f"{group}.{row}" for group, rows in table["counts"].items() for row in range(1, rows + 1)]
    shown = {number for case in cases for number in case.numbers}
    tests, replaced = table["tests"], table["replaced"]
    faults = [f"{number}: no case, no test, and nothing in its place" for number in numbers
              if number not in shown and number not in tests and number not in replaced]
    named = sorted(shown | set(tests) | set(replaced))
    faults += [f"{number}: there is no such behaviour" for number in named if number not in numbers]
    faults += [f"{number}: stands in two places of rows.toml" for number in tests if number in replaced]
    faults += [f"{number}: has a case, and need not name what stands in its place" for number in replaced if number in shown]
    faults += [f"{number}: {fault}" for number, row in tests.items() for fault in find_faults(row)]
    faults += [f"{number}: says in too few words what stands in its place" for number, words in replaced.items() if len(words) < 20]
    names = [case.name for case in cases]
    faults += [f"two cases are called {name}" for name in sorted({name for name in names if names.count(name) > 1})]
    alone = [number for number in numbers if number in tests and number not in shown]
    counts = (f"{len(numbers)} behaviours: {len(shown)} have a case ({len(cases)} cases), {len(alone)} name their test, "
              f"{len(replaced)} are replaced, {len([one for one in faults if 'no case' in one])} are open")
    return faults, counts


def find_faults(row):
    """A row of tests is `{ says = "…", by = ["path#function", …] }`; each function has to exist and to be run."""
    if not row.get("says") or not row.get("by"):
        return ["names no behaviour or no test"]
    faults = []
    for reference in row["by"]:
        if not REFERENCE.fullmatch(reference):
            faults.append(f"{reference} is no path#function")
            continue
        path, function = reference.split("#")
        if not (ROOT / path).is_file() or function not in list_tests(path):
            faults.append(f"{path} has no test {function} that is run")
    return faults


@lru_cache(maxsize=None)
def list_tests(path):
    """Returns the functions of a Rust file that a test runner runs: `#[test]`, `#[tokio::test]`, or a case of the stores' contract."""
    tests, attributes = set(), []
    for line in (ROOT / path).read_text(encoding="utf-8").splitlines():
        stripped = line.strip()
        if stripped.startswith("#["):
            attributes.append(stripped)
            continue
        if found := FUNCTION.match(line):
            is_test = any(re.match(r"#\[(tokio::)?test\b", attribute) for attribute in attributes)
            is_case = path.startswith(CONTRACT) and line.startswith("pub async fn ")
            if (is_test or is_case) and not any(attribute.startswith("#[ignore") for attribute in attributes):
                tests.add(found[1])
        if stripped and not stripped.startswith("//"):
            attributes = []
    return tests
