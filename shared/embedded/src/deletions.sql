CREATE TABLE dead_letter_deletions (
    id TEXT PRIMARY KEY, -- the letter's and when it had died
    at INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX dead_letter_deletions_newest ON dead_letter_deletions (at, id);
