#!/usr/bin/env python3
"""Steps that show on a real account what no emulator can. Each says what it must show, and what it saw.

    infra/smoke.sh [--stack recado-smoke] [--only 1,2] [--keep]        on the account of your AWS configuration
    tests/emulator/run.sh infra/smoke.sh --emulator                    as far as the emulator goes

It makes a stack of its own with parameters of its own under /STACK/, whose provider and model are simulated, and removes all
of it in the end (--keep leaves it). On an account it needs built functions (`make deploy` or `cargo lambda build`), the right
to deploy, and the AWS CLI. Steps 3 and 8 speak to an Evolution API of yours: --evolution-url, --evolution-key,
--evolution-instance, --anthropic-key, --to NUMBER; without them they are left out, and say so. (Step 3 asks the model once.)
"""

import argparse
import os
import sys
import time

from smoke_steps import STEPS, LeftOut, NotShown
from smoke_world import World
from stack import run_in_environment_of_tools


def main():
    run_in_environment_of_tools()
    arguments = parse_arguments()
    world = World(arguments)
    chosen = {int(number) for number in arguments.only.split(",")} if arguments.only else set(range(1, len(STEPS) + 1))
    results = []
    try:
        world.prepare()
        for number, step in enumerate(STEPS, 1):
            if number in chosen or number == 1:
                results.append((number, run(number, step, world)))
                if number == 1 and results[0][1] == "FAILED":
                    break
    finally:
        if not arguments.keep:
            world.clean_up()
    print()
    for number, result in results:
        print(f"{number:2}  {result:22}  {STEPS[number - 1].__doc__.splitlines()[0]}")
    sys.exit(1 if any(result == "FAILED" for _, result in results) else 0)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", default="recado-smoke", help="name of the stack; none of that name may exist")
    parser.add_argument("--emulator", action="store_true", help="on the emulator that tests/emulator/run.sh started")
    parser.add_argument("--only", help="numbers of steps, with commas; the first is always made")
    parser.add_argument("--keep", action="store_true", help="remove nothing in the end")
    parser.add_argument("--architecture", default="arm64", choices=["arm64", "x86_64"], help="what the functions were built for")
    for name in ("evolution-url", "evolution-key", "evolution-instance", "anthropic-key", "to"):
        parser.add_argument(f"--{name}")
    arguments = parser.parse_args()
    if arguments.emulator and not os.environ.get("RECADO_EMULATOR"):
        parser.error("no emulator: tests/emulator/run.sh infra/smoke.sh --emulator")
    return arguments


def run(number, step, world):
    print(f"\n== {number}. {step.__doc__}", flush=True)
    began = time.monotonic()
    try:
        for seen in step(world):
            print(f"   {seen}", flush=True)
        result = "ok"
    except NotShown as why:
        result = "only real AWS shows it"
        print(f"   only real AWS can show {why}", flush=True)
    except LeftOut as why:
        result = "left out"
        print(f"   left out: {why}", flush=True)
    except AssertionError as problem:
        result = "FAILED"
        print(f"   FAILED: {problem}", flush=True)
    print(f"   {result}, {time.monotonic() - began:.0f} s", flush=True)
    return result


if __name__ == "__main__":
    main()
