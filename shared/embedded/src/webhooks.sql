-- How far each endpoint of a tenant was told of published events, and how it fails.
CREATE TABLE webhook_endpoints (
    tenant TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    rev INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, endpoint)
) STRICT, WITHOUT ROWID;
-- Events that an endpoint did not accept, by their places in the log. `next_at` is NULL for those that were given up.
CREATE TABLE failed_posts (
    tenant TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    cursor INTEGER NOT NULL,
    next_at INTEGER,
    expires INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, endpoint, cursor)
) STRICT, WITHOUT ROWID;
-- Those that are tried on by themselves (`list_due_failed_events`).
CREATE INDEX failed_posts_due ON failed_posts (tenant, endpoint, next_at) WHERE next_at IS NOT NULL;
-- Those that are kept no longer (`delete_expired_rows`).
CREATE INDEX failed_posts_by_expiry ON failed_posts (expires);
