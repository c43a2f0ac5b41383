-- Which number a person has whose messages may come without one. The key is a hash of instance and identity.

CREATE TABLE aliases (
    id TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
