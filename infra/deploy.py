#!/usr/bin/env python3
"""Builds the functions, deploys the stack, and looks at what was deployed. `make deploy` runs it.

    infra/deploy.py [--config-env default] [--features FEATURE] [--no-build] [Name=value …]
    infra/deploy.py --look            only looks at the stack that is there

Parameters are those of samconfig.toml with the given ones on top. (`sam deploy --parameter-overrides` would drop the file's.)
Without a parameter Architecture the stack's own is kept, and a new stack's is the template's default.
"""

import argparse
import re
import subprocess
import sys
import time

from stack import FUNCTIONS, ROOT, VENV, Config, Stack, as_option, look_over, run_in_environment_of_tools


def main():
    run_in_environment_of_tools()
    arguments = parse_arguments()
    config = Config(arguments.config_env, arguments.parameter)
    stack = Stack(config.session(), config.stack)
    if not arguments.look:
        deploy(arguments, config, stack)
    sys.exit(0 if looks_well(stack) else 1)


def parse_arguments():
    parser = argparse.ArgumentParser(description="Builds the functions, deploys the stack, and looks at what was deployed")
    parser.add_argument("--config-env", default="default", help="environment of samconfig.toml")
    parser.add_argument("--features", help="cargo features of the functions, such as aws-social")
    parser.add_argument("--no-build", action="store_true", help="deploy what lies in target/lambda")
    parser.add_argument("--look", action="store_true", help="deploy nothing")
    parser.add_argument("parameter", nargs="*", metavar="Name=value")
    return parser.parse_args()


def deploy(arguments, config, stack):
    kept = stack.parameters()
    parameters = config.parameters
    architecture = parameters.setdefault("Architecture", kept.get("Architecture") or default_of("Architecture"))
    if parameters.get("GradualDeployment", kept.get("GradualDeployment")):
        parameters.setdefault("Release", time.strftime("%Y%m%d-%H%M%S", time.gmtime()))
    if not arguments.no_build:
        features = ["--features", arguments.features] if arguments.features else []
        flag = "--arm64" if architecture == "arm64" else "--x86-64"
        packages = [word for function in FUNCTIONS for word in ("--package", function)]
        run(["cargo", "lambda", "build", "--release", flag, *packages, *features])
    run([ROOT / "infra" / "check-architecture.sh", architecture])
    overrides = [as_option(name, value) for name, value in parameters.items()]
    sam = VENV / "bin" / "sam"
    run([sam, "deploy", "--config-env", arguments.config_env, "--parameter-overrides", *overrides])


def default_of(parameter):
    template = (ROOT / "template.yaml").read_text()
    return re.search(rf"^  {parameter}:\n(?:    .*\n)*?    Default: (.*)$", template, re.MULTILINE)[1]


def run(command):
    done = subprocess.run(command, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: nothing that follows it was done")


def looks_well(stack):
    well = True
    for what, problem in look_over(stack):
        print(f"{'ok    ' if problem is None else 'FAILED'}  {what}{'' if problem is None else f': {problem}'}")
        well = well and problem is None
    if not well:
        print(f"logs: sam logs --stack-name {stack.name}; the version before: docs/aws.md, Go back", file=sys.stderr)
    return well


if __name__ == "__main__":
    main()
