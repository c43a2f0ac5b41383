-- The calendars in which agents book.

CREATE TABLE calendars (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
-- The calendars of a tenant, in the order of their ids (`select_configuration`, `list_calendars`).
CREATE INDEX calendars_of_tenant ON calendars (tenant, id);
