-- The key of the provider's id, where a delivery has the key of Recado's own: by it a sent message is found.

ALTER TABLE deliveries ADD COLUMN provider_key TEXT;
-- The message that a provider's id names; `delivery_leads.sql` drops it.
CREATE INDEX deliveries_provider_key ON deliveries (provider_key) WHERE provider_key IS NOT NULL;
