-- The configuration. `variable_part`: the tenant's part of the names of its variables, which several tenants may share.

CREATE TABLE tenants (
    id TEXT PRIMARY KEY,
    variable_part TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX tenants_of_variable ON tenants (variable_part, id);

CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX agents_of_tenant ON agents (tenant, id);

CREATE TABLE instances (
    id TEXT PRIMARY KEY,
    provider TEXT NOT NULL,
    external TEXT,
    tenant TEXT NOT NULL,
    agent TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX instances_external ON instances (provider, external);
CREATE INDEX instances_of_tenant ON instances (tenant, id);
