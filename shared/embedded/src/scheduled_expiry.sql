-- The time at which the record of a scheduled message that is no longer pending is deleted.

ALTER TABLE scheduled ADD COLUMN expires INTEGER;
-- The sweep (`delete_expired_rows`).
CREATE INDEX scheduled_expires ON scheduled (expires) WHERE expires IS NOT NULL;
