-- The tables of the records and the queues. A record is JSON text in `body`; the columns beside it are what it is found and judged
-- by. Times are milliseconds since the Unix epoch. `due`: when the record is overdue (absent: nothing is owed). `expires`: from when
-- it counts as absent; the sweep deletes it some time later. `rev` counts the changes of a record. `tenant` is '' for what is about
-- the whole installation.
--
-- A commit writes every page that it touches, and each index costs each write of its table. So rows and indexes are few and small,
-- and each index is named with the query that needs it.

-- The installation ---------------------------------------------------------------------------------------------------------------

-- What the installation keeps of itself, such as its identity key, without which no contact finds its conversations again.
CREATE TABLE installation (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The use of models and the messages for which the provider charges, summed up by tenant, day (UTC), agent, model and country.
CREATE TABLE usage (
    tenant TEXT NOT NULL,
    day TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    country TEXT NOT NULL, -- of the recipients of charged messages; '' if there is none
    expires INTEGER NOT NULL,
    replies INTEGER NOT NULL,
    discarded_drafts INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    recordings INTEGER NOT NULL,
    audio_millis INTEGER NOT NULL,
    charged_messages INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, agent, model, country)
) STRICT, WITHOUT ROWID;
-- The sweep (`delete_expired_rows`).
CREATE INDEX usage_expires ON usage (expires);

-- What an instance is known to be: connected or not, and its problems.
CREATE TABLE instance_states (
    id TEXT PRIMARY KEY,
    due INTEGER,
    body TEXT NOT NULL
) STRICT;
-- The instances that `reconcile` probes, and those with a problem (`select_overdue`, `select_troubled`).
CREATE INDEX instance_states_due ON instance_states (due) WHERE due IS NOT NULL;

-- Conversations and messages -----------------------------------------------------------------------------------------------------

-- Events that were received. An event is known by its own number within the database, too. No number is given twice.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    due INTEGER,
    expires INTEGER,
    payload TEXT, -- the file of a body that lies outside, while the event may still need it
    correlation TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
-- An event by its id (`select_event`).
CREATE UNIQUE INDEX events_id ON events (id);
-- The events that `reconcile` looks at, and those that are pending (`select_overdue`, `select_open_work`).
CREATE INDEX events_due ON events (due) WHERE due IS NOT NULL;
-- The sweep (`delete_expired_rows`).
CREATE INDEX events_expires ON events (expires) WHERE expires IS NOT NULL;
-- Whether an event still needs a file (`delete_expired`).
CREATE INDEX events_payload ON events (payload) WHERE payload IS NOT NULL;
-- The events of a correlation id (`select_traced`).
CREATE INDEX events_correlation ON events (correlation);

CREATE TABLE conversations (
    seq INTEGER PRIMARY KEY, -- by which the index of contacts (`contact_words`) names it
    id TEXT NOT NULL UNIQUE,
    thread TEXT NOT NULL,
    number INTEGER NOT NULL,
    tenant TEXT NOT NULL DEFAULT '',
    instance TEXT NOT NULL,
    mode TEXT NOT NULL,
    status TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    due INTEGER,
    kept_since INTEGER, -- since when its oldest message is kept (absent: it has none)
    person_since INTEGER, -- since when a person owes an answer
    body TEXT NOT NULL
) STRICT;
-- The newest conversation of a thread (`find_latest_conversation`). A number is given once.
CREATE UNIQUE INDEX conversations_thread ON conversations (thread, number);
-- The newest conversations of all tenants (`search_conversations`).
CREATE INDEX conversations_newest ON conversations (last_at, id);
-- The newest conversations of an instance (`search_conversations`).
CREATE INDEX conversations_newest_of_instance ON conversations (instance, last_at, id);
-- The conversations that `reconcile` looks at, and those with an owed answer (`select_overdue`, `select_open_work`).
CREATE INDEX conversations_due ON conversations (due) WHERE due IS NOT NULL;
-- The conversations of a tenant whose retention may be over (`list_kept_since`).
CREATE INDEX conversations_kept ON conversations (tenant, kept_since) WHERE kept_since IS NOT NULL;
-- The newest conversations of a tenant (`search_conversations`).
CREATE INDEX conversations_newest_of_tenant ON conversations (tenant, last_at, id);
-- The conversations of a tenant in which a person owes an answer (`list_waiting_conversations`).
CREATE INDEX conversations_waiting_of_tenant ON conversations (tenant, person_since, id) WHERE person_since IS NOT NULL;
-- Those of all tenants (`list_waiting_conversations`, `list_waiting_for_person`).
CREATE INDEX conversations_waiting ON conversations (person_since, id) WHERE person_since IS NOT NULL;

