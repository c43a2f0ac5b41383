"""Bodies of webhooks, as the providers send them."""
import itertools
import time
import uuid

NUMBERS = itertools.count(1)
START = uuid.uuid4().int % 10_000_000


def new_number():
    """A number in Brazil that no case had before."""
    return f"5511{900_000_000 + (START + next(NUMBERS)) % 99_999_999:09d}"


def new_id():
    return uuid.uuid4().hex.upper()


def evolution(instance, number, message, id=None, name="Maria", from_me=False, at=None, event="messages.upsert", **data):
    """A message at Evolution API 2: a text, or the object `message` of another kind."""
    message = {"conversation": message} if isinstance(message, str) else message
    jid = number if "@" in number else f"{number}@s.whatsapp.net"
    kind = next((kind for kind in message if kind != "messageContextInfo"), "unknown")
    return {"event": event, "instance": instance, "date_time": "2026-01-05T12:00:00.000Z", "server_url": "https://evolution.example",
            "data": {"key": {"remoteJid": jid, "fromMe": from_me, "id": id or new_id()}, "pushName": name, "message": message,
                     "messageType": kind, "messageTimestamp": int(at or time.time()), **data}}


def evolution_status(instance, number, id, status):
    return {"event": "messages.update", "instance": instance,
            "data": {"keyId": id, "remoteJid": f"{number}@s.whatsapp.net", "fromMe": True, "status": status}}


def evolution_connection(instance, state):
    return {"event": "connection.update", "instance": instance, "data": {"instance": instance, "state": state, "statusReason": 200}}


def meta_message(number, message, id=None, name="Maria", at=None):
    """The value of a change with one message: a text, or the fields of another kind."""
    fields = {"type": "text", "text": {"body": message}} if isinstance(message, str) else message
    return {"contacts": [{"profile": {"name": name}, "wa_id": number}],
            "messages": [{"from": number, "id": id or f"wamid.{new_id()}", "timestamp": str(int(at or time.time())), **fields}]}


def meta_status(number, id, status, own_id=None, **more):
    return {"statuses": [{"id": id, "status": status, "timestamp": str(int(time.time())), "recipient_id": number,
                          **({"biz_opaque_callback_data": own_id} if own_id else {}), **more}]}


def meta(phone_number_id, value, field="messages"):
    value = {"messaging_product": "whatsapp",
             "metadata": {"display_phone_number": "5511900000099", "phone_number_id": phone_number_id}, **value}
    return {"object": "whatsapp_business_account", "entry": [{"id": "200000000000001", "changes": [{"field": field, "value": value}]}]}
