-- Whose a queue's message is, so that receiving takes turns between owners. What was there before is nobody's ('').
ALTER TABLE queue_messages ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE queue_groups ADD COLUMN owner TEXT NOT NULL DEFAULT ''; -- its oldest message's

-- From now on `free_at` is 0 for a group of which nothing is in flight: a receive sets it so once its time has come. Each
-- owner's oldest is then one step into an index, however many wait behind it or are put off.
DROP INDEX queue_groups_head;
-- The next owner with a ready group, and the oldest of its groups (`next_tenant`, `oldest_receivable`).
CREATE INDEX queue_groups_ready ON queue_groups (queue, owner, head) WHERE free_at = 0;
-- The next owner with a message that is due, and the oldest of its messages (`next_tenant`, `oldest_receivable`).
CREATE INDEX queue_messages_of_owner ON queue_messages (queue, owner, visible_at, seq)
    WHERE dead_at IS NULL AND grp IS NULL;
