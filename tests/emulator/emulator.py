#!/usr/bin/env python3
"""The AWS emulator for tests: start it, deploy the stack to it, stop it.

    tests/emulator/emulator.py start  [--port 4566] [--check-permissions]
    tests/emulator/emulator.py deploy [--port 4566] [--account 111111111111] [--parameter KEY=VALUE]...
    tests/emulator/emulator.py wait   [--port 4566]
    tests/emulator/emulator.py stop   [--port 4566]

It needs the tools of tests/requirements.txt in .tools/venv, and for `deploy` the built functions. It listens on the
loopback interface only and speaks to nobody outside. Everything it writes lies under .tools/emulator/: log, pid, and
outputs.json, the outputs of the stack and how to reach it. Each account (12 digits, used as access key) is a world of
its own, so several suites can share one emulator; but a request to an HTTP API names no account, so only those of the
default account answer. Its state is in memory and goes with it.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "infra"))
from stack import join_settings, write_overrides  # noqa: E402

VENV = ROOT / ".tools" / "venv"
STATE = ROOT / ".tools" / "emulator"
REGION = "us-east-1"
ACCOUNT = "000000000000"
STACK = "recado"
# What differs from an installation; `deploy --parameter` adds to it.
PARAMETERS = {"Simulation": "auto", "LogLevel": "DEBUG", "LogRetentionDays": "1"}
SETTINGS = "RECADO_DEBOUNCE_SECONDS=1;RECADO_DEBOUNCE_MAX_SECONDS=5"
START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 15


def main():
    arguments = parse_arguments()
    if Path(sys.prefix).resolve() != VENV.resolve():
        run_in_environment_of_tools()
    STATE.mkdir(parents=True, exist_ok=True)
    {"start": start, "wait": wait, "stop": stop, "deploy": deploy}[arguments.command](arguments)


def parse_arguments():
    parser = argparse.ArgumentParser(description="The AWS emulator for tests")
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--port", type=int, default=4566)
    start_command = commands.add_parser("start", parents=[common], help="start it and wait until it answers")
    start_command.add_argument(
        "--check-permissions",
        action="store_true",
        help="let functions do only what their roles in template.yaml allow, but for conditions on keys of records, which the"
        " emulator does not know; for the default account only, and without schedules, which it then refuses",
    )
    commands.add_parser("wait", parents=[common], help="wait until it answers")
    commands.add_parser("stop", parents=[common], help="stop it, and the functions it runs")
    deploy_command = commands.add_parser("deploy", parents=[common], help="sam deploy to it")
    deploy_command.add_argument("--account", default=ACCOUNT, help="12 digits; each is a world of its own")
    deploy_command.add_argument("--stack", default=STACK, help="name of the stack")
    deploy_command.add_argument("--parameter", action="append", default=[], metavar="KEY=VALUE")
    deploy_command.add_argument("--project", type=Path, default=ROOT, help="directory of template.yaml")
    deploy_command.add_argument("--outputs", type=Path, default=STATE / "outputs.json")
    return parser.parse_args()


def run_in_environment_of_tools():
    python = VENV / "bin" / "python"
    if not python.exists():
        fail(f"{python} is missing; tests/requirements.txt says how to make it")
    os.execv(python, [str(python), __file__, *sys.argv[1:]])


# ---------------------------------------------------------------- start, wait, stop


def start(arguments):
    if running_pid(arguments.port):
        fail(f"the emulator already runs on port {arguments.port}")
    if is_healthy(arguments.port):
        fail(f"something else answers on port {arguments.port}")
    with open(log_file(arguments.port), "wb") as log:
        process = subprocess.Popen(
            [VENV / "bin" / "python", "-m", "ministack"],
            env=emulator_environment(arguments),
            cwd=STATE,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    pid_file(arguments.port).write_text(str(process.pid))
    if not becomes_healthy(arguments.port, gone=lambda: process.poll() is not None):
        stop(arguments)
        fail(f"the emulator did not start:\n{log_tail(arguments.port)}")
    print(endpoint(arguments.port))


def emulator_environment(arguments):
    """Functions inherit the emulator's environment, so it gets a clean one: no proxy, no real keys."""
    scratch = scratch_directory(arguments.port)
    scratch.mkdir(exist_ok=True)
    environment = aws_environment(arguments.port, ACCOUNT) | {
        "TMPDIR": str(scratch),
        "GATEWAY_PORT": str(arguments.port),
        "BIND_HOST": "127.0.0.1",
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": "INFO",
    }
    if arguments.check_permissions:
        environment["AUTH"] = "true"
    return environment


def aws_environment(port, account):
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    return kept | {
        "PATH": f"{VENV / 'bin'}:{os.environ.get('PATH', os.defpath)}",
        "AWS_ENDPOINT_URL": endpoint(port),
        "AWS_ACCESS_KEY_ID": account,
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "SAM_CLI_TELEMETRY": "0",
    }


def wait(arguments):
    if not becomes_healthy(arguments.port):
        fail(f"no emulator answers on port {arguments.port}")
    print(endpoint(arguments.port))


def stop(arguments):
    pid = running_pid(arguments.port)
    if pid:
        os.kill(pid, signal.SIGTERM)
        if not eventually(lambda: not running_pid(arguments.port), STOP_SECONDS_MAX):
            os.kill(pid, signal.SIGKILL)
        stop_functions(pid)
    pid_file(arguments.port).unlink(missing_ok=True)
    shutil.rmtree(scratch_directory(arguments.port), ignore_errors=True)