-- The labels of the conversations that have some: a copy of those in their records, by which lists find them.
CREATE TABLE conversation_labels (
    label TEXT NOT NULL,
    conversation TEXT NOT NULL,
    PRIMARY KEY (label, conversation)
) STRICT, WITHOUT ROWID;
-- The labels of one conversation, which are written anew or go with it (`replace_label_rows`).
CREATE INDEX conversation_labels_of_one ON conversation_labels (conversation);
CREATE TRIGGER conversations_lose_labels AFTER DELETE ON conversations
BEGIN
    DELETE FROM conversation_labels WHERE conversation = old.id;
END;

-- The words of contacts' names, and their numbers, by which conversations are found. The row of a conversation has its `seq`. It is
-- written with the words of the conversation's next message (`index_next_messages`), so that a new conversation writes no page for
-- it; what changes later is written at once (`replace_contact_words`). `tenant` is one word, so that a search reads the rows of one
-- tenant.
CREATE VIRTUAL TABLE contact_words USING fts5 (words, tenant, tokenize = 'unicode61 remove_diacritics 2');
-- What is erased leaves no bytes in the index.
INSERT INTO contact_words (contact_words, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER conversations_lose_words AFTER DELETE ON conversations
BEGIN
    DELETE FROM contact_words WHERE rowid = old.seq;
END;

-- `due` of a message that is not open: when its file is to be fetched.
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, -- given once, so that the index of words (`message_words`) knows what is new
    conversation TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    rev INTEGER NOT NULL, -- of its way out; 0 for what has none
    open INTEGER NOT NULL,
    due INTEGER,
    correlation TEXT,
    body TEXT NOT NULL,
    UNIQUE (conversation, ordinal)
) STRICT;
-- The open messages of a thread (`list_open_messages`), and those of all at a start (`recover_rows`).
CREATE INDEX messages_open ON messages (conversation, ordinal) WHERE open = 1;
-- The messages and files that `reconcile` looks at (`select_overdue`).
CREATE INDEX messages_due ON messages (open, due) WHERE due IS NOT NULL;
-- The messages of a correlation id (`select_traced`).
CREATE INDEX messages_correlation ON messages (correlation);

-- The words of messages, by which conversations are found. The row of a message has its `seq`. It is written after the message, in
-- batches (`index_next_messages`), and goes with it. `tenant`: as in `contact_words`.
CREATE VIRTUAL TABLE message_words USING fts5 (words, tenant, tokenize = 'unicode61 remove_diacritics 2');
-- What is deleted leaves no bytes in the index.
INSERT INTO message_words (message_words, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER messages_lose_words AFTER DELETE ON messages
BEGIN
    DELETE FROM message_words WHERE rowid = old.seq;
END;

-- Turns and sending --------------------------------------------------------------------------------------------------------------

-- The conversations whose messages wait until their instance can send.
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

-- The attempts at sends whose outcome is not known yet.
CREATE TABLE in_flight (
    instance TEXT NOT NULL,
    message TEXT NOT NULL,
    nonce TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (instance, message, nonce)
) STRICT;

-- What was sent, by the provider's id or Recado's own. `ack_…`: what a provider accepted and WhatsApp has not acknowledged. The owner
-- is `tenant/instance`; the first status removes it.
CREATE TABLE deliveries (
    key TEXT PRIMARY KEY,
    expires INTEGER NOT NULL,
    ack_owner TEXT,
    ack_since INTEGER,
    ack_due INTEGER,
    body TEXT NOT NULL
) STRICT;
-- The sweep (`delete_expired_rows`).
CREATE INDEX deliveries_expires ON deliveries (expires);
-- The deliveries of an owner that are late, and the next owner that has some (`count_by_owner`, `select_page`).
CREATE INDEX deliveries_unacknowledged ON deliveries (ack_owner, ack_due, key) WHERE ack_owner IS NOT NULL;

-- Published events ---------------------------------------------------------------------------------------------------------------

-- What happened, for the console and for users' own systems. A cursor is a number of this table, so no number is given twice.
CREATE TABLE published_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
-- The events of a tenant behind a place, the oldest first (`select_page`).
CREATE INDEX published_events_of_tenant ON published_events (tenant, seq);

-- The queues ---------------------------------------------------------------------------------------------------------------------

CREATE TABLE queue_messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    grp TEXT,
    group_key INTEGER, -- a number made of queue and group (`group_key`); two groups with one number only wait for each other
    owner TEXT NOT NULL DEFAULT '', -- whose it is, so that receiving takes turns between owners; '': nobody's
    name TEXT, -- keeps a schedule single until it has come, a dead letter's copy single for good
    visible_at INTEGER NOT NULL,
    receives INTEGER NOT NULL DEFAULT 0, -- names the newest receive: a receipt holds the number that it was given
    sent_at INTEGER NOT NULL,
    dead_at INTEGER, -- since when it lies in the queue's dead-letter queue
    dead_letter TEXT, -- the dead letter, if the pipeline put it there; absent: the queue itself did
    event INTEGER, -- the event whose job is the body; then `body` is empty
    body TEXT NOT NULL
) STRICT;
-- One schedule of a name, and one copy of a dead letter (`insert_turn`, `insert_copy`).
CREATE UNIQUE INDEX queue_messages_name ON queue_messages (queue, name) WHERE name IS NOT NULL;
-- The messages of a dead-letter queue, the oldest first (`select_dead`, `receive_dead_rows`).
CREATE INDEX queue_messages_dead ON queue_messages (queue, seq) WHERE dead_at IS NOT NULL;
-- The sweep of copies (`delete_expired_rows`).
CREATE INDEX queue_messages_copies ON queue_messages (dead_at) WHERE dead_letter IS NOT NULL;
-- The next owner with a message that is due, and the oldest of its messages (`next_tenant`, `oldest_receivable`).
CREATE INDEX queue_messages_of_owner ON queue_messages (queue, owner, visible_at, seq)
    WHERE dead_at IS NULL AND grp IS NULL;
