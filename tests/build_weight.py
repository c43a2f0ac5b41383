#!/usr/bin/env python3
"""Holds what a build weighs: the number of crates of the programs, and the size of the largest library of a debug build.

    tests/build_weight.py crates       asks cargo, builds nothing
    tests/build_weight.py libraries    looks at what `make programs` built

A commit that needs more raises a limit here and says why."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What `cargo run` compiles, what serves people, and the function that strangers reach.
CRATES_MAX = {
    # async-trait makes the ports objects. Each feature is a crate of our own: 25 with their list.
    ("recado",): 289,
    ("recado", "--features", "recado/full"): 346,
    ("webhook",): 354,
}
# Compiled once, and read by each crate above it.
LIBRARY_MB_MAX = 70


def main():
    checks = {"crates": check_crates, "libraries": check_libraries}
    if len(sys.argv) != 2 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    faults = checks[sys.argv[1]]()
    for fault in faults:
        print(f"build_weight: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


def check_crates():
    """Counts each crate once for each of its versions, without those of tests."""
    faults = []
    for package, most in CRATES_MAX.items():
        command = ["cargo", "tree", "--quiet", "--locked", "--package", *package, "--edges", "normal,build", "--prefix", "none"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        count = len({" ".join(line.split()[:2]) for line in listed.splitlines() if line})
        print(f"{' '.join(package)}: {count} crates (at most {most})")
        if count > most:
            faults.append(f"{' '.join(package)} has {count} crates, more than {most}")
    return faults


def check_libraries():
    """Looks at the newest library of each of our own crates."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/deps"
    newest = {}
    for library in folder.glob("librecado*.rlib"):
        name = library.name.rsplit("-", 1)[0]
        if name not in newest or library.stat().st_mtime > newest[name].stat().st_mtime:
            newest[name] = library
    if not newest:
        return [f"there is no library in {folder}: make programs"]
    name, largest = max(newest.items(), key=lambda one: one[1].stat().st_size)
    megabytes = largest.stat().st_size / 1e6
    print(f"the largest library is {name}: {megabytes:.0f} MB (at most {LIBRARY_MB_MAX})")
    if megabytes > LIBRARY_MB_MAX:
        return [f"{name} has {megabytes:.0f} MB, more than {LIBRARY_MB_MAX}"]
    return []


if __name__ == "__main__":
    main()
