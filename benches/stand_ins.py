"""What a function speaks to on AWS: the Lambda Runtime API, and the services. On the loopback interface only."""

import asyncio
import hashlib
import json
import time

BODY_BYTES_MAX = 10_000_000
IDENTITY_KEY = "G#K"


class Server:
    """A small HTTP/1.1 server in the event loop, so that as little as possible of what is measured is its own time."""

    def __init__(self):
        self.connections = 0
        self._listeners = []
        self._open = set()

    async def listen(self, ssl=None):
        """Listens on a port more, and returns it."""
        listener = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=ssl)
        self._listeners.append(listener)
        return listener.sockets[0].getsockname()[1]

    async def stop(self):
        for listener in self._listeners:
            listener.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader, writer):
        self.connections += 1
        self._open.add(asyncio.current_task())
        try:
            while (request := await read_request(reader)) is not None:
                status, headers, body = await self.answer(*request)
                lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(body)}"]
                lines += [f"{name}: {value}" for name, value in headers.items()]
                writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The function is gone, or the run is over.
        finally:
            self._open.discard(asyncio.current_task())
            writer.close()

    async def answer(self, method, path, headers, body):
        raise NotImplementedError


async def read_request(reader):
    """(method, path, headers, body), or None at the end of the connection."""
    line = await reader.readline()
    if not line:
        return None
    method, path, _ = line.decode().split(" ", 2)
    headers = {}
    while (line := (await reader.readline()).decode().strip()):
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await read_chunks(reader)
    else:
        length = int(headers.get("content-length", 0))
        if length > BODY_BYTES_MAX:
            raise ConnectionError("the body is too large")
        body = await reader.readexactly(length)
    return method, path, headers, body


async def read_chunks(reader):
    body = b""
    while (size := int((await reader.readline()).split(b";")[0], 16)) > 0:
        if len(body) + size > BODY_BYTES_MAX:
            raise ConnectionError("the body is too large")
        body += await reader.readexactly(size)
        await reader.readline()
    while (await reader.readline()).strip():
        pass  # Trailers say nothing here.
    return body


class RuntimeApi(Server):
    """Hands out the given events one after the other and keeps what is answered. When each thing happened is kept in
    seconds of the monotonic clock. `on_answer` is called with the number of the answer, while the function waits."""

    def __init__(self, events, on_answer):
        super().__init__()
        self.events = events
        self.on_answer = on_answer
        self.asked_at = []
        self.answered_at = []
        self.answers = []
        self.failures = []
        self.done = asyncio.Event()

    async def answer(self, method, path, headers, body):
        now = time.monotonic()
        if method == "GET" and path.endswith("/runtime/invocation/next"):
            self.asked_at.append(now)
            return await self._next()
        if method == "POST" and path.endswith("/extension/register"):
            return 200, {"Lambda-Extension-Identifier": "00000000-0000-4000-8000-000000000001"}, b"{}"
        if method == "GET" and path.endswith("/extension/event/next"):
            await asyncio.Event().wait()  # The extension of the functions wants no events.
        if method == "POST" and path.endswith("/response"):
            self.answered_at.append(now)
            self.answers.append(json.loads(body))
            self.on_answer(len(self.answers))
            if len(self.answers) == len(self.events):
                self.done.set()
        else:
            self.failures.append(f"{method} {path}: {body.decode(errors='replace')[:500]}")
            self.done.set()
        return 202, {"Content-Type": "application/json"}, b'{"status":"OK"}'

    async def _next(self):
        number = len(self.asked_at)
        if number > len(self.events):
            await asyncio.Event().wait()  # No more work: as on Lambda, the function waits until it is ended.
        headers = {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": f"00000000-0000-4000-8000-{number:012d}",
            "Lambda-Runtime-Deadline-Ms": str(int(time.time() * 1000) + 10_000),
            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:111111111111:function:recado-webhook",
            "Lambda-Runtime-Trace-Id": "Root=1-00000000-000000000000000000000000;Parent=0000000000000000;Sampled=0",
        }
        return 200, headers, json.dumps(self.events[number - 1]).encode()


class Aws(Server):
    """The six operations that the webhook function may use; anything else is refused. `calls` are their names. `records`
    are the table's items, by their two keys."""

    def __init__(self, secrets, parameters, records):
        super().__init__()
        self.records = records
        self.secrets = secrets
        self.parameters = parameters
        self.calls = []

    async def answer(self, method, path, headers, body):
        operation = headers.get("x-amz-target", f"{method} {path}")
        self.calls.append(operation)
        request = json.loads(body) if body else {}
        answers = {
            "DynamoDB_20120810.GetItem": self._get_item,
            "DynamoDB_20120810.BatchGetItem": self._batch_get_item,
            "DynamoDB_20120810.PutItem": self._put_item,
            "AmazonSQS.SendMessage": self._send_message,
            "secretsmanager.GetSecretValue": self._get_secret_value,
            "AmazonSSM.GetParameter": self._get_parameter,
        }
        status, answer = answers.get(operation, refuse)(request)
        return status, {"Content-Type": "application/x-amz-json-1.0"}, json.dumps(answer).encode()

    def _find(self, key):
        return self.records.get((key["pk"]["S"], key["sk"]["S"]))

    def _get_item(self, request):
        found = self._find(request["Key"])
        return 200, {"Item": found} if found else {}

    def _batch_get_item(self, request):
        found = {
            table: [item for key in wanted["Keys"] if (item := self._find(key))]
            for table, wanted in request["RequestItems"].items()
        }
        return 200, {"Responses": found, "UnprocessedKeys": {}}

    def _put_item(self, request):
        item = request["Item"]
        if item["pk"]["S"] == IDENTITY_KEY:
            # Made by the first function that misses it: not a part of any message.
            self.records[IDENTITY_KEY, item["sk"]["S"]] = item
            self.calls.remove("DynamoDB_20120810.PutItem")
        return 200, {}

    def _send_message(self, request):
        md5 = hashlib.md5(request["MessageBody"].encode(), usedforsecurity=False).hexdigest()
        identifier = "00000000-0000-4000-8000-000000000000"
        return 200, {"MD5OfMessageBody": md5, "MessageId": identifier, "SequenceNumber": "18849496460467696128"}

    def _get_secret_value(self, request):
        arn, stage = request["SecretId"], request.get("VersionStage", "AWSCURRENT")
        # As on AWS until a secret is first changed: there is no version before the current one.
        if arn not in self.secrets or stage != "AWSCURRENT":
            return 400, {"__type": "ResourceNotFoundException", "Message": "no such version"}
        return 200, {"ARN": arn, "Name": "master", "SecretString": self.secrets[arn], "VersionStages": [stage]}

    def _get_parameter(self, request):
        name = request["Name"]
        if name not in self.parameters:
            return 400, {"__type": "ParameterNotFound", "message": "no such parameter"}
        return 200, {"Parameter": {"Name": name, "Type": "SecureString", "Value": self.parameters[name], "Version": 1}}


def refuse(_request):
    return 400, {"__type": "UnknownOperationException", "message": "this stand-in does not have it"}
