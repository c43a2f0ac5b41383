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
-- Dropped with its table, and made again, by `lean_rows.sql`.
CREATE INDEX events_due ON events (due) WHERE due IS NOT NULL;
-- Dropped with its table, and made again, by `lean_rows.sql`.
CREATE INDEX events_expires ON events (expires) WHERE expires IS NOT NULL;
-- Dropped with its table, and made again, by `lean_rows.sql`.
CREATE INDEX events_payload ON events (payload) WHERE payload IS NOT NULL;

CREATE TABLE conversations (
    seq INTEGER PRIMARY KEY, -- by which the index of contacts (`contact_words.sql`) names it
    id TEXT NOT NULL UNIQUE,
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
-- The newest conversation of a thread (`select_latest`). A number is given once.
CREATE UNIQUE INDEX conversations_thread ON conversations (thread, number);
-- The newest conversations of all tenants (`search_conversations`).
CREATE INDEX conversations_newest ON conversations (last_at, id);
-- The newest conversations of an instance (`search_conversations`).
CREATE INDEX conversations_newest_of_instance ON conversations (instance, last_at, id);
-- The conversations that `reconcile` looks at, and those with an owed answer (`select_overdue`, `select_open_work`).
CREATE INDEX conversations_due ON conversations (due) WHERE due IS NOT NULL;

CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, -- given once, so that the index of words (`message_words.sql`) knows what is new
    conversation TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    rev INTEGER NOT NULL, -- of its way out; 0 for what has none
    open INTEGER NOT NULL,
    due INTEGER,
    body TEXT NOT NULL,
    UNIQUE (conversation, ordinal)
) STRICT;
-- The open messages of a thread (`list_open_messages`), and those of all at a start (`recover_rows`).
CREATE INDEX messages_open ON messages (conversation, ordinal) WHERE open = 1;
-- `due` of a message that is not open: when its file is to be fetched.
-- The messages and files that `reconcile` looks at (`select_overdue`).
CREATE INDEX messages_due ON messages (open, due) WHERE due IS NOT NULL;

CREATE TABLE keys (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    message TEXT NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT;
-- The sweep (`delete_expired_rows`).
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
-- The sweep (`delete_expired_rows`).
CREATE INDEX deliveries_expires ON deliveries (expires);

CREATE TABLE instance_states (
    id TEXT PRIMARY KEY,
    due INTEGER,
    body TEXT NOT NULL
) STRICT;
-- The instances that `reconcile` probes, and those with a problem (`select_overdue`, `select_troubled`).
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
-- The parked conversations of an instance, in the order in which they wait (`list_parked`).
CREATE INDEX parked_longest ON parked (instance, since, conversation);
-- The parked conversations that `reconcile` looks at (`select_overdue`).
CREATE INDEX parked_due ON parked (due);

CREATE TABLE dead_letters (
    id TEXT PRIMARY KEY,
    queue TEXT NOT NULL,
    reason TEXT NOT NULL,
    instance TEXT,
    at INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
-- The newest dead letters of all tenants (`list_dead_letters`).
CREATE INDEX dead_letters_newest ON dead_letters (at, id);
-- The newest dead letters of an instance (`list_dead_letters`).
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
-- Dropped by `queue_indexes.sql`.
CREATE INDEX queue_messages_ready ON queue_messages (queue, visible_at, seq) WHERE dead_at IS NULL;
-- The oldest message of a group (`update_group_row`). Made again by `lean_rows.sql`.
CREATE INDEX queue_messages_of_group ON queue_messages (queue, grp, seq) WHERE dead_at IS NULL AND grp IS NOT NULL;
-- Dropped by `queue_indexes.sql`.
CREATE INDEX queue_messages_received ON queue_messages (queue, grp, visible_at)
    WHERE dead_at IS NULL AND grp IS NOT NULL AND receives > 0;
-- Dropped by `queue_indexes.sql`.
CREATE INDEX queue_messages_sent ON queue_messages (queue, sent_at) WHERE dead_at IS NULL;
-- One schedule of a name, and one copy of a dead letter (`insert_turn`, `insert_copy`).
CREATE UNIQUE INDEX queue_messages_name ON queue_messages (queue, name) WHERE name IS NOT NULL;
-- The messages of a dead-letter queue, the oldest first (`select_dead`, `receive_dead_rows`).
CREATE INDEX queue_messages_dead ON queue_messages (queue, seq) WHERE dead_at IS NOT NULL;
-- The sweep of copies (`delete_expired_rows`).
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
-- Dropped by `owners.sql`.
CREATE INDEX queue_groups_head ON queue_groups (queue, head, free_at);
-- Dropped by `queue_indexes.sql`.
CREATE INDEX queue_groups_free ON queue_groups (queue, free_at);

CREATE TABLE queue_dedup (
    queue TEXT NOT NULL,
    grp TEXT NOT NULL,
    dedup TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (queue, grp, dedup)
) STRICT, WITHOUT ROWID;
-- The sweep (`delete_expired_rows`).
CREATE INDEX queue_dedup_until ON queue_dedup (until);
