"""A deployed stack, seen from outside: its outputs, its functions, its HTTP API. For deploy.py and smoke.py."""

import json
import os
import shlex
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".tools" / "venv"
FUNCTIONS = ("webhook", "processor", "deferred-reply", "sender", "api", "reconcile", "publisher", "poster")
# They take a batch of no messages, and so show that they start. (Reconcile then does nothing else.)
CONSUMERS = ("processor", "deferred-reply", "sender", "publisher", "poster", "reconcile")
# How many of those behind queues run at a time, by the stack's parameters: the workers', and the poster's.
WORKERS = ("InboundConcurrency", "TurnsConcurrency", "OutboundConcurrency")
CONCURRENCY = (*WORKERS, "PosterConcurrency")
# What Lambda keeps unreserved in an account.
UNRESERVED = 100


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
        pairs = dict(split_parameter(text) for text in [*texts, *given])
        # NAME_OF_SETTING=value is a part of the parameter Settings.
        self.settings = {name: value for name, value in pairs.items() if "_" in name}
        self.parameters = {name: value for name, value in pairs.items() if "_" not in name}
        self.stack = self.options.get("stack_name", "recado")

    def session(self):
        import boto3

        # boto3 knows AWS_DEFAULT_REGION alone; the AWS CLI and the SDKs know this one, too.
        region = self.options.get("region") or os.environ.get("AWS_REGION")
        return boto3.Session(profile_name=self.options.get("profile"), region_name=region)


def split_parameter(text):
    name, separator, value = text.partition("=")
    if not separator:
        sys.exit(f"a parameter is Name=value, not {text}")
    return name, value


def join_settings(record, changes):
    """A record of settings with changes; an empty value takes its setting out."""
    parts = dict(part.partition("=")[::2] for part in record.split(";") if part)
    return ";".join(f"{name}={value}" for name, value in (parts | changes).items() if value)


def write_overrides(parameters):
    """A file of parameters, which sam reads as they are: its options have no quotes for every character. Closing deletes it."""
    file = tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8")  # noqa: SIM115
    json.dump(parameters, file)
    file.flush()
    return file


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
    yield look_at_concurrency(stack, stack.parameters())
    if not os.environ.get("AWS_ENDPOINT_URL"):
        # The emulator's CloudFormation leaves half of it out.
        yield look_at_table(stack)


def look_at_concurrency(stack, parameters):
    """Whether the account's limit has room for the reserves, and full queues leave concurrency for webhooks."""
    from botocore.exceptions import ClientError

    what = "full queues leave concurrency for webhooks"
    try:
        limit = stack.client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    except ClientError as failed:
        if failed.response["Error"]["Code"] == "AccessDeniedException":
            return f"{what} (not looked at: you may not ask for the account's settings)", None
        return what, str(failed)
    number = lambda name: int(parameters.get(name) or 0)  # noqa: E731
    # The queue of AWS End User Messaging Social feeds the processor, too.
    taken = sum(map(number, CONCURRENCY)) + (number("InboundConcurrency") if parameters.get("SocialTopicArn") else 0)
    reserved = number("WebhookReserved") + number("ApiReserved")
    reserved += sum(map(number, WORKERS)) if parameters.get("WorkersReserved") else 0
    few = max(2, (limit - 4) // (len(CONCURRENCY) + 1))
    mend = " ".join([*(f"{name}={few}" for name in CONCURRENCY), "WorkersReserved=", "WebhookReserved=", "ApiReserved="])
    mend = f"Deploy with {mend}, or ask AWS for more (docs/aws.md, Accounts and quotas)"
    if reserved and reserved + UNRESERVED > limit:
        return what, (
            f"{reserved} are reserved and Lambda keeps {UNRESERVED} unreserved, but the account allows {limit} in all, so Lambda"
            f" refuses the reserves. {mend}"
        )
    if parameters.get("WebhookReserved") or taken < limit:
        return what, None
    return what, (
        f"the functions behind the queues may run {taken} at a time and the account allows {limit} in all, so a backlog would"
        f" refuse webhooks. {mend}"
    )


def look_at_table(stack):
    """Whether the table has what a table restored from a backup lacks: stream, expiry, backups, protection."""
    from botocore.exceptions import ClientError

    what, dynamodb = "the table has its stream, expiry, backups and protection", stack.client("dynamodb")
    name = stack.outputs()["TableName"]
    try:
        table = dynamodb.describe_table(TableName=name)["Table"]
        expiry = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    except ClientError as failed:
        if failed.response["Error"]["Code"] == "AccessDeniedException":
            return f"{what} (not looked at: you may not ask for the table's settings)", None
        return what, str(failed)
    has = {
        "stream": table.get("StreamSpecification", {}).get("StreamViewType") == "NEW_AND_OLD_IMAGES",
        "expiry": expiry.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") and expiry.get("AttributeName") == "ttl",
        "backups": backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") == "ENABLED",
        "protection": table.get("DeletionProtectionEnabled") is True,
    }
    lacking = [one for one, is_there in has.items() if not is_there]
    return what, f"{name} has no {', no '.join(lacking)}: infra/adopt.sh --settings {name} sets them" if lacking else None
