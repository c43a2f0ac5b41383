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
-- The journals that `reconcile` looks at (`select_overdue`).
CREATE INDEX journals_due ON journals (due) WHERE due IS NOT NULL;
-- The journals of a tenant, the oldest first (`list_journals`).
CREATE INDEX journals_tenant ON journals (tenant, begun_at);
-- The journals of a tenant with an unknown effect, the oldest first (`list_unknown_effects`).
CREATE INDEX journals_unknown ON journals (tenant, unknown_since) WHERE unknown_since IS NOT NULL;

CREATE TABLE cells (
    tenant TEXT NOT NULL,
    calendar TEXT NOT NULL,
    start INTEGER NOT NULL,
    holder TEXT NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (tenant, calendar, start)
) STRICT, WITHOUT ROWID;
-- The sweep (`delete_expired_rows`).
CREATE INDEX cells_expires ON cells (expires);
