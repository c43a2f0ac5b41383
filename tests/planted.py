#!/usr/bin/env python3
"""Plants each bug of tests/planted.toml in turn, and checks that the test that belongs to its place fails with it.

Usage: planted.py [--check] [NAME …]     --check only looks whether the places and the tests of the table are there

The bugs are edits of a copy of the sources, each behind a switch that reads RECADO_PLANTED; so the copy is compiled once, and the product
knows nothing of them. Ends with 1 if a test passes with its bug, or fails without it.
"""
import argparse
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/behaviours"))

from harness.rows import CONTRACT, list_tests  # noqa: E402

TABLE = ROOT / "tests/planted.toml"
FOLDER = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "planted"
# The programs that run the contract of the stores: for what is planted in the DynamoDB adapter, and for everything else.
CONTRACT_ON_DYNAMO, CONTRACT_ON_SQLITE = ("tests/dynamo", "dynamo"), ("tests/kit", "embedded")
SWITCH = '''
/// Returns whether this bug is planted.
pub(crate) fn is_planted(name: &str) -> bool {
    static PLANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    PLANTED.get_or_init(|| std::env::var("RECADO_PLANTED").ok()).as_deref() == Some(name)
}
'''
# Seconds after which a test is ended. No end is no failure: what hangs hides why.
LONGEST = 900


@dataclasses.dataclass(frozen=True)
class Bug:
    """A bug: where it is planted, and the tests that must fail with it."""

    name: str
    breaks: str
    file: str
    right: str
    wrong: str
    tests: list[str]

    def write_edit(self) -> str:
        return re.sub(r"\bPLANTED\b", f'crate::is_planted("{self.name}")', self.wrong)


@dataclasses.dataclass(frozen=True)
class Program:
    """A test program: the folder of its package, and its name there; no name stands for the tests of the library."""

    folder: str
    name: str | None


def read_bugs() -> list[Bug]:
    with TABLE.open("rb") as file:
        return [Bug(**bug) for bug in tomllib.load(file)["bug"]]


def find_package(path: str) -> str:
    """Returns the folder of the package that a file belongs to."""
    folders = (folder for folder in Path(path).parents if (ROOT / folder / "Cargo.toml").is_file())
    return str(next(folders))


def find_program(bug: Bug, test: str) -> Program:
    """Returns the program that runs a test, which is written `path#name`."""
    path = test.split("#")[0]
    if path.startswith(CONTRACT):
        return Program(*(CONTRACT_ON_DYNAMO if bug.file.startswith("shared/aws/") else CONTRACT_ON_SQLITE))
    folder = find_package(path)
    kind, first = Path(path).relative_to(folder).parts[:2]
    return Program(folder, None if kind == "src" else first.removesuffix(".rs"))


def find_faults(bugs: list[Bug]) -> list[str]:
    """Returns what is wrong with the table."""
    faults = []
    for bug in bugs:
        path = ROOT / bug.file
        times = path.read_text(encoding="utf-8").count(bug.right) if path.is_file() else 0
        if times != 1:
            faults.append(f"{bug.name}: {bug.file} has {times} times what the table calls right, not once: mend the bug's `right` and `wrong`")
        if bug.write_edit() == bug.wrong or not bug.tests:
            faults.append(f"{bug.name}: it has no switch, or no test")
        for test in bug.tests:
            path, _, name = test.partition("#")
            if not (ROOT / path).is_file() or name not in list_tests(path):
                faults.append(f"{bug.name}: there is no test {test}")
    names = [bug.name for bug in bugs]
    faults += [f"{name}: two bugs have this name" for name in sorted({name for name in names if names.count(name) > 1})]
    return faults


def plant(bugs: list[Bug], source: Path) -> None:
    """Copies the sources with all bugs, each behind its switch. A file that is there as it must be keeps its time."""
    edited: dict[str, str] = {}
    for path in {bug.file for bug in bugs}:
        text, after = (ROOT / path).read_text(encoding="utf-8"), None
        own = sorted((bug for bug in bugs if bug.file == path), key=lambda bug: text.index(bug.right), reverse=True)
        whole = text
        for bug in own:
            begin = whole.index(bug.right)
            end = begin + len(bug.right)
            if after is not None and end > after:
                sys.exit(f"planted: {bug.name} lies within another bug of {path}")
            text, after = text[:begin] + bug.write_edit() + text[end:], begin
        edited[path] = text
    for library in {f"{find_package(bug.file)}/src/lib.rs" for bug in bugs}:
        edited[library] = edited.get(library, (ROOT / library).read_text(encoding="utf-8")) + SWITCH
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    wanted = {path for path in listed if (ROOT / path).is_file()}
    for path in wanted:
        content = edited[path].encode() if path in edited else (ROOT / path).read_bytes()
        copy = source / path
        if copy.is_file() and copy.read_bytes() == content:
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        shutil.copymode(ROOT / path, copy)
    for copy in source.rglob("*"):
        if copy.is_file() and str(copy.relative_to(source)) not in wanted:
            copy.unlink()


