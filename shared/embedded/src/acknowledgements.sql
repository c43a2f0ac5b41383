-- What a provider accepted and WhatsApp has not acknowledged: the owner is `tenant/instance`. The first status removes it.
ALTER TABLE deliveries ADD COLUMN ack_owner TEXT;
ALTER TABLE deliveries ADD COLUMN ack_since INTEGER;
ALTER TABLE deliveries ADD COLUMN ack_due INTEGER;
-- The deliveries of an owner that are late, and the next owner that has some (`count_by_owner`, `select_page`).
CREATE INDEX deliveries_unacknowledged ON deliveries (ack_owner, ack_due, key) WHERE ack_owner IS NOT NULL;
