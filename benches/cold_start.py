"""Cold start of the webhook function: a fresh process for each run, with the environment that template.yaml gives it.

Between it and the stand-ins there is no network, and nothing limits its processor as Lambda does: what is measured is
the program's own work. With `tls` the stand-in for AWS speaks TLS, so that handshakes are part of it."""

import asyncio
import json
import shutil
import ssl
import subprocess
import tempfile
import time
from pathlib import Path

from evolution import INSTANCE, MASTER, gateway_event
from processes import MeasurementError, cpu_seconds, end, memory_kib, tail
from stand_ins import Aws, RuntimeApi

RUN_SECONDS_MAX = 30
MASTER_ARN = "arn:aws:secretsmanager:us-east-1:111111111111:secret:recado-webhook-master"
PARAMETERS = {"/recado/own/meta-app-secret": "an-app-secret", "/recado/own/meta-verify-token": "a-verify-token"}


def item(partition, sort, **fields):
    """An item of the table: a record as JSON."""
    texts = {"pk": f"{partition}#", "sk": sort, "version": "1", "body": json.dumps(fields)}
    return {(texts["pk"], sort): {name: {"S": value} for name, value in texts.items()}}


# The configuration of the instance, which is cached like the secrets.
RECORDS = {
    **item(
        "instances.by-external", f"evolution#{INSTANCE}", id=INSTANCE, tenant="measured", agent="ana", provider="evolution"
    ),
    **item("tenants", "measured", id="measured", name="Measured", time_zone="America/Sao_Paulo"),
    **item(
        "agents",
        "ana",
        id="ana",
        tenant="measured",
        model="claude-sonnet-4-5",
        system_prompt="You answer briefly.",
        error_message="Desculpe, pode repetir?",
    ),
}
# What one message may cost (the protocol's account of requests), and what a cold function reads besides.
PER_MESSAGE = ["AmazonSQS.SendMessage", "DynamoDB_20120810.PutItem"]
CACHED_READS = {"secretsmanager.GetSecretValue", "AmazonSSM.GetParameter", "DynamoDB_20120810.GetItem", "DynamoDB_20120810.BatchGetItem"}
# As the SDK spells them in AWS_ENDPOINT_URL_<SERVICE>.
SERVICES = ["DYNAMODB", "SQS", "SSM", "SECRETS_MANAGER"]
# What it reads when it starts, beside each other.
START_READS = ["DynamoDB_20120810.GetItem", "secretsmanager.GetSecretValue", "secretsmanager.GetSecretValue"]


def measure(binary, runs, tls, scratch):
    """One dictionary for each run. Times in milliseconds, memory in KiB."""
    scratch = Path(tempfile.mkdtemp(prefix="cold-", dir=scratch))
    try:
        server_tls, trusted = certificate(scratch) if tls else (None, None)
        # The first run only brings the binary into memory.
        results = [asyncio.run(one_run(binary, server_tls, trusted, scratch)) for _ in range(runs + 1)]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return results[1:]


