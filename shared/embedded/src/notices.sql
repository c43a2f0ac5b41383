-- What providers told of accounts.

CREATE TABLE notices (
    provider TEXT NOT NULL,
    account TEXT NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (provider, account, id)
) STRICT;
-- The newest notices of an account (`select_newest`).
CREATE INDEX notices_newest ON notices (provider, account, at, id);
-- The sweep (`delete_expired_rows`).
CREATE INDEX notices_expires ON notices (expires);
