-- Sessions of the console, by the hash of their texts.

CREATE TABLE sessions (
    hash TEXT NOT NULL PRIMARY KEY,
    expires INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- The sweep (`delete_expired_rows`).
CREATE INDEX sessions_expires ON sessions (expires);