async def one_run(binary, server_tls, trusted, scratch):
    seen = {}

    def on_answer(number):
        # The function waits for the stand-in meanwhile, so that this costs it nothing.
        resident, peak = memory_kib(process.pid)
        seen[number] = {"rss": resident, "peak": peak, "cpu": cpu_seconds(process.pid), "calls": list(aws.calls)}

    runtime = RuntimeApi([gateway_event(1), gateway_event(2)], on_answer)
    aws = Aws({MASTER_ARN: MASTER}, PARAMETERS, RECORDS)
    at_first_ask = {}
    watch_first_ask(runtime, aws, at_first_ask)
    runtime_port = await runtime.listen()
    # Each service has an address of its own on AWS, and so connections and handshakes of its own.
    aws_ports = {service: await aws.listen(server_tls) for service in SERVICES}
    variables = environment(runtime_port, aws_ports, trusted)
    log_path = scratch / "function.log"
    with open(log_path, "wb") as log:
        started = time.monotonic()
        process = subprocess.Popen(
            [binary], env=variables, cwd=scratch, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        await wait_for_answers(runtime, process)
    finally:
        end(process)
        await runtime.stop()
        await aws.stop()
    problems = check(runtime, seen, at_first_ask)
    if problems:
        raise MeasurementError("\n".join(["the webhook function:", *problems, tail(log_path)]))
    return {
        "init_ms": (runtime.asked_at[0] - started) * 1000,
        "first_response_ms": (runtime.answered_at[0] - started) * 1000,
        "first_response_cpu_ms": seen[1]["cpu"] * 1000,
        "second_response_ms": (runtime.answered_at[1] - runtime.asked_at[1]) * 1000,
        "peak_kib": seen[2]["peak"],
        "cold_reads": len(seen[1]["calls"]) - len(PER_MESSAGE),
        "connections": aws.connections,
    }


def watch_first_ask(runtime, aws, at_first_ask):
    """Notes what was asked of AWS, connections included, until the function first asks for work."""
    answer = runtime.answer

    async def noting(*request):
        at_first_ask.setdefault("calls", list(aws.calls))
        at_first_ask.setdefault("connections", aws.connections)
        return await answer(*request)

    runtime.answer = noting


async def wait_for_answers(runtime, process):
    deadline = time.monotonic() + RUN_SECONDS_MAX
    while not runtime.done.is_set() and process.poll() is None and time.monotonic() < deadline:
        try:
            await asyncio.wait_for(runtime.done.wait(), 0.5)
        except TimeoutError:
            pass


def check(runtime, seen, at_first_ask):
    """What was not as it must be."""
    problems = list(runtime.failures)
    if len(runtime.answers) != len(runtime.events):
        return [*problems, f"answered {len(runtime.answers)} of {len(runtime.events)} events"]
    if sorted(at_first_ask["calls"]) != START_READS:
        problems.append(f"asked AWS before it asked for work: {at_first_ask}")
    statuses = [answer.get("statusCode") for answer in runtime.answers]
    if statuses != [200, 200]:
        problems.append(f"answered {statuses} instead of 200")
    first = seen[1]["calls"]
    second = seen[2]["calls"][len(first) :]
    if sorted(call for call in first if call not in CACHED_READS) != PER_MESSAGE:
        problems.append(f"the first message cost {first}")
    if sorted(second) != PER_MESSAGE:
        problems.append(f"the second message cost {second}")
    return problems


def environment(runtime_port, aws_ports, trusted):
    """What Lambda sets, and what template.yaml sets. Nothing of this machine's own environment."""
    variables = {
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{runtime_port}",
        "AWS_LAMBDA_FUNCTION_NAME": "recado-webhook",
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_FORMAT": "JSON",
        "AWS_LAMBDA_LOG_LEVEL": "INFO",
        "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/recado-webhook",
        "AWS_LAMBDA_LOG_STREAM_NAME": "measured",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_SESSION_TOKEN": "test",
        "_HANDLER": "bootstrap",
        "TZ": ":UTC",
        "LANG": "en_US.UTF-8",
        "RUST_LOG": "INFO",
        "RECADO_METRICS": "totals",
        "RECADO_METRICS_NAMESPACE": "Recado/recado",
        "RECADO_TABLE": "recado-table",
        "RECADO_BUCKET": "recado-bucket",
        "RECADO_INBOUND_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/111111111111/recado-inbound.fifo",
        "RECADO_WEBHOOK_SECRET_ARN": MASTER_ARN,
        "RECADO_WEBHOOK_MAX_BYTES": "6000000",
        "RECADO_DEBOUNCE_SECONDS": "4",
        "RECADO_DEBOUNCE_MAX_SECONDS": "20",
        "RECADO_STALE_SECONDS": "3600",
        "RECADO_EVENT_TTL_DAYS": "7",
        "RECADO_SIMULATION": "off",
        "RECADO_PARAMETER_PREFIX": "/recado/",
    }
    scheme = "https" if trusted else "http"
    for service, port in aws_ports.items():
        variables[f"AWS_ENDPOINT_URL_{service}"] = f"{scheme}://127.0.0.1:{port}"
    # Any other service would be looked for where nothing listens, never on the network.
    variables["AWS_ENDPOINT_URL"] = f"{scheme}://127.0.0.1:9"
    return variables | ({"SSL_CERT_FILE": str(trusted)} if trusted else {})


def certificate(scratch):
    """A certificate for 127.0.0.1, made for this measurement. The function trusts it beside those that it has within."""
    key, made = scratch / "key.pem", scratch / "made.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=measured", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    return context, made
