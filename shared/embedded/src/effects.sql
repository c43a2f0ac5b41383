-- The journals of effects, and the cells that events hold.

CREATE TABLE journals (
    thread TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    begun_at INTEGER NOT NULL,
    unknown_since INTEGER,
    due INTEGER,
    rev INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX journals_due ON journals (due) WHERE due IS NOT NULL;
CREATE INDEX journals_tenant ON journals (tenant, begun_at);
CREATE INDEX journals_unknown ON journals (tenant, unknown_since) WHERE unknown_since IS NOT NULL;

CREATE TABLE cells (
    tenant TEXT NOT NULL,
    calendar TEXT NOT NULL,
    start INTEGER NOT NULL,
    holder TEXT NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (tenant, calendar, start)
) STRICT, WITHOUT ROWID;
CREATE INDEX cells_expires ON cells (expires);
