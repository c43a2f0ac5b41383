-- The tenant of what is listed, so that a list is queried by it, and the tokens of the API: their hashes, not their texts.

-- The newest conversations of a tenant (`search_conversations`).
CREATE INDEX conversations_newest_of_tenant ON conversations (tenant, last_at, id);

-- A dead letter of before gets the tenant of its instance, if that is still configured.
ALTER TABLE dead_letters ADD COLUMN tenant TEXT;
UPDATE dead_letters SET tenant = (SELECT tenant FROM instances WHERE instances.id = dead_letters.instance);
UPDATE dead_letters SET body = json_set(body, '$.tenant', tenant) WHERE tenant IS NOT NULL;
-- The newest dead letters of a tenant, or of none (`list_dead_letters`).
CREATE INDEX dead_letters_newest_of_tenant ON dead_letters (tenant, at, id);

CREATE TABLE tokens (
    tenant TEXT NOT NULL, -- '' for a token of the installation
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
