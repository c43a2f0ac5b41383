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
CREATE UNIQUE INDEX guests_phone ON guests (tenant, phone_key, occasion) WHERE phone_key IS NOT NULL;
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
CREATE INDEX invitations_due ON invitations (due) WHERE due IS NOT NULL;
CREATE INDEX invitations_carrier_id ON invitations (tenant, carrier_id) WHERE carrier_id IS NOT NULL;
CREATE INDEX invitations_guest ON invitations (tenant, occasion, guest, id);
CREATE INDEX invitations_expires ON invitations (expires);

CREATE TABLE invitation_claims (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    invitation TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX invitation_claims_until ON invitation_claims (until);
