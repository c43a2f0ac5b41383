-- Each index costs every message a write. So each of the queues' indexes is named here with the query that needs it.

-- Needed by none: the depth of a queue counts all its messages anyway.
DROP INDEX queue_messages_sent;
-- A group hands out its oldest message only, so its row in queue_groups says whether one is in flight.
DROP INDEX queue_messages_received;
DROP INDEX queue_messages_ready;
-- The next turn job that becomes due (`select_next_visible`), and those in flight (`release_in_flight`). Before, messages of
-- groups were in it too.
CREATE INDEX queue_messages_delayed ON queue_messages (queue, visible_at) WHERE dead_at IS NULL AND grp IS NULL;
DROP INDEX queue_groups_free;
-- The groups whose oldest message is in flight or put off (`release_due_groups`, `select_next_visible`, `release_in_flight`).
-- Before, every group was in it.
CREATE INDEX queue_groups_waiting ON queue_groups (queue, free_at) WHERE free_at > 0;
-- The others: queue_messages_of_group (the oldest of a group: `update_group_row`), queue_messages_of_owner and
-- queue_groups_ready (the next of an owner: `oldest_receivable`), queue_messages_name (one schedule and one copy of a name),
-- queue_messages_dead and queue_messages_copies (dead-letter queues).
