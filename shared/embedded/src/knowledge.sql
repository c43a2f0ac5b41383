-- The knowledge of agents. The snapshots that the records name are files.

CREATE TABLE knowledge (
    tenant TEXT NOT NULL,
    agent TEXT NOT NULL,
    rev INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, agent)
) STRICT, WITHOUT ROWID;
