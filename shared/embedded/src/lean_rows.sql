-- A commit writes every page that it touches, so rows and indexes of the queues are kept few and small.

-- An event is known by its own number within the database, too. No number is given twice.
DROP TABLE events;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    due INTEGER,
    expires INTEGER,
    payload TEXT, -- the file of a body that lies outside, while the event may still need it
    body TEXT NOT NULL,
    correlation TEXT NOT NULL
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

-- `group_key`: a number made of queue and group (`group_key`). Two groups with one number would only wait for each other.
-- `event`: the event whose job is the body; then `body` is empty.
ALTER TABLE queue_messages ADD COLUMN group_key INTEGER;
ALTER TABLE queue_messages ADD COLUMN event INTEGER;
DROP INDEX queue_messages_of_group;
-- The oldest message of a group (`update_group_row`).
CREATE INDEX queue_messages_of_group ON queue_messages (group_key, seq) WHERE dead_at IS NULL AND group_key IS NOT NULL;
DROP TABLE queue_groups;
CREATE TABLE queue_groups (
    group_key INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    head INTEGER NOT NULL,
    owner TEXT NOT NULL, -- its oldest message's
    free_at INTEGER NOT NULL -- 0: nothing of it is in flight
) STRICT;
-- The next owner with a ready group, and the oldest of its groups (`next_tenant`, `oldest_receivable`).
CREATE INDEX queue_groups_ready ON queue_groups (queue, owner, head) WHERE free_at = 0;
-- The groups whose oldest message is in flight or put off (`release_due_groups`, `select_next_visible`).
CREATE INDEX queue_groups_waiting ON queue_groups (queue, free_at) WHERE free_at > 0;
