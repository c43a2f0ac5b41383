-- Batches of invitations and their recipients.

CREATE TABLE batches (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    due INTEGER,
    expires INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
-- The batches that `reconcile` looks at (`select_overdue`).
CREATE INDEX batches_due ON batches (due) WHERE due IS NOT NULL;
-- The sweep (`delete_expired_rows`).
CREATE INDEX batches_expires ON batches (expires);

CREATE TABLE batch_chunks (
    tenant TEXT NOT NULL,
    batch TEXT NOT NULL,
    number INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, batch, number)
) STRICT, WITHOUT ROWID;
-- The sweep (`delete_expired_rows`).
CREATE INDEX batch_chunks_expires ON batch_chunks (expires);
