"""A deployed stack, seen from outside: its outputs, its functions, its HTTP API. For deploy.py and smoke.py."""

import json
import os
import shlex
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".tools" / "venv"
FUNCTIONS = ("webhook", "processor", "deferred-reply", "sender", "api", "reconcile", "publisher", "poster")
# They take a batch of no messages, and so show that they start.
CONSUMERS = ("processor", "deferred-reply", "sender", "publisher", "poster")
# How many of them run at a time, by the stack's parameters.
CONCURRENCY = ("InboundConcurrency", "TurnsConcurrency", "OutboundConcurrency")


def run_in_environment_of_tools():
    """Goes on with the tools' Python, which has boto3."""
    python = VENV / "bin" / "python"
    if Path(sys.prefix).resolve() != VENV.resolve():
        if not python.exists():
            sys.exit("the tools are missing: make tools")
        os.execv(python, [str(python), *sys.argv])


class Config:
    """One environment of samconfig.toml, with what was given on the command line on top."""

    def __init__(self, environment, given=()):
        import tomlkit

        file = tomlkit.parse((ROOT / "samconfig.toml").read_text()).unwrap()
        if environment not in file:
            sys.exit(f"samconfig.toml has no environment {environment}")
        commands = file[environment]
        self.options = commands.get("global", {}).get("parameters", {}) | commands.get("deploy", {}).get("parameters", {})
        overrides = self.options.get("parameter_overrides", [])
        texts = shlex.split(overrides) if isinstance(overrides, str) else overrides
        self.parameters = dict(split_parameter(text) for text in [*texts, *given])
        self.stack = self.options.get("stack_name", "recado")

    def session(self):
        import boto3

        return boto3.Session(profile_name=self.options.get("profile"), region_name=self.options.get("region"))


def split_parameter(text):
    name, separator, value = text.partition("=")
    if not separator:
        sys.exit(f"a parameter is Name=value, not {text}")
    return name, value


def as_option(name, value):
    return f'{name}="{value}"' if not value or " " in value else f"{name}={value}"


class Stack:
    def __init__(self, session, name):
        self.session, self.name = session, name

    def client(self, service):
        return self.session.client(service)

    def description(self):
        """None where there is no such stack."""
        from botocore.exceptions import ClientError

        try:
            return self.client("cloudformation").describe_stacks(StackName=self.name)["Stacks"][0]
        except ClientError as error:
            if "does not exist" in str(error):
                return None
            raise

    def parameters(self):
        found = self.description() or {}
        return {entry["ParameterKey"]: entry.get("ParameterValue", "") for entry in found.get("Parameters", [])}

    def outputs(self):
        found = self.description() or {}
        return {entry["OutputKey"]: entry["OutputValue"] for entry in found.get("Outputs", [])}

    def url(self):
        """Where the HTTP API is. The emulator's name for it is known to few resolvers."""
        url, endpoint = self.outputs()["ApiUrl"], os.environ.get("AWS_ENDPOINT_URL")
        if not endpoint:
            return url
        return f"{endpoint}/_aws/execute-api/{url.split('//')[1].partition('.')[0]}/$default"

    def invoke(self, function, payload):
        """The answer of a function and, where it failed, its error."""
        response = self.client("lambda").invoke(FunctionName=f"{self.name}-{function}", Payload=json.dumps(payload))
        body = response["Payload"].read().decode(errors="replace")
        return body, body if response.get("FunctionError") else None


def request(method, url, body=None, headers=None, timeout=35):
    """Status and body of an answer; status 0 where there is none."""
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    sent = urllib.request.Request(url, data=data, method=method, headers={"content-type": "application/json"} | (headers or {}))
    try:
        with urllib.request.urlopen(sent, timeout=timeout) as response:
            return response.status, response.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")
    except (urllib.error.URLError, OSError) as error:
        return 0, str(error)


def eventually(look, seconds, pause=2.0):
    """Looks until there is something to see, or the time is over; what was seen last."""
    deadline = time.monotonic() + seconds
    while True:
        seen = look()
        if seen or time.monotonic() > deadline:
            return seen
        time.sleep(pause)


def look_over(stack, seconds=90):
    """Whether the functions run, as (what, problem or None): each is asked in a way that changes nothing."""
    from botocore.exceptions import ClientError

    url = stack.url()
    answered = eventually(lambda: request("GET", f"{url}/health")[0] == 200, seconds)
    status, body = request("GET", f"{url}/health")
    yield "api answers /health", None if answered else f"{status} {body[:300]}"
    # Without a proof it is refused, by a function that has read its settings.
    status, body = request("POST", f"{url}/webhooks/evolution", {})
    yield "webhook refuses what is not proven", None if 400 <= status < 500 else f"{status} {body[:300]}"
    for function in CONSUMERS:
        try:
            _, error = stack.invoke(function, {"Records": []})
        except ClientError as failed:
            denied = failed.response["Error"]["Code"] == "AccessDeniedException"
            error = None if denied else str(failed)
            if denied:
                yield f"{function} (not looked at: you may not invoke it)", None
                continue
        yield f"{function} takes an empty batch", error
    yield look_at_concurrency(stack)


def look_at_concurrency(stack):
    """Whether full queues leave concurrency for webhooks: what they may take together, against the account's limit."""
    from botocore.exceptions import ClientError

    what = "full queues leave concurrency for webhooks"
    try:
        limit = stack.client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    except ClientError as failed:
        if failed.response["Error"]["Code"] == "AccessDeniedException":
            return f"{what} (not looked at: you may not ask for the account's settings)", None
        return what, str(failed)
    parameters = stack.parameters()
    taken = sum(int(parameters.get(name) or 0) for name in CONCURRENCY)
    if parameters.get("WebhookReserved") or taken < limit:
        return what, None
    few = max(2, (limit - 4) // len(CONCURRENCY))
    mend = " ".join(f"{name}={few}" for name in CONCURRENCY)
    return what, (
        f"the functions behind the queues may run {taken} at a time and the account allows {limit} in all, so a backlog would"
        f" refuse webhooks. Deploy with {mend}, or ask AWS for more (docs/aws.md, Accounts and quotas)"
    )
