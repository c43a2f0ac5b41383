-- The begin of a journal's first booking: the list of what is booked.
ALTER TABLE journals ADD COLUMN booked_at INTEGER;
-- The journals of a tenant in which something is booked, the soonest first (`list_booked_journals`).
CREATE INDEX journals_booked ON journals (tenant, booked_at) WHERE booked_at IS NOT NULL;
