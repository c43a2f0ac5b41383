-- The times since which pages about occasions must be made anew.
CREATE TABLE page_changes (
    tenant TEXT NOT NULL,
    occasion TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (tenant, occasion)
) STRICT, WITHOUT ROWID;
-- The sweep (`delete_expired_rows`).
CREATE INDEX page_changes_expires ON page_changes (expires);
