-- The state of the installation (tenant '') and of tenants, minute by minute.
CREATE TABLE samples (
    tenant TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, at)
) STRICT, WITHOUT ROWID;
-- The sweep (`delete_expired_rows`).
CREATE INDEX samples_expires ON samples (expires);
