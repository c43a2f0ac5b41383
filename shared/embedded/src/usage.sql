-- The use of models, summed up by tenant, day (UTC), agent, model and country.
CREATE TABLE usage (
    tenant TEXT NOT NULL,
    day TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    -- The country of the recipients of charged messages; empty if there is none.
    country TEXT NOT NULL,
    replies INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    discarded_drafts INTEGER NOT NULL,
    recordings INTEGER NOT NULL,
    audio_millis INTEGER NOT NULL,
    -- Messages for which the provider charges.
    charged_messages INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, agent, model, country)
) STRICT, WITHOUT ROWID;
-- The sweep (`delete_expired_rows`).
CREATE INDEX usage_expires ON usage (expires);
