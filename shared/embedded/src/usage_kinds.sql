-- Drafts that became no reply, and recordings that were transcribed, in the sums of what models used.
ALTER TABLE usage ADD COLUMN discarded_drafts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN recordings INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN audio_millis INTEGER NOT NULL DEFAULT 0;
