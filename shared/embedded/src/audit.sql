-- Who did what. Rows are inserted, and deleted when they expire.

CREATE TABLE audit (
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    tenant TEXT NOT NULL, -- '' for what belongs to no tenant
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    expires INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (at, id)
) STRICT, WITHOUT ROWID;
-- The newest entries of a tenant (`list_audit`). Those of all tenants need no index: the primary key begins with the time.
CREATE INDEX audit_newest_of_tenant ON audit (tenant, at, id);
-- The sweep (`delete_expired_rows`).
CREATE INDEX audit_expires ON audit (expires);
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is never changed'); END;
