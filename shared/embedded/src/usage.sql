-- The use of models, summed up by tenant, day (UTC), agent and model.
CREATE TABLE usage (
    tenant TEXT NOT NULL,
    day TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    replies INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, agent, model)
) STRICT, WITHOUT ROWID;
-- The sweep (`delete_expired_rows`).
CREATE INDEX usage_expires ON usage (expires);
