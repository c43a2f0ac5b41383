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
CREATE INDEX audit_newest_of_tenant ON audit (tenant, at, id);
CREATE INDEX audit_expires ON audit (expires);
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is never changed'); END;
