-- The configuration. `variable_part`: the tenant's part of the names of its variables, which several tenants may share.

CREATE TABLE tenants (
    id TEXT PRIMARY KEY,
    variable_part TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
-- The tenants that share a part of variables' names (`select_named`).
CREATE INDEX tenants_of_variable ON tenants (variable_part, id);

CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
-- The agents of a tenant, in the order of their ids (`select_configuration`, `list_agents`).
CREATE INDEX agents_of_tenant ON agents (tenant, id);

CREATE TABLE instances (
    id TEXT PRIMARY KEY,
    provider TEXT NOT NULL,
    external TEXT,
    tenant TEXT NOT NULL,
    agent TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
-- The instance that a provider names (`select_named`, `select_instance_config`). One name is one instance.
CREATE UNIQUE INDEX instances_external ON instances (provider, external);
-- The instances of a tenant, in the order of their ids (`select_configuration`, `list_instances`).
CREATE INDEX instances_of_tenant ON instances (tenant, id);