def compile_programs(programs: set[Program], source: Path, build: Path) -> dict[Program, Path]:
    """Compiles all test programs in one run of cargo. Returns the file of each."""
    command = ["cargo", "test", "--no-run", "--quiet", "--message-format=json-render-diagnostics", "--lib"]
    for folder in sorted({program.folder for program in programs}):
        name = re.search(r'^name = "(.+)"', (ROOT / folder / "Cargo.toml").read_text(), re.MULTILINE)[1]
        command += ["--package", name]
    for name in sorted({program.name for program in programs if program.name}):
        command += ["--test", name]
    environment = os.environ | {"CARGO_TARGET_DIR": str(build)}
    told = subprocess.run(command, cwd=source, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    files = {}
    for line in told.splitlines():
        message = json.loads(line)
        if message["reason"] != "compiler-artifact" or not message["executable"] or message["target"]["kind"] == ["bin"]:
            continue
        folder = Path(message["manifest_path"]).parent.relative_to(source)
        name = message["target"]["name"] if message["target"]["kind"] == ["test"] else None
        files[Program(str(folder), name)] = Path(message["executable"])
    return {program: files[program] for program in programs}


def run_test(file: Path, folder: Path, test: str, planted: str | None) -> str:
    """Runs a test wherever the program has it. Returns `passes`, `fails`, or what else happened."""
    environment = os.environ | {"CARGO_MANIFEST_DIR": str(folder), "RUST_BACKTRACE": "0"}
    environment.pop("RECADO_PLANTED", None)
    listed = subprocess.run([file, "--list", "--format", "terse"], cwd=folder, check=True, capture_output=True, text=True, env=environment)
    names = [line.removesuffix(": test") for line in listed.stdout.splitlines()]
    chosen = [name for name in names if name.split("::")[-1] == test.split("#")[1]]
    if not chosen:
        return "is not in its program"
    if planted:
        environment["RECADO_PLANTED"] = planted
    try:
        command = [file, "--exact", *chosen]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return "does not end"
    if ended.returncode == 0:
        return "passes"
    is_failure = ended.returncode == 101 and "test result: FAILED" in ended.stdout
    return "fails" if is_failure else f"ends with {ended.returncode}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only look whether the places and the tests are there")
    parser.add_argument("names", nargs="*", metavar="NAME", help="the bugs; all without any")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    bugs = read_bugs()
    if faults := find_faults(bugs):
        sys.exit("\n".join(f"planted: {fault}" for fault in faults))
    if arguments.check:
        return
    if unknown := set(arguments.names) - {bug.name for bug in bugs}:
        parser.error(f"no such bug: {', '.join(sorted(unknown))}")
    folder = (ROOT / FOLDER).resolve()
    source = folder / "source"
    # All are planted, whatever is asked for: another choice compiles nothing again.
    plant(bugs, source)
    chosen = [bug for bug in bugs if not arguments.names or bug.name in arguments.names]
    all_programs = {find_program(bug, test) for bug in bugs for test in bug.tests}
    files = compile_programs(all_programs, source, folder / "build")
    sound: dict[tuple[Program, str], str] = {}
    wrong = 0
    for bug in chosen:
        for test in bug.tests:
            program = find_program(bug, test)
            run = (files[program], source / program.folder, test)
            if (program, test) not in sound:
                sound[program, test] = run_test(*run, None)
            without, planted = sound[program, test], run_test(*run, bug.name)
            is_seen = (without, planted) == ("passes", "fails")
            wrong += not is_seen
            verdict = "seen" if is_seen else f"NOT SEEN: without it the test {without}, with it it {planted}"
            print(f"{bug.name:<44} {test.split('#')[1]}: {verdict}", flush=True)
    print(f"{len(chosen)} bugs, {wrong} not seen")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