def stop_functions(pid):
    """Functions still running are in the session that `start` made for the emulator, and nothing else is."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def running_pid(port):
    """The emulator's process id, unless it is gone or the number belongs to somebody else by now."""
    try:
        pid = int(pid_file(port).read_text())
        command = subprocess.run(["ps", "-o", "stat=,args=", "-p", str(pid)], capture_output=True, text=True).stdout
    except (FileNotFoundError, ValueError):
        return None
    is_zombie = command.strip().startswith("Z")
    return pid if "ministack" in command and not is_zombie else None


def becomes_healthy(port, gone=lambda: False):
    return eventually(lambda: gone() or is_healthy(port), START_SECONDS_MAX) and not gone()


def is_healthy(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_ministack/health", timeout=2) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


def eventually(condition, seconds_max):
    deadline = time.monotonic() + seconds_max
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


# ------------------------------------------------------------------------- deploy


def deploy(arguments):
    if not becomes_healthy(arguments.port):
        fail(f"no emulator answers on port {arguments.port}")
    environment = aws_environment(arguments.port, arguments.account)
    given = dict(split_parameter(text) for text in arguments.parameter)
    settings = {name: value for name, value in given.items() if "_" in name}
    parameters = PARAMETERS | {"Settings": SETTINGS} | {name: value for name, value in given.items() if name not in settings}
    parameters["Settings"] = join_settings(parameters["Settings"], settings)
    # No environment of samconfig.toml: typed by hand, it would reach whatever account is at hand.
    options = ["--config-env", "emulator", "--stack-name", arguments.stack, "--template-file", "template.yaml"]
    options += ["--resolve-s3", "--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
    options += ["--no-confirm-changeset", "--no-fail-on-empty-changeset", "--region", REGION]
    with write_overrides(parameters) as file:
        deployed = subprocess.run(
            [VENV / "bin" / "sam", "deploy", *options, "--parameter-overrides", f"file://{file.name}"],
            cwd=arguments.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
        )
    if deployed.returncode != 0:
        fail(f"sam deploy failed:\n{log_tail(arguments.port)}")
    outputs = stack_outputs(arguments)
    repeat_concurrency_as_number(arguments)
    allow_plain_http(arguments, outputs["BucketName"])
    outputs["PushUrl"] = point_push_here(arguments, outputs["PushUrl"])
    outputs = json.dumps(describe(arguments, outputs), indent=2)
    arguments.outputs.write_text(outputs + "\n")
    print(outputs)


def split_parameter(text):
    name, separator, value = text.partition("=")
    if not separator:
        fail(f"--parameter wants KEY=VALUE, not {text}")
    return name, value


def stack_outputs(arguments):
    stack = client(arguments, "cloudformation").describe_stacks(StackName=arguments.stack)["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def repeat_concurrency_as_number(arguments):
    """The emulator keeps a number that comes from a parameter as text, and then polls no queue at all."""
    lambda_client = client(arguments, "lambda")
    for mapping in lambda_client.list_event_source_mappings()["EventSourceMappings"]:
        if "MaximumConcurrency" not in mapping.get("ScalingConfig", {}):
            continue
        concurrency = int(mapping["ScalingConfig"]["MaximumConcurrency"])
        lambda_client.update_event_source_mapping(
            UUID=mapping["UUID"], ScalingConfig={"MaximumConcurrency": concurrency}
        )


def allow_plain_http(arguments, bucket):
    """The bucket refuses what does not come over TLS, and the emulator speaks none."""
    client(arguments, "s3").delete_bucket_policy(Bucket=bucket)


def point_push_here(arguments, push_url):
    """The stack names the WebSocket API by its host on AWS. Here it is reached by a path of the emulator."""
    api = push_url.removeprefix("wss://").partition(".")[0]
    url = f"ws://localhost:{arguments.port}/_aws/execute-api/{api}/live"
    change_variables(arguments, ("api", "publisher"), {"RECADO_PUSH_URL": url})
    return url


def change_variables(arguments, functions, changes):
    lambda_client = client(arguments, "lambda")
    for function in functions:
        name = f"{arguments.stack}-{function}"
        variables = lambda_client.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        lambda_client.update_function_configuration(
            FunctionName=name, Environment={"Variables": variables | changes}
        )


def client(arguments, service):
    import boto3
    from botocore.config import Config

    return boto3.client(
        service,
        config=Config(s3={"addressing_style": "path"}),
        endpoint_url=endpoint(arguments.port),
        region_name=REGION,
        aws_access_key_id=arguments.account,
        aws_secret_access_key="test",
    )


def describe(arguments, outputs):
    """The outputs, and what a test needs besides.

    Tests use LocalApiUrl: not every resolver knows *.localhost, and under ApiUrl the emulator answers /health itself.
    """
    api = outputs["ApiUrl"].removeprefix("http://").partition(".")[0]
    return outputs | {
        "LocalApiUrl": f"http://127.0.0.1:{arguments.port}/_aws/execute-api/{api}/$default",
        "Endpoint": endpoint(arguments.port),
        "Region": REGION,
        "Account": arguments.account,
    }


# -------------------------------------------------------------------------- names


def endpoint(port):
    return f"http://localhost:{port}"


def pid_file(port):
    return STATE / f"{port}.pid"


def log_file(port):
    return STATE / f"{port}.log"


def scratch_directory(port):
    return STATE / f"tmp-{port}"


def log_tail(port, lines=30):
    try:
        return "\n".join(log_file(port).read_text(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return "(no log)"


def fail(message):
    sys.exit(f"emulator: {message}")


if __name__ == "__main__":
    main()
