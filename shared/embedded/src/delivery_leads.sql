-- A delivery's record under the key of the provider's id leads to the one under the key of Recado's own.

INSERT OR IGNORE INTO deliveries (key, expires, body)
    SELECT provider_key, expires, json_object('same_as', key) FROM deliveries
    WHERE provider_key IS NOT NULL AND body <> 'erased';
DROP INDEX deliveries_provider_key;
ALTER TABLE deliveries DROP COLUMN provider_key;
