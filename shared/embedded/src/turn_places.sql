-- The places of a tenant's turns, where the tenant limits how many run at once.
CREATE TABLE turn_places (
    tenant TEXT NOT NULL PRIMARY KEY,
    rev INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
