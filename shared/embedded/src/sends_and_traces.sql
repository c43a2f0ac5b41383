-- Messages that are to be sent later, and what bears one correlation id.

CREATE TABLE scheduled (
    id TEXT PRIMARY KEY,
    rev INTEGER NOT NULL,
    due INTEGER,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX scheduled_due ON scheduled (due) WHERE due IS NOT NULL;

ALTER TABLE events ADD COLUMN correlation TEXT;
UPDATE events SET correlation = json_extract(body, '$.job.correlation');
CREATE INDEX events_correlation ON events (correlation);

ALTER TABLE messages ADD COLUMN correlation TEXT;
UPDATE messages SET correlation = json_extract(body, '$.correlation');
CREATE INDEX messages_correlation ON messages (correlation);
