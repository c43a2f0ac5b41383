-- The tools of agents.

CREATE TABLE tools (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
-- The tools of a tenant, in the order of their ids (`select_configuration`, `list_tools`).
CREATE INDEX tools_of_tenant ON tools (tenant, id);