-- The next message without a group that becomes due (`select_next_visible`), and those in flight (`release_in_flight`).
CREATE INDEX queue_messages_delayed ON queue_messages (queue, visible_at) WHERE dead_at IS NULL AND grp IS NULL;
-- The oldest message of a group (`update_group_row`).
CREATE INDEX queue_messages_of_group ON queue_messages (group_key, seq) WHERE dead_at IS NULL AND group_key IS NOT NULL;

-- One row for each group with messages: its oldest one, and when none of it is in flight any more. Without it, a receive would walk
-- through a long backlog of groups that must wait.
CREATE TABLE queue_groups (
    group_key INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    head INTEGER NOT NULL,
    owner TEXT NOT NULL, -- its oldest message's
    free_at INTEGER NOT NULL -- 0: nothing of it is in flight. A receive sets it so once its time has come
) STRICT;
-- The next owner with a ready group, and the oldest of its groups (`next_tenant`, `oldest_receivable`). It is one step into this
-- index, however many wait behind it or are put off.
CREATE INDEX queue_groups_ready ON queue_groups (queue, owner, head) WHERE free_at = 0;
-- The groups whose oldest message is in flight or put off (`release_due_groups`, `select_next_visible`, `release_in_flight`).
CREATE INDEX queue_groups_waiting ON queue_groups (queue, free_at) WHERE free_at > 0;

-- What was sent to a group of late, so that a repeat is known.
CREATE TABLE queue_dedup (
    queue TEXT NOT NULL,
    grp TEXT NOT NULL,
    dedup TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (queue, grp, dedup)
) STRICT, WITHOUT ROWID;
-- The sweep (`delete_expired_rows`).
CREATE INDEX queue_dedup_until ON queue_dedup (until);

-- The table of records ----------------------------------------------------------------------------------------------------------

-- The records of every kind that is not on the path of a message, and what leads to them, in one table.
CREATE TABLE records (
    partition TEXT NOT NULL, -- the kind, or the name of what leads to its records; '#'; and the tenant, or nothing
    sort TEXT NOT NULL,
    version INTEGER NOT NULL, -- another one, at random, with each write
    body TEXT NOT NULL,
    expires INTEGER, -- in seconds
    due INTEGER, -- in milliseconds
    PRIMARY KEY (partition, sort)
) STRICT, WITHOUT ROWID;
-- The sweep (`delete_expired_items`), by kind: what expired of some is kept longer than that of others.
CREATE INDEX records_expires ON records (substr(partition, 1, instr(partition, '#') - 1), expires) WHERE expires IS NOT NULL;
-- The records of a kind that are due (`select_due`).
CREATE INDEX records_due ON records (substr(partition, 1, instr(partition, '#') - 1), due) WHERE due IS NOT NULL;
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON records WHEN old.partition GLOB 'audit#*'
BEGIN SELECT RAISE(ABORT, 'the audit is never changed'); END;
