-- Occasions, their guests, the templates of invitations, and what was sent to whom.

CREATE TABLE occasions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE invitation_templates (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    channel TEXT NOT NULL,
    language TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, name, channel, language)
) STRICT, WITHOUT ROWID;

CREATE TABLE guests (
    tenant TEXT NOT NULL,
    occasion TEXT NOT NULL,
    id TEXT NOT NULL,
    phone_key TEXT,
    expires INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, occasion, id)
) STRICT, WITHOUT ROWID;
-- The guest of a phone number on an occasion, and on all of a tenant (`write_guest`, `list_guests_of_phone`). A number is one guest.
CREATE UNIQUE INDEX guests_phone ON guests (tenant, phone_key, occasion) WHERE phone_key IS NOT NULL;
-- The sweep (`delete_expired_rows`).
CREATE INDEX guests_expires ON guests (expires);

CREATE TABLE invitations (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    occasion TEXT NOT NULL,
    guest TEXT NOT NULL,
    expires INTEGER NOT NULL,
    due INTEGER,
    carrier_id TEXT,
    rev INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
-- The e-mails that `reconcile` looks at (`select_overdue`).
CREATE INDEX invitations_due ON invitations (due) WHERE due IS NOT NULL;
-- The invitation that a carrier reports of (`find_emailed_invitation`).
CREATE INDEX invitations_carrier_id ON invitations (tenant, carrier_id) WHERE carrier_id IS NOT NULL;
-- The invitations of an occasion or of one of its guests (`list_invitations`, `delete_guest`).
CREATE INDEX invitations_guest ON invitations (tenant, occasion, guest, id);
-- The sweep (`delete_expired_rows`).
CREATE INDEX invitations_expires ON invitations (expires);

CREATE TABLE invitation_claims (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    invitation TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
-- The sweep (`delete_expired_rows`).
CREATE INDEX invitation_claims_until ON invitation_claims (until);
