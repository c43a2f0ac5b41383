-- Alerts that hold (watched and told), those that ended, and the notifications that are not delivered. `tenant` is ''
-- for what is about the whole installation.

CREATE TABLE live_alerts (
    condition TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    rev INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- The alerts of a tenant that hold (`list_live_alerts`).
CREATE INDEX live_alerts_of_tenant ON live_alerts (tenant, condition);

CREATE TABLE ended_alerts (
    id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
-- The newest ended alerts of all tenants (`list_ended_alerts`).
CREATE INDEX ended_alerts_newest ON ended_alerts (at, id);
-- The newest ended alerts of a tenant (`list_ended_alerts`).
CREATE INDEX ended_alerts_newest_of_tenant ON ended_alerts (tenant, at, id);
-- The sweep (`delete_expired_rows`).
CREATE INDEX ended_alerts_expires ON ended_alerts (expires);

CREATE TABLE notifications (
    id TEXT NOT NULL PRIMARY KEY,
    tenant TEXT NOT NULL,
    state TEXT NOT NULL,
    rev INTEGER NOT NULL,
    due INTEGER, -- of a pending one
    expires INTEGER, -- of a dead one
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- The pending notifications that are due (`list_due_notifications`).
CREATE INDEX notifications_due ON notifications (due) WHERE due IS NOT NULL;
-- The sweep (`delete_expired_rows`).
CREATE INDEX notifications_expires ON notifications (expires) WHERE expires IS NOT NULL;
-- The pending or the dead notifications of a tenant or of all (`list_notifications`).
CREATE INDEX notifications_in_state ON notifications (state, tenant, id);

-- Since when a person owes an answer.
ALTER TABLE conversations ADD COLUMN person_since INTEGER;
-- Dropped by `waiting.sql`.
CREATE INDEX conversations_person_since ON conversations (person_since) WHERE person_since IS NOT NULL;
