-- The calendars in which agents book.

CREATE TABLE calendars (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX calendars_of_tenant ON calendars (tenant, id);
