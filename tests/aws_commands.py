#!/usr/bin/env python3
"""Prints what is wrong with commands of the AWS CLI on pages, and what pages name and no template makes. Ends with 1 if there is any.

Operations and options are those of botocore, which the CLI is made of. Queues, functions and alarms are those of template.yaml and
infra/monitoring.yaml, parameters those that the template's roles name. It needs the tools: `make tools`."""

import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "infra"))
from stack import run_in_environment_of_tools  # noqa: E402

# What the CLI has besides the services' operations, each with its options.
OWN = {"s3 rb": ["--force"], "logs tail": ["--since", "--filter-pattern", "--follow", "--format"]}
FOR_ALL = ["--query", "--output", "--region", "--profile", "--cli-binary-format"]
# The kind of resource that an option names.
NAMES = {"--function-name": "function", "--source-arn": "queue", "--destination-arn": "queue", "ssm --name": "parameter"}


def read_resources():
    """Returns the names of each kind of resource of a stack that is called `recado`."""
    files = ("template.yaml", "infra/monitoring.yaml")
    text = "".join((ROOT / name).read_text() for name in files)
    made = {
        kind: {f"recado-{name}" for name in re.findall(kind + r': !Sub "\$\{\S+\}-([a-z0-9.-]+)"', text)}
        for kind in ("FunctionName", "QueueName", "AlarmName")
    }
    return {
        "function": made["FunctionName"],
        "log group": {f"/aws/lambda/{name}" for name in made["FunctionName"]},
        "queue": made["QueueName"],
        "alarm": made["AlarmName"],
        "parameter": {f"/recado/own/{name}" for name in re.findall(r"\bown/([a-z0-9-]+)", text)},
    }


def is_named(value):
    """Whether a value is a name, and no place for one."""
    return not re.search(r"…$|\$", value) and not re.fullmatch("[A-Z_]+", value)


def list_commands(text):
    """Yields the words of each command behind `aws`, and whether it is one of a block, which is complete."""
    fences = re.compile(r"^\s*```.*?^\s*```", re.M | re.S)
    rest = fences.sub("", text)
    blocks = fences.findall(text) + re.findall(r"(?:^ {4,}.*\n)+", rest, re.M)
    for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
        if re.search(r"\baws [a-z0-9]+ [a-z]", line):
            tokens = shlex.shlex(line, posix=True, punctuation_chars=True)
            tokens.whitespace_split = True
            words = list(tokens)
            for place in [place for place, word in enumerate(words) if word == "aws"]:
                command = words[place + 1 :]
                end = next((at for at, word in enumerate(command) if re.fullmatch(r"[();<>|&}]+", word)), len(command))
                yield command[:end], True
    for span in re.findall(r"`aws ([^`]+)`", rest):
        yield shlex.split(span), False


class Cli:
    """What the AWS CLI knows."""

    def __init__(self):
        import botocore.session

        self.session = botocore.session.get_session()

    def find(self, service, name):
        """Returns the model of an operation, or `None`."""
        from botocore import xform_name

        service = {"s3api": "s3", "s3": ""}.get(service, service)
        if service not in self.session.get_available_services():
            return None
        model = self.session.get_service_model(service)
        found = [one for one in model.operation_names if xform_name(one, "-") == name]
        return model.operation_model(found[0]) if found else None

    def find_waited(self, service, name):
        """Returns the name of the operation that is asked until it says what is waited for."""
        from botocore import xform_name

        model = self.session.get_waiter_model(service)
        found = [one for one in model.waiter_names if xform_name(one, "-") == name]
        return xform_name(model.get_waiter(found[0]).operation, "-") if found else f"wait {name}"

    def check(self, words, is_complete):
        """Yields why a command is wrong."""
        service, name, *rest = words
        own = OWN.get(f"{service} {name}")
        if own:
            known = own + FOR_ALL
            yield from (f"it has no option {word}" for word in rest if word.startswith("--") and word not in known)
            return
        if name == "wait":
            name, rest = self.find_waited(service, rest[0]), rest[1:]
        model = self.find(service, name)
        if model:
            yield from check_operation(model, rest, is_complete)
        else:
            yield f"{service} has no operation {name}"


