#!/usr/bin/env python3
"""Prints the workspace's test files as options of cargo: list_tests.py [--without NAME …]."""
import argparse
import json
import subprocess


def list_test_names() -> set[str]:
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {
        target["name"]
        for package in metadata["packages"]
        for target in package["targets"]
        if target["kind"] == ["test"]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", nargs="*", default=[], help="names that are left out")
    left_out = set(parser.parse_args().without)
    names = list_test_names()
    if unknown := left_out - names:
        parser.error(f"no such test file: {', '.join(sorted(unknown))}")
    print(" ".join(f"--test {name}" for name in sorted(names - left_out)))


if __name__ == "__main__":
    main()
