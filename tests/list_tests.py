#!/usr/bin/env python3
"""Prints the workspace's test files and the programs that have tests, as options of cargo: list_tests.py [--without NAME …]."""
import argparse
import json
import subprocess


def list_tested_names(kind: str) -> set[str]:
    """Returns the names of the targets of one kind that `cargo test` runs by itself."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {
        target["name"]
        for package in metadata["packages"]
        for target in package["targets"]
        if target["kind"] == [kind] and target["test"]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", nargs="*", default=[], help="names that are left out")
    left_out = set(parser.parse_args().without)
    names = list_tested_names("test")
    if unknown := left_out - names:
        parser.error(f"no such test file: {', '.join(sorted(unknown))}")
    options = [f"--test {name}" for name in sorted(names - left_out)]
    # `--bins` would build a test program of each function, too, which has no tests.
    options += [f"--bin {name}" for name in sorted(list_tested_names("bin"))]
    print(" ".join(options))


if __name__ == "__main__":
    main()