def check_operation(model, words, is_complete):
    """Yields why the words behind an operation are wrong."""
    from botocore import xform_name

    shapes = model.input_shape.members if model.input_shape else {}
    members = {f"--{xform_name(name, '-')}": name for name in shapes}
    flags = {option: name for option, name in members.items() if shapes[name].type_name == "boolean"}
    flags |= {f"--no-{option[2:]}": name for option, name in flags.items()}
    given, places = read_options(words, flags)
    members |= flags
    for option, value in given.items():
        if option not in [*members, *FOR_ALL]:
            yield f"it has no option {option}"
        elif option not in flags and value is None:
            yield f"{option} has no value"
        elif option in members and option not in flags:
            yield from check_value(shapes[members[option]], option, value, given)
    needed = model.input_shape.required_members if model.input_shape and is_complete else []
    yield from (f"it lacks {name}" for name in needed if name not in [members.get(option) for option in given])
    if is_complete and len(places) != int(model.has_streaming_output):
        yield f"its answer goes into {'a file' if model.has_streaming_output else 'no file'}, not into {places}"
    if "--query" in given and find_field(given["--query"]) not in model.output_shape.members:
        yield f"its answer has no {find_field(given['--query'])}"


def check_value(shape, option, value, given):
    words = getattr(shape, "enum", None)
    if words and is_named(value) and value not in words:
        yield f"{option} {value} is none of {', '.join(words)}"
    is_plain = given.get("--cli-binary-format") == "raw-in-base64-out"
    if shape.type_name == "blob" and not is_plain and not value.startswith("fileb://"):
        yield f"{option} is read as base64 without --cli-binary-format raw-in-base64-out"


def read_options(words, flags):
    """Returns the options with their values, and the words that belong to none."""
    given, places, words = {}, [], list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            places.append(word)
        else:
            given[word] = words.pop(0) if words and word not in flags and not words[0].startswith("--") else None
    return given, places


def find_field(query):
    """The field of the answer that a query begins with."""
    import jmespath

    node = jmespath.compile(query).parsed
    while node["type"] != "field":
        node = node["children"][0]
    return node["value"]


def list_named(words):
    """Yields the resources that a command names, each with its kind."""
    for word, following in zip(words, [*words[1:], ""]):
        kind = NAMES.get(word) or NAMES.get(f"{words[0]} {word}")
        if kind and is_named(following):
            # An ARN ends with the name, and the example of a second stack has a prefix of its own for parameters.
            yield kind, re.sub("^/recado-staging/", "/recado/", following.rpartition(":")[2])
    if words[:2] == ["logs", "tail"]:
        yield "log group", words[2]


def check_page(cli, resources, text):
    """Yields what is wrong on a page."""
    # `…` stands for the stack's name.
    shortened = {f"recado{name}" for name in re.findall(r"`…(-[a-z0-9-]+)`", text)} - resources["queue"]
    named = {("alarm", name) for name in shortened}
    named |= {("queue", name) for name in re.findall(r"`(recado-[a-z-]+(?:-dlq|\.fifo|-dlq\.fifo))`", text)}
    named |= {("parameter", name) for name in re.findall(r"`(/recado/own/[a-z0-9-]+)`", text)}
    for words, is_complete in list_commands(text):
        yield from (f"{why}: aws {' '.join(words)}" for why in cli.check(words, is_complete))
        named |= set(list_named(words))
    yield from (f"no template makes the {kind} {name}" for kind, name in sorted(named) if name not in resources[kind])


def main():
    run_in_environment_of_tools()
    cli, resources = Cli(), read_resources()
    pages = subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, check=True, cwd=ROOT).stdout.split()
    texts = {page: (ROOT / page).read_text() for page in pages if page != "CHANGELOG.md"}
    wrong = [f"{page}: {why}" for page, text in texts.items() for why in check_page(cli, resources, text)]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
