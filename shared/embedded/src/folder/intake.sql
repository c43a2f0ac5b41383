-- The intake log, a file of its own: events that were acknowledged and are not in the database yet. `seq` is their order, and no
-- number is given twice. The columns are those of `events`, and the group and owner of the queue message.

CREATE TABLE intake (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    due INTEGER,
    payload TEXT,
    body TEXT NOT NULL,
    correlation TEXT NOT NULL,
    grp TEXT NOT NULL,
    owner TEXT NOT NULL
) STRICT;
-- An event that is in the log already is not appended again (`append_to_log`).
CREATE UNIQUE INDEX intake_id ON intake (id);
