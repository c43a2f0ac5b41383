-- The preferences of recipients to get no messages, or to get them again. The recipient is a keyed hash.
CREATE TABLE opt_outs (
    tenant TEXT NOT NULL,
    recipient TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, recipient)
) STRICT, WITHOUT ROWID;
