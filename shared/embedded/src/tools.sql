-- The tools of agents.

CREATE TABLE tools (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX tools_of_tenant ON tools (tenant, id);
