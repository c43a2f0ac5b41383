-- What the installation keeps of itself: its identity key, without which no contact finds its conversations again.

CREATE TABLE installation (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
