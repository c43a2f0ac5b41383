-- Messages that are to be sent later, and what bears one correlation id.

CREATE TABLE scheduled (
    id TEXT PRIMARY KEY,
    rev INTEGER NOT NULL,
    due INTEGER,
    body TEXT NOT NULL
) STRICT;
-- The messages that fall due (`select_overdue`, `list_due_scheduled`).
CREATE INDEX scheduled_due ON scheduled (due) WHERE due IS NOT NULL;

ALTER TABLE events ADD COLUMN correlation TEXT;
UPDATE events SET correlation = json_extract(body, '$.job.correlation');
-- Dropped with its table, and made again, by `lean_rows.sql`.
CREATE INDEX events_correlation ON events (correlation);

ALTER TABLE messages ADD COLUMN correlation TEXT;
UPDATE messages SET correlation = json_extract(body, '$.correlation');
-- The messages of a correlation id (`select_traced`).
CREATE INDEX messages_correlation ON messages (correlation);
