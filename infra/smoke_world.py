"""What the steps of smoke.py work with: the stack, its HTTP API, customers, and on the emulator a provider."""

import json
import os
import random
import secrets
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from stack import ROOT, VENV, Stack, eventually, join_settings, request, write_overrides

REGION = "us-east-1"
PATIENCE = 180


class World:
    def __init__(self, arguments):
        import boto3

        self.arguments, self.emulator = arguments, arguments.emulator
        if self.emulator:
            self.enter_emulator()
        self.stack = Stack(boto3.Session(), arguments.stack)
        self.prefix = f"/{arguments.stack}/"
        self.app_secret, self.verify_token = secrets.token_hex(16), secrets.token_hex(16)
        self.evolution = StandIn() if self.emulator else None
        self.kept, self.secrets, self.made = {}, {}, False

    def enter_emulator(self):
        """Clients and the AWS CLI speak to the emulator, with no credential of yours."""
        endpoint = os.environ["RECADO_EMULATOR"]
        os.environ.update(
            AWS_ENDPOINT_URL=endpoint, AWS_ACCESS_KEY_ID="000000000000", AWS_SECRET_ACCESS_KEY="test",
            AWS_DEFAULT_REGION=REGION, AWS_CONFIG_FILE=os.devnull, AWS_SHARED_CREDENTIALS_FILE=os.devnull,
        )  # fmt: skip
        os.environ.pop("AWS_PROFILE", None)

    def client(self, service):
        return self.stack.client(service)

    # ------------------------------------------------------------- the stack

    def prepare(self):
        if self.stack.description():
            sys.exit(f"there is a stack {self.stack.name}: delete it, or name another with --stack")
        self.made = True
        self.put_parameter("own/meta-app-secret", self.app_secret)
        self.put_parameter("own/meta-verify-token", self.verify_token)
        self.put_parameter("instances/smoke/wrong-key", "no-key-of-anybody")
        self.put_parameter("instances/smoke/evolution-key", self.arguments.evolution_key or "key-of-the-stand-in")
        # Only an instance with a key of its own asks the model: without one it is simulated, model and all.
        if self.has_provider():
            self.put_parameter("own/anthropic-api-key", self.arguments.anthropic_key or "key-of-the-stand-in")

    def put_parameter(self, name, value):
        self.client("ssm").put_parameter(Name=self.prefix + name, Value=value, Type="SecureString", Overwrite=True)

    def parameters(self, more):
        settings = {"RECADO_DEBOUNCE_SECONDS": "1", "RECADO_DEBOUNCE_MAX_SECONDS": "5"}
        parameters = {
            "Simulation": "auto", "LogRetentionDays": "1", "ParameterPrefix": self.prefix,
            "InboundConcurrency": "2", "TurnsConcurrency": "2", "OutboundConcurrency": "2", "PosterConcurrency": "2",
            # Also in an account with a limit of 10.
            "WorkersReserved": "",
        }  # fmt: skip
        if self.emulator:
            settings |= {"META_BASE_URL": self.evolution.url, "ANTHROPIC_BASE_URL": self.evolution.url}
        parameters["Settings"] = join_settings("", settings)
        if not self.emulator:
            parameters["Architecture"] = self.arguments.architecture
        return parameters | more

    def deploy(self, **more):
        """Deploys the stack with these parameters besides; whether it went well."""
        parameters = self.parameters(more)
        if self.emulator:
            port = os.environ["RECADO_EMULATOR"].rsplit(":", 1)[1].strip("/")
            command = [ROOT / "tests" / "emulator" / "emulator.py", "deploy", "--port", port, "--stack", self.stack.name]
            command += [word for name, value in parameters.items() for word in ("--parameter", f"{name}={value}")]
            command += ["--outputs", ROOT / ".tools" / "emulator" / "smoke.json"]
        else:
            command = [VENV / "bin" / "sam", "deploy", "--config-env", "smoke", "--stack-name", self.stack.name]
            command += ["--template-file", "template.yaml", "--resolve-s3", "--s3-prefix", self.stack.name]
            command += ["--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND", "--no-confirm-changeset"]
            command += ["--no-fail-on-empty-changeset", "--parameter-overrides"]
        with write_overrides(parameters) as file:
            # The emulator's deployment takes them one by one.
            command += [] if self.emulator else [f"file://{file.name}"]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            print("   | " + "\n   | ".join(done.stdout.splitlines()[-30:]))
        return done.returncode == 0

    def delete_stack(self):
        formation = self.client("cloudformation")
        formation.delete_stack(StackName=self.stack.name)
        assert eventually(lambda: not self.stack.description(), 900, 5), "the stack was not deleted"

    def remember_kept(self):
        """What survives the stack: the table, the bucket and the master, also of a stack that was not finished."""
        found = self.client("cloudformation").describe_stack_resources(StackName=self.stack.name)["StackResources"]
        ids = {one["LogicalResourceId"]: one.get("PhysicalResourceId") for one in found}
        of = {"TableName": "Table", "BucketName": "Bucket", "WebhookMasterSecret": "WebhookMaster"}
        self.kept = {name: ids[resource] for name, resource in of.items() if ids.get(resource)}

    def clean_up(self):
        if not self.made:
            return
        if self.stack.description():
            self.remember_kept()
            self.delete_stack()
        self.remove_kept()
        self.delete_parameters()
        if self.evolution:
            self.evolution.stop()

    def remove_kept(self):
        for name, physical in self.kept.items():
            try:
                if name == "TableName":
                    remove_table(self.client("dynamodb"), physical)
                elif name == "BucketName":
                    remove_bucket(self.client("s3"), physical)
                else:
                    self.client("secretsmanager").delete_secret(SecretId=physical, ForceDeleteWithoutRecovery=True)
            except Exception as error:  # noqa: BLE001 (a rollback may have removed it; the others must go all the same)
                print(f"   {physical} was not removed: {error}")
        self.kept = {}

    def delete_parameters(self):
        ssm = self.client("ssm")
        names = [found["Name"] for found in ssm.get_parameters_by_path(Path=self.prefix, Recursive=True)["Parameters"]]
        if names:
            ssm.delete_parameters(Names=names)

    # -------------------------------------------------- operators and customers

    def configure(self):
        rate = {"per_second": 100, "burst": 100}
        of_tenant = {"tenant": "smoke", "agent": "ana", "rate": rate}
        instances = [
            {"id": "smoke-evolution", "provider": "evolution"},
            {"id": "smoke-meta", "provider": "meta", "external_id": "100000000000001"},
            {"id": "smoke-refused", "provider": "meta", "external_id": "100000000000002",
             "credential": f"ssm:{self.prefix}instances/smoke/wrong-key"},
        ]  # fmt: skip
        if self.has_provider():
            instances.append({
                "id": "smoke-typing", "provider": "evolution", "typing": True, "mark_read": True,
                "external_id": self.arguments.evolution_instance or "smoke-typing",
                "base_url": self.arguments.evolution_url or self.evolution.url,
                "credential": f"ssm:{self.prefix}instances/smoke/evolution-key",
            })  # fmt: skip
        document = {
            "tenants": [{"id": "smoke", "time_zone": "UTC"}],
            "agents": [{"id": "ana", "tenant": "smoke", "model": "claude-sonnet-4-5", "system_prompt": "You answer."}],
            "instances": [of_tenant | instance for instance in instances],
        }
        status, body = self.operate("PUT", "/v1/config", document)
        assert status == 200, f"the configuration was not taken: {status} {body}"
        self.secrets = {instance["id"]: instance.get("secret") for instance in body["instances"]}

    def has_provider(self):
        given = self.arguments
        keys = [given.evolution_url, given.evolution_key, given.evolution_instance, given.anthropic_key]
        return self.emulator or all([*keys, given.to])

    def operate(self, method, path, body=None):
        secret = self.stack.outputs()["OperatorTokenSecret"]
        token = self.client("secretsmanager").get_secret_value(SecretId=secret)["SecretString"]
        status, text = request(method, self.stack.url() + path, body, {"authorization": f"Bearer {token}"})
        return status, json.loads(text) if text.startswith(("{", "[")) else text

    def get(self, path):
        status, body = self.operate("GET", path)
        assert status == 200, f"{path}: {status} {body}"
        return body

    def writes(self, contact, text="Oi", instance="smoke-evolution", name=None):
        """A message of a customer to an Evolution instance; the answer's status."""
        key = {"remoteJid": f"{contact}@s.whatsapp.net", "fromMe": False, "id": secrets.token_hex(10).upper()}
        data = {"key": key, "pushName": "Carla", "message": {"conversation": text}, "messageType": "conversation",
                "messageTimestamp": int(time.time())}  # fmt: skip
        body = {"event": "messages.upsert", "instance": name or instance, "data": data}
        headers = {"apikey": self.secrets[instance]}
        return request("POST", f"{self.stack.url()}/webhooks/evolution", body, headers)[0]

    def conversations(self, instance):
        found, cursor = [], ""
        while True:
            page = self.get(f"/v1/conversations?instance={instance}&limit=100{cursor}")
            found += page["items"]
            if not page.get("next_cursor"):
                return found
            cursor = f"&cursor={page['next_cursor']}"

    def messages(self, contact, instance="smoke-evolution"):
        """A customer's messages, the oldest first."""
        for conversation in self.conversations(instance):
            if conversation["contact"].get("phone") == f"+{contact}":
                return self.get(f"/v1/conversations/{conversation['id']}/messages")["items"][::-1]
        return []

    def is_answered(self, contact, instance="smoke-evolution", seconds=PATIENCE):
        def sent():
            messages = self.messages(contact, instance)
            replies = [message for message in messages if message["role"] != messages[0]["role"]]
            return replies and replies[0].get("provider_message_id") and replies[0]

        return eventually(sent, seconds)

    def alarm(self, name, state="ALARM", seconds=900):
        watch = self.client("cloudwatch")

        def is_so():
            found = watch.describe_alarms(AlarmNames=[f"{self.stack.name}-{name}"])["MetricAlarms"]
            return found and found[0]["StateValue"] == state

        return eventually(is_so, seconds, 10)

    def log_lines(self, function, pattern, seconds=PATIENCE):
        logs = self.client("logs")
        group = f"/aws/lambda/{self.stack.name}-{function}"

        def lines():
            events = logs.filter_log_events(logGroupName=group)["events"]
            return [event["message"] for event in events if pattern in event["message"]]

        return eventually(lines, seconds, 5)


