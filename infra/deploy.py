#!/usr/bin/env python3
"""Builds the functions, deploys the stack, and looks at what was deployed. `make deploy` runs it.

    infra/deploy.py [--config-env default] [--features FEATURE] [--no-build] [Name=value …]
    infra/deploy.py --look            only looks at the stack that is there

Parameters are those of samconfig.toml with the given ones on top. (`sam deploy --parameter-overrides` would drop the file's.)
NAME_OF_A_SETTING=value changes one of those in the parameter Settings; an empty value takes it out. The variable PARAMETERS holds
further ones, in words of the shell. Region and credentials are those of your AWS configuration; they are shown first.
Without a parameter Architecture the stack's own is kept, and a new stack's is the template's default.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import time

from environment import BYTES_MAX, Environments
from stack import (
    FUNCTIONS, ROOT, VENV, Config, Stack, join_settings, look_at_concurrency, look_over, run_in_environment_of_tools,
    write_overrides,
)  # fmt: skip

# Parameters that name something which must be in the region of the stack.
OF_REGION = ("AlarmTopicArn", "CertificateArn", "SocialTopicArn")


def main():
    run_in_environment_of_tools()
    arguments = parse_arguments()
    given = [*shlex.split(os.environ.get("PARAMETERS", "")), *arguments.parameter]
    config = Config(arguments.config_env, given)
    stack = Stack(config.session(), config.stack)
    show_place(stack)
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


def show_place(stack):
    """Says where it goes, before anything else; what follows goes to the same place."""
    from botocore.exceptions import BotoCoreError, ClientError

    region = stack.session.region_name
    if not region:
        sys.exit("no region: name one in your AWS configuration (aws configure set region …), AWS_REGION or samconfig.toml")
    try:
        account = stack.client("sts").get_caller_identity()["Account"]
    except (BotoCoreError, ClientError) as failed:
        sys.exit(f"the credentials of your AWS configuration do not work: {failed}")
    print(f"account {account}, region {region}, stack {stack.name}", flush=True)
    os.environ["AWS_REGION"] = os.environ["AWS_DEFAULT_REGION"] = region


def deploy(arguments, config, stack):
    kept = stack.parameters()
    parameters = config.parameters
    if config.settings:
        parameters["Settings"] = join_settings(parameters.get("Settings", kept.get("Settings", "")), config.settings)
    known = defaults()
    refuse_what_cannot_be(known | {name: value for name, value in kept.items() if name in known} | parameters, stack)
    architecture = parameters.setdefault("Architecture", kept.get("Architecture") or known["Architecture"])
    if parameters.get("GradualDeployment", kept.get("GradualDeployment")):
        parameters.setdefault("Release", time.strftime("%Y%m%d-%H%M%S", time.gmtime()))
    if not arguments.no_build:
        features = ["--features", arguments.features] if arguments.features else []
        flag = "--arm64" if architecture == "arm64" else "--x86-64"
        packages = [word for function in FUNCTIONS for word in ("--package", function)]
        run(["cargo", "lambda", "build", "--release", flag, *packages, *features])
    run([ROOT / "infra" / "check-architecture.sh", architecture])
    with write_overrides(parameters) as file:
        sam = VENV / "bin" / "sam"
        run([sam, "deploy", "--config-env", arguments.config_env, "--parameter-overrides", f"file://{file.name}"])


def defaults():
    """The default of each parameter of the template."""
    template = (ROOT / "template.yaml").read_text().partition("\nParameters:\n")[2].partition("\nConditions:\n")[0]
    found = re.findall(r"^  (\w+):\n(?:    .*\n)*?    Default: (.*)$", template, re.MULTILINE)
    return {name: value.strip('"') for name, value in found}


def refuse_what_cannot_be(parameters, stack):
    """Ends, before anything is built, if the deployment could not succeed or its functions could not work."""
    problems = [*unknown_parameters(parameters), *wrong_settings(parameters["Settings"]), *wrong_regions(parameters, stack)]
    problems += large_environments(parameters, stack)
    _, problem = look_at_concurrency(stack, parameters)
    problems += [problem] if problem else []
    if problems:
        sys.exit("nothing was deployed:\n" + "\n".join(f"  {problem}" for problem in problems))


def unknown_parameters(parameters):
    """`sam` passes over them without a word."""
    for name in sorted(parameters.keys() - defaults().keys()):
        yield f"{name} is no parameter of template.yaml"


def wrong_settings(record):
    table = json.loads((ROOT / "infra" / "settings.json").read_text())
    for part in filter(None, record.split(";")):
        name, _, value = part.partition("=")
        if name not in table:
            yield f"{name} is no setting of infra/settings.json"
        elif not is_within(table[name], value):
            yield f"{name}={value}: must be {describe(table[name])}"


def is_within(allowed, value):
    if value in allowed.get("words", ()):
        return True
    if "least" not in allowed and "most" not in allowed:
        return "words" not in allowed
    try:
        return allowed.get("least", float("-inf")) <= float(value) <= allowed.get("most", float("inf"))
    except ValueError:
        return False


def describe(allowed):
    bounds = [f"{word} {allowed[bound]}" for word, bound in (("from", "least"), ("to", "most")) if bound in allowed]
    return " or ".join([*([" ".join(["a number", *bounds])] if bounds else []), *allowed.get("words", ())])


def wrong_regions(parameters, stack):
    for name in OF_REGION:
        parts = parameters.get(name, "").split(":")
        if len(parts) > 3 and parts[3] != stack.session.region_name:
            yield f"{name} is in {parts[3]}, and the stack goes to {stack.session.region_name}"


def large_environments(parameters, stack):
    region = stack.session.region_name
    partition = stack.session.get_partition_for_region(region)
    suffix = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
    sizes = Environments(parameters, stack.name, region, partition=partition, suffix=suffix).sizes()
    for function, size in sizes.items():
        if size > BYTES_MAX:
            yield f"the environment of {function} would have {size} bytes, and Lambda takes {BYTES_MAX}: shorten Settings or URLs"


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
