-- Whose a conversation is, and since when its oldest message is kept (absent: it has none).

ALTER TABLE conversations ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE conversations ADD COLUMN kept_since INTEGER;
UPDATE conversations SET tenant = json_extract(body, '$.tenant'),
    kept_since = CASE WHEN json_extract(body, '$.last') > 0 THEN json_extract(body, '$.created_at') END;
-- The conversations of a tenant whose retention may be over (`list_kept_since`).
CREATE INDEX conversations_kept ON conversations (tenant, kept_since) WHERE kept_since IS NOT NULL;
