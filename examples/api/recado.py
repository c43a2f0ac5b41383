#!/usr/bin/env python3
"""The same few calls in Python, with its standard library alone: sends a message, finds its conversation, answers in it as a person, waits
until the answer is sent, and gives the conversation back to the agent. `recado.py verify <BODY` verifies a request that Recado posted.
"""
import base64
import hashlib
import hmac
import json
import os
import sys
import time
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

URL = os.environ.get("RECADO_URL", "http://127.0.0.1:8080")
INSTANCE = os.environ.get("RECADO_INSTANCE", "suporte-01")


def authorize(headers=None):
    return {"Authorization": f"Bearer {os.environ['RECADO_TOKEN']}", **(headers or {})}


def call(method, path, body=None, headers=None):
    """Sends a request and returns the JSON of its answer. An answer other than a success is an error with its `detail`."""
    headers = authorize(headers)
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    try:
        with urlopen(Request(URL + path, data, headers, method=method), timeout=60) as answer:
            return json.load(answer)
    except HTTPError as error:
        detail = json.load(error).get("detail")
        raise RuntimeError(f"{method} {path}: {error.code} {detail}") from None


def follow(after, kinds):
    """Yields each event behind a place, for ever. A stream that ends is opened again behind the last event."""
    while True:
        query = urlencode({"after": after, "kind": kinds})
        try:
            # A sign of life comes every 15 seconds.
            with urlopen(Request(f"{URL}/v1/events/stream?{query}", headers=authorize()), timeout=45) as stream:
                for line in stream:
                    if line.startswith(b"data:"):
                        event = json.loads(line[5:])
                        after = event["cursor"]
                        yield event
        except HTTPError:
            raise
        except OSError:
            pass
        time.sleep(1)


def verify(secret, headers, body):
    """Returns if Recado posted this body lately, by the headers of its request (https://www.standardwebhooks.com)."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    if abs(time.time() - int(headers["webhook-timestamp"])) > 300:
        raise ValueError("this request is old")
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    # While a secret is replaced there are several signatures.
    if not any(hmac.compare_digest(expected, one.encode()) for one in headers["webhook-signature"].split()):
        raise ValueError("this request is not from Recado")


def main():
    place = call("GET", "/v1/events?after=now&limit=1")["next"]

    # A repeat with the same message_id sends nothing.
    order = {"to": "+55 11 90000-0102", "text": "Seu pedido saiu.", "message_id": "python-order-1"}
    sent = call("POST", f"/v1/instances/{INSTANCE}/messages", order)
    print("message", sent["id"])

    listed = call("GET", f"/v1/conversations?{urlencode({'instance': INSTANCE, 'limit': 10})}")["items"]
    conversation = next(one["id"] for one in listed if one["id"] == sent["conversation_id"])
    print("conversation", conversation)

    path = f"/v1/conversations/{conversation}/messages"
    answer = call("POST", path, {"text": "Chega até as 18h."}, {"Idempotency-Key": "python-answer-1"})
    print("answer", answer["id"])

    if answer["status"] != "sent":  # A repeated run finds it sent.
        for event in follow(place, "message.status"):
            if event["message_id"] == answer["id"] and event["data"]["status"] == "sent":
                break
    print("sent", answer["id"])

    print("mode", call("PATCH", f"/v1/conversations/{conversation}", {"mode": "ai"})["mode"])


if sys.argv[1:] == ["verify"]:
    given = {name: os.environ[name.upper().replace("-", "_")] for name in ("webhook-id", "webhook-timestamp", "webhook-signature")}
    verify(os.environ["WEBHOOK_SECRET"], given, sys.stdin.buffer.read())
    print("genuine")
else:
    main()
