"""A text message as Evolution API posts it, with invented values, and the secret that proves it."""

import hashlib
import hmac
import json
import time
import urllib.request

INSTANCE = "suporte-01"
MASTER = "master-of-the-measurements"
TOKEN = "token-of-the-measurements-of-recado"

# The secrets of each installation that was asked, by its address.
_secrets = {}


def forget_secrets():
    """Another installation may listen at an address that was asked before."""
    _secrets.clear()


def webhook_secret(host=None, instance=INSTANCE):
    """The secret of an instance of the installation at `host`. Without one, or where nobody tells: that of an entry from before there were salts."""
    if host and not _secrets.get(host):
        request = urllib.request.Request(f"http://{host}/v1/config/webhooks", headers={"authorization": f"Bearer {TOKEN}"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                _secrets[host] = {told["id"]: told["secret"] for told in json.load(answer)["instances"]}
        except (OSError, ValueError, KeyError):
            _secrets[host] = {}
    message = f"recado:webhook:v1:evolution:{instance}"
    derived = hmac.new(MASTER.encode(), message.encode(), hashlib.sha256).hexdigest()
    return _secrets.get(host, {}).get(instance) or derived


def text_message(number, contacts=500, text=None):
    """The body of message `number` (from 0). Contacts take turns; every message has an id of its own, and without `text` words of its own."""
    now = int(time.time())
    body = {
        "event": "messages.upsert",
        "instance": INSTANCE,
        "data": {
            "key": {
                "remoteJid": f"55119{number % contacts:08d}@s.whatsapp.net",
                "fromMe": False,
                "id": f"3EB0{number:016X}",
            },
            "pushName": "Maria Exemplo",
            "status": "DELIVERY_ACK",
            "message": {
                "conversation": text or f"Bom dia! Vocês abrem hoje? ({number})",
                "messageContextInfo": {
                    "deviceListMetadata": {"senderTimestamp": str(now), "recipientKeyIndexes": []},
                    "deviceListMetadataVersion": 2,
                    "messageSecret": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTAxMjM=",
                },
            },
            "messageType": "conversation",
            "messageTimestamp": now,
            "instanceId": "11111111-2222-4333-8444-555555555555",
            "source": "android",
        },
        "destination": "https://recado.example.org/webhooks/evolution",
        "date_time": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(now - 3 * 3600)),
        "sender": "5511900000099@s.whatsapp.net",
        "server_url": "https://evolution.example.org",
        "apikey": "00000000-0000-4000-8000-000000000000",
    }
    return json.dumps(body, ensure_ascii=False).encode()


def http_request(number, host, text=None):
    """The same message as bytes on a connection that is kept open."""
    body = text_message(number, text=text)
    head = (
        "POST /webhooks/evolution HTTP/1.1\r\n"
        f"Host: {host}\r\n"
        "Content-Type: application/json\r\n"
        f"apikey: {webhook_secret(host)}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def gateway_event(number, domain="measured.execute-api.us-east-1.amazonaws.com"):
    """The same message as API Gateway hands it to a function (HTTP API, payload format 2.0)."""
    body = text_message(number).decode()
    return {
        "version": "2.0",
        "routeKey": "POST /webhooks/evolution",
        "rawPath": "/webhooks/evolution",
        "rawQueryString": "",
        "headers": {
            "accept": "application/json, text/plain, */*",
            "apikey": webhook_secret(),
            "content-length": str(len(body.encode())),
            "content-type": "application/json",
            "host": domain,
            "user-agent": "axios/1.7.9",
            "x-amzn-trace-id": "Root=1-00000000-000000000000000000000000",
            "x-forwarded-for": "192.0.2.10",
            "x-forwarded-port": "443",
            "x-forwarded-proto": "https",
        },
        "requestContext": {
            "accountId": "111111111111",
            "apiId": "measured",
            "domainName": domain,
            "domainPrefix": "measured",
            "http": {
                "method": "POST",
                "path": "/webhooks/evolution",
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.10",
                "userAgent": "axios/1.7.9",
            },
            "requestId": f"measured-{number}",
            "routeKey": "POST /webhooks/evolution",
            "stage": "$default",
            "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime()),
            "timeEpoch": int(time.time() * 1000),
        },
        "body": body,
        "isBase64Encoded": False,
    }
