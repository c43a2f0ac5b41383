-- A record is JSON text in `body`; the columns beside it are what it is found and judged by. Times are milliseconds
-- since the Unix epoch. `due`: when the record is overdue (absent: nothing is owed). `expires`: from when it counts as
-- absent; the sweep deletes it some time later.

CREATE TABLE events (
    id TEXT PRIMARY KEY,
    due INTEGER,
    expires INTEGER,
    payload TEXT, -- the file of a body that lies outside, while the event may still need it
    body TEXT NOT NULL
) STRICT;
CREATE INDEX events_due ON events (due) WHERE due IS NOT NULL;
CREATE INDEX events_expires ON events (expires) WHERE expires IS NOT NULL;
CREATE INDEX events_payload ON events (payload) WHERE payload IS NOT NULL;

CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    thread TEXT NOT NULL,
    number INTEGER NOT NULL,
    instance TEXT NOT NULL,
    mode TEXT NOT NULL,
    status TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    due INTEGER,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX conversations_thread ON conversations (thread, number);
CREATE INDEX conversations_newest ON conversations (last_at, id);
CREATE INDEX conversations_newest_of_instance ON conversations (instance, last_at, id);
CREATE INDEX conversations_due ON conversations (due) WHERE due IS NOT NULL;

CREATE TABLE messages (
    conversation TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    rev INTEGER NOT NULL, -- of its way out; 0 for what has none
    open INTEGER NOT NULL,
    due INTEGER,
    body TEXT NOT NULL,
    PRIMARY KEY (conversation, ordinal)
) STRICT;
CREATE INDEX messages_open ON messages (conversation, ordinal) WHERE open = 1;
-- `due` of a message that is not open: when its file is to be fetched.
CREATE INDEX messages_due ON messages (open, due) WHERE due IS NOT NULL;

CREATE TABLE keys (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    message TEXT NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT;
CREATE INDEX keys_expires ON keys (expires);

CREATE TABLE in_flight (
    instance TEXT NOT NULL,
    message TEXT NOT NULL,
    nonce TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (instance, message, nonce)
) STRICT;

CREATE TABLE deliveries (
    key TEXT PRIMARY KEY,
    expires INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX deliveries_expires ON deliveries (expires);

CREATE TABLE instance_states (
    id TEXT PRIMARY KEY,
    due INTEGER,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX instance_states_due ON instance_states (due) WHERE due IS NOT NULL;

CREATE TABLE parked (
    instance TEXT NOT NULL,
    conversation TEXT NOT NULL,
    version TEXT NOT NULL,
    since INTEGER NOT NULL,
    due INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (instance, conversation)
) STRICT;
CREATE INDEX parked_longest ON parked (instance, since, conversation);
CREATE INDEX parked_due ON parked (due);

CREATE TABLE dead_letters (
    id TEXT PRIMARY KEY,
    queue TEXT NOT NULL,
    reason TEXT NOT NULL,
    instance TEXT,
    at INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX dead_letters_newest ON dead_letters (at, id);
CREATE INDEX dead_letters_newest_of_instance ON dead_letters (instance, at, id);

-- `receives` names the newest receive: a receipt holds the number it was given. `name` keeps a schedule single until it
-- has come, a dead letter's copy single for good. `dead_at`: it lies in the queue's dead-letter queue; with a `letter` it
-- was put there by the pipeline, without one by the queue itself.
CREATE TABLE queue_messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    grp TEXT,
    name TEXT,
    visible_at INTEGER NOT NULL,
    receives INTEGER NOT NULL DEFAULT 0,
    sent_at INTEGER NOT NULL,
    dead_at INTEGER,
    letter TEXT,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX queue_messages_ready ON queue_messages (queue, visible_at, seq) WHERE dead_at IS NULL;
CREATE INDEX queue_messages_of_group ON queue_messages (queue, grp, seq) WHERE dead_at IS NULL AND grp IS NOT NULL;
CREATE INDEX queue_messages_received ON queue_messages (queue, grp, visible_at)
    WHERE dead_at IS NULL AND grp IS NOT NULL AND receives > 0;
CREATE INDEX queue_messages_sent ON queue_messages (queue, sent_at) WHERE dead_at IS NULL;
CREATE UNIQUE INDEX queue_messages_name ON queue_messages (queue, name) WHERE name IS NOT NULL;
CREATE INDEX queue_messages_dead ON queue_messages (queue, seq) WHERE dead_at IS NOT NULL;
CREATE INDEX queue_messages_copies ON queue_messages (dead_at) WHERE letter IS NOT NULL;

-- One row per FIFO group with messages: its oldest one, and when none of it is in flight any more. Without it, a
-- receive would walk through a long backlog of groups that must wait.
CREATE TABLE queue_groups (
    queue TEXT NOT NULL,
    grp TEXT NOT NULL,
    head INTEGER NOT NULL,
    free_at INTEGER NOT NULL,
    PRIMARY KEY (queue, grp)
) STRICT, WITHOUT ROWID;
CREATE INDEX queue_groups_head ON queue_groups (queue, head, free_at);
CREATE INDEX queue_groups_free ON queue_groups (queue, free_at);

CREATE TABLE queue_dedup (
    queue TEXT NOT NULL,
    grp TEXT NOT NULL,
    dedup TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (queue, grp, dedup)
) STRICT, WITHOUT ROWID;
CREATE INDEX queue_dedup_until ON queue_dedup (until);
