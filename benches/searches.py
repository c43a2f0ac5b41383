"""Times of lists, threads and searches on one machine, in a data folder that is filled with copies of a conversation."""

import http.client
import json
import random
import sqlite3
import time
import urllib.parse
from datetime import UTC, datetime

from embedded import port_of, start
from evolution import INSTANCE
from grown import copy_conversation, read_number
from processes import MeasurementError, end, eventually, tail

TOKEN = "token-of-the-measurements-of-recado"
NAMES = ["Ana", "Bia", "Caio", "Davi", "Elis", "Fábio", "Gil", "Helena", "Íris", "João", "Karen", "Lia", "Mário", "Nara", "Otto"]
SURNAMES = ["Alves", "Barros", "Conceição", "Duarte", "Esteves", "Farias", "Gomes", "Horta", "Ibarra", "Jardim", "Lopes", "Mota"]
SYLLABLES = ["con", "sul", "ta", "ho", "rá", "rio", "va", "ci", "na", "en"]
# A thousand words, of which the first are far more common than the last, as in what people write.
WORDS = [a + b + c for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES]
WORDS_OF_A_MESSAGE = 6
STORED_SECONDS_MAX = 120
INDEXED_SECONDS_MAX = 3600
MARK = "Texto da medição"


class Client:
    """One kept connection to the API."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method, path, body=None):
        """Returns the answer, and the milliseconds that it took."""
        text = None if body is None else json.dumps(body)
        began = time.perf_counter()
        self.connection.request(method, path, text, {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"})
        answer = self.connection.getresponse()
        read = answer.read()
        took = (time.perf_counter() - began) * 1000
        if answer.status >= 300:
            raise MeasurementError(f"{method} {path.split('?')[0]}: {answer.status} {read[:300]}")
        return json.loads(read), took


def measure_searches(binary, scratch, conversations, messages, requests):
    """Fills a data folder and times `requests` requests of each kind."""
    log = scratch / "serve.log"
    database = scratch / "data" / "recado.db"
    server = start(binary, scratch, log)
    try:
        written = write_one_conversation(Client(port_of(server, log)), database, messages)
    finally:
        end(server)
    fill_database(database, conversations)
    server = start(binary, scratch, log)
    try:
        client = Client(port_of(server, log))
        began = time.monotonic()
        if not eventually(lambda: is_indexed(client), INDEXED_SECONDS_MAX, 0.5):
            raise MeasurementError("the words of the messages were not indexed in time")
        indexed = time.monotonic() - began
        return {
            "indexed_s": indexed,
            "conversations": read_number(database, "SELECT count(*) FROM conversations"),
            "messages": read_number(database, "SELECT count(*) FROM messages"),
            "database_mib": database.stat().st_size // 2**20,
            "times": {what: [client.ask(*make(number))[1] for number in range(requests)] for what, make in list_requests(database, written)},
        }
    except MeasurementError as error:
        raise MeasurementError(f"{error}\n{tail(log)}") from None
    finally:
        end(server)


def write_one_conversation(client, database, messages):
    """Has a customer write all messages of a conversation. Returns the provider's ids of these messages."""
    ids = []
    for number in range(messages):
        body = {"instance_id": INSTANCE, "from": "+55 11 90000-0001", "name": "Ana Alves", "text": f"{MARK} {number}"}
        ids.append(client.ask("POST", "/simulator/messages", body)[0]["provider_message_id"])
    if not eventually(lambda: read_number(database, "SELECT count(*) FROM messages") >= messages, STORED_SECONDS_MAX):
        raise MeasurementError("the messages of the first conversation were not stored")
    return ids


def fill_database(database, conversations):
    """Copies the conversation until there are `conversations`, gives each a contact of its own, and each message words of its own."""
    connection = sqlite3.connect(database)
    try:
        connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144")
        connection.create_function("contact_name", 1, lambda seq: f"{NAMES[seq % len(NAMES)]} {SURNAMES[seq % len(SURNAMES)]} {seq}", deterministic=True)
        connection.create_function("some_words", 1, write_words, deterministic=True)
        found = connection.execute("SELECT id, thread FROM conversations LIMIT 1").fetchone()
        copy_conversation(connection, *found, conversations - 1)
        connection.execute(
            "UPDATE conversations SET last_at = last_at - seq * 1000, body = json_set(body, '$.contact.name', contact_name(seq), '$.contact.phone', '+55119' || (10000000 + seq)) WHERE seq > 1"
        )
        connection.execute(f"UPDATE messages SET body = replace(body, '{MARK}', some_words(seq))")
        # No turn of a copy is to run beside the measurement.
        connection.execute("UPDATE conversations SET due = NULL")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def write_words(seq):
    """Words of a message, and one that no other has."""
    of_message = random.Random(seq)
    words = [WORDS[int(len(WORDS) * of_message.random() ** 2)] for _ in range(WORDS_OF_A_MESSAGE)]
    return " ".join([*words, f"n{seq}"])


def is_indexed(client):
    """Whether the search covers all but the last seconds."""
    until = client.ask("GET", "/v1/conversations?text=consulta&limit=1")[0]["searched_until"]
    return (datetime.now(UTC) - datetime.fromisoformat(until)).total_seconds() < 10


def list_requests(database, written):
    """Names each kind of request, with what makes the request of a number."""
    chosen = random.Random(7)
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    ids = [row[0] for row in connection.execute("SELECT id FROM conversations")]
    count = connection.execute("SELECT max(seq) FROM messages").fetchone()[0]
    connection.close()
    contacts = len(ids)

    def search(**query):
        return "GET", f"/v1/conversations?limit=50&{urllib.parse.urlencode(query)}"

    def word():
        return WORDS[int(len(WORDS) * chosen.random() ** 2)]

    def phone(_):
        return search(contact=f"+55 11 9{10000000 + chosen.randint(2, contacts)}")

    return [
        ("the list", lambda _: search()),
        ("the list of an instance", lambda _: search(instance=INSTANCE)),
        ("a thread", lambda _: ("GET", f"/v1/conversations/{chosen.choice(ids)}/messages?joined=true&limit=50")),
        ("by phone number", phone),
        ("by phone number, all that is stored", lambda _: ("POST", "/v1/contacts/find", {"tenant": "measured", "contact": "+55 11 90000-0001"})),
        ("by the contact's name", lambda _: search(contact=f"{chosen.choice(NAMES)} {chosen.choice(SURNAMES)}")),
        ("by the provider's id of a message", lambda _: ("GET", f"/v1/trace?{urllib.parse.urlencode({'provider_message': chosen.choice(written), 'instance': INSTANCE})}")),
        ("by a word of one message", lambda _: search(text=f"n{chosen.randint(1, count)}")),
        ("by a word of many messages", lambda _: search(text=word())),
        ("by two words of many messages each", lambda _: search(text=f"{word()} {word()}")),
    ]