def contact():
    return f"55119{random.randint(10_000_000, 99_999_999)}"


def remove_table(dynamodb, table):
    dynamodb.update_table(TableName=table, DeletionProtectionEnabled=False)
    active = lambda: dynamodb.describe_table(TableName=table)["Table"]["TableStatus"] == "ACTIVE"  # noqa: E731
    eventually(active, 300, 5)
    dynamodb.delete_table(TableName=table)


def remove_bucket(s3, bucket):
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for found in page.get("Contents", []):
            s3.delete_object(Bucket=bucket, Key=found["Key"])
    s3.delete_bucket(Bucket=bucket)


class StandIn:
    """An Evolution that accepts everything, a model that greets, and a Meta that refuses every token.

    It is for the emulator, whose functions run here.
    """

    def __init__(self):
        self.requests = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler):  # noqa: N805
                self.answer(handler, b"")

            def do_POST(handler):  # noqa: N805
                self.answer(handler, handler.rfile.read(int(handler.headers.get("content-length", 0))))

            def log_message(handler, *_):  # noqa: N805
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler, body):
        self.requests.append(handler.path)
        status, answer = 200, {}
        if handler.headers.get("authorization", "").startswith("Bearer"):
            error = {"message": "Invalid OAuth access token.", "type": "OAuthException", "code": 190}
            status, answer = 401, {"error": error}
        elif "/connectionState/" in handler.path:
            answer = {"instance": {"instanceName": handler.path.rsplit("/", 1)[1], "state": "open"}}
        elif handler.path == "/v1/messages":
            time.sleep(0.5)  # As a model thinks; nobody types for a reply that is there at once.
            answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                      "content": [{"type": "text", "text": "Olá!"}], "stop_reason": "end_turn", "stop_sequence": None,
                      "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
        elif "/message/" in handler.path:
            number = json.loads(body).get("number", "")
            key = {"remoteJid": f"{number}@s.whatsapp.net", "fromMe": True, "id": secrets.token_hex(10).upper()}
            status, answer = 201, {"key": key, "status": "PENDING", "messageTimestamp": int(time.time())}
        text = json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def stop(self):
        self.server.shutdown()
