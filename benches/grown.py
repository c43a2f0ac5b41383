"""Fills a data folder with conversations: copies of one that `recado serve` stored, under ids of their own."""

import sqlite3

from processes import MeasurementError


def read_number(database, sql):
    """A number of the database, read beside the running server and without writing."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)
    try:
        return connection.execute(sql).fetchone()[0]
    finally:
        connection.close()


def columns(connection, table, without=()):
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] not in without]


def fill(database, conversations):
    """Copies an answered conversation, with its messages and events, until there are `conversations`."""
    connection = sqlite3.connect(database)
    try:
        connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144")
        known = connection.execute("SELECT count(*) FROM conversations").fetchone()[0]
        answered = "SELECT c.id, c.thread FROM conversations c WHERE (SELECT count(*) FROM messages m WHERE m.conversation = c.id) = 2 LIMIT 1"
        found = connection.execute(answered).fetchone()
        if not found:
            raise MeasurementError("no conversation was answered that could be copied")
        copy_conversation(connection, *found, conversations - known)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def copy_conversation(connection, conversation, thread, count):
    # Ids of threads, events and requests are hexadecimal digits without an order.
    connection.create_function("digits", 2, lambda number, length: f"{number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 16**length:0{length}x}", deterministic=True)
    numbers = f"WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {max(0, count)})"
    if count < 1:
        return
    events = "SELECT event.id FROM events AS event JOIN messages m ON json_extract(m.body, '$.event') = event.id WHERE m.conversation = ?"
    event = connection.execute(events, [conversation]).fetchone()[0]
    correlation = connection.execute("SELECT correlation FROM events WHERE id = ?", [event]).fetchone()[0]
    old = {"thread": thread, "event": event, "correlation": correlation}

    def copied(text):
        for what, value in old.items():
            text = f"replace({text}, '{value}', digits(n + {len(what)}, {len(value)}))"
        return text

    for table, key, value in (("conversations", "id", conversation), ("messages", "conversation", conversation), ("events", "id", event)):
        names = columns(connection, table, without=("seq",))
        kinds = dict(connection.execute(f"SELECT name, type FROM pragma_table_info('{table}')"))
        values = ", ".join(copied(f"source.{name}") if kinds[name] == "TEXT" else f"source.{name}" for name in names)
        connection.execute(f"{numbers} INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM number, {table} AS source WHERE source.{key} = '{value}'")
