#!/usr/bin/env python3
"""Plays the behaviours over HTTP against the running program.

Usage: run.py [--binary target/debug/recado] [--jobs 10] [NAMES…]      starts the program on loopback, and plays all cases, or those
                                                                      whose name begins so (`hours`, `hours.closed`) or number is given
       run.py --base-url URL --token TOKEN --first-port 18100 [NAMES…] plays those that need no program of their own against an
                                                                      installation whose partners are at the ports from 18100 on
       run.py --rows                                                   checks rows.toml alone, and counts
       run.py --settings --first-port 18100                            prints the variables that such an installation needs
"""
import argparse
import concurrent.futures
import importlib
import pkgutil
import sys
import threading
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cases  # noqa: E402
from harness import rows  # noqa: E402
from harness.installation import Installation, Partners, Program  # noqa: E402
from harness.registry import CASES  # noqa: E402

OUTPUT = threading.Lock()


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(HERE.parent.parent / "target/debug/recado"))
    parser.add_argument("--base-url")
    parser.add_argument("--token")
    parser.add_argument("--first-port", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--settings", action="store_true")
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def is_named(case, names):
    return not names or any(case.name.startswith(name) or name in case.numbers for name in names)


def play(case, recado):
    """Plays one case; returns what it took, and why it failed."""
    begin, why = time.monotonic(), None
    try:
        case.run(recado)
    except AssertionError as error:
        place = traceback.extract_tb(error.__traceback__)
        line = next((one for one in reversed(place) if "/cases/" in one.filename), place[-1])
        why = f"{Path(line.filename).name}:{line.lineno}: {line.line}\n    {str(error)[:2500]}"
    except Exception:
        why = traceback.format_exc()
    with OUTPUT:
        if why:
            print(f"FAILED {case.name} ({', '.join(case.numbers) or 'attack'}): {case.sentence}\n    {why}", flush=True)
    return case, time.monotonic() - begin, why


def play_all(chosen, jobs, find_recado):
    """Plays cases side by side. The long ones begin first, and only wait: they take no place of the others."""
    ordered = sorted(chosen, key=lambda case: not case.is_long)
    with concurrent.futures.ThreadPoolExecutor(jobs + len([case for case in chosen if case.is_long])) as pool:
        return list(pool.map(lambda case: play(case, find_recado(case)), ordered))


def play_with_programs(arguments, chosen):
    """Starts a program for each set of settings that the cases ask for; cases of `own` start theirs."""
    partners = Partners(arguments.first_port)
    programs, main = {}, None
    try:
        for name in {case.program for case in chosen} - {"own"}:
            programs[name] = Program(arguments.binary, partners, *cases.PROGRAMS[name](partners))
        main = programs.get("main")
        own = OwnPrograms(arguments.binary, partners)
        done = play_all(chosen, arguments.jobs, lambda case: programs.get(case.program, own))
        if main and main.process.poll() is not None:
            print("the program ended:\n" + main.log()[-3000:])
        return done
    finally:
        for program in programs.values():
            program.close()
        partners.close()


class OwnPrograms:
    """Starts the programs that a case has for itself."""

    def __init__(self, binary, partners):
        self.binary, self.partners = binary, partners

    def program(self, settings=None, without=()):
        return Program(self.binary, self.partners, settings, without)


def play_elsewhere(arguments, chosen):
    partners = Partners(arguments.first_port)
    try:
        recado = Installation(partners, arguments.base_url.rstrip("/"), arguments.token)
        return play_all(chosen, arguments.jobs, lambda case: recado)
    finally:
        partners.close()


def main():
    arguments = read_arguments()
    for found in pkgutil.iter_modules(cases.__path__):
        importlib.import_module(f"cases.{found.name}")
    if arguments.settings:
        partners = Partners(arguments.first_port)
        print("\n".join(f"{name}={value}" for name, value in {**Program.SETTINGS, **partners.settings()}.items()))
        return partners.close()
    faults, counts = rows.check(HERE / "rows.toml", CASES)
    print(counts)
    if faults and (arguments.rows or not arguments.names):
        print("\n".join(faults), file=sys.stderr)
    if arguments.rows:
        sys.exit(1 if faults else 0)
    chosen = [case for case in CASES if is_named(case, arguments.names)]
    if not chosen:
        sys.exit(f"no case is called {' or '.join(arguments.names)}")
    if arguments.base_url:
        left_out = [case for case in chosen if case.needs or case.program != "main"]
        print("\n".join(f"left out, needs {case.needs or 'a program with other settings'}: {case.name}" for case in left_out))
        chosen = [case for case in chosen if case not in left_out]
    begin = time.monotonic()
    done = (play_elsewhere if arguments.base_url else play_with_programs)(arguments, chosen)
    failed = [case for case, _, why in done if why]
    slowest = sorted(done, key=lambda one: -one[1])[:5]
    print(f"{len(done) - len(failed)} of {len(done)} cases passed in {time.monotonic() - begin:.0f} s; the slowest: "
          + ", ".join(f"{case.name} {seconds:.0f} s" for case, seconds, _ in slowest))
    sys.exit(1 if failed or (faults and not arguments.names) else 0)


if __name__ == "__main__":
    main()
