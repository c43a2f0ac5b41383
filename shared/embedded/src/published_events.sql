-- What happened, for the console and for users' own systems. `tenant` is '' for what is about the whole installation. A cursor is
-- a number of this table, so no number is given twice.
CREATE TABLE published_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
-- The events of a tenant behind a place, the oldest first (`select_page`).
CREATE INDEX published_events_of_tenant ON published_events (tenant, seq);
