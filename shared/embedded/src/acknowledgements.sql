-- What a provider accepted and WhatsApp has not acknowledged: the owner is `tenant/instance`. The first status removes it.
ALTER TABLE deliveries ADD COLUMN ack_owner TEXT;
ALTER TABLE deliveries ADD COLUMN ack_since INTEGER;
ALTER TABLE deliveries ADD COLUMN ack_due INTEGER;
CREATE INDEX deliveries_unacknowledged ON deliveries (ack_owner, ack_due, key) WHERE ack_owner IS NOT NULL;
